"""What a writer may look up in a session beyond what it was given: messages by their numbers, and words.

What comes back is printed as the window prints it, recorded text between the same delimiters; everything is bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from narrator.excerpt import Excerpt, join_excerpts, take_excerpt
from narrator.findings import diagnose
from narrator.search import MOST_SHOWN, read_round, search_session
from narrator.session import Session
from narrator.shortening import ANY_KEY
from narrator.tokens import count_tokens

MOST_AT_ONCE = MOST_SHOWN
"""Messages that one reading gives."""
_MOST_LISTED = 60
"""Numbers of messages that a search lists."""
LONGEST_QUERY = 200
"""Characters of a text that is searched for."""
_LONGEST_MESSAGE = 1500
"""Tokens of one message at most; below the smallest it says nothing."""
_SMALLEST = 60
_FRAME = 110
"""Tokens that a message's frame usually takes beside its text; what was really taken is counted."""


class Bounds(NamedTuple):
    """How much may be looked up for one essay."""

    rounds: int = 3
    """Times that the model may ask, each time for several things."""
    messages: int = 24
    """Messages read; a hit of a search is not counted here."""
    tokens: int = 8_000
    """Tokens of all that comes back."""


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

    def read_messages(self, indices: Sequence[int], around: str = "") -> str:
        """Some messages, and a line for each reason why others are not among them.

        With `around`, of each the stretch round the first place where that text stands.
        """
        self.made += 1
        asked = list(dict.fromkeys(indices))
        there = [index for index in asked if 0 <= index < len(self._session)]
        new = [index for index in there if index not in self._given]
        wanted = new[: min(MOST_AT_ONCE, self._messages)]
        notes, without, excerpts = [], list[int](), () if around else read_messages(self._session, wanted, self._tokens)
        if around:
            rounds = [read_round(self._session, index, around[:LONGEST_QUERY]) for index in wanted]
            excerpts = tuple(one for one in rounds if one is not None)
            if without := [index for index, one in zip(wanted, rounds, strict=True) if one is None]:
                notes.append(f"this text does not stand in msg {', '.join(map(str, without))}")
        shown = self._show(excerpts)
        self._messages -= len(shown)
        if len(there) < len(asked):
            notes.append(f"the session has messages 0 to {len(self._session) - 1} and no other")
        if len(new) < len(there):
            whole = ", ".join(str(index) for index in there if index in self._given)
            notes.append(f"given to you whole already: msg {whole}")
        if left := [str(index) for index in new if index not in shown and index not in without]:
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
            notes[0] += f": msg {_listed(found.indices)}"
            notes.append(f"lines of {len(shown)} of them are shown, spread over the session")
        if len(found.apart) > found.messages:
            bound = "" if found.apart_exact else "at most "
            notes.append(f"{bound}{len(found.apart):,} messages hold all of its words: msg {_listed(found.apart)}")
        self._tokens = max(0, self._tokens - sum(count_tokens(note) for note in notes))
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


def _listed(indices: Sequence[int]) -> str:
    """`3, 5 and 12 more`."""
    more = len(indices) - _MOST_LISTED
    return ", ".join(map(str, indices[:_MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")
