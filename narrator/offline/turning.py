"""Which turns an essay tells of: those next to the target, and those far off that bear on it, as many as fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from narrator.excerpt import Excerpt
from narrator.offline import readings
from narrator.offline.claims import Claim, Field, state
from narrator.offline.facts import Facts, first_of
from narrator.offline.quoting import tells_error
from narrator.offline.steps import tell_turns
from narrator.offline.weighing import count_words

_NEAR, _ON, _FAR, _CLOSE = 8, 15, 5, 2
"""Messages before and after the target that may be told of, those farther off, and those told of in any case."""
_A_TURN = 10
"""Words that hardly any turn is told in fewer of."""
_BEFORE = re.compile(r"the same (?:command|file) as in msg .*")
_SETTLES = re.compile(r".* succeeds here")
_AFTER = re.compile(r".* (?:succeeds|fails) here|.* is used here next|the turn of msg \d+ ends here")
_NEXT_TURN = re.compile(r"the turn after that of msg \d+ ends here")


def tell_before(facts: Facts, but: frozenset[int], words: int, told: frozenset[int]) -> list[list[Claim]]:
    """What led to the target, in order: what bears on it from afar, then the messages right before it."""
    target = facts.target.index
    if _only_speaks(facts.target):
        but |= {e.index for e in facts.context.window if e.index < target - _NEAR}
    near = [e for e in facts.context.window if max(target - _NEAR, 0) <= e.index < target and e.index not in but]
    far = [
        e for e in facts.context.window if e.index < target - _NEAR and e.index not in but and _BEFORE.fullmatch(e.why)
    ]
    return _tell(facts, [*far[-_FAR:], *near], words, told)


def tell_after(facts: Facts, words: int, told: frozenset[int]) -> list[list[Claim]]:
    """What followed: the messages right behind the target, then how the matter was settled."""
    target = facts.target.index
    near = [e for e in facts.context.window if target < e.index <= target + _ON]
    far = [e for e in facts.context.window if e.index > target + _ON and _AFTER.fullmatch(e.why)]
    far = [] if _only_speaks(facts.target) else far
    far = far or [e for e in facts.context.window if e.index > target + _ON and _NEXT_TURN.fullmatch(e.why)][:1]
    return _tell(facts, [*near, *far[:_FAR]], words, told)


def _tell(facts: Facts, excerpts: Sequence[Excerpt], words: int, told: frozenset[int]) -> list[list[Claim]]:
    """The turns in at most about `words` words; those of least weight are left out."""
    kept = _weightiest(facts, excerpts, 2 + words // _A_TURN)
    while count_words(turns := tell_turns(facts, kept, _lead(facts), told)) > words and len(kept) > 1:
        kept.remove(min(kept, key=lambda excerpt: (_weight(facts, excerpt), -excerpt.index)))
    return turns


def _only_speaks(excerpt: Excerpt) -> bool:
    """Whether a message is an answer in words alone: what calls came to bears on it no more than on its neighbours."""
    return excerpt.role == "assistant" and not excerpt.calls and first_of(excerpt, "text") is not None


def _lead(facts: Facts) -> Callable[[Excerpt], Claim | None]:
    """Of a message far off, the sentence that says what it has to do with the target."""

    def lead(excerpt: Excerpt) -> Claim | None:
        near = facts.target.index - _NEAR <= excerpt.index <= facts.target.index + _ON
        if near and facts.kinds & {"command-failed"} and readings.SETTLES.fullmatch(excerpt.why):
            return _settled(facts, excerpt)
        if near or not readings.bears(excerpt.why, excerpt.index):
            return None
        cite = {excerpt.index, *(int(name) for name in re.findall(r"msg (\d+)", excerpt.why))}
        if not cite <= facts.shown:
            return None
        why, number = Field(excerpt.index, "why", excerpt.why), facts.number(excerpt.index)
        return state(readings.bears, why, number, cite=sorted(cite))

    return lead


def _settled(facts: Facts, excerpt: Excerpt) -> Claim | None:
    """That the failed command, or one much like it, came to its end, and what its output says all the same."""
    target, output = facts.target, first_of(excerpt, "output")
    if output is None or target.created is None or (excerpt.created or 0) < target.created:
        return None
    line = facts.line(excerpt, output)
    line = line._replace(value=line.value if tells_error(line.value) else "")
    why = Field(excerpt.index, "why", excerpt.why)
    times = facts.field(target, "created"), facts.field(excerpt, "created")
    return state(readings.came_again, why, *times, line, cite=(target.index, excerpt.index))


def _weightiest(facts: Facts, excerpts: Sequence[Excerpt], most: int) -> list[Excerpt]:
    """The turns of most weight, in order."""
    by_weight = sorted(excerpts, key=lambda excerpt: (-_weight(facts, excerpt), excerpt.index))
    return sorted(by_weight[:most], key=lambda excerpt: excerpt.index)


def _weight(facts: Facts, excerpt: Excerpt) -> int:
    """How much a turn deserves to be told of."""
    distance = abs(excerpt.index - facts.target.index)
    settles = 90 * (_SETTLES.fullmatch(excerpt.why) is not None) + 25 * bool(excerpt.why and distance > _NEAR)
    near = max(0, 90 - 8 * distance) + 60 * (distance <= 1) + 20 * (distance <= _CLOSE)
    near += 25 * (excerpt.finish == "stop")
    failed = any(p.exit or p.kind == "error" for p in excerpt.passages)
    said = first_of(excerpt, "text") is not None
    return settles + near + 35 * failed + 12 * said + 30 * (excerpt.role == "user")
