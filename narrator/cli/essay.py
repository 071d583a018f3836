"""`narrate --msg N SESSION`: the essay about one message."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from narrator.context import Context
    from narrator.draft import Draft, ModelRef
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.prompt import Prompt
    from narrator.session import Session

OFFLINE_NOTE = (
    "written offline, without a model; to have a model write it, "
    "set OPENAI_API_KEY, or give --base-url for a local server"
)
REPAIRS = 1
"""Rounds of repair unless `--repair` says otherwise."""


class Page(NamedTuple):
    """Where the essay goes, and how it looks."""

    path: Path | None
    """None: Markdown or HTML on stdout."""
    format: Literal["md", "html"]
    theme: str


def essay(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Recording: a file, a .gz, or - for stdin.")],
    msg: Annotated[str, typer.Option("--msg", metavar="N", help="Message: its 0-based number, or its id.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write there (.md or .html) instead of to stdout.")
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", help="md or html.")] = None,
    theme: Annotated[str, typer.Option(help="Look of the HTML page: a name or a folder.")] = "article",
    style: Annotated[str, typer.Option(help="What is written: a name or a folder.")] = "essay",
    length: Annotated[int | None, typer.Option(min=100, max=20_000, help="Words [essay: 1100 to 1500].")] = None,
    model: Annotated[str | None, typer.Option(help="Model name; else NARRATE_MODEL, else gpt-6-sol.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint; else OPENAI_BASE_URL.")
    ] = None,
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="Limit of the answer.")] = None,
    timeout: Annotated[float | None, typer.Option(min=1, help="Seconds for the whole call [600].")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Write without a model.")] = False,
    budget: Annotated[int | None, typer.Option(help="Tokens for target and window, at least 400 [24000].")] = None,
    before: Annotated[int, typer.Option(min=0, help="Show at least N messages before.")] = 0,
    after: Annotated[int, typer.Option(min=0, help="Show at least N messages after.")] = 0,
    lookups: Annotated[
        int, typer.Option(min=0, max=4, help="Rounds in which the model may look things up in the session; 0: none.")
    ] = 3,
    repair: Annotated[
        int,
        typer.Option("--repair", min=0, metavar="N", help="Rounds that send failing sentences back; 0: none."),
    ] = REPAIRS,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 when something in the essay still fails its check.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt and its tokens; send nothing.")] = False,
    drafts: Annotated[Path, typer.Option(help="Folder the draft is saved in.")] = Path("drafts"),
    no_save: Annotated[bool, typer.Option("--no-save", help="Save no draft.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The draft as JSON on stdout instead of the essay.")] = False,
) -> None:
    """Write the essay about one message; Markdown on stdout, a draft in drafts/.

    Example: narrate --msg 144 examples/glm5-144.json -o essay.html
    """
    from narrator.cli.output import complain
    from narrator.cli.saving import Saver
    from narrator.lookup import Bounds
    from narrator.model import settings_from

    page = choose_page(output, format_, theme)
    settings = None
    if not offline:
        settings = settings_from(model, base_url, os.environ, max_output_tokens=max_output_tokens, timeout=timeout)
    if page.path and not dry_run:
        _check_output(page.path, session, force=force)
    opened = open_with_notices(session, redact=not no_redact)
    bounds = None if settings is None else Bounds(rounds=lookups)
    prompt = prepare(opened, msg, style=style, length=length, budget=budget, before=before, after=after, lookups=bounds)
    if dry_run:
        _print_prompt(prompt)
        return
    reference = _reference(settings, lookups, length=length, budget=budget, before=before, after=after)
    reference = _with_repairs(reference, repair)
    path = None if no_save else _place(prompt.context, prompt, reference, drafts, force=force)
    saver = Saver(path, force=force)
    draft = _write(opened, prompt, settings, reference, bounds, Repairs(repair, saver.keep))
    try:
        saver.save(draft)
    finally:
        # A disk that is full must not cost the essay: it is paid for.
        _deliver(draft, opened, page, as_json=as_json)
    if settings is None:
        complain(OFFLINE_NOTE)
    if strict and draft.check is not None and not draft.check.clean:
        raise typer.Exit(1)


def _check_output(output: Path, session: str, *, force: bool) -> None:
    from narrator.draft import check_place
    from narrator.errors import UsageError

    check_place(output, what="the output", force=force)
    if output.exists() and session != "-" and Path(session).exists() and output.samefile(session):
        raise UsageError(f"--output {output}: this is the recording itself")


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


def open_with_notices(path: str, *, redact: bool) -> Session:
    """Open the recording and say what had to be stepped over."""
    from narrator.cli.output import warn
    from narrator.formats import open_session

    session = open_session(path, redact=redact)
    if not redact:
        warn(["--no-redact: secrets in the recording go into prompt, draft and page as they are"])
    return session


def prepare(
    session: Session,
    msg: str,
    *,
    style: str,
    length: int | None,
    budget: int | None,
    before: int,
    after: int,
    lookups: Bounds | None = None,
) -> Prompt:
    """The prompt for one message, with a warning for each thing that was stepped over on the way."""
    from narrator.cli.output import warn
    from narrator.context import DEFAULT_BUDGET, Reach, find_target, take_context
    from narrator.prompt import build_prompt
    from narrator.style import load_style

    loaded = load_style(style)
    target = find_target(session, msg)
    reach = Reach(budget=DEFAULT_BUDGET if budget is None else budget, before=before, after=after)
    context = take_context(session, target, reach)
    warn(context.notices)
    if omitted := context.centre.omitted:
        warn([f"message {target} is long: {omitted:,} characters of it left out; --budget shows more"])
    return build_prompt(context, loaded, length=length, lookups=lookups)


def _print_prompt(prompt: Prompt) -> None:
    import json

    from narrator.cli.output import complain
    from narrator.model.tools import TOOLS

    for message in prompt.wire(lookups=True):
        typer.echo(f"<!-- {message['role']} -->\n\n{message['content']}")
    if prompt.lookups:
        typer.echo(f"<!-- tools -->\n\n{json.dumps(TOOLS, indent=1)}\n")
    complain(f"dry run: about {prompt.tokens:,} tokens in the prompt, price unknown; nothing was sent")


def _reference(settings: Settings | None, lookups: int, **asked: int | None) -> ModelRef | None:
    """What identifies the writer in a draft: name, address and whatever was set; None for the offline writer."""
    from narrator.draft import ModelRef
    from narrator.lookup import Bounds

    if settings is None:
        return None
    chosen = {name: value for name, value in asked.items() if value}
    if lookups != Bounds().rounds:
        chosen["lookups"] = lookups
    if settings.max_output_tokens:
        chosen["max_output_tokens"] = settings.max_output_tokens
    return ModelRef(name=settings.model, base_url=settings.address if settings.base_url else None, settings=chosen)


def _place(context: Context, prompt: Prompt, model: ModelRef | None, drafts: Path, *, force: bool) -> Path:
    """Where the draft goes; raises ExistsError for the same essay again, before a model is asked."""
    from narrator.draft import StyleRef, check_place, draft_path, identity, slug

    style = StyleRef(name=prompt.style.name, version=prompt.style.version)
    digest = identity(context.session.sha256, context.target.index, style, model)
    folder = slug(context.session.title, context.session.id)
    path = draft_path(drafts, folder, context.target.index, style.name, digest)
    check_place(path, what="this essay", force=force, hint=f"`narrate render {path}` makes a page of it, ")
    return path


class Repairs(NamedTuple):
    """How often failing sentences are sent back."""

    rounds: int
    keep: Callable[[Draft], None]
    """Saves the essay before."""


def _with_repairs(reference: ModelRef | None, rounds: int) -> ModelRef | None:
    """The writer with how often it is asked to repair, where that is not the usual."""
    if reference is None or rounds == REPAIRS:
        return reference
    return reference.model_copy(update={"settings": {**reference.settings, "repair": rounds}})


def _write(
    session: Session,
    prompt: Prompt,
    settings: Settings | None,
    reference: ModelRef | None,
    bounds: Bounds | None,
    repairs: Repairs,
) -> Draft:
    from narrator.cli.output import progress_line
    from narrator.pipeline import narrate

    if settings is None or bounds is None:
        from narrator.offline import OfflineWriter

        return narrate(session, prompt, OfflineWriter(), reference)
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter

    with progress_line(settings.model) as (progress, notice):
        writer = ModelWriter(Endpoint(settings, progress=progress, notice=notice), session, bounds)
        return narrate(session, prompt, writer, reference, repairs=repairs.rounds, keep=repairs.keep, notice=notice)


def _deliver(draft: Draft, session: Session, page: Page, *, as_json: bool) -> None:
    from narrator.cli.output import complain, warn
    from narrator.draft import dump_draft, write_whole
    from narrator.pipeline import concerns

    warn(concerns(draft, session))
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
