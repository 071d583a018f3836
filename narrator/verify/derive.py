"""Figures that stand nowhere but follow from what does: one documented operation, two figures in evidence at most.

The list is closed (`docs/checking.md`): elapsed time between two recorded times, conversion of a unit with rounding,
difference, sum, ratio and change in per cent of two figures the essay states beside it, difference of two messages'
token counts, and counts: of messages cited, of calls, of items of a list, of recorded words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from narrator.verify.figures import SCALE, Figure
from narrator.verify.numbers import quantities
from narrator.verify.scope import Scope
from narrator.verify.told import Told

MOST_QUANTITIES = 40
"""Figures of one dimension in the messages cited, above which one of them rounds to anything."""
_LIST = re.compile(r"(?:^|\ufffc |[\n:;.?!] )(\d{1,2})[.)] ", re.MULTILINE)
_BULLET = re.compile(r"(?m)^\s*[-*•] ")
_TOKENS = re.compile(r"tokens in (\d+)|out (\d+)|(\d+) read from cache|(\d+) written to cache")
_HEDGE = re.compile(r"\b(?:about|roughly|around|nearly|almost|some|over|under|approximately|close to|circa|more than|less than)\s+\S{0,3}$|[~≈]\s*$", re.IGNORECASE)  # fmt: skip
_ALL_MOST_CITED = 12
_ACTS = frozenset(
    "messag step turn call comman attemp check poll launch run start reply answer reques round crash failur restar try "
    "tries probe edit test readin questi prompt retry retrie respon action change copy copie read query lookup".split()
)
"""Stems of what one message each may be."""


def derive(figure: Figure, text: str, scope: Scope, stated: Sequence[Figure], stems: Sequence[str]) -> str:
    """From what a figure follows, in a sentence; "" when it follows from nothing.

    `stated`: figures of the same paragraph that hold; `stems`: beginnings of the words it counts.
    """
    own = [*scope.own, *scope.near]
    if figure.sort in ("number", "span"):
        reasons = (_elapsed(figure, scope), _converted(figure, text, own), _computed(figure, stated), _tokens(figure, own))
        if any(reasons):
            return next(filter(None, reasons))
    if figure.sort == "word" or (figure.sort == "number" and not figure.digits and not figure.unit):
        return next(_counted(int(figure.value), own, scope.indices, stems), "")
    return ""


def _agrees(value: float, figure: Figure, scale: float = 1.0) -> bool:
    """Whether a value, rounded or cut to the figure's own precision, is the figure."""
    have = value / scale
    return figure.value - figure.step / 2 - 1e-9 <= have < figure.value + figure.step - 1e-9


def _elapsed(figure: Figure, scope: Scope) -> str:
    """The time between two recorded times of the messages cited."""
    if figure.unit not in SCALE or SCALE[figure.unit][0] != "time":
        return ""
    times = sorted({(time, told.index) for told in [*scope.timed, *scope.near[:6]] for time in told.times})
    for (begun, first), (ended, last) in combinations(times[:80], 2):
        if _agrees((ended - begun) / 1000, figure, SCALE[figure.unit][1]):
            where = f"message {first}" if first == last else f"messages {first} and {last}"
            return f"the time between two recorded times of {where}"
    return ""


def _converted(figure: Figure, text: str, own: Sequence[Told]) -> str:
    """Another unit of the same dimension, or fewer digits."""
    if figure.unit in SCALE:
        dimension, scale = SCALE[figure.unit]
        found = {(value, told.index) for told in own for value in quantities(told, figure.unit)}
    else:
        scale, dimension = 1.0, ""
        found = {(float(n), told.index) for told in own for n in re.findall(r"(?<![\w.])\d+\.\d+", told.numeric)}
    hedged = bool(_HEDGE.search(text[max(0, figure.start - 16) : figure.start]))
    if len(found) > MOST_QUANTITIES and not hedged:
        return ""
    for value, index in sorted(found):
        near = hedged and abs(value / scale - figure.value) <= 0.06 * figure.value
        if near or _agrees(value, figure, scale) or (dimension == "size" and _agrees(value, figure, _decimal(scale))):
            return f"a figure of message {index}, rounded or in another unit"
    return ""


def _decimal(scale: float) -> float:
    """The same prefix in powers of a thousand."""
    return 1000.0 ** round(len(f"{scale:.0f}") / 3.01) if scale > 1 else 1.0


def _computed(figure: Figure, stated: Sequence[Figure]) -> str:
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
    return ""


def _tokens(figure: Figure, own: Sequence[Told]) -> str:
    """The difference of two messages' token counts."""
    if figure.unit or figure.digits or figure.value < 100 or len(own) > _ALL_MOST_CITED:
        return ""
    counts = {
        (int(next(filter(None, match.groups()))), told.index)
        for told in own
        for match in _TOKENS.finditer(told.numeric)
    }
    for (less, one), (more, two) in combinations(sorted(counts), 2):
        if one != two and more - less == figure.value:
            return f"the difference of token counts of messages {one} and {two}"
    return ""


def _counted(number: int, own: Sequence[Told], cited: Sequence[int], stems: Iterable[str]) -> Iterator[str]:
    """What there are so many of in the messages cited."""
    acts = any(stem in _ACTS for stem in stems)
    if acts and len(cited) == number > 1:
        yield f"the number of messages cited, {number}"
    if acts and len(cited) > 1 and cited[-1] - cited[0] == number:
        yield f"the distance of messages {cited[0]} and {cited[-1]}"
    names = [stem for stem in stems if len(stem) > 2]
    for told in own[:_ALL_MOST_CITED]:
        for stem in names:
            if len(re.findall(rf"(?<![a-z]){re.escape(stem)}", told.folded)) == number:
                yield f"how often message {told.index} has “{stem}”"
        listed = [int(item) for item in _LIST.findall(told.raw)]
        if number in (max(listed, default=0), len(_BULLET.findall(told.raw))):
            yield f"the items of a list in message {told.index}"
        for prefix in names:
            if len(set(re.findall(rf"(?<![a-z0-9]){re.escape(prefix)}[-_ ]?(\d{{1,3}})(?![\d.])", told.folded))) == number:
                yield f"how many different {prefix}… message {told.index} has"
