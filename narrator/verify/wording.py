"""Words as they are compared: white space, quotation marks, dashes, Markdown and case made alike on both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from narrator.sanitize import plain

_ALIKE = str.maketrans(
    dict.fromkeys("‘’ʼ‚‛′", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u2007\u2009\u202f", " ")
    | dict.fromkeys("*`\\\u200b\u2060\ufeff\u00ad", "")
)
_WRITTEN_BREAK = re.compile(r"\\[nt](?![a-z])")
"""A line break or tab inside recorded JSON, spelt out."""
_GAP = re.compile(r"\[\s*(?:…|\.{3,})[^\[\]\n]*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3,}")
"""What a writer puts where words were left out; also the product's own mark of a shortened text."""
EDGES = " \t\n.,;:!?-\"'()"
"""Punctuation that the sentence round a quotation may bring or take."""


def fold(text: str) -> str:
    """The text as it is compared: on one line, without what a quotation may change."""
    if "\\" in text:
        text = _WRITTEN_BREAK.sub(" ", text).replace("\\", "")
    if text.isascii():
        return " ".join(text.replace("*", "").replace("`", "").lower().split())
    return " ".join(text.translate(_ALIKE).casefold().split())


def pieces(quote: str, *, trim: bool = False) -> list[str]:
    """The stretches of a quotation between its gaps, folded; empty ones left out.

    A gap that touches a word may stand inside it: the stretch then begins or ends with `…`. `trim` takes the
    punctuation off that a sentence round the quotation may have brought.
    """
    text = plain(quote)
    parts, gaps = _GAP.split(text), ["", *_GAP.findall(text), ""]
    found = []
    for number, part in enumerate(parts):
        piece, counted = fold(part), ["characters left out" in gap for gap in gaps[number : number + 2]]
        opened = number > 0 and (counted[0] or part[:1].isalnum())
        cut = number < len(parts) - 1 and (counted[1] or not part[-1:].isspace())
        piece = (piece if opened else piece.lstrip(EDGES)) if trim else piece
        piece = (piece if cut else piece.rstrip(EDGES)) if trim else piece
        if piece:
            found.append(f"{'…' if opened else ''}{piece}{'…' if cut else ''}")
    return found


def bare(piece: str) -> str:
    """A stretch without the marks of its open ends."""
    return piece.strip("…")


def find_pieces(wanted: Sequence[str], text: str) -> tuple[int, int] | None:
    """Half-open span from the first to the last of several stretches that stand in `text` in this order."""
    start, position = -1, 0
    for piece in wanted:
        words = bare(piece)
        at = _find(words, text, position, before=piece[0] == "…", behind=piece[-1] == "…")
        if at < 0:
            return None
        start = at if start < 0 else start
        position = at + len(words)
    return (start, position) if start >= 0 else None


def _find(piece: str, text: str, position: int, *, before: bool, behind: bool) -> int:
    """Where a stretch stands at the borders of words; -1 if nowhere. `before`, `behind`: it may begin, end in one."""
    at = text.find(piece, position)
    while at >= 0:
        end = at + len(piece)
        inside = (not before and at > 0 and text[at - 1].isalnum() and piece[0].isalnum()) or (
            not behind and end < len(text) and text[end].isalnum() and piece[-1].isalnum()
        )
        if not inside and (before or behind or not _cuts_number(text, at, end)):
            return at
        at = text.find(piece, at + 1)
    return -1


def _cuts_number(text: str, start: int, end: int) -> bool:
    """Whether the span ends or begins inside a number: `1.2` is not in `11.2` nor in `1.25`, `5.2` not in `5.2.0`."""
    before = start > 1 and text[start].isdigit() and text[start - 1] in ".," and text[start - 2].isdigit()
    after = end + 1 < len(text) and text[end - 1].isdigit() and text[end] in ".," and text[end + 1].isdigit()
    return before or after


def original(raw: str, wanted: Sequence[str], limit: int = 400) -> str:
    """The words of `raw` that folded stretches were found in, as they were recorded."""
    loose = r"[\s*`\\,]*"
    patterns = [loose.join(_character(char) for char in bare(piece) if char != " ") for piece in wanted]
    gap = r"[\s\S]*?"
    found = re.search(gap.join(patterns), raw, re.IGNORECASE)
    return found[0][:limit] if found is not None else " ".join(map(bare, wanted))[:limit]


def _character(char: str) -> str:
    alike = {"'": "['‘’ʼ‚‛′]", '"': '["“”„‟″«»]', "-": "[-‐‑‒–—―−]"}
    return alike.get(char, re.escape(char))


class Near(NamedTuple):
    """Recorded words that are like those of a quotation."""

    ratio: float
    """Share of words in common, 0 to 1."""
    text: str


def find_near(quote: str, raw: str) -> Near:
    """The stretch of `raw` most like a quotation: where most of its rarer words stand close together."""
    wanted = [word for piece in pieces(quote) for word in bare(piece).split()]
    recorded = raw.split()
    folded = [fold(word).strip(EDGES) for word in recorded]
    asked = [word.strip(EDGES) for word in wanted]
    counts = Counter(folded)
    votes: Counter[int] = Counter()
    places = {word: at for at, word in enumerate(asked) if 0 < counts[word] <= 60}
    for at, word in enumerate(folded):
        if word in places:
            votes[(at - places[word]) // 3] += 1
    best = Near(0.0, "")
    for group, _ in votes.most_common(3):
        start = max(0, group * 3 - 2)
        window = folded[start : start + len(asked) + 6]
        matcher = SequenceMatcher(None, asked, window, autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        if not blocks:
            continue
        first, last = blocks[0].b, blocks[-1].b + blocks[-1].size
        first, last = max(0, first - blocks[0].a), min(len(window), last + len(asked) - blocks[-1].a - blocks[-1].size)
        ratio = SequenceMatcher(None, asked, window[first:last], autojunk=False).ratio()
        if ratio > best.ratio:
            best = Near(ratio, " ".join(recorded[start + first : start + last])[:400])
    return best
