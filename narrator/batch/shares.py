"""How a batch is dealt out to several workers: which jobs next, and how much of the rate and of the budget."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from narrator.batch.job import Group, Job, Limits, Outcome
from narrator.draft import Usage

MOST = 256
"""Jobs that a worker is given at once."""


class Deck:
    """What has not been dealt out yet, in the plan's order."""

    def __init__(self, groups: Iterable[Group]) -> None:
        """Deal out these groups."""
        self._groups = deque(groups)
        self._left = sum(len(group.jobs) for group in self._groups)

    def __len__(self) -> int:
        return self._left

    def deal(self, workers: int) -> tuple[Group, ...]:
        """The next jobs for one of so many workers.

        A part of what is left, so that the parts become small towards the end and all workers end at about the same
        time; whole groups where they fit, since the jobs of one share the beginning of their prompts.
        """
        room = min(MOST, math.ceil(self._left / (2 * workers)))
        dealt: list[Group] = []
        while self._groups and room > 0:
            group = self._groups.popleft()
            if len(group.jobs) > room and dealt:
                self._groups.appendleft(group)
                break
            if rest := group.jobs[room:]:
                self._groups.appendleft(group.model_copy(update={"jobs": rest}))
                group = group.model_copy(update={"jobs": group.jobs[:room]})
            dealt.append(group)
            room -= len(group.jobs)
            self._left -= len(group.jobs)
        return tuple(dealt)

    def deal_rest(self) -> tuple[Group, ...]:
        """All that is left."""
        rest, self._left = tuple(self._groups), 0
        self._groups.clear()
        return rest


class Purse:
    """What of the limits of a whole batch is given to its workers."""

    def __init__(self, limits: Limits) -> None:
        """Nothing is given and nothing is spent."""
        self._limits = limits
        self._given: dict[object, Limits] = {}
        self._tokens, self._dollars = 0, 0.0

    def give(self, whom: object, free: int) -> Limits | None:
        """The share of one of `free` workers that have none, as large as the others' will be; None: nothing is left.

        What was given is given until it is taken back, so that all together never pass the whole, however many come.
        """
        given = tuple(self._given.values())
        share = Limits(
            jobs=_whole(_part(self._limits.jobs, (one.jobs for one in given), free)),
            rpm=_part(self._limits.rpm, (one.rpm for one in given), free),
            tpm=_part(self._limits.tpm, (one.tpm for one in given), free),
            max_cost=_part(self._limits.max_cost, (*(one.max_cost for one in given), self._dollars), free),
            max_tokens=_whole(_part(self._limits.max_tokens, (*(one.max_tokens for one in given), self._tokens), free)),
        )
        if any(value is not None and value <= 0 for value in dict(share).values()):
            return None
        self._given[whom] = share
        return share

    def take_back(self, whom: object) -> None:
        """A worker's share is free again; what it spent was counted."""
        del self._given[whom]

    def count(self, outcome: Outcome) -> None:
        """Count what an essay took."""
        usage = outcome.usage or Usage()
        self._tokens += usage.input + usage.output
        self._dollars += outcome.cost.usd if outcome.cost is not None else 0.0


def _part(whole: float | None, given: Iterable[float | None], free: int) -> float | None:
    return None if whole is None else (whole - sum(one or 0 for one in given)) / free


def _whole(part: float | None) -> int | None:
    """At least 1 while anything like that is left: the first of many workers get what cannot be divided."""
    return None if part is None else math.ceil(part - 1e-9)


def regroup(groups: Iterable[Group], jobs: Iterable[Job]) -> tuple[Group, ...]:
    """The groups with only these of their jobs; those that have none left out."""
    wanted = {(job.path, job.digest) for job in jobs}
    parted = (
        group.model_copy(update={"jobs": tuple(job for job in group.jobs if (job.path, job.digest) in wanted)})
        for group in groups
    )
    return tuple(group for group in parted if group.jobs)
