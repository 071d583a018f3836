"""Citations in an essay: `[msg 12]`, `[msg 12, 15]`, `[msg 12–15]`, `[msg 12]–[msg 15]`, `[msg msg_ab…]`.

The grammar is the command line's contract. Code spans and fenced blocks hold quotations, not citations: whoever needs
that difference (`render`) works on parsed Markdown and calls `find_citations` on its text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_ITEM = r"(?:msg_[A-Za-z0-9]+…?|\d{1,9})"
_DASH = r"\s*[-–—]\s*"
_CITATION = re.compile(rf"\[msg\s+({_ITEM}(?:(?:{_DASH}|\s*,\s*)(?:msg\s+)?{_ITEM})*)\]")
_JOINED = re.compile(rf"{_DASH}\[msg\s+(\d{{1,9}})\]")
_PIECE = re.compile(rf"({_ITEM})(?:{_DASH}(?:msg\s+)?({_ITEM}))?")

LONGEST_RANGE = 400
"""A range wider than this cites its two ends only: nobody reads four hundred messages as evidence of one sentence."""


class Citation(NamedTuple):
    """One citation as it stands in a text."""

    start: int
    """Half-open span in code points, brackets included."""
    end: int
    text: str
    targets: tuple[str, ...]
    """What it names, in order: decimal indices (a range written out) and native ids as written."""


def find_citations(text: str) -> Iterator[Citation]:
    """Yield every citation of `text` in order; `[msg 3]–[msg 9]` is one, a range."""
    position = 0
    while match := _CITATION.search(text, position):
        end, inner = match.end(), match[1]
        if inner.isdecimal() and (joined := _JOINED.match(text, end)):
            end, inner = joined.end(), f"{inner}–{joined[1]}"
        yield Citation(match.start(), end, text[match.start() : end], tuple(_targets(inner)))
        position = end


def _targets(inner: str) -> Iterator[str]:
    for first, last in _PIECE.findall(inner):
        if last and first.isdecimal() and last.isdecimal() and 0 <= int(last) - int(first) <= LONGEST_RANGE:
            yield from (str(index) for index in range(int(first), int(last) + 1))
        else:
            yield first
            if last:
                yield last


def resolve(target: str, positions: Mapping[str, int], count: int) -> int | None:
    """Index that a citation's target names in a session of `count` messages; None when it names nothing.

    A native id is exact or a unique prefix (a trailing `…` is allowed).
    """
    if target.isdecimal():
        return int(target) if int(target) < count else None
    stem = target.rstrip("…")
    if stem in positions:
        return positions[stem]
    found = {index for id_, index in positions.items() if id_.startswith(stem)}
    return found.pop() if len(found) == 1 else None


def cited_indices(text: str, positions: dict[str, int], count: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Indices the text cites, ascending, and the targets that name no message, in order."""
    found: set[int] = set()
    missing: list[str] = []
    for citation in find_citations(text):
        for target in citation.targets:
            index = resolve(target, positions, count)
            if index is not None:
                found.add(index)
            elif target not in missing:
                missing.append(target)
    return tuple(sorted(found)), tuple(missing)
