"""Days, months, years and days of the week against the times that were recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime

from narrator.verify.figures import MONTH, Figure
from narrator.verify.told import Told
from narrator.verify.wording import fold

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_YEAR_OF = re.compile(
    r"\b(?:in|of|since|from|until|early|late|year|mid|spring|summer|autumn|fall|winter)[ -]$", re.IGNORECASE
)
"""What stands before a year."""
_YEARS = range(1990, 2100)
_ZONE = re.compile(
    r"(?: local| [A-Z][a-z]{2,15})?(?: time)?,? ?\(?"
    r"(?:(?:UTC|GMT) ?([+\u2212-])(\d{1,2})(?::?(\d\d))?\b|(CES?T|BST|JST|IST|[EP][SD]T)\b)"
)
_ZONES = {"CET": 60, "CEST": 120, "BST": 60, "JST": 540, "IST": 330, "EST": -300, "EDT": -240, "PST": -480, "PDT": -420}
"""Minutes ahead of UTC."""
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def days_of(told: Told) -> Iterator[date]:
    """The days on which it was recorded."""
    for span in told.times:
        for time in span:
            yield datetime.fromtimestamp(time / 1000, UTC).date()


def shift_of(text: str, figure: Figure) -> int:
    """By how many minutes the time zone named behind a time of day is ahead of UTC; 0 where none is named."""
    found = _ZONE.match(text, figure.end)
    if found is None:
        return 0
    if found[4] is not None:
        return _ZONES.get(found[4], 0)
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return minutes if found[1] == "+" else -minutes


def find_moment(wanted: str, told: Told, *, clock: bool, shift: int) -> bool:
    """Whether a recorded time of a message reads so, in a zone that is `shift` minutes ahead of UTC."""
    hour = wanted.rsplit(" ", maxsplit=1)[-1].zfill(5)
    for time in (time for span in told.times for time in span):
        moment = datetime.fromtimestamp(time / 1000 + shift * 60, UTC).strftime("%Y-%m-%d %H:%M:%S")
        if moment.startswith(wanted) or (clock and moment[11:].startswith(hour)):
            return True
    return False


def find_day(figure: Figure, told: Told) -> tuple[int, int] | None:
    """Where `22 may 2026` or `may 2026` stands, whatever way it is written there; (0, 0) among the recorded times."""
    wanted = fold(figure.text)
    month = next((MONTH[word] for word in re.findall(r"[a-z]+", wanted) if word in MONTH), 0)
    numbers = [int(number) for number in re.findall(r"\d+", wanted)]
    year = next((number for number in numbers if number > 31), None)
    day = next((number for number in numbers if number <= 31), None)

    def fits(one: tuple[int, int, int]) -> bool:
        return one[1] == month and day in (None, one[2]) and year in (None, one[0])

    if any(fits((one.year, one.month, one.day)) for one in days_of(told)):
        return 0, 0
    for match in _DATE.finditer(told.numeric):
        if fits((int(match[1]), int(match[2]), int(match[3]))):
            return match.span()
    at = told.numeric.find(wanted)
    return (at, at + len(wanted)) if at >= 0 else None


def is_recorded_year(figure: Figure, text: str, messages: Callable[[], Iterable[Told]]) -> bool:
    """Whether it is the year in which one of some messages was recorded: `in 2026`, `spring 2026`."""
    if figure.unit or figure.digits or figure.value not in _YEARS or "," in figure.text:
        return False
    if _YEAR_OF.search(text[max(0, figure.start - 12) : figure.start]) is None:
        return False
    return any(one.year == figure.value for told in messages() for one in days_of(told))


def find_weekday(figure: Figure, told: Told) -> tuple[int, int] | None:
    """Where a day of the week stands; (0, 0) where the message was recorded on one."""
    wanted = fold(figure.text)
    if any(_WEEK[one.weekday()] == wanted for one in days_of(told)):
        return 0, 0
    found = re.search(rf"\b{wanted}\b", told.numeric)
    return found.span() if found is not None else None
