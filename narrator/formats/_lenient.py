"""Taking values out of JSON that others wrote: the right type, or nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

_DEEPEST = 100
"""Levels of JSON that are read; whoever walks a value further on recurses and must not reach Python's own limit."""
_TOO_DEEP = "JSON nested too deeply to read"
_DIGITS = 300
"""Digits of a whole number that is read as one; Python itself refuses to convert 4,300."""


SANE = 2**53
"""Whole numbers are smaller: beyond it JavaScript, which wrote them, has no exact ones (a time in ms is far below)."""


def decode(raw: bytes, oddities: list[str]) -> Any:
    """Decode one JSON value; what strict parsers refuse in it is read all the same and told in `oddities`."""
    try:
        value = _decode(raw, oddities)
    except RecursionError:
        oddities.append(_TOO_DEEP)
        return None
    if raw.count(b"[") + raw.count(b"{") <= _DEEPEST:  # most values: so many levels cannot be in it
        return value
    return _shallow(value, _DEEPEST, oddities)


def _decode(raw: bytes, oddities: list[str]) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:  # bytes that are not UTF-8, or a number that no machine holds
        text = raw.decode("utf-8", "replace")
    if bad := text.count("\ufffd") - raw.count("\ufffd".encode()):
        oddities.append(f"{bad} byte(s) that are not UTF-8, read as U+FFFD")
    return json.loads(text, strict=False, parse_int=_whole, parse_float=_real)


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) < _DIGITS else digits


def _real(digits: str) -> float | str:
    return number if math.isfinite(number := float(digits)) else digits


def _shallow(value: Any, levels: int, oddities: list[str]) -> Any:
    """`value` with what lies deeper than `levels` replaced by a mark."""
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        oddities.append(_TOO_DEEP)
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {key: _shallow(item, levels - 1, oddities) for key, item in value.items()}
    return [_shallow(item, levels - 1, oddities) for item in value]


def as_dict(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_str(value: Any) -> str | None:
    """The string, or None."""
    return value if isinstance(value, str) else None


def as_int(value: Any) -> int | None:
    """A whole number of sane size; a float is rounded down."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -SANE < value < SANE:
        return None
    return math.floor(value)
