"""What a session is, whichever agent recorded it.

A reader (`formats/`) makes a `Session`: its `skims` say little about every message and cost little;
`message(k)` decodes message k and no other. All text in these values is plain (no terminal sequences) and, unless
asked otherwise, redacted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from narrator.changes import Change
from narrator.shelf import NO_SHELF, Shelf
from narrator.skims import Calls, Role, Skim, Skims

__all__ = [
    "About",
    "Block",
    "Calls",
    "Fault",
    "File",
    "Marker",
    "Message",
    "Reader",
    "Reasoning",
    "Role",
    "Session",
    "Skim",
    "Skims",
    "Text",
    "Tokens",
    "ToolCall",
    "ToolStatus",
    "essence",
]

ToolStatus: TypeAlias = Literal["completed", "error", "running", "pending", "unknown"]


class Text(Struct, frozen=True, kw_only=True, tag=True):
    """Prose of a message."""

    at: str
    """Where it stands in the stored message, in the format's own words: `parts[2]`."""
    text: str
    synthetic: bool = False
    """True when the harness put it into a user message and no person typed it."""
    started: int | None = None
    """When it began, milliseconds since 1970."""


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
    changes: tuple[Change, ...] = ()
    """What it changed in files, where the agent recorded that beside the arguments."""


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
    cost: float | None = None
    """Dollars, as the agent reckoned them."""
    model: str | None = None
    agent: str | None = None
    summary: bool = False
    """It is a compaction summary, not an answer."""
    called: bool = False
    """A model call is recorded to have begun."""
    changes: tuple[Change, ...] = ()
    """What it changed in files, by whatever means; of a user's message, what the turn that it began changed."""
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


class Reader(NamedTuple):
    """How the messages of a session are had; each is called at most once for the same thing."""

    messages: int
    message: Callable[[int], Message]
    peek: Callable[[int], Message]
    """Message k as `essence` leaves it."""
    length: Callable[[int], int]
    """Bytes of message k as stored."""
    skims: Callable[[], Skims]
    traits: Callable[[], array[int]]
    """`array('I')`: for every message bits of `skims.Trait`."""
    stored: Callable[[], int]
    """Bytes of all messages as stored."""
    digest: Callable[[], str]
    """Hash of the session's JSON."""
    find: Callable[[Callable[[bytes | bytearray], bool]], Iterable[int]]
    """Messages whose stored JSON is wanted, in order; what is wanted must be wanted in any text it is a part of."""


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
        reader: Reader,
        *,
        fields: Mapping[str, str] | None = None,
        notices: tuple[str, ...] = (),
        redacted: Callable[[], dict[str, int]] = dict,
        shelf: Shelf = NO_SHELF,
    ) -> None:
        self.about = about
        self._reader = reader
        self.message: Callable[[int], Message] = lru_cache(maxsize=1024)(reader.message)
        """Message k, `0 <= k < len(session)`."""
        self.peek = reader.peek
        """Message k as `essence` leaves it, not kept in memory: for a look at every message of a session."""
        self.size = reader.length
        """Bytes of message k as stored."""
        self._fields = dict(fields or {})
        self.notices = notices
        """What the reader had to step over to read the file, one sentence each."""
        self.redacted = redacted
        """Kind of secret → how many different ones were masked so far."""
        self.shelf = shelf
        """Keeps what was worked out of this recording for the next run; may forget it."""

    def __len__(self) -> int:
        return self._reader.messages

    @cached_property
    def skims(self) -> Skims:
        """What is known of every message without decoding it."""
        return self._reader.skims()

    @property
    def calls(self) -> Calls:
        """What is known of every tool call without decoding it."""
        return self.skims.calls

    @cached_property
    def traits(self) -> array[int]:
        """`array('I')`: for every message, bits of `skims.Trait`; made when first asked for, in a pass of its own."""
        return self._reader.traits()

    def search(self, wanted: Callable[[bytes | bytearray], bool]) -> list[int]:
        """Messages whose stored JSON is `wanted`, ascending; reads all of it and decodes none.

        `wanted` is also asked of several messages in one piece, and must want those when it wants one of them.
        """
        return list(self._reader.find(wanted))

    @cached_property
    def stored(self) -> int:
        """Bytes of all messages as stored."""
        return self._reader.stored()

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the session's JSON as read: the same for a file, its gzip, and standard input."""
        return self._reader.digest()

    @cached_property
    def positions(self) -> dict[str, int]:
        """Native id → index; of a duplicate id, the first."""
        found: dict[str, int] = {}
        for index, id_ in enumerate(self.skims.ids):
            found.setdefault(id_, index)
        return found

    def native(self, field: str, block: Block | None = None) -> str:
        """The format's own name of one of our fields, as a path a person can give to `jq`."""
        if block is None:
            return self._fields.get(field, field)
        return f"{block.at}.{self._fields.get('call.' + field, field)}"
