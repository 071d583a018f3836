"""Figures that stand nowhere but follow from what does: one documented operation, two figures in evidence at most.

The list is closed (`docs/checking.md`): elapsed time between two recorded times, conversion of a unit with rounding,
difference, sum, ratio and change in per cent of two figures the essay states beside it, difference of two messages'
token counts, and counts: of messages cited, of calls, of items of a list, of recorded words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations, permutations

from narrator.verify.counting import count
from narrator.verify.figures import SCALE, Figure, unit_of
from narrator.verify.numbers import is_exit, quantities
from narrator.verify.scope import Scope
from narrator.verify.told import Told

MOST_QUANTITIES = 40
"""Figures of one dimension in the messages cited, above which one of them rounds to anything."""
_TOKENS = re.compile(
    r"tokens in ([\d,]{1,19})\b|out ([\d,]{1,19})\b|\b([\d,]{1,19}) read from cache|\b([\d,]{1,19}) written to cache"
    r"|\b(\d{1,15}) new and\b|\b(\d{1,15}) cached\b|\breasoning ([\d,]{1,19})"
)
_HEDGE = re.compile(
    r"\b(?:about|roughly|around|nearly|almost|some|over|under|approximately|close to|(?:more|less) than)\s+\S{0,3}$"
    r"|[~≈]\s*$",
    re.IGNORECASE,
)
_ALL_MOST_CITED = 12
_ROUND = 1000
"""From this number on a whole one without a unit may be a rounded one."""
_SMALLEST_DIFFERENCE = 100
"""Below it two token counts differ by anything."""
_ABOUT = 0.03
"""How far "about" may be off."""
_TIMES = re.compile(r"[ -](?:times|fold)\b")
_IN_ALL = re.compile(r"\b(?:in all|altogether|together|total|sum|in sum|overall)\b", re.IGNORECASE)
_OF_TOKENS = re.compile(r"\btokens?\b|\bcach|\boutput|\binput|\bcount", re.IGNORECASE)
"""Words of a sentence that tells of token counts."""


def derive(
    figure: Figure, text: str, scope: Scope, stated: Callable[[], Sequence[Figure]], stems: Sequence[str]
) -> str:
    """From what a figure follows, in a sentence; "" when it follows from nothing.

    `stated`: figures of the same paragraph that hold; `stems`: beginnings of the words it counts.
    """
    if is_exit(text, figure):
        return ""
    own = [*scope.own, *scope.near]
    measured = as_measured(figure, text) or figure
    reasons: list[Callable[[], str]] = []
    if measured.sort in ("number", "span"):
        reasons = [lambda: _elapsed(measured, text, scope), lambda: _converted(measured, text, own)]
    if figure.sort in ("number", "span"):
        reasons.append(lambda: _computed(figure, text, stated()))
    if figure.sort in ("number", "word"):
        reasons.append(lambda: _tokens(figure, text, scope))
        if not figure.unit and _TIMES.match(text, figure.end) is not None:
            reasons.append(lambda: _computed(figure._replace(unit="x"), text, stated()))
        if not figure.digits and not measured.unit:
            reasons.append(lambda: count(figure, text, scope, stems))
    return next(filter(None, (reason() for reason in reasons)), "")


def as_measured(figure: Figure, text: str) -> Figure | None:
    """A number in letters with the unit behind it, as if it stood in digits: `seventeen seconds`; None without one."""
    behind = re.match(r"[ -]([A-Za-z]+)", text[figure.end : figure.end + 20])
    unit = unit_of(behind[1]) if behind is not None and len(behind[1]) > 1 else ""
    return figure._replace(sort="number", unit=unit) if figure.sort == "word" and unit in SCALE else None


def rounds(figure: Figure, other: Figure) -> bool:
    """Whether a figure is another with fewer digits or in another unit."""
    dimension, scale = SCALE.get(figure.unit, (figure.unit, 1.0))
    measures, other_scale = SCALE.get(other.unit, (other.unit, 1.0))
    return (
        dimension == measures and other.sort in ("number", "span") and _agrees(other.value * other_scale, figure, scale)
    )


def _agrees(value: float, figure: Figure, scale: float = 1.0) -> bool:
    """Whether a value, rounded or cut to the figure's own precision, is the figure."""
    have = value / scale
    return figure.value - figure.step / 2 - 1e-9 <= have < figure.value + figure.step - 1e-9


def _elapsed(figure: Figure, text: str, scope: Scope) -> str:
    """The time between two recorded times of the messages cited."""
    if not figure.value or figure.unit not in SCALE or SCALE[figure.unit][0] != "time":
        return ""
    scale = SCALE[figure.unit][1]
    told = list({one.index: one for one in [*scope.own[:_ALL_MOST_CITED], *scope.timed, *scope.near[:6]]}.items())
    for index, one in told:
        if any(_agrees((ended - begun) / 1000, figure, scale) for begun, ended in one.times):
            return f"the time between two recorded times of message {index}"
    for (first, one), (last, two) in combinations(told, 2):
        if not one.times or not two.times:
            continue
        (begun, ended), (later, end) = sorted((one.times[0], two.times[0]))
        if any(
            _agrees(time / 1000, figure, scale) for time in (later - ended, later - begun, end - begun, end - ended)
        ):
            return f"the time between two recorded times of messages {min(first, last)} and {max(first, last)}"
    return _gap_behind(figure, scope, scale) or _whole(figure, text, scope, scale)


def _gap_behind(figure: Figure, scope: Scope, scale: float) -> str:
    """The time until the message right behind one that is cited."""
    for one in scope.own[:4]:
        for two in scope.cited.told([one.index + 1]) if one.times else ():
            (begun, ended), begins = one.times[0], two.times[0][0] if two.times else one.times[0][0]
            if any(_agrees(time / 1000, figure, scale) for time in (begins - ended, begins - begun)):
                return f"the time between two recorded times of messages {one.index} and {two.index}"
    return ""


def _whole(figure: Figure, text: str, scope: Scope, scale: float) -> str:
    """The time from the first message of the session to the end of its last one, said of the session."""
    evidence = scope.cited.evidence
    if scope.clause is None or not evidence.count or "session" not in text[slice(*scope.clause.sentence)].lower():
        return ""
    times = [time for told in scope.cited.told([0, evidence.count - 1]) for span in told.times for time in span]
    if times and _agrees((max(times) - min(times)) / 1000, figure, scale):
        return "the time between the beginning and the end of the session"
    return ""


def _converted(figure: Figure, text: str, own: Sequence[Told]) -> str:
    """Another unit of the same dimension, or fewer digits."""
    dimension, scale = SCALE.get(figure.unit, (figure.unit, 1.0))
    round_ = not figure.unit and not figure.digits
    if round_ and (figure.value < _ROUND or figure.value % 100):
        return ""
    found = {(value, told.index) for told in own for value in quantities(told, figure.unit)}
    hedged = bool(_HEDGE.search(text[max(0, figure.start - 16) : figure.start]))
    if (len(found) > MOST_QUANTITIES or round_) and not hedged:
        return ""
    for value, index in sorted(found):
        near = hedged and abs(value / scale - figure.value) <= _ABOUT * figure.value
        if near or _agrees(value, figure, scale) or (dimension == "size" and _agrees(value, figure, _decimal(scale))):
            return f"a figure of message {index}, rounded or in another unit"
    return ""


def _decimal(scale: float) -> float:
    """The same prefix in powers of a thousand."""
    return 1000.0 ** round(len(f"{scale:.0f}") / 3.01) if scale > 1 else 1.0


def _computed(figure: Figure, text: str, stated: Sequence[Figure]) -> str:
    """Difference, sum, ratio or change of two figures that the paragraph states."""
    others = [one for one in stated if one.start != figure.start and one.sort == "number"][:16]
    for one, two in permutations(others, 2):
        if one.unit != two.unit or not two.value:
            continue
        if figure.unit in ("%", "x"):
            ratio = one.value / two.value
            changes = (abs(ratio - 1) * 100, ratio * 100) if figure.unit == "%" else (ratio,)
            if any(_agrees(change, figure) for change in changes):
                return f"the ratio of {one.text} to {two.text}"
        elif figure.unit in (one.unit, "") and figure.value not in (one.value, two.value):
            if _agrees(one.value - two.value, figure):
                return f"the difference of {one.text} and {two.text}"
            if _agrees(one.value + two.value, figure):
                return f"the sum of {one.text} and {two.text}"
    return _totalled(figure, text, others)


def _totalled(figure: Figure, text: str, others: Sequence[Figure]) -> str:
    """The sum of all that is listed beside it, where the sentence says that it is one."""
    start = max(text.rfind(mark, 0, figure.start) for mark in (". ", "\n", "; ")) + 1
    end = min((at for mark in (". ", "\n", "; ") if (at := text.find(mark, figure.end)) >= 0), default=len(text))
    listed = [one.value for one in others if start <= one.start < end and one.unit == figure.unit]
    if len(listed) > 2 and _IN_ALL.search(text, start, end) is not None and _agrees(sum(listed), figure):
        return f"the sum of {len(listed)} figures beside it"
    return ""


def _tokens(figure: Figure, text: str, scope: Scope) -> str:
    """A token count of a message that is cited, the sum of some, or the difference of two."""
    own = [*scope.own, *scope.near]
    if figure.unit or figure.digits or len(own) > _ALL_MOST_CITED:
        return ""
    counts = {
        (int(next(filter(None, match.groups())).replace(",", "")), told.index)
        for told in own
        for match in _TOKENS.finditer(told.stated)
    }
    if scope.clause is not None and _OF_TOKENS.search(text, *scope.clause.sentence) is not None:
        named = {told.index for told in scope.own}
        for one, index in sorted(counts):
            if one == figure.value > 0 and index in named:
                return f"a token count of message {index}"
    if figure.value < _SMALLEST_DIFFERENCE:
        return ""
    for (less, one), (more, two) in combinations(sorted(counts), 2):
        if one != two and more - less == figure.value:
            return f"the difference of token counts of messages {one} and {two}"
    return ""
