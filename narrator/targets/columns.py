"""What the score reads of a session: a few columns, and no message decoded but the user's turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from narrator.findings import mark, typed_text
from narrator.session import Session
from narrator.skims import FAILED, KINDS, LIST, NONE, OK, TurnKind


class Use(NamedTuple):
    """A call that ran a command or touched a file, and ended."""

    message: int
    subject: int
    """The number of the command or the path: equal for the same one."""
    worked: bool


class Columns(NamedTuple):
    """A session as columns; all but `lists`, `uses` and `words` have an entry a message."""

    kinds: Sequence[TurnKind]
    parents: Sequence[int]
    """Index of the user message it answers, -1 for none."""
    busy: Sequence[int]
    """Milliseconds that answers took before message k, for k from 0 to all: idle time counts for nothing."""
    marks: Sequence[int]
    """The kinds of its findings, as `findings.mask_of` has them."""
    called: bytearray
    """1 where it holds a tool call; so are `failed`, where one failed, and `worked`, where none did and one worked."""
    failed: bytearray
    worked: bytearray
    lists: Sequence[int]
    """Messages that write a list of things to do, in order."""
    uses: Sequence[Use]
    """In order."""
    words: Mapping[int, str]
    """Index of a user's turn → what was typed, in order."""


def take_columns(session: Session) -> Columns:
    """The columns of a session."""
    skims, calls = session.skims, session.calls
    answer = KINDS.index("answer")
    took = (
        end - begin if kind == answer and end > begin != NONE else 0
        for kind, begin, end in zip(skims.kinds, skims.created, skims.completed, strict=True)
    )
    called, failed, worked = (bytearray(len(skims)) for _ in range(3))
    uses = []
    for message, subject, outcome in zip(calls.messages, calls.subjects, calls.outcomes, strict=True):
        called[message] = 1
        if outcome == FAILED:
            failed[message] = 1
        elif outcome == OK:
            worked[message] = 1
        if subject and outcome in (OK, FAILED):
            uses.append(Use(message, subject, outcome == OK))
    for message in (message for message, flag in enumerate(failed) if flag):
        worked[message] = 0
    return Columns(
        kinds=[KINDS[code] for code in skims.kinds],
        parents=skims.parents,
        busy=list(accumulate(took, initial=0)),
        marks=mark(session),
        called=called,
        failed=failed,
        worked=worked,
        lists=sorted({calls.message_of(number) for number, steps in enumerate(calls.steps) if steps & LIST}),
        uses=uses,
        words=_words(session),
    )


def _words(session: Session) -> dict[int, str]:
    """What was typed; the last turn first, since `mark` has looked at them in order and the last are still at hand."""
    places = session.skims.places("typed")
    texts = [typed_text(session.message(index)) for index in reversed(places)]
    return dict(zip(places, reversed(texts), strict=True))
