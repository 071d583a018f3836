"""The traits of every opencode message, from a pass over the recording that builds no message.

As `narrator.traits.traits_of` takes them from a message that was read whole (a test compares the two); where a stored
value is short enough to be nothing, or of a shape that no released version writes, it is decoded and looked at.
"""

from __future__ import annotations

import json
from array import array
from collections import deque
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from narrator.formats._lenient import SANE, decode
from narrator.formats.opencode.messages import ABORTED, interruption, output_text, read_message
from narrator.sanitize import plain
from narrator.session import Fault
from narrator.traits import LENGTHS, NO_OUTPUT, RECENT_CALLS, Trait, fault_trait, traits_of

_Sane: TypeAlias = Annotated[int, Meta(gt=-SANE, lt=SANE)]
_ABSENT = Raw(b"")
_SHORT = 64
"""Bytes of a stored text that is decoded to see whether it holds anything."""
_WHITE = b'" \\nrt\t\n\r'
"""What a stored string of white space consists of."""
_EMPTY = frozenset({b"", b"{}", b"null", b'""', b"[]", b"0", b"false"})


class _Error(Struct, gc=False):
    name: str = ""


class _Tokens(Struct, gc=False):
    input: _Sane = 0
    output: _Sane = 0
    reasoning: _Sane = 0


class _Info(Struct, gc=False):
    finish: str | None = None
    error: _Error | None = None
    tokens: _Tokens | None = None


class _Meta(Struct, gc=False):
    exit: _Sane | None = None
    truncated: bool | None = None
    interrupted: bool | None = None
    sessionId: str | None = None  # noqa: N815  # opencode's name


class _Time(Struct, gc=False):
    compacted: _Sane | None = None


class _State(Struct, gc=False):
    status: str = ""
    input: Raw = _ABSENT
    output: Raw = _ABSENT
    error: str | None = None
    metadata: _Meta | None = None
    time: _Time | None = None


class _Part(Struct, gc=False):
    type: str
    text: Raw = _ABSENT
    synthetic: bool | None = None
    tool: str = "unnamed tool"
    reason: str | None = None
    state: _State | None = None


class _Line(Struct, gc=False):
    info: _Info
    parts: list[_Part] = []


class _Call(NamedTuple):
    name: str
    input: bytes
    """As stored."""


_LINES: msgspec.json.Decoder[list[_Line]] = msgspec.json.Decoder(list[_Line])
_LINE: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_RAWS: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])
_NO_STATE, _NO_META = _State(), _Meta()
# As plain numbers: an operation on members of a Flag takes ten times as long.
_TEXT, _SYNTHETIC, _REASONING, _CALL = map(int, (Trait.TEXT, Trait.SYNTHETIC, Trait.REASONING, Trait.CALL))
_INVALID, _ERROR, _STOPPED, _UNENDED = map(int, (Trait.INVALID, Trait.ERROR, Trait.STOPPED, Trait.UNENDED))
_EXIT, _SILENT, _CUT, _CLEARED = map(int, (Trait.EXIT, Trait.SILENT, Trait.CUT, Trait.CLEARED))
_DELEGATES, _REPEATED, _AT_LIMIT = map(int, (Trait.DELEGATES, Trait.REPEATED, Trait.AT_LIMIT))
_MARKS = {"step-start": int(Trait.BEGUN), "compaction": int(Trait.COMPACTION), "subtask": int(Trait.SUBTASK)}


def find_traits(blocks: Iterable[bytes | bytearray]) -> array[int]:
    """`array('I')` of the traits of every message in blocks, JSON lists of messages."""
    found: array[int] = array("I")
    recent: deque[_Call] = deque(maxlen=RECENT_CALLS)
    for block in blocks:
        try:
            lines = _LINES.decode(block)
        except msgspec.ValidationError:
            found.extend([_traits_of_raw(raw, recent) for raw in _RAWS.decode(block)])
        else:
            found.extend([_traits(line, recent) for line in lines])
    return found


def _traits_of_raw(raw: Raw, recent: deque[_Call]) -> int:
    try:
        return _traits(_LINE.decode(raw), recent)
    except (msgspec.DecodeError, RecursionError):
        pass
    before: deque[tuple[str, Any]] = deque(
        [(call.name, decode(call.input or b"null", [])) for call in recent], RECENT_CALLS
    )
    found = traits_of(read_message(raw, 0), before)
    recent.extend(_Call(name, json.dumps(value).encode()) for name, value in before)
    return int(found)


def _traits(line: _Line, recent: deque[_Call]) -> int:
    info, last = line.info, None
    found = 0
    if (error := info.error) is not None:
        found = int(fault_trait(Fault(name=error.name or "error", message="")))
    tokens = info.tokens
    if tokens and (tokens.input or tokens.output):
        found |= Trait.COUNTED.value
    for part in line.parts:
        kind = part.type
        if kind == "tool":
            found |= _call(part, recent)
        elif kind == "text":
            found |= _text(part)
        elif kind == "reasoning":
            if (tokens and tokens.reasoning) or not _is_blank(part.text):
                found |= _REASONING
        elif kind == "step-finish":
            last = part.reason
        elif kind in _MARKS:
            found |= _MARKS[kind]
    return found | (_AT_LIMIT if (info.finish or last) in LENGTHS else 0)


def _text(part: _Part) -> int:
    if bytes(part.text)[:1] != b'"':  # no text, so no block
        return 0
    return (_SYNTHETIC if part.synthetic is True else 0) | (0 if _is_blank(part.text) else _TEXT)


def _call(part: _Part, recent: deque[_Call]) -> int:
    state = part.state or _NO_STATE
    meta = state.metadata or _NO_META
    status, name = state.status, part.tool
    invalid = name == "invalid" or (status == "error" and "called with invalid arguments" in (state.error or ""))
    stopped = meta.interrupted is True or state.error == ABORTED or _is_stopped(state, meta)
    found = _CALL
    if stopped:
        found |= _STOPPED
    elif invalid:
        found |= _INVALID
    elif status == "error":
        found |= _ERROR
    if status == "completed":
        found |= _EXIT if meta.exit else 0
        found |= _SILENT if _is_silent(state.output) else 0
    elif status != "error" and not stopped:
        found |= _UNENDED
    if meta.truncated is True:
        found |= _CUT
    if state.time is not None and state.time.compacted is not None:
        found |= _CLEARED
    if name == "task" and (meta.sessionId is not None or (status != "error" and not invalid)):
        found |= _DELEGATES
    call = _Call(name, bytes(state.input))
    if call.input not in _EMPTY and (call in recent or _is_reordered(call, recent)):
        found |= _REPEATED
    recent.append(call)
    return found


def _is_stopped(state: _State, meta: _Meta) -> bool:
    """Whether the output ends with the mark of a command that was stopped."""
    if meta.exit is not None or b"_metadata>" not in bytes(state.output)[-_SHORT:]:
        return False
    return interruption({}, output_text(decode(bytes(state.output), [])), None) is not None


def _is_reordered(call: _Call, recent: deque[_Call]) -> bool:
    """Whether the arguments are those of a recent call in another order: as long, and equal when read."""
    alike = [old.input for old in recent if old.name == call.name and len(old.input) == len(call.input)]
    return any(decode(old, []) == decode(call.input, []) for old in alike)


def _holds_words(stored: Raw) -> bool:
    """Whether a long text surely says something: its beginning is not white space alone."""
    view = memoryview(stored)
    return len(view) > _SHORT and bool(bytes(view[:_SHORT]).strip(_WHITE))


def _is_blank(stored: Raw) -> bool:
    """Whether a stored text says nothing."""
    if _holds_words(stored):
        return False
    value = decode(bytes(stored) or b"null", [])
    return not (isinstance(value, str) and plain(value).strip())


def _is_silent(stored: Raw) -> bool:
    """Whether a stored output is one that says nothing."""
    if _holds_words(stored):
        return False
    text = output_text(decode(bytes(stored) or b"null", []))
    return text is not None and plain(text).strip() in NO_OUTPUT
