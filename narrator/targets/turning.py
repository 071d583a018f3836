"""Turning points: where the work took another course, whatever the findings say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from narrator.findings import mask_of
from narrator.targets.columns import Columns
from narrator.targets.surprise import surprise
from narrator.targets.trouble import POINTS, Trouble, cuts

Turning: TypeAlias = Literal[
    "broke-in", "corrected", "after-setback", "user-turn", "first-success", "retried", "set-off", "cut", "plan"
]
NEAR = 10
"""Messages on either side of a turning point that are near it, less with each."""
MANY = 3
"""Setbacks of one matter from which on its first and the success after its last are turning points."""
_CORRECTION = re.compile(
    r"^(?:no|nope|wait|stop|actually)\s*(?:[,.!:;–—-]|$)"
    r"|\b(?:instead|rather|wrong|revert|undo|crash(?:ed|es)|failed|broken|not what|new plan|change of plan)\b"
)
"""Words of a turn that asks for another course; in lower case."""


class Point(NamedTuple):
    """The turning point that is felt most at a message."""

    points: int
    place: int
    """The message at which it is."""
    turning: Turning


def find_turnings(columns: Columns, trouble: Trouble) -> dict[Turning, list[int]]:
    """Kind of turning point → the messages at which there is one, in order; a message can be several."""
    found: dict[Turning, list[int]] = {}
    for index, turning in _turnings(columns, trouble):
        found.setdefault(turning, []).append(index)
    return {turning: sorted(set(places)) for turning, places in found.items()}


def _turnings(columns: Columns, trouble: Trouble) -> Iterator[tuple[int, Turning]]:
    said: set[str] = set()
    for index, words in columns.words.items():
        again = words.casefold() in said
        said.add(words.casefold())
        if turning := _user_turning(columns, trouble, index, "" if again or not index else words.casefold()):
            yield index, turning
    for detour in trouble.detours:
        if detour.setbacks >= MANY:
            yield from _ends(columns, trouble, detour.begin, detour.end)
    for run in trouble.repeats:
        yield run[0], "set-off"
        yield run[-1], "retried"
    request = mask_of("compaction-request")
    yield from ((i, "cut") for i, mask in enumerate(columns.marks) if mask & request and cuts(columns, i))
    yield from ((index, "plan") for index in columns.lists)


def _user_turning(columns: Columns, trouble: Trouble, index: int, words: str) -> Turning | None:
    """What a turn of the user is; go-on words turn nothing unless the message before went wrong."""
    if index in trouble.broke_in:
        return "broke-in"
    if index - 1 in trouble.setbacks:
        return "after-setback"
    if columns.marks[index] & mask_of("user-nudge"):
        return None
    return "corrected" if _CORRECTION.search(words) else "user-turn"


def _ends(columns: Columns, trouble: Trouble, begin: int, end: int) -> Iterator[tuple[int, Turning]]:
    """The setback that a long detour began with, and the first call that worked after its last."""
    within = [index for index in range(begin, end) if index in trouble.setbacks]
    yield within[0], "set-off"
    worked = next((index for index in range(within[-1] + 1, end) if columns.worked[index]), None)
    if worked is not None:
        yield worked, "first-success"


def feel_turnings(turnings: Mapping[Turning, list[int]], total: int) -> list[tuple[Point, ...]]:
    """Message → the two turning points of different kinds that are felt most there, the stronger first.

    The rarer its kind the more one is felt, and the nearer the more. Two, since a message that is one itself may stand
    beside another; not all, or places where much ordinary happens would be turning points.
    """
    felt: list[tuple[Point, ...]] = [()] * total
    for turning, places in sorted(turnings.items()):
        for index, point in _felt(turning, places, total).items():
            felt[index] = tuple(sorted((*felt[index], point), key=lambda other: -other.points)[:2])
    return felt


def _felt(turning: Turning, places: list[int], total: int) -> dict[int, Point]:
    """Of the turning points of one kind, the nearest to each message; of equals the first."""
    points = round(POINTS * surprise(len(places), total))
    felt: dict[int, Point] = {}
    for place in places:
        for index in range(max(0, place - NEAR + 1), min(total, place + NEAR)):
            here = points * (NEAR - abs(index - place))
            if here > (felt[index].points if index in felt else 0):
                felt[index] = Point(here, place, turning)
    return felt
