"""The little that is known of every opencode message and call, without decoding what lies in its parts.

A block of messages is decoded at once into values that hold just what is asked of all of them; a message in it that no
released version writes is decoded by itself, and if need be whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import attrgetter

import msgspec
from msgspec import Raw

from narrator.formats.opencode.messages import ABORTED, SHELLS, joined, read_message
from narrator.formats.opencode.shapes import Info, Input, Line, Loose, Part, State, Todo
from narrator.session import Marker, Message, Text, ToolCall
from narrator.skims import COMMIT, FAILED, KINDS, LIST, LIST_DONE, OK, OPEN, ROLES, Columns, Role, Skim, TurnKind

_BLOCK: msgspec.json.Decoder[list[Line]] = msgspec.json.Decoder(list[Line])
_RAWS: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])
_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_LOOSE: msgspec.json.Decoder[Loose] = msgspec.json.Decoder(Loose)
_PART: msgspec.json.Decoder[Part] = msgspec.json.Decoder(Part)
_TODOS: msgspec.json.Decoder[list[Todo]] = msgspec.json.Decoder(list[Todo])
_LISTS = "todowrite"
_COMMITS = b"git commit"
_NO_STATE = State()
_NOTHING = (b"", b"null", b'""')
_ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
_KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}
_ASSISTANT = _ROLE_CODES["assistant"]
_ANSWER = _KIND_CODES["answer"]
_TOOL = attrgetter("tool")
_ID, _PARENT, _FINISH = attrgetter("id"), attrgetter("parentID"), attrgetter("finish")
_MODEL, _CREATED, _COMPLETED = (
    attrgetter("providerID", "modelID"),
    attrgetter("time.created"),
    attrgetter("time.completed"),
)
_ABORTED = b'"%s"' % ABORTED.encode()


def take_block(block: memoryview, columns: Columns) -> int:
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
        columns.add(_skim_whole(message), message.parent, _calls_whole(message, raw, columns))
    else:
        _extend([line], columns)


def _extend(lines: Sequence[Line], columns: Columns) -> None:
    """Append lines, a column at a time: one step for each of ten thousand messages costs as much as reading them."""
    infos = [line.info for line in lines]
    begin = len(columns.kinds)
    ids = list(map(_ID, infos))
    columns.ids += [id_ or f"message-{place}" for place, id_ in enumerate(ids, begin)] if "" in ids else ids
    columns.parents += map(_PARENT, infos)
    columns.created.extend(map(_CREATED, infos))
    columns.completed.extend(map(_COMPLETED, infos))
    columns.sent.extend([(t := info.tokens).input + t.cache.read + t.cache.write for info in infos])
    models = list(map(_MODEL, infos))
    same = array("i", [columns.models_of[models[0]]]) * len(infos) if len(set(models)) == 1 else None
    columns.models.extend(same or map(columns.models_of.__getitem__, models))
    columns.finishes.extend(map(columns.words.__getitem__, map(_FINISH, infos)))
    columns.kinds += bytes([_ANSWER]) * len(infos)
    columns.roles += bytes([_ASSISTANT]) * len(infos)
    columns.said.extend([0] * len(infos))
    columns.sayings.extend([0] * len(infos))
    for place, info in enumerate(infos, begin):
        if not info.finish or info.role != "assistant" or info.error is not None or info.summary is not None:
            _correct(place, lines[place - begin], columns)
    _extend_calls(lines, columns)


def _correct(place: int, line: Line, columns: Columns) -> None:
    """What holds for a message that is no answer with a normal end: all of its columns that depend on that."""
    info = line.info
    columns.roles[place] = _ROLE_CODES[info.role]
    columns.finishes[place] = columns.words[_end(line)]
    columns.kinds[place] = _KIND_CODES[_kind(info.role, info.summary is True, [p.type for p in line.parts], line.parts)]
    if info.role != "assistant":
        typed = [bytes(part.text) for part in line.parts if part.is_text and part.synthetic is not True]
        columns.said[place] = sum(len(text) - len(b'""') for text in typed)
        columns.sayings[place] = columns.saying_of[b",".join(typed)]
    if (own := info.model) and own.providerID and own.modelID:
        columns.models[place] = columns.words[joined(own.providerID, own.modelID)]


def _extend_calls(lines: Sequence[Line], columns: Columns) -> None:
    calls: list[Part] = []
    for line in lines:
        of_line = [part for part in line.parts if part.type == "tool"]
        columns.calls.append(len(of_line))
        calls += of_line
    states = [call.state or _NO_STATE for call in calls]
    tools = list(map(_TOOL, calls))
    stored = [
        ((tool in SHELLS and bytes(given.command)) or _named(tool, given)) if (given := state.input) else b""
        for tool, state in zip(tools, states, strict=True)
    ]
    columns.subjects.extend(map(columns.subject_of.__getitem__, stored))
    columns.outcomes += bytes(
        [
            OK if (meta := state.metadata) and meta.exit == 0 and state.status == "completed" else _outcome(tool, state)
            for tool, state in zip(tools, states, strict=True)
        ]
    )
    commits = _COMMITS in b"".join(stored)
    columns.steps += bytes([COMMIT * (_COMMITS in subject) for subject in stored] if commits else len(stored))
    if _LISTS in tools:
        for place, tool in enumerate(tools):
            if tool == _LISTS:
                columns.steps[place - len(tools)] = _list(states[place])


def _named(tool: str | None, given: Input) -> bytes:
    """What a call that runs no shell command is about, so that it is never taken for one; b"" for nothing."""
    command, path = bytes(given.command), bytes(given.filePath)
    if command not in _NOTHING:
        return f"{tool} ".encode("utf-8", "replace") + command
    return b"file " + path if path not in _NOTHING else b""


def _outcome(tool: str | None, state: State) -> int:
    if state.status == "completed":
        exit_ = state.metadata.exit if state.metadata else 0
        if exit_ or tool == "invalid":
            return FAILED
        return OPEN if exit_ is None and tool in SHELLS else OK
    return FAILED if state.status == "error" and bytes(state.error) != _ABORTED else OPEN


def _list(state: State) -> int:
    return LIST | (LIST_DONE if state.input and _all_done(state.input.todos) else 0)


def _end(line: Line) -> str | None:
    error = line.info.error
    return (error.name or "error") if error else line.info.finish or _last_reason(line.parts)


def _last_reason(parts: Sequence[Part]) -> str | None:
    """Why the last step ended, as versions before 1.0 tell it and no other place does."""
    steps = [part.reason for part in parts if part.type == "step-finish"]
    return steps[-1] if steps else None


def _all_done(todos: Raw) -> bool:
    try:
        states = [todo.status for todo in _TODOS.decode(todos)]
    except msgspec.DecodeError:
        return False
    return bool(states) and all(state in ("completed", "cancelled") for state in states)


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


def _calls_whole(message: Message, raw: Raw, columns: Columns) -> list[tuple[int, int, int]]:
    """Its calls; one of a shape that no released version writes has no subject but a shell command."""
    try:
        parts = _LOOSE.decode(raw).parts
    except (msgspec.DecodeError, RecursionError):
        parts = []
    return [_call_whole(block, parts, columns) for block in message.blocks if isinstance(block, ToolCall)]


def _call_whole(call: ToolCall, parts: Sequence[Raw], columns: Columns) -> tuple[int, int, int]:
    try:
        part = _PART.decode(parts[int(call.at[len("parts[") : -1])])
    except (msgspec.DecodeError, RecursionError, IndexError):
        subject, ended = _command_whole(call, columns), call.exit == 0 or call.name not in SHELLS
        if call.status == "error" or call.exit or call.invalid:
            return subject, OPEN if call.interrupted else FAILED, 0
        return subject, OK if call.status == "completed" and ended else OPEN, 0
    alone = Columns()
    alone.subject_of = columns.subject_of
    _extend_calls([Line(info=Info(), parts=[part])], alone)
    return alone.subjects[0], alone.outcomes[0], alone.steps[0]


def _command_whole(call: ToolCall, columns: Columns) -> int:
    """The number of its shell command; 0 where it runs none."""
    given = call.input.get("command") if call.name in SHELLS and isinstance(call.input, dict) else None
    return columns.subject_of[msgspec.json.encode(given)] if isinstance(given, str) else 0


def _kind(role: Role, summary: bool, types: Sequence[str], parts: Sequence[Part | Text]) -> TurnKind:
    """What sort of turn it is; a text without text counts for nothing, here as in `read_message`."""
    if role == "assistant":
        return "compaction-summary" if summary else "answer"
    if "compaction" in types:
        return "compaction-request"
    made = [part.synthetic is True for part in parts if isinstance(part, Text) or part.is_text]
    return "synthetic" if made and all(made) else "typed"
