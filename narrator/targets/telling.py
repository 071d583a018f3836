"""Setbacks in words: how many failures, interruptions, open ends and step-ins there were, and in which messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from narrator.findings import mask_of
from narrator.targets.score import Survey

NAMED = 3
"""Messages that are all named; of more, the first and the last."""
_INTERRUPTED = mask_of("aborted", "tool-aborted")
_OPEN = mask_of("unfinished", "tool-unfinished")
_NOUNS = ("failure", "interruption", "open end", "step-in by the user")
"""As `docs/targets.md` defines them, in the order in which they are told."""


def tell(found: Survey, places: Sequence[int]) -> str:
    """`2 failures and 1 interruption (messages 3, 4 and 7)`; `places` are setbacks, at least one, ascending."""
    counts = Counter(_noun(found, place) for place in places)
    told = [counted(counts[noun], noun) for noun in _NOUNS if counts[noun]]
    return f"{listed(told)} ({numbers(places)})"


def numbers(places: Sequence[int]) -> str:
    """`message 3`, `messages 3 and 4`; of more than `NAMED`, `messages 3 to 41`."""
    if len(places) > NAMED:
        return f"messages {places[0]} to {places[-1]}"
    return f"message{'s' if len(places) > 1 else ''} {listed([str(place) for place in places])}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def counted(count: int, noun: str) -> str:
    """`1 failure`, `2 step-ins by the user`."""
    head, _, rest = noun.partition(" by ")
    return f"{count:,} {head}" + ("" if count == 1 else "s") + (f" by {rest}" if rest else "")


def _noun(found: Survey, place: int) -> str:
    mask, kind = found.columns.marks[place], found.trouble.setbacks[place]
    if kind == "broken-in":
        return _NOUNS[3]
    if mask & _INTERRUPTED:
        return _NOUNS[1]
    return _NOUNS[2] if mask & _OPEN and not found.columns.failed[place] else _NOUNS[0]
