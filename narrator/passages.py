"""The recorded text of a message in stretches, each under a label that says what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from narrator.changes import Change, facts_of, lines_round, tell_change
from narrator.clock import span
from narrator.record import Record
from narrator.sanitize import one_line
from narrator.session import File, Marker, Message, Reasoning, Session, Text, ToolCall

Fate: TypeAlias = Literal["ran", "stopped", "interrupted", "refused", "unfinished"]
"""`stopped`: while it was being written, so it never ran; `refused`: by the harness, as invalid."""
PassageKind: TypeAlias = Literal[
    "text", "synthetic", "reasoning", "input", "output", "error", "diff", "file", "mark", "left-out"
]

_LINE = re.compile(r"\S[^\n]*")
"""What a line that is not blank has from its first sign on."""
_NAME = 60
"""Characters of a recorded name in a label."""
_LATE, _SLOW, _APART = 6000, 2000, 1000
"""Milliseconds after the beginning of its message from which on it is said when a text began; that a call took, from
which on it is said how long it ran; and by which that must be less than what is said of its message."""
_MOST_CHANGES = 4
"""Files changed by one call of which each is told."""
_SUBJECTS = ("command", "filePath", "path", "pattern", "url", "query", "description")
"""Arguments that say most about a call, the most telling first."""


class Passage(Record):
    """A stretch of recorded text."""

    kind: PassageKind
    label: str
    """What it is, in the product's words: `bash output, exit 1`."""
    text: str
    at: str
    """Path of the recorded field, as `jq` would take it; "" for text that is not recorded as such."""
    omitted: int = 0
    """Characters left out of `text`, where a mark says so."""
    tool: str = ""
    """Name of the tool, for a call's input, output or error."""
    subject: tuple[str, str] = ("", "")
    """The argument that says most about a call, on its input: name and value, as recorded."""
    fate: Fate | None = None
    """How a call came out, on its input."""
    exit: int | None = None
    """Exit code of a command, on its output."""
    lines: int = 0
    """Lines of an output that are not blank, as recorded: shortening does not change it."""
    facts: tuple[str, ...] = ()
    """What is known of a change of a file, a phrase each: for a checker, not printed."""


def passages_of(message: Message, session: Session) -> tuple[Passage, ...]:
    """All of a message's recorded text, in order, nothing shortened."""
    return tuple(_passages(message, session))


def _passages(message: Message, session: Session) -> Iterator[Passage]:
    for block in message.blocks:
        match block:
            case Text():
                kind: PassageKind = "synthetic" if block.synthetic else "text"
                label = "text put in by the harness" if block.synthetic else f"text{_begun(block, message)}"
                yield Passage(kind=kind, label=_or_empty(label, block.text), text=block.text, at=f"{block.at}.text")
            case Reasoning():
                label = _or_empty("reasoning", block.text)
                yield Passage(kind="reasoning", label=label, text=block.text, at=f"{block.at}.text")
            case ToolCall():
                yield from _call_passages(block, message, session)
            case File():
                size = f", {block.size:,} bytes" if block.size else ""
                label = f"attached file {_named(block.name)}, {_named(block.mime)}{size}"
                yield Passage(kind="file", label=label, text="", at="")
            case Marker():
                yield Passage(kind="mark", label=_named(block.text.strip("[]")), text="", at="")


def _begun(text: Text, message: Message) -> str:
    """When a text began, where that is well after its message."""
    if message.role != "assistant" or text.started is None or message.created is None:
        return ""
    after = text.started - message.created
    return f", begun {span(after)} after the message" if after >= _LATE else ""


def _ran(call: ToolCall, message: Message) -> str:
    """How long a call ran, where that is long and not what is said of its message."""
    if call.started is None or call.ended is None or (ran := call.ended - call.started) < _SLOW:
        return ""
    whole = None if None in (message.created, message.completed) else (message.completed or 0) - (message.created or 0)
    return f", ran {span(ran)}" if whole is None or whole - ran >= _APART else ""


def _or_empty(label: str, text: str) -> str:
    return label if text.strip() else f"{label}, empty"


def _named(name: str) -> str:
    """A recorded name as it may stand in a label: on one line, and without the bracket that ends the label."""
    return one_line(name, _NAME).replace("[", "(").replace("]", ")")


def _call_passages(call: ToolCall, message: Message, session: Session) -> Iterator[Passage]:
    name, fate = _named(call.name), _fate(call)
    yield Passage(
        kind="input",
        label=f"{name} call" + ("" if fate == "ran" else f", {fate}") + _ran(call, message),
        text=(given := _input_text(call.input)),
        at=session.native("input", call),
        tool=call.name,
        subject=subject_of(call.input),
        fate=fate,
    )
    if call.error is not None:
        at = session.native("error", call)
        yield Passage(
            kind="error", label=_or_empty(f"{name} error", call.error), text=call.error, at=at, tool=call.name
        )
    if call.output is not None and _repeats_input(call):
        label = f"{name} output, the same as an argument of the call"
        yield Passage(kind="mark", label=label, text="", at="")
    elif call.output is not None:
        yield Passage(
            kind="output",
            label=f"{name} {_outcome(call)}",
            text=call.output,
            at=session.native("output", call),
            tool=call.name,
            exit=call.exit,
            lines=sum(1 for _ in _LINE.finditer(call.output)),
            facts=tuple(fact for change in _told_of_output(call) for fact in facts_of(change)),
        )
    elif call.error is None and fate == "ran":
        yield Passage(kind="mark", label=f"{name} output, none recorded", text="", at="")
    yield from _change_passages(call, given)


def _change_passages(call: ToolCall, given: str) -> Iterator[Passage]:
    """What a call changed in files, and the lines round that which the call itself does not show."""
    name, told = _named(call.name), _told_of_output(call)
    for change in call.changes[:_MOST_CHANGES]:
        of = f" of {_named(change.file)}" if len(call.changes) > 1 else ""
        what = "" if change in told else tell_change(change)
        facts = () if change in told else tuple(facts_of(change))
        text = lines_round(change, given)
        if what or text:
            label = ", ".join(filter(None, [f"{name} diff{of}", what, "lines round it" if text else ""]))
            yield Passage(kind="diff", label=label, text=text, at=change.at, tool=call.name, facts=facts)
    if (more := len(call.changes) - _MOST_CHANGES) > 0:
        yield Passage(kind="mark", label=f"{name} diff, of {more} more files", text="", at="")


def _told_of_output(call: ToolCall) -> tuple[Change, ...]:
    """The only change of a call, which the label of its output tells, where it has one."""
    return call.changes if len(call.changes) == 1 and call.output is not None and not _repeats_input(call) else ()


def _fate(call: ToolCall) -> Fate:
    if call.interrupted:
        return "interrupted" if call.input or call.status != "error" else "stopped"
    if call.invalid:
        return "refused"
    return "ran" if call.status in ("completed", "error") else "unfinished"


def _outcome(call: ToolCall) -> str:
    notes = [
        f"exit {call.exit}" if call.exit is not None else "",
        "interrupted" if call.interrupted else "",
        "cut by the harness" if call.truncated else "",
        "cleared later from what the model saw" if call.pruned is not None else "",
        *map(tell_change, _told_of_output(call)),
    ]
    return ", ".join([_or_empty("output", call.output or ""), *filter(None, notes)])


def _repeats_input(call: ToolCall) -> bool:
    """Whether the output is an argument given back as JSON, as `todowrite` does with its whole list."""
    given = [value for value in call.input.values() if isinstance(value, list)] if isinstance(call.input, dict) else []
    if not given or call.exit is not None or not (call.output or "").lstrip().startswith("["):
        return False
    try:
        returned = json.loads(call.output or "")
    except (ValueError, RecursionError):
        return False
    return any(_repeats(returned, value) for value in given)


def _repeats(returned: Any, given: Any) -> bool:  # noqa: ANN401  # recorded JSON
    """Whether nothing is returned that was not given; fields may be missing."""
    match returned, given:
        case dict(), dict():
            return all(name in given and _repeats(value, given[name]) for name, value in returned.items())
        case list(), list():
            return len(returned) == len(given) and all(map(_repeats, returned, given))
        case _:
            return bool(returned == given)


def _input_text(value: Any) -> str:  # noqa: ANN401  # recorded JSON
    """Arguments as lines `name: value`, a command of one line as it would be typed.

    The argument that says most comes first, unless it has several lines: then it comes last, so that nothing after it
    can be taken for a part of it.
    """
    match value:
        case dict():
            name, text = subject_of(value)
            first, last = ([], [name]) if "\n" in text else ([name], [])
            order = [*first, *(other for other in value if other != name), *last]
            lines = [_argument(str(key), value[key]) for key in order if value.get(key) is not None]
            return "\n".join(lines) if lines else "(no arguments)"
        case None:
            return "(no arguments recorded)"
        case _:
            return _scalar(value)


def subject_of(value: Any) -> tuple[str, str]:  # noqa: ANN401  # recorded JSON
    """The argument that says most about a call, of its arguments: name and value; empty when none of the known is."""
    arguments = value if isinstance(value, dict) else {}
    plain = ((name, arguments[name]) for name in _SUBJECTS if isinstance(arguments.get(name), str))
    return next(((name, text) for name, text in plain if text.strip()), ("", ""))


def _argument(name: str, value: Any) -> str:  # noqa: ANN401  # recorded JSON
    text = _scalar(value)
    if "\n" in text:
        return f"{name}:\n{text}"
    return text if name == "command" else f"{name}: {text}"


def _scalar(value: Any) -> str:  # noqa: ANN401  # recorded JSON
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
