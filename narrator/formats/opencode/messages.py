"""One opencode message and its parts, as official builds 1.1.65 and 1.18.33 write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Raw

from narrator.changes import Change
from narrator.formats._lenient import as_dict, as_int, as_str, decode
from narrator.formats.opencode.edits import changes_of_call, changes_of_message
from narrator.session import (
    Block,
    Fault,
    File,
    Marker,
    Message,
    Reasoning,
    Role,
    Text,
    Tokens,
    ToolCall,
    ToolStatus,
)

_STOPPED = re.compile(
    r"<(?:bash|shell)_metadata>.*?(User aborted the command|exceed(?:ing|ed) timeout[^\n<]*)\s*"
    r"</(?:bash|shell)_metadata>\s*$",
    re.DOTALL,
)
"""The end of a command that was stopped (1.1 writes `bash_metadata`, 1.18 `shell_metadata`); it has no exit code."""
ABORTED = "Tool execution aborted"
"""The error of a call that was stopped, of any tool but the shell."""
SHELLS = frozenset({"bash", "shell", "powershell"})
"""Tools that run a command and record its exit code."""
_TAIL = 600
"""Characters of an output in which that mark is looked for."""
_STATUSES: dict[str, ToolStatus] = {
    "completed": "completed", "error": "error", "running": "running", "pending": "pending",
}  # fmt: skip
_QUIET = {"step-start", "step-finish", "snapshot", "patch"}
"""Parts that annotate the message and are not shown."""
_DATA_URI = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)(?:;[\w.=-]+)*;base64,([A-Za-z0-9+/]{60,}(?:\r?\n[A-Za-z0-9+/]{60,})*={0,2})"
)
"""An inline file, also in lines of 60 characters and more; a word behind it is no part of it."""


def read_message(raw: Raw, index: int) -> Message:
    """Decode one message; whatever has the wrong shape in it becomes an oddity, not an error."""
    oddities: list[str] = []
    decoded = decode(bytes(raw), oddities)
    if not isinstance(decoded, dict) and not oddities:
        oddities.append("a message that is no object")
    stored = as_dict(decoded)
    info, parts = as_dict(stored.get("info")), stored.get("parts", [])
    if not isinstance(stored.get("info", {}), dict):
        oddities.append("`info` that is no object")
    if not isinstance(parts, list):
        oddities.append("`parts` that is no list")
        parts = []
    blocks = tuple(block for place, part in enumerate(parts) for block in _blocks(part, place, oddities))
    time, model = as_dict(info.get("time")), as_dict(info.get("model"))
    steps = [part for part in parts if isinstance(part, dict) and part.get("type") == "step-finish"]
    return Message(
        index=index,
        id=as_str(info.get("id")) or f"message-{index}",
        role=_role(info.get("role")),
        blocks=blocks,
        created=as_int(time.get("created")),
        completed=as_int(time.get("completed")),
        parent=as_str(info.get("parentID")),
        finish=as_str(info.get("finish")) or (as_str(steps[-1].get("reason")) if steps else None),
        fault=_fault(info.get("error")),
        tokens=_tokens(info.get("tokens")),
        cost=_cost(info.get("cost")),
        model=joined(model.get("providerID"), model.get("modelID"))
        or joined(info.get("providerID"), info.get("modelID")),
        agent=as_str(info.get("agent")) or as_str(info.get("mode")),
        summary=info.get("summary") is True,
        changes=changes_of_message(info, parts, [one for block in blocks for one in _changes(block)]),
        called=any(isinstance(part, dict) and part.get("type") == "step-start" for part in parts),
        oddities=tuple(dict.fromkeys(oddities)),
    )


def _changes(block: Block) -> tuple[Change, ...]:
    return block.changes if isinstance(block, ToolCall) else ()


def _blocks(part: Any, place: int, oddities: list[str]) -> Iterator[Block]:
    at = f"parts[{place}]"
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        oddities.append("a part without a type")
    elif kind in _QUIET:
        return
    elif (maker := _MAKERS.get(kind)) is None:
        oddities.append(f"parts of the unknown type {kind[:60]}")
        yield Marker(at=at, kind=kind, text=f"[{kind} omitted]")
    else:
        yield from maker(part, at, oddities)


def _text(part: dict[str, Any], at: str, oddities: list[str]) -> Iterator[Block]:
    text = part.get("text")
    if isinstance(text, str):
        begun = as_int(as_dict(part.get("time")).get("start"))
        yield Text(at=at, text=_stub_data(text), synthetic=part.get("synthetic") is True, started=begun)
    else:
        oddities.append("a text part without text")


def _reasoning(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    yield Reasoning(at=at, text=as_str(part.get("text")) or "")


def _tool(part: dict[str, Any], at: str, oddities: list[str]) -> Iterator[Block]:
    state = part.get("state")
    if not isinstance(state, dict):
        oddities.append("a tool call without a state")
        state = {}
    meta, time = as_dict(state.get("metadata")), as_dict(state.get("time"))
    output, error = output_text(state.get("output")), as_str(state.get("error"))
    name = as_str(part.get("tool")) or "unnamed tool"
    status = _STATUSES.get(str(state.get("status")), "unknown")
    exit_ = as_int(meta.get("exit"))
    yield ToolCall(
        at=at,
        name=name,
        input=state.get("input"),
        status=status,
        output=output,
        error=error,
        exit=exit_,
        started=as_int(time.get("start")),
        ended=as_int(time.get("end")),
        interrupted=interruption(meta, output, error),
        invalid=name == "invalid" or (status == "error" and "called with invalid arguments" in (error or "")),
        truncated=meta.get("truncated") is True,
        pruned=as_int(time.get("compacted")),
        child=as_str(meta.get("sessionId")) if name == "task" else None,
        changes=changes_of_call(meta, state.get("input"), f"{at}.state.metadata"),
    )
    attachments = state.get("attachments")
    for number, attached in enumerate(attachments if isinstance(attachments, list) else []):
        yield from _file(as_dict(attached), f"{at}.state.attachments[{number}]", oddities)


def interruption(meta: dict[str, Any], output: str | None, error: str | None) -> str | None:
    """How a call was stopped from outside, in the record's own words; None when it was not."""
    if error == ABORTED:
        return error
    if as_int(meta.get("exit")) is None and output and (stopped := _STOPPED.search(output[-_TAIL:])):
        return stopped[1]
    return "interrupted" if meta.get("interrupted") is True else None


def _file(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    url = as_str(part.get("url")) or ""
    inline = url.startswith("data:")
    name = as_str(part.get("filename")) or ("" if inline else url) or "attachment"
    size = _size_of(url.partition(",")[2]) if inline else 0
    yield File(at=at, name=name, mime=as_str(part.get("mime")) or "unknown type", size=size)


def _compaction(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    how = "automatic" if part.get("auto") is True else "manual"
    yield Marker(at=at, kind="compaction", text=f"[{how} compaction]")


def _agent(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    yield Marker(at=at, kind="agent", text=f"[mention of agent {as_str(part.get('name')) or '?'}]")


def _subtask(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    yield Marker(
        at=at,
        kind="subtask",
        text=f"[subtask: {as_str(part.get('description')) or as_str(part.get('prompt')) or ''}]",
    )


def _retry(part: dict[str, Any], at: str, _: list[str]) -> Iterator[Block]:
    fault = _fault(part.get("error"))
    yield Marker(
        at=at,
        kind="retry",
        text=f"[retry {as_int(part.get('attempt')) or '?'}: {fault.message if fault else 'error'}]",
    )


_MAKERS: dict[str, Callable[[dict[str, Any], str, list[str]], Iterator[Block]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool": _tool,
    "file": _file,
    "compaction": _compaction,
    "agent": _agent,
    "subtask": _subtask,
    "retry": _retry,
}


def output_text(value: Any) -> str | None:
    """A tool's output as text: a string, a list of blocks, or any JSON value."""
    match value:
        case None:
            return None
        case str():
            return _stub_data(value)
        case list() if all(isinstance(item, dict) and "type" in item for item in value):
            return "\n".join(_output_block(item) for item in value)
        case _:
            return _stub_data(json.dumps(value, ensure_ascii=False))


def _output_block(block: dict[str, Any]) -> str:
    if isinstance(text := block.get("text"), str):
        return _stub_data(text)
    uri = next((v for key in ("uri", "url", "data") if isinstance(v := block.get(key), str)), "")
    mime = as_str(block.get("mime")) or as_str(block.get("mimeType")) or as_str(block.get("type")) or "data"
    return f"[{mime}, {_size_of(uri)} bytes]"


def _stub_data(text: str) -> str:
    """Inline base64 files become a stub that says what and how big."""
    if ";base64," not in text:
        return text
    return _DATA_URI.sub(lambda found: f"[{found[1]}, {_size_of(found[2])} bytes]", text)


def _size_of(base64: str) -> int:
    """Bytes that base64 text stands for, whatever stands before its comma."""
    body = "".join(base64.rpartition(",")[2].split()).rstrip("=")
    return len(body) * 3 // 4


def _fault(value: Any) -> Fault | None:
    if isinstance(value, str):  # no version is known to write one, but a failure must not pass for an answer
        return Fault(name="error", message=value)
    if not isinstance(value, dict):
        return None
    data = as_dict(value.get("data"))
    return Fault(
        name=as_str(value.get("name")) or "error",
        message=as_str(data.get("message")) or as_str(value.get("message")) or "",
        status=as_int(data.get("statusCode")),
    )


def _tokens(value: Any) -> Tokens | None:
    if not isinstance(value, dict):
        return None
    cache = as_dict(value.get("cache"))
    counts = [
        value.get("input"),
        value.get("output"),
        value.get("reasoning"),
        cache.get("read"),
        cache.get("write"),
    ]
    return Tokens(**dict(zip(Tokens.__struct_fields__, (as_int(count) or 0 for count in counts), strict=True)))


def _cost(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _role(value: Any) -> Role:
    """The role as recorded; an unknown one is the assistant's, which writes nearly everything."""
    return value if value in ("user", "assistant", "tool", "system") else "assistant"


def joined(provider: Any, model: Any) -> str | None:
    """`provider/model`; None unless both are recorded."""
    both = provider and model and isinstance(provider, str) and isinstance(model, str)
    return f"{provider}/{model}" if both else None
