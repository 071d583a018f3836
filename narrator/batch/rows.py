"""A list of targets, as `--from` takes it: CSV, JSON Lines, or a JSON array as `narrate targets --json` prints it."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from narrator.asking import Manner
from narrator.batch.choose import Row
from narrator.batch.job import Problem
from narrator.errors import UsageError

COLUMNS = ("session", "msg", "style", "length", "language")
_ALIASES = {"index": "msg"}
"""`narrate targets --json` calls the message so."""
_RANKED = {"id", "score", "kinds", "says"}
"""What else that prints; it is left aside without a word."""
SHORTEST, LONGEST = 100, 20_000
"""Words that `--length` may ask for."""


class Rows(NamedTuple):
    """What a list holds."""

    rows: list[Row]
    problems: list[Problem]
    """Lines that cannot be used."""
    notices: list[str]


def read_rows(data: bytes, name: str, folder: Path, sessions: tuple[str, ...], manner: Manner) -> Rows:
    """The targets in a list.

    Args:
        data: The list.
        name: What it is called in an error.
        folder: Where its paths begin.
        sessions: Those that were named beside it; a line without a session means the only one of them.
        manner: How an essay is written whose line does not say.

    Raises:
        UsageError: it is no such list.
    """
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # a spreadsheet's "Unicode text"
    text = data.decode("utf-16", "replace") if wide else data.decode("utf-8-sig", "surrogateescape")
    found = Rows([], [], [])
    unused: dict[str, None] = {}
    for line, given in _records(text, name):
        where = f"{name}, {line}"
        try:
            row = _named(given)
            unused.update(dict.fromkeys(column for column in row if column not in (*COLUMNS, *_RANKED)))
            found.rows.append(_row(row, where, folder, sessions, manner))
        except UsageError as error:
            found.problems.append(Problem(where=where, why=str(error)))
    if unused:
        named = ", ".join(repr(column) for column in list(unused)[:5])
        found.notices.append(f"{name}: not used: {named}; the columns are {', '.join(COLUMNS)}")
    return found


def _records(text: str, name: str) -> Iterator[tuple[str, object]]:
    """Each entry of the list with where it stands; an error for what is none."""
    head = text.lstrip()[:1]
    if not head:
        raise UsageError(f"--from {name}: it is empty; give a CSV with the columns {', '.join(COLUMNS)}, or JSON Lines")
    if head == "[":
        return _entries(text, name)
    return _json_lines(text) if head == "{" else _csv_lines(text, name)


def _entries(text: str, name: str) -> Iterator[tuple[str, object]]:
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--from {name}: no JSON: {error}") from error
    return ((f"entry {place}", entry) for place, entry in enumerate(listed, 1))


def _json_lines(text: str) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError):
                yield f"line {number}", None


def _csv_lines(text: str, name: str) -> Iterator[tuple[str, object]]:
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    names: list[str] | None = None
    begins = 1
    try:
        for cells in reader:
            line, begins = f"line {begins}", reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _header(cells, name)
                continue
            if len(cells) > len(names):
                yield line, UsageError(f"{len(cells)} cells, but {len(names)} columns")
                continue
            yield line, dict(zip(names, cells, strict=False))
    except csv.Error as error:
        yield f"line {begins}", UsageError(str(error))


def _header(cells: list[str], name: str) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if "msg" not in names and "index" not in names:
        shown = ", ".join(repr(cell[:30]) for cell in cells[:6])
        raise UsageError(
            f"--from {name}: no column `msg` in its first line ({shown}); it names the columns: session,msg"
        )
    return names


def _named(given: object) -> dict[str, Any]:
    """An entry by the names of the columns; UsageError with a reason for what is none."""
    if isinstance(given, UsageError):
        raise given
    if not isinstance(given, dict):
        raise UsageError("no JSON object")
    named = {str(key).strip().lower(): value for key, value in given.items()}
    for other, column in _ALIASES.items():
        if other in named:
            named.setdefault(column, named.pop(other))
    return {column: value for column, value in named.items() if value is not None and value != ""}


def _row(row: Mapping[str, Any], where: str, folder: Path, sessions: tuple[str, ...], manner: Manner) -> Row:
    """A line of the list; UsageError with a reason when it cannot be used."""
    session = _text(row, "session")
    if session is not None:
        session = str(folder / session)
    elif len(sessions) == 1:
        session = sessions[0]
    else:
        raise UsageError("no session; " + ("several are" if sessions else "none is") + " given beside the list")
    msg = row.get("msg")
    if isinstance(msg, bool) or not isinstance(msg, int | str) or not str(msg).strip():
        raise UsageError("no message" if msg is None else f"msg {msg!r}: a number or an id is needed")
    style = _text(row, "style")
    if style is not None and (folder / style).is_dir() and _is_path(style, folder):
        style = str(folder / style)
    return Row(
        where=where,
        session=session,
        msg=str(msg).strip(),
        manner=Manner(
            style=style or manner.style,
            length=_length(row) or manner.length,
            language=_text(row, "language") or manner.language,
        ),
    )


def _is_path(style: str, folder: Path) -> bool:
    """Whether a style is meant as a folder beside the list, and not by its name."""
    return "/" in style or (folder / style / "style.toml").is_file()


def _text(row: Mapping[str, Any], column: str) -> str | None:
    value = row.get(column)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{column} {value!r}: a text is needed")
    return value.strip() or None if value is not None else None


def _length(row: Mapping[str, Any]) -> int | None:
    value = row.get("length")
    if value is None:
        return None
    text = str(value).strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(LONGEST)) else 0
    if isinstance(value, bool) or not SHORTEST <= number <= LONGEST:
        raise UsageError(f"length {value}: a whole number of words from {SHORTEST} to {LONGEST:,} is needed")
    return number
