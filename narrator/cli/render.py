"""`narrate render DRAFT…`: pages from saved drafts again, with no session and no model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from narrator.cli.page import Page


def render(
    drafts: Annotated[list[Path], typer.Argument(metavar="DRAFT...", help="Saved drafts (JSON).")],
    format_: Annotated[str | None, typer.Option("--format", help="md or html.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; for several drafts a folder.")] = None,
    theme: Annotated[str, typer.Option(help="Look of the HTML page: a name or a folder.")] = "article",
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
) -> None:
    """Make pages from saved drafts again; no session and no model is needed.

    Example: narrate render drafts/*/144-essay.json --format html -o essay.html
    """
    from narrator.cli.output import complain
    from narrator.cli.page import choose_page, page_text
    from narrator.disk import check_place, write_whole
    from narrator.draft import load_draft

    loaded = [load_draft(path) for path in drafts]
    folder = _folder(output, several=len(drafts) > 1)
    if folder is None:
        pages = [choose_page(output, format_, theme)]
    else:
        pages = _pages_in(folder, drafts, choose_page(None, format_ or "html", theme))
    for page in pages:
        if page.path is not None:
            check_place(page.path, what="the page", force=force)
    for draft, page in zip(loaded, pages, strict=True):
        text = page_text(draft, page)
        if page.path is None:
            typer.echo(text, nl=False)
        else:
            write_whole(page.path, text)
            complain(f"wrote {page.path}")


def _folder(output: Path | None, *, several: bool) -> Path | None:
    """The folder that `-o` names; None for one page, in a file or on stdout."""
    from narrator.errors import UsageError

    if output is not None and (output.is_dir() or not output.suffix):
        return output
    if several:
        place = f"--output {output} is one file" if output else "there is no --output"
        raise UsageError(f"several drafts, but {place}; give a folder with -o")
    return None


def _pages_in(folder: Path, drafts: list[Path], kind: Page) -> list[Page]:
    """A page for each draft, named after its session and itself."""
    from narrator.errors import UsageError

    taken: dict[Path, Path] = {}
    for draft in drafts:
        path = folder / f"{draft.absolute().parent.name}-{draft.stem}.{kind.format}"
        if path in taken:
            raise UsageError(f"{taken[path]} and {draft} would both be written to {path}; render them one by one")
        taken[path] = draft
    return [kind._replace(path=path) for path in taken]
