"""Figures of a heading: said in round numbers of what its section states and cites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrator.verify.derive import as_measured, rounds
from narrator.verify.figures import Figure
from narrator.verify.judged import Judged, Passage
from narrator.verify.quotations import Finding


def settle_headings(passages: Sequence[Passage], judged: Sequence[Sequence[Judged]]) -> Iterator[list[Judged]]:
    """Every statement, a heading's figures derived from those of its section where they are these, rounded."""
    for number, (passage, own) in enumerate(zip(passages, judged, strict=True)):
        doubted = passage.block.kind == "heading" and any(_is_open(one) for one in own)
        section = _section(passages, judged, number) if doubted else []
        yield [_settled(one, section) if doubted and _is_open(one) else one for one in own]


def _is_open(one: Judged) -> bool:
    return isinstance(one.wanted, Figure) and not one.holds


def _section(passages: Sequence[Passage], judged: Sequence[Sequence[Judged]], number: int) -> list[Figure]:
    """The figures that hold between a heading and the next of its level or above."""
    found: list[Figure] = []
    for passage, own in zip(passages[number + 1 :], judged[number + 1 :], strict=True):
        if passage.block.kind == "heading" and passage.block.level <= passages[number].block.level:
            break
        text = passage.block.text
        figures = [one.wanted for one in own if one.holds and isinstance(one.wanted, Figure)]
        found += [as_measured(figure, text) or figure for figure in figures]
    return found


def _settled(one: Judged, section: Sequence[Figure]) -> Judged:
    wanted = isinstance(one.wanted, Figure) and (as_measured(one.wanted, one.passage.block.text) or one.wanted)
    same = next((other for other in section if wanted and wanted.unit and rounds(wanted, other)), None)
    if same is None:
        return one
    says = f"derived: {same.text} of its section, rounded or in another unit"
    return one._replace(finding=Finding(says=says, derived=True, weight=0))
