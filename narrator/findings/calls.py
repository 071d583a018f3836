"""Rules about the tool calls in a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrator.findings.finding import MOST_EVIDENCE, NOTHING, WORDS, Evidence, Finding, Kind
from narrator.findings.seen import CLEARED, call_seen_next, cleared_for
from narrator.findings.series import SHELLS, failed_before
from narrator.sanitize import one_line
from narrator.session import Marker, Message, Session, ToolCall
from narrator.traits import NO_OUTPUT, delegates

_MOST_PROVED = MOST_EVIDENCE - 1
"""Calls whose own field is in the evidence, where their state stands beside it."""
_NAME, _MOST_NAMED = 60, 4
"""Characters of a recorded name, and names or codes listed, in a sentence; the full count is always said."""


def calls_of(message: Message) -> list[ToolCall]:
    """The tool calls of a message, in order."""
    return [block for block in message.blocks if isinstance(block, ToolCall)]


def _report(
    message: Message,
    session: Session,
    kind: Kind,
    says: str,
    fields: Sequence[tuple[ToolCall, str, str | int | bool | None]],
) -> Finding:
    evidence = tuple(
        Evidence(index=message.index, field=session.native(field, call), value=value) for call, field, value in fields
    )
    return Finding(index=message.index, kind=kind, says=says, evidence=evidence[:MOST_EVIDENCE])


def refused_calls(message: Message) -> list[ToolCall]:
    """Calls that could not be run: malformed, of an unknown tool, or with arguments that the schema refuses."""
    return [call for call in calls_of(message) if call.invalid and not call.interrupted]


def stopped_calls(message: Message) -> list[ToolCall]:
    """Calls that were interrupted before they ended."""
    return [call for call in calls_of(message) if call.interrupted]


def errored_calls(message: Message) -> list[ToolCall]:
    """Calls that ran, or were to run, and failed."""
    return [c for c in calls_of(message) if c.status == "error" and not c.invalid and not c.interrupted]


def failed_commands(message: Message) -> list[ToolCall]:
    """Completed calls of a command with a non-zero exit."""
    return [call for call in calls_of(message) if call.status == "completed" and call.exit]


def _names(calls: Sequence[ToolCall]) -> str:
    """`the bash call`, `3 calls (bash, read)`; opencode renames a call of an unknown tool and keeps its name."""
    names = list(dict.fromkeys(name_of(call) for call in calls))
    return f"the {names[0]} call" if len(calls) == 1 else f"{len(calls)} calls ({', '.join(names[:_MOST_NAMED])})"


def name_of(call: ToolCall) -> str:
    """The tool that was asked for, on one line."""
    return one_line(_asked_for(call), _NAME)


def _asked_for(call: ToolCall) -> str:
    asked = call.input.get("tool") if call.name == "invalid" and isinstance(call.input, dict) else None
    return asked if isinstance(asked, str) else call.name


def _subject(calls: Sequence[ToolCall]) -> str:
    """At the head of a sentence, in the singular: `The bash call`, `Each of 3 calls (bash, read)`."""
    return _names(calls).replace("the", "The", 1) if len(calls) == 1 else f"Each of {_names(calls)}"


def invalid_tool_call(message: Message, session: Session) -> Finding | None:
    """A call that could not be run: malformed, of an unknown tool, or with arguments its schema refuses."""
    calls = refused_calls(message)
    if not calls:
        return None
    reason = one_line(calls[0].error or _given_reason(calls[0]), WORDS)
    first = "" if len(calls) == 1 else "the first with "
    says = f"{_subject(calls)} was refused by the harness as invalid and never ran ({first}“{reason}”)."
    return _report(message, session, "invalid-tool-call", says, [refusal(call) for call in calls])


def refusal(call: ToolCall) -> tuple[ToolCall, str, str | int | bool | None]:
    """The field that shows that a call was refused."""
    return (call, "error", call.error) if call.error else (call, "name", call.name)


def _given_reason(call: ToolCall) -> str:
    given = call.input.get("error") if isinstance(call.input, dict) else None
    return given if isinstance(given, str) else call.output or "no reason recorded"


def tool_error(message: Message, session: Session) -> Finding | None:
    """A call ran and failed."""
    calls = errored_calls(message)
    if not calls:
        return None
    reason = one_line(calls[0].error or "no reason recorded", WORDS)
    first = "" if len(calls) == 1 else " the first with"
    says = f"{_subject(calls)} failed:{first} “{reason}”."
    fields = [*((call, "error", call.error) for call in calls[:_MOST_PROVED]), (calls[0], "status", "error")]
    return _report(message, session, "tool-error", says, fields)


def tool_aborted(message: Message, session: Session) -> Finding | None:
    """A call was interrupted before it ended."""
    calls = stopped_calls(message)
    if not calls:
        return None
    first = calls[0]
    what = "while it was being written, so it never ran" if unwritten(first) else "before it ended"
    says = f"{_subject(calls)} was interrupted (“{first.interrupted}”) {what}."
    return _report(message, session, "tool-aborted", says, [interruption(call) for call in calls])


def unwritten(call: ToolCall) -> bool:
    """Whether a call was stopped before its arguments were there."""
    return bool(call.interrupted) and call.status == "error" and not call.input


def interruption(call: ToolCall) -> tuple[ToolCall, str, str | int | bool | None]:
    """The field that shows that a call was interrupted."""
    words = call.interrupted or ""
    if words in (call.error or ""):
        return call, "error", call.error
    return (call, "output", words) if words in (call.output or "") else (call, "interrupted", True)


def tool_unfinished(message: Message, session: Session) -> Finding | None:
    """A call that never ended, as far as the record goes."""
    calls = [c for c in calls_of(message) if c.status in ("running", "pending", "unknown") and not c.interrupted]
    if not calls:
        return None
    states = ", ".join(dict.fromkeys("without a state" if c.status == "unknown" else f"“{c.status}”" for c in calls))
    says = f"{_subject(calls)} has no recorded end (state: {states}); no result of it is known."
    fields = [(call, "status", None if call.status == "unknown" else call.status) for call in calls]
    seen = call_seen_next(message, session) if any(c.status != "unknown" for c in calls) else NOTHING
    return _report(message, session, "tool-unfinished", says, fields).plus(seen)


def command_failed(message: Message, session: Session) -> Finding | None:
    """A shell command with a non-zero exit, although the call completed."""
    calls = failed_commands(message)
    if not calls:
        return None
    total = sum(call.name in SHELLS for call in calls_of(message))
    codes = ", ".join(str(call.exit) for call in calls[:_MOST_NAMED])
    codes += f" and {len(calls) - _MOST_NAMED} more" if len(calls) > _MOST_NAMED else ""
    if len(calls) == 1:
        says = f"The command ended with exit code {codes}, although the tool call itself is recorded as completed."
        if total > 1:
            says = f"One of {total} commands ended with exit code {codes}, although its tool call is marked completed."
    else:
        says = (
            f"{len(calls)} commands ended with exit codes {codes}, although their tool calls are recorded as completed."
        )
    fields = [*((call, "exit", call.exit) for call in calls[:_MOST_PROVED]), (calls[0], "status", "completed")]
    found = _report(message, session, "command-failed", says, fields)
    whose = "the same command" if len(calls) == 1 else "one of these commands"
    return found.plus(failed_before(calls[:_MOST_NAMED], message, session, whose))


def empty_output(message: Message, session: Session) -> Finding | None:
    """A completed call that returned nothing."""
    calls = [call for call in calls_of(message) if call.status == "completed" and _is_empty(call)]
    if not calls:
        return None
    says = f"{_subject(calls)} completed and returned no output."
    fields = [*((call, "output", call.output) for call in calls[:_MOST_PROVED]), (calls[0], "status", "completed")]
    return _report(message, session, "empty-output", says, fields)


def _is_empty(call: ToolCall) -> bool:
    return call.output is not None and call.output.strip() in NO_OUTPUT


def output_truncated(message: Message, session: Session) -> Finding | None:
    """The harness cut an output before the model saw it."""
    calls = [call for call in calls_of(message) if call.truncated]
    says = f"The harness cut the output of {_names(calls)} for its size; the model saw a part of it." if calls else ""
    fields = [(call, "truncated", True) for call in calls]
    return _report(message, session, "output-truncated", says, fields) if calls else None


def output_pruned(message: Message, session: Session) -> Finding | None:
    """The harness removed an output from what the model saw later."""
    calls = [call for call in calls_of(message) if call.pruned is not None]
    if not calls:
        return None
    says = f"The output of {_names(calls)} was cleared later from what the model is shown"
    if cleared_for(session, message.index, min(call.pruned or 0 for call in calls)):
        says += f": from then on opencode puts “{CLEARED}” in its place"
    return _report(message, session, "output-pruned", f"{says}.", [(call, "pruned", call.pruned) for call in calls])


def subagent(message: Message, session: Session) -> Finding | None:
    """Work delegated to another session."""
    calls = [call for call in calls_of(message) if call.child is not None or delegates(call)]
    tasks = [block for block in message.blocks if isinstance(block, Marker) and block.kind == "subtask"]
    if not calls and not tasks:
        return None
    children = list(dict.fromkeys(call.child for call in calls if call.child))
    inside = sum(child in session.about.delegated for child in children)
    where = "is in the file, outside the numbering" if inside else "is not in this file"
    named = f" ({', '.join(one_line(child, _NAME) for child in children[:_MOST_NAMED])})" if children else ""
    says = f"Work was delegated to another session{named}, whose record {where}."
    if len(children) > 1:
        says = f"Work was delegated to {len(children)} other sessions{named}; the records of {inside} are in the file."
    fields = [(call, "child", call.child) for call in calls]
    marks = tuple(Evidence(index=message.index, field=f"{task.at}.type", value="subtask") for task in tasks)
    found = _report(message, session, "subagent", says, fields)
    return found.model_copy(update={"evidence": (found.evidence + marks)[:MOST_EVIDENCE]})


CALL_RULES: tuple[Callable[[Message, Session], Finding | None], ...] = (
    invalid_tool_call,
    tool_error,
    tool_aborted,
    tool_unfinished,
    command_failed,
    empty_output,
    output_truncated,
    output_pruned,
    subagent,
)
