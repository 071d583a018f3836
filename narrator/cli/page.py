"""Where an essay goes, and how it looks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from narrator.draft import Draft
    from narrator.session import Session


class Page(NamedTuple):
    """Where the essay goes, and how it looks."""

    path: Path | None
    """None: Markdown or HTML on stdout."""
    format: Literal["md", "html"]
    theme: str


def choose_page(output: Path | None, format_: str | None, theme: str) -> Page:
    """What `-o`, `--format` and `--theme` ask for; the suffix decides where `--format` does not."""
    from narrator.errors import UsageError
    from narrator.render import theme_folder

    suffix = output.suffix.lower().lstrip(".") if output else "md"
    chosen = format_ or {"htm": "html", "markdown": "md"}.get(suffix, suffix)
    if chosen == "html":
        theme_folder(theme)
        return Page(output, "html", theme)
    if chosen == "md":
        return Page(output, "md", theme)
    if format_:
        raise UsageError(f"--format {format_}: md or html")
    raise UsageError(f"--output {output}: the name must end in .md or .html, or give --format")


def check_output(output: Path, session: str, *, force: bool) -> None:
    """Raise, before anything is sent, when the page could not be written there."""
    from narrator.disk import check_place
    from narrator.errors import UsageError

    check_place(output, what="the output", force=force)
    if output.exists() and session != "-" and Path(session).exists() and output.samefile(session):
        raise UsageError(f"--output {output}: this is the recording itself")


def deliver(draft: Draft, session: Session, page: Page, *, as_json: bool, least: int) -> None:
    """Write or print the page, with a warning for each thing its reader should know; `least` words were asked for."""
    from narrator.cli.output import complain, warn
    from narrator.disk import write_whole
    from narrator.draft import dump_draft
    from narrator.pipeline import concerns

    warn(concerns(draft, session, least))
    text = page_text(draft, page)
    if page.path is not None:
        write_whole(page.path, text)
        complain(f"wrote {page.path}")
    if as_json:
        typer.echo(dump_draft(draft), nl=False)
    elif page.path is None:
        typer.echo(text, nl=False)


def page_text(draft: Draft, page: Page) -> str:
    """The draft as a page: Markdown on stdout is the essay alone, a file stands with its evidence."""
    from narrator.render import render_html, render_markdown, theme_folder

    if page.format == "html":
        return render_html(draft, theme_folder(page.theme))
    return render_markdown(draft, evidence=page.path is not None)
