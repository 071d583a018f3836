"""What a session is, whichever agent recorded it.

A reader (`formats/`) makes a `Session`: its `skims` say little about every message and cost little;
`message(k)` decodes message k and no other. All text in these values is plain (no terminal sequences) and, unless
asked otherwise, redacted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
ToolStatus: TypeAlias = Literal["completed", "error", "running", "pending", "unknown"]


class Text(Struct, frozen=True, kw_only=True, tag=True):
    """Prose of a message."""

    at: str
    """Where it stands in the stored message, in the format's own words: `parts[2]`."""
    text: str
    synthetic: bool = False
    """True when the harness put it into a user message and no person typed it."""


class Reasoning(Struct, frozen=True, kw_only=True, tag=True):
    """What the model thought before it spoke; empty when the provider kept it encrypted."""

    at: str
    text: str


class ToolCall(Struct, frozen=True, kw_only=True, tag=True):
    """A tool call together with its result."""

    at: str
    name: str
    input: Any
    """The arguments as JSON; a string when they were recorded as one."""
    status: ToolStatus
    output: str | None = None
    """What the tool returned; None when nothing was recorded, which is not the same as ""."""
    error: str | None = None
    exit: int | None = None
    """Exit code of a shell command, where the harness records one."""
    started: int | None = None
    """Milliseconds since 1970, UTC; so is `ended`."""
    ended: int | None = None
    interrupted: str | None = None
    """In the record's own words, how the call was stopped from outside before it ended."""
    invalid: bool = False
    """The call was never run: malformed arguments, or a tool that does not exist."""
    truncated: bool = False
    """The harness cut the output before the model saw it."""
    pruned: int | None = None
    """When the harness cleared the output from what the model saw later; milliseconds since 1970."""
    child: str | None = None
    """Id of the session the work was delegated to."""


class File(Struct, frozen=True, kw_only=True, tag=True):
    """An attachment; its bytes are not kept."""

    at: str
    name: str
    mime: str
    size: int
    """Bytes of an inline attachment; 0 when the recording only points at the file."""


class Marker(Struct, frozen=True, kw_only=True, tag=True):
    """A part that is neither speech nor a call: a compaction mark, a mention, a retry, an unknown part."""

    at: str
    kind: str
    text: str
    """What a reader should see in its place."""


Block: TypeAlias = Text | Reasoning | ToolCall | File | Marker


class Fault(Struct, frozen=True, kw_only=True):
    """The error a message ended with."""

    name: str
    message: str
    status: int | None = None
    """HTTP status, where the endpoint gave one."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens of one model call as the provider counted them."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def sent(self) -> int:
        """All that went in."""
        return self.input + self.cache_read + self.cache_write


class Skim(Struct, frozen=True, kw_only=True, gc=False):
    """The little that is known of every message without decoding it (plain values only, which no cycle can hold)."""

    index: int
    id: str
    role: Role
    kind: Literal["typed", "synthetic", "compaction-request", "compaction-summary", "answer"]
    """`typed`: a person's turn; `answer`: one model call; the rest is the harness's."""
    created: int | None = None
    completed: int | None = None
    parent: str | None = None
    model: str | None = None
    """`provider/model`."""
    calls: int = 0
    """Tool calls in it."""
    finish: str | None = None
    """How it ended: the name of its error, else the model's reason to stop, where one is stored with the message."""
    sent: int | None = None
    """Tokens that went in, cached ones included."""
    size: int = 0
    """Bytes of its stored JSON."""


class Message(Struct, frozen=True, kw_only=True):
    """One message, whole."""

    index: int
    """0-based place in the session's own list; never renumbered."""
    id: str
    role: Role
    blocks: tuple[Block, ...]
    created: int | None = None
    """Milliseconds since 1970, UTC; so is `completed`, None when no end was recorded."""
    completed: int | None = None
    parent: str | None = None
    """Native id of the user message it answers."""
    finish: str | None = None
    """Why the model stopped, in the provider's word."""
    fault: Fault | None = None
    tokens: Tokens | None = None
    model: str | None = None
    agent: str | None = None
    summary: bool = False
    """It is a compaction summary, not an answer."""
    called: bool = False
    """A model call is recorded to have begun."""
    oddities: tuple[str, ...] = ()
    """What was skipped or stubbed while reading it, one phrase a kind."""


class About(Struct, frozen=True, kw_only=True):
    """What the recording says of the session as a whole."""

    format: str
    id: str
    title: str
    file: str
    """Name of the file it was read from, without its folder; `stdin` for standard input."""
    version: str | None = None
    """Version of the agent that wrote it."""
    directory: str | None = None
    created: int | None = None
    parent: str | None = None
    """Id of the session that delegated this one."""
    revert: str | None = None
    """Id of the first message the user undid; it and all later ones."""
    delegated: tuple[str, ...] = ()
    """Ids of subagents' sessions that are in the file beside this one; their messages have no number here."""


def map_text(message: Message, change: Callable[[str], str], change_input: Callable[[Any], Any]) -> Message:
    """`message` with every recorded text passed through `change`, and tool arguments through `change_input`."""

    def optional(text: str | None) -> str | None:
        return None if text is None else change(text)

    def block(old: Block) -> Block:
        match old:
            case Text() | Reasoning():
                return replace(old, text=change(old.text))
            case ToolCall():
                return replace(
                    old,
                    name=change(old.name),
                    input=change_input(old.input),
                    output=optional(old.output),
                    error=optional(old.error),
                    interrupted=optional(old.interrupted),
                    child=optional(old.child),
                )
            case File():
                return replace(old, name=change(old.name), mime=change(old.mime))
            case Marker():
                return replace(old, kind=change(old.kind), text=change(old.text))

    fault = message.fault and replace(
        message.fault, name=change(message.fault.name), message=change(message.fault.message)
    )
    return replace(
        message,
        id=change(message.id),
        blocks=tuple(block(old) for old in message.blocks),
        parent=optional(message.parent),
        finish=optional(message.finish),
        fault=fault,
        model=optional(message.model),
        agent=optional(message.agent),
        oddities=tuple(change(text) for text in message.oddities),
    )


def essence(message: Message) -> Message:
    """`message` with no more than its texts; if these are blank, with all its blocks, without what its calls returned.

    What calls returned, and what was thought before it was said, is most of a recording.
    """
    texts = tuple(block for block in message.blocks if isinstance(block, Text) and block.text.strip())
    others = (
        replace(block, output=None, error=None) if isinstance(block, ToolCall) else block for block in message.blocks
    )
    return replace(message, blocks=texts or tuple(others))


class Session:
    """A recorded session; message k is decoded when it is asked for, and only then."""

    def __init__(
        self,
        about: About,
        *,
        count: int,
        read: Callable[[int], Message],
        skim: Callable[[], tuple[Skim, ...]],
        document: bytes | memoryview,
        fields: Mapping[str, str] | None = None,
        notices: tuple[str, ...] = (),
        redacted: Callable[[], dict[str, int]] = dict,
        peek: Callable[[int], Message] | None = None,
    ) -> None:
        self.about = about
        self._count = count
        self.message: Callable[[int], Message] = lru_cache(maxsize=1024)(read)
        """Message k, `0 <= k < len(session)`."""
        self.peek: Callable[[int], Message] = peek or self.message
        """Message k as `essence` leaves it, not kept in memory: for a look at every message of a session."""
        self._skim = skim
        self._document = document
        self._fields = dict(fields or {})
        self.notices = notices
        """What the reader had to step over to read the file, one sentence each."""
        self.redacted = redacted
        """Kind of secret → how many different ones were masked so far."""

    def __len__(self) -> int:
        return self._count

    @cached_property
    def skims(self) -> tuple[Skim, ...]:
        """One for each message, in order."""
        return self._skim()

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the session's JSON as read: the same for a file, its gzip, and standard input."""
        return hashlib.sha256(self._document).hexdigest()

    @cached_property
    def tallies(self) -> dict[str, list[int]]:
        """Kind (`Skim.kind`) → how many of the first k messages are of it, for k from 0 to all."""
        kinds = dict.fromkeys(skim.kind for skim in self.skims)
        return {kind: [0, *accumulate(skim.kind == kind for skim in self.skims)] for kind in kinds}

    @cached_property
    def positions(self) -> dict[str, int]:
        """Native id → index; of a duplicate id, the first."""
        found: dict[str, int] = {}
        for skim in self.skims:
            found.setdefault(skim.id, skim.index)
        return found

    def native(self, field: str, block: Block | None = None) -> str:
        """The format's own name of one of our fields, as a path a person can give to `jq`."""
        if block is None:
            return self._fields.get(field, field)
        return f"{block.at}.{self._fields.get('call.' + field, field)}"
