"""What the user typed: whether a turn says something, and where else the very same was typed."""

from __future__ import annotations

from narrator.findings import NUDGE_WORDS, typed_text
from narrator.segments import SHORT
from narrator.session import Session

_NUDGES = 200
"""Short turns that are looked at and found to say nothing, before no more are."""
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


def places_of_saying(session: Session, index: int) -> tuple[int, ...]:
    """Messages with the very words of a turn, ascending, itself too; () for one that stands alone or is no turn."""
    skims = session.skims
    saying, same, place = skims.sayings[index], [], -1
    try:
        while saying:
            place = skims.sayings.index(saying, place + 1)
            same.append(place)
    except ValueError:
        pass
    return tuple(same) if len(same) > 1 else ()


def name_places(places: tuple[int, ...]) -> str:
    """In the product's words: `said 3 times: msg 4, 9, 12`; "" for none."""
    if not places:
        return ""
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f"said {len(places)} times: msg {', '.join(map(str, places[:_NAMED]))}{more}"
