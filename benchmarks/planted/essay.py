"""An essay as the planter reads it: paragraphs, the claims its citations close, its quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from planted.recording import Recording, words_of

CITATION = re.compile(r"\[msg \d+(?:[–-]\d+)?(?:, \d+(?:[–-]\d+)?)*\](?:[–-]\[msg \d+\])?")
_FENCE = re.compile(r"(?ms)^```.*?^```$")
_OURS = re.compile(r"(?m)^(?:#.*|---|\*Written offline.*|\*Essay on message.*)$")
"""Headings, and what the product says about its own page."""
_QUOTED = re.compile(r"`(?P<code>[^`\n]+)`|“(?P<curly>[^”\n]+)”|(?<![\w\"])\"(?P<straight>[^\"\n]+)\"(?!\w)")
_SENTENCE = re.compile(r"(?<=[.?!])[\"”’*]*\s+(?=[A-Z“\"`*\[])|\n")


class Quotation(NamedTuple):
    """Words in quotation marks or code; the span is that of the words, without the marks."""

    start: int
    end: int
    words: str
    code: bool


class Claim(NamedTuple):
    """What one citation closes: the text of its paragraph from the citation before it, or from the beginning."""

    start: int
    """Half-open; ends where the citation begins."""
    end: int
    closes: tuple[int, int]
    """Span of the citation."""
    cites: tuple[int, ...]
    nearby: frozenset[int]
    """Every message its paragraph cites or names."""
    paragraph: tuple[int, int]


class Essay:
    """A clean essay with its recording."""

    def __init__(self, name: str, markdown: str, recording: Recording, target: int, writer: str) -> None:
        self.name = name
        self.markdown = markdown
        self.recording = recording
        self.target = target
        self.writer = writer

    @cached_property
    def paragraphs(self) -> list[tuple[int, int]]:
        """Spans of running text: no fence, no heading, no line of the product's own; a list item is one of its own."""
        blank = self.markdown
        for pattern in (_FENCE, _OURS):
            blank = pattern.sub(lambda match: "\n" * len(match[0]), blank)
        return [(match.start(), match.end()) for match in re.finditer(r"[^\n]+", blank)]

    @cached_property
    def quotations(self) -> list[Quotation]:
        """In order, none inside another."""
        found = []
        for start, end in self.paragraphs:
            for match in _QUOTED.finditer(self.markdown, start, end):
                kind = match.lastgroup or ""
                found.append(Quotation(match.start(kind), match.end(kind), match[kind], kind == "code"))
        return found

    @cached_property
    def fenced(self) -> list[Quotation]:
        """Lines of fenced blocks that the target has: it is shown there to the letter."""
        found = []
        for fence in _FENCE.finditer(self.markdown):
            for line in re.finditer(r"(?m)^.*\w.*$", fence[0]):
                if words_of(line[0]).strip() in self.recording.words(self.target):
                    start = fence.start() + line.start()
                    found.append(Quotation(start, start + len(line[0]), line[0], code=True))
        return found

    def nearby(self, place: int) -> frozenset[int] | None:
        """Messages that what stands at a place may rest on; None where nothing ties it to one."""
        if (claim := self.claim_at(place)) is not None:
            return claim.nearby
        return frozenset([self.target]) if any(one.start <= place < one.end for one in self.fenced) else None

    @cached_property
    def claims(self) -> list[Claim]:
        """In order. What follows the last citation of a paragraph is no claim."""
        return [claim for paragraph in self.paragraphs for claim in self._claims(paragraph)]

    def _claims(self, paragraph: tuple[int, int]) -> Iterator[Claim]:
        position, end = paragraph
        text = self.markdown[position:end]
        nearby = frozenset(index for match in CITATION.finditer(text) for index in messages_of(match[0]))
        nearby |= {int(number) for number in re.findall(r"\b[Mm]essages? (\d+)", text)} | {self.target}
        nearby = frozenset(index for index in nearby if index < len(self.recording))
        for match in CITATION.finditer(self.markdown, position, end):
            if not self.is_quoted(match.start()):
                yield Claim(position, match.start(), match.span(), messages_of(match[0]), nearby, paragraph)
                position = match.end()

    def claim_at(self, place: int) -> Claim | None:
        """The claim that holds a place."""
        return next((claim for claim in self.claims if claim.start <= place < claim.end), None)

    def quotation_at(self, place: int) -> Quotation | None:
        """The quotation that holds a place."""
        return next((one for one in self.quotations if one.start <= place < one.end), None)

    def is_quoted(self, place: int) -> bool:
        """Whether a place lies inside a quotation."""
        return self.quotation_at(place) is not None

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Spans of the sentences, in order; a full stop inside a quotation ends none."""
        found = []
        for start, end in self.paragraphs:
            cuts = [match.end() for match in _SENTENCE.finditer(self.markdown, start, end)]
            cuts = [start, *(cut for cut in cuts if not self.is_quoted(cut - 1) and cut < end), end]
            found += list(pairwise(cuts))
        return found

    def sentence_at(self, place: int) -> tuple[int, int]:
        """Span of the sentence that holds a place."""
        return next(one for one in self.sentences if one[0] <= place < one[1])


def messages_of(citation: str) -> tuple[int, ...]:
    """Messages a citation names, ranges spelled out."""
    ranges = re.findall(r"(\d+)(?:(?:\])?[–-](?:\[msg )?(\d+))?", citation)
    return tuple(index for first, last in ranges for index in range(int(first), int(last or first) + 1))
