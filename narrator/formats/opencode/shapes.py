"""The wire's shapes, as far as they are asked of all messages at once.

They are made by the ten thousand and hold no cycle, hence `gc=False`. What does not fit into them no released version
writes, and it is read the slow way.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta as Limits
from msgspec import Raw, Struct

from narrator.formats._lenient import SANE
from narrator.skims import NONE, Role

Sane: TypeAlias = Annotated[int, Limits(gt=-SANE, lt=SANE)]
"""As `as_int` takes it; another number is none, and read the slow way."""
ABSENT = Raw(b"")


class Time(Struct, frozen=True, gc=False):
    """When a message began and ended."""

    created: Sane = NONE
    completed: Sane = NONE


class Model(Struct, frozen=True, gc=False):
    """The model a user's turn asks."""

    providerID: str | None = None  # noqa: N815  # opencode's name
    modelID: str | None = None  # noqa: N815


class Cache(Struct, frozen=True, gc=False):
    """Cached tokens."""

    read: Sane = 0
    write: Sane = 0


class Tokens(Struct, frozen=True, gc=False):
    """Tokens of a message."""

    input: Sane = 0
    cache: Cache = Cache()


NO_TOKENS = Tokens(input=NONE)


class Error(Struct, gc=False):
    """How a message failed."""

    name: str = ""


class Info(Struct, gc=False):
    """What stands of a message beside its parts."""

    id: str = ""
    role: Role = "assistant"
    time: Time = Time()
    parentID: str | None = None  # noqa: N815
    providerID: str | None = None  # noqa: N815
    modelID: str | None = None  # noqa: N815
    model: Model | None = None
    summary: bool | dict[str, Raw] | None = None
    finish: str | None = None
    error: Error | None = None
    tokens: Tokens = NO_TOKENS


class Input(Struct, gc=False):
    """What tells one call from another."""

    command: Raw = ABSENT
    filePath: Raw = ABSENT  # noqa: N815
    todos: Raw = ABSENT


class Meta(Struct, gc=False):
    """How a command ended."""

    exit: Sane | None = 0
    """Null for a command that was stopped; a tool that runs no command has none."""


class State(Struct, gc=False):
    """How a call went."""

    status: str = ""
    input: Input | None = None
    error: Raw = ABSENT
    metadata: Meta | None = None


class Part(Struct, gc=False):
    """A part of a message."""

    type: str
    text: Raw = ABSENT
    synthetic: bool | None = None
    reason: str | None = None
    tool: str | None = None
    state: State | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is a text part that holds a text."""
        return self.type == "text" and bytes(self.text)[:1] == b'"'


class Line(Struct, gc=False):
    """A message."""

    info: Info
    parts: list[Part] = []


class Loose(Struct, gc=False):
    """A message whose parts are not looked into."""

    parts: list[Raw] = []


class Todo(Struct, gc=False):
    """An entry of a list of things to do."""

    status: str = ""
