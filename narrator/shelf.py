"""What was worked out of a recording, kept for the next run in the user's cache folder.

Never needed and safe to delete: what is not found, not whole, or not of exactly this file is worked out again. It is as
fresh as a file's size, time of change, number (inode) and both ends can tell. It holds places, times, names of models
and numbers, and no text of a message. Two runs may write at once: each writes a file of its own and renames it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from narrator.source import Source

LEAST = 1 << 20
"""Bytes of a recording below which nothing is kept: reading it again is faster."""
_ENDS = 1 << 12
"""Bytes at either end of a recording that must be the same."""
_KEPT_DAYS = 60
"""Days after which an entry that nobody used is removed."""
_MAGIC = b"narrate-shelf-1\n"
_DIGEST = 32


class Shelf:
    """Keeps nothing: for small recordings, pipes, and where there is no cache folder."""

    def get(self, name: str) -> memoryview | None:
        """What was put under a name for this very recording; None when there is nothing."""
        del name
        return None

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep bytes under a name; where they cannot be kept, they are not."""


NO_SHELF = Shelf()


class _FileShelf(Shelf):
    """Keeps each name in a file of its own."""

    def __init__(self, folder: Path, stem: str, stamp: bytes) -> None:
        self._folder, self._stem, self._stamp = folder, stem, stamp

    def get(self, name: str) -> memoryview | None:
        path = self._folder / f"{self._stem}.{name}"
        try:
            data = memoryview(path.read_bytes())
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST + 4
        payload = data[head:]
        known = _MAGIC + self._stamp + crc32(payload).to_bytes(4, "little")
        if data[:head] != known:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it was used
        return payload

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        payload = b"".join(pieces)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sweep()
            file, temporary = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=".part")
        except OSError:
            return
        try:
            with os.fdopen(file, "wb") as out:
                out.write(_MAGIC + self._stamp + crc32(payload).to_bytes(4, "little"))
                out.write(payload)
            Path(temporary).replace(self._folder / f"{self._stem}.{name}")
        except OSError:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()

    def _sweep(self) -> None:
        """Remove what nobody used for long, and what a killed run left."""
        oldest = time.time() - _KEPT_DAYS * 86_400
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


def open_shelf(source: Source, salt: str) -> Shelf:
    """The shelf of a recording; `salt` is whatever else the kept things depend on, as the version of the reader."""
    if source.file is None or source.size < LEAST:
        return NO_SHELF
    path = Path(str(source.file.name)).absolute()
    about = os.fstat(source.file.fileno())
    facts = f"{salt}\n{about.st_size}\n{about.st_mtime_ns}\n{about.st_dev}\n{about.st_ino}\n{path}\n"
    stamp = hashlib.sha256(facts.encode("utf-8", "surrogateescape"))
    stamp.update(source.read(0, _ENDS))
    stamp.update(source.read(max(0, source.size - _ENDS), _ENDS))
    stem = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    return _FileShelf(cache_folder(), stem, stamp.digest())


def cache_folder() -> Path:
    """Where narrate keeps what it can work out again: `$NARRATE_CACHE_DIR`, else the user's cache folder."""
    import platformdirs  # 3 ms that only a large recording is worth

    own = os.environ.get("NARRATE_CACHE_DIR")
    return Path(own) if own else Path(platformdirs.user_cache_dir("narrate", appauthor=False))
