"""Figures that stand nowhere but follow from what does: one documented operation, two figures in evidence at most.

The list is closed (`docs/checking.md`): elapsed time between two recorded times, conversion of a unit with rounding,
difference, sum, ratio and change in per cent of two figures the essay states beside it, difference of two messages'
token counts, and counts: of messages cited, of calls, of items of a list, of recorded words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

from narrator.verify.figures import SCALE, Figure
from narrator.verify.numbers import is_exit, quantities
from narrator.verify.scope import Scope
from narrator.verify.told import Told

MOST_QUANTITIES = 40
"""Figures of one dimension in the messages cited, above which one of them rounds to anything."""
_LIST = re.compile(r"(?:^|\ufffc |[\n:;.?!] )(\d{1,2})[.)] ", re.MULTILINE)
_BULLET = re.compile(r"(?m)^\s*[-*•] ")
_LOOP = re.compile(r"\bfor \w+ in ([^;\n$`(]+);")
_COMMAND = re.compile(r"(?:^|&&|\|\||;|\n|command: ?)\s*([a-z][a-z0-9_.-]+)(?= )")
_RANGE = re.compile(r"\b[A-Za-z]{1,8}[-_ ]?(\d{1,4})\s*(?:to|through|[-–—]|…)\s*[A-Za-z]{0,8}[-_ ]?(\d{1,4})\b")
_READ, _OFTEN = 20_000, 4
_TOKENS = re.compile(
    r"tokens in (\d{1,15})\b|out (\d{1,15})\b|\b(\d{1,15}) read from cache|\b(\d{1,15}) written to cache"
)
_HEDGE = re.compile(
    r"\b(?:about|roughly|around|nearly|almost|some|over|under|approximately|close to|(?:more|less) than)\s+\S{0,3}$"
    r"|[~≈]\s*$",
    re.IGNORECASE,
)
_ALL_MOST_CITED = 12
_ROUND = 1000
"""From this number on a whole one without a unit may be a rounded one."""
_ABOUT = 0.03
"""How far "about" may be off."""
_ACTS = frozenset(
    re.findall(
        r"\S+",
        """
        messag step turn call comman attemp check poll launch run start reply answer reques round crash failur
        restar try tries probe edit test readin questi prompt retry retrie respon action change copy copie read
        query lookup
        """,
    )
)
"""Stems of what one message each may be."""


def derive(
    figure: Figure, text: str, scope: Scope, stated: Callable[[], Sequence[Figure]], stems: Sequence[str]
) -> str:
    """From what a figure follows, in a sentence; "" when it follows from nothing.

    `stated`: figures of the same paragraph that hold; `stems`: beginnings of the words it counts.
    """
    if is_exit(text, figure):
        return ""
    own = [*scope.own, *scope.near]
    if figure.sort in ("number", "span"):
        reasons = (
            _elapsed(figure, scope),
            _converted(figure, text, own),
            _computed(figure, stated()),
            _tokens(figure, own),
        )
        if any(reasons):
            return next(filter(None, reasons))
    if figure.sort == "word" or (figure.sort == "number" and not figure.digits and not figure.unit):
        return _ranged(figure, text) or next(_counted(int(figure.value), own, scope.indices, stems), "")
    return ""


def _agrees(value: float, figure: Figure, scale: float = 1.0) -> bool:
    """Whether a value, rounded or cut to the figure's own precision, is the figure."""
    have = value / scale
    return figure.value - figure.step / 2 - 1e-9 <= have < figure.value + figure.step - 1e-9


def _elapsed(figure: Figure, scope: Scope) -> str:
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


def _counted(number: int, own: Sequence[Told], cited: Sequence[int], stems: Sequence[str]) -> Iterator[str]:
    """What there are so many of in the messages cited."""
    acts = any(stem in _ACTS for stem in stems)
    if acts and len(cited) == number > 1:
        yield f"the number of messages cited, {number}"
    if "messag" in stems and len(cited) > 1 and cited[-1] - cited[0] == number:
        yield f"the distance of messages {cited[0]} and {cited[-1]}"
    names = [stem for stem in stems if len(stem) > 2]
    for told in own[:_ALL_MOST_CITED]:
        for what, count in _counts(told, names):
            if count == number > 0:
                yield f"{what} in message {told.index}"


def _counts(told: Told, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Everything in a message that can be counted, and how many there are."""
    yield "the items of a list", max((int(item) for item in _LIST.findall(told.raw)), default=0)
    yield "the items of a list", len(_BULLET.findall(told.raw))
    for stretch in told.stretches:
        if stretch.kind == "input":
            yield from (("the items of a loop", len(match[1].split())) for match in _LOOP.finditer(stretch.text))
            commands = Counter(_COMMAND.findall(stretch.text))
            yield from ((f"how often `{command}` is run", count) for command, count in commands.items())
        elif stretch.kind == "output":
            yield "the lines of an output", sum(bool(line.strip()) for line in stretch.text[:_READ].split("\n"))
    for name in names:
        if (count := len(re.findall(rf"(?<![a-z]){re.escape(name)}", told.folded))) >= _OFTEN:
            yield f"how often “{name}…” stands", count


def _ranged(figure: Figure, text: str) -> str:
    """A range that the sentence itself states: `Eight processes, TP0 to TP7`."""
    for match in _RANGE.finditer(text[figure.end : figure.end + 80]):
        if int(match[2]) - int(match[1]) + 1 == figure.value:
            return f"the range {match[0]}"
    return ""
