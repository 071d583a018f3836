"""Where in its Markdown each piece of a parsed text stands: the parser keeps lines, and no places inside them.

Each token says what its source looks like (its text, its marks, its ticks), so its place is where that stands behind
the token before. What cannot be found has no place, and whoever asks goes without.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it.token import Token

_BREAK = re.compile(r"(?:\\|[ \t]*)\n[ \t]*")
_TARGET = re.compile(
    r"""\]\(\s*(?:<[^<>\n]*>|(?:[^()\s\\]|\\.|\((?:[^()\s\\]|\\.)*\))*)
    (?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)""",
    re.VERBOSE | re.DOTALL,
)
"""What closes a link: its address and title."""


class Place(NamedTuple):
    """A half-open span in code points of the Markdown."""

    start: int
    end: int


class Lines:
    """The lines of a Markdown text, by number, as the parser counts them."""

    def __init__(self, markdown: str) -> None:
        self.text = markdown
        self._lines = markdown.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._reached: dict[int, int] = {}

    def pieces(self, token: Token) -> Pieces:
        """Where the content of a block's token stands; the cells of one row are to be asked for in order."""
        pieces = Pieces()
        if token.map is None:
            return pieces
        first = token.map[0] + (token.type == "fence")
        at = 0
        for number, line in enumerate(token.content.split("\n"), first):
            if number >= len(self._lines):
                break
            for start, length, skipped in self._find(line, number):
                pieces.add(at + skipped, start, length)
            at += len(line) + 1
        return pieces

    def _find(self, line: str, number: int) -> Iterator[tuple[int, int, int]]:
        """Yield the stretches of a line of content: place in the text, length, place in the line."""
        source, reached = self._lines[number], self._reached.get(number, 0)
        column = source.find(line, reached)
        if column >= 0:
            self._reached[number] = column + len(line)
            yield self._starts[number] + column, len(line), 0
            return
        escaped = line.replace("|", "\\|")
        column = source.find(escaped, reached)
        if column < 0 or escaped == line:
            return
        self._reached[number] = column + len(escaped)
        skipped = 0
        for cell in re.findall(r"\|?[^|]*", line):
            column += cell.startswith("|")
            yield self._starts[number] + column, len(cell), skipped
            column, skipped = column + len(cell), skipped + len(cell)


class Pieces:
    """Where the stretches of a content stand in the whole text, in order."""

    def __init__(self) -> None:
        self._from: list[int] = []
        self._to: list[int] = []
        self._lengths: list[int] = []

    def add(self, at: int, place: int, length: int) -> None:
        """Say that `length` characters of the content from `at` stand at `place`."""
        self._from.append(at)
        self._to.append(place)
        self._lengths.append(length)

    def place(self, at: int) -> int | None:
        """Where the character at `at` of the content stands; its end counts as one more."""
        found = bisect_right(self._from, at) - 1
        if found < 0 or at - self._from[found] > self._lengths[found]:
            return None
        return self._to[found] + at - self._from[found]

    def span(self, start: int, end: int) -> Place | None:
        """Where a stretch of the content that is not empty stands."""
        first, last = self.place(start), self.place(end - 1)
        return None if end <= start or first is None or last is None or last < first else Place(first, last + 1)

    def stretches(self) -> Iterator[tuple[int, Place]]:
        """Yield place in the content and in the text of each stretch."""
        for at, place, length in zip(self._from, self._to, self._lengths, strict=True):
            yield at, Place(place, place + length)


class Spot(NamedTuple):
    """Where a token of running text stands in the content of its block."""

    start: int
    """Of what is seen of it: without ticks and brackets."""
    end: int
    behind: int
    """Where it is over, ticks and brackets included."""


def find_spots(tokens: Sequence[Token], content: str) -> list[Spot]:
    """Where each token of a block's running text stands in its content, before any of them is joined or cut."""
    spots: list[Spot] = []
    at = 0
    for token in tokens:
        spot = _spot(token, content, at)
        at = max(at, spot.behind)
        spots.append(spot)
    return spots


def _spot(token: Token, content: str, at: int) -> Spot:
    spot = _literally(_looks(token), content, at)
    match token.type:
        case "softbreak" | "hardbreak":
            found = _BREAK.search(content, at)
            spot = Spot(at, at, found.end() if found is not None else at)
        case "code_inline":
            spot = _code(token, content, at)
        case "link_close" if token.markup != "autolink":
            spot = _closed(Spot(at, at, at), content)
        case "image":
            spot = _closed(spot, content)
        case _:
            pass
    return spot


def _looks(token: Token) -> str:
    """What a token's source begins with."""
    match token.type:
        case "text":
            return token.content
        case "image":
            return f"![{token.content}"
        case "link_open" | "link_close" if token.markup == "autolink":
            return "<" if token.nesting > 0 else ">"
        case "link_open":
            return "["
        case _:
            return token.markup


def _closed(label: Spot, content: str) -> Spot:
    """A link or image with what closes it."""
    found = _TARGET.match(content, label.end)
    return label if found is None else label._replace(behind=found.end())


def _literally(text: str, content: str, at: int) -> Spot:
    start = content.find(text, at) if text else at
    return Spot(at, at, at) if start < 0 else Spot(start, start + len(text), start + len(text))


def _code(token: Token, content: str, at: int) -> Spot:
    """A code span: from its ticks to as many ticks."""
    ticks = re.escape(token.markup)
    found = re.compile(rf"(?<!`){ticks}(?!`)(.+?)(?<!`){ticks}(?!`)", re.DOTALL).search(content, at)
    if found is None:
        return Spot(at, at, at)
    padded = len(found[1]) - len(token.content) == 2  # a blank on either side
    start, end = found.span(1)
    return Spot(start + padded, end - padded, found.end())
