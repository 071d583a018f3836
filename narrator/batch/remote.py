"""Drafts at an address: whatever fsspec opens (`s3://…`, `gs://…`, `memory://…`), which the extra `remote` brings.

An object store has no rename and needs none: an object is there whole or not at all.
"""

from __future__ import annotations

import importlib
import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from narrator.batch.store import PROBE
from narrator.errors import DraftError, reason

EXTRA = "pip install 'narrate[remote]'"
"""What brings fsspec, and S3."""
FAULTS = (
    *(("botocore.exceptions", "BotoCoreError"), ("botocore.exceptions", "ClientError")),
    *(("aiohttp", "ClientError"), ("gcsfs.retry", "HttpError"), ("azure.core.exceptions", "AzureError")),
)
"""Errors of the clients below fsspec that are no OSError."""
CONFLICT, CONFLICTS = "ConditionalRequestConflict", 4
"""S3's answer when something else happens to the object at the same moment, and how often it is asked."""


class Remote:
    """Drafts at an address; a Store."""

    def __init__(self, place: str) -> None:
        """Open the address; credentials and endpoints are the client's own matter (environment, its config files).

        Raises:
            DraftError: fsspec, or what it needs for this kind of address, is not installed.
        """
        self.place = place.rstrip("/")
        try:
            fsspec = importlib.import_module("fsspec")
            # A remembered listing would hide what another machine wrote.
            self._files, _ = fsspec.url_to_fs(place, use_listings_cache=False)
        except ImportError as error:
            raise DraftError(f"drafts at {place} need another package: {EXTRA} ({error})") from error
        except ValueError as error:
            raise DraftError(f"cannot open {place}: {error}") from error

    def join(self, folder: str, name: str) -> str:
        """The address of `name` in a folder."""
        return f"{folder.rstrip('/')}/{name}"

    def check(self) -> bool:
        """Write a file, and try to make it again."""
        probe = self.join(self.place, f"{PROBE}-{uuid.uuid4().hex}")
        self.write(probe, "")
        try:
            return not self.create(probe, "")
        finally:
            self.remove(probe)

    def exists(self, path: str) -> bool:
        """Whether an object stands there."""
        with _told(path):
            return bool(self._files.isfile(path))

    def names(self, folder: str) -> tuple[str, ...]:
        """Names of what lies in a folder."""
        try:
            with _told(folder):
                listed: list[str] = self._files.ls(folder, detail=False)
        except FileNotFoundError:
            return ()
        return tuple(sorted(path.rstrip("/").rpartition("/")[2] for path in listed))

    def read(self, path: str) -> bytes | None:
        """What stands there."""
        try:
            with _told(path):
                return bytes(self._files.cat_file(path))
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str) -> None:
        """Put an object."""
        with _writing(path):
            self._files.pipe_file(path, text.encode())

    def create(self, path: str, text: str, *, flush: bool = True) -> bool:  # noqa: ARG002 (a put is flushed)
        """Put an object on the condition that there is none."""
        for again in reversed(range(CONFLICTS)):
            try:
                with _writing(path):
                    self._files.pipe_file(path, text.encode(), mode="create")
            except FileExistsError:
                return False
            except DraftError as error:
                if not again or CONFLICT not in repr(_causes(error)):
                    raise
            else:
                return True
        raise AssertionError

    def renew(self, path: str, text: str) -> bool:
        """Put it again, if it stands there: no store has a way to set the time alone."""
        if self.read(path) != text.encode():
            return False
        self.write(path, text)
        return True

    def remove(self, path: str) -> None:
        """Remove an object."""
        try:
            with _told(path):
                self._files.rm_file(path)
        except FileNotFoundError:
            return

    def written(self, path: str) -> float | None:
        """When the store got it, by the store's clock."""
        try:
            with _told(path):
                return float(self._files.modified(path).timestamp())
        except FileNotFoundError:
            return None


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of what path an error is; that there is none passes as it is."""
    try:
        yield
    except FileNotFoundError:
        raise
    except faults() as error:
        raise DraftError(f"{path}: {_one_line(error)}") from error


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """The same of a path that is written; that there is one passes as it is."""
    try:
        yield
    except FileExistsError:
        raise
    except faults() as error:
        raise DraftError(f"cannot write {path}: {_one_line(error)}") from error


def faults() -> tuple[type[Exception], ...]:
    """The errors that a store's client raises, of the clients in use."""
    known = (getattr(sys.modules.get(module), name, None) for module, name in FAULTS)
    return (OSError, ValueError, *(kind for kind in known if kind is not None))


def _causes(error: BaseException | None) -> list[BaseException]:
    causes = []
    while error is not None:
        causes.append(error)
        error = error.__cause__
    return causes


def _one_line(error: Exception) -> str:
    told = reason(error) if isinstance(error, OSError | ValueError) else str(error)
    return re.sub(r"\s+", " ", told)[:300]
