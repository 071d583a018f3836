"""A file of settings in TOML, and on which line each of them stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from narrator.errors import StyleError, reason

LONGEST = 2000
"""Lines that say something, of a manifest in which the place of a setting is looked for."""
_PLACE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


class Manifest(NamedTuple):
    """Settings and the text they were read from."""

    path: Path
    settings: dict[str, Any]
    lines: tuple[str, ...]

    def line(self, place: Sequence[int | str]) -> int:
        """Line, from 1, on which the statement begins that sets the key at `place`, or the nearest thing round it.

        TOML's parser tells no places, so it is asked of longer and longer beginnings of the file which is the first
        that has the key. What is nowhere belongs before all tables: line 1.
        """
        said = [number for number, line in enumerate(self.lines) if re.match(r"\s*[^\s#]", line)][:LONGEST]
        for depth in range(len(place), 0, -1):
            begun = 0
            for number in said:
                settings = _parsed(self.lines[: number + 1])
                if settings is None:
                    continue
                if _has(settings, place[:depth]):
                    return min(line for line in said if line >= begun) + 1
                begun = number + 1
        return 1

    def error(self, place: Sequence[int | str], says: str) -> StyleError:
        """An error at the line of a setting."""
        return StyleError(f"{self.path}, line {self.line(place)}: {says}")


def read_manifest(path: Path) -> Manifest:
    """The settings in the file at `path`.

    Raises:
        StyleError: it cannot be read, or is no TOML; names the line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise StyleError(f"{path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise StyleError(f"{path}, line {line}: no UTF-8 text") from error
    lines = tuple(text.replace("\r\n", "\n").split("\n"))
    try:
        return Manifest(path, tomllib.loads(text), lines)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        says = str(error)
        found = _PLACE.search(says)
        line = int(found[1]) if found and found[1] else max(1, len(lines))
        raise StyleError(f"{path}, line {line}: no TOML: {_PLACE.sub('', says)}") from error


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines) + "\n")
    except tomllib.TOMLDecodeError:
        return None


def _has(settings: object, place: Sequence[int | str]) -> bool:
    """Whether something stands at the end of a way through tables and lists."""
    for step in place:
        inside = dict(enumerate(settings)) if isinstance(settings, list) else settings
        if not isinstance(inside, dict) or step not in inside:
            return False
        settings = inside[step]
    return True
