"""What the score reads of a session: a few columns, and no message decoded but the user's turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from narrator.findings import mark, typed_text
from narrator.findings.calls import calls_of
from narrator.session import Session, ToolCall
from narrator.skims import FAILED, KINDS, LIST, NONE, OK, TurnKind

_GOES_ON = (None, "tool-calls", "tool_calls", "tool_use")
"""Ends of an answer with calls after which the model is to be asked again."""
_EDITS = frozenset({"edit", "multiedit", "write", "patch", "apply_patch"})
"""Tools that change a file."""


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
    created: Sequence[int]
    """Milliseconds since 1970, `NONE` where not recorded; so is `completed`."""
    completed: Sequence[int]
    busy: Sequence[int]
    """Milliseconds that answers took before message k, for k from 0 to all: idle time counts for nothing."""
    marks: Sequence[int]
    """The kinds of its findings, as `findings.mask_of` has them; none for those of `hollow`."""
    hollow: frozenset[int]
    """Entries that are no messages: without a time, a model, a parent, an end, or anything in them."""
    called: bytearray
    """1 where it holds a tool call; so are `failed`, where one failed, and `worked`, where none did and one worked."""
    failed: bytearray
    worked: bytearray
    goes_on: bytearray
    """1 where it holds a call, and its recorded end, or that there is none, says that the model was to go on."""
    lists: Sequence[int]
    """Messages that write a list of things to do, in order."""
    uses: Sequence[Use]
    """In order."""
    words: Mapping[int, str]
    """Index of a user's turn → what was typed, in order."""
    acts: Callable[[int], bool]
    """Whether a command or an edit worked in a message, which is decoded for it."""


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
    going = {code for code, word in enumerate(skims.words) if word in _GOES_ON}
    hollow, marks = _hollow(session), mark(session)
    for message in hollow:
        marks[message] = 0
    return Columns(
        kinds=[KINDS[code] for code in skims.kinds],
        parents=skims.parents,
        created=skims.created,
        completed=skims.completed,
        busy=list(accumulate(took, initial=0)),
        marks=marks,
        hollow=hollow,
        called=called,
        failed=failed,
        worked=worked,
        goes_on=bytearray(held and end in going for held, end in zip(called, skims.finishes, strict=True)),
        lists=sorted({calls.message_of(number) for number in _lists(session)}),
        uses=uses,
        words=_words(session),
        acts=lambda index: any(map(_acts, calls_of(session.message(index)))),
    )


def _hollow(session: Session) -> frozenset[int]:
    skims, answer = session.skims, KINDS.index("answer")
    return frozenset(
        index
        for index, (traits, begun, finish) in enumerate(zip(session.traits, skims.created, skims.finishes, strict=True))
        if begun == NONE
        and not (traits or finish or skims.models[index])
        and skims.kinds[index] == answer
        and skims.completed[index] == NONE
        and skims.parents[index] < 0
    )


def _lists(session: Session) -> list[int]:
    """Calls that wrote a list of things to do."""
    calls = session.calls
    return [number for number, steps in enumerate(calls.steps) if steps & LIST and calls.outcomes[number] == OK]


def _acts(call: ToolCall) -> bool:
    command = isinstance(call.input, dict) and isinstance(call.input.get("command"), str)
    return call.status == "completed" and not call.exit and not call.interrupted and (command or call.name in _EDITS)


def _words(session: Session) -> dict[int, str]:
    """What was typed; the last turn first, since `mark` has looked at them in order and the last are still at hand."""
    places = session.skims.places("typed")
    texts = [typed_text(session.message(index)) for index in reversed(places)]
    return dict(zip(places, reversed(texts), strict=True))
