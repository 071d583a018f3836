"""The order of the list: the best first, and never ten of the same."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heapreplace

from narrator.targets.trouble import REACH

NEARBY = 0.8
"""What a message keeps of its score for each one listed before it, from the second, of the `REACH` messages on either
side: an event has two sides that are worth reading, and seldom more."""


def choose(
    scores: Sequence[float], sorts: Sequence[str], indices: Iterable[int], limit: int
) -> list[tuple[int, float]]:
    """At most `limit` of `indices`, each with what its score is worth at its place in the list; ties by index.

    The n-th message of a sort counts for an n-th of its score, or for what its neighbours leave it, if that is less:
    one event among many of its sort must not pay twice. What is listed only takes away from the others, so that
    the head of the heap is the best as soon as its own worth is up to date: no other need be looked at.
    """
    heap = [(-scores[index], index) for index in indices]
    heapify(heap)
    chosen: list[tuple[int, float]] = []
    places: list[int] = []
    listed: Counter[str] = Counter()
    while heap and len(chosen) < limit:
        stale, index = heap[0]
        near = bisect_right(places, index + REACH) - bisect_left(places, index - REACH)
        worth = scores[index] * min(NEARBY ** max(0, near - 1), 1 / (1 + listed[sorts[index]]))
        if -worth > stale:
            heapreplace(heap, (-worth, index))
            continue
        heappop(heap)
        chosen.append((index, worth))
        insort(places, index)
        listed[sorts[index]] += 1
    return chosen
