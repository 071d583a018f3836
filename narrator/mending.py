"""What JavaScript and Python write as JSON but strict JSON lacks, rewritten so that a strict parser reads it."""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec
from msgspec import Raw

Bytes: TypeAlias = bytes | memoryview
"""A stretch of a recording is a view of it: a recording is large, and slices of bytes are copies."""

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"|(-?\bInfinity\b|\bNaN\b)', re.DOTALL)
_RAW: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)


def mend(text: bytes) -> tuple[bytes, dict[str, int]]:
    """A JSON value with what strict JSON lacks rewritten, and how often what was.

    Raises:
        DecodeError: nothing of the kind, or not alone, keeps it from being read.
        RecursionError: it is nested too deeply.
    """
    told: dict[str, int] = {}
    while True:
        try:
            _RAW.decode(text)
        except msgspec.DecodeError as error:
            better = mend_once(text, str(error))
            if better is None:
                raise
            text, count, what = better
            told[what] = told.get(what, 0) + count
        else:
            return text, told


def mend_once(text: Bytes, reason: str) -> tuple[bytes, int, str] | None:
    """Rewrite what JavaScript and Python write but strict JSON lacks; None when there is nothing of the kind.

    A lone surrogate (a string cut inside an emoji) becomes U+FFFD, which is as long, so offsets hold. msgspec calls one
    "unexpected end of hex escape", at the end of the document "truncated".
    """
    count = 0

    def surrogate(match: re.Match[bytes]) -> bytes:
        nonlocal count
        count += match[1] is not None
        return rb"\ufffd" if match[1] else match[0]

    def number(match: re.Match[bytes]) -> bytes:
        nonlocal count
        count += match[1] is not None
        return b"null" if match[1] else match[0]

    if "surrogate" in reason or "hex escape" in reason or "truncated" in reason:
        text = _ESCAPE.sub(surrogate, text)
        return (text, count, "lone surrogate(s) read as U+FFFD") if count else None
    if "UTF-8" in reason:  # in a key, or beside the messages: what is inside a message its reader tells
        better = bytes(text).decode("utf-8", "replace")
        return better.encode(), better.count("\ufffd"), "byte(s) that are not UTF-8 read as U+FFFD"
    if "invalid character" not in reason:
        return None
    text = _NUMBER.sub(number, text)
    return (text, count, "NaN or Infinity read as null") if count else None
