"""What a block says as a whole: who spoke, what came first, how a turn ended, and whether it cites anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrator.verify.amounts import is_specific
from narrator.verify.endings import judge_endings
from narrator.verify.judged import Judged, Passage
from narrator.verify.order import Event, judge_order
from narrator.verify.quotations import Wanted
from narrator.verify.scope import Cited
from narrator.verify.speakers import judge_speakers
from narrator.verify.style import judge_uncited, judge_wording
from narrator.verify.told import Told
from narrator.verify.wording import find_pieces


def judge_claims(passage: Passage, cited: Cited, own: Sequence[Judged]) -> Iterator[Judged]:
    """Charge what a block says and what the record does not bear out; `own`: the statements judged in it."""
    if passage.block.kind == "fence":
        return
    text, clauses = passage.block.text, [clause for clause, _ in passage.scopes]
    held = [one for one in own if one.holds]
    quoted = [(one.wanted, _holders(one, cited)) for one in held if isinstance(one.wanted, Wanted)]
    charges = [
        *judge_speakers(text, passage.scopes, quoted),
        *judge_order(text, clauses, list(_events(passage, held, cited)), cited),
        *judge_endings(text, passage.scopes),
        *judge_wording(text, cited),
    ]
    if passage.block.kind != "heading":
        fresh = [one.start for one in own if _is_fresh(one)]
        charges += judge_uncited(text, clauses, fresh, cites=bool(passage.cites))
    for charge in charges:
        yield Judged(passage, charge.start, charge.end, "claim", passage.scope_at(charge.start), charge.finding)


def _is_fresh(one: Judged) -> bool:
    """Whether it is a figure or quotation that says something of the session and was not said before."""
    if one.finding is None or one.finding.again or not one.finding.judged:
        return False
    if isinstance(one.wanted, Wanted):
        return not one.wanted.is_name and not one.wanted.is_term
    return one.wanted is not None and is_specific(one.wanted)


def _holders(one: Judged, cited: Cited) -> list[Told]:
    """The messages a quotation may be from."""
    found = one.finding.found if one.finding is not None else None
    return [*one.scope.own, *(cited.told([found.index]) if found is not None else [])]


def _events(passage: Passage, held: Sequence[Judged], cited: Cited) -> Iterator[Event]:
    """Places that are tied to messages: citations, messages named, quotations found."""
    for cite in passage.cites:
        if indices := cited.of([cite]):
            yield Event(cite.start, indices[0], indices[-1])
    for one in held:
        found = one.finding.found if one.finding is not None else None
        if isinstance(one.wanted, Wanted) and found is not None:
            told = cited.told([found.index])
            printed = any(_is_printed(one.wanted, message) for message in told)
            yield Event(one.start, found.index, found.index, printed=printed)


def _is_printed(wanted: Wanted, told: Told) -> bool:
    """Whether a quotation stands in the output of a call and nowhere else in its message."""
    held = [find_pieces(wanted.parts, folded) is not None for folded in told.folds]
    kinds = {stretch.kind for stretch, has in zip(told.stretches, held, strict=True) if has}
    return kinds == {"output"}
