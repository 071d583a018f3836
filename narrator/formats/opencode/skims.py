"""The little that is known of every opencode message and call, without decoding what lies in its parts.

A block of messages is decoded at once into values that hold just what is asked of all of them; a message in it that no
released version writes is decoded by itself, and if need be whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta, Raw, Struct

from narrator.formats._lenient import SANE
from narrator.formats.opencode.messages import ABORTED, SHELLS, joined, read_message
from narrator.session import Marker, Message, Text, ToolCall
from narrator.skims import COMMIT, FAILED, KINDS, LIST, LIST_DONE, NONE, OK, OPEN, ROLES, Columns, Role, Skim, TurnKind

_Sane: TypeAlias = Annotated[int, Meta(gt=-SANE, lt=SANE)]
"""As `as_int` takes it; another number is none, and read the slow way."""
_ABSENT = Raw(b"")


# The wire's shapes are made by the ten thousand and hold no cycle, hence `gc=False`.
class _Time(Struct, frozen=True, gc=False):
    created: _Sane | None = None
    completed: _Sane | None = None


class _Model(Struct, frozen=True, gc=False):
    providerID: str | None = None  # noqa: N815  # opencode's name
    modelID: str | None = None  # noqa: N815


class _Cache(Struct, frozen=True, gc=False):
    read: _Sane = 0
    write: _Sane = 0


class _Tokens(Struct, frozen=True, gc=False):
    input: _Sane = 0
    cache: _Cache = _Cache()


class _Error(Struct, gc=False):
    name: str = ""


class _Info(Struct, gc=False):
    id: str = ""
    role: Role = "assistant"
    time: _Time = _Time()
    parentID: str | None = None  # noqa: N815
    providerID: str | None = None  # noqa: N815
    modelID: str | None = None  # noqa: N815
    model: _Model | None = None
    summary: bool | dict[str, Raw] | None = None
    finish: str | None = None
    error: _Error | None = None
    tokens: _Tokens | None = None


class _Input(Struct, gc=False):
    command: Raw = _ABSENT
    filePath: Raw = _ABSENT  # noqa: N815
    todos: Raw = _ABSENT


class _Meta(Struct, gc=False):
    exit: _Sane | None = None


class _State(Struct, gc=False):
    status: Raw = _ABSENT
    input: _Input | None = None
    error: Raw = _ABSENT
    metadata: _Meta | None = None


class _Part(Struct, gc=False):
    type: str
    text: Raw = _ABSENT
    synthetic: bool | None = None
    reason: str | None = None
    tool: str | None = None
    state: _State | None = None

    @property
    def is_text(self) -> bool:
        return self.type == "text" and bytes(self.text)[:1] == b'"'


class _Line(Struct, gc=False):
    info: _Info
    parts: list[_Part] = []


class _Loose(Struct, gc=False):
    parts: list[Raw] = []


class _Todo(Struct, gc=False):
    status: str = ""


_BLOCK: msgspec.json.Decoder[list[_Line]] = msgspec.json.Decoder(list[_Line])
_RAWS: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])
_LINE: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_LOOSE: msgspec.json.Decoder[_Loose] = msgspec.json.Decoder(_Loose)
_PART: msgspec.json.Decoder[_Part] = msgspec.json.Decoder(_Part)
_TODOS: msgspec.json.Decoder[list[_Todo]] = msgspec.json.Decoder(list[_Todo])
_ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
_KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}
_ANSWER = _KIND_CODES["answer"]
_COMPLETED, _ERROR = b'"completed"', b'"error"'
_ABORTED = b'"%s"' % ABORTED.encode()


def take_block(block: bytes, columns: Columns) -> int:
    """Append the messages of a block, a JSON list of them, and say how many they are.

    Raises:
        DecodeError: it is not a list as strict JSON writes it.
    """
    try:
        lines = _BLOCK.decode(block)
    except msgspec.ValidationError:
        raws = _RAWS.decode(block)
        for raw in raws:
            take_message(raw, columns)
        return len(raws)
    _extend(lines, columns)
    return len(lines)


def take_message(raw: Raw, columns: Columns) -> None:
    """Append one stored message; of a shape no released version writes, by decoding it whole."""
    try:
        line = _LINE.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        message = read_message(raw, len(columns.kinds))
        columns.add(_skim_whole(message), message.parent, list(_calls_whole(message, raw)))
    else:
        _extend([line], columns)


def _extend(lines: Sequence[_Line], columns: Columns) -> None:
    infos = [line.info for line in lines]
    times = [info.time for info in infos]
    word, begin = columns.word, len(columns.ids)
    columns.ids += [info.id or f"message-{begin + place}" for place, info in enumerate(infos)]
    columns.parents += [info.parentID for info in infos]
    columns.roles.extend([_ROLE_CODES[info.role] for info in infos])
    columns.created.extend([NONE if (at := time.created) is None else at for time in times])
    columns.completed.extend([NONE if (at := time.completed) is None else at for time in times])
    columns.sent.extend(
        [NONE if (t := info.tokens) is None else t.input + t.cache.read + t.cache.write for info in infos]
    )
    columns.models.extend([word(_model(info)) for info in infos])
    columns.finishes.extend([word(_end(line)) for line in lines])
    columns.kinds.extend([_ANSWER if line.info.role == "assistant" and line.info.summary is not True
                          else _KIND_CODES[_kind_of(line)] for line in lines])  # fmt: skip
    columns.said.extend([0 if line.info.role == "assistant" else _said(line.parts) for line in lines])
    for line in lines:
        calls = [_call(part.tool, part.state) for part in line.parts if part.type == "tool"]
        columns.calls.append(len(calls))
        for subject, outcome, step in calls:
            columns.subjects.append(subject)
            columns.outcomes.append(outcome)
            columns.steps.append(step)


def _kind_of(line: _Line) -> TurnKind:
    return _kind(line.info.role, line.info.summary is True, [part.type for part in line.parts], line.parts)


def _model(info: _Info) -> str | None:
    own = info.model
    return (own and joined(own.providerID, own.modelID)) or joined(info.providerID, info.modelID)


def _end(line: _Line) -> str | None:
    error = line.info.error
    return (error.name or "error") if error else line.info.finish or _last_reason(line.parts)


def _last_reason(parts: Sequence[_Part]) -> str | None:
    """Why the last step ended, as versions before 1.0 tell it and no other place does."""
    steps = [part.reason for part in parts if part.type == "step-finish"]
    return steps[-1] if steps else None


def _call(tool: str | None, state: _State | None) -> tuple[int, int, int]:
    """Subject, outcome and steps of a call."""
    if state is None:
        return 0, OPEN, 0
    subject = step = 0
    if given := state.input:
        command = bytes(given.command)
        subject = _checksum(command or bytes(given.filePath))
        if b"git commit" in command:
            step = COMMIT
        elif tool == "todowrite":
            step = LIST | (LIST_DONE if _all_done(given.todos) else 0)
    status = bytes(state.status)
    if status == _COMPLETED:
        exit_ = state.metadata.exit if state.metadata else None
        stopped = exit_ is None and state.metadata is not None and tool in SHELLS
        return subject, FAILED if exit_ or tool == "invalid" else OPEN if stopped else OK, step
    return subject, FAILED if status == _ERROR and bytes(state.error) != _ABORTED else OPEN, step


def _checksum(stored: bytes) -> int:
    """Of a string as stored; 0 for anything else."""
    return crc32(stored) or 1 if stored[:1] == b'"' and len(stored) > 2 else 0


def _all_done(todos: Raw) -> bool:
    try:
        states = [todo.status for todo in _TODOS.decode(todos)]
    except msgspec.DecodeError:
        return False
    return bool(states) and all(state in ("completed", "cancelled") for state in states)


def _said(parts: Sequence[_Part]) -> int:
    """Bytes of what was typed, without the quotes."""
    return sum(len(bytes(part.text)) - 2 for part in parts if part.is_text and part.synthetic is not True)


def _skim_whole(message: Message) -> Skim:
    """The slow way, for a message whose shape no released version writes."""
    types = [block.kind for block in message.blocks if isinstance(block, Marker)]
    texts = [block for block in message.blocks if isinstance(block, Text)]
    typed = sum(len(block.text.encode("utf-8", "replace")) for block in texts if not block.synthetic)
    return Skim(
        index=message.index,
        id=message.id,
        role=message.role,
        kind=_kind(message.role, message.summary, types, texts),
        created=message.created,
        completed=message.completed,
        model=message.model,
        finish=message.fault.name if message.fault else message.finish,
        sent=message.tokens.sent if message.tokens else None,
        said=0 if message.role == "assistant" else typed,
    )


def _calls_whole(message: Message, raw: Raw) -> Iterator[tuple[int, int, int]]:
    """Its calls; one of a shape that no released version writes has no subject."""
    try:
        parts = _LOOSE.decode(raw).parts
    except (msgspec.DecodeError, RecursionError):
        parts = []
    for call in message.blocks:
        if isinstance(call, ToolCall):
            try:
                part = _PART.decode(parts[int(call.at[len("parts[") : -1])])
            except (msgspec.DecodeError, RecursionError, IndexError):
                done = call.status == "completed" and not call.exit and not call.invalid
                yield 0, OK if done else OPEN if call.status != "error" else FAILED, 0
            else:
                yield _call(part.tool, part.state)


def _kind(role: Role, summary: bool, types: Sequence[str], parts: Sequence[_Part | Text]) -> TurnKind:
    """What sort of turn it is; a text without text counts for nothing, here as in `read_message`."""
    if role == "assistant":
        return "compaction-summary" if summary else "answer"
    if "compaction" in types:
        return "compaction-request"
    made = [part.synthetic is True for part in parts if isinstance(part, Text) or part.is_text]
    return "synthetic" if made and all(made) else "typed"
