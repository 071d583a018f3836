"""Codes for what comes again and again in a session (words, models, commands), while columns are filled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec

_BEGINS, _ENDS = (b'" ', b'"\\'), (b' "', b'\\n"', b'\\t"', b'\\r"')
"""How a stored string begins and ends that may have white space there."""


class Words(dict[str | None, int]):
    """A code for every word that is asked for, in the order in which they come."""

    def __init__(self, words: Iterable[str | None] = (None,)) -> None:
        super().__init__((word, code) for code, word in enumerate(words))

    def __missing__(self, word: str | None) -> int:
        code = self[word] = len(self)
        return code


class Models(dict[tuple[str | None, str | None], int]):
    """(provider, model) → the code of both in `Words`; one without the other is none."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, key: tuple[str | None, str | None]) -> int:
        provider, model = key
        code = self[key] = self._words[f"{provider}/{model}" if provider and model else None]
        return code


class Subjects(dict[bytes, int]):
    """A number for every distinct command or path, as stored, but for white space round it; 0 for what is none."""

    def __init__(self) -> None:
        super().__init__({b"": 0, b"null": 0, b'""': 0})

    def __missing__(self, stored: bytes) -> int:
        number = self.setdefault(_trimmed(stored), len(self) - 2)
        return self.setdefault(stored, number)


def _trimmed(stored: bytes) -> bytes:
    """A stored string without white space round it; what is none stays as it is."""
    if stored.startswith(_BEGINS) or stored.endswith(_ENDS):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.encode(msgspec.json.decode(stored, type=str).strip())
    return stored
