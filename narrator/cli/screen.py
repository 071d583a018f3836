"""The list on a terminal: a line a message, no wider than the screen, with days and gaps as lines of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, NamedTuple

import typer
from rich.cells import get_character_cell_size

from narrator.cli.listing import GRAVE, QUIET, Row, place
from narrator.clock import iso, span
from narrator.findings import Kind, diagnose
from narrator.sanitize import boundary

if TYPE_CHECKING:
    from narrator.session import Session

_NARROW = 72
"""Columns below which columns are one space apart."""
_WIDENS = "\ufe0f"
"""The selector that makes a narrow symbol an emoji of two columns."""
_GIST_AT_LEAST = 16
"""Columns that marks leave to the gist, where the screen has so many."""


class Screen(NamedTuple):
    """What a terminal can show."""

    columns: int
    colours: bool

    def style(self, text: str, *, dim: bool = False, bold: bool = False, fg: str | None = None) -> str:
        """The text in a colour, where there are colours."""
        return typer.style(text, dim=dim or None, bold=bold or None, fg=fg) if self.colours and text else text


def screen_lines(rows: Iterable[Row], session: Session, screen: Screen, target: int | None) -> Iterator[str]:
    """The lines of a list on a terminal; the target's has a `>` before it."""
    day: str | None = None
    for row in rows:
        stamp = iso(row.created)
        if stamp is not None and stamp[:10] != day:
            day = stamp[:10]
            yield screen.style(f"{day} UTC", bold=True)
        yield _line(row, (stamp or "")[11:19] or "no time", len(session) - 1, screen, target)
        if "gap" in row.kinds:
            margin = " " * len(place(0, len(session) - 1, target))
            yield screen.style(f"{margin}  … nothing for {_idle(session, row.index)} …", fg="yellow")


def _idle(session: Session, index: int) -> str:
    """How long nothing is recorded after a message with a gap, by the evidence of that finding."""
    gap = next(found for found in diagnose(session, index) if found.kind == "gap")
    ended, begun = (entry.value for entry in gap.evidence)
    return span(int(begun or 0) - int(ended or 0))


def _line(row: Row, clock: str, last: int, screen: Screen, target: int | None) -> str:
    apart = "  " if screen.columns >= _NARROW else " "
    head = f"{place(row.index, last, target)}{apart}{clock:<8}{apart}"
    room = max(1, screen.columns - len(head) - len(f"{row.role:<9}") - len(apart))
    gist = row.gist.within(max(room, 1), cut, width)
    loud = any(kind not in QUIET for kind in row.kinds)
    spared = min(width(gist), max(room // 2, _GIST_AT_LEAST) if loud else room - len("  [+1]"))
    marks, length = _marks(row.marks, room - spared - 2, screen)
    if length:
        gist = row.gist.within(room - length - 2, cut, width)
    bold = row.role == "user" and "synthetic" not in row.kinds and "compaction-request" not in row.kinds
    number = screen.style(head, dim=row.index != target, bold=row.index == target)
    role = screen.style(f"{row.role:<9}", bold=bold, dim=not bold)
    return f"{number}{role}{apart}{screen.style(gist, bold=bold)}{'  ' if length else ''}{marks}"


def _marks(kinds: list[Kind], room: int, screen: Screen) -> tuple[str, int]:
    """As many of the marks as there is room for, with the number of the others, and their width without colours."""
    for count in range(len(kinds), -1, -1):
        rest = f"+{len(kinds) - count}" if count < len(kinds) else ""
        words = [*kinds[:count], *([rest] if rest else [])]
        length = len(", ".join(words)) + 2
        if words and length <= room:
            coloured = [screen.style(kind, fg=_colour(kind), dim=kind in QUIET) for kind in kinds[:count]]
            return f"[{', '.join([*coloured, *([rest] if rest else [])])}]", length
    return "", 0


def _colour(kind: Kind) -> str | None:
    return "red" if kind in GRAVE else None if kind in QUIET else "yellow"


def context_lines(text: str, key: str, screen: Screen) -> Iterator[str]:
    """A context as it goes into a prompt, folded between words; what in it is the product's can be told by its look.

    Args:
        text: Sections, in which recorded text stands between `<conversation_data KEY>` and `</conversation_data KEY>`.
        key: Of the product's own lines in there.
        screen: Where it is shown.
    """
    recorded = False
    for line in text.split("\n"):
        if line in (f"<conversation_data {key}>", f"</conversation_data {key}>"):
            recorded = line[1] != "/"
            yield screen.style(line, dim=True)
            continue
        ours = line.startswith(f"[{key} ") if recorded else line.startswith(("# ", "[msg "))
        for piece in fold(line, screen.columns):
            yield screen.style(piece, bold=ours)


def fold(line: str, columns: int) -> Iterator[str]:
    """A line in pieces of at most so many columns, broken between words if a piece has a space in its second half."""
    start = 0
    while width(piece := line[start : start + columns + 1]) > columns:
        end = max(1, boundary(piece, _fitting(piece, columns)))
        space = piece.rfind(" ", end // 2, end + 1)
        yield piece[: space if space > 0 else end]
        start += space + 1 if space > 0 else end
    yield piece


def width(text: str) -> int:
    """Columns that a text takes up at most: a terminal that joins no emoji shows the members of a family one by one."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns, `…` included; a character as people see it is not split."""
    if columns < 1 or width(text) <= columns:
        return text if columns > 0 else ""
    return text[: boundary(text, _fitting(text, columns - 1))].rstrip() + "…"


def _fitting(text: str, columns: int) -> int:
    """How many code points of the text fit into so many columns."""
    return sum(1 for _ in takewhile(lambda end: end <= columns, accumulate(map(_cells, text))))


def _cells(character: str) -> int:
    return 1 if character == _WIDENS else get_character_cell_size(character)
