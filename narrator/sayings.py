"""What the user typed: whether a turn says something, and where else the very same was typed.

A session may have thousands of turns. Only those of the same length as one that is asked about are read, and only so
many of all; beyond that a repetition is not noticed, and nothing is said of it.
"""

from __future__ import annotations

from collections import defaultdict

from narrator.findings import NUDGE_WORDS, typed_text
from narrator.segments import SHORT
from narrator.session import Session

_NUDGES = 200
"""Short turns that are looked at and found to say nothing, before no more are."""
_MOST_READ = 2000
"""Turns that are read to find the ones that are the same."""
_NAMED = 4
"""Places that are named; the others are counted."""


class Asking:
    """Whether a user's turn says something; of the shortest ones, that do not, only so many are looked at."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left = _NUDGES

    def __call__(self, index: int) -> bool:
        """Of a turn."""
        if self._session.skims.said[index] >= SHORT:
            return True
        self._left -= 1
        words = typed_text(self._session.message(index)).lower().rstrip(".!").split() if self._left >= 0 else ()
        return not NUDGE_WORDS.issuperset(words)


class Sayings:
    """Where the same was typed, word for word."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left = _MOST_READ
        self._lengths: dict[int, list[int]] = defaultdict(list)
        for place in session.skims.places("typed"):
            self._lengths[session.skims.said[place]].append(place)
        self._texts: dict[int, str] = {}

    def places(self, index: int) -> tuple[int, ...]:
        """Messages with the very text of a turn, ascending, itself too; () for one that stands alone or is no turn."""
        length = self._session.skims.said[index]
        alike = self._lengths.get(length, []) if length else []
        if len(alike) < 2 or index not in alike:
            return ()
        if alike[0] not in self._texts:
            if len(alike) > self._left:
                return ()
            self._left -= len(alike)
            self._texts |= {place: typed_text(self._session.message(place)) for place in alike}
        own = self._texts[index]
        same = tuple(place for place in alike if self._texts[place] == own)
        return same if len(same) > 1 else ()


def name_places(places: tuple[int, ...]) -> str:
    """In the product's words: `said 3 times: msg 4, 9, 12`; "" for none."""
    if not places:
        return ""
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f"said {len(places)} times: msg {', '.join(map(str, places[:_NAMED]))}{more}"
