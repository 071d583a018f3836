"""What an essay says at its end: what was taken for granted, the lesson, how it ended; and of a postmortem."""

from __future__ import annotations

import re
from collections.abc import Iterator

from narrator.excerpt import Excerpt
from narrator.offline import readings
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, frame, state
from narrator.offline.facts import Facts, find_failed, first_of
from narrator.offline.lessons import LESSONS
from narrator.offline.matters import Paragraphs, find_account, kind_of
from narrator.offline.steps import tell_turns
from narrator.offline.weighing import KEPT, point
from narrator.passages import Passage

NO_COST = "The record counts no time and no tokens that it cost."
NO_ACTIONS = "The record names no open action. What such a case asks for:"
_ROOM = 45
"""Words that a rule may have in any case."""
_EVENTS_BEFORE, _EVENTS_AFTER = 4, 6


def name_assumptions(facts: Facts) -> Paragraphs:
    """What was taken for granted, each in a paragraph of its own with a bold beginning."""
    return [[point(300 - n, claim)] for n, claim in enumerate(list(_assumed(facts))[:3])]


def _assumed(facts: Facts) -> Iterator[Claim]:
    target = facts.target
    call, output, words = _run(target), first_of(target, "output"), facts.words(target)
    if call and output and output.exit and words is not None and target.role == "assistant":
        yield state(readings.assumed_the_step, words, facts.named(target, output, "exit", output.exit))
    for excerpt in [target, *(e for e in facts.context.window if target.index - 8 <= e.index < target.index)]:
        call, output = _run(excerpt), first_of(excerpt, "output")
        if call and output and output.exit and "&&" in call.subject[1] and excerpt.calls == 1 and not call.omitted:
            number, code = facts.number(excerpt.index), facts.named(excerpt, output, "exit", output.exit)
            yield state(readings.assumed_the_chain, number, facts.subject(excerpt, call), code)
            break
    answer = _first_answer(facts)
    if answer is not None and target.during is not None and (answer.created or 0) >= (target.created or 0) > 0:
        yield state(readings.assumed_reading, *_pair(facts, target, "created", answer))
    before = facts.at(target.index - 1)
    if target.kind == "compaction-request" and before is not None and (call := _run(before)):
        name = facts.named(before, call, "name", call.tool)
        yield state(readings.assumed_to_be_carried, facts.number(before.index), name, facts.subject(before, call))
    for excerpt in facts.context.window if target.calls else ():
        if excerpt.index > target.index and excerpt.why.endswith("fails here"):
            why = Field(excerpt.index, "why", excerpt.why)
            cite = (target.index, excerpt.index)
            if not _named(excerpt) <= facts.shown:
                continue
            yield state(readings.assumed_to_last, why, facts.number(excerpt.index), cite=cite)
            return


def _run(excerpt: Excerpt) -> Passage | None:
    call = first_of(excerpt, "input")
    return call if call is not None and call.fate == "ran" else None


def _pair(facts: Facts, one: Excerpt, field: str, other: Excerpt) -> tuple[Field, Field, Field, Field]:
    return (facts.number(one.index), facts.field(one, field), facts.number(other.index), facts.field(other, "created"))


def _first_answer(facts: Facts) -> Excerpt | None:
    """The first answer to the target."""
    return next((e for e in facts.context.window if e.parent == facts.target.index), None)


def measure(facts: Facts) -> Iterator[Claim]:
    """How far, in time and messages, it was from the target to what settled it."""
    target = facts.target
    begun = target.created
    if begun is None:
        return
    settled = next((e for e in facts.context.window if e.index > target.index and _SETTLED in e.why), None)
    if settled is not None and "command-failed" in facts.kinds and (settled.created or 0) >= begun:
        yield state(readings.was_settled, *_pair(facts, target, "created", settled))
    elif target.kind == "typed" and (answer := _first_answer(facts)) is not None and answer.created is not None:
        yield state(readings.was_answered, *_pair(facts, target, "created", answer))
    elif facts.kinds & {"aborted", "provider-error", "cut-off", "empty-completion", "reasoning-only"}:
        answered = [e for e in facts.context.window if e.index > target.index and e.kind == "answer"]
        good = next((e for e in answered if first_of(e, "text", "input") is not None), None)
        if good and target.completed is not None and (good.created or 0) >= target.completed:
            yield state(readings.took_up_again, *_pair(facts, target, "completed", good))


_SETTLED = "succeeds here"
_THIS_TURN = re.compile(r"the turn of msg \d+ ends here")


def draw_lesson(facts: Facts, words: int) -> Paragraphs:
    """One rule, or a sentence where there is no room for one, and how far it was here to what settled the matter."""
    lesson = LESSONS[kind_of(facts)]
    rule = lesson.rule if len(lesson.rule.split()) <= max(words, _ROOM) else lesson.point
    settled = facts.kinds & {"command-failed"}
    return [[point(KEPT, frame(rule)), *(point(300, claim) for claim in ([] if settled else measure(facts)))]]


def conclude(facts: Facts) -> Paragraphs:
    """The session's last words, and where whoever needs this message should go from it."""
    target, last = facts.target, facts.context.outline.entries[-1]
    points = []
    if last.index != target.index:
        points.append(point(400, state(say.session_ended, Field(last.index, "role", last.role), facts.said(last))))
    points.append(point(350, _where_to(facts)))
    return [points]


def _named(excerpt: Excerpt) -> set[int]:
    """Messages that the reason for which one is shown names."""
    return {int(name) for name in re.findall(r"msg (\d+)", excerpt.why)}


def _where_to(facts: Facts) -> Claim | None:  # noqa: PLR0911  # a case a line
    """What the next person needs."""
    target, kind = facts.target, kind_of(facts)
    if kind == "command-failed" and (failed := find_failed(target)) is not None:
        account, line = find_account(facts), facts.line(target, failed[1])
        if account is not None and line.value:
            return state(readings.begin_with_account, line, facts.number(account.index))
        if (settled := _settled(facts)) is None:
            return None
        return state(readings.begin_with_success, facts.number(target.index), facts.number(settled.index))
    if kind in ("aborted", "provider-error", "cut-off"):
        earlier = [e for e in facts.context.window if e.index < target.index and first_of(e, "output")]
        return state(readings.begin_with_state, facts.number(earlier[-1].index)) if earlier else None
    if kind in ("compaction-request", "compaction-summary"):
        return _compare(facts)
    end = next((e for e in facts.context.window if _THIS_TURN.fullmatch(e.why)), None)
    if end is None or end.index <= target.index or kind not in ("assistant", "user"):
        return None
    return state(readings.judge_answer if kind == "user" else readings.judge_by_end, facts.number(end.index))


def _compare(facts: Facts) -> Claim | None:
    target = facts.target
    summary = target if target.kind == "compaction-summary" else facts.at(target.index + 1)
    before = facts.at((target.index if target.kind == "compaction-request" else target.index - 1) - 1)
    if summary is None or before is None or summary.kind != "compaction-summary" or before.kind != "answer":
        return None
    return state(readings.compare_summary, facts.number(summary.index), facts.number(before.index))


def _settled(facts: Facts) -> Excerpt | None:
    window = facts.context.window
    return next((e for e in window if e.index > facts.target.index and readings.SETTLES.fullmatch(e.why)), None)


# ------------------------------------------------------------------------------------------------ of a postmortem


def weigh_impact(facts: Facts) -> Paragraphs:
    """What it cost, in time and tokens, as far as that is recorded."""
    target = facts.target
    claims = [state(say.began_and_ended, facts.field(target, "created"), facts.field(target, "completed"))]
    claims += measure(facts)
    if target.tokens:
        counted = any(target.tokens.values())
        claims.append(state(say.tokens_counted if counted else say.no_tokens, *facts.tokens(target)))
    cost = [] if len(claims) > 1 else [point(100, frame(NO_COST))]
    return [[*(point(300 - n, claim) for n, claim in enumerate(claims)), *cost]]


def list_times(facts: Facts) -> Paragraphs:
    """A line an event, in the order of the messages, each with its recorded time."""
    target, lines = facts.target.index, []
    for excerpt in facts.context.window:
        near = target - _EVENTS_BEFORE <= excerpt.index <= target + _EVENTS_AFTER
        if excerpt.created is None or not (near or _SETTLED in excerpt.why):
            continue
        failed = any(passage.exit or passage.kind == "error" for passage in excerpt.passages)
        told = [claim for claims in tell_turns(facts, [excerpt], alone=True) for claim in claims][: 1 + failed]
        if told:
            weight = 300 - 20 * abs(excerpt.index - target) if near else 290
            lines.append([point(weight, state(say.at_time, facts.field(excerpt, "created")), *told)])
    return lines


def find_contributing(facts: Facts) -> Paragraphs:
    """Failures on the way, and what was taken for granted."""
    failed = []
    for excerpt in facts.context.window:
        if excerpt.index < facts.target.index and "failed here" in excerpt.why and _named(excerpt) <= facts.shown:
            cite = (excerpt.index, facts.target.index)
            why = Field(excerpt.index, "why", excerpt.why)
            failed.append(state(readings.bears, why, facts.number(excerpt.index), cite=cite))
    return [*name_assumptions(facts), [point(200 - n, claim) for n, claim in enumerate(failed[-3:])]]


def find_good(facts: Facts) -> Paragraphs:
    """What was reached after it, and what settled it."""
    reached = [e for e in facts.context.outline.entries if e.index > facts.target.index and e.reached]
    points = []
    for entry in [e for e in reached if not e.reached.startswith("said")][:3]:
        field = Field(entry.index, "reached", entry.reached.split("; said")[0])
        points.append(point(200, state(say.was_reached, facts.number(entry.index), field, facts.flat(entry))))
    settled = [
        e
        for e in facts.context.window
        if e.index > facts.target.index and _SETTLED in e.why and _named(e) <= facts.shown
    ]
    for excerpt in settled[:1]:
        cite = (facts.target.index, excerpt.index)
        lead = state(readings.bears, Field(excerpt.index, "why", excerpt.why), facts.number(excerpt.index), cite=cite)
        points.insert(0, point(400, lead))
    return [points]


def ask_for_action(facts: Facts) -> Paragraphs:
    """What such a case asks for: a general rule, since the record names none."""
    return [[point(KEPT, frame(NO_ACTIONS))], [point(KEPT, frame(f"- {LESSONS[kind_of(facts)].rule}"))]]
