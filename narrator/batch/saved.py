"""What lies in the folder of the drafts: which essays are written already, and which failed in earlier runs.

Drafts are the only state that is needed. Of each no more is read than what identifies it; the rest is looked over for
being whole JSON, so that a torn file does not count as an essay. A mark of a failure may be deleted at any time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from narrator.batch.job import Outcome
from narrator.batch.store import Store
from narrator.draft import SCHEMA, ModelRef, StyleRef, draft_names, identity, migrate
from narrator.pipeline import iso
from narrator.record import Record

FAILED = ".failed"
"""How the name of a mark ends."""
MOST_RUNS = 3
"""Runs in which an essay may fail by the model's own answer until it is tried only when that is asked for."""


class _Session(msgspec.Struct):
    sha256: str


class _Target(msgspec.Struct):
    index: int


class _Style(msgspec.Struct):
    name: str
    version: str


class _Draft(msgspec.Struct):
    """Of a draft, of this schema or an earlier one, what identifies it."""

    schema: int
    session: _Session
    target: _Target
    style: _Style
    essay: msgspec.Raw
    model: dict[str, Any] | None = None
    settings: dict[str, Any] = {}


class Failure(Record):
    """A mark: the model's answer was no essay."""

    digest: str
    """The identity that the draft would have."""
    runs: int
    """In how many runs."""
    why: str
    """In the last of them, one line."""
    time: str
    """When that was; ISO 8601, UTC."""


class Place(NamedTuple):
    """Where a draft is, or goes."""

    path: str
    saved: bool
    failure: Failure | None = None


class Shelf:
    """The drafts of one session."""

    def __init__(self, store: Store, folder: str) -> None:
        """Look at the drafts in `folder`, the session's, at `store`."""
        self._store = store
        self._folder = store.join(store.place, folder)
        self._names = frozenset(store.names(self._folder))
        self._known: dict[str, str | None] = {}
        self._promised: dict[str, str] = {}

    def find(self, index: int, style: str, digest: str) -> Place:
        """Where the draft of this identity is, or goes: as `draft.draft_path`, with the rest of the plan in mind.

        Raises:
            DraftError: a draft cannot be read for a reason that has nothing to do with what it holds.
        """
        plain, own = draft_names(index, style, digest)
        for name in (plain, own):
            if name in self._names and self._identity(name) == digest:
                return Place(self._path(name), saved=True)
        free = plain not in self._names and self._promised.setdefault(plain, digest) == digest
        mark = own.removesuffix(".json") + FAILED
        failure = read_mark(self._store, self._path(mark), digest) if mark in self._names else None
        return Place(self._path(plain if free else own), saved=False, failure=failure)

    def _path(self, name: str) -> str:
        return self._store.join(self._folder, name)

    def _identity(self, name: str) -> str | None:
        if name not in self._known:
            data = self._store.read(self._path(name))
            self._known[name] = None if data is None else identity_in(data)
        return self._known[name]


def identity_in(data: bytes) -> str | None:
    """The identity of the draft that these bytes are; None when they are none, or are not whole."""
    try:
        draft = msgspec.json.decode(data, type=_Draft)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if not 1 <= draft.schema <= SCHEMA:
        return None
    told = migrate({"schema": draft.schema, "model": draft.model, "settings": draft.settings})
    model = told["model"]
    if model is not None and not isinstance(model.get("name"), str):
        return None
    asked = None if model is None else ModelRef(name=model["name"], base_url=model.get("base_url"))
    style = StyleRef(name=draft.style.name, version=draft.style.version)
    return identity(draft.session.sha256, draft.target.index, style, asked, told["settings"])


class Marks:
    """Keeps count, beside the drafts, of the runs in which an essay failed by the model's own answer."""

    def __init__(self, store: Store, marked: frozenset[str]) -> None:
        """Marks at `store`; `marked` are the identities that have one."""
        self._store, self._marked = store, marked

    def note(self, outcome: Outcome, now: datetime) -> None:
        """Mark a lasting failure, and remove the mark of what is written.

        Raises:
            DraftError: it could not be written.
        """
        path = mark_path(outcome.job.path, outcome.job.digest)
        if outcome.state == "done" and outcome.job.digest in self._marked:
            self._store.remove(path)
        if outcome.state == "failed" and outcome.lasting:
            before = read_mark(self._store, path, outcome.job.digest)
            runs = 1 if before is None else before.runs + 1
            failure = Failure(digest=outcome.job.digest, runs=runs, why=outcome.why, time=iso(now))
            self._store.write(path, failure.model_dump_json(indent=1) + "\n")


def read_mark(store: Store, path: str, digest: str) -> Failure | None:
    """The mark that stands there; None where there is none, or one of another essay."""
    data = store.read(path)
    try:
        found = Failure.model_validate_json(data) if data is not None else None
    except ValidationError:
        return None
    return found if found is not None and found.digest == digest else None


def mark_path(path: str, digest: str) -> str:
    """Where the mark of a failure stands: beside the draft, by the name that has a part of the identity."""
    tail = f"-{digest[:6]}"
    return f"{path.removesuffix('.json').removesuffix(tail)}{tail}{FAILED}"
