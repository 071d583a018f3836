"""`narrate targets SESSION`: the messages that are worth an essay."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from narrator.session import Session
    from narrator.targets import Target

_INDENT = 4
"""Columns before the sentence on a terminal, where it stands below its message."""
_DIGITS = 19
"""Of numbers that no session has as many messages as."""


def targets(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Recording: a file, a .gz, or - for stdin.")],
    limit: Annotated[str, typer.Option(help="List at most N messages.", metavar="N")] = "10",
    kind: Annotated[
        str | None, typer.Option(metavar="KIND[,KIND]", help="Only messages with a finding of these kinds.")
    ] = None,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """List the messages worth an essay, best first, each with the reason why.

    Example: narrate targets examples/glm5-144.json --limit 5
    """
    from narrator.cli.output import complain, warn
    from narrator.cli.preparing import open_with_notices
    from narrator.errors import UsageError
    from narrator.findings import parse_kinds
    from narrator.targets import find_targets

    if not session:
        raise UsageError("SESSION '': an empty name; give a recording: a file, a .gz, or - for stdin")
    kinds, most = None if kind is None else parse_kinds(kind, "--kind"), _number(limit)
    opened = open_with_notices(session, redact=not no_redact)
    found = find_targets(opened, most, kinds)
    warn(opened.notices)
    if as_json:
        rows = [target.model_dump(mode="json") for target in found]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        _print(opened, found)
    if kinds and not found:
        complain(f"--kind {kind}: no message has {'this finding' if len(kinds) == 1 else 'one of these findings'}")


def _number(given: str) -> int:
    """How many messages `--limit` asks for."""
    from narrator.errors import UsageError

    number = int(given) if given.isascii() and given.isdecimal() and len(given) < _DIGITS else 0
    if number < 1:
        raise UsageError(f"--limit {given}: a whole number of at least 1")
    return number


def _columns() -> int | None:
    """Width of the terminal; None for a pipe or a file, which get whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _print(session: Session, found: tuple[Target, ...]) -> None:
    """A line a message for a pipe; on a terminal the sentence stands below, folded to its width."""
    columns = _columns()
    for place, target in enumerate(found, 1):
        head = _head(session, target, f"{place:>{len(str(len(found)))}}")
        if columns is None:
            typer.echo(f"{head}  {target.says}")
            continue
        from narrator.cli.screen import cut, fold

        typer.echo(cut(head.rstrip(), columns))
        indent = " " * min(_INDENT, columns // 2)
        for piece in fold(target.says, columns - len(indent)):
            typer.echo(indent + piece)


def _head(session: Session, target: Target, rank: str) -> str:
    """Rank, number, time and kinds."""
    from narrator.clock import iso

    clock = (iso(session.skims[target.index].created) or "no time").replace("T", " ").rstrip("Z")
    marks = f"  [{', '.join(target.kinds)}]" if target.kinds else ""
    return f"{rank}  {target.index:>{len(str(len(session) - 1))}}  {clock:<19}{marks}"
