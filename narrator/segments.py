"""Where a session falls into parts: as even as its own breaks let them be.

A map that lists what weighs most all over lists the noisy part of a session; one that cuts it into equal lengths cuts
through the middle of things. So each border of equal parts moves, by half a part at most, to the strongest break near
it: a compaction, a long silence, a turn of the user, other files and commands than before.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import sub

from narrator.findings.sequence import GAP_MS
from narrator.session import Session
from narrator.skims import NONE

SEGMENTS = 16
"""Parts of a long session."""
_LEAST = 6
"""Messages of a part, at least, on average."""
_COMPACTED, _SILENCE, _ASKED, _SPOKEN = 8.0, 4.0, 3.0, 2.0
"""How strong a break is: behind a summary, behind a silence, at a turn that says something, at a short one;"""
_OTHERS = 2.0
"""where all commands and files are other ones."""
SHORT = 40
"""Bytes of a turn that cannot be understood without what was said before it."""
_AROUND = 30
"""Calls before and after a place that are compared."""
_LOOKED_AT = 12
"""Places near a border that are weighed, of each kind."""


def find_segments(session: Session) -> list[range]:
    """The parts of a session, in order; together they hold every message once."""
    count = len(session)
    parts = max(1, min(SEGMENTS, count // _LEAST))
    half = count / parts / 2
    breaks = _breaks(session)
    places = list(breaks)
    cuts = [0]
    for part in range(1, parts):
        even = round(part * count / parts)
        low, high = max(cuts[-1] + 1, round(even - half) + 1), min(count - parts + part, round(even + half))
        strong = places[bisect_left(places, low) : bisect_left(places, high)]
        strong = sorted(strong, key=lambda place: (-breaks[place], place))[:_LOOKED_AT]
        near = [*strong, *range(low, high, max(1, (high - low) // _LOOKED_AT)), even]
        cuts.append(max(sorted(set(near)), key=lambda place: (_strength(session, place, breaks), -abs(place - even))))
    return [range(start, stop) for start, stop in zip(cuts, [*cuts[1:], count], strict=True)]


def _breaks(session: Session) -> dict[int, float]:
    """Place → how strong a break its message makes by itself, in the order of places."""
    skims = session.skims
    found = {place: _ASKED if skims.said[place] >= SHORT else _SPOKEN for place in skims.places("typed")}
    found |= dict.fromkeys(_after_silence(session), _SILENCE)
    found |= {place + 1: _COMPACTED for place in skims.places("compaction-summary")}
    return dict(sorted(found.items()))


def _after_silence(session: Session) -> list[int]:
    """Messages that begin long after the one before them had ended."""
    skims = session.skims
    ends = list(map(max, skims.completed, skims.created))
    pauses = map(sub, skims.created[1:], ends)
    return [place for place, pause in enumerate(pauses, 1) if GAP_MS < pause < -NONE // 2]


def _strength(session: Session, place: int, breaks: dict[int, float]) -> float:
    return breaks.get(place, 0.0) + _OTHERS * _novelty(session, place)


def _novelty(session: Session, place: int) -> float:
    """How other the commands and files are from here on: 0 the same ones, 1 all of them."""
    calls = session.calls
    number = calls.of(place).start
    before = set(calls.subjects[max(0, number - _AROUND) : number]) - {0}
    after = set(calls.subjects[number : number + _AROUND]) - {0}
    both = before | after
    return 1 - len(before & after) / len(both) if before and after else 0.0
