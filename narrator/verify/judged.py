"""The values on the way from an essay to its report: a block with all that stands in it, and each thing judged."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from narrator.report import Sort, Statement, Verdict
from narrator.sanitize import one_line
from narrator.verify.clauses import Cite, Clause, Quotation, find_cites, find_clauses, find_quotations
from narrator.verify.figures import Figure, find_figures
from narrator.verify.prose import Block
from narrator.verify.quotations import Finding, Wanted, is_unmarked
from narrator.verify.scope import Cited, Scope

_LINE = 200


class Passage(NamedTuple):
    """A block with all that was found in it."""

    block: Block
    cites: list[Cite]
    quotations: list[Quotation]
    figures: list[Figure]
    scopes: list[tuple[Clause, Scope]]
    """Its clauses in order, each with its evidence."""
    starts: list[int]
    """Where the clauses begin."""
    loose: Scope
    """The evidence of what stands in no clause: what the blocks round it cite."""

    def scope_at(self, place: int) -> Scope:
        """The evidence of what stands at a place of the text."""
        found = self.clause_at(place)
        return found[1] if found is not None else self.loose

    def clause_at(self, place: int) -> tuple[Clause, Scope] | None:
        """The clause at a place of the text, with its evidence."""
        at = bisect_right(self.starts, place) - 1
        return self.scopes[at] if at >= 0 and place < self.scopes[at][0].end else None


class Judged(NamedTuple):
    """A statement of the essay."""

    passage: Passage
    start: int
    """Half-open span in the block's text."""
    end: int
    sort: Sort
    scope: Scope
    finding: Finding | None
    """None while only a search of the whole session can tell."""
    wanted: Wanted | Figure | None = None
    """What was looked for, of a quotation or a figure."""

    @property
    def holds(self) -> bool:
        """Whether it was judged and did not fail."""
        return self.finding is not None and self.finding.kind is None and self.finding.judged


def read_passages(blocks: list[Block], cited: Cited, cites: list[list[Cite]]) -> list[Passage]:
    """Every block with its citations (`cites`, one list a block), quotations, figures and clauses."""
    return [_read(block, number, cited, cites) for number, block in enumerate(blocks)]


def _read(block: Block, number: int, cited: Cited, cites: list[list[Cite]]) -> Passage:
    own = cites[number]
    loose = Scope(cited, None, [one for near in cites[max(0, number - 1) : number + 2] for one in near])
    quotations = find_quotations(block, own)
    if block.kind == "fence":
        return Passage(block, own, quotations, [], [], [], loose)
    taken = [(one.start, one.end) for one in own] + [(one.start, one.end) for one in quotations]
    # A block quotation is what another wrote: without a citation inside, those round it tell where.
    apart = block.quoted and not own and any(is_unmarked(one, block.text) for one in quotations)
    clauses = [] if apart else find_clauses(block.text, own, quotations)
    scopes = [(clause, Scope(cited, clause)) for clause in clauses]
    starts = [clause.start for clause in clauses]
    return Passage(block, own, quotations, find_figures(block.text, taken), scopes, starts, loose)


def cites_of(blocks: list[Block]) -> list[list[Cite]]:
    """The citations of each block, and the messages it names."""
    return [[] if block.kind == "fence" else find_cites(block) for block in blocks]


def as_statement(one: Judged, markdown: str) -> Statement:
    """A judged thing as the report has it."""
    finding = one.finding or Finding(judged=False)
    verdict: Verdict = "derived" if finding.derived else "passed"
    if finding.kind is not None:
        verdict = "failed"
    elif not finding.judged:
        verdict = "unjudged"
    span = one.passage.block.span(one.start, one.end)
    return Statement(
        span=span,
        sort=one.sort,
        verdict=verdict,
        text=one_line(markdown[span[0] : span[1]], _LINE),
        cites=one.scope.indices,
        kind=finding.kind,
        says=finding.says,
        found=finding.found,
        nearest=finding.nearest,
    )
