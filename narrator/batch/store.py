"""Where drafts lie: a folder, or an address that fsspec opens (`s3://…`, `gs://…`, `memory://…`).

All that a batch asks of the place is here: what is there, read it, write it whole, make it unless it is there, and how
long ago it was written by the clock of the place itself.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from narrator.disk import check_place, write_whole
from narrator.draft import Draft, dump_draft, identity_of, read_draft
from narrator.errors import DraftError, ExistsError, reason

PROBE = ".narrate-probe"
"""Beginning of the names of files that tell what a place can do; they are removed at once."""


class Store(Protocol):
    """A place of drafts; every path is one that `join` made of `place`. Safe to use from several threads.

    Whatever cannot be read or written is a DraftError that names the path and the reason.
    """

    place: str
    """The folder, or its address."""

    def join(self, folder: str, name: str) -> str:
        """The path of `name` in a folder."""
        ...

    def check(self) -> bool:
        """Find out before anything is paid for whether drafts can be written; DraftError if not.

        Gives whether of two runs that make one file at once only one is told that it did.
        """
        ...

    def exists(self, path: str) -> bool:
        """Whether a file stands there."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Names of what lies in a folder, sorted; none where there is no folder."""
        ...

    def read(self, path: str) -> bytes | None:
        """What stands there; None for nothing."""
        ...

    def write(self, path: str, text: str) -> None:
        """Write a file whole or not at all, in place of what stands there."""
        ...

    def create(self, path: str, text: str, *, flush: bool = True) -> bool:
        """Write a file whole unless one stands there; gives whether it did. Of several at once, one does.

        Without `flush` it may be lost when the power fails.
        """
        ...

    def renew(self, path: str, text: str) -> bool:
        """Let a file count as written now; `text` is what stands there. Gives whether there is one."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if there is one."""
        ...

    def written(self, path: str) -> float | None:
        """When a file was written, by the clock of the place: seconds since 1970; None where there is none."""
        ...


def open_store(place: str) -> Store:
    """The drafts at a folder or an address.

    Raises:
        DraftError: the address needs a package that is not there, or is none.
    """
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", place)
    if scheme is None:
        return Folder(place)
    if scheme[1] in {"file", "local"}:
        return Folder(place.removeprefix(scheme[0]))
    from narrator.batch.remote import Remote

    return Remote(place)


def now_at(store: Store) -> float:
    """What time it is by the clock of the place: a file is written there, looked at, and removed.

    Machines that share drafts need not agree on the time; all of them see this one.
    """
    probe = store.join(store.place, f"{PROBE}-{uuid.uuid4().hex}")
    store.create(probe, "", flush=False)
    try:
        return store.written(probe) or time.time()
    finally:
        store.remove(probe)


def keep_draft(store: Store, draft: Draft, path: str, *, replace: bool = False) -> str:
    """Save a draft; gives where it is.

    Unless `replace`, nothing is overwritten: where another essay came meanwhile, this one goes beside it under the
    name that has a part of its identity, and where the very essay came, that one stays and this one is dropped.

    Raises:
        DraftError: the draft could not be written.
    """
    text = dump_draft(draft)
    if replace:
        store.write(path, text)
        return path
    digest = identity_of(draft)
    tail = f"-{digest[:6]}"
    stem = path.removesuffix(".json").removesuffix(tail)
    for place in dict.fromkeys((path, f"{stem}{tail}.json")):
        if store.create(place, text) or identity_at(store, place) == digest:
            return place
    raise DraftError(f"cannot write {path}: something else stands there and beside it; --redo writes it again")


def identity_at(store: Store, path: str) -> str | None:
    """The identity of the draft that stands there; None where there is none, or no draft that can be read."""
    text = store.read(path)
    if text is None:
        return None
    try:
        return identity_of(read_draft(text, path))
    except DraftError:
        return None


class Folder:
    """Drafts in a folder of this machine, or in one that is mounted; a Store."""

    def __init__(self, place: str) -> None:
        """Nothing is made before the first draft is written."""
        self.place = place

    def join(self, folder: str, name: str) -> str:
        """The path of `name` in a folder."""
        return str(Path(folder) / name)

    def check(self) -> bool:
        """Find out whether drafts can be written."""
        check_place(Path(self.place) / PROBE, what="a draft", force=True)
        return True

    def exists(self, path: str) -> bool:
        """Whether a file stands there."""
        return Path(path).is_file()

    def names(self, folder: str) -> tuple[str, ...]:
        """Names of what lies in a folder."""
        try:
            with _told(folder):
                return tuple(sorted(os.listdir(folder)))  # noqa: PTH208 (names alone, of many files)
        except FileNotFoundError:
            return ()

    def read(self, path: str) -> bytes | None:
        """What stands there."""
        try:
            with _told(path):
                return Path(path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str) -> None:
        """Write a file whole."""
        write_whole(Path(path), text)

    def create(self, path: str, text: str, *, flush: bool = True) -> bool:
        """Write a file whole unless one stands there."""
        try:
            write_whole(Path(path), text, replace=False, flush=flush)
        except ExistsError:
            return False
        return True

    def renew(self, path: str, text: str) -> bool:  # noqa: ARG002 (a remote store has to write it again)
        """Set its time; a file that was removed meanwhile does not come back."""
        try:
            with _told(path):
                os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def remove(self, path: str) -> None:
        """Remove a file."""
        with suppress(FileNotFoundError), _told(path):
            Path(path).unlink()

    def written(self, path: str) -> float | None:
        """When a file was written; on a mounted folder mostly by the clock of its server."""
        try:
            with _told(path):
                return Path(path).stat().st_mtime
        except FileNotFoundError:
            return None


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of what path an error is; that there is none passes as it is."""
    try:
        yield
    except NotADirectoryError as error:
        raise FileNotFoundError(path) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DraftError(f"{path}: {reason(error)}") from error
