"""What the score reads of a session: a few columns, and no message decoded but the user's turns."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, get_args

from narrator.findings import Kind, diagnose, typed_text
from narrator.session import Message, Session, ToolCall

KINDS: tuple[Kind, ...] = get_args(Kind)
BIT: dict[Kind, int] = {kind: 1 << place for place, kind in enumerate(KINDS)}
"""Kind of finding → its bit in `Columns.marks`."""


def bits(*kinds: Kind) -> int:
    """The mask of several kinds."""
    return sum(BIT[kind] for kind in kinds)


class Use(NamedTuple):
    """A call that ran a command or touched a file."""

    message: int
    subject: int
    """A checksum of the command or the path: equal for the same one."""
    worked: bool
    """It completed, a command with exit code 0 or none; False: it failed."""


class Columns(NamedTuple):
    """A session as columns; all but `words`, `lists` and `uses` have an entry a message."""

    kinds: Sequence[str]
    """`Skim.kind`."""
    parents: Sequence[int]
    """Index of the user message it answers, -1 for none."""
    busy: Sequence[int]
    """Milliseconds that answers took before message k, for k from 0 to all: idle time counts for nothing."""
    marks: Sequence[int]
    """The kinds of its findings, as `BIT` has them."""
    called: bytearray
    """1 where it holds a tool call; so are `failed`, where one failed, and `worked`, where all that ended did not."""
    failed: bytearray
    worked: bytearray
    lists: Sequence[int]
    """Messages that write a todo list, in order."""
    uses: Sequence[Use]
    """In order; calls that did not end are left out."""
    words: Mapping[int, str]
    """Index of a user's turn → what was typed, in order."""


def take_columns(session: Session) -> Columns:
    """The columns of a session."""
    skims = session.skims
    messages = [session.message(index) for index in range(len(session))]
    took = (
        max(0, (skim.completed or 0) - (skim.created or 0)) if skim.kind == "answer" and skim.completed else 0
        for skim in skims
    )
    uses = list(_uses(messages))
    failed, worked = (bytearray(len(session)) for _ in range(2))
    for message, _, well in uses:
        (worked if well else failed)[message] = 1
    return Columns(
        kinds=[skim.kind for skim in skims],
        parents=[session.positions.get(skim.parent or "", -1) for skim in skims],
        busy=list(accumulate(took, initial=0)),
        marks=[bits(*(finding.kind for finding in diagnose(session, index))) for index in range(len(session))],
        called=bytearray(bool(skim.calls) for skim in skims),
        failed=failed,
        worked=bytearray(good and not bad for good, bad in zip(worked, failed, strict=True)),
        lists=[message.index for message in messages if any(c.name == "todowrite" for c in _calls(message))],
        uses=[use for use in uses if use.subject],
        words={skim.index: typed_text(messages[skim.index]) for skim in skims if skim.kind == "typed"},
    )


def _calls(message: Message) -> Iterator[ToolCall]:
    return (block for block in message.blocks if isinstance(block, ToolCall))


def _uses(messages: Sequence[Message]) -> Iterator[Use]:
    for message in messages:
        for call in _calls(message):
            if call.status not in ("completed", "error") or call.interrupted:
                continue
            given = call.input if isinstance(call.input, dict) else {}
            subject = given.get("command") or given.get("filePath")
            checksum = zlib.crc32(subject.encode()) if isinstance(subject, str) else 0
            yield Use(message.index, checksum, worked=call.status == "completed" and not call.exit)
