"""opencode exports (v1): `{info, messages: [{info, parts}]}`, and the bare list of messages.

The shape is that of the npm package @opencode-ai/sdk up to 1.18.33; what interruptions, errors and emptiness look like
was seen in files the official builds 1.1.65 and 1.18.33 wrote. Everything but an id is optional, key order is free, and
order is file order: ids wrap (2026-08-14) and are never sorted by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Raw

from narrator.blocks import Blocks
from narrator.document import Document, Level, keys_of
from narrator.errors import SessionError
from narrator.formats import Format, Recording
from narrator.formats._lenient import as_dict, as_int, as_str, decode
from narrator.formats.opencode.messages import read_message
from narrator.formats.opencode.skims import take_block, take_message
from narrator.formats.opencode.traits import find_traits
from narrator.session import About


def _sniff(document: Document) -> bool:
    keys = keys_of(document.messages)
    return bool(keys & {"info", "parts"}) or ("info" in document.top and (not keys or _is_v2(keys)))


def _is_v2(keys: set[str]) -> bool:
    """Whether messages with these keys are those of opencode 2.x: flat, with a type and no role."""
    return "type" in keys and not keys & {"info", "parts", "role"}


def _open(document: Document) -> Recording:
    messages = document.messages
    if not messages:
        raise SessionError(f"{document.name}: the session has no messages")
    if _is_v2(keys_of(messages)):
        raise SessionError(
            f"{document.name}: an export of opencode v2 (2.x); this version reads v1 (up to 1.18) and not yet v2"
        )
    return _recording(
        document.top, messages.__getitem__, document.name, document.notices, lambda: (b"[%b]" % raw for raw in messages)
    )


def _open_blocks(blocks: Blocks, name: str, notices: tuple[str, ...]) -> Recording:
    return _recording(blocks.top(), blocks.message, name, notices, blocks.walk)


def _recording(
    top: dict[str, Level],
    message: Callable[[int], Raw],
    name: str,
    notices: tuple[str, ...],
    walk: Callable[[], Iterator[bytes | bytearray]],
) -> Recording:
    odd: list[str] = []
    first = bytes(message(0))
    about = _about(top, first, name, odd)
    told = [*notices, *(f"{name}: in what it says of the session, {what}" for what in odd)]
    if about.delegated:
        told.append(f"{name}: {len(about.delegated)} subagent session(s) in the file, not included and not numbered")
    if b'"[redacted:' in first:
        told.append(f"{name}: a sanitised export: numbers, times and ends are true, the text is gone")
    return Recording(
        about=about,
        read=lambda index: read_message(message(index), index),
        traits=lambda: find_traits(walk()),
        notices=tuple(told),
    )


def _about(top: dict[str, Level], first: bytes, name: str, odd: list[str]) -> About:
    info = as_dict(_whole(top.get("info"), odd))
    fallback = as_dict(as_dict(decode(first, [])).get("info"))
    delegated = _whole(top.get("subagents"), odd)
    return About(
        format="opencode",
        id=as_str(info.get("id")) or as_str(fallback.get("sessionID")) or "unknown",
        title=as_str(info.get("title")) or "Untitled session",
        file=name,
        version=as_str(info.get("version")),
        directory=as_str(info.get("directory")),
        created=as_int(as_dict(info.get("time")).get("created"))
        or as_int(as_dict(fallback.get("time")).get("created")),
        parent=as_str(info.get("parentID")),
        revert=as_str(as_dict(info.get("revert")).get("messageID")),
        delegated=tuple(
            as_str(as_dict(as_dict(child).get("info")).get("id")) or "unknown"
            for child in (delegated if isinstance(delegated, list) else [])
        ),
    )


def _whole(level: Level, odd: list[str]) -> Any:
    """What stands at the top of the document, decoded to the bottom."""

    def below(raw: Raw) -> Any:
        return decode(bytes(raw), odd)

    if isinstance(level, dict):
        return {key: below(raw) for key, raw in level.items()}
    return [below(raw) for raw in level] if isinstance(level, list) else level


FORMAT = Format(
    name="opencode",
    says="opencode export (v1), of every version up to 1.18: `opencode export ID > file`, or its bare list of messages",
    sniff=_sniff,
    open=_open,
    take=take_message,
    take_block=take_block,
    open_blocks=_open_blocks,
    fields={
        "parent": "parentID",
        "model": "modelID",
        "provider": "providerID",
        "fault.name": "error.name",
        "fault.message": "error.data.message",
        "fault.status": "error.data.statusCode",
        "created": "time.created",
        "completed": "time.completed",
        "call.status": "state.status",
        "call.input": "state.input",
        "call.output": "state.output",
        "call.error": "state.error",
        "call.exit": "state.metadata.exit",
        "call.interrupted": "state.metadata.interrupted",
        "call.truncated": "state.metadata.truncated",
        "call.pruned": "state.time.compacted",
        "call.started": "state.time.start",
        "call.ended": "state.time.end",
        "call.child": "state.metadata.sessionId",
        "call.name": "tool",
    },
)
