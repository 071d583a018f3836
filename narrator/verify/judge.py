"""An essay against its evidence: what it ties to the record, judged one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from narrator.report import Check, Report, Statement, make_report
from narrator.sanitize import one_line
from narrator.verify.amounts import found_elsewhere, judge_figure, keys_of, place_of, unfounded
from narrator.verify.claims import judge_claims
from narrator.verify.clauses import Cite
from narrator.verify.evidence import Evidence
from narrator.verify.figures import Figure
from narrator.verify.headings import settle_headings
from narrator.verify.held import Held
from narrator.verify.judged import Judged, Passage, as_statement, cites_of, read_passages
from narrator.verify.likeness import doubt_citations
from narrator.verify.prose import read_blocks
from narrator.verify.quotations import (
    Finding,
    Wanted,
    found_far,
    is_unmarked,
    judge_quotation,
    not_found,
    read_quotation,
)
from narrator.verify.scope import Cited, Scope
from narrator.verify.told import Told

_NAMED = 6
"""Messages that a sentence on missing ones names."""


def verify_essay(markdown: str, evidence: Evidence) -> Report:
    """Judge every citation, quotation and figure of an essay, and who spoke, and what came first.

    `markdown` is the essay as it is published (`Draft.essay.final`); the spans of the report count its code points.
    Nothing raises for what an essay says: what is wrong with it is in the report.
    """
    blocks = read_blocks(markdown)
    cites = cites_of(blocks)
    cited = Cited(evidence, (one for own in cites for one in own))
    bracketed = any(one.bracketed for one in cited.cites)
    known = Held()
    passages = read_passages(blocks, cited, cites)
    first = [
        [
            *_judge_citations(one, cited, named=not bracketed),
            *_judge_quotations(one, known),
            *_judge_figures(one, known),
        ]
        for one in passages
    ]
    judged = _search_far(list(settle_headings(passages, first)), cited)
    claims = [one for passage, own in zip(passages, judged, strict=True) for one in judge_claims(passage, cited, own)]
    settled = doubt_citations(passages, cited, judged, claims)
    statements = (as_statement(one, markdown) for one in [*settled, *claims])
    return make_report(_as_settled(one) if evidence.was_settled(one) else one for one in statements)


def check_essay(markdown: str, evidence: Evidence) -> Check:
    """The report of an essay that was just written, with what its draft has to keep to be checked again by itself."""
    report = verify_essay(markdown, evidence)
    cited = {index for statement in report.statements for index in statement.cites}
    return Check(**dict(report), known=evidence.known(cited))


def _as_settled(statement: Statement) -> Statement:
    """A statement as it was judged with more at hand."""
    if statement.verdict in ("passed", "derived"):
        return statement
    return statement.model_copy(update={"verdict": "passed", "kind": None, "says": "", "nearest": None})


def _judge_citations(passage: Passage, cited: Cited, *, named: bool) -> Iterator[Judged]:
    """Whether the messages cited are there, and were shown to the writer.

    `named`: the essay has no brackets at all, and cites by naming messages in its text.
    """
    for cite in passage.cites:
        finding = _judge_citation(cite, cited)
        if named or cite.bracketed or finding.kind is not None:
            yield Judged(passage, cite.start, cite.end, "citation", Scope(cited, None, [cite]), finding)


def _judge_citation(cite: Cite, cited: Cited) -> Finding:
    evidence = cited.evidence
    missing = [name for name in cite.names if evidence.resolve(name) is None]
    if missing:
        last = f"; the last one is {evidence.count - 1}" if evidence.count else ""
        return Finding(
            "no-such-message",
            f"the session has no message {', '.join(one_line(name, 40) for name in missing[:_NAMED])}{last}",
        )
    unseen = [index for index in cited.of([cite]) if evidence.shown is not None and index not in evidence.shown]
    if unseen and len(unseen) == len(set(cite.names)):
        return Finding("not-shown", f"the writer saw nothing of message {', '.join(map(str, unseen[:_NAMED]))}")
    return Finding()


def _judge_quotations(passage: Passage, known: Held) -> Iterator[Judged]:
    """Judge what stands in quotation marks and in code; what holds is added to `known`."""
    text = passage.block.text
    for quotation in passage.quotations:
        scope = passage.scope_at(quotation.start)
        wanted = read_quotation(quotation, text, fenced=passage.block.kind == "fence")
        finding = judge_quotation(wanted, scope, known, text[quotation.end : quotation.end + 40])
        if is_unmarked(quotation, text) and not passage.loose.indices:
            finding = Finding(judged=False, says="a block quotation without a citation near it", weight=0)
        one = Judged(passage, quotation.start, quotation.end, "quotation", scope, finding, wanted)
        if one.holds:
            known.add_quotation(wanted.parts)
        yield one


def _judge_figures(passage: Passage, known: Held) -> Iterator[Judged]:
    """Judge the figures; what holds is added to `known`."""
    text = passage.block.text

    @cache
    def stated() -> tuple[Figure, ...]:
        """Those that stand in the messages of their clause: what others may be derived from."""
        scopes = ((one, passage.scope_at(one.start)) for one in passage.figures)
        return tuple(one for one, scope in scopes if place_of(one, text, [*scope.own, *scope.near]) is not None)

    for figure in passage.figures:
        scope = passage.scope_at(figure.start)
        finding = judge_figure(figure, text, scope, stated, known)
        one = Judged(passage, figure.start, figure.end, "figure", scope, finding, figure)
        if one.holds:
            known.add_figure(keys_of(figure, text))
        yield one


def _search_far(judged: Sequence[Sequence[Judged]], cited: Cited) -> list[list[Judged]]:
    """Look through the whole session, once, for what stands nowhere near."""
    waiting = [one for own in judged for one in own if one.finding is None]
    found: dict[int, Finding] = {}
    for told in cited.evidence.whole() if waiting else ():
        for one in waiting:
            if id(one) not in found and (finding := _far(one, told)) is not None:
                found[id(one)] = finding
        if len(found) == len(waiting):
            break
    return [
        [
            one._replace(finding=found.get(id(one)) or _nowhere(one, cited)) if one.finding is None else one
            for one in own
        ]
        for own in judged
    ]


def _far(one: Judged, told: Told) -> Finding | None:
    if isinstance(one.wanted, Figure):
        place = place_of(one.wanted, one.passage.block.text, [told])
        return found_elsewhere(one.wanted, one.scope, place) if place is not None else None
    return found_far(one.wanted, one.scope, told) if isinstance(one.wanted, Wanted) else None


def _nowhere(one: Judged, cited: Cited) -> Finding:
    if isinstance(one.wanted, Wanted):
        return not_found(one.wanted, one.scope, cited.messages)
    return unfounded(one.wanted, one.passage.block.text, one.scope) if one.wanted is not None else Finding(judged=False)
