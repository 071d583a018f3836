"""The recorded text of a message in stretches, each under a label that says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from narrator.record import Record
from narrator.sanitize import one_line
from narrator.session import File, Marker, Message, Reasoning, Session, Text, ToolCall

Fate: TypeAlias = Literal["ran", "stopped", "interrupted", "refused", "unfinished"]
"""`stopped`: while it was being written, so it never ran; `refused`: by the harness, as invalid."""
PassageKind: TypeAlias = Literal[
    "text", "synthetic", "reasoning", "input", "output", "error", "file", "mark", "left-out"
]

_NAME = 60
"""Characters of a recorded name in a label."""
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


def passages_of(message: Message, session: Session) -> tuple[Passage, ...]:
    """All of a message's recorded text, in order, nothing shortened."""
    return tuple(_passages(message, session))


def _passages(message: Message, session: Session) -> Iterator[Passage]:
    for block in message.blocks:
        match block:
            case Text():
                kind: PassageKind = "synthetic" if block.synthetic else "text"
                label = "text put in by the harness" if block.synthetic else "text"
                yield Passage(kind=kind, label=_or_empty(label, block.text), text=block.text, at=f"{block.at}.text")
            case Reasoning():
                label = _or_empty("reasoning", block.text)
                yield Passage(kind="reasoning", label=label, text=block.text, at=f"{block.at}.text")
            case ToolCall():
                yield from _call_passages(block, session)
            case File():
                size = f", {block.size:,} bytes" if block.size else ""
                label = f"attached file {_named(block.name)}, {_named(block.mime)}{size}"
                yield Passage(kind="file", label=label, text="", at="")
            case Marker():
                yield Passage(kind="mark", label=_named(block.text.strip("[]")), text="", at="")


def _or_empty(label: str, text: str) -> str:
    return label if text.strip() else f"{label}, empty"


def _named(name: str) -> str:
    """A recorded name as it may stand in a label: on one line, and without the bracket that ends the label."""
    return one_line(name, _NAME).replace("[", "(").replace("]", ")")


def _call_passages(call: ToolCall, session: Session) -> Iterator[Passage]:
    name, fate = _named(call.name), _fate(call)
    yield Passage(
        kind="input",
        label=f"{name} call" + ("" if fate == "ran" else f", {fate}"),
        text=_input_text(call.input),
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
        label, at = f"{name} {_outcome(call)}", session.native("output", call)
        lines = sum(map(bool, map(str.strip, call.output.split("\n"))))
        yield Passage(kind="output", label=label, text=call.output, at=at, tool=call.name, exit=call.exit, lines=lines)
    elif call.error is None and fate == "ran":
        yield Passage(kind="mark", label=f"{name} output, none recorded", text="", at="")


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
