"""Two drafts side by side: what differs in what they were made from, and their essays paragraph by paragraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from narrator.draft import Draft
from narrator.markdown import make_parser
from narrator.prices import dollars
from narrator.sections import read_parts

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_LEAST_ALIKE = 0.2
"""Share of words in common from which two paragraphs, or sections, stand beside each other."""
_MOST_PAIRS = 400_000
"""Comparisons from which on parts are paired by their place alone."""

Item = TypeVar("Item")


class Fact(NamedTuple):
    """Something a draft says of itself."""

    name: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        """Whether the two say different things."""
        return self.left != self.right


class Piece(NamedTuple):
    """A stretch of a paragraph."""

    text: str
    changed: bool
    """It stands on this side only."""


class Row(NamedTuple):
    """A paragraph and its counterpart; () where there is none."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...]

    @property
    def differs(self) -> bool:
        """Whether a word stands on one side only."""
        return any(piece.changed for piece in (*self.left, *self.right))


class Comparison(NamedTuple):
    """Two drafts, compared."""

    facts: tuple[Fact, ...]
    """Of both; those that say the same as well."""
    rows: tuple[Row, ...]

    @property
    def differs(self) -> bool:
        """Whether anything shown differs."""
        return any(fact.differs for fact in self.facts) or any(row.differs for row in self.rows)


def compare_drafts(left: Draft, right: Draft) -> Comparison:
    """What differs between two drafts, be they about the same message or not."""
    pairs = zip(_facts(left), _facts(right), strict=True)
    facts = tuple(Fact(name, one, other) for (name, one), (_, other) in pairs)
    return Comparison(facts, tuple(_rows(left.essay.final, right.essay.final)))


def _facts(draft: Draft) -> Iterator[tuple[str, str]]:
    session, usage, model = draft.session, draft.usage, draft.model
    yield "session", f"{session.title} ({session.id}, {session.sha256[:8]})"
    yield "message", f"{draft.target.index} ({draft.target.role})"
    yield "style", f"{draft.style.name} {draft.style.version} (prompt {(draft.style.prompt_sha256 or 'unknown')[:8]})"
    yield "model", f"{model.name}{f' at {model.base_url}' if model.base_url else ''}" if model else "none, offline"
    yield "settings", _named(draft.settings)
    yield "sent", _named(model.settings if model else {})
    yield "evidence", (draft.evidence_sha256 or "unknown")[:8]
    yield "tokens", f"{usage.input:,} in ({usage.cached:,} cached), {usage.output:,} out" if usage else "not counted"
    yield "cost", f"{dollars(draft.cost.usd)} by {draft.cost.source}" if draft.cost else "unknown"
    yield (
        "check",
        ", ".join(f"{count} {name}" for name, count in dict(draft.check.counts).items()) if (draft.check) else "none",
    )
    yield "words", f"{len(draft.essay.final.split()):,}"


def _named(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(settings.items())) or "none"


def _rows(left: str, right: str) -> Iterator[Row]:
    """Sections beside the section that is most like them, and in them paragraphs beside paragraphs."""
    for one, other in _align(list(_sections(left)), list(_sections(right)), _alike_sections):
        for first, second in _align(one or [], other or [], _alike):
            yield _row(first or "", second or "")


def _sections(markdown: str) -> Iterator[list[str]]:
    """The blocks of each section: what stands before the first heading, and each headed one with its heading."""
    parts = read_parts(markdown)
    places = [0, *(part.start for part in parts[1:]), len(markdown)]
    for start, end in pairwise(places):
        yield list(_blocks(markdown[start:end]))


def _blocks(markdown: str) -> Iterator[str]:
    """Paragraphs, headings, lists, tables and blocks of code, each whole."""
    lines = re.split(r"\r\n|\n|\r", markdown)
    for token in make_parser().parse(markdown):
        if token.level == 0 and token.nesting >= 0 and token.map is not None:
            yield "\n".join(lines[token.map[0] : token.map[1]]).strip()


def _align(
    left: Sequence[Item], right: Sequence[Item], alike: Callable[[Item, Item], float]
) -> Iterator[tuple[Item | None, Item | None]]:
    """Both in their order, with those beside each other that are most alike in all."""
    if len(left) * len(right) > _MOST_PAIRS:
        longest = max(len(left), len(right))
        yield from zip(
            [*left, *[None] * (longest - len(left))], [*right, *[None] * (longest - len(right))], strict=True
        )
        return
    likeness = [[alike(one, other) for other in right] for one in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            both = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] >= _LEAST_ALIKE else 0.0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(left) and j < len(right):
        if likeness[i][j] >= _LEAST_ALIKE and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            yield left[i], right[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            yield left[i], None
            i += 1
        else:
            yield None, right[j]
            j += 1
    yield from ((one, None) for one in left[i:])
    yield from ((None, other) for other in right[j:])


def _alike(left: str, right: str) -> float:
    """Share of the words of two texts that both have; 1 for the same text."""
    if left == right:
        return 1.0
    one, other = (set(re.findall(r"\w+", text.casefold())) for text in (left, right))
    return len(one & other) / len(one | other) if one or other else 0.0


def _alike_sections(left: list[str], right: list[str]) -> float:
    """As of their texts; a heading that both have counts as much as the rest."""
    heads = 1.0 if left[:1] == right[:1] and left else 0.0
    return (heads + _alike("\n".join(left), "\n".join(right))) / 2 + _LEAST_ALIKE / 2


def _row(left: str, right: str) -> Row:
    """Two paragraphs with the words that only one of them has marked."""
    if left == right:
        same = (Piece(left, changed=False),)
        return Row(same, same)
    if not left or not right:
        return Row(*(((Piece(text, changed=True),) if text else ()) for text in (left, right)))
    one, other = _WORD.findall(left), _WORD.findall(right)
    if len(one) * len(other) > _MOST_PAIRS * 10:
        return Row((Piece(left, changed=True),), (Piece(right, changed=True),))
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    mine = [Piece("".join(one[a:b]), changed=kind != "equal") for kind, a, b, _, _ in steps if a < b]
    yours = [Piece("".join(other[a:b]), changed=kind != "equal") for kind, _, _, a, b in steps if a < b]
    return Row(tuple(mine), tuple(yours))
