"""Which messages of which sessions are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from narrator.asking import Manner
from narrator.batch.job import Problem
from narrator.context import find_target
from narrator.errors import UsageError, reason
from narrator.findings import Kind, mark, mask_of
from narrator.record import Record
from narrator.session import Session

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
"""How the names of a folder's files end that are taken for recordings."""
_DIGITS = 12
"""Of numbers that no session has as many messages as."""
_LARGEST = 64 << 20
"""Bytes of a file up to which it is looked whether it is some other JSON."""


class Choice(Record):
    """What is wanted of each session that is named."""

    msgs: tuple[str, ...] = ()
    """Numbers, ranges of them (`100-120`), and ids."""
    kinds: tuple[Kind, ...] = ()
    """All messages with a finding of one of these kinds."""
    everything: bool = False
    manner: Manner

    @property
    def names_any(self) -> bool:
        """Whether it names any message."""
        return bool(self.msgs or self.kinds or self.everything)


class Row(Record):
    """One line of a list of targets."""

    where: str
    """The list, and the line in it."""
    session: str
    """A path."""
    msg: str
    """A number, or an id."""
    manner: Manner


class Wanted(NamedTuple):
    """What is wanted of one session."""

    session: str
    """A path."""
    found: bool
    """It was found in a folder; nobody named it."""
    choice: Choice | None
    rows: list[Row]


class Chosen(NamedTuple):
    """A message, and how its essay is written."""

    message: int
    manner: Manner
    where: str
    """Who asked for it, for an error."""


def parse_msgs(text: str) -> tuple[str, ...]:
    """The items of `--msgs 3,17,100-120`.

    Raises:
        UsageError: there is none, or a range runs backwards.
    """
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if not items:
        raise UsageError(f"--msgs {text!r}: no message; give numbers, ranges and ids: 3,17,100-120")
    for item in items:
        if (ends := _range(item)) and ends[0] > ends[1]:
            raise UsageError(f"--msgs {item}: a range goes up: {ends[1]}-{ends[0]}")
    return items


def gather(sessions: Sequence[str], choice: Choice, rows: Iterable[Row]) -> tuple[list[Wanted], list[Problem]]:
    """What is wanted of each session, in the order in which they were named first; folders give their files.

    Args:
        sessions: Paths of recordings and of folders.
        choice: What is wanted of each of them; may name nothing.
        rows: What is wanted beside it.
    """
    wanted: dict[str, Wanted] = {}
    problems = []
    for path in sessions if choice.names_any else ():
        try:
            files = _files(Path(path)) if Path(path).is_dir() else [path]
        except OSError as error:
            problems.append(Problem(where=path, why=reason(error)))
            continue
        if not files:
            problems.append(Problem(where=path, why=f"no recording in this folder ({', '.join(SUFFIXES)})"))
        for file in files:
            wanted.setdefault(file, Wanted(file, file != path, choice, []))
    for row in rows:
        wanted.setdefault(row.session, Wanted(row.session, found=False, choice=None, rows=[])).rows.append(row)
    return list(wanted.values()), problems


def choose(session: Session, wanted: Wanted, problems: list[Problem]) -> Iterator[Chosen]:
    """The messages that are wanted, each as often as it is; what names none is added to `problems`."""
    choice = wanted.choice
    if choice is not None:
        for index in _chosen(session, wanted.session, choice, problems):
            yield Chosen(index, choice.manner, wanted.session)
    for row in wanted.rows:
        try:
            yield Chosen(find_target(session, row.msg, "msg"), row.manner, row.where)
        except UsageError as error:
            problems.append(Problem(where=row.where, why=str(error)))


def is_other_json(path: str) -> bool:
    """Whether a file that is no session is sound JSON of some other kind."""
    try:
        if Path(path).stat().st_size > _LARGEST:
            return False
        msgspec.json.decode(Path(path).read_bytes(), type=msgspec.Raw)
    except (OSError, msgspec.MsgspecError):
        return False
    return True


def _files(folder: Path) -> list[str]:
    """The files of a folder that may be recordings, by name; not those of folders in it."""
    return [
        str(path)
        for path in sorted(folder.iterdir())
        if path.name.lower().endswith(SUFFIXES) and not path.name.startswith(".") and path.is_file()
    ]


def _chosen(session: Session, path: str, choice: Choice, problems: list[Problem]) -> Iterable[int]:
    last = len(session) - 1
    if choice.everything:
        yield from range(last + 1)
    for item in choice.msgs:
        try:
            yield from _named(session, item, last)
        except UsageError as error:
            problems.append(Problem(where=path, why=str(error)))
        if (ends := _range(item)) and ends[1] > last:
            why = f"--msgs {item}: the session has {last + 1} messages, valid is 0..{last}"
            problems.append(Problem(where=path, why=why))
    if choice.kinds:
        wanted = mask_of(*choice.kinds)
        yield from (index for index, mask in enumerate(mark(session)) if mask & wanted)


def _named(session: Session, item: str, last: int) -> Iterable[int]:
    ends = _range(item)
    if ends is None or item in session.positions:
        return (find_target(session, item, "--msgs"),)
    return range(ends[0], min(ends[1], last) + 1)


def _range(item: str) -> tuple[int, int] | None:
    """Both ends of a range of numbers; None for anything else."""
    found = re.fullmatch(rf"([0-9]{{1,{_DIGITS}}})\s*[-–]\s*([0-9]{{1,{_DIGITS}}})", item)
    return (int(found[1]), int(found[2])) if found else None
