"""One essay of a batch: claimed, asked for, checked and saved beside many others."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

from narrator.asking import Request, Terms, ask, digest_of
from narrator.batch.claims import Claims, Held
from narrator.batch.job import Job, Outcome
from narrator.batch.store import Store, identity_at, keep_draft
from narrator.batch.threads import Threads
from narrator.draft import Draft, Usage, draft_names
from narrator.errors import (
    BudgetError,
    DraftError,
    ModelCutOffError,
    ModelNoAnswerError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    NarratorError,
    SessionError,
)
from narrator.model import Call
from narrator.offline import OfflineWriter
from narrator.pipeline import concerns, essay_steps, make_offer, told_lookups
from narrator.prices import cost_of
from narrator.prompt import Prompt
from narrator.reply import Reply
from narrator.session import Session
from narrator.shrinking import shrink_once
from narrator.steps import Steps
from narrator.style import Style

_LASTING = (ModelRefusedError, ModelCutOffError, ModelNoAnswerError, ModelTooLongError)
"""Failures by the model's own answer or by the prompt."""


class Desk(NamedTuple):
    """What all essays of a batch are written with."""

    terms: Terms
    store: Store
    claims: Claims
    threads: Threads
    replace: bool
    """Write also over an essay that is saved."""


class Opening(NamedTuple):
    """What the essays of a group are written from."""

    session: Session
    style: Style


class Elsewhere(Exception):  # noqa: N818  (no failure)
    """The essay is saved already, under another name than was thought; the argument is where."""


class Essay:
    """One essay on its way."""

    def __init__(self, desk: Desk, job: Job, call: Call | None) -> None:
        """Write `job` with `desk`; `call` None: offline."""
        self._desk, self._job, self._call = desk, job, call
        self._kept: Future[str] | None = None
        self._warnings: list[str] = []
        self._words = 0
        self.stops: ModelRejectedError | None = None
        """Why every other essay would fail too."""

    async def write(self, open_: Callable[[], Awaitable[Opening]]) -> Outcome:
        """Write it, whatever happens; `open_` gives its session."""
        begun = time.monotonic()
        desk, job = self._desk, self._job
        held: Held | None = None
        try:
            held = await desk.threads.file(partial(desk.claims.take, job.path, job.digest))
            if held is None:
                return Outcome(job=job, state="skipped", why="another run is writing it", elsewhere=True)
            if not desk.replace and await desk.threads.file(partial(identity_at, desk.store, job.path)) == job.digest:
                return Outcome(job=job, state="skipped", why="another run has written it", elsewhere=True)
            draft, path = await self._draft(await open_())
            outcome = Outcome(job=job, state="done", path=path, usage=draft.usage, cost=draft.cost)
        except Elsewhere as found:
            outcome = Outcome(job=job, state="done", path=str(found))
        except BudgetError as error:
            state = "failed" if self._call is not None and self._call.requests else "skipped"
            outcome = self._failed(error).model_copy(update={"state": state})
        except NarratorError as error:
            outcome = self._failed(error)
        finally:
            if held is not None:
                desk.threads.begin(held.release)
        sent = 0 if self._call is None else self._call.requests
        told = {"seconds": time.monotonic() - begun, "requests": sent, "warnings": tuple(self._warnings)}
        return outcome.model_copy(update=told)

    def _failed(self, error: NarratorError) -> Outcome:
        if isinstance(error, ModelRejectedError) and error.lasting:
            self.stops = error
        usage = cost = None
        settings = self._desk.terms.settings
        if settings is not None and self._call is not None and self._call.counted:
            usage = Usage.total(self._call.counted)
            cost = cost_of(self._call.counted, settings.model, settings.base_url, self._desk.terms.price)
        lasting = isinstance(error, _LASTING)
        return Outcome(job=self._job, state="failed", why=str(error), usage=usage, cost=cost, lasting=lasting)

    async def _draft(self, opening: Opening) -> tuple[Draft, str]:
        """The draft, saved, and where."""
        session, compute = opening.session, self._desk.threads.compute
        steps = await compute(partial(self._steps, opening))
        draft, prompt = await compute(partial(_advance, steps))
        while prompt is not None:
            try:
                reply = await self._reply(prompt, session)
            except NarratorError as error:
                draft, prompt = await compute(partial(_advance, steps, error=error))
            else:
                draft, prompt = await compute(partial(_advance, steps, reply))
        assert draft is not None, "steps end with a draft"
        path = await self._desk.threads.file(partial(self._save, draft))
        self._warnings += await compute(partial(concerns, draft, session, self._words))
        return draft, path

    def _steps(self, opening: Opening) -> Steps[Draft]:
        """All of it, from the prompt on."""
        terms = self._desk.terms
        request = self._ask(opening, terms)
        if request.prompt.context.session.sha256 != self._job.sha256:
            raise SessionError(f"{self._job.session}: it was changed while the batch ran; run it again")
        self._words = request.prompt.words[0]
        write = partial(self._essay_steps, opening.session)
        if terms.settings is None:
            return write(request)

        def smaller(budget: int) -> Request:
            less = self._ask(opening, terms.model_copy(update={"budget": budget}))
            self._find(opening.style, less)
            return less

        answer = terms.settings.max_output_tokens
        return shrink_once(write, request, smaller, answer=answer, notice=self._warnings.append)

    def _ask(self, opening: Opening, terms: Terms) -> Request:
        return ask(opening.session, self._job.index, opening.style, self._job.manner.length, terms)

    def _find(self, style: Style, less: Request) -> None:
        """Stop where a shorter essay than was planned is saved already."""
        job, store = self._job, self._desk.store
        planned = draft_names(job.index, style.name, job.digest)
        folder = next(job.path.removesuffix(name) for name in planned if job.path.endswith(name))
        digest = digest_of(job.sha256, job.index, style, less.asked)
        for name in draft_names(job.index, style.name, digest):
            if not self._desk.replace and identity_at(store, folder + name) == digest:
                raise Elsewhere(folder + name)

    def _essay_steps(self, session: Session, request: Request) -> Steps[Draft]:
        terms = self._desk.terms
        return essay_steps(
            session,
            request.prompt,
            request.asked.model,
            repairs=terms.repair,
            settings=request.asked.settings,
            price=terms.price,
            keep=self._keep,
            notice=self._warnings.append,
        )

    async def _reply(self, prompt: Prompt, session: Session) -> Reply:
        terms, compute = self._desk.terms, self._desk.threads.compute
        bounds = terms.bounds
        if self._call is None or bounds is None:
            return await compute(partial(OfflineWriter().write, prompt))
        offer = await compute(partial(make_offer, prompt, session, bounds))
        reply = await self._call.awrite(prompt.wire(), offer)
        return told_lookups(reply, offer)

    def _keep(self, draft: Draft) -> None:
        """Save what is about to be repaired: it is paid for."""
        self._kept = self._desk.threads.begin(partial(self._place, draft))

    def _place(self, draft: Draft) -> str:
        return keep_draft(self._desk.store, draft, self._job.path, replace=self._desk.replace)

    def _save(self, draft: Draft) -> str:
        """Save the finished draft, over the one before its repair."""
        try:
            path = None if self._kept is None else self._kept.result()
        except DraftError as error:
            self._warnings.append(f"{error}; it was tried again after the repair")
            path = None
        if path is None:
            return self._place(draft)
        return keep_draft(self._desk.store, draft, path, replace=True)


def _advance(
    steps: Steps[Draft], reply: Reply | None = None, error: NarratorError | None = None
) -> tuple[Draft | None, Prompt | None]:
    """The draft that the steps end with, or the next prompt; no future takes the StopIteration of their end."""
    try:
        if error is not None:
            return None, steps.throw(error)
        return None, next(steps) if reply is None else steps.send(reply)
    except StopIteration as end:
        draft: Draft = end.value
        return draft, None
