"""What a writer may look up in a session beyond what it was given: messages by their numbers, and words.

What comes back is printed as the window prints it, recorded text between the same delimiters; everything is bounded.
A search goes through the stored JSON first, at the speed of reading, and decodes only messages that can hold the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from narrator.excerpt import Excerpt, join_excerpts, take_excerpt
from narrator.findings import diagnose
from narrator.passages import Passage
from narrator.sanitize import plain, shorten
from narrator.session import Session
from narrator.shortening import ANY_KEY
from narrator.tokens import count_tokens

Value = TypeVar("Value")

MOST_AT_ONCE = 8
"""Messages that one reading gives, and hits that one search shows."""
LONGEST_QUERY = 200
"""Characters of a text that is searched for."""
_LONGEST_MESSAGE = 1500
"""Tokens of one message at most; below the smallest it says nothing."""
_SMALLEST = 60
_FRAME = 110
"""Tokens that a message's frame usually takes beside its text; what was really taken is counted."""
_LOOKED_AT, _MOST_BYTES = 64, 16 << 20
"""Messages that one search decodes at most, and bytes of them: a word may stand in all of 60,000."""
_SIDE = 240
"""Characters shown at most on either side of a hit; less where the lines beside it end sooner."""
_MOST_WORDS = 8
_PLACES = 2
"""Passages of one message in which a hit is shown."""


class Bounds(NamedTuple):
    """How much may be looked up for one essay."""

    rounds: int = 3
    """Times that the model may ask, each time for several things."""
    messages: int = 24
    """Messages read; a hit of a search is not counted here."""
    tokens: int = 8_000
    """Tokens of all that comes back."""


class Found(NamedTuple):
    """What a search found."""

    messages: int
    """How many hold it."""
    bound: Literal["", "at least", "at most", "about"]
    """How that number is meant; "" when each that may hold it was looked at, so that it is exact."""
    literal: bool
    """They hold the text as it was asked for; else only all of its words."""
    excerpts: tuple[Excerpt, ...]
    """The lines of some, spread over the session."""


def read_messages(session: Session, indices: Sequence[int], tokens: int) -> tuple[Excerpt, ...]:
    """Messages in the order asked for, in at most `tokens` together, each with a fair share; some may not fit."""
    room, shown = tokens, []
    for place, index in enumerate(indices):
        limit = min(_LONGEST_MESSAGE, room // (len(indices) - place) - _FRAME)
        excerpt = take_excerpt(session, index, limit=max(_SMALLEST, limit))
        if (cost := cost_of(session, excerpt)) <= room:
            shown.append(excerpt)
            room -= cost
    return tuple(shown)


def search_session(session: Session, text: str, *, most: int = MOST_AT_ONCE) -> Found:
    """Where `text` stands in the session, whatever its case and white space; else where all its words stand.

    Takes one pass over the stored JSON, two where all the words are frequent. A word that a terminal sequence cuts is
    not found, nor is what was masked.
    """
    words = plain(text).split()[:_MOST_WORDS]
    if not words:
        return Found(0, "", literal=False, excerpts=())
    phrase = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    candidates = session.search(Needle(words))
    if len(words) == 1 or len(candidates) <= _LOOKED_AT:
        found = _look(session, candidates, [phrase], most, literal=True)
    else:
        found = _look(session, session.search(Needle([" ".join(words)])), [phrase], most, literal=True)
        # Not counted are messages in which a line ends within the text.
        found = found._replace(bound="about" if found.bound else "at least")
    if found.excerpts or len(words) == 1:
        return found
    apart = [re.compile(re.escape(word), re.IGNORECASE) for word in words]
    return _look(session, candidates, apart, most, literal=False)


class Needle:
    """Whether stored JSON may hold all of several texts, whatever their case: a yes is still to be looked at."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [tuple(dict.fromkeys(_stored(text))) for text in texts]

    def __call__(self, stored: bytes | bytearray) -> bool:
        """Whether each text stands in `stored`, in one of the ways it may be written there."""
        low = stored.lower()
        return all(any(form in low for form in forms) for forms in self._texts)


def _stored(text: str) -> Iterator[bytes]:
    """Ways in which JSON may hold a text, ASCII letters in lower case: escaped or not, and with other capitals."""
    for word in (text, text.lower(), text.upper(), text.title(), text.casefold()):
        for escaped in (True, False):
            form = json.dumps(word, ensure_ascii=escaped)[1:-1].encode("utf-8", "replace").lower()
            yield form
            yield form.replace(b"/", b"\\/")


def _look(
    session: Session, candidates: Sequence[int], patterns: Sequence[re.Pattern[str]], most: int, *, literal: bool
) -> Found:
    """Decode candidates, all or as many as are allowed, and show some of those that hold every pattern."""
    hits, looked, read = [], 0, 0
    for index in _spread(candidates, _LOOKED_AT):
        if read > _MOST_BYTES:
            break
        looked, read = looked + 1, read + session.size(index)
        if (excerpt := _hit(session, index, patterns)) is not None:
            hits.append(excerpt)
    every = looked == len(candidates)
    count = len(hits) if every or not hits else len(candidates)
    return Found(count, "" if every else "at most", literal=literal, excerpts=tuple(_spread(hits, most)))


def _spread(values: Sequence[Value], most: int) -> list[Value]:
    """At most `most` of several values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / max(1, most - 1))] for place in range(most)]


def _hit(session: Session, index: int, patterns: Sequence[re.Pattern[str]]) -> Excerpt | None:
    """The lines of a message where the patterns stand; None when one of them stands nowhere in it."""
    whole = take_excerpt(session, index)
    places: dict[int, tuple[int, int]] = {}
    for pattern in patterns:
        found = next(
            ((place, match) for place, one in enumerate(whole.passages) if (match := pattern.search(one.text))), None
        )
        if found is None:
            return None
        places.setdefault(found[0], found[1].span())
    shown = tuple(_clip(whole.passages[place], *places[place]) for place in sorted(places)[:_PLACES])
    omitted = sum(one.omitted for one in shown)
    if others := [one for place, one in enumerate(whole.passages) if place not in sorted(places)[:_PLACES]]:
        omitted += sum(len(one.text) for one in others)
        label = f"{len(others)} other part{'s' if len(others) > 1 else ''} of this message not shown here"
        shown = (*shown, Passage(kind="left-out", label=label, text="", at=""))
    return whole.model_copy(update={"passages": shown, "omitted": omitted})


def _clip(passage: Passage, start: int, end: int) -> Passage:
    """A passage shortened to the lines of a hit, with one line before and one after them."""
    text = passage.text
    begin = text.rfind("\n", 0, max(0, text.rfind("\n", 0, start))) + 1
    stop = text.find("\n", end)
    stop = text.find("\n", stop + 1) if stop >= 0 else -1
    after = (stop if stop >= 0 else len(text)) - end
    head, before = shorten(text[:start], min(_SIDE, start - begin) + 2, head=0)
    tail, behind = shorten(text[end:], min(_SIDE, after) + 2, head=1)
    return passage.model_copy(update={"text": head + text[start:end] + tail, "omitted": before + behind})


def cost_of(session: Session, excerpt: Excerpt) -> int:
    """Tokens of a message as it is printed, what the record knows of it included."""
    return count_tokens(excerpt.printed(diagnose(session, excerpt.index), ANY_KEY) + "\n")


class Lookups:
    """What is looked up for one essay: answers as text for the model, and keeps count of what it was shown."""

    def __init__(self, session: Session, key: str, bounds: Bounds, *, given: Collection[int] = ()) -> None:
        """Begin with nothing read.

        Args:
            session: what is looked into.
            key: the delimiter's key in this prompt; a message that holds it is not shown.
            bounds: how much may come back.
            given: messages that the writer was given whole.
        """
        self.bounds = bounds
        self.made = 0
        """Look-ups that were made, also those that found nothing."""
        self._session, self._key, self._given = session, key, frozenset(given)
        self._tokens, self._messages = bounds.tokens, bounds.messages
        self._read: dict[int, Excerpt] = {}

    @property
    def read(self) -> tuple[Excerpt, ...]:
        """What was shown of each message, in the session's order."""
        return tuple(self._read[index] for index in sorted(self._read))

    @property
    def room(self) -> int:
        """Tokens that may still come back."""
        return self._tokens

    @property
    def spent(self) -> bool:
        """Nothing more will be shown."""
        return self._tokens < _SMALLEST + _FRAME

    def forget(self) -> None:
        """What was shown was not sent in the end."""
        self.made = 0
        self._read.clear()

    def read_messages(self, indices: Sequence[int]) -> str:
        """Some messages, and a line for each reason why others are not among them."""
        self.made += 1
        asked = list(dict.fromkeys(indices))
        there = [index for index in asked if 0 <= index < len(self._session)]
        new = [index for index in there if index not in self._given]
        wanted = new[: min(MOST_AT_ONCE, self._messages)]
        shown = self._show(read_messages(self._session, wanted, self._tokens))
        self._messages -= len(shown)
        notes = []
        if len(there) < len(asked):
            notes.append(f"the session has messages 0 to {len(self._session) - 1} and no other")
        if len(new) < len(there):
            whole = ", ".join(str(index) for index in there if index in self._given)
            notes.append(f"given to you whole already: msg {whole}")
        if left := [str(index) for index in new if index not in shown]:
            notes.append(f"not shown, the bound of what can be looked up is reached: msg {', '.join(left)}")
        return self._printed(notes, shown)

    def search_session(self, text: str) -> str:
        """Where a text stands."""
        self.made += 1
        found = search_session(self._session, text[:LONGEST_QUERY])
        shown = self._show(found.excerpts)
        together = "" if found.bound else ", but not together"
        what = "this text" if found.literal else f"all of these words{together}"
        if not found.messages:
            many = "; it is frequent in what is stored beside the texts, not all was looked at" if found.bound else ""
            return self._printed([f"no message was found that holds this text, or all of its words{many}"], {})
        holds = f"{found.messages:,} message{'s hold' if found.messages > 1 else ' holds'} {what}"
        notes = [f"{found.bound} {holds}".strip()]
        if len(shown) < found.messages:
            notes.append(f"lines of {len(shown)} of them are shown, spread over the session")
        return self._printed(notes, shown)

    def _show(self, excerpts: Sequence[Excerpt]) -> dict[int, Excerpt]:
        """Those of the excerpts that fit and may be shown, by index; they count as read from now on."""
        shown = {}
        for excerpt in excerpts:
            cost = cost_of(self._session, excerpt)
            held = self._key in excerpt.printed(diagnose(self._session, excerpt.index), "")
            if cost <= self._tokens and not held:
                self._tokens -= cost
                shown[excerpt.index] = excerpt
                before = self._read.get(excerpt.index)
                self._read[excerpt.index] = join_excerpts(before, excerpt) if before else excerpt
        return shown

    def _printed(self, notes: Sequence[str], shown: dict[int, Excerpt]) -> str:
        lines = [f"record: {note}\n" for note in notes]
        texts = [one.printed(diagnose(self._session, one.index), self._key) for one in shown.values()]
        return "\n".join([*lines, *texts]) or "record: nothing was asked for\n"
