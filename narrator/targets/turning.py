"""Turning points: where the work took another course, whatever the findings say."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import add
from typing import Literal, NamedTuple, TypeAlias

from narrator.findings import mask_of
from narrator.targets.columns import Columns
from narrator.targets.surprise import surprise
from narrator.targets.trouble import POINTS, Trouble, cuts, running, within_detour

Turning: TypeAlias = Literal[
    "broke-in", "corrected", "after-setback", "user-turn", "first-success", "retried", "set-off", "cut", "plan"
]
NEAR = 10
"""Messages on either side of a turning point that are near it, less with each."""
MANY = 3
"""Setbacks of one matter from which on its first and the success after its last are turning points."""
_CORRECTION = re.compile(
    r"^(no|nope|wait|stop|actually)\s*(?:[,.!:;–—-]|$)"
    r"|^(?:ok\w*,? |please |just )*(revert|undo)\b"
    r"|\b(wrong|crash(?:ed|es)|failed|broken|not what|new plan|change of plan)\b",
    re.IGNORECASE,
)
"""Words of a turn that asks for another course, or says that something went wrong."""


class Point(NamedTuple):
    """A turning point as it is felt at a message."""

    points: int
    place: int
    """The message at which it is."""
    turning: Turning


def find_turnings(columns: Columns, trouble: Trouble) -> dict[Turning, list[int]]:
    """Kind of turning point → the messages at which there is one, in order; a message can be several."""
    found: dict[Turning, list[int]] = {}
    for index, turning in _turnings(columns, trouble):
        found.setdefault(turning, []).append(index)
    return {turning: sorted(set(found[turning])) for turning in sorted(found)}


def _turnings(columns: Columns, trouble: Trouble) -> Iterator[tuple[int, Turning]]:
    said: set[str] = set()
    for index, words in columns.words.items():
        again = words.casefold() in said
        said.add(words.casefold())
        if turning := _user_turning(columns, trouble, index, "" if again or not index else words):
            yield index, turning
    for detour in trouble.detours:
        if detour.setbacks >= MANY:
            yield from _ends(columns, trouble, detour.begin, detour.end)
    for run in dict.fromkeys(trouble.repeats.values()):
        yield run[0], "set-off"
        if columns.acts(run[-1]):
            yield run[-1], "retried"
    request = mask_of("compaction-request")
    yield from ((i, "cut") for i, mask in enumerate(columns.marks) if mask & request and cuts(columns, i))
    yield from ((index, "plan") for index in columns.lists)


def _user_turning(columns: Columns, trouble: Trouble, index: int, words: str) -> Turning | None:
    """What a turn of the user is; go-on words turn nothing unless the message before went wrong."""
    if index in trouble.broke_in:
        return "broke-in"
    if trouble.setbacks.get(index - 1, "broken-in") != "broken-in" and not running(columns, index - 1, index):
        return "after-setback"
    if columns.marks[index] & mask_of("user-nudge"):
        return None
    return "corrected" if correcting(words) else "user-turn"


def correcting(words: str) -> str:
    """The words of a turn by which it asks for another course or reports trouble; "" for none."""
    found = _CORRECTION.search(words)
    return found[found.lastindex or 0] if found else ""


def _ends(columns: Columns, trouble: Trouble, begin: int, end: int) -> Iterator[tuple[int, Turning]]:
    """The setback that a long detour began with, and the first command or edit that worked after its last."""
    within = within_detour(trouble, begin, end)
    yield within[0], "set-off"
    later = range(within[-1] + 1, end)
    worked = next((index for index in later if columns.worked[index] and columns.acts(index)), None)
    if worked is not None:
        yield worked, "first-success"


def feel_turnings(turnings: Mapping[Turning, list[int]], total: int) -> list[int]:
    """Message → points of the two turning points of different kinds that are felt most there.

    The rarer its kind the more one is felt, and the nearer the more. Two, since a message that is one itself may stand
    beside another; not all, or places where much ordinary happens would be turning points.
    """
    first, second = [0] * total, [0] * total
    for places in turnings.values():
        points = round(POINTS * surprise(len(places), total))
        slope = [points * (NEAR - distance) for distance in range(NEAR)]
        # Each message is looked at once a kind: for the nearest place, of two as near the earlier.
        begin = 0
        for place, following in pairwise((*places, 2 * total + NEAR)):
            end = min(total, place + NEAR, (place + following) // 2 + 1)
            for index in range(max(begin, place - NEAR + 1), end):
                here = slope[abs(index - place)]
                if here > first[index]:
                    first[index], second[index] = here, first[index]
                elif here > second[index]:
                    second[index] = here
            begin = end
    return list(map(add, first, second))


def near_turnings(turnings: Mapping[Turning, list[int]], index: int, total: int) -> list[Point]:
    """The turning points that are felt at a message, of each kind the nearest, the strongest first."""
    found = []
    for turning, places in turnings.items():
        after = bisect_left(places, index)
        place = min(places[max(0, after - 1) : after + 1], key=lambda other: abs(other - index))
        nearness = NEAR - abs(index - place)
        if nearness > 0:
            found.append(Point(round(POINTS * surprise(len(places), total)) * nearness, place, turning))
    return sorted(found, key=lambda point: -point.points)
