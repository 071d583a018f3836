"""What became of a batch: sums for a line, and all of it for a program."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from narrator.batch.job import Job, Outcome, Plan, State
from narrator.draft import Cost, Usage
from narrator.pipeline import iso
from narrator.prices import add_costs

SCHEMA = 1
"""Version of the report's shape."""


class Tally:
    """Counts outcomes as they come; of each it keeps one small value."""

    def __init__(self, plan: Plan) -> None:
        """Begin with nothing written; what was given up before counts as failed."""
        self.plan = plan
        self.total = len(plan.jobs)
        self.outcomes: list[Outcome] = []
        self.usage = Usage()
        self.cost: Cost | None = None
        self.priced = True
        """Whether the cost of all that was counted is known."""
        self.counted = False
        """Whether the endpoint counted any tokens."""

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.outcomes.append(outcome)
        if outcome.usage is None:
            # Whatever was sent for it was not counted.
            self.priced = self.priced and not outcome.requests
            return
        self.counted = True
        self.usage = Usage.total((self.usage, outcome.usage))
        if outcome.cost is None:
            self.priced = False
        else:
            self.cost = outcome.cost if self.cost is None else add_costs(self.cost, outcome.cost)

    def count(self, state: State) -> int:
        """How many ended so."""
        return sum(outcome.state == state for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """What failed now, and what failed so often that it was not tried."""
        return (*(outcome for outcome in self.outcomes if outcome.state == "failed"), *self.plan.given_up)

    @property
    def cached_share(self) -> float | None:
        """Share of all prompt tokens that came out of the endpoint's cache; None when none were counted."""
        return self.usage.cached / self.usage.input if self.usage.input else None

    @property
    def clean(self) -> bool:
        """All that was asked for is written, or another run is writing it."""
        left = any(outcome.state == "skipped" and not outcome.elsewhere for outcome in self.outcomes)
        return not (left or self.failed or self.plan.problems)


def report_json(tally: Tally, started: datetime, finished: datetime, *, state: str) -> dict[str, Any]:
    """The whole of it (`docs/batch.md`); `state`: `done`, `interrupted`, or `planned` for a plan that was not run."""
    plan = tally.plan
    settings = plan.terms.settings
    ended = {outcome.job.digest for outcome in tally.outcomes}
    pending = [job for job in plan.jobs if job.digest not in ended]
    share = tally.cached_share
    return {
        "schema": SCHEMA,
        "state": state,
        "times": {"started": iso(started), "finished": iso(finished)},
        "model": None if settings is None else {"name": settings.model, "base_url": settings.address},
        "drafts": plan.drafts,
        "counts": {
            "written": tally.count("done"),
            "saved_before": len(plan.done),
            "failed": len(tally.failed),
            "skipped": tally.count("skipped"),
            "pending": len(pending),
            "problems": len(plan.problems),
        },
        "usage": tally.usage.model_dump() if tally.counted else None,
        "cached_share": None if share is None else round(share, 4),
        "cost": tally.cost.model_dump() if tally.cost is not None and tally.priced else None,
        "plan": {
            "essays": tally.total,
            "usage": plan.usage.model_dump(),
            "cost": None if plan.cost is None else plan.cost.model_dump(),
            "cost_without_cache": None if plan.dearest is None else plan.dearest.model_dump(),
            "seconds": plan.seconds,
        },
        "essays": [
            *(_entry(outcome) for outcome in (*tally.outcomes, *plan.given_up)),
            *({**_job(job), "state": "pending", "draft": None} for job in pending),
            *({**_job(job), "state": "saved-before", "draft": job.path} for job in plan.done),
        ],
        "problems": [problem.model_dump() for problem in plan.problems],
    }


def _job(job: Job) -> dict[str, Any]:
    return {"session": job.session, "msg": job.index, **job.manner.model_dump()}


def _entry(outcome: Outcome) -> dict[str, Any]:
    entry: dict[str, Any] = {**_job(outcome.job), "state": outcome.state, "draft": outcome.path}
    if outcome.why:
        entry["why"] = outcome.why
    return entry | {
        "usage": None if outcome.usage is None else outcome.usage.model_dump(),
        "cost": None if outcome.cost is None else outcome.cost.model_dump(),
        "seconds": round(outcome.seconds, 3),
        "requests": outcome.requests,
        "warnings": list(outcome.warnings),
    }
