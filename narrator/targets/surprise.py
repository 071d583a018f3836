"""How seldom something is in this session: the one measure that every part of the score is given in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

RAREST = 1000
"""What one message in a thousand has, or fewer, surprises fully: a long session's only one is not worth ever more."""


def surprise(count: int, total: int) -> float:
    """-log of a share, between 0 (all have it, or none) and 1 (one in `RAREST`, or fewer)."""
    return min(1.0, log(total / count) / log(RAREST)) if count else 0.0


def surprises(values: Sequence[int]) -> dict[int, float]:
    """Value → the surprise of the share of messages that have at least it; 0 or less surprises nobody.

    A value in minutes, one in messages and one in points become comparable so, without a scale chosen by hand.
    """
    found, at_least, total = {}, 0, len(values)
    counts = Counter(values)
    for value in sorted(counts, reverse=True):
        at_least += counts[value]
        found[value] = surprise(at_least, total) if value > 0 else 0.0
    return found
