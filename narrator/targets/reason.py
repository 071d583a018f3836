"""Why a message is worth an essay, in one sentence made of what was counted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from narrator.clock import span
from narrator.findings import Kind
from narrator.findings.calls import calls_of, errored_calls, failed_commands, name_of, stopped_calls
from narrator.sanitize import one_line
from narrator.session import Message, Session, Text
from narrator.targets.score import Survey, main_kind
from narrator.targets.telling import counted, numbers, tell
from narrator.targets.trouble import REACH, cuts, within_detour
from narrator.targets.turning import Point, Turning, correcting, near_turnings

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
    "tool-unfinished": "A tool call never ended",
    "command-failed": "A command failed",
    "user-nudge": "The user says no more than",
    "subagent": "Work was delegated to a subagent",
    "output-truncated": "The harness cut the output of a call",
    "output-pruned": "The output of a call was cleared later",
    "empty-output": "A call returned nothing",
    "repeated-call": "A call repeats one of the five before it",
    "gap": "Nothing is recorded for a long time after this message",
    "synthetic": "The harness put a text into this message",
    "model-switch": "Another model answers than before",
    "reverted": "This message was undone later",
}
"""What a message with such a finding is; `tool-aborted` is told by its call."""
_THERE: dict[Turning, str] = {
    "broke-in": "the user spoke before the turn was over",
    "user-turn": "the user's turn came",
    "retried": "a call worked whose command or file had failed before",
    "cut": "a compaction was asked for right after tool calls",
    "plan": "a todo list was written",
}
"""What stands near; the rest of `Turning` is told with words of its own."""


def give_reason(session: Session, found: Survey, index: int, wanted: int | None = None) -> str:
    """One sentence, at most `LONGEST` characters: what the message is, then what counts most, as far as it fits.

    Of its findings the rarest is told, with `wanted`, a mask, of those that were asked for.
    """
    near = near_turnings(found.turnings, index, len(found.sorts))
    own = {point.turning for point in near if point.place == index}
    mask, counts = found.columns.marks[index], found.counts
    kind = main_kind(mask, counts) if wanted is None else main_kind(mask, counts, wanted)
    said = _odd(found, session.message(index), kind) if kind else _ordinary(session, found, index, own)
    for clause in _clauses(found, index, near, kind):
        if len(said) + len(clause) + 3 <= LONGEST:
            said += f"; {clause}"
    return f"{said}."


def _odd(found: Survey, message: Message, kind: Kind) -> str:
    """What a message with a finding is, and what the record says of this one."""
    if kind == "tool-aborted":
        return _stopped(message)
    begun, ended = message.created, message.completed
    said = ""
    match kind:
        case "aborted" if begun is not None and ended is not None and ended >= begun:
            said = f", {span(ended - begun)} after this answer began"
        case "provider-error" if message.fault:
            said = f" ({one_line(message.fault.name, _QUOTED)})"
        case "compaction-request" if cuts(found.columns, message.index):
            said = " right after tool calls"
        case "command-failed":
            said = next((f" with exit code {call.exit}" for call in failed_commands(message)), "")
        case "tool-error":
            said = next((f" ({name_of(call)})" for call in errored_calls(message)), "")
        case "subagent":
            failed = any(call.status == "error" and (call.child or call.name == "task") for call in calls_of(message))
            said = ", and the call failed" if failed else ""
        case "user-nudge":
            said = f" {_quoted(found.columns.words.get(message.index, ''))}"
        case _:
            pass
    return _HEADS[kind] + said


def _stopped(message: Message) -> str:
    """A call that was stopped, in the record's own words."""
    call = stopped_calls(message)[0]
    words = one_line(call.interrupted or "", _QUOTED)
    return (
        f"A call ({name_of(call)}) {'ran into its time limit' if 'timeout' in words else 'was interrupted'} (“{words}”)"
    )


def _quoted(words: str) -> str:
    return f"“{one_line(words, _QUOTED)}”" if words else "nothing typed"


def _ordinary(session: Session, found: Survey, index: int, own: Collection[Turning]) -> str:
    """What a message without a finding to tell is."""
    message, columns = session.message(index), found.columns
    if index in columns.words:
        head = "The user spoke before the turn was over" if "broke-in" in own else "The user's turn"
        return f"{head}: {_quoted(columns.words[index])}"
    if "first-success" in own:
        return f"The first command or edit that worked after the last of {_overcome(found, index)}"
    if "retried" in own:
        run = found.trouble.repeats[index]
        return f"A call worked whose command or file had failed before ({numbers(run[:-1])})"
    if columns.kinds[index] == "synthetic":
        return "A message put in by the harness"
    said = next((block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()), "")
    what = "An answer that writes a todo list" if "plan" in own else "An answer"
    return f"{what}: {_quoted(said)}" if said else f"{what} with {counted(len(calls_of(message)), 'tool call')}"


def _overcome(found: Survey, index: int) -> str:
    """What went wrong in the detour that a message is in."""
    detours = found.trouble.detours
    place = bisect_right(detours, index, key=lambda detour: detour.begin) - 1
    return tell(found, within_detour(found.trouble, *detours[place][:2]))


def _set_off(found: Survey, index: int) -> str:
    """What the setback that it is was the first of."""
    run = found.trouble.repeats.get(index, ())
    if run and run[0] == index:
        return (
            f"the first of {counted(len(run) - 1, 'message')} in which one command or file failed ({numbers(run[:-1])})"
        )
    return f"the first of {_overcome(found, index)}"


def _clauses(found: Survey, index: int, near: Sequence[Point], kind: Kind | None) -> Iterator[str]:
    """What made the score, the greatest part first; the rarity only multiplies it."""
    parts = found.parts_of(index)
    own = {point.turning for point in near if point.place == index}
    told = [
        (parts.cost, _detour(found, index)),
        (parts.trouble, "" if kind is None and "first-success" in own else _before(found, index)),
        (parts.turning, _beside(found, index, near[:2])),
    ]
    told = [*sorted(told, key=lambda entry: -entry[0]), (parts.rarity, _rare(found, kind))]
    yield from (clause for part, clause in told if part and clause)


def _detour(found: Survey, index: int) -> str:
    trouble, busy = found.trouble, found.columns.busy
    place = bisect_right(trouble.detours, index, key=lambda detour: detour.begin) - 1
    begin, end, count = trouble.detours[place] if place >= 0 else (0, 0, 0)
    run = trouble.repeats.get(index, ())
    if len(run) - 1 > (count if index < end else 0):
        spent = _spent(busy[run[-1] + 1] - busy[run[0]])
        return f"its command or file failed in {numbers(run[:-1])} and worked in message {run[-1]}{spent}"
    if index >= end or end - begin == 1:
        return ""
    told = tell(found, within_detour(trouble, begin, end))
    return f"in a detour from message {begin} to {end - 1}{_spent(busy[end] - busy[begin])}, with {told}"


def _spent(busy: int) -> str:
    return f", {span(busy)} of work" if busy else ""


def _before(found: Survey, index: int) -> str:
    setbacks = within_detour(found.trouble, index - REACH, index)
    return f"{tell(found, setbacks)} in the {REACH} messages before" if setbacks else ""


def _beside(found: Survey, index: int, near: Sequence[Point]) -> str:
    if any(point.place == index and point.turning == "set-off" for point in near):
        return _set_off(found, index)
    point = next((point for point in near if point.place != index), None)  # what it is itself has been said
    if point is None:
        return ""
    where = point.place - index
    if point.turning == "after-setback" and where == 1:
        return f"the user's turn came next (message {point.place})"
    side = f"{counted(abs(where), 'message')} {'later' if where > 0 else 'earlier'} (message {point.place})"
    return f"{_there(found, point)} {side}"


def _there(found: Survey, point: Point) -> str:
    """What a turning point is, to be followed by where it is."""
    match point.turning:
        case "after-setback":
            return f"the user's turn came after the setback of message {point.place - 1},"
        case "corrected":
            return f"the user wrote “{one_line(correcting(found.columns.words[point.place]), _QUOTED)}”"
        case "first-success":
            return f"a command or edit worked after the last of {_overcome(found, point.place)},"
        case "set-off":
            return f"{_set_off(found, point.place)} came"
        case turning:
            return _THERE[turning]


def _rare(found: Survey, kind: Kind | None) -> str:
    count = found.counts[kind] if kind else 0
    if count == 1:
        return f"the only message of {len(found.sorts):,} with {kind}"
    return f"one of {count:,} with {kind}" if count else ""
