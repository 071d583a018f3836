"""What a worker of a cluster is given, and how it does it."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from typing import Any

from pydantic import SecretStr

from narrator.asking import Terms
from narrator.batch.job import Job, Limits, Outcome, Plan
from narrator.batch.run import run_batch
from narrator.batch.shares import regroup
from narrator.batch.store import Store, open_store
from narrator.draft import identity_of, read_draft
from narrator.errors import DraftError, UsageError

KEY = "OPENAI_API_KEY"
_one_at_a_time = threading.Lock()
"""A worker may have many threads; a share of the rate is meant for one order."""


class Order:
    """Jobs with a share of the limits. A cluster writes arguments into its logs: this one shows nothing of them."""

    def __init__(self, plan: Plan, limits: Limits, topic: str, name: str, *, redo: bool) -> None:
        """The jobs are the plan's; outcomes are told under `topic` as they come; `redo`: what is saved, too."""
        self.plan, self.limits, self.topic, self.name, self.redo = plan, limits, topic, name, redo

    def __repr__(self) -> str:
        return f"<{len(self.plan.jobs)} essays>"


def hide_key(terms: Terms) -> Terms:
    """The terms as they go over the network of a cluster: without the key, which every worker has to have itself."""
    settings = terms.settings
    if settings is None or settings.api_key.get_secret_value() not in settings.secrets:
        return terms
    return terms.model_copy(update={"settings": settings.model_copy(update={"api_key": SecretStr("")})})


def find_key(terms: Terms) -> Terms:
    """The terms with this machine's own key, where `hide_key` took one out.

    Raises:
        UsageError: there is none.
    """
    settings = terms.settings
    if settings is None or settings.api_key.get_secret_value():
        return terms
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise UsageError(f"{KEY} is not set there; every worker needs it, since no key goes over the network")
    return terms.model_copy(update={"settings": settings.model_copy(update={"api_key": SecretStr(key)})})


def write_order(order: Order) -> list[Outcome]:
    """Write what is not saved yet; one order at a time in a process.

    Raises:
        UsageError: this worker cannot do it: it has no key, or not the packages.
    """
    terms = find_key(order.plan.terms)
    send = _sender(order.topic)
    outcomes: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        outcomes.append(outcome)
        send(outcome.model_dump_json())

    with _one_at_a_time:
        try:
            store = open_store(order.plan.drafts)
        except DraftError as error:
            raise UsageError(str(error)) from error
        saved = () if order.redo else find_saved(store, order.plan)
        for outcome in saved:
            tell(outcome)
        known = {(outcome.job.path, outcome.job.digest) for outcome in saved}
        left = [job for job in order.plan.jobs if (job.path, job.digest) not in known]
        if left:
            groups = regroup(order.plan.groups, left)
            plan = order.plan.model_copy(update={"terms": terms, "groups": groups})
            run_batch(plan, order.limits, store, tell, replace=order.redo)
    return outcomes


def find_saved(store: Store, plan: Plan) -> tuple[Outcome, ...]:
    """What is saved already: a worker that was given these jobs before wrote it, and died."""
    found: list[Outcome] = []
    for folder in dict.fromkeys(_parts(job.path)[0] for job in plan.jobs):
        names = set(store.names(folder))
        jobs = (job for job in plan.jobs if _parts(job.path)[0] == folder and _parts(job.path)[1] in names)
        found.extend(outcome for job in jobs if (outcome := _outcome_of(store, job)) is not None)
    return tuple(found)


def _outcome_of(store: Store, job: Job) -> Outcome | None:
    text = store.read(job.path)
    try:
        draft = read_draft(text or b"", job.path)
    except DraftError:
        return None
    if identity_of(draft) != job.digest:
        return None
    return Outcome(job=job, state="done", path=job.path, usage=draft.usage, cost=draft.cost)


def _parts(path: str) -> tuple[str, str]:
    folder, _, name = path.replace(os.sep, "/").rpartition("/")
    return folder, name


def _sender(topic: str) -> Callable[[str], Any]:
    """What tells the batch of an outcome while the order is still being written."""
    worker = importlib.import_module("distributed").get_worker()
    return lambda text: worker.log_event(topic, text)
