"""What was changed in files, as the agent recorded it: how many lines, at which place, and what stands round it.

A diff is read hunk by hunk; a line number is that of the file after the change, as the hunk's header counts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

FileFate: TypeAlias = Literal["", "new", "existed", "deleted", "moved"]
"""What the record says of the file beside its lines."""

_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_FATES: dict[FileFate, str] = {
    "": "",
    "new": "the file did not exist before",
    "existed": "the file existed before",
    "deleted": "the file was deleted",
    "moved": "the file was moved",
}
_MOST_LINES, _MOST_ROUND, _SIDE = 4, 2, 2
"""Line numbers that are listed, changes round which lines are shown, and lines on either side of each."""
_LONGEST = 160
"""Characters of a line that is shown."""
MARK = "[…]"
"""Stands for the changed lines between those round them; the call has them."""


class Change(Struct, frozen=True, kw_only=True):
    """What was changed in one file."""

    file: str
    """Its name as recorded."""
    diff: str = ""
    """A unified diff; "" when none is recorded."""
    at: str = ""
    """Where the diff stands in the stored message: `parts[1].state.metadata.diff`."""
    added: int | None = None
    """Lines, as the agent counted them; so is `removed`."""
    removed: int | None = None
    fate: FileFate = ""


class Place(NamedTuple):
    """Lines of a file that were changed together."""

    line: int
    """Number of the first of them in the file after the change; of a deletion, of the line that follows it."""
    added: int
    removed: int
    before: tuple[str, ...]
    """Unchanged lines right before them in the diff; so is `after`."""
    after: tuple[str, ...]


def find_places(diff: str) -> tuple[Place, ...]:
    """Where a unified diff of one file changes it, in order; nothing for what has no hunk."""
    return tuple(place for start, lines in _hunks(diff) for place in _places(start, lines))


def _hunks(diff: str) -> Iterator[tuple[int, list[str]]]:
    """Each hunk's first line in the new file, and its lines."""
    start = 0
    lines: list[str] | None = None
    for line in diff.split("\n"):
        if (header := _HUNK.match(line)) is not None or line.startswith("Index: "):
            if lines is not None:
                yield start, lines
            start, lines = (int(header[1]), []) if header is not None else (0, None)
        elif lines is not None and line[:1] in (" ", "+", "-"):
            lines.append(line)
    if lines is not None:
        yield start, lines


def _places(number: int, lines: Sequence[str]) -> Iterator[Place]:
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end][0] != " ":
            end += 1
        if end > at:
            added = sum(line[0] == "+" for line in lines[at:end])
            yield Place(number, added, end - at - added, _same(lines[:at][::-1])[::-1], _same(lines[end:]))
            number += added
        at, number = end + 1, number + 1


def _same(lines: Sequence[str]) -> tuple[str, ...]:
    """The unchanged lines at the beginning, as they stand in the file."""
    end = next((place for place, line in enumerate(lines[:_SIDE]) if line[0] != " "), min(_SIDE, len(lines)))
    return tuple(line[1:] for line in lines[:end])


def tell_change(change: Change) -> str:
    """In the product's words: `change at line 84, +1 -1 lines`; "" where nothing but the file is recorded."""
    places = find_places(change.diff)
    numbers = [str(place.line) for place in places[:_MOST_LINES]]
    more = f" and {len(places) - _MOST_LINES} more" if len(places) > _MOST_LINES else ""
    where = f"change at line{'s' if len(places) > 1 else ''} {', '.join(numbers)}{more}" if numbers else ""
    return ", ".join(filter(None, [_FATES[change.fate], where, tell_lines(change, places)]))


def tell_lines(change: Change, places: Sequence[Place] = ()) -> str:
    """`+1 -1 lines`: lines added and removed, as recorded, or else as the places have them; "" for neither."""
    added, removed = count_lines(change, places)
    return f"+{added} -{removed} lines" if added is not None and removed is not None else ""


def count_lines(change: Change, places: Sequence[Place] = ()) -> tuple[int | None, int | None]:
    """Lines added and removed."""
    if (change.added is not None and change.removed is not None) or not places:
        return change.added, change.removed
    return sum(place.added for place in places), sum(place.removed for place in places)


def lines_round(change: Change, given: str) -> str:
    """The lines round the first changes, those left out that stand in `given`, what the call itself says.

    A mark stands where the changed lines are; "" when there is nothing to show, or a line is too long.
    """
    shown: list[str] = []
    for place in find_places(change.diff)[:_MOST_ROUND]:
        before, after = (
            [line for line in lines if line.strip() and line.strip() not in given]
            for lines in (place.before, place.after)
        )
        if before or after:
            shown += [*before, MARK, *after]
    return "\n".join(shown) if all(len(line) <= _LONGEST for line in shown) else ""


def facts_of(change: Change) -> Iterator[str]:
    """What is known of a change, a phrase each, as an essay may say it: what a checker looks figures up in."""
    places = find_places(change.diff)
    for place in places:
        last = place.line + place.added - 1
        yield f"line {place.line}" + (f", lines {place.line} to {last}, line {last}" if place.added > 1 else "")
    added, removed = count_lines(change, places)
    if added is not None and removed is not None:
        yield f"{added} lines added, added {added} lines, {removed} lines removed, deleted {removed} lines"
