"""The little that is known of every opencode message, without decoding what lies in its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from narrator.formats._lenient import SANE
from narrator.formats.opencode.messages import joined, read_message
from narrator.session import Marker, Message, Role, Skim, Text, ToolCall

Kind: TypeAlias = Literal["typed", "synthetic", "compaction-request", "compaction-summary", "answer"]


_Sane: TypeAlias = Annotated[int, Meta(gt=-SANE, lt=SANE)]
"""As `as_int` takes it; another number is none, and read the slow way."""


# The wire's shapes are made by the ten thousand and hold no cycle, hence `gc=False`.
class _Time(Struct, frozen=True, gc=False):
    created: _Sane | None = None
    completed: _Sane | None = None


class _Model(Struct, gc=False):
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


class _Part(Struct, gc=False):
    type: str
    text: Raw = Raw(b"null")
    synthetic: bool | None = None
    reason: str | None = None

    @property
    def is_text(self) -> bool:
        return self.type == "text" and bytes(self.text)[:1] == b'"'


class _Line(Struct, gc=False):
    info: _Info
    parts: list[_Part] = []


_LINE: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


def skim_message(raw: Raw, index: int) -> Skim:
    """Skim one stored message; of a shape no released version writes, by decoding it whole."""
    try:
        line = _LINE.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _skim_whole(read_message(raw, index), len(memoryview(raw)))
    info, types = line.info, [part.type for part in line.parts]
    return Skim(
        index=index,
        id=info.id or f"message-{index}",
        role=info.role,
        kind=_kind(info.role, info.summary is True, types, line.parts),
        created=info.time.created,
        completed=info.time.completed,
        parent=info.parentID,
        model=(info.model and joined(info.model.providerID, info.model.modelID))
        or joined(info.providerID, info.modelID),
        calls=types.count("tool"),
        finish=(info.error.name or "error") if info.error else info.finish or _last_reason(line.parts),
        sent=info.tokens.input + info.tokens.cache.read + info.tokens.cache.write if info.tokens else None,
        size=len(memoryview(raw)),
    )


def _last_reason(parts: list[_Part]) -> str | None:
    """Why the last step ended, as versions before 1.0 tell it and no other place does."""
    steps = [part.reason for part in parts if part.type == "step-finish"]
    return steps[-1] if steps else None


def _skim_whole(message: Message, size: int) -> Skim:
    """The slow way, for a message whose shape no released version writes."""
    types = [block.kind for block in message.blocks if isinstance(block, Marker)]
    texts = [block for block in message.blocks if isinstance(block, Text)]
    return Skim(
        index=message.index,
        id=message.id,
        role=message.role,
        kind=_kind(message.role, message.summary, types, texts),
        created=message.created,
        completed=message.completed,
        parent=message.parent,
        model=message.model,
        calls=sum(isinstance(block, ToolCall) for block in message.blocks),
        finish=message.fault.name if message.fault else message.finish,
        sent=message.tokens.sent if message.tokens else None,
        size=size,
    )


def _kind(role: Role, summary: bool, types: list[str], parts: Sequence[_Part | Text]) -> Kind:
    """What sort of turn it is; a text without text counts for nothing, here as in `read_message`."""
    if role == "assistant":
        return "compaction-summary" if summary else "answer"
    if "compaction" in types:
        return "compaction-request"
    made = [part.synthetic is True for part in parts if isinstance(part, Text) or part.is_text]
    return "synthetic" if made and all(made) else "typed"
