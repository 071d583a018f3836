"""What came back for a sentence, judged: before it is tried in the essay, and by how the essay fails with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.citations import find_citations
from narrator.repair.failing import Failing, keeps_shape, replace, take_out
from narrator.repair.request import Given
from narrator.repair.sense import changed_sense
from narrator.report import Report, Statement
from narrator.verify import Evidence, verify_essay
from narrator.verify.clauses import find_cites, find_quotations, find_sentences
from narrator.verify.prose import read_blocks

_MOVING = {"wrong-message", "wrong-role", "wrong-order", "quote-not-found", "quote-altered", "figure-not-found"}
"""Findings that another citation may put right."""
_GROWTH, _ROOM = 1.6, 120
"""How many times as long as before, and characters besides, a sentence may become."""
_KEPT, _KEPT_OF_CLAIM = 0.5, 0.25
"""Share of a sentence's other words that a correction keeps; the lower one where what failed is the claim itself."""
_FENCE = re.compile(r"\A\s*(`{3,}|~{3,})[^\n]*\n(.*?)\n?\s*\1\s*\Z", re.DOTALL)
_QUOTE_MARK = re.compile(r"\n[ \t]*(?:>[ \t]*)+")


class Proposal(NamedTuple):
    """A sentence with what shall stand in its place."""

    one: Failing
    given: Given
    text: str
    """As it would be put into the essay."""

    def applied(self, markdown: str) -> str | None:
        """The essay with it; None where that cannot be."""
        return take_out(markdown, self.one) if self.given.how == "dropped" else replace(markdown, self.one, self.text)


def propose(one: Failing, given: Given) -> Proposal:
    """What shall stand in the place of a sentence: on one line, unless it is a block of code."""
    text = given.text
    if one.kind == "fence":
        wrapped = _FENCE.match(text)
        text = wrapped[2] if wrapped is not None else text
    else:
        text = _flat(text)
    return Proposal(one, given, text)


def _flat(text: str) -> str:
    """A sentence on one line; the marks of a quoted paragraph that stood before its further lines are not its own."""
    return " ".join(_QUOTE_MARK.sub(" ", text).split())


def refuse(proposal: Proposal, markdown: str, report: Report) -> str | None:
    """Why a proposal is not even tried; None when it may be."""
    return next(_reasons(proposal, markdown, report), None)


def _reasons(proposal: Proposal, markdown: str, report: Report) -> Iterator[str]:
    one, given, text = proposal
    if given.how == "dropped":
        if text and text != one.text:
            yield "it is said to be left out, but a text came with it"
        changed = proposal.applied(markdown)
        if changed is None or not keeps_shape(markdown, changed, fewer=True):
            yield "only a sentence or a list item can be left out"
        return
    if not text:
        yield "an empty sentence, not said to be left out"
    if text in (one.text, _flat(one.text)):
        yield "given back unchanged"
    if not keeps_shape(markdown, replace(markdown, one, text), fewer=False):
        yield "it would change the shape of the page"
    if len(text) > _GROWTH * len(one.text) + _ROOM:
        yield "it says much more than the sentence did"
    if one.kind != "fence" and count_sentences(text) > one.sentences:
        yield "it adds a sentence"
    yield from _lost(proposal, [statement for statement in report.statements if _inside(statement, one)])


def _inside(statement: Statement, one: Failing) -> bool:
    return one.start <= statement.span[0] < one.end


def _lost(proposal: Proposal, statements: Sequence[Statement]) -> Iterator[str]:
    """Say what a correction leaves out that was not wrong."""
    one, given, text = proposal
    if _targets(one.text) and not _targets(text):
        yield "it has lost its citation"
    kinds = {failure.kind for failure in one.failures}
    held = {
        name
        for each in statements
        if each.sort == "citation" and each.verdict == "passed"
        for name in _targets(each.text)
    }
    if not kinds & _MOVING and not held <= _targets(text):
        yield "it drops a citation that was right"
    if given.how == "softened":
        return
    squeezed = _squeeze(text)
    right = [each for each in statements if each.verdict in ("passed", "derived")]
    for each in right:
        if each.sort in ("quotation", "figure") and _squeeze(each.text).rstrip("…") not in squeezed:
            yield f"it leaves out what was right: {each.text[:60]}"
    failing = [each for each in statements if each.verdict == "failed"]
    words, kept = _words(_without(one, failing)), _words(text)
    least = _KEPT_OF_CLAIM if any(each.sort == "claim" for each in failing) else _KEPT
    if one.kind != "fence" and words and len(words & kept) < least * len(words):
        yield "it is another sentence, and not said to claim less"
    yield from changed_sense(one, text, statements)


def count_sentences(markdown: str) -> int:
    """Sentences in a piece of Markdown."""
    found = 0
    for block in read_blocks(markdown):
        cites = find_cites(block)
        found += len(find_sentences(block.text, cites, find_quotations(block, cites)))
    return found


def _targets(markdown: str) -> set[str]:
    return {name for citation in find_citations(markdown) for name in citation.targets}


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text.casefold()))


def _without(one: Failing, failing: Sequence[Statement]) -> str:
    """The sentence without the words that failed; a claim that failed is all of it and stays."""
    text = list(one.text)
    for each in failing:
        if each.sort != "claim":
            start, end = each.span[0] - one.start, min(each.span[1], one.end) - one.start
            text[start:end] = " " * max(0, end - start)
    return "".join(text)


class Verdict(NamedTuple):
    """Whether a proposal is taken, and why."""

    accepted: bool
    why: str


class Trial(NamedTuple):
    """The essay with some proposals in it."""

    essay: str
    report: Report
    within: dict[Failing, tuple[int, int]]
    """Of each proposal's sentence (`_tally`), as it now is."""

    @property
    def outside(self) -> int:
        """What failed elsewhere."""
        return self.report.counts.failed - sum(failed for failed, _ in self.within.values())


def settle(
    essay: str, report: Report, proposals: Sequence[Proposal], evidence: Evidence
) -> tuple[Trial, list[Verdict]]:
    """The essay with those proposals that each make it fail less, and a verdict on every one.

    All are tried at once, so that the essay is checked twice and not once for each; where one of them does harm
    elsewhere, one after the other.
    """
    untouched = Trial(essay, report, {})
    if not proposals:
        return untouched, []
    before = {one.one: _tally(report, one.one.start, one.one.end) for one in proposals}
    first = _try(essay, proposals, evidence)
    verdicts = {one.one: _compare(one, first.within[one.one], before[one.one]) for one in proposals}
    good = [one for one in proposals if verdicts[one.one].accepted]
    if not good:
        return untouched, [verdicts[one.one] for one in proposals]
    trial = first if len(good) == len(proposals) else _try(essay, good, evidence)
    if not _harmless(trial, report, before):
        trial, taken = untouched, list[Proposal]()
        for one in good:
            further = _try(essay, [*taken, one], evidence)
            if _harmless(further, report, before) and further.report.counts.failed < trial.report.counts.failed:
                trial, taken = further, [*taken, one]
            else:
                verdicts[one.one] = Verdict(accepted=False, why="with it another sentence fails")
    return trial, [verdicts[one.one] for one in proposals]


def _try(essay: str, proposals: Sequence[Proposal], evidence: Evidence) -> Trial:
    """Put proposals into the essay, from the last to the first, and check it."""
    text, places = essay, dict[Failing, tuple[int, int]]()
    for one in sorted(proposals, key=lambda proposal: -proposal.one.start):
        changed = one.applied(text)
        assert changed is not None, "refused before"
        grown = len(changed) - len(text)
        places = {other: (start + grown, end + grown) for other, (start, end) in places.items()}
        length = len(one.text) if one.given.how != "dropped" else 0
        places[one.one], text = (one.one.start, one.one.start + length), changed
    report = verify_essay(text, evidence)
    return Trial(text, report, {one: _tally(report, start, end) for one, (start, end) in places.items()})


def _tally(report: Report, start: int, end: int) -> tuple[int, int]:
    """How many statements that begin in a span failed, and how many failed or could not be judged."""
    verdicts = [each.verdict for each in report.statements if start <= each.span[0] < end]
    failed = verdicts.count("failed")
    return failed, failed + verdicts.count("unjudged")


def _compare(one: Proposal, after: tuple[int, int], before: tuple[int, int]) -> Verdict:
    """Whether a sentence fails less with a proposal, and not by saying what nobody can judge."""
    told = f"{after[0]} of {before[0]} findings left"
    if after[0] >= before[0]:
        return Verdict(accepted=False, why=f"it fails no less: {told}")
    if one.given.how == "corrected" and after[1] >= before[1]:
        return Verdict(accepted=False, why="what failed is now said so that it cannot be judged")
    return Verdict(accepted=True, why=told)


def _harmless(trial: Trial, report: Report, before: dict[Failing, tuple[int, int]]) -> bool:
    """Whether what was not touched fails no more than it did."""
    touched = sum(before[one][0] for one in trial.within)
    return trial.outside <= report.counts.failed - touched
