"""The messages of a session that are worth an essay, best first, each with the reason why.

`docs/targets.md` has the formula, its weights and why they are so. Everything is measured on columns of the session;
only the messages that are listed, and the user's turns, are decoded.
"""

from __future__ import annotations

from collections.abc import Collection

from narrator.findings import Kind
from narrator.record import Record
from narrator.session import Session
from narrator.targets.choose import choose
from narrator.targets.columns import KINDS, bits, take_columns
from narrator.targets.reason import give_reason, take_stock
from narrator.targets.score import Weights, survey

__all__ = ["KINDS", "LIMIT", "Target", "Weights", "find_targets"]

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


def find_targets(
    session: Session, limit: int = LIMIT, kinds: Collection[Kind] | None = None, weights: Weights | None = None
) -> tuple[Target, ...]:
    """At most `limit` messages, best first; with `kinds`, only messages that have a finding of one of them."""
    columns = take_columns(session)
    found = survey(columns)
    stock = take_stock(found)
    wanted = bits(*kinds or ())
    indices = [i for i, mask in enumerate(columns.marks) if kinds is None or mask & wanted]
    given = Weights() if weights is None else weights
    chosen = choose([parts.weighed(given) for parts in found.parts], stock.sorts, indices, limit)
    return tuple(
        Target(
            index=index,
            id=session.skims[index].id,
            score=round(worth, 3),
            kinds=tuple(kind for place, kind in enumerate(KINDS) if columns.marks[index] >> place & 1),
            says=give_reason(session, stock, index),
        )
        for index, worth in chosen
    )
