"""The running text of an essay, block by block, with the way back to every place in its Markdown.

The parser (`narrator.markdown`) says what is a paragraph, a heading, a cell or a fence; it knows no places inside a
line, so marks of emphasis, escapes, links and entities are taken out here, and what remains remembers where it stood.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from narrator.markdown import make_parser

BlockKind: TypeAlias = Literal["paragraph", "heading", "item", "cell", "fence"]

_HIDDEN = re.compile(
    r"(?ms)^(?P<fence>```|~~~).*?^(?P=fence)|\A---[ \t]*\r?\n.*?^---[ \t]*\r?$|<!--.*?-->",
)
"""Front matter and comments, which no reader sees; a fence keeps what looks like one."""
_INLINE = re.compile(
    r"""
    (?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
  | \\(?P<escaped>[!-/:-@\[-`{-~])
  | (?P<link>!?\[)(?P<label>(?:[^\[\]`]|`[^`]*`|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+"[^"]*")?\)
  | <(?P<address>(?:https?://|mailto:)[^\s<>]+)>
  | (?P<tag></?(?:a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|kbd|li|mark|ol|p|pre|q|s|small|span|strong|
      sub|sup|table|tbody|td|th|thead|tr|u|ul)\b[^<>]*>)
  | (?P<entity>&(?:[A-Za-z]{2,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});)
  | (?P<mark>\*+|~~|(?<!\w)_+|_+(?!\w))
    """,
    re.VERBOSE | re.DOTALL,
)

_HEADS = re.compile(r"(?:message|msg\.?)(?: (?:no\.?|number|index|#))?|#")
"""Heads of a column of message numbers; `Messages` may as well count them."""
_NUMBERS = re.compile(r"\W*\d+(?:\s*(?:,|[-–—]|to|and)\s*\d+)*\W*")


class Block:
    """A paragraph, heading, list item, table cell or fenced block."""

    def __init__(self, kind: BlockKind, heading: str) -> None:
        self.kind = kind
        self.heading = heading
        """Text of the heading it stands under."""
        self.text = ""
        """Without marks; code spans stand in it as their content."""
        self.codes: list[tuple[int, int]] = []
        """Half-open spans of code in `text`."""
        self.escaped: set[int] = set()
        """Places in `text` of characters that a backslash made plain."""
        self.quoted = False
        """It stands in a block quotation."""
        self.level = 0
        """Of a heading: 1 to 6."""
        self.numbered = False
        """It is a cell of message numbers."""
        self._starts: list[int] = []
        self._places: list[int] = []
        self._parts: list[str] = []
        self._length = 0

    def add(self, piece: str, place: int) -> None:
        """Append text that stands at `place` of the Markdown, character for character."""
        if piece:
            self._starts.append(self._length)
            self._places.append(place)
            self._parts.append(piece)
            self._length += len(piece)

    def close(self) -> Block:
        """Put the pieces together."""
        self.text = "".join(self._parts)
        return self

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def place(self, at: int) -> int:
        """Where in the Markdown the character at `at` of the text stands."""
        found = bisect_right(self._starts, at) - 1
        return self._places[found] + at - self._starts[found] if found >= 0 else 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the Markdown that a span of the text came from, half-open."""
        return self.place(start), self.place(max(start, end - 1)) + 1


@cache
def _parser() -> MarkdownIt:
    """Blocks only."""
    return make_parser().disable(["inline", "text_join"])


def read_blocks(markdown: str) -> list[Block]:
    """All blocks of an essay, in order; front matter and comments are left out."""
    seen = _HIDDEN.sub(lambda match: match[0] if match["fence"] else re.sub(r"[^\r\n]", " ", match[0]), markdown)
    lines = re.split(r"\r\n|\n|\r", seen)
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", seen))]
    tokens = _parser().parse(seen)
    blocks: list[Block] = []
    heading, cursor, depth = "", dict[int, int](), 0
    numbered = _numbered(tokens)
    for token, before in zip(tokens, [None, *tokens], strict=False):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type not in ("inline", "fence", "code_block") or token.map is None:
            continue
        kind = _kind(token, before)
        block = Block(kind, heading)
        block.level = int(before.tag[1:]) if kind == "heading" and before is not None else 0
        block.numbered = id(token) in numbered
        block.quoted = depth > 0 and kind in ("paragraph", "item")
        for piece, place in _placed(token, lines, starts, cursor):
            if kind == "fence":
                block.add(piece, place)
            else:
                _add_inline(block, piece, place)
        blocks.append(block.close())
        heading = block.text if kind == "heading" else heading
    return [block for block in blocks if block.text.strip()]


def _numbered(tokens: Sequence[Token]) -> set[int]:
    """The cells, by `id`, that hold numbers of messages, as the head of their column says."""
    found, column, heads = set[int](), -1, dict[int, str]()
    for before, token in pairwise(tokens):
        if before.type == "table_open":
            heads = {}
        column = -1 if token.type == "tr_open" else column
        if before.type == "th_open":
            column += 1
            heads[column] = token.content.strip(" *_`").lower()
        elif before.type == "td_open":
            column += 1
            head, cell = heads.pop(column, ""), token.content.strip()
            if head == "#" and cell in ("0", "1"):
                continue  # it counts its rows
            heads[column] = head
            if _NUMBERS.fullmatch(cell) and _HEADS.fullmatch(head):
                found.add(id(token))
    return found


def _kind(token: Token, before: Token | None) -> BlockKind:
    if token.type != "inline":
        return "fence"
    kinds: dict[str, BlockKind] = {"heading_open": "heading", "td_open": "cell", "th_open": "cell"}
    inside = before.type if before is not None else ""
    return kinds.get(inside, "item" if token.level > 1 else "paragraph")


def _placed(
    token: Token, lines: Sequence[str], starts: Sequence[int], cursor: dict[int, int]
) -> Iterator[tuple[str, int]]:
    """The content of a token in stretches that stand in the Markdown as they are, each with its place.

    An inline token is one stretch where its lines follow each other without a prefix (a quotation mark, an indent).
    """
    first = token.map[0] + (token.type == "fence") if token.map else 0
    content = token.content.split("\n")
    held, at, end = "", 0, -1
    for number, line in enumerate(content):
        row = min(first + number, len(lines) - 1)
        column = max(0, lines[row].find(line, cursor.get(row, 0)))
        cursor[row] = column + len(line)
        place = starts[row] + column
        if held and place == end:
            held += line
        else:
            yield held, at
            held, at = line, place
        if number + 1 < len(content):
            held += "\n"
        end = at + len(held)
    yield held, at


def _add_inline(block: Block, text: str, place: int) -> None:
    """Append running text without its marks."""
    position = 0
    for match in _INLINE.finditer(text):
        block.add(text[position : match.start()], place + position)
        position = match.end()
        if match["code"] is not None:
            start = block.length
            block.add(match["code"], place + match.start("code"))
            block.codes.append((start, block.length))
        elif match["escaped"] is not None:
            block.escaped.add(block.length)
            block.add(match["escaped"], place + match.start("escaped"))
        elif match["link"] is not None:
            _add_inline(block, match["label"], place + match.start("label"))
        elif match["address"] is not None:
            block.add(match["address"], place + match.start("address"))
        elif match["entity"] is not None:
            block.add(html.unescape(match["entity"])[:1], place + match.start())
        elif match["tag"] is not None and re.match(r"</?(?:br|p|div|li|td|th|tr|h\d)\b", match["tag"]):
            block.add(" ", place + match.start())
    block.add(text[position:], place + position)
