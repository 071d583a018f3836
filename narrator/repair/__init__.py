"""Failing sentences back to the writer, in bounded rounds; what comes back is taken only where the essay fails less."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from narrator.draft import Usage
from narrator.errors import NarratorError
from narrator.prompt import Prompt
from narrator.repair.failing import Failing, find_failing
from narrator.repair.judging import Proposal, propose, refuse, settle
from narrator.repair.request import Given, Tried, build_request, choose_failing, find_repeated, read_answer
from narrator.reply import Reply
from narrator.report import Check, Repair, Report
from narrator.session import Session
from narrator.steps import Steps, follow
from narrator.verify import Evidence, evidence_of_context, verify_essay

__all__ = ["Repaired", "repair_essay", "repair_steps"]


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
    within: Callable[[str], tuple[int, int]] | None = None,
) -> Repaired:
    """What `repair_steps` come to when `ask` answers them."""
    return follow(repair_steps(essay, check, session, prompt, rounds=rounds, notice=notice, within=within), ask)


def repair_steps(
    essay: str,
    check: Check,
    session: Session,
    prompt: Prompt,
    *,
    rounds: int,
    notice: Callable[[str], None],
    within: Callable[[str], tuple[int, int]] | None = None,
) -> Steps[Repaired]:
    """Send the sentences in which `check` found something back to the writer, in at most `rounds` rounds.

    `prompt` is the one the essay was written from. `within` gives the half-open span of an essay outside of which no
    sentence is touched; None: all of it may be repaired. Whatever goes wrong on the way (the endpoint fails, an answer
    or a template cannot be used) is said to `notice` and changes nothing: the essay stays as it was before the round.
    """
    done = Repaired(essay, check)
    shown = set(prompt.context.shown)
    tried: dict[str, Tried] = {}
    for number in range(1, rounds + 1):
        start, end = within(done.essay) if within is not None else (0, len(done.essay))
        found = [one for one in find_failing(done.essay, done.check) if start <= one.start < end]
        chosen = choose_failing(found, tried)
        if not chosen:
            break
        try:
            request, read = build_request(prompt, session, chosen, tried)
            reply = yield request
        except NarratorError as error:
            notice(f"the essay stays as it was before repair round {number}: {error}")
            lost = (_Judged(one, None, f"no answer: {error}").recorded(number) for one in chosen)
            return done._replace(changes=(*done.changes, *lost))
        given = read_answer(reply.text, len(chosen))
        if not given:
            notice(f"the answer of repair round {number} could not be used; the essay stays as it was")
        fresh = set(read) - shown
        shown |= fresh
        evidence = evidence_of_context(prompt.context, session, read=shown)
        # What the writer was shown only now may bear out what it had said before.
        report = verify_essay(done.essay, evidence) if fresh and given else done.check
        twice = find_repeated(reply.text)
        answered = [_Answered(one, given.get(at), twice=at in twice) for at, one in enumerate(chosen, 1)]
        taken = _take(done.essay, report, evidence, answered)
        changes = tuple(one.recorded(number) for one in taken.judged)
        tried |= {one.before: Tried(one.after, one.why) for one in changes if not one.accepted and one.after}
        usage = (*done.usage, reply.usage) if reply.usage is not None else done.usage
        done = Repaired(taken.essay, _kept(taken.report, evidence), (*done.changes, *changes), usage)
    return done


def _kept(report: Report, evidence: Evidence) -> Check:
    """The report as a draft keeps it (`verify.check_essay`), without checking again."""
    cited = {index for statement in report.statements for index in statement.cites}
    facts = {name: value for name, value in dict(report).items() if name != "known"}
    return Check(**facts, known=evidence.known(cited))


class _Answered(NamedTuple):
    """A failing sentence with what came back for it."""

    one: Failing
    given: Given | None
    twice: bool
    """It was answered more than once, and nothing of it is used."""


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


class _Taken(NamedTuple):
    """What a round made of the essay."""

    essay: str
    report: Report
    judged: list[_Judged]


def _take(essay: str, report: Report, evidence: Evidence, answered: Sequence[_Answered]) -> _Taken:
    """The essay with those corrections with which it fails less, and what became of each."""
    judged: list[_Judged] = []
    for one, given, twice in answered:
        proposal = propose(one, given) if given is not None else None
        missing = "it was answered twice" if twice else "no answer for it"
        refused = missing if proposal is None else refuse(proposal, essay, report)
        judged.append(_Judged(one, proposal, refused or ""))
    trial, verdicts = settle(essay, report, [one.proposal for one in judged if one.proposal and not one.why], evidence)
    settled = iter(verdicts)
    final = [each if each.why else each._replace(**next(settled)._asdict()) for each in judged]
    return _Taken(trial.essay, trial.report, final)
