"""What an essay says on each matter of a style's closed list: paragraphs of points, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from narrator.excerpt import Excerpt
from narrator.markdown import fence
from narrator.offline import readings
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, frame, state
from narrator.offline.facts import Facts, first_of, sentences_of
from narrator.offline.glosses import GLOSSES, OF_KIND
from narrator.offline.lessons import LESSONS, ORDER
from narrator.offline.links import Link, links_back, links_on
from narrator.offline.steps import tell_turns
from narrator.offline.weighing import KEPT, Point, point
from narrator.sanitize import shorten

Paragraphs = list[list[Point]]
OFFLINE = "*Written offline, without a model: every sentence about the session is read off the record.*"
QUIET = "The record states no failure, no interruption and no other irregularity for this message."
_PARTS = 5
"""Parts of the target that are reproduced."""
_SAME = "of the same turn"
_NEAR = 8
"""How far from the target a turn is told of in its place, and not as what the session was about."""
_NEXT = "In the next request"
"""How the sentence of a finding begins that says what became of the message."""
_NOTHING = "Nothing of it is recorded"
"""How one begins that says again that the message is empty."""
_NEXT_TYPED = "The next message is the user's"
"""How the sentence of a finding begins that a reading says again."""


def kind_of(facts: Facts) -> str:
    """Which of `LESSONS` names the target."""
    kinds, target = set(facts.kinds), facts.target
    if target.kind == "typed":
        kinds.discard("synthetic")  # part of it was typed, and what was typed is what it is about
    if target.by_user:
        return "by-user"
    named = next((kind for kind in ORDER if kind in kinds), None)
    if target.role != "user":
        return named or "assistant"
    return named or ("user" if first_of(target, "text", "synthetic") else "silent")


def introduce(facts: Facts) -> Paragraphs:
    """What the session was for, what the message is, its recorded cause, and the one lesson."""
    target = facts.target
    place = state(say.role_and_place, facts.field(target, "role"), Field(None, "count(all)", facts.context.count),
                  facts.number(target.index))  # fmt: skip
    known = [point(400 if n else KEPT, sentences_of(finding)[0]) for n, finding in enumerate(facts.found[:2])]
    if not known and target.index:
        known = [point(300, *tell_turns(facts, [target])[0][:2])] if tell_turns(facts, [target]) else []
    point_of = frame(LESSONS[kind_of(facts)].point)
    asked = [point(500, _opening_request(facts))] if target.index else []
    return [[*asked, point(KEPT, place), *known, point(100, point_of)], [point(150, frame(OFFLINE))]]


def _opening_request(facts: Facts) -> Claim:
    first = facts.context.outline.entries[0]
    rule = say.session_asked if first.kind == "typed" and first.spoken else say.session_opened
    return state(rule, facts.said(first))


def show_message(facts: Facts, words: int) -> Paragraphs:
    """The target, and what its fields say of it."""
    target, limit = facts.target, max(120, 4 * words)
    claims = [
        _held(facts),
        state(say.began_and_ended, facts.field(target, "created"), facts.field(target, "completed")),
    ]
    if target.role == "assistant":
        claims.append(state(say.finished, facts.field(target, "finish")))
    if target.tokens:
        counted = any(target.tokens.values())
        claims.append(state(say.tokens_counted if counted else say.no_tokens, *facts.tokens(target)))
    weighed = [point(500 - 10 * n, claim) for n, claim in enumerate(claims)]
    return [[point(KEPT, frame(_verbatim(target, limit)))], [*weighed, point(300, _parent(facts))]]


def _verbatim(target: Excerpt, limit: int) -> str:
    shown = [passage for passage in target.passages if passage.text.strip()]
    if not shown:
        return fence("<conversation_data>\n</conversation_data>")
    share = limit // min(len(shown), _PARTS)
    lines = [f"‹{p.label}›\n{shorten(p.text.strip(chr(10)), max(60, share))[0]}" for p in shown[:_PARTS]]
    if len(shown) > _PARTS:
        lines.append(f"‹and {len(shown) - _PARTS} more›")
    return fence("\n".join(lines))


def _held(facts: Facts) -> Claim | None:
    target = facts.target
    if not target.passages:
        return state(say.nothing_in_it, cite=(target.index,))
    if target.role != "assistant" or any(p.kind == "left-out" for p in target.passages):
        return None
    if not target.calls and not first_of(target, "reasoning"):
        return None
    texts = Field(target.index, "count(text)", sum(p.kind == "text" for p in target.passages))
    thoughts = Field(target.index, "count(reasoning)", sum(p.kind == "reasoning" for p in target.passages))
    return state(say.holds, texts, thoughts, Field(target.index, "count(calls)", target.calls))


def _parent(facts: Facts) -> Claim | None:
    target, parent = facts.target, facts.target.parent
    if parent is None:
        return None
    asked, field = facts.words(facts.at(parent)), Field(target.index, facts.names.get("parent", "parent"), parent)
    if asked is None or parent >= target.index - _NEAR:
        return state(say.answers_to, field, cite=(target.index,))
    return state(say.answers, field, asked)


def give_context(facts: Facts) -> Paragraphs:
    """The session round the target: its length, its phase, what was typed last, what had been reached."""
    context, first, last = facts.context, facts.context.outline.entries[0], facts.context.outline.entries[-1]
    created = facts.names.get("created", "created")
    runs = state(
        say.session_runs,
        Field(None, "count(all)", context.count),
        Field(0, created, context.begun),
        Field(context.count - 1, created, context.ended),
        cite=(first.index, last.index),
    )
    compacted = state(say.summaries_before, facts.count("compaction-summary"), cite=(facts.target.index,))
    summary = facts.latest("compaction-summary")
    text = facts.words(summary) if summary else None
    phase = [point(300, runs), point(200, compacted)]
    latest = point(400, state(say.latest_summary, text)) if text else point(0)
    return [[*phase, latest], list(_asked(facts)), list(_reached(facts))]


def _asked(facts: Facts) -> Iterator[Point]:
    """The last turns that the user had typed, but for those told of elsewhere."""
    target = facts.target
    elsewhere = {0, target.parent, *range(target.index - _NEAR, target.index)}
    typed = [e for e in facts.context.window if e.kind == "typed" and e.index < target.index]
    told = {words.value: words for e in typed if e.index not in elsewhere and (words := facts.words(e))}
    if told:
        last = sorted(told.values(), key=lambda words: words.message or 0)[-3:]
        yield point(450, state(say.requests_before, *last))


def _reached(facts: Facts) -> Iterator[Point]:
    """What had been reached, and what earlier answers said of how things stood."""
    target = facts.target.index
    entries = [entry for entry in facts.context.outline.entries if 0 < entry.index < target - _NEAR]
    steps = {e.reached.split(" (")[0]: e for e in entries if e.reached and not e.reached.startswith("said")}
    for entry in list(steps.values())[-2:]:
        reached = Field(entry.index, "reached", entry.reached.split("; said")[0])
        yield point(150, state(say.was_reached, facts.number(entry.index), reached, facts.flat(entry)))
    since = facts.context.latest.get("compaction-summary", 0)
    said = [e for e in entries if e.kind == "answer" and e.spoken and len(e.text) > 60 and e.index > since]
    for form, entry in enumerate(said[-3:]):
        yield point(120 + form, state(say.stood, facts.number(entry.index), facts.flat(entry), form=form))


def explain(facts: Facts) -> Paragraphs:
    """What the record knows of the target's cause, what it does not know, and readings where it is silent."""
    target, lesson = facts.target, LESSONS[kind_of(facts)]
    rest = [c for n, finding in enumerate(facts.found) for c in sentences_of(finding)[n < 2 :]]
    read = [point(350, claim) for claim in _readings(facts)]
    left = (_NEXT, *([_NEXT_TYPED] if read else []), *([] if target.passages else [_NOTHING]))
    known = [point(700 - 10 * n, claim) for n, claim in enumerate(rest) if not claim.text.startswith(left)]
    said = " ".join(claim.text for claim in rest)
    known += [point(400 - n, claim) for n, claim in enumerate(_neighbours(facts, said))]
    output, thought = first_of(target, "output"), first_of(target, "reasoning")
    if output is not None and output.exit and (line := facts.line(target, output)).value:
        known.insert(0, point(600, state(say.told_of_failure, line)))
    if thought is not None and target.role == "assistant" and not facts.kinds & {"aborted", "reasoning-only"}:
        known.insert(0, point(500, state(say.reasoned, Field(target.index, thought.at, thought.text))))
    quiet = [] if known or facts.found else [point(500, frame(QUIET))]
    return [[*known, *quiet], [*read, point(250, frame(lesson.unknown))]]


def _neighbours(facts: Facts, said: str) -> Iterator[Claim]:
    """What the fields of the messages round it say of how it came, and `said` does not."""
    target, typed = facts.target, facts.latest("typed")
    if typed is not None and typed.index < target.index - 1:
        index, since = facts.number(typed.index), Field(None, "count(typed since)", 0)
        yield state(say.nothing_typed_since, index, since, cite=(typed.index, target.index))
    before = facts.at(target.index - 1)
    if before is not None and before.parent is not None and before.parent == target.parent and _SAME not in said:
        parent = Field(before.index, facts.names.get("parent", "parent"), before.parent)
        yield state(say.same_turn, facts.number(before.index), parent, cite=(before.index, target.index))
    running = facts.at(target.during)
    if running is not None:
        times = (facts.field(running, "created"), facts.field(running, "completed"))
        yield state(say.sent_while_running, facts.field(target, "created"), facts.number(running.index), *times)
    told = "tokens going in" in said or "finished with" in said
    if target.kind == "compaction-request" and not told and before is not None and before.finish and before.tokens:
        new, cached, _ = facts.tokens(before)
        yield state(say.loop_was_going_on, facts.number(before.index), facts.field(before, "finish"), new, cached)


def _readings(facts: Facts) -> Iterator[Claim]:
    """What may have been, where the record is silent and both sides of it are recorded."""
    form = 0
    target, after = facts.target, facts.at(facts.target.index + 1)
    words, ended = facts.words(after), facts.target.completed
    if after is None or words is None or after.kind != "typed":
        return
    later = bool(ended and after.created and after.created >= ended)
    if "aborted" in facts.kinds and later and not readings.can_be_about_a_stop(words.value):
        sent, stop = facts.field(after, "created"), facts.field(target, "completed")
        yield state(readings.may_have_stopped_it, facts.number(after.index), sent, stop, words)
        form = 1
    asked = facts.words(facts.at(target.parent))
    if asked is not None and target.parent is not None and readings.differ_little(asked.value, words.value):
        one, two = facts.number(target.parent), facts.number(after.index)
        yield state(readings.may_be_a_slip, one, asked, two, words, form=form)


def give_knowledge(facts: Facts) -> Paragraphs:
    """What one must know: concepts that the message needs, and earlier words that it leans on."""
    wanted = [name for kind in [kind_of(facts)] for name in OF_KIND.get(kind, ())]
    wanted += ["queue"] if facts.target.during is not None or facts.target.meanwhile else []
    wanted += ["finish"] if not wanted and facts.target.finish == "tool-calls" else []
    glosses = [[point(300 - n, frame(GLOSSES[name]))] for n, name in enumerate(dict.fromkeys(wanted))]
    return [
        *glosses[:2],
        [point(200 - n, _linked(facts, say.leaned_on, one)) for n, one in enumerate(links_back(facts))],
    ]


def _linked(facts: Facts, rule: Callable[..., str], link: Link) -> Claim:
    return state(
        rule, link.term, facts.number(link.place), link.sentence, link.text, cite=(link.place, facts.target.index)
    )


def give_outcome(facts: Facts) -> Paragraphs:
    """What the message changed, or what became of it, and what came back to it later."""
    claims = [c for finding in facts.found for c in sentences_of(finding) if c.text.startswith(_NEXT)]
    made = [p for p in facts.target.passages if p.kind == "input" and p.fate == "ran" and p.tool in ("write", "edit")]
    for call in made[:3]:
        subject, name = facts.subject(facts.target, call), facts.named(facts.target, call, "name", call.tool)
        claims.append(state(say.made, name, subject))
    summary = facts.target if facts.target.kind == "compaction-summary" else facts.at(facts.target.index + 1)
    text = facts.words(summary)
    if summary and text and summary.kind == "compaction-summary" and text.value.count("\n## ") > 1:
        claims.append(state(say.has_parts, facts.number(summary.index), text._replace(name=f"part({text.name})")))
    linked = [point(200 - n, _linked(facts, say.was_taken_up, one)) for n, one in enumerate(links_on(facts))]
    return [[*(point(400, claim) for claim in claims), *linked]]
