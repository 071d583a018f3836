"""What a batch will do and what it did, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrator.batch.job import Limits, Outcome, Plan
    from narrator.batch.report import Tally

_WITHOUT = "without reasoning, look-ups and repair"


def plan_lines(plan: Plan, limits: Limits) -> Iterator[str]:
    """The plan before it is carried out, a line or two."""
    yield f"plan: {_essays(plan)}"
    if plan.groups and plan.terms.settings is not None:
        yield f"plan: {_tokens(plan)}; {_cost(plan)}; {_time(plan, limits)}"


def plan_table(plan: Plan, limits: Limits) -> Iterator[str]:
    """The plan as the product of `--dry-run`."""
    yield _essays(plan)
    if plan.groups and plan.terms.settings is not None:
        yield _tokens(plan)
        yield _cost(plan)
        yield _time(plan, limits)
    yield from _sessions(plan)
    yield "nothing was sent"


def _sessions(plan: Plan) -> Iterator[str]:
    """A line a session."""
    from narrator.sanitize import one_line

    asked = plan.terms.settings is not None
    writing, written = Counter(job.session for job in plan.jobs), Counter(job.session for job in plan.done)
    tokens: Counter[str] = Counter()
    for job in plan.jobs:
        tokens[job.session] += job.tokens
    head = f"{'tokens in':>15}" if asked else ""
    yield f"{'to write':>9} {'written':>9}{head}  session"
    for session in dict.fromkeys([*writing, *written]):
        taken = f"{tokens[session]:>15,}" if asked else ""
        yield f"{writing[session]:>9,} {written[session]:>9,}{taken}  {one_line(session, 500)}"


def summary_lines(tally: Tally, took: timedelta, *, most: int) -> Iterator[str]:
    """What became of it: the failures, at most so many, and a line on all."""
    failed = tally.failed
    for outcome in failed[:most]:
        yield f"failed: {named(outcome)}: {outcome.why}"
    if len(failed) > most:
        yield f"failed: {len(failed) - most} more; --report FILE has all"
    parts = [f"{tally.count('done'):,} written"]
    counts = {
        "written before": len(tally.plan.done),
        "failed": len(failed),
        "skipped": tally.count("skipped"),
        "not begun or dropped": tally.total - len(tally.outcomes),
        "cannot be used": len(tally.plan.problems),
    }
    parts += [f"{count:,} {what}" for what, count in counts.items() if count]
    yield f"{', '.join(parts)}; took {span(took.total_seconds())}{_spent(tally)}"


def named(outcome: Outcome) -> str:
    """Which essay it is, for a person."""
    job = outcome.job
    manner = job.manner
    told = [] if manner.style == "essay" else [manner.style]
    told += [f"{manner.length} words"] if manner.length else []
    told += [manner.language] if manner.language else []
    return f"{job.session} msg {job.index}" + (f" ({', '.join(told)})" if told else "")


def span(seconds: float) -> str:
    """A time for a person: `41 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def money(usd: float) -> str:
    """Dollars, as everywhere."""
    from narrator.prices import dollars

    return dollars(usd)


def _essays(plan: Plan) -> str:
    jobs, settings = plan.jobs, plan.terms.settings
    sessions = len({job.session for job in jobs})
    by = "offline, without a model" if settings is None else f"by {settings.model}"
    parts = [f"{_count(len(jobs), 'essay')} of {_count(sessions, 'session')} to write {by}"] if jobs else []
    parts += [f"{len(plan.done):,} written already"] if plan.done else []
    parts += [f"{len(plan.given_up):,} left out, which failed in earlier runs"] if plan.given_up else []
    parts += [f"{_count(len(plan.problems), 'problem')}"] if plan.problems else []
    return f"{', '.join(parts) or 'no message is chosen'}; drafts in {plan.drafts}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _tokens(plan: Plan) -> str:
    usage = plan.usage
    return (
        f"about {usage.input:,} tokens in, of which an endpoint's prompt cache may hold {usage.cached:,}, "
        f"and {usage.output:,} out ({_WITHOUT})"
    )


def _cost(plan: Plan) -> str:
    if plan.cost is None or plan.dearest is None:
        return "price unknown: --price names one"
    cost, dearest = money(plan.cost.usd), money(plan.dearest.usd)
    return f"estimated cost {cost}, {dearest} without the cache, by {plan.cost.source}"


def _time(plan: Plan, limits: Limits) -> str:
    if plan.seconds is None:
        return "time: as fast as the endpoint bears; --rpm or --tpm names a rate"
    rates = [f"--rpm {limits.rpm:g}"] if limits.rpm else []
    rates += [f"--tpm {limits.tpm:g}"] if limits.tpm else []
    return f"time: at least {span(plan.seconds)} at {' and '.join(rates)}"


def _spent(tally: Tally) -> str:
    """What it took, for the end of a line; nothing where no model was asked."""
    if tally.plan.terms.settings is None or not tally.outcomes:
        return ""
    if not tally.counted:
        return "; tokens: not counted by the endpoint; cost unknown"
    usage, share = tally.usage, tally.cached_share or 0.0
    tokens = f"; tokens: {usage.input:,} in ({share:.0%} cached), {usage.output:,} out"
    if tally.cost is None or not tally.priced:
        return f"{tokens}; cost unknown: no price for all of it"
    return f"{tokens}; cost {money(tally.cost.usd)} by {tally.cost.source}"
