"""Times and durations as text: milliseconds since 1970 in UTC, cut to the second; durations rounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_9999 = 253_402_300_799_000


def iso(ms: int | None) -> str | None:
    """ISO 8601 to the second: `2026-05-22T15:54:30Z`; None for no time or one no calendar holds."""
    if ms is None or not 0 <= ms <= _YEAR_9999:
        return None
    return (_EPOCH + timedelta(milliseconds=ms)).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp(ms: int | None) -> str | None:
    """For people: `2026-05-22 15:54:30 UTC`."""
    text = iso(ms)
    return text and text.replace("T", " ").replace("Z", " UTC")


def pause(ms: int) -> str:
    """A short time between two messages: `11 ms`, else as `span`."""
    return f"{ms} ms" if 0 <= ms < 1000 else span(ms)


def span(ms: int) -> str:
    """A duration: `0.4 s`, `17.2 s`, `4 min 3 s`, `2 h 5 min`, `3 d 4 h`; rounded to the smaller part, half up.

    A negative one (a clock that was set back) has a minus before it.
    """
    if ms < 0:
        return f"-{span(-ms)}"
    if (tenths := (ms + 50) // 100) < 1200:
        return f"{tenths // 10}.{tenths % 10} s"
    if (seconds := (ms + 500) // 1000) < 7200:
        return f"{seconds // 60} min {seconds % 60} s"
    if (minutes := (ms + 30_000) // 60_000) < 2880:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = (ms + 1_800_000) // 3_600_000
    return f"{hours // 24} d {hours % 24} h"
