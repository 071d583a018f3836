"""The bytes of a recording: from a file, a gzip, or standard input, as UTF-8."""

from __future__ import annotations

import codecs
import io
import re
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

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


class Source(NamedTuple):
    """What was read, before anything is known of its format."""

    name: str
    """File name without its folder; `stdin` for standard input."""
    data: bytes
    """UTF-8, a byte order mark blanked so that offsets hold; a bad byte may remain, whoever decodes reports it."""
    notices: tuple[str, ...]
    """What had to be undone on the way, one sentence each."""


def read_source(path: str, *, cap: int = UNPACKED_CAP) -> Source:
    """Read the recording at `path`, or standard input for `-`.

    Raises:
        SessionError: it cannot be read, is empty, or is no text.
    """
    name, data = ("stdin", _read_stdin()) if path == "-" else (Path(path).name, _read_file(path))
    notices: list[str] = []
    if data.startswith(_GZIP_MAGIC):
        data = _gunzip(data, name, cap)
        if path != "-" and not name.lower().endswith(".gz"):
            notices.append(f"{name}: gzip under another name, unpacked")
    for magic, what in _OTHER_MAGIC.items():
        if data.startswith(magic):
            raise SessionError(f"{name}: this is {what}")
    if _TAR.match(data):
        raise SessionError(f"{name}: this is a tar archive; unpack it first")
    data = _as_utf8(data, name, notices)
    if not _SOMETHING.search(data):
        raise SessionError(_empty(path, name, len(data)))
    return Source(name, data, tuple(notices))


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


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        target = f" (a link to {Path(path).readlink()})" if Path(path).is_symlink() else ""
        raise SessionError(f"no such file: {path}{target}") from error
    except PermissionError as error:
        raise SessionError(f"permission denied: {path}") from error
    except IsADirectoryError as error:
        raise SessionError(f"{path} is a directory; give one session file of it") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
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
