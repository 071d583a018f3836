"""What a check found, as readers see it beside an essay: a line of counts, a note for each failure, and its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from markdown_it.token import Token

from narrator.draft import Draft
from narrator.markdown import literal, make_parser
from narrator.places import Lines, Pieces, Spot, find_spots
from narrator.report import Check, Failure, Match, Repair
from narrator.sanitize import one_line, plain

MOST_NOTES = 200
"""Failures that get a note of their own."""
_LINE = 200
"""Characters to which a statement's text is cut (`verify`)."""
_MARKS = "\"'“”‘’«»„`"
_LINKING = re.compile(r"\(|\[(?!msg\b|\^check-)")
"""What makes a link of brackets that stand before it."""
_SPACE = re.compile(r"\s")
_QUOTED, _NEAREST = 160, 300
"""Characters of the words that failed and of the nearest true text in a note."""


class Note(NamedTuple):
    """One failure."""

    number: int
    """From 1, in the order of the essay."""
    kind: str
    text: str
    """The words that failed, on one line, in quotation marks."""
    says: str
    """A sentence with its full stop."""
    nearest: Match | None
    """The nearest true text, on one line, not long, in quotation marks; "" where `says` has it."""
    start: int
    """Half-open span in the essay as it is shown (`sanitize.plain`)."""
    end: int
    """Where nothing of it stands any more, as `start`."""


class Taken(NamedTuple):
    """A sentence that the writer took back when it was shown what failed."""

    how: str
    """`left out` or `softened`."""
    before: str
    after: str


def counts_line(check: Check) -> str:
    """`41 citations, 12 quotations, 63 figures checked; 2 failed`."""
    counts = check.counts
    named = ", ".join(
        _plural(count, noun)
        for count, noun in (
            (counts.citations, "citation"),
            (counts.quotations, "quotation"),
            (counts.figures, "figure"),
        )
    )
    line = f"{named} checked; {counts.failed or 'none'} failed"
    return f"{line}; {counts.unjudged} not judged" if counts.unjudged else line


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def find_notes(draft: Draft) -> tuple[Note, ...]:
    """A note for each failure of a draft's check; none for a draft without one."""
    if draft.check is None:
        return ()
    failures = sorted(draft.check.failures, key=lambda failure: failure.span)[:MOST_NOTES]
    return tuple(_note(number, failure, draft.essay.final) for number, failure in enumerate(failures, 1))


def _note(number: int, failure: Failure, essay: str) -> Note:
    start, end = failure.span
    # A draft can be edited by hand: what does not stand at its place any more is told of, and marked nowhere.
    placed = 0 <= start < end <= len(essay) and one_line(essay[start:end], _LINE) == failure.text
    says, near = one_line(failure.says), None
    if failure.nearest is not None:
        text = one_line(failure.nearest.text, _NEAREST)
        near = Match(index=failure.nearest.index, text="" if text in says else quote(text))
    return Note(
        number,
        failure.kind,
        quote(one_line(failure.text, _QUOTED)),
        says if says.rstrip(_MARKS)[-1:] in {".", "!", "?", "…"} else f"{says}.",
        near,
        *(shown_span(essay, start, end) if placed else (0, 0)),
    )


def quote(text: str) -> str:
    """`text` in quotation marks, unless it has some."""
    return text if text[:1] in _MARKS and text[-1:] in _MARKS else f"“{text}”"


def shown_span(essay: str, start: int, end: int) -> tuple[int, int]:
    """A span of an essay in the essay as it is shown, which may have marks for what is invisible."""
    if plain(essay) == essay:
        return start, end
    return len(plain(essay[:start])), len(plain(essay[:end]))


def find_taken(repairs: Iterable[Repair]) -> list[Taken]:
    """What the writer took back."""
    names = {"dropped": "left out", "softened": "softened"}
    return [
        Taken(names[one.how], quote(one_line(one.before, _NEAREST)), quote(one_line(one.after, _NEAREST)))
        for one in repairs
        if one.accepted and one.how in names
    ]


# ---- in Markdown


def with_signs(markdown: str, notes: Sequence[Note]) -> tuple[str, set[int]]:
    """The essay with a footnote's sign behind each failing place, and the numbers of the notes that have one."""
    text = plain(markdown)
    places = dict(_ends(text, [note for note in notes if note.end > note.start]))
    for number, (at, alone) in sorted(places.items(), key=lambda item: (-item[1][0], -item[0])):
        rest = text[at:]
        own_line = "\n" if rest.strip() and not rest.startswith("\n\n") else ""
        sign = f"\n\n[^check-{number}]{own_line}" if alone else f"[^check-{number}]"
        text = f"{text[:at]}{sign}{rest}"
    return text, set(places)


def _ends(text: str, notes: Sequence[Note]) -> Iterator[tuple[int, tuple[int, bool]]]:
    """Yield for each note where its sign may stand, and whether on a line of its own."""
    lines = Lines(text)
    tokens = make_parser().disable("text_join").parse(text)
    for token in tokens if notes else ():
        pieces = lines.pieces(token)
        if token.type == "fence" and token.level == 0 and token.map is not None:
            rows = text.split("\n")[: token.map[1]]
            closed = len(rows) - 1 > token.map[0] and rows[-1].strip().startswith(token.markup)
            spans = [place for _, place in pieces.stretches()]
            for note in notes if closed and spans else ():
                if note.start < spans[-1].end and spans[0].start < note.end:
                    yield note.number, (len("\n".join(rows)), True)
        if token.type == "inline" and token.children:
            ends = list(_safe(token.children, find_spots(token.children, token.content)))
            for note in notes:
                last = next((end for end in ends if _reached(pieces.span(end.start, end.end), note)), None)
                if last is not None and (at := _sign_place(last, pieces, note, text)) is not None:
                    yield note.number, (at, False)


class _End(NamedTuple):
    """A piece of running text, and where something may be put behind it."""

    start: int
    end: int
    behind: int
    whole: bool
    """Only behind it: it is code, or in a link."""


def _safe(children: Sequence[Token], spots: Sequence[Spot]) -> Iterator[_End]:
    """Yield every piece of text and code, from the last to the first."""
    behind: int | None = None
    linked = False
    for token, spot in zip(reversed(children), reversed(spots), strict=True):
        if token.type == "link_close":
            linked = True
        if token.type == "link_open":
            linked, behind = False, None
        elif token.nesting < 0:
            behind = spot.behind if behind is None else behind
        elif token.type in ("text", "text_special", "code_inline"):
            yield _End(spot.start, spot.end, behind or spot.behind, linked or token.type != "text")
            behind = behind if linked else None
        elif not linked:
            behind = None


def _reached(place: tuple[int, int] | None, note: Note) -> bool:
    return place is not None and place[0] < note.end and note.start < place[1]


def _sign_place(end: _End, pieces: Pieces, note: Note, text: str) -> int | None:
    """Behind the failing words, their marks included; None where a bracket behind it would make a link of the sign."""
    last, behind = pieces.place(end.end - 1), pieces.place(end.behind - 1)
    if last is None or behind is None:
        return None
    at = behind + 1 if end.whole or note.end > last else note.end
    if at <= last and _LINKING.match(text, at):
        found = _SPACE.search(text, at, last + 1)
        at = found.start() if found is not None else behind + 1
    return None if _LINKING.match(text, at) or text[at - 1] == "\\" else at


def notes_markdown(draft: Draft, notes: Sequence[Note], signed: set[int]) -> Iterator[str]:
    """Yield what stands under a Markdown essay on its check: the counts, a footnote or an entry for each failure."""
    if draft.check is None:
        return
    yield f"*{counts_line(draft.check)}*\n"
    told = [(note.number in signed, note.number, _told(note)) for note in notes]
    taken = [_taken(one) for one in find_taken(draft.repair)]
    entries = [f"- {words}" for placed, _, words in told if not placed] + [f"- {words}" for words in taken]
    if entries:
        yield "\n".join(entries) + "\n"
    yield from (f"[^check-{number}]: {words}\n" for placed, number, words in told if placed)
    if (more := len(draft.check.failures) - len(notes)) > 0:
        yield f"{more} more failed.\n"


def _told(note: Note) -> str:
    words = f"**{note.kind}** {literal(note.text)}: {literal(note.says)}"
    if note.nearest is not None:
        told = f": {literal(note.nearest.text)}" if note.nearest.text else "."
        words += f" Nearest true text, in message {note.nearest.index}{told}"
    return words


def _taken(one: Taken) -> str:
    if one.how == "softened":
        return f"softened after the check: {literal(one.before)} became {literal(one.after)}"
    return f"left out after the check: {literal(one.before)}"
