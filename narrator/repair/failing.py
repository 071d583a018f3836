"""The sentences of an essay in which something failed its check, and what an essay is with one of them replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from narrator.report import Failure, Report
from narrator.verify.clauses import find_cites, find_quotations, find_sentences
from narrator.verify.prose import Block, BlockKind, read_blocks

_MARKS = "*_`~["
"""Markdown that may stand right before the first visible character of a sentence and belongs to it."""
_CLOSING = re.compile(r"(?:(?<=&)#?\w{1,31};)?[*_~`]*(?:\]\([^()\s]*\))?[*_~`]*")
_LEAD = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])?[ \t]*")
"""What stands before the text of a paragraph or of a list item on its first line."""
_HEAD = re.compile(r"\A(?:[ \t]*\n[ \t>]*|[ \t]+)")
"""What stands behind the first sentence of a block."""


class Failing(NamedTuple):
    """A sentence, heading, cell or fenced block in which something failed."""

    start: int
    """Half-open span in code points of the Markdown."""
    end: int
    text: str
    """The Markdown of the span."""
    kind: BlockKind
    heading: str
    """Text of the heading it stands under."""
    sentences: int
    failures: tuple[Failure, ...]


def find_failing(markdown: str, report: Report) -> list[Failing]:
    """The sentences in which `report` has a failure, in order; what fails across several is one of them all."""
    found: list[Failing] = []
    left = list(report.failures)
    for block in read_blocks(markdown):
        spans = list(_sentences(block, markdown))
        groups: list[tuple[int, int, list[Failure]]] = []
        for failure in left:
            touched = [number for number, (start, end) in enumerate(spans) if _overlap(failure.span, (start, end))]
            if touched:
                groups.append((touched[0], touched[-1], [failure]))
        merged = list(_merge(groups))
        for first, last, failures in merged:
            start, end = spans[first][0], spans[last][1]
            text = markdown[start:end]
            one = Failing(start, end, text, block.kind, block.heading, last - first + 1, tuple(failures))
            found.append(one)
        placed = {id(failure) for _, _, failures in merged for failure in failures}
        left = [failure for failure in left if id(failure) not in placed]
    return found


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _merge(groups: Iterable[tuple[int, int, list[Failure]]]) -> Iterator[tuple[int, int, list[Failure]]]:
    """Join those that share a sentence."""
    held: tuple[int, int, list[Failure]] | None = None
    for first, last, failures in sorted(groups, key=lambda group: group[:2]):
        if held is not None and first <= held[1]:
            held = held[0], max(held[1], last), [*held[2], *failures]
            continue
        if held is not None:
            yield held
        held = first, last, failures
    if held is not None:
        yield held


def _sentences(block: Block, markdown: str) -> Iterator[tuple[int, int]]:
    """Spans in the Markdown of a block's sentences, with the marks of emphasis, code and links that belong to them."""
    if block.kind == "fence":
        text = block.text.rstrip("\n")
        yield block.span(0, len(text))
        return
    cites = find_cites(block)
    floor = 0
    for first, last in find_sentences(block.text, cites, find_quotations(block, cites)):
        held = block.text[first:last]
        start, end = block.span(first + len(held) - len(held.lstrip()), first + len(held.rstrip()))
        while start > floor and markdown[start - 1] in _MARKS:
            start -= 1
        end = closed = _CLOSING.match(markdown, end).end()  # type: ignore[union-attr]  # it matches nothing too
        yield start, end
        floor = closed


def shape_of(markdown: str) -> list[tuple[str, str]]:
    """Kind and text of every block: what a change of one sentence leaves as it is but for one of them."""
    return [(block.kind, block.text) for block in read_blocks(markdown)]


def replace(markdown: str, one: Failing, text: str) -> str:
    """The essay with a sentence replaced, everything else to the letter."""
    return f"{markdown[: one.start]}{text}{markdown[one.end :]}"


def take_out(markdown: str, one: Failing) -> str | None:
    """The essay without a sentence; None where it cannot be left out: a heading, a cell, a block of code.

    A sentence goes with the blank before it, the first of a block with the one after it; a whole block leaves its
    neighbours as far apart as they were from it.
    """
    if one.kind not in ("paragraph", "item"):
        return None
    before, after = markdown[: one.start], markdown[one.end :]
    line = before.rfind("\n") + 1
    # Asked of the essay as it is now: its neighbours may have been left out too.
    spans = next(found for found in _spans(markdown) if any(start <= one.start < end for start, end in found))
    if all(_overlap(span, (one.start, one.end)) for span in spans):
        return _without_block(before[:line], after) if _LEAD.fullmatch(before[line:]) else None
    if spans[0][0] == one.start:
        return before + _HEAD.sub("", after, count=1)
    if _is_blank(before[line:]):
        before = before[: max(0, line - 1)]
    before, rest = before.rstrip(" \t"), after.lstrip(" \t")
    return before + (rest if rest[:1] in ("", "\n") else after)


def _spans(markdown: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the spans of every block's sentences."""
    return (list(_sentences(block, markdown)) for block in read_blocks(markdown))


def _is_blank(line: str) -> bool:
    """Whether nothing stands on a line but the marks of a quotation."""
    return not line.strip(" \t>")


def _without_block(before: str, after: str) -> str:
    """What stands before and after the lines of a block, with one empty line between where there was one."""
    above, below = before.split("\n")[:-1], after.split("\n")[1:]
    gap: list[str] = []
    while above and _is_blank(above[-1]):
        gap.append(above.pop())
    while below and _is_blank(below[0]):
        gap.append(below.pop(0))
    if not below:
        return "\n".join(above) + ("\n" if after.endswith("\n") else "")
    if not above or not gap:
        return "\n".join([*above, *below])
    quoted = all(">" in line for line in gap) and below[0].lstrip().startswith(">")
    return "\n".join([*above, ">" if quoted else "", *below])


def keeps_shape(markdown: str, changed: str, *, fewer: bool) -> bool:
    """Whether a changed essay has the same blocks but for the text of one; `fewer`: or one of them less."""
    old, new = shape_of(markdown), shape_of(changed)
    if len(old) == len(new):
        different = [number for number, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        return len(different) <= 1 and all(old[at][0] == new[at][0] for at in different)
    gone = next((at for at, one in enumerate(new) if one != old[at]), len(new)) if len(new) < len(old) else 0
    return fewer and len(old) == len(new) + 1 and old[:gone] + old[gone + 1 :] == new
