"""Which messages round the target are shown, and how much of each, within a budget of tokens.

Nearest first and whole, then what bears on the target wherever it lies (`bearing`), then farther neighbours, shortened;
whatever stands between two that are shown is counted by kind, so that nobody takes neighbours in a prompt for
neighbours in the session.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

from narrator.bearing import Bearing, find_bearing
from narrator.errors import UsageError
from narrator.excerpt import Excerpt, take_excerpt
from narrator.findings import Finding, diagnose
from narrator.outline import gap_between
from narrator.repeats import lines_shown
from narrator.session import Session
from narrator.shortening import ANY_KEY
from narrator.skims import KINDS
from narrator.tokens import count_tokens

DEFAULT_BUDGET = 24_000
"""Tokens for target and window; the outline has its own bound."""
LEAST_BUDGET = 800
"""Below it not even the frame of a target goes in."""
_BEFORE, _AFTER = 30, 60
"""How far the neighbours reach when the budget allows: further ahead, since how a matter went on lies there."""
_FAR = 400
"""How far it reaches when even that leaves room."""
_CAPS = ((2, 4000), (6, 900), (15, 320), (30, 150), (_AFTER, 80))
"""(distance from the target, tokens a message at most): the nearest whole, farther ones shortened."""
_SPARE, _TRIES = 16, 3
"""Tokens that are not worth spending, and how often a message is fitted to what is left."""
_SMALLEST = 60
"""Tokens below which a message in the window says nothing."""
_LABELS = 110
"""Tokens that a message's frame usually takes beside its text; what was really taken is counted."""
_GAP = 30
"""Tokens of the mark of a gap, while choosing; what was really taken is counted."""
_FIRST, _CLOSE = 8, 15
"""How many messages come before all else, and how far from the target a message counts as close."""
_NEAR = 6
"""How far from the target it is said why a message is shown."""
_RESERVED, _SHARE = 0.4, 300
"""Share of the budget that neighbours leave to what bears on the target, and tokens reserved for each of these."""
_ANSWER, _TYPED = KINDS.index("answer"), KINDS.index("typed")


class Reach(NamedTuple):
    """How much to show."""

    budget: int = DEFAULT_BUDGET
    before: int = 0
    """At least these many messages before the target; so `after`."""
    after: int = 0


class Shown(NamedTuple):
    """A message of the window."""

    excerpt: Excerpt
    findings: tuple[Finding, ...]
    """What the record knows of it."""
    cost: int
    """Tokens of all of it in the prompt."""
    size: int
    """Bytes of the message as stored."""


class Window(NamedTuple):
    """The target and what is shown round it, in order."""

    shown: tuple[Shown, ...]
    gaps: dict[int, str]
    """Index of a message → what lies between the one shown before it and it, counted by kind, where something does."""
    rest: str
    """What lies after the last one; "" when nothing does."""
    length: int
    """Estimated tokens of it in the prompt, the marks of gaps included."""


def choose_window(session: Session, target: int, reach: Reach, budget: int) -> Window:
    """The target and what is shown round it, in `budget` tokens; of `reach.budget` the target may have half.

    Raises:
        UsageError: what `reach` promises does not go into the budget; says about how much would do.
    """
    filling = _Filling(session, target, budget)
    filling.add_target(reach.budget // 2)
    order = _order(session, target, reach, filling.bearing)
    promised = [index for index in order if _is_promised(index, target, reach)]
    filling.keep_promises(promised)
    if promised and (taken := filling.length()) > budget:
        needed = math.ceil((taken + reach.budget - budget) * 1.05 / 100) * 100
        raise UsageError(f"--budget {reach.budget}: too small for --before and --after; about {needed} are needed")
    for _ in range(2):  # gaps were reckoned wider than most are: what that leaves is used
        filling.fill(order)
    while filling.length() > budget and len(filling.chosen) > len(promised) + 1:
        filling.chosen.popitem()
    filling.widen()
    gaps, rest = find_gaps(session, filling.chosen)
    shown = tuple(filling.chosen[index] for index in sorted(filling.chosen))
    return Window(shown, gaps, rest, filling.length())


class _Filling:
    """A window while it is filled; `chosen` is in the order of worth."""

    def __init__(self, session: Session, target: int, budget: int) -> None:
        self._session, self._target, self._budget = session, target, budget
        self._findings: dict[int, tuple[Finding, ...]] = {}
        self._lines: dict[str, int] = {}
        self.bearing = {bearing.index: bearing for bearing in find_bearing(session, target)}
        self.chosen: dict[int, Shown] = {}

    def add_target(self, half: int) -> None:
        """The target in half the budget, or in what its frame leaves of a small one."""
        self._add(self._take(self._target, half))
        if (over := self.length() - self._budget) > 0:
            self._add(self._take(self._target, max(_SMALLEST, half - over)))

    def keep_promises(self, promised: list[int]) -> None:
        """Add the promised messages, each with a fair share of the room."""
        room = self._budget - self.length()
        for place, index in enumerate(promised):
            fair = room // (len(promised) - place) - _LABELS
            limit = max(_SMALLEST, min(fair, _cap(abs(index - self._target), self._budget)))
            room -= self._add(self._take(index, limit))

    def fill(self, order: list[int]) -> None:
        """Add messages in the order of their worth as long as there is room."""
        room = self._budget - self.length()
        far = [index for index in self.bearing if index not in order[:_FIRST] and index not in self.chosen]
        reserved = int(min(_RESERVED * self._budget, _SHARE * len(far)))
        for place, index in enumerate(order):
            if index in self.chosen:
                continue
            distance = abs(index - self._target)
            kept_free = reserved if place < _FIRST and distance > 1 else 0
            limit = min(self._limit(index, room), room - kept_free - _LABELS - _GAP)
            if limit < _SMALLEST:
                if kept_free:
                    continue
                return
            shown = self._take(index, limit)
            apart = _GAP * (index - 1 not in self.chosen and index + 1 not in self.chosen)
            if shown.cost + apart <= room:
                room -= self._add(shown) + apart

    def widen(self) -> None:
        """Spend what is left of the budget on the messages that were shortened, the most telling first."""
        room = self._budget - self.length()
        shortened = [index for index, shown in self.chosen.items() if shown.excerpt.omitted and index != self._target]
        for index in shortened:
            if room < _SPARE:
                return
            room -= self._widen_one(index, room)

    def _widen_one(self, index: int, room: int) -> int:
        """Show more of a message, in at most `room` tokens more, and say how many it took."""
        shown = self.chosen[index]
        limit = count_tokens(shown.excerpt.body(ANY_KEY)) + room
        for _ in range(_TRIES):
            wider = self._take(index, limit)
            more = wider.cost - shown.cost
            if more <= room:
                self.chosen[index] = wider if more > 0 else shown
                return max(0, more)
            limit -= more - room + _SPARE // 2
        return 0

    def length(self) -> int:
        """Tokens of the chosen messages in the prompt, and of the marks of the gaps between them."""
        gaps, rest = find_gaps(self._session, self.chosen)
        marks = sum(count_tokens(f"record: {mark}\n\n") for mark in [*gaps.values(), rest] if mark)
        return sum(shown.cost for shown in self.chosen.values()) + marks

    def _limit(self, index: int, room: int) -> int:
        """Tokens of a message at most: what bears on the target has room wherever it lies."""
        distance, bearing = abs(index - self._target), self.bearing.get(index)
        near = _cap(min(distance, _CLOSE) if _is_turn(self._session, index) else distance, self._budget)
        return near if bearing is None else max(near, min(bearing.most, room // 3))

    def _take(self, index: int, limit: int) -> Shown:
        session, far = self._session, abs(index - self._target) > _NEAR
        bearing = self.bearing.get(index)
        excerpt = take_excerpt(
            session,
            index,
            limit=limit,
            shown=self._lines if far else None,
            why=bearing.why if bearing and far else "",
        )
        if index not in self._findings:
            self._findings[index] = diagnose(session, index)
        findings = self._findings[index]
        cost = count_tokens(excerpt.framed(findings, ANY_KEY) + "\n") + count_tokens(excerpt.body(ANY_KEY))
        return Shown(excerpt, findings, cost, session.size(index))

    def _add(self, shown: Shown) -> int:
        self.chosen[shown.excerpt.index] = shown
        self._lines |= lines_shown(shown.excerpt.passages, shown.excerpt.index)
        return shown.cost


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
    kinds = session.skims.kinds
    following = kinds[index + 1] if index + 1 < len(kinds) else _TYPED
    return kinds[index] != _ANSWER or following == _TYPED


def _cap(distance: int, budget: int) -> int:
    return next((min(cap, max(_SMALLEST, budget // 6)) for far, cap in _CAPS if distance <= far), _SMALLEST)


def _order(session: Session, target: int, reach: Reach, bearing: dict[int, Bearing]) -> list[int]:
    """Messages in the order in which they get a place.

    Nearest first, one before for one after; then what bears on the target, wherever it lies; then the close ones.
    Farther away, where a turn begins or ends comes before what lies in the middle of one.
    """
    order = _nearest(session, target, max(_BEFORE, reach.before), max(_AFTER, reach.after))
    close = [index for index in order if abs(index - target) <= _CLOSE]
    turns = [index for index in order if _is_turn(session, index)]
    far = _nearest(session, target, _FAR, _FAR)
    return list(dict.fromkeys([*order[:_FIRST], *bearing, *close, *turns, *order, *far]))


def _nearest(session: Session, target: int, before: int, after: int) -> list[int]:
    """At most so many messages before and after the target, the nearest first, one before for one after."""
    back = range(target - 1, max(-1, target - 1 - before), -1)
    ahead = range(target + 1, min(len(session), target + 1 + after))
    return [index for pair in zip_longest(back, ahead) for index in pair if index is not None]
