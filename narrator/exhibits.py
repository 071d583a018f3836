"""The messages an essay rests on, as a page shows them: in order, with the words the essay quotes marked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from narrator.doubts import Quoted
from narrator.draft import Draft, EvidenceMessage
from narrator.notes import Note, shown_span
from narrator.record import Record
from narrator.report import Match, Statement
from narrator.sanitize import one_line, plain

_LEAST = 2
"""Characters that words must have to be marked."""


class Piece(Record):
    """A stretch of a message's text."""

    text: str
    mark: str | None = None
    """Id of the mark it stands in; None for what nobody quotes."""


class Exhibit(Record):
    """A message of the evidence as a theme shows it."""

    index: int
    id: str | None
    """Id of its element; None for the second of two messages with one index, which only a hand can have made."""
    role: str
    time: str | None
    """As it was recorded."""
    clock: str | None
    """The same for people: `16 February 2026, 14:48:25 UTC`."""
    text: str
    pieces: tuple[Piece, ...]
    """The text again, cut where marks begin and end."""
    back: str | None
    """Id of the element that cites it first."""


class Mark(NamedTuple):
    """Words in a message of the evidence that the essay quotes, or that are the nearest to what it says."""

    start: int
    """Half-open span in code points of the message's text."""
    end: int
    id: str
    """`msg-12-q3`: the third in message 12."""


class Marks(NamedTuple):
    """All marks of a page."""

    of: dict[int, list[Mark]]
    """Message → its marks, in order."""
    quoted: tuple[Quoted, ...]
    """The essay's quotations that have one."""
    nearest: dict[int, str]
    """Number of a note → id of the mark on its nearest true text."""


def in_order(draft: Draft) -> list[EvidenceMessage]:
    """The evidence in the session's order."""
    return sorted(draft.evidence, key=lambda message: message.index)


def find_marks(draft: Draft, notes: Sequence[Note]) -> Marks:
    """Where the words that the essay quotes stand in its evidence; words that overlap share a mark."""
    texts = {message.index: plain(message.text) for message in reversed(in_order(draft))}
    quotations = [(one, place) for one in _quotations(draft) if (place := _locate(texts, one.found)) is not None]
    failures = draft.check.failures if draft.check is not None else ()
    ordered = sorted(failures, key=lambda failure: failure.span)
    nearest = [
        (note, place)
        for note, failure in zip(notes, ordered, strict=False)
        if (place := _locate(texts, failure.nearest)) is not None
    ]
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for _, (index, start, end) in (*quotations, *nearest):
        places[index].append((start, end))
    marks = {
        index: [Mark(start, end, f"msg-{index}-q{number}") for number, (start, end) in enumerate(_joined(spans), 1)]
        for index, spans in places.items()
    }
    essay = draft.essay.final
    quoted = [
        Quoted(*shown_span(essay, *one.span), index, _mark_at(marks[index], start))
        for one, (index, start, _) in quotations
    ]
    near = {note.number: _mark_at(marks[index], start) for note, (index, start, _) in nearest}
    return Marks(marks, tuple(quoted), near)


def _quotations(draft: Draft) -> Iterator[Statement]:
    for one in draft.check.statements if draft.check is not None else ():
        if one.sort == "quotation" and one.verdict == "passed" and one.found is not None:
            yield one


def _locate(texts: dict[int, str], match: Match | None) -> tuple[int, int, int] | None:
    """Message, start and end of recorded words in the evidence; None where it does not hold them (it may be cut)."""
    if match is None or len(match.text.strip()) < _LEAST or match.index not in texts:
        return None
    words, text = plain(match.text).strip(), texts[match.index]
    at = text.find(words)
    if at >= 0 and (words[0].isalnum() or words[-1].isalnum()):
        # A name that is a part of another word is looked for by itself first.
        alone = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)").search(text, at)
        at = alone.start() if alone is not None else at
    return (match.index, at, at + len(words)) if at >= 0 else None


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _mark_at(marks: Sequence[Mark], at: int) -> str:
    return next(mark.id for mark in marks if mark.start <= at < mark.end)


def show_evidence(draft: Draft, cited: dict[int, str], marks: dict[int, list[Mark]]) -> list[Exhibit]:
    """The evidence for a page; `cited`: message → id of the element that cites it first."""
    seen: Counter[int] = Counter()
    exhibits = []
    for message in in_order(draft):
        index = message.index
        text = plain(message.text)
        exhibits.append(
            Exhibit(
                index=index,
                id=None if seen[index] else f"msg-{index}",
                role=message.role,
                time=message.time,
                clock=_clock(message.time),
                text=message.text,
                pieces=tuple(_pieces(text, [] if seen[index] else marks.get(index, []))),
                back=cited.get(index),
            )
        )
        seen[index] += 1
    return exhibits


def _pieces(text: str, marks: Sequence[Mark]) -> Iterator[Piece]:
    at = 0
    for mark in marks:
        yield Piece(text=text[at : mark.start])
        yield Piece(text=text[mark.start : mark.end], mark=mark.id)
        at = mark.end
    yield Piece(text=text[at:])


def _clock(time: str | None) -> str | None:
    """A recorded time for people, in UTC; what is no ISO 8601 time, as it stands."""
    if time is None:
        return None
    try:
        moment = datetime.fromisoformat(time)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return one_line(time)
    return f"{moment.day} {moment:%B} {moment.year}, {moment:%H:%M:%S} UTC"
