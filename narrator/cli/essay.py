"""`narrate --msg N SESSION`: the essay about one message."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

OFFLINE_NOTE = (
    "written offline, without a model; to have a model write it, "
    "set OPENAI_API_KEY, or give --base-url for a local server"
)


def essay(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Recording: a file, a .gz, or - for stdin.")],
    msg: Annotated[str, typer.Option("--msg", metavar="N", help="Message: its 0-based number, or its id.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write there (.md or .html) instead of to stdout.")
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", help="md or html.")] = None,
    theme: Annotated[str, typer.Option(help="Look of the HTML page: a name or a folder.")] = "article",
    style: Annotated[
        str, typer.Option(metavar="NAME|FOLDER", help="What is written: one of `narrate styles`, or a folder.")
    ] = "essay",
    length: Annotated[
        int | None,
        typer.Option(min=100, max=20_000, metavar="WORDS", help="About how long; else the style's own length."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="LANG", help="What it is written in: German, de; quotations stay as recorded.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name; else NARRATE_MODEL, else gpt-6-sol.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint; else OPENAI_BASE_URL.")
    ] = None,
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="Limit of the answer.")] = None,
    timeout: Annotated[float | None, typer.Option(min=1, help="Seconds for the whole call [600].")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Write without a model.")] = False,
    budget: Annotated[int | None, typer.Option(help="Tokens for target and window, at least 800 [24000].")] = None,
    before: Annotated[int, typer.Option(min=0, help="Show at least N messages before.")] = 0,
    after: Annotated[int, typer.Option(min=0, help="Show at least N messages after.")] = 0,
    lookups: Annotated[
        int, typer.Option(min=0, max=4, help="Rounds in which the model may look things up in the session; 0: none.")
    ] = 3,
    repair: Annotated[
        int,
        typer.Option("--repair", min=0, metavar="N", help="Rounds that send failing sentences back; 0: none."),
    ] = 1,
    price: Annotated[
        str | None, typer.Option("--price", metavar="IN,CACHED,OUT", help="US dollars per million tokens.")
    ] = None,
    redo_section: Annotated[
        str | None,
        typer.Option("--redo-section", metavar="NAME", help="Write one section of the saved draft again."),
    ] = None,
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
    from narrator.asking import Manner, Terms, read_style
    from narrator.cli.output import complain
    from narrator.cli.page import check_output, choose_page, deliver
    from narrator.cli.preparing import open_with_notices, prepare, print_prompt
    from narrator.cli.redoing import find_redoing, write
    from narrator.cli.saving import Saver
    from narrator.cli.writing import Planner, Repairs, bill
    from narrator.model import settings_from
    from narrator.prices import parse_price

    page = choose_page(output, format_, theme)
    settings = None
    if not offline:
        settings = settings_from(model, base_url, os.environ, max_output_tokens=max_output_tokens, timeout=timeout)
    terms = Terms(
        settings=settings,
        before=before,
        after=after,
        lookups=lookups,
        repair=repair,
        price=parse_price(price) if price is not None else None,
        redact=not no_redact,
    )
    if page.path and not dry_run:
        check_output(page.path, session, force=force)
    opened = open_with_notices(session, redact=not no_redact)
    manner = Manner(style=style, length=length, language=language)
    make = partial(prepare, opened, msg, read_style(manner), manner, terms)
    planner = Planner(make, drafts, force=force)
    plan = planner.plan(budget)
    redoing = find_redoing(opened, plan, drafts, redo_section) if redo_section is not None else None
    if dry_run:
        print_prompt(redoing.request if redoing else plan.prompt, plan.asked)
        return
    place = None if no_save else redoing.path if redoing else planner.place(plan)
    saver = Saver(place, force=force or redoing is not None)
    draft = write(opened, plan, settings, terms.bounds, Repairs(repair, saver.keep), redoing or planner.smaller(saver))
    try:
        saver.save(draft)
    finally:
        # A disk that is full must not cost the essay: it is paid for.
        deliver(draft, opened, page, as_json=as_json, least=plan.prompt.words[0])
    complain(OFFLINE_NOTE if settings is None else bill(draft))
    if strict and draft.check is not None and not draft.check.clean:
        raise typer.Exit(1)
