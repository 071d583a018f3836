"""The bytes of a recording: from a file, a gzip, or standard input, as UTF-8.

A plain file stays where it is and is read piece by piece, so that a large one need not fit into memory. It is not
mapped: a mapped file that another program cuts short kills the process.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
import weakref
import zlib
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from narrator.errors import SessionError, reason

UNPACKED_CAP = 4 << 30
"""Bytes a compressed recording may unpack to; a bomb stops here."""

_SOMETHING = re.compile(rb"[^ \t\r\n\x00]")
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_BITE = 1 << 14
"""Bytes handed to the unpacker at once; what a member leaves of them is copied, so small members need small bites."""
_OTHER_MAGIC = {
    b"\x28\xb5\x2f\xfd": "zstd; unpack it first: `zstd -d FILE`",
    b"SQLite format 3\x00": "an SQLite database; give the JSON of `opencode export ID > file`",
    b"PK\x03\x04": "a ZIP archive (as Inspect's .eval is), which this version does not read",
}
_TAR = re.compile(rb"[^{\[].{256}ustar[\x00 ]", re.DOTALL)
_WIDE = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


_HEAD = 1 << 12
"""Bytes at the head of a file that tell what it is."""


class Source:
    """What was found, before anything is known of its format: bytes in memory, or those of an open file."""

    def __init__(self, name: str, data: bytes | BinaryIO, notices: tuple[str, ...] = ()) -> None:
        self.name = name
        """File name without its folder; `stdin` for standard input."""
        self.notices = notices
        """What had to be undone on the way, one sentence each."""
        self._whole = data if isinstance(data, bytes) else None
        self.file = None if isinstance(data, bytes) else data
        """The file, open, when its bytes are read where they stand; None when they were unpacked or piped."""
        self.size = len(data) if isinstance(data, bytes) else os.fstat(data.fileno()).st_size
        """Bytes, as UTF-8."""
        self._stamp = _stamp(self.file)
        if self.file is not None:
            weakref.finalize(self, self.file.close)

    def read(self, start: int, length: int) -> bytes:
        """Bytes from `start`, as many as `length` or as there are.

        They are UTF-8, but a bad byte may be among them; whoever decodes it reports it.

        Raises:
            SessionError: the file can no longer be read, or was changed since it was opened.
        """
        if self.file is None:
            return self.data[start : start + length]
        buffer = bytearray(max(0, min(length, self.size - start)))
        self.read_into(memoryview(buffer), start)
        return bytes(buffer)

    def read_into(self, buffer: memoryview, start: int) -> int:
        """Fill a buffer with the bytes from `start`, and say how many there were; raises as `read` does."""
        if self.file is None:
            data = self.data[start : start + len(buffer)]
            buffer[: len(data)] = data
            return len(data)
        try:
            self.file.seek(start)
            count = self.file.readinto(buffer)  # type: ignore[attr-defined]  # a raw file
        except OSError as error:
            raise SessionError(f"cannot read {self.name}: {reason(error)}") from error
        if _stamp(self.file) != self._stamp:
            raise SessionError(f"{self.name}: the file was changed while it was read; run again when it is complete")
        return int(count)

    @cached_property
    def data(self) -> bytes:
        """All of it, in memory; a byte order mark is blanked, so that offsets hold."""
        return self.read(0, self.size) if self._whole is None else self._whole


def _stamp(file: BinaryIO | None) -> tuple[int, int] | None:
    """Size and time of change of an open file, by which it is seen that another program wrote to it."""
    if file is None:
        return None
    about = os.fstat(file.fileno())
    return about.st_size, about.st_mtime_ns


def read_source(path: str, *, cap: int = UNPACKED_CAP) -> Source:
    """Find the recording at `path`, or on standard input for `-`.

    Raises:
        SessionError: it cannot be read, is empty, or is no text.
    """
    if path == "-":
        return _unpacked("stdin", _read_stdin(), path, cap)
    name, file = Path(path).name, _open_file(path)
    kept = False
    try:
        head = _read_all(file, path, _HEAD)
        kept = stat.S_ISREG(os.fstat(file.fileno()).st_mode) and _is_plain(head)
        if kept:
            _refuse_others(head, name)
            return Source(name, file)
        return _unpacked(name, head + _read_all(file, path), path, cap)
    except SessionError:
        kept = False
        raise
    finally:
        if not kept:
            file.close()


def _is_plain(head: bytes) -> bool:
    """Whether a file that begins so is text as it stands, and not empty."""
    return bool(_SOMETHING.search(head)) and not head.startswith((_GZIP_MAGIC, codecs.BOM_UTF8, *_WIDE))


def _unpacked(name: str, data: bytes, path: str, cap: int) -> Source:
    notices: list[str] = []
    if data.startswith(_GZIP_MAGIC):
        data = _gunzip(data, name, cap)
        if path != "-" and not name.lower().endswith(".gz"):
            notices.append(f"{name}: gzip under another name, unpacked")
    _refuse_others(data, name)
    data = _as_utf8(data, name, notices)
    if not _SOMETHING.search(data):
        raise SessionError(_empty(path, name, len(data)))
    return Source(name, data, tuple(notices))


def _refuse_others(data: bytes, name: str) -> None:
    for magic, what in _OTHER_MAGIC.items():
        if data.startswith(magic):
            raise SessionError(f"{name}: this is {what}")
    if _TAR.match(data):
        raise SessionError(f"{name}: this is a tar archive; unpack it first")


def _empty(path: str, name: str, size: int) -> str:
    if path == "-":
        return "stdin is empty; the command on the left of the pipe wrote nothing (did it fail?)"
    return f"{name}: the file is empty ({size} bytes); `opencode export ID > file` writes one"


def _read_stdin() -> bytes:
    if sys.stdin is None:  # closed by the caller: `narrate … - <&-`
        raise SessionError("stdin is closed; pipe a recording in, or name a file")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise SessionError(f"cannot read stdin: {reason(error)}") from error


def _open_file(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb", buffering=0)
    except FileNotFoundError as error:
        target = f" (a link to {Path(path).readlink()})" if Path(path).is_symlink() else ""
        raise SessionError(f"no such file: {path}{target}") from error
    except PermissionError as error:
        raise SessionError(f"permission denied: {path}") from error
    except IsADirectoryError as error:
        raise SessionError(f"{path} is a directory; give one session file of it") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SessionError(f"cannot read {path}: {reason(error)}") from error


def _read_all(file: BinaryIO, path: str, most: int = -1) -> bytes:
    """What is left of a file, at most `most` bytes of it; a pipe gives what it has in pieces."""
    try:
        return file.read(most) or b""
    except OSError as error:
        raise SessionError(f"cannot read {path}: {reason(error)}") from error


def _gunzip(data: bytes, name: str, cap: int) -> bytes:
    """Unpack every member of a gzip, at most `cap` bytes in all; what follows the last member is padding."""
    out = io.BytesIO()
    at = 0
    while data.startswith(_GZIP_MAGIC, at):
        member = zlib.decompressobj(wbits=31)
        while not member.eof and at < len(data):
            bite = data[at : at + _GZIP_BITE]
            try:
                out.write(member.decompress(bite, cap - out.tell() + 1))
            except zlib.error as error:
                raise SessionError(f"{name}: damaged gzip ({error})") from error
            if out.tell() > cap:
                raise SessionError(f"{name}: unpacks to more than {cap:,} bytes; refused")
            at += len(bite) - len(member.unused_data)
        if not member.eof:
            raise SessionError(f"{name}: the gzip ends early, after {out.tell():,} unpacked bytes; copy it again")
    return out.getvalue()


def _as_utf8(data: bytes, name: str, notices: list[str]) -> bytes:
    if data.startswith(codecs.BOM_UTF8):
        return b" " * len(codecs.BOM_UTF8) + data[len(codecs.BOM_UTF8) :]
    for mark, encoding in _WIDE.items():
        if data.startswith(mark):
            notices.append(f"{name}: {encoding.upper()} read as text (PowerShell's `>` writes that)")
            return data[len(mark) :].decode(encoding, "replace").encode()
    return data
