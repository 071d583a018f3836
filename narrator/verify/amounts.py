"""Figures judged: found in what is cited, derived from it, found elsewhere, contradicted, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from narrator.report import Match
from narrator.verify.clauses import LONGEST_NUMBER
from narrator.verify.counting import is_definite, is_distance
from narrator.verify.dates import is_recorded_year
from narrator.verify.derive import derive
from narrator.verify.figures import SCALE, WORDS, Figure
from narrator.verify.held import Held
from narrator.verify.numbers import (
    SMALL,
    Place,
    counts_something,
    find_exit,
    find_instant,
    find_number,
    find_text,
    find_word,
    has_unit,
    is_exit,
    stems_of,
    unit_at,
)
from narrator.verify.quotations import Finding
from narrator.verify.scope import Scope
from narrator.verify.told import Told
from narrator.verify.wording import original

_PART_OF = re.compile(r"\s+(?:\w+\s+)?of\s+(?:the|these|those|its|their|all)\s+(\w+)(?:\s+(\w+))?")
_ADVICE = re.compile(r"\b(?:can|should|must|will|would|could|may|might|next|every|rule)\b")
"""Words of a sentence whose day of the week is not one of the record."""
CERTAIN = 4
"""From this number on a count that nothing bears out is held against the essay; two and three are said of anything."""
_SHOWN = 60
_COUNTED = frozenset(["line", "call"])
"""Stems of what the record counts in every message: the count of another message proves nothing."""
_RECORDED = ("span", "instant", "clock", "day", "month", "weekday", "word")
"""Sorts of figures that the record states of a message beside its text."""


def is_specific(figure: Figure) -> bool:
    """Whether it tells one message from another: not a small number, not a name."""
    if figure.sort == "number":
        return bool(figure.unit or figure.digits or figure.value >= SMALL)
    return figure.sort not in ("word", "name", "month", "weekday")


def place_of(figure: Figure, text: str, messages: Iterable[Told]) -> Place | None:
    """Where in some messages a figure stands, with its unit or with what it counts where that is needed."""
    if figure.sort == "number":
        return _number_in(figure, text, messages)
    found = (_found_in(figure, text, told) for told in messages)
    return next((place for place in found if place is not None), None)


def _found_in(figure: Figure, text: str, told: Told) -> Place | None:
    match figure.sort:
        case "word":
            return find_word(figure, told, stems_of(text, figure))
        case "instant" | "clock" | "day" | "month" | "weekday":
            return find_instant(figure, text, told)
        case _:
            return find_text(figure, told)


def _number_in(figure: Figure, text: str, messages: Iterable[Told]) -> Place | None:
    if is_exit(text, figure):
        return next((place for told in messages if (place := find_exit(figure, told)) is not None), None)
    stems = stems_of(text, figure)
    bare: Place | None = None
    for told in messages:
        for place in find_number(figure, told, stems):
            if place.exact:
                return place
            if bare is None and _is_enough(figure, place):
                bare = place
    return bare


def _is_enough(figure: Figure, place: Place) -> bool:
    """Whether a number without its unit, or without what it counts beside it, bears the figure out."""
    if figure.unit:
        return not unit_at(place) and has_unit(figure, place.told)
    return is_specific(figure)


def judge_figure(
    figure: Figure, text: str, scope: Scope, stated: Callable[[], Sequence[Figure]], known: Held
) -> Finding | None:
    """What is known of a figure from the messages the essay cites; None when only a search of all can tell.

    `stated`: figures of its paragraph that hold; `known`: figures that hold elsewhere in the essay, by their `key_of`.
    """
    place = place_of(figure, text, scope.own) or _loose(figure, text, scope)
    other = _other_unit(figure, scope.own)
    if place is not None and (place.exact or other is None):
        return Finding(found=_match(place), weight=int(is_specific(figure)))
    if _is_index(figure, scope) or _is_of_session(figure, text, scope) or _is_dated(figure, text, scope):
        return Finding(weight=0)
    reason = derive(figure, text, scope, stated, stems_of(text, figure))
    if other is not None and not reason:
        return Finding("figure-not-found", f"the record has it with another unit: {other.text}", nearest=other)
    closed = scope.clause is not None and scope.clause.own and not is_specific(figure)
    if not closed and (place := place_of(figure, text, scope.near)) is not None:
        return Finding(found=_match(place), weight=0)
    if reason:
        return Finding(says=f"derived: {reason}", derived=True, weight=0)
    return _known(figure, text, scope, known, closed=closed)


def _known(figure: Figure, text: str, scope: Scope, known: Held, *, closed: bool) -> Finding | None:
    """Judge a figure that neither stands near nor follows: by what the essay said before, then by what else it cites.

    `closed`: a small number whose clause has a citation of its own.
    """
    partial = scope.cited.evidence.partial
    if closed and scope.own and not partial and _COUNTED.intersection(stems_of(text, figure)[:1]):
        return Finding("figure-not-found", "no message cited has so many")
    again = is_definite(text, figure) and known.has(_counted_key(figure))
    if again or known.has(key_of(figure, text)):
        return Finding(weight=0, again=True)
    return _away(figure, text, scope)


def _away(figure: Figure, text: str, scope: Scope) -> Finding | None:
    """Judge a figure that stands in nothing near: in what else the essay cites, or not at all."""
    if figure.sort == "word" and scope.own:
        return unfounded(figure, text, scope)
    place = place_of(figure, text, scope.cited.messages) or place_of(figure, text, scope.cited.beside())
    if place is not None:
        return found_elsewhere(figure, scope, place)
    return None if is_specific(figure) or figure.sort == "name" else unfounded(figure, text, scope)


def _is_index(figure: Figure, scope: Scope) -> bool:
    """Whether it is the number of a message that its clause cites: `the listing (142)`."""
    plain = figure.sort == "number" and not figure.unit and not figure.digits
    return plain and figure.value >= CERTAIN and int(figure.value) in scope.indices


def _loose(figure: Figure, text: str, scope: Scope) -> Place | None:
    """Where in what is cited a small number in digits stands, if what it counts is named anywhere in that message."""
    if figure.sort != "number" or figure.unit or is_specific(figure) or is_exit(text, figure):
        return None
    stems = stems_of(text, figure)
    for told in scope.own:
        place = next(find_number(figure, told, ()), None)
        if place is None:
            continue
        labelled = not counts_something(text, figure)
        named = labelled or any(stem in told.folded for stem in stems)
        if not figure.value or (place.end <= len(told.folded) and named):
            return place
    return None


def key_of(figure: Figure, text: str) -> str:
    """A figure by which it is known again: a small number with what it counts."""
    stems = "" if is_specific(figure) else ",".join(stems_of(text, figure)[:1])
    return f"{figure.sort}:{figure.value or figure.text.casefold()}:{figure.unit}:{stems}"


def keys_of(figure: Figure, text: str) -> tuple[str, ...]:
    """A figure by all that it is known by: a count also without what it counts, for `the four` later."""
    return (key_of(figure, text), *([_counted_key(figure)] if _is_count(figure) else []))


def _counted_key(figure: Figure) -> str:
    return f"count:{figure.value:g}"


def _is_count(figure: Figure) -> bool:
    """Whether it may count things: a whole number without a unit, small or in letters."""
    return figure.sort in ("word", "number") and not figure.unit and not figure.digits and figure.value < SMALL


def _is_of_session(figure: Figure, text: str, scope: Scope) -> bool:
    """Whether it stands in what the record says of the session as a whole, which knows nothing of distances."""
    return not is_distance(text, figure) and place_of(figure, text, [scope.cited.evidence.session]) is not None


def _is_dated(figure: Figure, text: str, scope: Scope) -> bool:
    """Whether it is the target's day, or the year of a message that is cited."""
    if figure.sort == "day":
        return place_of(figure, text, scope.cited.told(scope.cited.subjects)) is not None
    return figure.sort == "number" and is_recorded_year(figure, text, lambda: scope.cited.messages)


def found_elsewhere(figure: Figure, scope: Scope, place: Place) -> Finding:
    """Judge a figure that stands in a message its clause does not cite."""
    match = _match(place)
    if not scope.strict or not is_specific(figure) or not scope.own:
        return Finding(found=match, weight=0)
    says = f"it stands in message {place.told.index}, not in what is cited"
    return Finding("wrong-message", says, nearest=match)


def unfounded(figure: Figure, text: str, scope: Scope) -> Finding:
    """Judge a figure that stands nowhere."""
    if (says := _beyond(figure, text, scope)) is not None:
        return Finding(judged=False, says=says, weight=0)
    if figure.sort in ("word", "number") and not is_specific(figure) and figure.value < CERTAIN:
        return Finding(judged=False, says="a small number that no message states or counts", weight=0)
    if scope.cited.evidence.partial and _is_recorded(figure):
        return Finding(judged=False, says="the draft does not keep what could tell; give its session", weight=0)
    near = _other_unit(figure, scope.own)
    return Finding("figure-not-found", "it stands in no message and follows from none", nearest=near)


def _beyond(figure: Figure, text: str, scope: Scope) -> str | None:
    """Why nothing can tell of a figure; None when the record could."""
    if figure.sort == "weekday":
        dated = scope.clause is not None and scope.clause.own and any(told.times for told in scope.own)
        sentence = text[slice(*scope.clause.sentence)] if scope.clause is not None else ""
        return None if dated and _ADVICE.search(sentence) is None else "a day of the week of no message cited"
    if not _is_count(figure):
        return None
    if not scope.indices:
        return "a count in a passage that cites nothing"
    whole = _PART_OF.match(text, figure.end)
    for word in whole.groups("") if whole is not None else ():
        if figure.value <= (
            int(word) if word.isdecimal() and len(word) < LONGEST_NUMBER else WORDS.get(word.lower(), 0)
        ):
            return "a part of what is counted beside it"
    return None


def _is_recorded(figure: Figure) -> bool:
    """Whether it may be of what the record states of a message beside its text: a time, a duration, a count."""
    plain = figure.sort == "number" and (not figure.unit or SCALE.get(figure.unit, ("",))[0] == "time")
    return plain or figure.sort in _RECORDED


def _other_unit(figure: Figure, messages: Iterable[Told]) -> Match | None:
    """The same number with another unit behind it."""
    if not figure.unit or figure.sort != "number":
        return None
    for told in messages:
        for place in find_number(figure, told, ()):
            if unit_at(place):
                return _match(place._replace(end=place.end + 5))
    return None


def _match(place: Place) -> Match | None:
    """The words of a place, as they were recorded; None where a statement of the record has them."""
    words = place.told.numeric[place.start : place.end].strip()
    if not words or place.start >= len(place.told.folded):
        return None
    return Match(index=place.told.index, text=original(place.told.raw, [words])[:_SHOWN])
