"""A batch over the workers of a Dask cluster (`--engine dask`, extra `dask`).

Each worker is given some jobs at a time, with a share of the rate and of the budget, and writes them as a run of its
own does. Drafts and claims lie where all workers reach them, and see to it that an essay is written once: when a worker
dies, Dask gives its jobs to another one, which finds what is saved.
"""

from __future__ import annotations

import math
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from narrator.batch.claims import STALE_SECONDS
from narrator.batch.job import Group, Job, Limits, Outcome, Plan
from narrator.batch.order import Order, hide_key, write_order
from narrator.batch.shares import Deck, Purse, regroup
from narrator.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client, Future

EXTRA = "pip install 'narrate[dask]'"
WAIT_SECONDS = 30.0
"""So long a scheduler, and its first worker, are waited for."""
LOOK_SECONDS = 1.0
"""So often workers that came or went are looked for."""


def spread(plan: Plan, limits: Limits, scheduler: str, tell: Callable[[Outcome], None], *, redo: bool = False) -> None:
    """Write a batch with the workers of a cluster.

    Args:
        plan: What is to be written.
        limits: Of all workers together.
        scheduler: Its address, like `tcp://10.0.0.1:8786`.
        tell: Given each outcome as it becomes known, once for each job.
        redo: What is saved is written again.

    Raises:
        UsageError: Dask is not installed, no cluster answers, or its workers cannot do what is asked.
    """
    with _cluster(scheduler) as client:
        Foreman(client, plan, limits, tell, redo=redo).run()


class Foreman:
    """Deals a plan out to the workers that there are, and collects what becomes of it."""

    def __init__(
        self, client: Client, plan: Plan, limits: Limits, tell: Callable[[Outcome], None], *, redo: bool
    ) -> None:
        """`client` is connected to the cluster, which has a worker."""
        self._client, self._plan, self._tell = client, plan.model_copy(update={"terms": hide_key(plan.terms)}), tell
        self._redo = redo
        self._purse = Purse(limits)
        self._busy: dict[Future, tuple[str, Order]] = {}
        self._told: set[tuple[str, str]] = set()
        self._skipped: dict[tuple[str, str], Outcome] = {}
        self._workers: frozenset[str] = frozenset()
        self._lost = -math.inf
        self._run = f"narrate-{uuid.uuid4().hex[:12]}"
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self) -> None:
        """Write all of it; what cannot be written is told at the end."""
        self._client.subscribe_topic(self._run, lambda event: self._news.put(event[1]))
        try:
            groups = self._plan.groups
            while groups:
                before = len(self._told)
                self._deal_out(Deck(groups))
                groups = self._left(progress=len(self._told) > before)
        finally:
            self._client.unsubscribe_topic(self._run)
        for outcome in self._skipped.values():
            self._tell(outcome)

    def _left(self, *, progress: bool) -> tuple[Group, ...]:
        """What is dealt out once more: a share of the budget that was too small, what a dead worker had claimed."""
        claimed = [outcome.job for outcome in self._skipped.values() if outcome.elsewhere]
        over = [outcome.job for outcome in self._skipped.values() if not outcome.elsewhere]
        # On another machine nobody can tell that a worker is dead before its claims are left behind.
        waiting = time.monotonic() - self._lost < 1.2 * STALE_SECONDS
        if claimed and waiting and not progress:
            time.sleep(LOOK_SECONDS * 10)
        wanted = [*(claimed if waiting or progress else ()), *(over if progress else ())]
        return regroup(self._plan.groups, wanted)

    def _deal_out(self, deck: Deck) -> None:
        from distributed import wait

        while self._hire(deck) or self._busy:
            with suppress(TimeoutError):
                wait(list(self._busy), timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
            while not self._news.empty():
                self._hear(Outcome.model_validate_json(self._news.get()))
            for future in [future for future in self._busy if future.done()]:
                self._finish(future, *self._busy.pop(future))
        for group in deck.deal_rest():
            for job in group.jobs:
                self._hear(Outcome(job=job, state="skipped", why="the budget is used up"))

    def _hire(self, deck: Deck) -> bool:
        """Give work to every worker that has none; whether anybody got some."""
        workers = frozenset(self._client.nthreads())
        if self._workers - workers:
            self._lost = time.monotonic()
        self._workers = workers
        free = sorted(workers - {worker for worker, _ in self._busy.values()})
        hired = False
        while free and len(deck):
            order_id = f"{self._run}-{uuid.uuid4().hex[:8]}"
            limits = self._purse.give(order_id, len(free))
            if limits is None:
                break
            part = self._plan.model_copy(update={"groups": deck.deal(len(workers))})
            order = Order(part, limits, self._run, order_id, redo=self._redo)
            # Another worker may take it over when this one is gone.
            where = {"workers": [free[0]], "allow_other_workers": True}
            future = self._client.submit(write_order, order, key=order_id, pure=False, **where)
            self._busy[future] = (free.pop(0), order)
            hired = True
        return hired

    def _finish(self, future: Future, worker: str, order: Order) -> None:
        self._purse.take_back(order.name)
        why = f"the cluster lost it ({future.status})"
        if future.status == "error":
            error = future.exception()
            if isinstance(error, UsageError):
                raise UsageError(f"worker {worker}: {error}")
            why = f"worker {worker}: {type(error).__name__}: {error}"[:300]
        if future.status == "finished":
            for outcome in future.result():
                self._hear(outcome)
        for job in order.plan.jobs:
            if not self._knows(job):
                self._hear(Outcome(job=job, state="failed", why=why))

    def _hear(self, outcome: Outcome) -> None:
        """Tell an outcome once; one that was skipped may yet become another."""
        key = _key(outcome.job)
        if key in self._told:
            return
        if outcome.state == "skipped":
            self._skipped[key] = outcome
            return
        self._skipped.pop(key, None)
        self._told.add(key)
        self._purse.count(outcome)
        self._tell(outcome)

    def _knows(self, job: Job) -> bool:
        return _key(job) in self._told or _key(job) in self._skipped


def _key(job: Job) -> tuple[str, str]:
    return job.path, job.digest


@contextmanager
def _cluster(scheduler: str) -> Iterator[Client]:
    """A connection to a cluster that has at least one worker."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(f"--engine dask needs Dask: {EXTRA}") from error
    try:
        client = Client(scheduler, timeout=WAIT_SECONDS, set_as_default=False, name="narrate")
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler`") from error
    with client, client.as_current():
        try:
            client.wait_for_workers(1, timeout=WAIT_SECONDS)
        except TimeoutError as error:
            told = f"start some with `dask worker {scheduler}`"
            raise UsageError(f"the Dask scheduler at {scheduler} has no worker: {told}") from error
        yield client
