"""Which claims are kept when there is no room for all: by weight, and never a part of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from narrator.offline.claims import Claim, paragraph

KEPT = 1000
"""Weight of what stays whatever the room."""


class Point(NamedTuple):
    """Claims that stand or fall together."""

    weight: int
    """The higher, the longer it stays."""
    claims: tuple[Claim, ...]


def point(weight: int, *claims: Claim | None) -> Point:
    """A point of the claims that there are."""
    return Point(weight, tuple(claim for claim in claims if claim is not None and claim.text))


def count_words(paragraphs: Sequence[Sequence[Claim]]) -> int:
    """Words of paragraphs as they are printed, citations included."""
    return sum(len(paragraph(claims).split()) for claims in paragraphs)


def fit(paragraphs: Sequence[Sequence[Point]], words: int) -> list[list[Claim]]:
    """The paragraphs without the points of least weight, as many as it takes to come down to `words`.

    What is left may be longer, when it is nothing but what stays in any case, or one point.
    """
    kept = [[one for one in points if one.claims] for points in paragraphs]
    while count_words(told := [[c for one in points for c in one.claims] for points in kept]) > words:
        order = [(one.weight, -row, -place) for row, points in enumerate(kept) for place, one in enumerate(points)]
        if len(order) < 2 or min(order)[0] >= KEPT:
            break
        _, row, place = min(order)
        del kept[-row][-place]
    return [claims for claims in told if claims]
