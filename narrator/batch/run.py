"""A plan carried out: many essays at once, in an order that keeps prompts cached, within a rate and a budget."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from narrator.asking import read_style
from narrator.batch.claims import Claims
from narrator.batch.essay import Desk, Essay, Opening
from narrator.batch.gate import Gate
from narrator.batch.job import Group, Job, Limits, Outcome, Plan
from narrator.batch.ledger import Ledger
from narrator.batch.line import Line, Opened
from narrator.batch.pace import Pace
from narrator.batch.store import Store
from narrator.batch.threads import Threads
from narrator.formats import open_session
from narrator.model import Call, Endpoint
from narrator.model.loop import run

MOST_JOBS = 64
"""Requests at once where the call names no number."""
ATTEMPTS = 8
"""Requests at most for one answer: among many essays, one may be sent away more often than when it is alone."""


def run_batch(
    plan: Plan,
    limits: Limits,
    store: Store,
    tell: Callable[[Outcome], None],
    *,
    notice: Callable[[str], None] = lambda _line: None,
    replace: bool = False,
) -> None:
    """Write all essays of a plan.

    Args:
        plan: What is to be written.
        limits: How fast, and how much at most.
        store: Where the drafts go.
        tell: Given what became of each, once, as it ends.
        notice: Given one line on each thing that the endpoint does not take.
        replace: Write also over essays that are saved.

    Raises:
        UsageError: the endpoint cannot be asked, or there is a budget in dollars and no price.
        KeyboardInterrupt: what is saved is whole; the essays in flight were not told of.
    """
    with Claims(store) as claims, Threads() as threads:
        desk = Desk(plan.terms, store, claims, threads, replace)
        run(Batch(plan, limits, desk, tell, notice).write())


class Batch:
    """A batch while it runs; in one event loop."""

    def __init__(
        self,
        plan: Plan,
        limits: Limits,
        desk: Desk,
        tell: Callable[[Outcome], None],
        notice: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """Ask nothing yet; raises UsageError for a budget in dollars without a price."""
        self._desk, self._tell, self._notice = desk, tell, notice
        settings = plan.terms.settings
        jobs = limits.jobs or MOST_JOBS
        # Some more in hand than are asked at once: those that are prepared, checked and saved meanwhile.
        self._most = jobs + max(2, jobs // 4)
        self._line = Line(plan.groups, self._most, _size)
        self._sessions: dict[Opened, asyncio.Task[Opening]] = {}
        self._moved = asyncio.Event()
        self._running = 0
        self._stopped = ""
        self.ledger = None if settings is None else Ledger(limits, settings, plan.terms.price)
        self.pace = Pace(jobs, limits.rpm, limits.tpm)
        self._endpoint: Endpoint | None = None

    async def write(self) -> None:
        """Write all essays that can be written, and tell of each."""
        async with AsyncExitStack() as stack:
            settings = self._desk.terms.settings
            if settings is not None and self.ledger is not None:
                endpoint = Endpoint(
                    settings.model_copy(update={"attempts": ATTEMPTS}),
                    notice=self._notice,
                    gate=Gate(self.pace, self.ledger),
                    aside=self._desk.threads.compute,
                    tell_waits=False,
                )
                self._endpoint = await stack.enter_async_context(endpoint)
            async with asyncio.TaskGroup() as tasks:
                while not self._line.over and not self._stopped:
                    taken = self._line.take() if self._running < self._most else None
                    if taken is None:
                        self._moved.clear()
                        await self._moved.wait()
                    else:
                        self._running += 1
                        tasks.create_task(self._write(*taken))
        for job in self._line.rest():
            self._tell(Outcome(job=job, state="skipped", why=self._stopped))

    async def _write(self, opened: Opened, job: Job) -> None:
        call = self._call(opened)
        essay = Essay(self._desk, job, call)
        outcome = await essay.write(partial(self._open, opened))
        self._running -= 1
        self._line.end(opened, asked=not outcome.elsewhere)
        if not opened.left and not opened.running:
            self._sessions.pop(opened, None)
        if essay.stops is not None:
            self._stopped = self._stopped or str(essay.stops)
        if self.ledger is not None and self.ledger.full and outcome.state == "skipped":
            self._stopped = self._stopped or outcome.why
        self._moved.set()
        self._tell(outcome)

    def _call(self, opened: Opened) -> Call | None:
        if self._endpoint is None:
            return None

        def begun() -> None:
            if not opened.warm:
                opened.warm = True
                self._moved.set()

        return self._endpoint.begin(cache_key=_cache_key(opened.group), begun=begun)

    async def _open(self, opened: Opened) -> Opening:
        """The session of a group, opened once."""
        if opened not in self._sessions:
            work = partial(_open_group, opened.group, redact=self._desk.terms.redact)
            self._sessions[opened] = asyncio.ensure_future(_awaited(self._desk.threads, work))
        return await asyncio.shield(self._sessions[opened])


async def _awaited(threads: Threads, work: Callable[[], Opening]) -> Opening:
    return await threads.compute(work)


def _open_group(group: Group, *, redact: bool) -> Opening:
    return Opening(open_session(group.session, redact=redact), read_style(group.manner))


def _size(group: Group) -> int:
    try:
        return Path(group.session).stat().st_size
    except OSError:
        return 0  # opening it will tell


def _cache_key(group: Group) -> str:
    """The same for all prompts that begin alike, and telling nothing of them."""
    told = f"{group.sha256} {group.manner.model_dump_json()}"
    return f"narrate-{hashlib.sha256(told.encode()).hexdigest()[:24]}"
