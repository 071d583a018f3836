"""Why a message is worth an essay, in one sentence made of what was counted."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence

from narrator.clock import span
from narrator.findings import Kind
from narrator.findings.calls import calls_of
from narrator.sanitize import one_line
from narrator.session import Message, Session, Text
from narrator.targets.score import STEPS_IN, Survey, main_kind
from narrator.targets.trouble import REACH, cuts
from narrator.targets.turning import Point, Turning, near_turnings

LONGEST = 200
"""Characters of a reason."""
_QUOTED = 60
_HEADS: dict[Kind, str] = {
    "empty-completion": "The model's answer is empty, although it ended normally",
    "reasoning-only": "The answer holds reasoning and nothing else",
    "aborted": "The turn was interrupted",
    "provider-error": "The model call ended in an error of the endpoint",
    "cut-off": "The answer was cut off",
    "unfinished": "No end of this message is recorded",
    "compaction-request": "A compaction was asked for",
    "compaction-summary": "The summary that a compaction asked for",
    "invalid-tool-call": "A tool call was refused as invalid",
    "tool-error": "A tool call failed",
    "tool-aborted": "A tool call was interrupted",
    "tool-unfinished": "A tool call never ended",
    "command-failed": "A command failed",
    "user-nudge": "The user says no more than",
    "subagent": "Work was delegated to a subagent",
}
"""What a message with such a finding is; every kind that is not minor."""
_THERE: dict[Turning, str] = {
    "broke-in": "the user spoke before the turn was over",
    "corrected": "the user spoke words of correction",
    "after-setback": "the user spoke after a setback",
    "user-turn": "the user spoke",
    "first-success": "a call worked after repeated setbacks",
    "retried": "a command worked that had failed before",
    "set-off": "a long detour began",
    "cut": "a compaction cut a running turn",
    "plan": "a todo list was written",
}


def give_reason(session: Session, found: Survey, index: int) -> str:
    """One sentence, at most `LONGEST` characters: what the message is, then what counts most, as far as it fits."""
    near = near_turnings(found.turnings, index, len(found.sorts))
    own = {point.turning for point in near if point.place == index}
    said = _head(session, found, index, own)
    for clause in _clauses(found, index, near):
        if len(said) + len(clause) + 3 <= LONGEST:
            said += f"; {clause}"
    return f"{said}."


def _head(session: Session, found: Survey, index: int, own: Collection[Turning]) -> str:
    message, columns = session.message(index), found.columns
    kind = main_kind(columns.marks[index], found.counts)
    typed = columns.words.get(index, "")
    words = f"“{one_line(typed, _QUOTED)}”" if typed else "nothing typed"
    if kind is not None:
        return _HEADS[kind] + _detail(found, message, kind, words)
    if index in columns.words:
        return f"The user spoke before the turn was over: {words}" if "broke-in" in own else f"The user's turn: {words}"
    if "first-success" in own or "retried" in own:
        return "The first call that worked after repeated setbacks"
    if columns.kinds[index] == "synthetic":
        return "A message put in by the harness"
    said = next((block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()), "")
    quoted = f": “{one_line(said, _QUOTED)}”" if said else f" with {_counted(len(calls_of(message)), 'tool call')}"
    return f"{'A plan' if 'plan' in own else 'An answer'}{quoted}"


def _detail(found: Survey, message: Message, kind: Kind, words: str) -> str:
    """What the record says of this one, to stand after the head."""
    begun, ended, calls = message.created, message.completed, calls_of(message)
    said = ""
    match kind:
        case "aborted" if begun is not None and ended is not None and ended >= begun:
            said = f" {span(ended - begun)} after it began"
        case "provider-error" if message.fault:
            said = f" ({one_line(message.fault.name, _QUOTED)})"
        case "compaction-request" if cuts(found.columns, message.index):
            said = " while a turn was running"
        case "command-failed":
            said = next((f" with exit code {call.exit}" for call in calls if call.exit), "")
        case "tool-error":
            said = next((f" ({one_line(call.name, _QUOTED)})" for call in calls if call.status == "error"), "")
        case "subagent" if found.columns.failed[message.index]:
            said = ", and the call failed"
        case "user-nudge":
            said = f" {words}"
        case _:
            pass
    return said


def _clauses(found: Survey, index: int, near: Sequence[Point]) -> Iterator[str]:
    """What made the score, the greatest part first; the rarity only multiplies it."""
    parts = found.parts_of(index)
    told = [
        (parts.cost, _detour(found, index)),
        (parts.trouble, _before(found, index)),
        (parts.turning, _beside(index, near[:2])),
    ]
    told = [*sorted(told, key=lambda entry: -entry[0]), (parts.rarity, _rare(found, index, near))]
    yield from (clause for part, clause in told if part and clause)


def _detour(found: Survey, index: int) -> str:
    detours, run = found.trouble.detours, found.trouble.repeats.get(index)
    place = bisect_right(detours, index, key=lambda detour: detour.begin) - 1
    begin, end, count = detours[place] if place >= 0 and index < detours[place].end else (index, index + 1, 0)
    if run and len(run) - 1 > count:
        begin, end, count = run[0], run[-1] + 1, len(run) - 1
    if end - begin == 1:
        return ""
    busy = found.columns.busy
    spent = f", {span(busy[end] - busy[begin])} of work" if busy[end] > busy[begin] else ""
    return f"in a detour from message {begin} to {end - 1}{spent}, with {_counted(count, 'setback')}"


def _before(found: Survey, index: int) -> str:
    setbacks = found.trouble.places
    last = bisect_left(setbacks, index)
    count = last - bisect_left(setbacks, index - REACH)
    where = f"(the last is message {setbacks[last - 1]})" if count else ""
    return where and f"{_counted(count, 'setback')} in the {REACH} messages before {where}"


def _beside(index: int, near: Sequence[Point]) -> str:
    if any(point.place == index and point.turning == "set-off" for point in near):
        return "the first of its detour"
    point = next((point for point in near if point.place != index), None)  # what it is itself has been said
    if point is None:
        return ""
    where = point.place - index
    side = "later" if where > 0 else "earlier"
    return f"{_THERE[point.turning]} {_counted(abs(where), 'message')} {side} (message {point.place})"


def _rare(found: Survey, index: int, near: Sequence[Point]) -> str:
    kind = main_kind(found.columns.marks[index], found.counts)
    turn = next((point.turning for point in near if point.place == index and point.turning in STEPS_IN), None)
    count = found.counts[kind] if kind else len(found.turnings[turn]) if turn else 0
    return (
        f"the only one of its kind in {len(found.sorts):,} messages" if count == 1 else f"one of {count:,} of its kind"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
