"""Where the one JSON document stands in the bytes of a recording, or why there is none.

`opencode export` prints to the same stream as its own banner and log lines (formats: a header without a line feed in
1.1.65 and 1.2.1, a migration banner in 1.2.1), and a pipe cuts its output at a multiple of 64 KiB with exit code 0
(opencode issues 2803, 14948, 29330). So the document is the value that starts a line, or directly follows `ses_<id>`,
and is a session; an inner `{` is never tried, since on a damaged file that "succeeds" with a fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from narrator.errors import SessionError
from narrator.mending import Bytes, mend_once
from narrator.source import Source

Level: TypeAlias = list[Raw] | dict[str, Raw] | str | int | float | bool | None
Value: TypeAlias = dict[str, Level] | list[Raw]
"""The upper two levels of a JSON document, in one pass over it; what lies below stays undecoded bytes."""
PIPE = 65_536
"""Bytes a pipe holds on Linux; `opencode export | …` is cut at a multiple of it."""

_START = re.compile(
    rb"""(?:\A[ \t\r\n]*|^)(?:[^\n{\[]*ses_[A-Za-z0-9]+)?(?=\{\s*(?:["'}]|\Z)|\[\s*(?:[\[{"\]0-9tfn-]|\Z))""",
    re.MULTILINE,
)
"""A JSON object or list at the head of a line, or behind opencode's header; not the `[INFO]` of a log line."""
_LIKE_EXPORT = re.compile(rb'\{\s*"(?:info|messages)"|\[\s*\{\s*"(?:info|parts)"')
_MOST_STARTS = 10_000
"""Values that are looked at before the recording is given up: log lines may be JSON too."""
_FIRST_ENTRIES = 20
"""Entries of a list by which it is judged; the first alone may be damaged."""
_DECODER: msgspec.json.Decoder[Value] = msgspec.json.Decoder(Value)
_SHALLOW: msgspec.json.Decoder[dict[str, Raw]] = msgspec.json.Decoder(dict[str, Raw])
_LEVEL: msgspec.json.Decoder[Level] = msgspec.json.Decoder(Level)
_BYTE = re.compile(r"\s*\(byte (\d+)\)")
_OTHERS = {
    "an ATIF trajectory": {"schema_version", "steps"},
    "a Gemini CLI session": {"projectHash"},
    "a mini-swe-agent trajectory": {"trajectory_format"},
    "a SWE-agent trajectory": {"history"},
    "an Inspect log": {"samples", "eval"},
    "a Codex rollout": {"timestamp", "payload"},
    "a Claude Code session": {"sessionId", "uuid"},
    "a Claude Code session whose first line is a summary": {"summary", "leafUuid"},
    "a list of chat messages": {"role", "content"},
}
"""What other tools write, by keys of its first object (formats §9)."""


class Document(NamedTuple):
    """A JSON document and where it came from."""

    name: str
    text: Bytes
    """Exactly the document: what stood around it is cut off, what no strict parser reads is mended."""
    value: Value
    notices: tuple[str, ...]

    @property
    def top(self) -> dict[str, Level]:
        """What stands beside the messages; nothing in a bare list of them."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def messages(self) -> list[Raw]:
        """The messages, undecoded: whatever the recording lists as such."""
        listed = self.value.get("messages") if isinstance(self.value, dict) else self.value
        return listed if isinstance(listed, list) else []


class _Found(NamedTuple):
    value: Value
    text: Bytes
    rest: Bytes
    """What follows the document."""
    mended: tuple[str, ...]


class _Refusal(NamedTuple):
    """Why no session starts at a place."""

    reason: str
    sure: bool = False
    """It says what the recording is; that of another place may only guess."""


def find_document(source: Source) -> Document:
    """The session document in `source`.

    Raises:
        SessionError: cut short, nested too deeply, two documents, or no JSON at all; each says what to do.
    """
    refused: _Refusal | None = None
    after = 0
    for start in _starts(source.data):
        if start < after:
            continue
        like = bool(_LIKE_EXPORT.match(source.data, start))
        found = _decode(source.data, start, mend=like or refused is None)
        if isinstance(found, _Found):
            if _is_session(found.value):
                notices = (*source.notices, *(f"{source.name}: {note}" for note in found.mended))
                return Document(source.name, found.text, found.value, (*notices, *_around(source, start, found)))
            after = len(source.data) - len(found.rest)
            found = _not_a_session(found.value)
        elif like:
            refused = found
            break
        if refused is None or (found.sure and not refused.sure):
            refused = found
    raise SessionError(f"{source.name}: {refused.reason if refused else _no_json(source.data)}")


def _starts(data: Bytes) -> Iterator[int]:
    for found, match in enumerate(_START.finditer(data)):
        if found >= _MOST_STARTS:
            return
        yield match.end()


def _decode(data: Bytes, start: int, *, mend: bool) -> _Found | _Refusal:
    """The document that starts at `start`, or why there is none."""
    text, rest = memoryview(data)[start:] if start else data, memoryview(b"")
    mended: list[str] = []
    while True:
        try:
            return _Found(decode_levels(text), text, rest, tuple(mended))
        except RecursionError:
            return _Refusal("nested too deeply to read")
        except msgspec.DecodeError as error:
            reason = str(error)
        byte = int(found[1]) if (found := _BYTE.search(reason)) else None
        if byte is not None and "trailing characters" in reason:
            text, rest = memoryview(text)[: byte - 1], memoryview(text)[byte - 1 :]  # it counts the offending byte in
        elif mend and (better := mend_once(text, reason)):
            text, count, what = better
            mended.append(f"{count} {what}")
        elif "truncated" in reason or (byte is not None and byte >= len(text)):
            return _Refusal(_cut(data, start))
        else:
            return _Refusal(_malformed(data, start, text, reason, exact=not mended))


def decode_levels(text: Bytes) -> Value:
    """The upper two levels of a JSON document.

    Raises:
        DecodeError: it is none.
        RecursionError: it is nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError:  # beside the messages stands a number that no machine holds
        return {key: _level(raw) for key, raw in _SHALLOW.decode(text).items()}


def _level(raw: Raw) -> Level:
    try:
        return _LEVEL.decode(raw)
    except msgspec.ValidationError:
        return None


def _cut(data: Bytes, start: int) -> str:
    size = len(data)
    piped = f"; {size} = {size // PIPE} × 64 KiB, so probably a piped `opencode export`" if size % PIPE == 0 else ""
    place = "inside a string" if _inside_string(memoryview(data)[start:]) else "before the document does"
    return f"the file ends {place}, at byte {size}{piped}; write it with `opencode export ID > file`"


def _inside_string(text: Bytes) -> bool:
    inside, position = False, 0
    for match in re.finditer(rb'\\.|"', text, re.DOTALL):
        if match[0] == b'"':
            inside = not inside
        position = match.end()
    return inside or bytes(text[position:]).endswith(b"\\")


def _malformed(data: Bytes, start: int, text: Bytes, reason: str, *, exact: bool) -> str:
    """Where and why; `text` is the document from `start` as far as it was mended, which moves offsets but not lines."""
    byte = int(found[1]) if (found := _BYTE.search(reason)) else 0
    line = 1 + bytes(data[:start]).count(b"\n") + bytes(text[:byte]).count(b"\n")
    place = f"at byte {start + byte} (line {line})" if exact else f"in line {line}"
    return f"not valid JSON {place}: {_BYTE.sub('', reason).removeprefix('JSON is malformed: ')}"


def _is_session(value: Value) -> bool:
    """A top-level list `messages`, or a list of messages; which agent's is for the formats to say."""
    if isinstance(value, dict):
        return isinstance(value.get("messages"), list)
    return {"info", "parts"} <= keys_of(value)


def keys_of(entries: list[Raw]) -> set[str]:
    """Keys of the objects among the first entries of a list."""
    keys: set[str] = set()
    for entry in entries[:_FIRST_ENTRIES]:
        try:
            keys |= _SHALLOW.decode(entry).keys()
        except (msgspec.DecodeError, RecursionError):
            continue
    return keys


def _not_a_session(value: Value) -> _Refusal:
    keys = set(value) if isinstance(value, dict) else keys_of(value)
    export = "use `opencode export ID > file`"
    if other := name_other(keys):
        return _Refusal(f"{other}, which this version does not read", sure=True)
    if isinstance(value, list) and {"id", "title"} <= keys:
        return _Refusal(f"a session list (`opencode session list`), which holds no messages; {export}", sure=True)
    if isinstance(value, list):
        entries = f"that is not a list of messages; keys of its first: {listed(keys)}" if value else "without messages"
        return _Refusal(f"a JSON list {entries}")
    if {"type", "sessionID"} <= keys:
        return _Refusal(f"an event stream of `opencode run`, without the user's messages; {export}", sure=True)
    if "messages" in keys:
        return _Refusal("`messages` at the top level is not a list")
    return _Refusal(f"no `messages` list at the top level; keys seen: {listed(keys)}")


def name_other(keys: set[str]) -> str | None:
    """What another tool writes, by the keys of its first object; None when they do not tell."""
    return next((name for name, marks in _OTHERS.items() if marks <= keys), None)


def listed(words: Iterable[str]) -> str:
    """Recorded words as a short list on one line, for an error."""
    ordered = sorted(words)
    shown = ", ".join(repr(word[:60])[1:-1] for word in ordered[:8])
    return (shown or "none") + (f" and {len(ordered) - 8} more" if len(ordered) > 8 else "")


def _no_json(data: bytes) -> str:
    head = data[:4096]
    if head.lstrip().startswith(b"#") or b"\n## " in head:
        return "a Markdown transcript; narrate needs the JSON of `opencode export ID > file`"
    return "no JSON document starts at the head of any line; narrate needs the JSON of `opencode export ID > file`"


def _around(source: Source, start: int, found: _Found) -> list[str]:
    """What stood before and after the document, as notices; a second session there is an error."""
    before, rest = source.data[:start], bytes(found.rest)
    for place in _starts(rest):
        second = _decode(rest, place, mend=False)
        if _is_session(second.value) if isinstance(second, _Found) else _LIKE_EXPORT.match(rest, place):
            line = 1 + sum(bytes(text).count(b"\n") for text in (before, found.text, rest[:place]))
            raise SessionError(
                f"{source.name}: two documents in one file, the second at line {line}; use a file for each"
            )
    return [
        f"{source.name}: skipped {len(text.splitlines())} log line(s) {side} the JSON, beginning {_head(text)}"
        for side, text in (("before", before.strip()), ("after", rest.strip()))
        if text
    ]


def _head(text: bytes) -> str:
    return repr(text[:160].decode("utf-8", "replace").splitlines()[0][:40])
