"""What an offline essay says, in the order of its style: which matter goes where, under what heading, and how long."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from narrator.context import Context
from narrator.offline import matters, outcomes, titles, turning
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, frame, paragraph, state
from narrator.offline.facts import Facts, find_failed, first_of
from narrator.offline.lessons import LESSONS
from narrator.offline.weighing import Point, count_words, fit
from narrator.style import Section, Style

_ENGLISH: str = Style.model_fields["language"].default
_TRIES = 5
"""How often an essay that is too long is written again with another share of room for each part."""
_SHORT = 400
"""Words of an essay that does without a line on how it was written; the page says so anyhow."""
_PREFIX = re.compile(r"`# (\w[\w ]*: )`")
"""What a style wants each title to begin with."""
_BRACKET = re.compile(r"\[msg ")
_OWN_HEADINGS: str = Style.model_fields["headings"].default
"""What the headings of a style are like that wants them to carry content."""
_HEADINGS = {
    "message": "The Message Itself",
    "context": "The Session Around It",
    "after": "What Followed",
    "assumptions": "What Was Taken for Granted",
    "input": "What One Must Know to Read It",
    "output": "What It Left Behind",
    "lesson": "What It Teaches",
    "conclusion": "Where It Ended",
}

_QUOTES = frozenset(["account_of_it", "came_to", "turn_came_to"])
"""Rules that quote an answer, which is not quoted again by what is told in order."""
_LAST_WORDS = frozenset(["assistant_said", "user_wrote"])
_LEAST = 30
_SPARE = frozenset(["message", "context", "assumptions", "input", "output", "conclusion", "contributing", "went-well"])
"""Words below which some parts are left out, and which: what remains is told in whole sentences."""

Paragraph = tuple[Claim, ...]


class Plan(NamedTuple):
    """An essay as paragraphs of claims, title first, and what it could not do."""

    paragraphs: tuple[Paragraph, ...]
    notes: tuple[str, ...]


def plan_essay(context: Context, style: Style) -> Plan:
    """The essay about a context's target, as `style` wants it and as far as the record goes."""
    facts, notes = Facts(context), []
    parts = [part for part in style.parts if part.matter is not None]
    unknown = [part.name for part in style.parts if part.matter is None]
    if unknown:
        notes.append(f"left out, since its manifest names no matter for it: {', '.join(unknown)}")
    if style.language != _ENGLISH:
        notes.append(f"written in English, not in {style.language}: the offline writer knows no other language")
    spare = [part for part in parts if part.matter in _SPARE and part.words.most < _LEAST]
    if spare:
        parts = [part for part in parts if part not in spare]
        notes.append(f"left out, since there is no room for a sentence of it: {', '.join(part.name for part in spare)}")
    essay, words, cited, factor = _fitted(facts, style, parts)
    if words < style.words.least:
        why = "no sentence is cut" if factor < 1 else "the record gives no more that bears on the message"
        notes.append(f"{words} words, fewer than the {style.words.least} of the style: {why}")
    elif words > style.words.most:
        notes.append(f"{words} words, more than the {style.words.most} of the style: nothing could be left out")
    if cited > style.citations.most:
        notes.append(f"{cited} citations, more than the {style.citations.most} of the style")
    return Plan(tuple(tuple(claims) for claims in essay), tuple(notes))


def _fitted(facts: Facts, style: Style, parts: Sequence[Section]) -> tuple[list[list[Claim]], int, int, float]:
    """The longest essay that is found within the style's words and citations, its words, its citations.

    And by how much less room each part had for it than the style gives it.
    """
    most, cites = max(1, style.words.most), max(1, style.citations.most)
    low, high, best = 0.0, 1.0, (*_measured(facts, style, parts, 1.0), 1.0)
    if best[1] <= most and best[2] <= cites:
        return best
    for _ in range(_TRIES):
        factor = (low + high) / 2
        tried = (*_measured(facts, style, parts, factor), factor)
        if tried[1] <= most and tried[2] <= cites:
            low, best = factor, tried
        else:
            high = factor
            best = tried if low == 0 else best
    return best


def _measured(
    facts: Facts, style: Style, parts: Sequence[Section], factor: float
) -> tuple[list[list[Claim]], int, int]:
    """The essay, its words and its citations."""
    essay = _write(facts, style, parts, factor)
    return essay, count_words(essay), sum(len(_BRACKET.findall(paragraph(claims))) for claims in essay)


def _write(facts: Facts, style: Style, parts: Sequence[Section], factor: float) -> list[list[Claim]]:
    essay: list[list[Claim]] = [[_title(facts, style)]]
    said, is_short = set[tuple[str, tuple[int, ...]]](), style.words.most < _SHORT
    for part in parts:
        room = max(1, round(part.words.most * factor))
        told = [_unsaid(claims, said) for claims in _tell(facts, part, room, _told(essay))]
        told = [claims for claims in told if claims]
        if told and part.heading:
            essay.append([_heading(facts, style, part)])
        essay += told
    return essay if is_short else [*essay, [frame(matters.OFFLINE)]]


def _told(essay: Sequence[Sequence[Claim]]) -> frozenset[int]:
    """Answers whose words the essay has told already."""
    return frozenset(
        field.message
        for claims in essay
        for claim in claims
        for field in claim.fields
        if claim.rule in _QUOTES and field.message is not None and field.name.endswith("text")
    )


def _unsaid(claims: list[Claim], said: set[tuple[str, tuple[int, ...]]]) -> list[Claim]:
    """Claims that the essay has not made yet; it says each thing once."""
    if any(claim.rule == "at_time" for claim in claims):
        return claims
    fresh = [claim for claim in claims if _key(claim) not in said]
    said.update(_key(claim) for claim in fresh)
    said.update(("session_ended", claim.cites) for claim in fresh if claim.rule in _LAST_WORDS)
    return fresh


def _key(claim: Claim) -> tuple[str, tuple[int, ...]]:
    """What a claim says, of what; the session's last words are the same whichever part tells them."""
    return ("session_ended" if claim.rule == "session_ended" else claim.text), claim.cites


def _tell(facts: Facts, part: Section, room: int, told: frozenset[int]) -> list[list[Claim]]:
    if part.matter == "before":
        return _before(facts, room, told)
    if part.matter == "after":
        return turning.tell_after(facts, room, told) or [[_nothing_after(facts)]]
    if part.matter == "lesson":
        return fit(outcomes.draw_lesson(facts, room), room)
    if part.matter == "message":
        return fit(matters.show_message(facts, room), room)
    return fit(_MATTERS[part.matter or ""](facts), room)


def _before(facts: Facts, room: int, told: frozenset[int]) -> list[list[Claim]]:
    """What led there; the first request is not told of again, since an essay opens with it."""
    target = facts.target.index
    if turns := turning.tell_before(facts, frozenset([0]), room, told):
        return turns
    rule = say.only_the_request_before if target == 1 else say.nothing_before
    return [[state(rule, facts.number(0), cite=(0,))] if target == 1 else [state(rule, cite=(target,))]]


def _nothing_after(facts: Facts) -> Claim:
    rule = say.never_answered if facts.target.kind == "typed" else say.nothing_after
    return state(rule, cite=(facts.target.index,))


_MATTERS: dict[str, Callable[[Facts], list[list[Point]]]] = {
    "introduction": matters.introduce,
    "context": matters.give_context,
    "cause": matters.explain,
    "assumptions": outcomes.name_assumptions,
    "input": matters.give_knowledge,
    "output": matters.give_outcome,
    "conclusion": outcomes.conclude,
    "impact": outcomes.weigh_impact,
    "timeline": outcomes.list_times,
    "contributing": outcomes.find_contributing,
    "went-well": outcomes.find_good,
    "actions": outcomes.ask_for_action,
}


def _title(facts: Facts, style: Style) -> Claim:
    claim = _title_of(facts)
    prefix = _PREFIX.search(style.title)
    return claim._replace(text=f"# {prefix[1]}{claim.text.removeprefix('# ')}") if prefix else claim


def _title_of(facts: Facts) -> Claim:
    """The title, with what tells this message best from others of its kind."""
    target, kind = facts.target, matters.kind_of(facts)
    given = (Field(target.index, "kind", kind), facts.number(target.index))
    call, words = first_of(target, "input"), facts.words(target)
    if kind in ("compaction-request", "compaction-summary"):
        return state(titles.title_of_many, *given, facts.count(kind), cite=())._replace(cites=())
    ended = target.completed is not None and target.created is not None and target.completed >= target.created
    if kind in ("aborted", "empty-completion") and ended:
        claim = state(titles.title_in_time, *given, facts.field(target, "created"), facts.field(target, "completed"))
    elif kind == "command-failed" and (failed := find_failed(target)) is not None:
        claim = state(
            titles.title_of_failure,
            *given,
            matters.about(facts, target, failed[0]),
            facts.subject(target, failed[0]),
            facts.line(target, failed[1]),
            facts.named(target, failed[1], "exit", failed[1].exit),
        )
    elif kind in ("tool-error", "tool-aborted") and call is not None and call.subject[0] in ("filePath", "path"):
        claim = state(titles.title_of_path, *given, facts.subject(target, call))
    elif kind in ("assistant", "by-user") and words is None and call is not None and call.subject[1].strip():
        claim = state(titles.title_of_command, *given, facts.subject(target, call))
    elif kind in ("assistant", "user", "user-nudge", "synthetic") and words is not None:
        claim = state(titles.title_of_words, *given, words)
    else:
        claim = state(titles.title, *given, Field(target.index, "", ""))
    return claim._replace(cites=())


def _heading(facts: Facts, style: Style, part: Section) -> Claim:
    """The heading of a part: one that carries content, unless the style wants the names of its parts."""
    if part.matter == "before":
        return state(titles.heading_before, facts.number(facts.target.index))._replace(cites=())
    if style.headings != _OWN_HEADINGS or (part.matter not in _HEADINGS and part.matter != "cause"):
        return frame(f"## {part.name.title()}")
    if part.matter == "cause":
        return frame(f"## {LESSONS[matters.kind_of(facts)].why}")
    return frame(f"## {_HEADINGS[part.matter or '']}")
