"""A recorded session as its JSON tells it: roles, words, figures and times of each message, read without `narrator`."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

_BORING = {"signature", "snapshot", "messageID", "sessionID", "callID"}
"""Keys whose values nobody writes about; digits of a signature would look like figures."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)*")
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b")


def words_of(text: str) -> str:
    """The words alone, in small letters, one space between them and at both ends: no mark can hide a quotation."""
    return f" {' '.join(_WORD.findall(_ANSI.sub('', text).lower()))} "


def numbers_of(text: str) -> set[str]:
    """Every number of a text and every part of a dotted one, without separators of thousands."""
    found: set[str] = set()
    for number in _NUMBER.findall(_ANSI.sub("", text)):
        plain = number.replace(",", "").rstrip(".")
        found |= {plain, number.rstrip(",."), *re.split(r"[,.]", number)}
        parts = plain.split(".")
        found |= {".".join(parts[:2]), ".".join(parts[-2:])}
        if len(parts) == 2:
            found.add(plain.rstrip("0").rstrip("."))
    return found


class Recording:
    """An opencode export. Messages are numbered as `jq '.messages[N]'` shows them."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._messages: list[dict[str, Any]] = document["messages"]
        self.text = cache(self._text)
        self.words = cache(lambda index: words_of(self.text(index)))
        self.numbers = cache(lambda index: numbers_of(self.text(index)) | self.spans(index))

    def __len__(self) -> int:
        return len(self._messages)

    def role(self, index: int) -> str:
        """`user` or `assistant`."""
        return str(self._messages[index]["info"]["role"])

    def error(self, index: int) -> str:
        """Name of the error the message ended with; "" when it has none."""
        return str((self._messages[index]["info"].get("error") or {}).get("name", ""))

    def finish(self, index: int) -> str:
        """The recorded finish; "" when it has none."""
        return str(self._messages[index]["info"].get("finish") or "")

    def sayings(self, index: int) -> list[str]:
        """What was said in the message: its text parts."""
        return [part["text"] for part in self._messages[index]["parts"] if part.get("type") == "text"]

    def commands(self, index: int) -> list[str]:
        """Shell commands the message ran."""
        inputs = [part["state"].get("input") or {} for part in self._messages[index]["parts"] if "state" in part]
        return [given["command"] for given in inputs if isinstance(given.get("command"), str)]

    def spans(self, index: int) -> set[str]:
        """How long the message took, and how long it was to the next and from the one before: in s and in ms."""
        times = [self._messages[k]["info"]["time"] for k in range(max(0, index - 1), min(len(self), index + 2))]
        stamps = [stamp for time in times for stamp in (time["created"], time.get("completed")) if stamp]
        lengths = {later - earlier for earlier in stamps for later in stamps if later > earlier}
        tenths = {f"{tenth / 10:.1f}" for length in lengths for tenth in (length // 100, round(length / 100))}
        return {str(length) for length in lengths} | tenths | {tenth.removesuffix(".0") for tenth in tenths}

    def _text(self, index: int) -> str:
        return "\n".join(_leaves(self._messages[index]))

    @cached_property
    def whole(self) -> str:
        """Every word of the session, small letters."""
        return "\n".join(self.text(index) for index in range(len(self))).lower()

    @cached_property
    def clocks(self) -> set[str]:
        """Every time of day in the session, recorded or written, to the second and to the minute."""
        found = set(_CLOCK.findall(self.whole))
        return found | {clock[:5] for clock in found}

    @cached_property
    def versions(self) -> set[str]:
        """Every dotted number of the session."""
        return set(re.findall(r"\d+(?:\.\d+)+", self.whole))


def _leaves(value: Any) -> Iterator[str]:  # noqa: ANN401  # recorded JSON
    """Every text and number below a value; a number of milliseconds since 1970 as a date and a time of day, too."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key not in _BORING:
                yield from _leaves(below)
    elif isinstance(value, list):
        for below in value:
            yield from _leaves(below)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
        if value > 1e12:
            yield datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def read_recording(path: Path) -> Recording:
    """Read a `.json` or `.json.gz`."""
    data = path.read_bytes()
    return Recording(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))
