"""Skims and the layout of their blocks as bytes, to be kept on a shelf, and back."""

from __future__ import annotations

import sys
from array import array
from typing import NamedTuple

import msgspec
from msgspec import Struct

from narrator import __version__
from narrator.blocks import Layout
from narrator.shelf import Shelf
from narrator.skims import Columns

SALT = f"skims 3 {__version__} {sys.byteorder} {array('i').itemsize} {array('q').itemsize}"
"""What else kept skims depend on: their rules, the version that wrote them, and the machine's numbers."""
_SKIMS, _TRAITS = "skims", "traits"
_LAYOUT = ("starts", "ends", "firsts")
_COLUMNS = ("created", "completed", "sent", "models", "finishes", "said", "sayings", "calls", "subjects")
_CODES = ("kinds", "roles", "outcomes", "steps")
_LENGTH = 8


class _Header(Struct, frozen=True):
    head: int
    tail: int
    mended: tuple[int, ...]
    words: list[str | None]
    notes: tuple[str, ...]
    doubled: int
    sizes: list[int]
    """Bytes of each array that follows."""


class Kept(NamedTuple):
    """What is known of a session from one pass over it, as recorded."""

    layout: Layout
    notes: tuple[str, ...]
    """What had to be mended, one phrase each."""
    columns: Columns
    parents: array[int]
    """`Columns.link`."""


def keep(shelf: Shelf, kept: Kept) -> None:
    """Put it on a shelf."""
    layout, notes, columns, parents = kept
    arrays = [getattr(layout, name).tobytes() for name in _LAYOUT]
    arrays += [getattr(columns, name).tobytes() for name in _COLUMNS]
    arrays += [bytes(getattr(columns, name)) for name in _CODES]
    arrays += [parents.tobytes(), msgspec.json.encode(columns.ids)]
    header = msgspec.json.encode(
        _Header(
            head=layout.head,
            tail=layout.tail,
            mended=layout.mended,
            words=list(columns.words),
            notes=notes,
            doubled=columns.doubled,
            sizes=[len(data) for data in arrays],
        )
    )
    shelf.put(_SKIMS, [len(header).to_bytes(_LENGTH, "little"), header, *arrays])


def recall(shelf: Shelf) -> Kept | None:
    """What `keep` put on this shelf; None when there is nothing."""
    data = shelf.get(_SKIMS)
    if data is None:
        return None
    at = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    header = msgspec.json.decode(data[_LENGTH:at], type=_Header)
    pieces = []
    for size in header.sizes:
        pieces.append(data[at : at + size])
        at += size
    taken = iter(pieces)
    starts, ends, firsts = (_array(kind, next(taken)) for kind in "qqi")
    layout = Layout(head=header.head, tail=header.tail, starts=starts, ends=ends, firsts=firsts, mended=header.mended)
    columns = Columns()
    for name in _COLUMNS:
        getattr(columns, name).frombytes(next(taken))
    for name in _CODES:
        getattr(columns, name).extend(next(taken))
    for word in header.words:
        _ = columns.words[word]  # each gets the code it had
    parents = _array("i", next(taken))
    columns.doubled = header.doubled
    columns.stored_ids = bytes(next(taken))
    return Kept(layout, header.notes, columns, parents)


def keep_traits(shelf: Shelf, traits: array[int]) -> array[int]:
    """Put traits on a shelf, and give them back."""
    shelf.put(_TRAITS, [traits.tobytes()])
    return traits


def recall_traits(shelf: Shelf) -> array[int] | None:
    """What `keep_traits` put on this shelf."""
    data = shelf.get(_TRAITS)
    return None if data is None else _array("I", data)


def _array(kind: str, data: memoryview) -> array[int]:
    made: array[int] = array(kind)
    made.frombytes(data)
    return made
