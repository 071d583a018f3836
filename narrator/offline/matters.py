"""What an essay says on each matter of a style's closed list: paragraphs of points, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from narrator.excerpt import Excerpt
from narrator.markdown import fence
from narrator.offline import readings
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, frame, state
from narrator.offline.facts import Facts, find_failed, first_of, sentences_of
from narrator.offline.glosses import GLOSSES, OF_KIND
from narrator.offline.lessons import LESSONS, ORDER
from narrator.offline.links import Link, links_back, links_on
from narrator.offline.quoting import rest_of, says_done
from narrator.offline.steps import tell_turns
from narrator.offline.weighing import KEPT, Point, point
from narrator.passages import Passage
from narrator.sanitize import shorten

Paragraphs = list[list[Point]]
OFFLINE = "*Written offline, without a model: every sentence about the session is read off the record.*"
QUIET = "The record states no failure, no interruption and no other irregularity for this message."
_ENDS, _A_FEW, _LONG = 4, 30, 60
"""Ends of turns among which the outcome is looked for; characters of an answer that may tell it, and of one that tells
how things stand."""
_PARTS = 5
"""Parts of the target that are reproduced."""
_SAME = "of the same turn"
_NEAR = 8
"""How far from the target a turn is told of in its place, and not as what the session was about."""
_OF_CALLS = frozenset(["command-failed", "tool-error", "invalid-tool-call", "repeated-call"])
"""Findings whose cause lies in a call, not in what stands before the message."""
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
    """What the session was for, what the message is, its recorded cause, what came of it, and the one lesson."""
    target = facts.target
    known = [point(KEPT, claim) for claim in _what_it_is(facts)]
    point_of = frame(LESSONS[kind_of(facts)].point)
    asked = [point(500, _opening_request(facts))] if target.index else []
    outcome = find_outcome(facts)
    came = point(450, _came_to(facts, outcome, say.came_to, say.turn_came_to) if outcome else None)
    return [[*asked, *known, came, point(100, point_of)]]


def _what_it_is(facts: Facts) -> list[Claim]:
    """The message in a sentence or two: its place, and what is most particular about it."""
    target = facts.target
    role, number = facts.field(target, "role"), Field(None, "count(all)", facts.context.count)
    if (failed := find_failed(target)) is not None and kind_of(facts) == "command-failed":
        call, output = failed
        return [
            state(say.failed_here, role, number, facts.number(target.index), about(facts, target, call),
                  facts.named(target, output, "exit", output.exit), facts.line(target, output))
        ]  # fmt: skip
    place = state(say.role_and_place, role, number, facts.number(target.index))
    told = [] if is_ordinary(facts) else [sentences_of(finding)[0] for finding in facts.found[:1]]
    if not told and target.index and (turns := tell_turns(facts, [target])):
        told = turns[0][:2]
    return [place._replace(cites=told[0].cites) if told else place, *told]


def is_ordinary(facts: Facts) -> bool:
    """Whether no finding says what the message is: what it did says more of it than what is known beside that."""
    return kind_of(facts) in ("assistant", "user")


def about(facts: Facts, excerpt: Excerpt, call: Passage) -> Field:
    """How a command describes itself."""
    return facts.argument(excerpt, call, "description" if call.tool == "bash" else "")


def find_outcome(facts: Facts) -> Excerpt | None:
    """The next answer that ended a turn and says that something works or is done; else the one that ended this turn."""
    ends = [e for e in facts.context.window if e.index > facts.target.index and _ends_turn(e)][:_ENDS]
    good = [e for e in ends if (words := facts.words(e)) and says_done(words.value)]
    own = [e for e in ends if e.parent is not None and e.parent in (facts.target.parent, facts.target.index)]
    return next(iter([*good, *own]), None)


def _ends_turn(excerpt: Excerpt) -> bool:
    words = first_of(excerpt, "text")
    return excerpt.kind == "answer" and excerpt.finish == "stop" and words is not None and len(words.text) > _A_FEW


def _came_to(facts: Facts, outcome: Excerpt, later: Callable[..., str], of_turn: Callable[..., str]) -> Claim | None:
    words = facts.words(outcome)
    same = outcome.parent is not None and outcome.parent in (facts.target.parent, facts.target.index)
    return words and state(of_turn if same else later, words)


def _opening_request(facts: Facts) -> Claim:
    first = facts.context.outline.entries[0]
    rule = say.session_asked if first.kind == "typed" and first.spoken else say.session_opened
    return state(rule, facts.said(first))


def show_message(facts: Facts, words: int) -> Paragraphs:
    """The target, and what its fields say of it."""
    target, limit = facts.target, max(120, 4 * words)
    empty = state(say.nothing_in_it, cite=(target.index,)) if not target.passages else None
    claims = [
        empty,
        state(say.began_and_ended, facts.field(target, "created"), facts.field(target, "completed")),
    ]
    if target.role == "assistant":
        claims.append(state(say.finished, facts.field(target, "finish")))
    if target.tokens:
        counted = any(target.tokens.values())
        claims.append(state(say.tokens_counted if counted else say.no_tokens, *facts.tokens(target)))
    weighed = [point(500 - 10 * n, claim) for n, claim in enumerate(claims)]
    return [[point(KEPT, frame(_verbatim(target, limit)))], [*weighed]]


def _verbatim(target: Excerpt, limit: int) -> str:
    shown = [passage for passage in target.passages if passage.text.strip()]
    if not shown:
        return fence("<conversation_data>\n</conversation_data>")
    share = limit // min(len(shown), _PARTS)
    lines = [f"‹{p.label}›\n{shorten(p.text.strip(chr(10)), max(60, share))[0]}" for p in shown[:_PARTS]]
    if len(shown) > _PARTS:
        lines.append(f"‹and {len(shown) - _PARTS} more›")
    return fence("\n".join(lines))


def give_context(facts: Facts) -> Paragraphs:
    """The session round the target: its goal, where in it the target stands, what was typed last, how things stood."""
    context, first = facts.context, facts.context.outline.entries[0]
    target, created = facts.target, facts.names.get("created", "created")
    begun, ended = Field(0, created, context.begun), Field(context.count - 1, created, context.ended)
    runs = state(say.session_runs, facts.number(target.index), facts.field(target, "created"), begun, ended)
    summary = facts.latest("compaction-summary")
    text = facts.words(summary) if summary else None
    goal = [point(400, state(say.latest_summary, text))] if text else []
    count = facts.count("compaction-summary")
    compacted = [point(200, state(say.summaries_before, count, cite=(target.index,)))] if count.value else []
    further = []
    if target.index and first.kind == "typed" and first.spoken and rest_of(first.text) and "[… " not in first.text:
        further = [point(350, state(say.asked_further, facts.said(first)))]
    return [[*further, *compacted, *goal], [*_asked(facts), *_stood(facts), point(300, runs)]]


def _asked(facts: Facts) -> Iterator[Point]:
    """What the user had asked for last, and before that, but for what is told elsewhere."""
    target = facts.target
    parent = facts.at(target.parent)
    words = facts.words(parent)
    if parent is not None and words is not None and _is_last_typed(facts, parent):
        yield point(460, state(say.served, words))
    elsewhere = {0, target.parent, *range(target.index - _NEAR, target.index)}
    typed = [e for e in facts.context.window if e.kind == "typed" and e.index < target.index]
    told = {said.value: said for e in typed if e.index not in elsewhere and (said := facts.words(e))}
    told.pop(words.value if words else "", None)
    if told:
        last = sorted(told.values(), key=lambda said: said.message or 0)[-2:]
        yield point(250, state(say.requests_before, *last))


def _is_last_typed(facts: Facts, parent: Excerpt) -> bool:
    last = facts.context.latest.get("typed")
    return 0 < parent.index < facts.target.index - 1 and parent.index == last


def _stood(facts: Facts) -> Iterator[Point]:
    """What earlier answers said of how things stood."""
    entries = [e for e in facts.context.outline.entries if 0 < e.index < facts.target.index - _NEAR]
    since = facts.context.latest.get("compaction-summary", 0)
    said = [e for e in entries if e.kind == "answer" and e.spoken and len(e.text) > _LONG and e.index > since]
    if said:
        yield point(300, state(say.had_reported, *(facts.flat(entry) for entry in said[-2:])))


def explain(facts: Facts) -> Paragraphs:
    """What the record knows of the target's cause, what it does not know, and readings where it is silent."""
    target, kind = facts.target, kind_of(facts)
    failed = kind == "command-failed" or is_ordinary(facts)
    rest = [c for n, finding in enumerate(facts.found) for c in sentences_of(finding)[n < 1 and not failed :]]
    rest = [claim for claim in rest if facts.shown.issuperset(claim.cites)]
    read = [point(350, claim) for claim in _readings(facts)]
    left = (_NEXT, *([_NEXT_TYPED] if read else []), *([] if target.passages else [_NOTHING]))
    known = [point(700 - 10 * n, claim) for n, claim in enumerate(rest) if not claim.text.startswith(left)]
    said = " ".join(claim.text for claim in rest)
    known += [point(400 - n, claim) for n, claim in enumerate(_neighbours(facts, said))]
    thought = first_of(target, "reasoning")
    if thought is not None and target.role == "assistant" and not facts.kinds & {"aborted", "reasoning-only"}:
        known.insert(0, point(500, state(say.reasoned, Field(target.index, thought.at, thought.text))))
    if (account := find_account(facts)) is not None and (words := facts.words(account)):
        known.append(point(650, state(say.account_of_it, words)))
    quiet = [] if known or facts.found else [point(500, frame(QUIET))]
    return [[*known, *quiet], [*read, point(250, frame(LESSONS[kind].unknown))]]


def find_account(facts: Facts) -> Excerpt | None:
    """The answer right after a failure, where it says something and does not end the matter."""
    after = facts.at(facts.target.index + 1)
    if (
        after is None
        or after.kind != "answer"
        or not facts.kinds & {"command-failed", "tool-error", "invalid-tool-call"}
    ):
        return None
    return after if (words := facts.words(after)) and len(words.value) > _A_FEW else None


def _neighbours(facts: Facts, said: str) -> Iterator[Claim]:
    """What the fields of the messages round it say of how it came, and `said` does not."""
    target, typed = facts.target, facts.latest("typed")
    stopped = bool(facts.kinds) and not facts.kinds & _OF_CALLS
    if typed is not None and typed.index < target.index - 1 and (stopped or target.parent == typed.index):
        index, since = facts.number(typed.index), Field(None, "count(typed since)", 0)
        yield state(say.nothing_typed_since, index, since, cite=(typed.index, target.index))
    before = facts.at(target.index - 1)
    same = before is not None and before.parent is not None and before.parent == target.parent
    if before is not None and same and stopped and _SAME not in said:
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
    return state(rule, link.term, link.sentence, link.text, cite=(link.place, facts.target.index))


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
