"""`narrate show SESSION`: what is in a session, and what a model would see of it."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from narrator.session import Session

_GIST = 100
"""Characters of a message's gist in the list."""


def show(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Recording: a file, a .gz, or - for stdin.")],
    msg: Annotated[str | None, typer.Option("--msg", metavar="N", help="Show the context of this message.")] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens for target and window [24000].")] = None,
    before: Annotated[int, typer.Option(min=0, help="Show at least N messages before.")] = 0,
    after: Annotated[int, typer.Option(min=0, help="Show at least N messages after.")] = 0,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """List a session's messages; with --msg, show the context of one as a model would see it.

    Example: narrate show examples/glm5-144.json --msg 144
    """
    from narrator.cli.essay import open_with_notices, prepare
    from narrator.cli.output import complain, warn

    opened = open_with_notices(session, redact=not no_redact)
    if msg is None:
        warn(opened.notices)
        _print_list(opened, as_json=as_json)
        return
    if as_json:
        _print_context(opened, msg, budget, before, after)
        return
    prompt = prepare(opened, msg, style="essay", length=None, budget=budget, before=before, after=after)
    typer.echo(prompt.messages[-1].content, nl=False)
    omitted = prompt.context.omitted
    complain(
        f"{prompt.context.tokens:,} tokens of target and window, {prompt.context.outline.length:,} of outline; "
        f"not shown: {omitted.messages:,} messages, {omitted.characters:,} characters"
    )


def _print_context(session: Session, msg: str, budget: int | None, before: int, after: int) -> None:
    from narrator.cli.output import warn
    from narrator.context import DEFAULT_BUDGET, Reach, as_json, find_target, take_context

    reach = Reach(budget=DEFAULT_BUDGET if budget is None else budget, before=before, after=after)
    context = take_context(session, find_target(session, msg), reach, hashed=False)
    warn(context.notices)
    typer.echo(json.dumps(as_json(context, session), ensure_ascii=False, indent=1))


def _print_list(session: Session, *, as_json: bool) -> None:
    from narrator.sanitize import one_line

    rows = [_row(session, index) for index in range(len(session))]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    width, columns = len(str(len(session) - 1)), _columns()
    for row in rows:
        clock = (row["time"] or "no time").replace("T", " ").rstrip("Z")
        place = f"{row['index']:>{width}}  {clock:<19}  {row['role']:<9}  "
        said = _marks(row) + row["gist"]
        typer.echo(place + (one_line(said, max(1, columns - len(place))) if columns else said))


def _marks(row: dict[str, Any]) -> str:
    """What the record knows of a message, before its gist, so that a narrow terminal cuts the gist."""
    return f"[{', '.join(row['findings'])}] " if row["findings"] else ""


def _columns() -> int | None:
    """Width of the terminal a list is printed on; None for a pipe or a file, which get whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _row(session: Session, index: int) -> dict[str, Any]:
    """One message as the contract's JSON names it."""
    from narrator.clock import iso
    from narrator.excerpt import take_excerpt
    from narrator.findings import diagnose
    from narrator.sanitize import one_line

    excerpt = take_excerpt(session, index)
    return {
        "index": index,
        "id": excerpt.id,
        "role": excerpt.role,
        "time": iso(excerpt.created),
        "gist": one_line(excerpt.quotable, _GIST),
        "findings": [finding.kind for finding in diagnose(session, index)],
    }
