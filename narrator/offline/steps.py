"""What turns did, told one after another: which rule for which turn, in which form, and where a paragraph ends.

What is told depends on the turn and on the one told before it: the same command again, a success after a failure,
whether messages lie between. No form of a rule is used twice in a row within a paragraph, and of an output nothing is
told that does not say how the matter came out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from narrator.excerpt import Excerpt
from narrator.offline import deeds as say
from narrator.offline.claims import Claim, Field, state
from narrator.offline.facts import Facts, first_of, sentences_of, stem
from narrator.passages import Passage

_HOW_IT_ENDED = ("aborted", "provider-error", "cut-off", "unfinished", "empty-completion", "tool-aborted")
_TELLING = frozenset(
    [*_HOW_IT_ENDED, "compaction-request", "tool-unfinished", "invalid-tool-call", "subagent", "gap", "reverted"]
)
"""Findings that are told of a neighbour; the others are said already by its call's exit code, error or output."""
_PRINTING = frozenset(["bash", "task", "webfetch"])
"""Tools whose output is a result to tell; of others it is told when it fails."""
_LOOKING = frozenset(["read", "grep", "glob"])
_CHANGING = frozenset(["edit", "multiedit", "patch", "write"])
_RUN, _SENTENCES, _JOINED = 3, 6, 3
"""Steps of one kind in a row that are summed up; sentences of a paragraph beyond which the next one begins; steps that
are told in one sentence."""
_TEXT, _JUMPED = 3, 5
"""Places of the words and of the number in the fields of `deeds.assistant_did`."""


def tell_turns(
    facts: Facts,
    excerpts: Sequence[Excerpt],
    lead: Callable[[Excerpt], Claim | None] = lambda _: None,
    told: frozenset[int] = frozenset(),
    *,
    alone: bool = False,
) -> list[list[Claim]]:
    """Paragraphs about messages, in the given order.

    `lead` says of one far off what it has to do with the target; of messages in `told` the words are left out.
    `alone`: each is told by itself, and what lies between does not matter.
    """
    paragraphs: list[list[Claim]] = [[]]
    teller = _Teller(facts, told, alone=alone)
    for key, group in groupby(_in_runs(excerpts), key=lambda pair: pair[0]):
        run = [excerpt for _, excerpt in group]
        turns = len(paragraphs[-1]) > 1 and run[0].role == "user" and run[0].kind == "typed"
        apart = teller.jumps(run[0]) and len(paragraphs[-1]) > _RUN
        if paragraphs[-1] and (len(paragraphs[-1]) >= _SENTENCES or turns or apart):
            paragraphs.append([])
        teller.opens = teller.opens or not paragraphs[-1]
        paragraphs[-1] += teller.sum_up(key[0], run) if key[0] else teller.tell(run[0], lead(run[0]))
    return [join_steps(claims) for claims in paragraphs if claims]


def join_steps(claims: Sequence[Claim]) -> list[Claim]:
    """The same, with steps in a row that need no sentence of their own as one movement."""
    joined: list[Claim] = []
    length = 0
    for place, claim in enumerate(claims):
        following = claims[place + 1] if place + 1 < len(claims) else None
        goes_on = following is not None and _is_step(claim) and _is_bare(following) and length < _JOINED - 1
        if not _is_step(claim):
            joined.append(claim)
            continue
        shape = (say.CLAUSE if goes_on else say.LAST) if length else say.OPEN * goes_on
        way = (claim.form or 0) % say.OPEN
        joined.append(state(say.assistant_did, *claim.fields, cite=claim.cites, form=shape + way))
        length = length + 1 if goes_on else 0
    return joined


def _is_step(claim: Claim) -> bool:
    return claim.rule == "assistant_did"


def _is_bare(claim: Claim) -> bool:
    """Whether a step is told without words of the assistant's and right behind the one before it."""
    return _is_step(claim) and not claim.fields[_TEXT].value and claim.fields[_JUMPED].value is None


def _in_runs(excerpts: Sequence[Excerpt]) -> Iterator[tuple[tuple[str, int], Excerpt]]:
    """Each message with the kind of run it belongs to, "" for none, and the number of the run."""
    number = 0
    in_row = enumerate(excerpts)
    for (sort, _), group in groupby(in_row, key=lambda pair: (_sort(pair[1], pair[0]), pair[1].index - pair[0])):
        run = [excerpt for _, excerpt in group]
        kind = sort.split(" ")[0] if len(run) >= _RUN else ""
        for excerpt in run:
            number += not kind
            yield (kind, number), excerpt
        number += 1


def _sort(excerpt: Excerpt, place: int) -> str:
    """What a step may be summed up with: `look read`, `change PATH`; a name of its own for what stands alone."""
    call, words = first_of(excerpt, "input"), first_of(excerpt, "text")
    error = first_of(excerpt, "error")
    if call is None or excerpt.calls > 1 or call.fate != "ran" or error or not call.subject[1].strip() or call.omitted:
        return f" {place}"
    output = first_of(excerpt, "output")
    if output is not None and output.exit:
        return f" {place}"
    if call.tool == "bash" and call.subject[1].split()[0] == "sleep" and len(call.subject[1].split()) > 1:
        return "wait" if words is None else f" {place}"
    if call.tool in _LOOKING:
        return f"look {call.tool}" if words is None else f" {place}"
    return f"change {call.subject[1]}" if call.tool in _CHANGING else f" {place}"


class _Teller:
    """Tells one turn after another."""

    def __init__(self, facts: Facts, told: frozenset[int], *, alone: bool) -> None:
        self._facts, self._told, self._alone = facts, told, alone
        self._forms: dict[str, int] = {}
        self._before: tuple[Excerpt, Passage, Passage | None] | None = None
        """The last turn with a call, its call and its output."""
        self._last: int | None = None
        self.opens = True
        """The next sentence opens a paragraph."""

    def jumps(self, excerpt: Excerpt) -> bool:
        """Whether messages lie between the last that was told and this one."""
        return self._last is not None and excerpt.index != self._last + 1

    def tell(self, excerpt: Excerpt, lead: Claim | None) -> list[Claim]:
        """What one message did, and what the record knows of it."""
        jumped = self.jumps(excerpt) or (self._last is None and excerpt.index > self._facts.target.index + 1)
        jumped = jumped and not self._alone
        self.opens = self.opens or lead is not None
        claims = [lead] if lead else []
        spoken = self._spoken(excerpt, excerpt.index if jumped and not lead else None)
        settled = lead is not None and lead.rule == "came_again"
        claims += [claim for claim in spoken if not (settled and claim.rule == "call_printed")]
        known = [f for f in self._facts.context.of(excerpt.index) if f.kind in _TELLING]
        for finding in known:
            said = [c for c in sentences_of(finding)[:2] if "In the next request" not in c.text]
            claims += [claim for claim in said if self._facts.shown.issuperset(claim.cites)]
        self._last = excerpt.index
        self.opens = self.opens or bool(known) or excerpt.role != "assistant"
        return claims

    def sum_up(self, kind: str, run: Sequence[Excerpt]) -> list[Claim]:
        """Steps of one kind as one sentence."""
        calls = [(excerpt, call) for excerpt in run if (call := first_of(excerpt, "input"))]
        subjects = [self._facts.subject(*pair) for pair in calls]
        self._last, self._before = run[-1].index, None
        if kind == "look":
            return [state(say.looked_at, self._facts.named(*calls[0], "name", calls[0][1].tool), *subjects)]
        if kind == "change":
            return [state(say.changed, Field(None, "count(cited)", len(run)), *subjects)]
        told = [state(say.waited_on, *subjects)]
        output = next((p for p in run[-1].passages if p.kind == "output"), None)
        self._forms["printed"], self.opens = 0, False
        return [*told, *self._printed(run[-1], calls[-1][1], output)]

    def _form(self, rule: str, forms: int = say.FORMS) -> int:
        """The next form of a rule; the first where "it" would be somebody else."""
        form = 0 if self.opens else (self._forms.get(rule, 0) + 1) % forms
        self._forms[rule] = form
        self.opens = False
        return form

    def _spoken(self, excerpt: Excerpt, jumped: int | None) -> list[Claim]:
        words, place = self._facts.words(excerpt), Field(excerpt.index, "jumped", jumped)
        if excerpt.kind == "compaction-summary":
            return [state(say.summary_began, words or Field(excerpt.index, "text", ""))]
        if excerpt.role == "assistant":
            return self._answered(excerpt, words, place)
        if excerpt.index in self._told or excerpt.kind == "compaction-request":
            return []
        if words is None:
            return [state(say.user_silent, cite=(excerpt.index,))]
        if first_of(excerpt, "text") is None:
            return [state(say.harness_put_in, words)]
        return [self._typed(excerpt, words, place)]

    def _typed(self, excerpt: Excerpt, words: Field, place: Field) -> Claim:
        facts, running = self._facts, self._facts.at(excerpt.during)
        if running is not None:
            times = (facts.field(running, "created"), facts.field(running, "completed"))
            sent, number = facts.field(excerpt, "created"), facts.number(running.index)
            return state(say.user_wrote_meanwhile, words, sent, number, *times)
        return state(say.user_wrote, words, place, form=self._form("user", 2))

    def _answered(self, excerpt: Excerpt, words: Field | None, place: Field) -> list[Claim]:
        words = None if excerpt.index in self._told else words
        call, thought = first_of(excerpt, "input"), first_of(excerpt, "reasoning")
        if call is not None and call.fate == "ran":
            return self._called(excerpt, call, words, place)
        if words is not None:
            return [state(say.assistant_said, words, place, form=self._form("said"))]
        if call is None and thought and excerpt.index not in self._told:
            return [state(say.assistant_thought, Field(excerpt.index, thought.at, thought.text))]
        return []

    def _called(self, excerpt: Excerpt, call: Passage, words: Field | None, place: Field) -> list[Claim]:
        """What a call did and brought; of one that did not run to its end, the finding says all there is to say."""
        facts = self._facts
        subject = facts.subject(excerpt, call)
        of_call = [p for p in excerpt.passages if stem(p) == stem(call)]
        output = next((p for p in of_call if p.kind == "output"), None)
        error = next((p for p in of_call if p.kind == "error"), None)
        if excerpt.by_user:
            claims = [state(say.user_ran, subject)]
        else:
            name, others = facts.named(excerpt, call, "name", call.tool), excerpt.calls - 1
            about = facts.argument(excerpt, call, "description" if call.tool == "bash" else "")
            told = words or Field(excerpt.index, "", None)
            before, more = self._subject_before(call), Field(excerpt.index, "count(other calls)", others)
            form = self._form("did" if words else "bare")
            claims = [
                state(say.assistant_did, name, subject, about, told, more, place, before,
                      cite=(excerpt.index,), form=form)
            ]  # fmt: skip
        if error is not None:
            claims.append(state(say.call_failed, Field(excerpt.index, error.at, error.text)))
        claims += self._printed(excerpt, call, output)
        self._before = (excerpt, call, output)
        return claims

    def _subject_before(self, call: Passage) -> Field:
        """What the call before it was about, if it was of the same tool."""
        if self._before is None or self._before[1].tool != call.tool:
            return Field(None, "", None)
        return self._facts.subject(*self._before[:2])

    def _printed(self, excerpt: Excerpt, call: Passage, output: Passage | None) -> list[Claim]:
        if output is None or not (call.tool in _PRINTING or output.exit):
            return []
        facts, before = self._facts, self._subject_before(call)
        if not say.is_worth_telling(facts.line(excerpt, output).value, output.lines, output.exit):
            return []
        then = Field(None, "", None)
        if before.message is not None and self._before and (old := self._before[2]) and old.exit is not None:
            then = facts.named(self._before[0], old, "exit", old.exit)
        code = facts.named(excerpt, output, "exit", output.exit)
        form = self._form("failed" if output.exit else "printed")
        return [
            state(say.call_printed, facts.line(excerpt, output), facts.lines(excerpt, output), code,
                  facts.subject(excerpt, call), before, then, cite=(excerpt.index,), form=form)
        ]  # fmt: skip
