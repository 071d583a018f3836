"""Who writes which essay, when several runs share a place of drafts.

A claim is a small file beside the draft, made only if there is none. Its holder renews it while the essay is in flight
and removes it at the end. A run that finds one that was left behind does not remove it, since it might remove that of
the next holder, who was faster: it makes the heir of this very claim, a file named after the claim's content. Of
several that try one makes it, and holds. So nothing is asked of the place but to make a file only if there is none.
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple, Self

from pydantic import ValidationError

from narrator.batch.job import Plan
from narrator.batch.process import Process, is_gone, this_process
from narrator.batch.store import Store, now_at
from narrator.errors import DraftError
from narrator.pipeline import iso
from narrator.record import Record

STALE_SECONDS = 300.0
"""A claim that was not renewed for so long is left behind."""
RENEWALS = 5
"""So many renewals go into that time: one that fails, or a busy machine, costs nothing."""
CLOCK_SECONDS = 60.0
"""So long the difference between the place's clock and ours is taken to hold."""
TRIES = 3
"""How often a claim is tried for whose holder gave it up while it was looked at."""
SUFFIX = ".claim"
UNFINISHED = ".narrate-"
"""Beginning of the names of files that `disk.write_whole` has not put into place yet."""
_NAME = re.compile(r"(.+\.claim)(?:\.([0-9a-f]{12}))?")


class Claim(Record):
    """What a claim's file says."""

    key: str
    """Of this claim and no other."""
    run: str
    """The run that holds it."""
    process: Process
    since: str
    """When it was made; ISO 8601, UTC, by its own machine's clock: for people, nothing rests on it."""


class _Seen(NamedTuple):
    """A claim as it was found."""

    path: str
    text: bytes

    @property
    def heir(self) -> str:
        """Which file follows it: the first of a succession has no such name, whatever its content."""
        first = _NAME.fullmatch(self.path)
        return f"{first[1] if first else self.path}.{hashlib.sha256(self.text).hexdigest()[:12]}"


class Held:
    """The claim of an essay that this run holds; closing it gives the essay free."""

    def __init__(self, store: Store, paths: tuple[str, ...], text: str) -> None:
        """The succession of claims at `paths`, of which the last is ours and says `text`."""
        self._store, self._paths, self._text = store, paths, text
        self._lock = threading.Lock()
        self.open = True
        """Whether the essay is still in flight."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def path(self) -> str:
        """Where it stands."""
        return self._paths[-1]

    def renew(self) -> None:
        """Let it count as made now."""
        with self._lock:
            if self.open:
                self._store.renew(self.path, self._text)

    def release(self) -> None:
        """Remove it, and those it followed: the first of them first, which sets the rest aside.

        One that has an heir, because its holder seemed to be gone, is the heir's.
        """
        with self._lock:
            if self.open and not self._store.exists(_Seen(self.path, self._text.encode()).heir):
                for path in self._paths:
                    self._store.remove(path)
            self.open = False


class Claims:
    """The claims of one run at one place; closing it gives up all of them. Safe to use from several threads."""

    def __init__(self, store: Store, *, run: str | None = None, stale: float = STALE_SECONDS) -> None:
        """Claim at `store`; a claim of others is left behind after `stale` seconds without renewal."""
        self._store, self._stale = store, stale
        self._run = run or uuid.uuid4().hex[:12]
        self._held: set[Held] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._heart: threading.Thread | None = None
        self._ahead: tuple[float, float] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, path: str, digest: str) -> Held | None:
        """Claim the essay of this identity, whose draft goes to `path`; None: another run has it.

        Look once more whether the draft is there when it is claimed: another run may have saved it and given it free.

        Raises:
            DraftError: nothing can be written there.
        """
        first = claim_path(path, digest)
        text = self._write_claim()
        for tried in range(TRIES):
            if self._store.create(first, text, flush=False):
                return self._hold((first,), text)
            chain = self._succession(first)
            if chain and chain[-1].text == text.encode():
                # A client that repeats a put whose answer was lost is told that there is one: its own.
                return self._hold(tuple(seen.path for seen in chain), text)
            if chain:
                held = self._inherit(chain, text)
                if held is not None or self._store.exists(first):
                    return held
            time.sleep(random.uniform(0, 0.02) * tried)  # noqa: S311 (only to part two runs)
        return None

    def sweep(self, folder: str) -> int:
        """Remove what runs that are gone left in a session's folder; gives how many claims.

        A run that was killed after its last essay was saved, and before it gave it free, leaves a claim that nobody
        asks for any more.
        """
        swept = 0
        reached: set[str] = set()
        listed = self._store.names(folder)
        names = [name for name in listed if _NAME.fullmatch(name)]
        for name in names:
            if name.endswith(SUFFIX):
                chain = self._succession(self._store.join(folder, name))
                reached.update(seen.path for seen in chain)
                held = self._inherit(chain, self._write_claim()) if chain else None
                if held is not None:
                    held.release()
                    swept += 1
        # The rest of a succession whose holder was killed while it removed it, and files that were not finished.
        rest = [name for name in names if not name.endswith(SUFFIX)] + [n for n in listed if n.startswith(UNFINISHED)]
        for path in (self._store.join(folder, name) for name in rest):
            if path not in reached and self._age(path) > self._stale:
                self._store.remove(path)
        return swept

    def close(self) -> None:
        """Give up what is still held, also after a failure; what cannot be removed now is left behind."""
        self._over.set()
        if self._heart is not None:
            self._heart.join()
        for held in self._in_flight():
            with suppress(DraftError):
                held.release()

    def _inherit(self, chain: tuple[_Seen, ...], text: str) -> Held | None:
        """Follow the last of a succession, if it was left behind and nobody else does."""
        if not self._left_behind(chain[-1]) or not self._store.create(chain[-1].heir, text, flush=False):
            return None
        if self._store.read(chain[0].path) != chain[0].text:
            # It was followed and given free since it was looked at.
            self._store.remove(chain[-1].heir)
            return None
        return self._hold((*(seen.path for seen in chain), chain[-1].heir), text)

    def _succession(self, first: str) -> tuple[_Seen, ...]:
        """A claim, its heir, its heir's heir, …; the last of them holds."""
        chain: list[_Seen] = []
        path = first
        while (text := self._store.read(path)) is not None:
            chain.append(_Seen(path, text))
            path = chain[-1].heir
        return tuple(chain)

    def _left_behind(self, seen: _Seen) -> bool:
        try:
            process = Claim.model_validate_json(seen.text).process
        except ValidationError:
            process = None  # empty after a power failure, or of another version
        return (process is not None and is_gone(process)) or self._age(seen.path) > self._stale

    def _age(self, path: str) -> float:
        """Seconds since a claim was made or renewed, by the place's own clock; 0 for one that is gone."""
        written = self._store.written(path)
        if written is None:
            return 0.0
        with self._lock:
            if self._ahead is None or time.monotonic() > self._ahead[1] + CLOCK_SECONDS:
                self._ahead = (now_at(self._store) - time.time(), time.monotonic())
            return time.time() + self._ahead[0] - written

    def _write_claim(self) -> str:
        claim = Claim(key=uuid.uuid4().hex, run=self._run, process=this_process(), since=iso(datetime.now(UTC)))
        return claim.model_dump_json() + "\n"

    def _hold(self, paths: tuple[str, ...], text: str) -> Held:
        held = Held(self._store, paths, text)
        with self._lock:
            self._held = {other for other in self._held if other.open} | {held}
            if self._heart is None:
                self._heart = threading.Thread(target=self._beat, name="narrate-claims", daemon=True)
                self._heart.start()
        return held

    def _in_flight(self) -> Iterator[Held]:
        with self._lock:
            held = tuple(self._held)
        return (one for one in held if one.open)

    def _beat(self) -> None:
        """Renew what is held until the run is over; an event loop that is busy does not keep it from that."""
        while not self._over.wait(max(self._stale / RENEWALS, 0.05)):
            for held in self._in_flight():
                with suppress(DraftError):  # the next one will do
                    held.renew()


def sweep(store: Store, plan: Plan) -> None:
    """Remove what killed runs left beside the drafts of a plan, those that are written included."""
    with Claims(store) as claims:
        for folder in dict.fromkeys(folder_of(job.path) for job in (*plan.done, *plan.jobs)):
            claims.sweep(folder)


def folder_of(path: str) -> str:
    """The folder of a draft, or its address."""
    return path.replace("\\", "/").rpartition("/")[0]


def claim_path(path: str, digest: str) -> str:
    """Where the claim of an essay stands: beside its draft, under the name that has a part of the identity.

    Two runs may look for one place while neither draft is there, and mean different essays.
    """
    tail = f"-{digest[:6]}"
    return f"{path.removesuffix('.json').removesuffix(tail)}{tail}{SUFFIX}"
