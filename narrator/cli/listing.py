"""The messages of a session as a list: which of them, and the lines for a pipe and for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from narrator.clock import iso
from narrator.errors import UsageError
from narrator.findings import KINDS, Kind, mark, marked
from narrator.gist import GIST, Gist, take_gist
from narrator.skims import KINDS as TURN_KINDS
from narrator.skims import ROLES, Role

if TYPE_CHECKING:
    from narrator.session import Session

GRAVE: frozenset[Kind] = frozenset(
    [
        *("empty-completion", "aborted", "provider-error", "cut-off", "unfinished"),
        *("invalid-tool-call", "tool-error", "tool-aborted", "tool-unfinished", "command-failed"),
    ]
)
"""Kinds of finding that say that something went wrong."""
QUIET: frozenset[Kind] = frozenset(["compaction-request", "compaction-summary", "synthetic", "output-pruned"])
"""Kinds that are the harness's daily work, or that the gist names already."""


class Row(Struct, frozen=True):
    """One message of the list."""

    index: int
    id: str
    role: Role
    created: int | None
    """Milliseconds since 1970."""
    gist: Gist
    kinds: tuple[Kind, ...]
    """Of its findings, in the order of the closed list."""

    @property
    def marks(self) -> list[Kind]:
        """Its kinds for people: what went wrong first, what is daily work last."""
        return sorted(self.kinds, key=lambda kind: (kind not in GRAVE, kind in QUIET))


def parse_only(words: str) -> frozenset[str]:
    """Roles, kinds of turn and kinds of finding, as `--only` names them, separated by commas.

    Raises:
        UsageError: one of them is none; says which there are.
    """
    valid = dict.fromkeys((*ROLES, *TURN_KINDS, *KINDS))
    wanted = [word.strip() for word in words.split(",")]
    for word in wanted:
        if word not in valid:
            raise UsageError(f"--only {words}: {word!r} is none of {', '.join(valid)}")
    return frozenset(wanted)


def choose_rows(session: Session, within: range, only: frozenset[str] | None) -> Iterator[Row]:
    """The messages of the range, in order; of these, where `only` is given, those that one of its words is true of."""
    masks, kinds_of = mark(session), cache(marked)
    for index in within:
        skim, kinds = session.skims[index], kinds_of(masks[index])
        if only is None or not only.isdisjoint((skim.role, skim.kind, *kinds)):
            gist = take_gist(session.peek(index), kinds, session.about.directory)
            yield Row(index, skim.id, skim.role, skim.created, gist, kinds)


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """A JSON list, an element a line."""
    before = "["
    for row in rows:
        if before != "[":
            before += ","
        yield before
        before = " " + json.dumps(_as_json(row), ensure_ascii=False)
    yield from ("[]",) if before == "[" else (before, "]")


def _as_json(row: Row) -> dict[str, object]:
    return {
        "index": row.index,
        "id": row.id,
        "role": row.role,
        "time": iso(row.created),
        "gist": row.gist.within(GIST),
        "findings": row.kinds,
    }


def plain_lines(rows: Iterable[Row], last: int, target: int | None) -> Iterator[str]:
    """A whole line a message, without colours and whatever its width: for a pipe or a file.

    Args:
        rows: What is listed.
        last: The session's last index, which the column of numbers is as wide as.
        target: The message that `>` points at; None: no column for it.
    """
    for row in rows:
        clock = (iso(row.created) or "no time").replace("T", " ").rstrip("Z")
        marks = f"  [{', '.join(row.marks)}]" if row.kinds else ""
        yield f"{place(row.index, last, target)}  {clock:<19}  {row.role:<9}  {row.gist.within(GIST)}{marks}"


def place(index: int, last: int, target: int | None) -> str:
    """The number of a message, after the column in which the target is pointed at."""
    pointer = "" if target is None else "> " if index == target else "  "
    return f"{pointer}{index:>{len(str(last))}}"
