"""An essay against its evidence: what it ties to the record, judged one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.report import Check, Match, Report, Sort, Statement, Verdict, make_report
from narrator.sanitize import one_line
from narrator.verify.bearing import Bearing
from narrator.verify.amounts import found_elsewhere, judge_figure, key_of, place_of, unfounded
from narrator.verify.clauses import Cite, Clause, Quotation, find_cites, find_clauses, find_quotations
from narrator.verify.endings import judge_endings
from narrator.verify.evidence import Evidence
from narrator.verify.figures import Figure, find_figures
from narrator.verify.order import Event, judge_order
from narrator.verify.prose import Block, read_blocks
from narrator.verify.quotations import Finding, Wanted, found_far, judge_quotation, not_found, read_quotation
from narrator.verify.scope import Cited, Scope
from narrator.verify.speakers import judge_speakers
from narrator.verify.style import judge_uncited, judge_wording
from narrator.verify.told import Told

_LINE = 200


class Passage(NamedTuple):
    """A block with all that was found in it."""

    block: Block
    cites: list[Cite]
    quotations: list[Quotation]
    figures: list[Figure]
    clauses: list[Clause]


class Judged(NamedTuple):
    """A statement of the essay on its way to the report."""

    passage: Passage
    start: int
    end: int
    sort: Sort
    scope: Scope
    finding: Finding | None
    """None while only a search of the whole session can tell."""
    wanted: Wanted | Figure | None = None


def verify_essay(markdown: str, evidence: Evidence) -> Report:
    """Judge every citation, quotation and figure of an essay, and who spoke, and what came first.

    `markdown` is the essay as it is published (`Draft.essay.final`); the spans of the report count its code points.
    Nothing raises for what an essay says: what is wrong with it is in the report.
    """
    passages = [_read(block) for block in read_blocks(markdown)]
    cited = Cited(evidence, (one for passage in passages for one in passage.cites))
    judged: list[Judged] = []
    known: set[str] = set()
    for number, passage in enumerate(passages):
        around = [one for near in passages[max(0, number - 1) : number + 2] for one in near.cites]
        judged += _judge_passage(passage, cited, around, known)
    judged = _search_far(judged, cited)
    judged += [charge for passage in passages for charge in _judge_claims(passage, cited, judged)]
    judged = _judge_bearing(passages, cited, judged)
    statements = (_statement(one, markdown) for one in judged)
    return make_report(_as_settled(one) if evidence.was_settled(one) else one for one in statements)


def _as_settled(statement: Statement) -> Statement:
    """A statement as it was judged with more at hand."""
    if statement.verdict in ("passed", "derived"):
        return statement
    return statement.model_copy(update={"verdict": "passed", "kind": None, "says": "", "nearest": None})


def check_essay(markdown: str, evidence: Evidence) -> Check:
    """The report of an essay that was just written, with what its draft has to keep to be checked again by itself."""
    report = verify_essay(markdown, evidence)
    cited = {index for statement in report.statements for index in statement.cites}
    return Check(**dict(report), known=evidence.known(cited))


def _read(block: Block) -> Passage:
    cites = [] if block.kind == "fence" else find_cites(block)
    quotations = find_quotations(block, cites)
    taken = [(one.start, one.end) for one in cites] + [(one.start, one.end) for one in quotations]
    figures = [] if block.kind == "fence" else find_figures(block.text, taken)
    clauses = [] if block.kind == "fence" else find_clauses(block.text, cites, quotations)
    return Passage(block, cites, quotations, figures, clauses)


def _judge_passage(passage: Passage, cited: Cited, around: Sequence[Cite], known: set[str]) -> Iterator[Judged]:
    """Judge all that one block says; what holds is added to `known`."""
    yield from (_judge_citation(passage, cite, cited) for cite in passage.cites if cite.bracketed)
    scopes = [(clause, Scope(cited, clause)) for clause in passage.clauses]
    loose = Scope(cited, None, around)
    text = passage.block.text
    for quotation in passage.quotations:
        scope = next((scope for clause, scope in scopes if clause.start <= quotation.start < clause.end), loose)
        wanted = read_quotation(quotation, text, fenced=passage.block.kind == "fence")
        finding = judge_quotation(wanted, scope, known, text[quotation.end : quotation.end + 40])
        if finding is not None and finding.kind is None and finding.judged:
            known.add(" ".join(wanted.parts))
        yield Judged(passage, quotation.start, quotation.end, "quotation", scope, finding, wanted)
    stated: list[Figure] = []
    waiting: list[tuple[Figure, Scope]] = []
    for figure in passage.figures:
        scope = next((scope for clause, scope in scopes if clause.start <= figure.start < clause.end), loose)
        if place_of(figure, text, [*scope.own, *scope.near]) is not None:
            stated.append(figure)
        waiting.append((figure, scope))
    for figure, scope in waiting:
        finding = judge_figure(figure, text, scope, stated, known)
        if finding is not None and finding.kind is None and finding.judged:
            known.add(key_of(figure, text))
        yield Judged(passage, figure.start, figure.end, "figure", scope, finding, figure)


def _judge_claims(passage: Passage, cited: Cited, judged: Sequence[Judged]) -> Iterator[Judged]:
    """Charge what a block says as a whole: who spoke, what came first, how a turn ended, words of our own."""
    if passage.block.kind == "fence":
        return
    text = passage.block.text
    own = [one for one in judged if one.passage is passage]
    scopes = [(clause, Scope(cited, clause)) for clause in passage.clauses]
    held = [one for one in own if one.finding is not None and one.finding.kind is None and one.finding.judged]
    quoted = [(one.wanted, _holders(one, cited)) for one in held if isinstance(one.wanted, Wanted)]
    events = [
        Event(one.start, one.scope.indices[0], one.scope.indices[-1])
        for one in own
        if one.sort == "citation" and one.scope.indices
    ]
    events += [
        Event(one.start, one.finding.found.index, one.finding.found.index)
        for one in held
        if one.sort == "quotation" and one.finding is not None and one.finding.found is not None
    ]
    events += [
        Event(one.start, index[0], index[-1])
        for one in passage.cites
        if not one.bracketed and (index := cited.of([one]))
    ]
    fresh = [
        (one.start, one.end) for one in own if one.sort != "citation" and one.finding is not None and one.finding.weight
    ]
    charges = [
        *judge_speakers(text, scopes, quoted),
        *judge_order(text, passage.clauses, sorted(events), cited),
        *judge_endings(text, scopes),
        *judge_wording(text, cited),
    ]
    if passage.block.kind != "heading":
        charge = judge_uncited(text, passage.clauses, fresh, cites=bool(passage.cites))
        charges += [charge] if charge is not None else []
    for charge in charges:
        scope = next(
            (scope for clause, scope in scopes if clause.start <= charge.start < clause.end), Scope(cited, None)
        )
        yield Judged(passage, charge.start, charge.end, "claim", scope, charge.finding)


def _holders(one: Judged, cited: Cited) -> list[Told]:
    """The messages a quotation may be from."""
    found = one.finding.found if one.finding is not None else None
    return [*one.scope.own, *(cited.told([found.index]) if found is not None else [])]


def _judge_bearing(passages: Sequence[Passage], cited: Cited, judged: Sequence[Judged]) -> list[Judged]:
    """Fail the citations whose claim is clearly about the message beside the one they name."""
    doubted: dict[tuple[int, int], tuple[Told, str]] = {}
    for passage in passages:
        position = 0
        own = [one for one in judged if one.passage is passage]
        for cite in passage.cites:
            if not cite.bracketed:
                continue
            claim = passage.block.text[position : cite.start]
            indices = cited.of([cite])
            borne = any(
                position <= one.start < cite.end
                and one.finding is not None
                and (one.finding.kind is not None or (one.finding.weight and one.finding.found is not None))
                for one in own
                if one.sort != "citation"
            )
            position = cite.end
            if len(indices) == 1 and len(cite.names) == 1 and not borne and (told := cited.told(indices)):
                doubted[id(passage), cite.start] = (told[0], claim)
    if not doubted:
        return list(judged)
    beside = {index: cited.told([index - 1, index + 1]) for index in {told.index for told, _ in doubted.values()}}
    bearing = Bearing(
        {told.index: told for told in [*cited.messages, *(one for near in beside.values() for one in near)]}.values()
    )
    settled = []
    for one in judged:
        doubt = (
            doubted.get((id(one.passage), one.start)) if one.sort == "citation" and one.finding == Finding() else None
        )
        better = bearing.better(doubt[1], doubt[0], beside[doubt[0].index]) if doubt is not None else None
        if better is not None:
            says = f"what is said here is told by message {better.index}, beside the one that is cited"
            one = one._replace(
                finding=Finding(
                    "wrong-message", says, nearest=Match(index=better.index, text=one_line(better.raw, 160))
                )
            )
        settled.append(one)
    return settled


def _judge_citation(passage: Passage, cite: Cite, cited: Cited) -> Judged:
    evidence = cited.evidence
    missing = [name for name in cite.names if evidence.resolve(name) is None]
    unseen = [index for index in cited.of([cite]) if evidence.shown is not None and index not in evidence.shown]
    finding = Finding()
    if missing:
        last = f"; the last one is {evidence.count - 1}" if evidence.count else ""
        finding = Finding("no-such-message", f"the session has no message {', '.join(missing[:6])}{last}")
    elif unseen and len(unseen) == len(cite.names):
        finding = Finding("not-shown", f"message {', '.join(map(str, unseen[:6]))} was not in what the writer saw")
    return Judged(passage, cite.start, cite.end, "citation", Scope(cited, None, [cite]), finding)


def _search_far(judged: Sequence[Judged], cited: Cited) -> list[Judged]:
    """Look through the whole session, once, for what stands nowhere near."""
    waiting = {number: one for number, one in enumerate(judged) if one.finding is None}
    found: dict[int, Finding] = {}
    for told in cited.evidence.whole() if waiting else ():
        for number, one in waiting.items():
            if number not in found and (finding := _far(one, told)) is not None:
                found[number] = finding
        if len(found) == len(waiting):
            break
    settled = []
    for number, one in enumerate(judged):
        if one.finding is None:
            finding = found.get(number) or _nowhere(one, cited)
            settled.append(one._replace(finding=finding))
        else:
            settled.append(one)
    return settled


def _far(one: Judged, told: Told) -> Finding | None:
    if isinstance(one.wanted, Figure):
        place = place_of(one.wanted, one.passage.block.text, [told])
        return found_elsewhere(one.wanted, one.scope, place) if place is not None else None
    return found_far(one.wanted, one.scope, told) if one.wanted is not None else None


def _nowhere(one: Judged, cited: Cited) -> Finding:
    if isinstance(one.wanted, Figure):
        return unfounded(one.wanted, one.scope)
    assert one.wanted is not None
    return not_found(one.wanted, one.scope, cited.messages)


def _statement(one: Judged, markdown: str) -> Statement:
    finding = one.finding or Finding(judged=False)
    verdict: Verdict = "passed"
    if finding.kind is not None:
        verdict = "failed"
    elif not finding.judged:
        verdict = "unjudged"
    elif finding.derived:
        verdict = "derived"
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
