"""The messages of a session that are worth an essay, best first, each with the reason why.

`docs/targets.md` has the formula, its weights and why they are so. Everything is measured on columns of the session;
only the messages that are listed, and the user's turns, are decoded.
"""

from __future__ import annotations

from collections.abc import Collection

from narrator.findings import Kind, marked, mask_of
from narrator.record import Record
from narrator.session import Session
from narrator.targets.choose import choose
from narrator.targets.columns import take_columns
from narrator.targets.reason import give_reason
from narrator.targets.score import EQUAL, Survey, Weights, survey

__all__ = ["LIMIT", "Survey", "Target", "Weights", "find_targets", "order", "survey", "take_columns"]

LIMIT = 10
"""Messages that are listed unless more are asked for."""


class Target(Record):
    """A message worth an essay."""

    index: int
    id: str
    score: float
    """What it is worth at its place in the list; never more than that of the one before."""
    kinds: tuple[Kind, ...]
    """Of its findings."""
    says: str
    """One sentence: what it is, and what in the record makes it worth an essay."""


def find_targets(session: Session, limit: int = LIMIT, kinds: Collection[Kind] | None = None) -> tuple[Target, ...]:
    """At most `limit` messages, best first; with `kinds`, only messages that have a finding of one of them."""
    found = survey(take_columns(session))
    wanted = None if kinds is None else mask_of(*kinds)
    return tuple(
        Target(
            index=index,
            id=session.skims.ids[index],
            score=round(worth, 3),
            kinds=marked(found.columns.marks[index]),
            says=give_reason(session, found, index, wanted),
        )
        for index, worth in order(found, limit, kinds)
    )


def order(
    found: Survey, limit: int, kinds: Collection[Kind] | None = None, weights: Weights = EQUAL
) -> list[tuple[int, float]]:
    """At most `limit` messages, best first, each with what it is worth at its place."""
    wanted = mask_of(*kinds or ())
    columns = found.columns
    indices = (
        i for i, mask in enumerate(columns.marks) if mask & wanted or (kinds is None and i not in columns.hollow)
    )
    return choose(found.scores(weights), found.sorts, indices, limit)
