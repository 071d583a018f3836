"""Makes what a reader took from a recording safe to show: plain text, and secrets masked."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from narrator.changes import Change
from narrator.redact import Redactor
from narrator.sanitize import plain
from narrator.session import Block, File, Marker, Message, Reasoning, Text, ToolCall
from narrator.skims import Columns

_WORD = 64
"""Characters of a text that may be a name (of a model, an agent, a tool) and so come again."""


class Cleaner:
    """One for a session, whose id salts the placeholders; fast for ids, and for words that stand in every message."""

    def __init__(self, session_id: str, *, redact: bool) -> None:
        self._redactor = Redactor(session_id) if redact else None
        self._word = lru_cache(maxsize=1024)(self._clean)

    def __call__(self, text: str) -> str:
        """The text, plain and masked."""
        if text[:4] == "msg_" and text[4:].isalnum() and text.isascii():
            return text
        return self._word(text) if len(text) <= _WORD else self._clean(text)

    def _clean(self, text: str) -> str:
        text = plain(text)
        return self._redactor.mask(text) if self._redactor else text

    def value(self, value: Any) -> Any:
        """A JSON value, plain and masked."""
        value = _plain_json(value)
        if self._redactor is None:
            return value
        if isinstance(value, str):
            return self._redactor.mask(value)
        text = json.dumps(value, ensure_ascii=False)
        masked = self._redactor.mask(text)
        return value if masked == text else _loads(masked)

    def reader(self, read: Callable[[int], Message]) -> Callable[[int], Message]:
        """Reads messages and cleans them."""
        return lambda index: map_text(read(index), self, self.value)

    def counts(self) -> dict[str, int]:
        """Kind of secret → how many different ones were masked so far."""
        return dict(self._redactor.counts) if self._redactor else {}

    def changes_none(self, columns: Columns) -> bool:
        """Whether no id or other word of the columns holds anything that has to be masked or made plain."""
        words = all(word is None or self(word) == word for word in columns.words)
        return words and (_are_native(columns.ids) or all(self(id_) == id_ for id_ in columns.ids))


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
                    changes=_map_changes(old.changes, change),
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
        changes=_map_changes(message.changes, change),
        oddities=tuple(change(text) for text in message.oddities),
    )


def _map_changes(changes: tuple[Change, ...], change: Callable[[str], str]) -> tuple[Change, ...]:
    return tuple(replace(one, file=change(one.file), diff=change(one.diff)) for one in changes)


def _are_native(ids: list[str]) -> bool:
    """Whether all ids are opencode's: `msg_` and letters and digits, which nothing has to be done about."""
    listed = "".join(ids)
    rest = listed.replace("msg_", "")
    return len(listed) - len(rest) == len("msg_") * len(ids) and rest.isascii() and rest.isalnum()


def _loads(text: str) -> Any:
    """Masked arguments as JSON again; as text when a mask swallowed a bracket."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain_json(value: Any) -> Any:
    match value:
        case str():
            return plain(value)
        case list():
            return [_plain_json(item) for item in value]
        case dict():
            return {plain(str(key)): _plain_json(item) for key, item in value.items()}
        case _:
            return value
