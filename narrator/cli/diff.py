"""`narrate diff DRAFT DRAFT`: two essays side by side."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from narrator.cli.screen import Screen
    from narrator.comparison import Comparison, Piece

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NARROWEST = 24
"""Columns that two essays are given at least."""
_LEFT, _RIGHT = ("[-", "-]"), ("{+", "+}")
"""What stands round words of one side where there are no colours, as git's word diff has it."""


def diff(
    left: Annotated[Path, typer.Argument(metavar="DRAFT", help="A saved draft (JSON).")],
    right: Annotated[Path, typer.Argument(metavar="DRAFT", help="Another one.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Show two essays side by side; exit code 1 when anything differs, 0 when nothing does.

    Example: narrate diff drafts/*/144-essay.json drafts/*/144-brief.json
    """
    from narrator.cli.output import warn
    from narrator.cli.pager import find_pager, print_lines, shows_colours
    from narrator.cli.screen import Screen
    from narrator.comparison import compare_drafts
    from narrator.draft import load_draft

    one, other = load_draft(left), load_draft(right)
    found = compare_drafts(one, other)
    if one.session.id != other.session.id:
        warn(["the two are about different sessions"])
    elif one.target.index != other.target.index:
        warn([f"the two are about different messages, {one.target.index} and {other.target.index}"])
    if as_json:
        typer.echo(json.dumps(_as_json(found), ensure_ascii=False, indent=1))
    elif (columns := _width_of_terminal()) is not None:
        pager = find_pager()
        screen = Screen(max(_NARROWEST, columns), shows_colours(pager))
        print_lines(_columns(found, (str(left), str(right)), screen), pager)
    else:
        print_lines(_unified(found, (str(left), str(right))))
    if found.differs:
        raise typer.Exit(1)


def _width_of_terminal() -> int | None:
    """Columns of the terminal that stdout is; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _as_json(found: Comparison) -> dict[str, object]:
    return {
        "differs": found.differs,
        "facts": [{**fact._asdict(), "differs": fact.differs} for fact in found.facts],
        "rows": [
            {
                "differs": row.differs,
                "left": "".join(p.text for p in row.left),
                "right": "".join(p.text for p in row.right),
            }
            for row in found.rows
        ],
    }


def _unified(found: Comparison, names: tuple[str, str]) -> Iterator[str]:
    """One side under the other, a line of a paragraph a line, words of one side only in marks."""
    from narrator.sanitize import one_line, plain

    yield from (f"--- {one_line(names[0])}", f"+++ {one_line(names[1])}")
    for fact in found.facts:
        if fact.differs:
            yield from (f"- {fact.name}: {one_line(fact.left, 300)}", f"+ {fact.name}: {one_line(fact.right, 300)}")
        else:
            yield f"  {fact.name}: {one_line(fact.left, 300)}"
    for row in found.rows:
        yield ""
        sides = (("- ", row.left, _LEFT), ("+ ", row.right, _RIGHT)) if row.differs else (("  ", row.left, _LEFT),)
        for sign, pieces, marks in sides:
            alone = not row.left or not row.right
            text = plain(_marked(pieces, ("", "") if alone else marks))
            yield from (f"{sign}{line}" for line in text.split("\n") if pieces)


def _marked(pieces: Iterable[Piece], marks: tuple[str, str]) -> str:
    return "".join(f"{marks[0]}{p.text}{marks[1]}" if p.changed and p.text.strip() else p.text for p in pieces)


def _columns(found: Comparison, names: tuple[str, str], screen: Screen) -> Iterator[str]:
    """Two columns as wide as the screen."""
    from narrator.cli.screen import cut
    from narrator.sanitize import one_line

    room = (screen.columns - 3) // 2
    yield from _beside([screen.style(cut(one_line(names[0]), room), bold=True)], [cut(one_line(names[1]), room)], room)
    for fact in found.facts:
        left, right = (_folded(f"{fact.name}: {one_line(text, 300)}", room) for text in (fact.left, fact.right))
        if fact.differs:
            left = [screen.style(line, fg="red") for line in left]
            right = [screen.style(line, fg="green") for line in right]
        yield from _beside(left, right, room)
    for row in found.rows:
        yield _joined("", "", room)
        alone = not row.left or not row.right
        left = list(_painted(row.left, room, screen, "red", ("", "") if alone else _LEFT))
        right = list(_painted(row.right, room, screen, "green", ("", "") if alone else _RIGHT))
        yield from _beside(left, right, room)


def _folded(text: str, room: int) -> list[str]:
    from narrator.cli.screen import fold

    return [piece for line in text.split("\n") for piece in fold(line, room)]


def _painted(pieces: Iterable[Piece], room: int, screen: Screen, colour: str, marks: tuple[str, str]) -> Iterator[str]:
    """A paragraph folded, with the words of this side coloured, or in marks where there are no colours."""
    from narrator.sanitize import plain

    if not screen.colours:
        yield from _folded(plain(_marked(pieces, marks)), room)
        return
    text = "".join(plain(piece.text) for piece in pieces)
    flags = [piece.changed for piece in pieces for _ in plain(piece.text)]
    at = 0
    for line in _folded(text, room):
        at = text.index(line, at) if line else at
        yield "".join(
            screen.style(run, fg=colour) if changed else run for run, changed in _runs(line, flags[at : at + len(line)])
        )
        at += len(line)


def _runs(line: str, flags: list[bool]) -> Iterator[tuple[str, bool]]:
    """Stretches of a line that are changed, or are not."""
    start = 0
    for end in range(1, len(line) + 1):
        if end == len(line) or flags[end] != flags[start]:
            yield line[start:end], flags[start]
            start = end


def _beside(left: list[str], right: list[str], room: int) -> Iterator[str]:
    yield from (_joined(one, other, room) for one, other in zip_longest(left, right, fillvalue=""))


def _joined(left: str, right: str, room: int) -> str:
    from narrator.cli.screen import width

    blank = " " * max(0, room - width(_COLOUR.sub("", left)))
    return f"{left}{blank} │ {right}".rstrip()
