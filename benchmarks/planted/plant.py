"""One planted error, and the kinds there are."""

from __future__ import annotations

from typing import NamedTuple

from planted.essay import Essay

MECHANICAL = (
    "citation off by one",
    "missing message",
    "altered digit",
    "swapped unit",
    "dropped negation",
    "quotation from elsewhere",
    "invented path",
    "wrong version",
    "wrong speaker",
    "inflated count",
    "invented time",
)
HARD = ("spliced quotation", "reversed order", "wrong cause of an end", "dropped negation in prose")
SAYS = {
    "citation off by one": "the message before or after instead; what it bore out stands in none of those cited now",
    "missing message": "a number at or behind the session's end",
    "altered digit": "one digit of an exact figure; the new one stands in no message near, as no duration either",
    "swapped unit": "another unit behind the same number; the pair stands in no message near",
    "dropped negation": "a “not”, “no”, “without”, “un-” left out of a quotation or fence; no message near has it so",
    "quotation from elsewhere": "recorded words of another message; they stand in no message near",
    "invented path": "a file whose name stands nowhere in the session",
    "wrong version": "a version that stands nowhere in the session",
    "wrong speaker": "words of one role given to the other, which has them in no message near",
    "inflated count": "more things than were counted; the new count stands in no message near",
    "invented time": "a time of day that stands nowhere in the session",
    "spliced quotation": "half of a quotation and half of another message's words; no message near has them so",
    "reversed order": "two cited events told in the wrong order, or a word of order turned round",
    "wrong cause of an end": "another end than the recorded one: a time-out, a crash, the user, a limit, a normal end",
    "dropped negation in prose": "the one “not” of a true sentence left out, outside every quotation",
}
"""What is planted, and what proves it false."""
EXPECTED = {
    "citation off by one": {"wrong-message", "quote-not-found", "figure-not-found", "quote-altered"},
    "missing message": {"no-such-message"},
    "altered digit": {"figure-not-found", "quote-altered", "wrong-message"},
    "swapped unit": {"figure-not-found", "quote-altered"},
    "dropped negation": {"quote-altered"},
    "quotation from elsewhere": {"wrong-message", "quote-not-found", "quote-altered"},
    "invented path": {"figure-not-found", "quote-altered", "quote-not-found"},
    "wrong version": {"figure-not-found", "quote-altered", "quote-not-found"},
    "wrong speaker": {"wrong-role"},
    "inflated count": {"figure-not-found", "quote-altered"},
    "invented time": {"figure-not-found", "quote-altered", "wrong-message"},
    "spliced quotation": {"quote-altered", "quote-not-found"},
    "reversed order": {"wrong-order"},
    "wrong cause of an end": {"wrong-message", "wrong-role", "quote-altered", "figure-not-found"},
    "dropped negation in prose": {"quote-altered", "wrong-message", "figure-not-found"},
}
"""Kinds of failure that name the error aptly; any failure on its place counts as found."""


class Plant(NamedTuple):
    """A true essay made false in one place."""

    kind: str
    essay: Essay
    start: int
    """Half-open span of the clean Markdown that is replaced."""
    end: int
    new: str
    place: tuple[tuple[int, int], ...]
    """Spans of the clean Markdown that are no longer true; a failure that overlaps one of them, moved as the
    replacement moves it, has found the error."""
    proof: str
    """Why the essay is false now, as the planter saw it in the recording."""

    @property
    def markdown(self) -> str:
        """The spoiled essay."""
        clean = self.essay.markdown
        return clean[: self.start] + self.new + clean[self.end :]

    @property
    def places(self) -> list[tuple[int, int]]:
        """`place` in the spoiled essay."""
        return [self.moved(span) for span in self.place]

    def moved(self, span: tuple[int, int]) -> tuple[int, int]:
        """Where a span of the clean essay stands in the spoiled one; one that holds the replacement grows with it."""
        shift = len(self.new) - (self.end - self.start)
        start = span[0] + shift if span[0] >= self.end else min(span[0], self.start + len(self.new))
        end = span[1] + shift if span[1] >= self.end else min(span[1], self.start + len(self.new))
        return start, max(end, start + 1)


def plant(kind: str, essay: Essay, edit: tuple[int, int, str], proof: str, *more: tuple[int, int]) -> Plant:
    """A plant whose place is the replaced text and `more`."""
    start, end, new = edit
    return Plant(kind, essay, start, end, new, ((start, end), *more), proof)
