"""Spans of a text looked up in the time of a search, however many there are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Placed(Protocol):
    """Whatever has a place in a text."""

    @property
    def start(self) -> int:
        """Where it begins."""


Found = TypeVar("Found", bound=Placed)


class Row(Sequence[Found]):
    """Things in the order of their places."""

    def __init__(self, things: Iterable[Found]) -> None:
        self._things = sorted(things, key=lambda thing: thing.start)
        self._starts = [thing.start for thing in self._things]

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204  # as of any sequence
        """One, or several."""
        return self._things[place]

    def within(self, start: int, end: int) -> list[Found]:
        """Those that begin in `start <= place < end`."""
        return self._things[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def before(self, place: int) -> Found | None:
        """The last that begins before a place."""
        at = bisect_left(self._starts, place)
        return self._things[at - 1] if at else None

    def upto(self, place: int) -> Found | None:
        """The last that begins at a place or before it."""
        at = bisect_right(self._starts, place)
        return self._things[at - 1] if at else None

    def after(self, place: int) -> Found | None:
        """The first that begins at a place or behind it."""
        at = bisect_left(self._starts, place)
        return self._things[at] if at < len(self._things) else None


def mark(length: int, spans: Iterable[tuple[int, int]]) -> bytearray:
    """A byte a character: whether it lies in one of the spans."""
    marked = bytearray(length + 1)
    for start, end in spans:
        if start < end:
            marked[start:end] = b"\1" * (end - start)
    return marked
