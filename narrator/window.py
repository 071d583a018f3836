"""Which messages round the target are shown, and how much of each, within a budget of tokens.

Nearest first and whole, farther ones shortened; whatever stands between two that are shown is counted by kind, so that
nobody takes neighbours in a prompt for neighbours in the session.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from narrator.errors import UsageError
from narrator.excerpt import ANY_KEY, Excerpt, take_excerpt
from narrator.findings import diagnose
from narrator.outline import gap_between
from narrator.session import Session
from narrator.tokens import count_tokens

DEFAULT_BUDGET = 24_000
"""Tokens for target and window; the outline has its own bound."""
LEAST_BUDGET = 400
"""Below it not even the frame of a target goes in."""
_BEFORE, _AFTER = 30, 60
"""How far the window reaches when the budget allows: further ahead, since how a matter ended lies there."""
_CAPS = ((2, 4000), (6, 900), (15, 320), (30, 150), (_AFTER, 80))
"""(distance from the target, tokens a message at most): the nearest whole, farther ones shortened."""
_SMALLEST = 60
"""Tokens below which a message in the window says nothing."""
_LABELS = 110
"""Tokens that a message's frame usually takes beside its text; what was really taken is counted."""
_FIRST, _CLOSE = 8, 15
"""How many messages come before all else, and how far from the target a message counts as close."""


class Reach(NamedTuple):
    """How much to show."""

    budget: int = DEFAULT_BUDGET
    before: int = 0
    """At least these many messages before the target; so `after`."""
    after: int = 0


def choose_window(session: Session, target: int, reach: Reach, budget: int) -> tuple[Excerpt, ...]:
    """The target and what is shown round it, in `budget` tokens; of `reach.budget` the target may have half.

    Raises:
        UsageError: what `reach` promises does not go into the budget; says about how much would do.
    """
    chosen = {target: _centre(session, target, reach.budget // 2, budget)}
    promised = [index for index in _order(session, target, reach) if _is_promised(index, target, reach)]
    _keep_promises(session, target, promised, chosen, budget)
    if promised and (taken := count_window(session, chosen.values())) > budget:
        needed = math.ceil((taken + reach.budget - budget) * 1.05 / 100) * 100
        raise UsageError(f"--budget {reach.budget}: too small for --before and --after; about {needed} are needed")
    _fill(session, target, reach, chosen, budget)
    while count_window(session, chosen.values()) > budget and len(chosen) > len(promised) + 1:
        chosen.popitem()
    _widen(session, target, chosen, budget)
    return tuple(chosen[index] for index in sorted(chosen))


def _centre(session: Session, target: int, half: int, budget: int) -> Excerpt:
    """The target in half the budget, or in what its frame leaves of a small one."""
    centre = take_excerpt(session, target, limit=half)
    over = count_window(session, [centre]) - budget
    return take_excerpt(session, target, limit=max(_SMALLEST, half - over)) if over > 0 else centre


def _keep_promises(session: Session, target: int, promised: list[int], chosen: dict[int, Excerpt], budget: int) -> None:
    """Add the promised messages, each with a fair share of the room."""
    room = budget - count_window(session, chosen.values())
    for place, index in enumerate(promised):
        fair = room // (len(promised) - place) - _LABELS
        limit = max(_SMALLEST, min(fair, _cap(abs(index - target), budget)))
        chosen[index] = take_excerpt(session, index, limit=limit)
        room -= _cost(session, chosen[index])


def _fill(session: Session, target: int, reach: Reach, chosen: dict[int, Excerpt], budget: int) -> None:
    """Add messages in the order of their worth as long as there is room."""
    room = budget - count_window(session, chosen.values())
    anchors = _anchors(session, target)
    for index in _order(session, target, reach):
        if index in chosen:
            continue
        distance = abs(index - target)
        near = 2 if index in anchors else min(distance, _CLOSE) if _is_turn(session, index) else distance
        limit = min(_cap(near, budget), room // 3 if index in anchors else room, room - _LABELS)
        if limit < _SMALLEST:
            return
        excerpt = take_excerpt(session, index, limit=limit)
        if (cost := _cost(session, excerpt)) <= room:
            chosen[index] = excerpt
            room -= cost


def _widen(session: Session, target: int, chosen: dict[int, Excerpt], budget: int) -> None:
    """Spend what is left of the budget on the nearest messages that were shortened."""
    room = budget - count_window(session, chosen.values())
    for index in [index for index, excerpt in chosen.items() if excerpt.omitted and index != target]:
        if room < _SMALLEST:
            return
        taken = _cost(session, chosen[index])
        wider = take_excerpt(session, index, limit=taken + room - _LABELS)
        if (more := _cost(session, wider) - taken) <= room:
            room -= more
            chosen[index] = wider


def _cost(session: Session, excerpt: Excerpt) -> int:
    """Tokens of a message in the prompt, what the record knows of it included."""
    return count_tokens(excerpt.printed(diagnose(session, excerpt.index), ANY_KEY) + "\n")


def count_window(session: Session, window: Iterable[Excerpt]) -> int:
    """Tokens of messages in the prompt, and of the marks of the gaps between them."""
    costs = {excerpt.index: _cost(session, excerpt) for excerpt in window}
    gaps, rest = find_gaps(session, costs)
    return sum(costs.values()) + sum(count_tokens(f"record: {mark}\n\n") for mark in [*gaps.values(), rest] if mark)


def find_gaps(session: Session, shown: Iterable[int]) -> tuple[dict[int, str], str]:
    """Index of a message → what lies between the one shown before it and it, where something does; and what follows."""
    before, gaps = -1, {}
    for index in sorted(shown):
        if index > before + 1:
            gaps[index] = gap_between(session, before, index, "not shown here")
        before = index
    return gaps, gap_between(session, before, len(session), "not shown here")


def _is_promised(index: int, target: int, reach: Reach) -> bool:
    return target - reach.before <= index <= target + reach.after


def _is_turn(session: Session, index: int) -> bool:
    """Whether the user speaks here, or the assistant stops speaking: where it is said how things stand."""
    following = session.skims[index + 1].kind if index + 1 < len(session) else "typed"
    return session.skims[index].kind != "answer" or following == "typed"


def _cap(distance: int, budget: int) -> int:
    return next((min(cap, max(_SMALLEST, budget // 6)) for far, cap in _CAPS if distance <= far), _SMALLEST)


def _order(session: Session, target: int, reach: Reach) -> list[int]:
    """Messages round the target in the order in which they get a place.

    Nearest first, one before for one after; then, since the target cannot be understood without them, the user turn it
    answers with what that turn answered in its turn, the last turn a person typed, and the last compaction summary.
    Farther away, where a turn begins or ends comes before what lies in the middle of one.
    """
    before = list(range(target - 1, max(-1, target - 1 - max(_BEFORE, reach.before)), -1))
    after = list(range(target + 1, min(len(session), target + 1 + max(_AFTER, reach.after))))
    order: list[int] = []
    for step in range(max(len(before), len(after))):
        order += before[step : step + 1] + after[step : step + 1]
    anchors = [index for index in _anchors(session, target) if index not in order[:_FIRST]]
    close = [index for index in order if abs(index - target) <= _CLOSE]
    turns = [index for index in order if _is_turn(session, index)]
    return list(dict.fromkeys([*order[:_FIRST], *anchors, *close, *turns, *order]))


def _anchors(session: Session, target: int) -> list[int]:
    skims = session.skims
    parent = skims[target].parent
    asked = parent if parent is not None and parent < target else None
    typed, summary = skims.last("typed", target), skims.last("compaction-summary", target)
    offered = asked - 1 if asked else None
    return [index for index in dict.fromkeys([asked, offered, typed, summary]) if index is not None]
