"""In which order the essays of a batch begin: sessions one after the other, and of each one essay ahead of the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from narrator.batch.job import Group, Job

ROOM = 2**30
"""Bytes of recordings that are open at once, unless a single one is larger."""


@dataclass(eq=False)
class Opened:
    """A group of which essays are written."""

    group: Group
    size: int
    left: deque[Job]
    begun: bool = False
    """One essay was begun, and goes ahead of the rest."""
    warm: bool = False
    """Its answer has begun, or there is no use in waiting for that: the rest may follow."""
    running: int = 0


@dataclass
class Line:
    """What is begun next. The first of a group is asked alone, so that the others find the prefix in the cache."""

    groups: Sequence[Group]
    ahead: int
    """Essays that are in hand at once: so many are kept ready, and no more groups opened than they need."""
    size: Callable[[Group], int]
    """Bytes of a group's recording."""
    opened: list[Opened] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the first group."""
        self._waiting = deque(self.groups)

    def take(self) -> tuple[Opened, Job] | None:
        """The next job, which counts as running from now on; None: one that is running must get further first."""
        self._open()
        fresh = (opened for opened in self.opened if opened.left and not opened.begun)
        warm = (opened for opened in self.opened if opened.left and opened.warm)
        found = next(fresh, None) or next(warm, None)
        if found is None:
            return None
        found.begun = True
        found.running += 1
        return found, found.left.popleft()

    def end(self, opened: Opened, *, asked: bool) -> None:
        """A job is over; `asked`: something was sent for it."""
        opened.running -= 1
        if asked:
            opened.warm = True
        elif not opened.warm and not opened.running:
            opened.begun = False
        if not opened.left and not opened.running:
            self.opened.remove(opened)

    def rest(self) -> Iterator[Job]:
        """What has not begun, taken out of the line."""
        for opened in self.opened:
            while opened.left:
                yield opened.left.popleft()
        while self._waiting:
            yield from self._waiting.popleft().jobs

    @property
    def over(self) -> bool:
        """Nothing is left to begin."""
        return not self._waiting and not any(opened.left for opened in self.opened)

    def _open(self) -> None:
        while self._waiting and sum(len(opened.left) for opened in self.opened) < self.ahead:
            group = self._waiting[0]
            size = self.size(group)
            if self.opened and sum(opened.size for opened in self.opened) + size > ROOM:
                return
            self._waiting.popleft()
            self.opened.append(Opened(group, size, deque(group.jobs)))
