"""Figures against the record: where a number, a time, a version, a path stands, and with what unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from narrator.verify.dates import find_day, find_moment, find_weekday, shift_of
from narrator.verify.figures import FORMS, SCALE, WORDS, Figure, unit_of
from narrator.verify.told import Told
from narrator.verify.wording import fold

SMALL = 100
"""Below it a number stands in most messages by chance, so what it counts has to stand beside it."""
_BEHIND, _BEFORE = 30, 16
"""Characters behind and before a small number in which what it counts must stand."""
_TAIL = re.compile(r"[ _-]?((?:tokens? per second|[a-zµ°]+(?:/[a-z]+)?|%|×))(?![a-z])")
_EXIT_OF = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?(?: of| was| is)?\s*$", re.IGNORECASE)
_EXIT = re.compile(r"\bexit(?:ed|s)?\W{0,3}(?:with )?(?:code|codes|status)?\W{0,3}(\d{1,3})(?!\d)")
_PART = re.compile(r"[,;.()\ufffc]")
_TIMES = re.compile(r" ?[x×](?!\w)")
_IN_DATE = re.compile(r"\d{4}-(?:\d\d-)?$")
_HOST = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}:$")
_GOES_ON = re.compile(r"[.:]\d|-\d\d-\d\d(?!\d)")
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?!\d)(?:\.\d+)?")
_SPELT = re.compile(
    r"(?<![\w:])(?:(\d):(?=\d\d:))?(\d{1,4})(?:m ?|(?<=\d:\d\d):)(\d{1,2}(?:\.\d{1,9})?)(?:s\b|(?<=:\d\d)(?![\w:]))"
    r"|(?<![\w:])(\d\d):(\d\d)(?=<\d)"
    r"|\btimeout\w{0,4}\W{1,4}(\d{4,12})\b|\b(?:sleep|max-time|timeout)[ (=]{1,2}(\d{1,5}(?:\.\d{1,9})?)\b(?![.\w])"
)
_FACTOR_BEHIND = re.compile(r" (?:by|times|plus|minus|[x×*+]) (\d{1,4})\b")
_FACTOR_BEFORE = re.compile(r"\b(\d{1,4}) (?:by|times|plus|minus|[x×*+]) $")
"""The other number of a sum that is told: `17 by 23` where the record has `17 * 23`."""
_WORD = re.compile(r"[a-z][a-z_-]{2,}")
_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        the and that this with for from were was had has have not its his her their they them then than but only
        also more less over about into onto after before each every all both other another which who whom whose
        where when while of msg record
        """,
    )
)


class Place(NamedTuple):
    """Where a figure stands."""

    told: Told
    start: int
    """In `Told.numeric`."""
    end: int
    exact: bool
    """With its unit, or with what it counts."""


def written(value: float, digits: int) -> tuple[str, ...]:
    """A number as it may stand in folded text."""
    plain = f"{value:.{digits}f}"
    short = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return (plain,) if short == plain else (plain, short)


def find_number(figure: Figure, told: Told, counted: Iterable[str]) -> Iterator[Place]:
    """Places where the number stands, not as a part of another; `counted` are stems of what it counts."""
    text = told.numeric
    stems = tuple(counted)
    for form in written(figure.value, figure.digits):
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            if _is_whole(text, at, end):
                tail = _TAIL.match(text, end)
                exact = (
                    _same_unit(figure, tail[1] if tail is not None else "")
                    if figure.unit
                    else _counts(text, at, end, stems)
                )
                yield Place(told, at, tail.end() if tail is not None and exact and figure.unit else end, exact)
            at = text.find(form, at + 1)


def _same_unit(figure: Figure, written: str) -> bool:
    """Whether the word behind a number is the figure's unit."""
    return unit_of(written) == figure.unit or written in FORMS.get(figure.unit, ())


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    if (
        (before.isalnum() and before != "v")
        or before == "_"
        or (before in ".," and start > 1 and text[start - 2].isdigit())
    ):
        return False
    if before == ":" and start > 1 and text[start - 2].isdigit() and not _HOST.search(text, max(0, start - 16), start):
        return False  # of a time of day; a number of a date is told by what stands round it
    if before == "-" and (text[start - 2 : start - 1].isalpha() or _IN_DATE.search(text, max(0, start - 8), start)):
        return False  # of a name, of a date
    if before == " " and text.endswith(("msg ", "message "), max(0, start - 9), start):
        return False  # the number of a message
    behind = text[end : end + 1]
    return not (behind.isdigit() or (behind in ".:-" and _GOES_ON.match(text, end)))


def _counts(text: str, start: int, end: int, stems: tuple[str, ...]) -> bool:
    """Whether one of the words stands right beside the number."""
    if not stems and text[end : end + 1] not in " x×":
        return False
    behind = _PART.split(text[end : end + _BEHIND], maxsplit=1)[0]
    if _TIMES.match(behind):
        return True  # `8x RTX PRO 6000` counts whatever they are called
    if any(stem in behind for stem in stems):
        return True
    before = _PART.split(text[max(0, start - _BEFORE) : start])[-1]
    return any(stem in before for stem in stems)


def unit_at(place: Place) -> str:
    """The unit that stands behind a number in the record; "" for none that is known."""
    tail = _TAIL.match(place.told.numeric, place.end)
    return unit_of(tail[1]) if tail is not None else ""


def has_unit(figure: Figure, told: Told) -> bool:
    """Whether the unit of a figure stands anywhere in a message: in the head of a table, in the name of a field."""
    forms = [form for form in FORMS.get(figure.unit, (figure.unit,)) if len(form) > 1 or form == "%"]
    return any(re.search(rf"(?<![a-z]){re.escape(form)}(?![a-z])", told.numeric) for form in forms)


def find_word(figure: Figure, told: Told, counted: Iterable[str]) -> Place | None:
    """Where a small number stands beside what it counts, in letters or in digits."""
    stems = tuple(counted)
    for place in find_number(figure, told, stems):
        if place.exact:
            return place
    text = told.numeric
    for name in (word for word, value in WORDS.items() if value == figure.value):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            whole = not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum())
            if whole and (text[end : end + 2] == ": " or _counts(text, at, end, stems)):
                return Place(told, at, end, exact=True)
            at = text.find(name, end)
    return None


def stems_of(text: str, figure: Figure) -> list[str]:
    """What may stand beside a number in the record: beginnings of the words it counts, its partner in a sum.

    The words are up to three behind it, and the one before it (`GPU 4`).
    """
    behind = re.split(r"[.;:!?\ufffc\[]", text[figure.end : figure.end + 60])[0]
    before = re.split(r"[.;:!?\ufffc\]]", text[max(0, figure.start - 30) : figure.start])[-1]
    words = [word for word in _WORD.findall(fold(behind))[:4] if word not in _STOP][:3]
    words += [word for word in _WORD.findall(fold(before))[-2:] if word not in _STOP]
    words += [match[1] for match in (_FACTOR_BEHIND.match(behind), _FACTOR_BEFORE.search(before)) if match is not None]
    return [word.removesuffix("s")[:6] if len(word) > 4 else word.removesuffix("s") for word in words]


def counts_something(text: str, figure: Figure) -> bool:
    """Whether a noun may follow the number; of `depth 10` and of `from 30 to 60` it counts nothing."""
    behind = re.match(r"\s+([^\W\d]+)", text[figure.end : figure.end + 24])
    return behind is not None and len(behind[1]) > 2 and behind[1].lower() not in _STOP


def is_exit(text: str, figure: Figure) -> bool:
    """Whether the number is an exit code, of which the record has one a command."""
    return _EXIT_OF.search(text[max(0, figure.start - 24) : figure.start]) is not None


def find_exit(figure: Figure, told: Told) -> Place | None:
    """Where a message tells of this exit code."""
    for match in _EXIT.finditer(told.numeric):
        if float(match[1]) == figure.value:
            return Place(told, match.start(1), match.end(1), exact=True)
    return None


def find_text(figure: Figure, told: Told) -> Place | None:
    """Where a name, path or version stands, at the borders of words."""
    wanted = fold(figure.text).rstrip("/.,:")
    text = told.numeric
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        before, behind = text[at - 1 : at], text[end : end + 1]
        inside = (before.isalnum() and wanted[0].isalnum()) or (behind.isalnum() and wanted[-1].isalnum())
        longer = figure.sort == "version" and re.match(r"\.\d|\+\w|-?(?:rc|dev|post)", text[end : end + 4])
        if not inside and not longer:
            return Place(told, at, end, exact=True)
        at = text.find(wanted, at + 1)
    return None


def find_instant(figure: Figure, text: str, told: Told) -> Place | None:
    """Where a date, a time of day, or both stand: in the text, or among the times that are recorded.

    `text`: the block, which may name a time zone behind the figure.
    """
    if figure.sort in ("day", "month", "weekday"):
        span = find_weekday(figure, told) if figure.sort == "weekday" else find_day(figure, told)
        return Place(told, *span, exact=True) if span is not None else None
    wanted = fold(figure.text).replace("utc", "").replace("t", " ").replace("z", "").strip()
    recorded, shift = told.numeric, shift_of(text, figure)
    for form in (wanted, wanted.replace(" ", "t")):
        at = recorded.find(form)
        while at >= 0:
            end = at + len(form)
            if not recorded[end : end + 1].isdigit() and not (at and recorded[at - 1].isdigit()):
                return Place(told, at, end, exact=True)
            at = recorded.find(form, at + 1)
    if find_moment(wanted, told, clock=figure.sort == "clock", shift=shift):
        return Place(told, 0, 0, exact=True)
    return None


def quantities(told: Told, unit: str) -> list[float]:
    """All figures of a message that have this unit, or one of the same dimension, in the dimension's own measure."""
    dimension, _ = SCALE.get(unit, (unit, 1.0))
    found = []
    for match in _NUMBER.finditer(told.numeric):
        tail = _TAIL.match(told.numeric, match.end())
        here = unit_of(tail[1]) if tail is not None else ""
        measures, scale = SCALE.get(here, (here, 1.0))
        if measures == dimension and (here or not unit):
            found.append(float(match[0]) * scale)
    return [*found, *_spelt(told)] if dimension == "time" else found


def _spelt(told: Told) -> Iterator[float]:
    """Seconds of `3m13.2s`, progress bars' `0:00:47` and `00:55<00:00`, `timeout: 900000` (ms), `sleep 30`."""
    for match in _SPELT.finditer(told.numeric):
        hours, minutes, seconds, passed, more, limit, wait = match.groups()
        if limit or wait:
            yield int(limit) / 1000 if limit else float(wait)
        else:
            yield int(hours or 0) * 3600 + int(minutes or passed) * 60 + float(seconds or more)
