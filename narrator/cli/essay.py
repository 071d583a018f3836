"""`narrate --msg N SESSION`: the essay about one message."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from narrator.cli import choices

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
    style: choices.Style = "essay",
    length: choices.Length = None,
    language: choices.Language = None,
    model: choices.Model = None,
    base_url: choices.BaseUrl = None,
    max_output_tokens: choices.MaxOutputTokens = None,
    timeout: choices.Timeout = None,
    offline: choices.Offline = False,
    budget: choices.Budget = None,
    before: choices.Before = 0,
    after: choices.After = 0,
    lookups: choices.Lookups = choices.LOOKUPS,
    repair: choices.Repair = choices.REPAIRS,
    price: choices.Price = None,
    redo_section: Annotated[
        str | None,
        typer.Option("--redo-section", metavar="NAME", help="Write one section of the saved draft again."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 when something in the essay still fails its check.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt and its tokens; send nothing.")] = False,
    drafts: choices.Drafts = Path("drafts"),
    no_save: Annotated[bool, typer.Option("--no-save", help="Save no draft.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    no_redact: choices.NoRedact = False,
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

    page = choose_page(output, format_, theme)
    settings = choices.read_settings(model, base_url, max_output_tokens, timeout, offline=offline)
    terms = Terms(
        settings=settings,
        before=before,
        after=after,
        lookups=lookups,
        repair=repair,
        price=choices.read_price(price),
        redact=not no_redact,
    )
    if page.path and not dry_run:
        check_output(page.path, session, force=force)
    opened = open_with_notices(session, redact=not no_redact)
    manner = Manner(style=style, length=length, language=language)
    planner = Planner(partial(prepare, opened, msg, read_style(manner), manner, terms), drafts, force=force)
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
