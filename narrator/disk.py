"""Files written whole or not at all, and whether one can be written, found out before anything is paid for."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from narrator.errors import DraftError, ExistsError, reason


def check_place(path: Path, *, what: str, force: bool, hint: str = "") -> None:
    """Find out before a model is asked, not after, that nothing can be written at `path`.

    Raises:
        ExistsError: something stands there and may not be replaced; `hint` is what else can be done.
        DraftError: it is a folder or a device, or lies in what is no folder, or in one that may not be written.
    """
    if path.is_dir():
        raise DraftError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        raise DraftError(f"cannot write {path}: it is no regular file; leave out -o to write to standard output")
    if not force and (path.exists() or path.is_symlink()):
        raise ExistsError(f"{what} exists: {path}; {hint}--force writes it again")
    folder = next((parent for parent in path.parents if parent.exists()), Path())
    if not folder.is_dir():
        raise DraftError(f"cannot write {path}: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DraftError(f"cannot write {path}: permission denied in {folder}")
    try:
        # Only trying tells for a file system that is read-only, full, or none that holds files.
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
    except OSError as error:
        raise DraftError(f"cannot write {path}: {reason(error)} in {folder}") from error


def write_whole(path: Path, text: str, *, replace: bool = True, flush: bool = True) -> None:
    """Write a text file atomically: a temporary file beside it, flushed to disk, then moved into place.

    Without `flush` it is whole for every reader, but may be empty after a power failure.

    Raises:
        ExistsError: without `replace`, something stands there, even if it came there this moment.
        DraftError: naming the path and the reason; the old file, if any, is untouched.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".narrate-", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        if replace:
            temporary.replace(path)
        else:
            _put(temporary, path)
    except OSError as error:
        raise DraftError(f"cannot write {path}: {reason(error)}") from error
    finally:
        # Also when the user interrupts: nothing half-written stays.
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _put(temporary: Path, path: Path) -> None:
    """Give a finished file its name, unless something has it: a rename would replace that, a link does not."""
    try:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links (FAT, some mounts): claim the name, then replace the empty claim.
            path.open("x").close()
            temporary.replace(path)
    except FileExistsError as error:
        raise ExistsError(f"{path} exists; --force writes it again") from error


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
