"""What a batch will do, and about what it will take; no prompt is built for it.

A prompt is the style's instructions, the session's outline and the window. The instructions are counted in one prompt
for each manner; the outline is drawn, which costs little; the window takes what the budget leaves it, or all of a
session that is smaller than the budget, whose tokens are reckoned from its bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from narrator.asking import Asked, Manner, Terms, ask, digest_of, read_asked, read_style
from narrator.batch.choose import Chosen, Wanted, choose, is_other_json
from narrator.batch.job import Group, Job, Limits, Outcome, Plan, Problem
from narrator.batch.saved import MOST_RUNS, Shelf
from narrator.batch.shard import Shard
from narrator.batch.store import Store
from narrator.context import DEFAULT_BUDGET
from narrator.draft import Cost, ModelRef, Usage, slug
from narrator.errors import NarratorError, SessionError, StyleError, UsageError
from narrator.formats import open_session
from narrator.outline import draw_outline
from narrator.prices import cost_of, expected_usage
from narrator.record import Record
from narrator.session import Session
from narrator.style import Style

BYTES_A_TOKEN = 12
"""Bytes of a stored message for each token that its text takes in a window: between 11 and 16 in the sessions tried."""


class Aim(Record):
    """What a batch is to do with what is chosen."""

    terms: Terms
    limits: Limits = Limits()
    redo: bool = False
    """Write again what is written."""
    retry: bool = False
    """Try again what failed in so many runs that it is left out."""
    shard: Shard | None = None
    """Only the sessions of this share."""
    discount: float = 1.0
    """Share of the price that is charged: a half by the Batch API."""


class _Written(NamedTuple):
    """How essays of one manner are asked for."""

    style: Style
    asked: Asked
    instructions: int
    """Tokens of a prompt beside outline and window."""


class _Sized(NamedTuple):
    """What is known of a session for its jobs."""

    path: str
    session: Session
    shelf: Shelf
    outline: int
    window: int
    """Tokens."""


def make_plan(
    wanted: Sequence[Wanted],
    store: Store,
    aim: Aim,
    *,
    problems: Iterable[Problem] = (),
    notice: Callable[[str], None] = lambda _line: None,
) -> Plan:
    """The plan for what is wanted, with drafts at `store`.

    Args:
        wanted: What was chosen.
        store: Where drafts lie.
        aim: What is to be done with them.
        problems: Those there are already.
        notice: Gets a line on each thing that was stepped over.

    Raises:
        StyleError, UsageError: the style or the terms that hold for all cannot be used.
    """
    planner = _Planner(store, aim, [*problems], notice)
    for one in wanted:
        planner.add(one)
    return planner.plan()


class _Planner:
    """Adds one session after another."""

    def __init__(self, store: Store, aim: Aim, problems: list[Problem], notice: Callable[[str], None]) -> None:
        self._store, self._aim, self._problems, self._notice = store, aim, problems, notice
        self._written: dict[Manner, _Written | NarratorError] = {}
        self._seen: set[str] = set()
        self._groups: list[Group] = []
        self._done: list[Job] = []
        self._given_up: list[Outcome] = []
        self._marked: set[str] = set()

    def add(self, wanted: Wanted) -> None:
        """Plan what is wanted of one session; a session that cannot be read is a problem."""
        try:
            session = open_session(wanted.session, redact=self._aim.terms.redact)
        except SessionError as error:
            if wanted.found and is_other_json(wanted.session):
                self._notice(f"left aside: {error}")
            else:
                self._problems.append(Problem(where=wanted.session, why=str(error)))
            return
        if self._aim.shard is not None and not self._aim.shard.holds(session.sha256):
            return
        for line in session.notices:
            self._notice(line)
        problems: list[Problem] = []
        manners: dict[Manner, list[Chosen]] = {}
        for chosen in choose(session, wanted, problems):
            manners.setdefault(chosen.manner, []).append(chosen)
        self._problems += problems
        if not manners:
            return
        try:
            sized = self._size(wanted.session, session)
        except NarratorError as error:
            self._problems.append(Problem(where=wanted.session, why=str(error)))
            return
        for manner, listed in manners.items():
            self._add_group(sized, manner, listed, named=wanted.choice is not None and wanted.choice.manner == manner)

    def plan(self) -> Plan:
        """All of it."""
        aim = self._aim
        requests = [usage for group in self._groups for usage in _usages(group)] if aim.terms.settings else []
        usage = Usage.total(requests)
        uncached = [request.model_copy(update={"cached": 0}) for request in requests]
        model = next((ask.asked.model for ask in self._written.values() if isinstance(ask, _Written)), None)
        return Plan(
            terms=aim.terms,
            drafts=self._store.place,
            groups=tuple(self._groups),
            done=tuple(self._done),
            marked=frozenset(self._marked),
            given_up=tuple(self._given_up),
            problems=tuple(self._problems),
            usage=usage,
            cost=_price(requests, model, aim),
            dearest=_price(uncached, model, aim),
            seconds=_seconds(len(requests), usage, aim.limits),
        )

    def _size(self, path: str, session: Session) -> _Sized:
        budget = DEFAULT_BUDGET if self._aim.terms.budget is None else self._aim.terms.budget
        shelf = Shelf(self._store, slug(session.about.title, session.about.id))
        window = min(budget, round(session.stored / BYTES_A_TOKEN))
        return _Sized(path, session, shelf, draw_outline(session).length, window)

    def _add_group(self, sized: _Sized, manner: Manner, listed: list[Chosen], *, named: bool) -> None:
        written = self._ask(sized.session, listed[0].message, manner)
        if isinstance(written, NarratorError):
            if named:
                raise written
            self._problems += (Problem(where=chosen.where, why=str(written)) for chosen in listed)
            return
        jobs = []
        for index in sorted({chosen.message for chosen in listed}):
            job = self._place(sized, manner, written, index)
            if job is not None:
                jobs.append(job)
        if jobs:
            self._groups.append(Group(session=sized.path, sha256=sized.session.sha256, manner=manner, jobs=tuple(jobs)))

    def _place(self, sized: _Sized, manner: Manner, written: _Written, index: int) -> Job | None:
        """The job for one message; None for what is not to be written, or is planned already."""
        sha256 = sized.session.sha256
        digest = digest_of(sha256, index, written.style, written.asked)
        if digest in self._seen:
            return None
        self._seen.add(digest)
        found = sized.shelf.find(index, written.style.name, digest)
        prefix = written.instructions + sized.outline
        job = Job(
            session=sized.path,
            sha256=sha256,
            index=index,
            manner=manner,
            path=found.path,
            digest=digest,
            tokens=prefix + sized.window,
            prefix=prefix,
            output=expected_usage(0, (written.style.words.least, written.style.words.most)).output,
        )
        if found.saved and not self._aim.redo:
            self._done.append(job)
            return None
        failure = found.failure
        if failure is not None and failure.runs >= MOST_RUNS and not self._aim.retry and not self._aim.redo:
            why = f"failed in {failure.runs} runs; --retry-failed tries it again; the last time: {failure.why}"
            self._given_up.append(Outcome(job=job, state="failed", why=why, lasting=True))
            return None
        if failure is not None:
            self._marked.add(digest)
        return job

    def _ask(self, session: Session, index: int, manner: Manner) -> _Written | NarratorError:
        """How essays of a manner are asked for, found out in one real prompt; or why they cannot be."""
        if manner not in self._written:
            try:
                self._written[manner] = _try_manner(session, index, manner, self._aim.terms)
            except (StyleError, UsageError) as error:
                self._written[manner] = error
        return self._written[manner]


def _try_manner(session: Session, index: int, manner: Manner, terms: Terms) -> _Written:
    style = read_style(manner)
    try:
        request = ask(session, index, style, manner.length, terms)
    except UsageError:
        # This message does not go into the budget; others may, and the instructions are the same.
        request = ask(session, index, style, manner.length, Terms(settings=terms.settings, lookups=terms.lookups))
    context = request.prompt.context
    instructions = request.prompt.tokens - context.tokens - context.outline.length
    return _Written(style, read_asked(style, manner.length, terms), instructions)


def _usages(group: Group) -> Iterator[Usage]:
    """What each essay of a group takes: its first one brings the beginning of the prompt into the cache."""
    for place, job in enumerate(group.jobs):
        yield Usage(input=job.tokens, output=job.output, cached=job.prefix if place else 0)


def _price(requests: list[Usage], model: ModelRef | None, aim: Aim) -> Cost | None:
    """What requests cost; of many that take the same, one is looked up."""
    if model is None:
        return None
    usd, source = 0.0, ""
    for usage, count in Counter(tuple(dict(request).items()) for request in requests).items():
        cost = cost_of([Usage(**dict(usage))], model.name, model.base_url, aim.terms.price)
        if cost is None:
            return None
        usd, source = usd + cost.usd * count * aim.discount, cost.source
    return Cost(usd=round(usd, 9), source=source) if requests else None


def _seconds(essays: int, usage: Usage, limits: Limits) -> float | None:
    """The least that a rate allows: one request an essay, all of its tokens."""
    least = []
    if limits.rpm:
        least.append(essays / limits.rpm * 60)
    if limits.tpm:
        least.append((usage.input + usage.output) / limits.tpm * 60)
    return max(least) if least else None
