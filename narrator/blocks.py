"""A session document in blocks of whole messages, so that one message is read without the others.

A document of 300 MB need be neither in memory nor decoded to show one message of it. It is cut at places where one
message may end and the next begin, and every block must then be a JSON list of its own. Blocks that are lists, with the
commas between them and a head and a tail that make a document together, prove the whole: a cut inside a string or
inside a message would leave at least one block that is none.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from narrator.document import Level, decode_levels
from narrator.mending import mend
from narrator.source import Source

BLOCK = 1 << 17
"""Bytes read at once, and to be decoded to get at one message; they stay in a processor's cache meanwhile."""
_HEAD = 1 << 22
"""Bytes at most before the first message: what a session says of itself may hold a diff."""
_KEPT = 32
"""Blocks that are kept decoded."""
_OPENING = re.compile(rb'(?:"messages"\s*:\s*|\A\s*)\[\s*(?=\{\s*"info")')
_BARE, _OBJECT = re.compile(rb"\s*\["), re.compile(rb"\s*\{")
_BETWEEN = re.compile(rb"[\s,]*")
_BORDER = re.compile(rb"\}\s*,\s*\{\s*\Z")
_BRACKETS, _OPEN, _CLOSE = 2, ord("["), ord("]")
_FIRST_KEY = b'"info"'
"""The first key of every message an export holds. A string cannot hold it: its quotes would be escaped there."""
_REACH = 256
"""Bytes before that key in which the end of the message before must stand."""
_LIST: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


Take: TypeAlias = Callable[[memoryview], int]
"""Takes what it wants from a block, a JSON list of messages, and says how many there are.

Raises DecodeError when it is not a list as strict JSON writes it. The block is good until the call returns.
"""


class Layout(Struct, frozen=True, kw_only=True):
    """Where the blocks of a document stand."""

    head: int
    """Bytes before the first message."""
    tail: int
    """Where the last message ends."""
    starts: array[int]
    """`array('q')`: where each block begins."""
    ends: array[int]
    """`array('q')`: where it ends."""
    firsts: array[int]
    """`array('i')`: index of its first message, and last the number of messages."""
    mended: tuple[int, ...] = ()
    """Numbers of the blocks that strict JSON refuses as they stand."""


class Blocks:
    """A document in blocks."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self._source = source
        self.layout = layout
        self._block = lru_cache(maxsize=_KEPT)(self._decode)

    def __len__(self) -> int:
        return self.layout.firsts[-1]

    def stored(self) -> int:
        """Bytes of all messages as stored; what stands between two is taken to be as long everywhere."""
        layout = self.layout
        whole = sum(layout.ends) - sum(layout.starts)
        number = next((k for k, first in enumerate(layout.firsts[:-1]) if layout.firsts[k + 1] > first + 1), None)
        if number is None:
            return whole
        messages = [len(memoryview(raw)) for raw in self._block(number)]
        between = (layout.ends[number] - layout.starts[number] - sum(messages)) // (len(messages) - 1)
        return whole - between * (len(self) - len(layout.starts))

    def message(self, index: int) -> Raw:
        """Message `index` as stored, mended where it had to be."""
        number = bisect_right(self.layout.firsts, index, hi=len(self.layout.starts)) - 1
        return self._block(number)[index - self.layout.firsts[number]]

    def walk(self) -> Iterator[bytes | bytearray]:
        """Every block as a JSON list, in order."""
        return map(self._text, range(len(self.layout.starts)))

    def find(self, wanted: Callable[[bytes | bytearray], bool]) -> Iterator[int]:
        """Messages whose stored JSON is `wanted`, in order; what is wanted in a message must be wanted in its block."""
        for number, first in enumerate(self.layout.firsts[:-1]):
            if wanted(text := self._text(number)):
                yield from (first + place for place, raw in enumerate(_LIST.decode(text)) if wanted(bytes(raw)))

    def top(self) -> dict[str, Level]:
        """What stands beside the messages."""
        tail = self._source.read(self.layout.tail, self._source.size)
        value = decode_levels(self._source.read(0, self.layout.head) + tail)
        return value if isinstance(value, dict) else {}

    def digest(self) -> str:
        """SHA-256 of the document, hexadecimal; white space before it does not count."""
        digest, layout = hashlib.sha256(), self.layout
        digest.update(self._source.read(0, layout.head).lstrip(b" \t\r\n"))
        before = layout.head
        for number, (start, end) in enumerate(zip(layout.starts, layout.ends, strict=True)):
            digest.update(self._source.read(before, start - before))
            digest.update(self._text(number)[1:-1])
            before = end
        digest.update(self._source.read(before, self._source.size - before))
        return digest.hexdigest()

    def _text(self, number: int) -> bytes | bytearray:
        start, end = self.layout.starts[number], self.layout.ends[number]
        text = bytearray(end - start + _BRACKETS)
        self._source.read_into(memoryview(text)[1:-1], start)
        text[0], text[-1] = _OPEN, _CLOSE
        return mend(bytes(text))[0] if number in self.layout.mended else text

    def _decode(self, number: int) -> list[Raw]:
        return _LIST.decode(self._text(number))


def lay_out(source: Source, take: Take) -> tuple[Layout, tuple[str, ...]] | None:
    """The layout of a document, and what had to be mended in it, one phrase each.

    `take` is called with every block, in order. None when the source is not one document of this shape, from its first
    byte to its last: whoever gets None reads it in the slower way, which says what is wrong.

    Raises:
        SessionError: the file was changed while it was read.
    """
    opening = _find_opening(source)
    if opening is None:
        return None
    starts, ends, firsts, mended = array("q"), array("q"), array("i", [0]), []
    notes: Counter[str] = Counter()
    for start, text in _cuts(source, opening):
        try:
            last = start + len(text) - _BRACKETS == source.size
            block = _without_tail(bytes(text[1:-1])) if last else text
            count = _taken(block, take)
            if count is None:
                better, told = mend(bytes(block))
                notes.update(told)
                mended.append(len(starts))
                count = take(memoryview(better))
        except (msgspec.DecodeError, RecursionError):
            return None
        starts.append(start)
        ends.append(start + len(block) - _BRACKETS)
        firsts.append(firsts[-1] + count)
    layout = Layout(head=opening, tail=ends[-1], starts=starts, ends=ends, firsts=firsts, mended=tuple(mended))
    if not _closes(source.read(0, opening), source.read(layout.tail, source.size)):
        return None
    return layout, tuple(f"{count} {what}" for what, count in notes.items())


def _taken(block: memoryview, take: Take) -> int | None:
    try:
        return take(block)
    except msgspec.DecodeError:
        return None


def _find_opening(source: Source) -> int | None:
    """Where the first message begins."""
    length = BLOCK
    while True:
        head = source.read(0, length)
        if found := _OPENING.search(head):
            return found.end() if _closes(head[: found.end()], b"]" if _BARE.match(head) else b"]}") else None
        if length >= min(_HEAD, source.size) or not _OBJECT.match(head):
            return None
        length = min(8 * length, _HEAD)


def _closes(head: bytes, tail: bytes) -> bool:
    """Whether head and tail are a document without messages."""
    try:
        value = decode_levels(head + tail)
    except (msgspec.DecodeError, RecursionError):
        return False
    return (value.get("messages") if isinstance(value, dict) else value) == []


def _cuts(source: Source, opening: int) -> Iterator[tuple[int, memoryview]]:
    """Where each block begins, and its text between brackets; that of the last goes on to the end of the file.

    The text is good until the next is asked for: it stands in a buffer that is filled again, and the brackets are
    written over what stands beside it there. A message larger than a block is read in ever larger pieces, so that none
    is looked at more than a few times.
    """
    buffer = bytearray(2 * BLOCK + _BRACKETS)
    start, held, size = opening, 0, BLOCK
    buffer[0] = _OPEN
    while True:
        if len(buffer) < held + size + _BRACKETS:
            buffer = buffer[: held + 1] + bytearray(2 * size)
        held += source.read_into(memoryview(buffer)[held + 1 : held + 1 + size], start + held)
        if start + held >= source.size:
            buffer[held + 1] = _CLOSE
            yield start, memoryview(buffer)[: held + _BRACKETS]
            return
        border = _last_border(buffer, max(2, held - size - _REACH), held + 1)
        if border is None:
            size = held
            continue
        end, following = border
        buffer[end] = _CLOSE
        yield start, memoryview(buffer)[: end + 1]
        rest = buffer[following : held + 1]
        buffer[1 : len(rest) + 1] = rest
        start, held = start + following - 1, len(rest)
        size = max(BLOCK - held, held)


def _last_border(text: bytearray, start: int, end: int) -> tuple[int, int] | None:
    """Where the last message that is whole ends, and where the next begins, in `text[start:end]`."""
    place = end
    while (place := text.rfind(_FIRST_KEY, start, place)) > 0:
        begin = max(0, place - _REACH)
        before = text[begin:place]
        if found := _BORDER.search(before):
            return begin + found.start() + 1, begin + before.rindex(b"{")
    return None


def _without_tail(text: bytes) -> memoryview:
    """A block from a text that begins with a message and goes on to the end of the document.

    Raises:
        DecodeError: the text does not end the list, or cannot be read strictly.
    """
    value = decode_levels(b'{"messages":[' + text if text.rstrip().endswith(b"}") else b"[" + text)
    messages = value.get("messages") if isinstance(value, dict) else value
    end = 0
    for raw in messages if isinstance(messages, list) else []:
        end = _BETWEEN.match(text, end).end() + len(memoryview(raw))  # type: ignore[union-attr]  # matches anywhere
    return memoryview(b"".join((b"[", text[:end], b"]")))
