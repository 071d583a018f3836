"""Failing sentences back to the writer, in bounded rounds; what comes back is taken only where the essay fails less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from narrator.draft import Usage
from narrator.errors import NarratorError
from narrator.prompt import Prompt
from narrator.repair.failing import Failing, find_failing
from narrator.repair.judging import Proposal, propose, refuse, settle
from narrator.repair.request import Tried, build_request, choose_failing, read_answer
from narrator.reply import Reply
from narrator.report import Check, Repair
from narrator.session import Session
from narrator.verify import Evidence, check_essay, evidence_of_context, verify_essay

__all__ = ["Repaired", "repair_essay"]


class Repaired(NamedTuple):
    """An essay after its repair."""

    essay: str
    check: Check
    changes: tuple[Repair, ...] = ()
    usage: tuple[Usage, ...] = ()
    """Of each round that the endpoint counted."""


def repair_essay(
    essay: str,
    check: Check,
    session: Session,
    prompt: Prompt,
    ask: Callable[[Prompt], Reply],
    *,
    rounds: int,
    notice: Callable[[str], None],
) -> Repaired:
    """Send the sentences in which `check` found something back to the writer, in at most `rounds` rounds.

    `prompt` is the one the essay was written from. Whatever goes wrong on the way (the endpoint fails, an answer or a
    template cannot be used) is said to `notice` and changes nothing: the essay stays as it was before the round.
    """
    done = Repaired(essay, check)
    shown: set[int] = set()
    tried: dict[str, Tried] = {}
    for number in range(1, rounds + 1):
        chosen = choose_failing(find_failing(done.essay, done.check), tried)
        if not chosen:
            break
        try:
            request, read = build_request(prompt, session, chosen, tried)
            reply = ask(request)
        except NarratorError as error:
            notice(f"the essay stays as it was before repair round {number}: {error}")
            lost = Repair(round=number, before="", after="", accepted=False, why=f"no answer: {error}")
            return done._replace(changes=(*done.changes, lost))
        shown |= set(read)
        evidence = evidence_of_context(prompt.context, session, read=shown)
        text, judged = _take(done.essay, evidence, chosen, reply.text)
        changes = tuple(one.recorded(number) for one in judged)
        if all(one.how is None for one in changes):
            notice(f"the answer of repair round {number} could not be used; the essay stays as it was")
        usage = (*done.usage, reply.usage) if reply.usage is not None else done.usage
        tried |= {one.before: Tried(one.after, one.why) for one in changes if not one.accepted and one.after}
        done = Repaired(text, check_essay(text, evidence), (*done.changes, *changes), usage)
    return done


class _Judged(NamedTuple):
    """A failing sentence, and what became of the answer for it."""

    one: Failing
    proposal: Proposal | None
    why: str
    accepted: bool = False

    def recorded(self, number: int) -> Repair:
        """As the draft keeps it."""
        proposal = self.proposal
        return Repair(
            round=number,
            before=self.one.text,
            after=proposal.text if proposal is not None and proposal.given.how != "dropped" else "",
            accepted=self.accepted,
            why=self.why,
            how=proposal.given.how if proposal is not None else None,
        )


def _take(essay: str, evidence: Evidence, chosen: Sequence[Failing], answer: str) -> tuple[str, list[_Judged]]:
    """The essay with those corrections with which it fails less, and what became of each."""
    report = verify_essay(essay, evidence)
    given = read_answer(answer, len(chosen))
    judged: list[_Judged] = []
    for number, one in enumerate(chosen, 1):
        proposal = propose(one, given[number]) if number in given else None
        refused = "no answer for it" if proposal is None else refuse(proposal, essay, report)
        judged.append(_Judged(one, proposal, refused or ""))
    open_ = [one.proposal for one in judged if one.proposal is not None and not one.why]
    text, verdicts = settle(essay, report, open_, evidence)
    settled = iter(verdicts)
    return text, [each if each.why else each._replace(**next(settled)._asdict()) for each in judged]
