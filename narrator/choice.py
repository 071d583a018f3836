"""Which messages the outline lists, how much of each, and that choice on a shelf.

Every part of a session (`segments`) gives an entry in turn, its weightiest first: its last compaction summary or, where
there is none, how its last turn ended; then what the user asked for, what was reached, and more of each.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct

from narrator.clock import stamp
from narrator.findings import typed_text
from narrator.milestones import Milestone, find_milestones
from narrator.sanitize import one_line
from narrator.sayings import Asking, name_places, places_of_saying
from narrator.segments import find_segments
from narrator.session import Block, File, Marker, Message, Session, Text, ToolCall
from narrator.shortening import ANY_KEY, CHARACTERS_A_TOKEN, abridge
from narrator.skims import KINDS
from narrator.subjects import call_at, subject_of
from narrator.tokens import count_tokens

OUTLINE_TOKENS = 6000
"""The bound, for any length of session."""
_RULES = 3
"""Version of the rules below: what was kept under other ones is chosen again."""
_FIRST, _LAST = 700, 420
"""Tokens for the first request and for the last answer."""
_TURN, _SUMMARY, _ENDING, _STEP = 60, 110, 90, 45
"""Tokens for another user turn, a compaction summary, the end of a turn or of the session, a milestone."""
_ENDINGS = 5
"""Messages that show how the session ended."""
_GAP = 28
"""Tokens of the gap mark before an entry, for choosing; what was really taken is counted."""
_LEAST = 40
"""Tokens that the smallest entry takes with its marks."""
_MISFITS = 6
"""Entries that are tried and found too long for what is left of the bound, before no more are."""
_SHORTEST = 60
"""Characters below which no entry is cut."""
_LAST_WORDS = 4
"""Messages at the end of a turn among which words are looked for."""
_LONG = 400
"""Bytes of a user's turn beyond which it weighs no more."""
_NAME = 80
"""Characters of a recorded name."""
_ANSWER = KINDS.index("answer")


class Pick(Struct, frozen=True, array_like=True):
    """A message that is listed."""

    index: int
    characters: int
    """Of its text, at most."""
    whole: int = 0
    """1: its lines are kept; 0: it stands on one line."""
    size: int = 0
    """Bytes of the message as stored."""
    milestone: Milestone | None = None
    same: tuple[int, ...] = ()
    """Where the user typed the very same, here too."""

    def named(self, session: Session) -> str:
        """What is said of it beside its place, in the product's words: `a commit`, `said 2 times: msg 4, 9`."""
        reached = self.milestone.named(session) if self.milestone else ""
        return "; ".join(filter(None, [name_places(self.same), reached]))


class Wording(NamedTuple):
    """What an entry says."""

    text: str
    spoken: bool
    """It is the message's own text; otherwise it is what the message consists of, in the product's words."""
    omitted: int
    """Characters left out."""


class Kept(Struct, frozen=True, array_like=True):
    """A choice on the shelf: places and lengths, and no text."""

    picks: tuple[Pick, ...]
    printed: int
    """Checksum of the outline that was drawn from it."""

    def proves(self, printed: str) -> bool:
        """Whether the same outline is drawn from it today."""
        return _checksum(printed) == self.printed


class _Candidate(Struct, frozen=True):
    index: int
    limit: int
    """Tokens."""
    milestone: Milestone | None = None


def recall_choice(session: Session, bound: int) -> Kept | None:
    """What was chosen for this bound by these rules; None when nothing usable is kept."""
    data = session.shelf.get(f"outline-{_RULES}-{bound}")
    try:
        kept = None if data is None else msgspec.json.decode(data, type=Kept)
    except msgspec.DecodeError:
        return None
    known = kept is not None and all(0 <= pick.index < len(session) for pick in kept.picks)
    return kept if known else None


def keep_choice(session: Session, bound: int, picks: Iterable[Pick], printed: str) -> None:
    """Put a choice on the session's shelf."""
    kept = Kept(tuple(picks), _checksum(printed))
    session.shelf.put(f"outline-{_RULES}-{bound}", [msgspec.json.encode(kept)])


def _checksum(printed: str) -> int:
    return crc32(printed.encode("utf-8", "surrogatepass"))


def choose_entries(session: Session, room: int) -> tuple[list[Pick], list[Pick]]:
    """What every outline lists, and what else goes into about `room` tokens, in the order of its worth."""
    milestones = {milestone.index: milestone for milestone in find_milestones(session)}
    fixed = [
        _pick(session, _Candidate(index, limit, milestones.get(index)), places_of_saying(session, index))
        for index, limit in _fixed(session).items()
    ]
    room -= sum(cost for _, cost in fixed)
    chosen = {pick.index: pick for pick, _ in fixed}
    misfits, asking, sayings = 0, Asking(session), session.skims.sayings
    told = {sayings[index] for index in chosen} - {0}

    def says(index: int) -> bool:
        return sayings[index] not in told and asking(index)

    for candidate in _in_turn(session, milestones, says):
        if room < _LEAST or misfits > _MISFITS:
            break
        if candidate.index in chosen:
            continue
        pick, cost = _pick(session, candidate, places_of_saying(session, candidate.index))
        if cost > room:
            misfits += 1
            continue
        chosen[pick.index] = pick
        told.add(sayings[pick.index] or -1)  # what says nothing is never told
        room -= cost
    picks = list(chosen.values())
    return picks[: len(fixed)], picks[len(fixed) :]


def _fixed(session: Session) -> dict[int, int]:
    """What every outline shows, index → limit: the first request and how it ended."""
    count = len(session)
    first = session.skims.first("typed") or 0
    shown = {first: _FIRST}
    for index in range(max(first + 1, count - _ENDINGS), count):
        shown[index] = _ENDING
    shown[count - 1] = max(shown.get(count - 1, 0), _LAST)
    return shown


def _in_turn(session: Session, milestones: dict[int, Milestone], says: Callable[[int], bool]) -> Iterator[_Candidate]:
    """Entries in the order in which they are taken: each part of the session gives its weightiest in turn.

    What comes next is found out when it is asked for: whether a turn says something new depends on what was taken.
    """
    places = _Places(
        session.skims.places("compaction-summary"), session.skims.places("typed"), sorted(milestones), milestones
    )
    parts = [_of_part(session, part, places, says) for part in find_segments(session)]
    while parts:
        for part in tuple(parts):
            if (candidate := next(part, None)) is None:
                parts.remove(part)
            else:
                yield candidate


class _Places(NamedTuple):
    """Where what may be listed stands, each in order."""

    summaries: list[int]
    typed: list[int]
    steps: list[int]
    milestones: dict[int, Milestone]


def _inside(places: list[int], part: range) -> list[int]:
    return places[bisect_left(places, part.start) : bisect_left(places, part.stop)]


def _of_part(session: Session, part: range, places: _Places, says: Callable[[int], bool]) -> Iterator[_Candidate]:
    """The entries of one part, the weightiest first: its summary or its end, a turn, a milestone, turns, all others."""
    said = session.skims.said
    summaries = _inside(places.summaries, part)[::-1]
    typed = [index for index in _inside(places.typed, part) if said[index]]
    typed.sort(key=lambda index: (-min(said[index], _LONG), index))
    reached = [places.milestones[index] for index in _inside(places.steps, part)]
    reached.sort(key=lambda milestone: (-milestone.weight, milestone.index))
    endings = [] if summaries else _endings(session, part)
    turns = (_Candidate(index, _TURN) for index in typed if says(index))
    steps = iter([_Candidate(milestone.index, _STEP, milestone) for milestone in reached])
    heads = iter(
        [_Candidate(index, _SUMMARY) for index in summaries]
        + [_Candidate(index, _ENDING, places.milestones.get(index)) for index in endings]
    )
    order = (heads, turns, steps, turns, turns, steps)
    while True:
        taken = 0
        for source in order:
            if (found := next(source, None)) is not None:
                taken += 1
                yield found
        if not taken:
            return


def _endings(session: Session, part: range) -> list[int]:
    """Of a part without a summary, the answer with which its last turn ended; where none does, its last words."""
    kinds = session.skims.kinds
    following = session.skims.last("typed", part.stop + (part.stop < len(session)))
    stop = part.stop if following is None or following <= part.start else following
    last = range(stop - 1, max(part.start, stop - _LAST_WORDS) - 1, -1)
    answers = [index for index in last if kinds[index] == _ANSWER]
    spoken = (index for index in answers if _words(session.message(index)))
    return [next(spoken, answers[0])] if answers else []


def _pick(session: Session, candidate: _Candidate, same: tuple[int, ...]) -> tuple[Pick, int]:
    """A message in about so many tokens, and what it costs in the outline."""
    index, limit, milestone = candidate.index, candidate.limit, candidate.milestone
    whole = limit >= _SUMMARY
    text, _ = _source(session, index, milestone, whole=whole)
    characters = int(limit * CHARACTERS_A_TOKEN)
    while (length := count_tokens(short := _cut(text, characters, whole=whole)[0])) > limit and characters > _SHORTEST:
        characters = int(min(len(short), characters) * limit / length * 0.97)
    pick = Pick(index, characters, int(whole), session.size(index), milestone, same)
    named = f"msg {index}, {stamp(session.skims.created[index])}, compaction-summary; {pick.named(session)}"
    return pick, length + count_tokens(f"[{ANY_KEY} {named}]\n\n") + _GAP


def word_entry(session: Session, pick: Pick) -> Wording:
    """What the entry of a message says."""
    text, spoken = _source(session, pick.index, pick.milestone, whole=bool(pick.whole))
    short, omitted = _cut(text, pick.characters, whole=bool(pick.whole))
    return Wording(short, spoken, omitted)


def _source(session: Session, index: int, milestone: Milestone | None, *, whole: bool) -> tuple[str, bool]:
    """The text of an entry before it is shortened, and whether it is the message's own."""
    message = session.message(index)
    words = _words(message)
    text = words or (_done(session, message, milestone) if milestone else _stubs(message))
    return re.sub(r"\n\s*\n", "\n", text.strip()) if whole else one_line(text), bool(words)


def _cut(text: str, characters: int, *, whole: bool) -> tuple[str, int]:
    """About so many characters of it, and how many are left out."""
    if whole:
        return abridge(text, characters)
    short = one_line(text, characters)
    return short, len(text) - len(short) + 1 if short != text else 0


def _words(message: Message) -> str:
    """What a message says: for a turn of the user, what was typed."""
    typed = typed_text(message) if message.role == "user" else ""
    return typed or "\n".join(block.text for block in message.blocks if isinstance(block, Text) and block.text.strip())


def _done(session: Session, message: Message, milestone: Milestone) -> str:
    """The call with which something was reached: `[bash call] git commit -m …`."""
    call = call_at(session, milestone.call)
    return f"{_stub(call)} {subject_of(call)}".rstrip() if call else _stubs(message)


def _stubs(message: Message) -> str:
    """What a message without words consists of."""
    return " ".join([stub for block in message.blocks if (stub := _stub(block))][:6]) or "[no text]"


def _stub(block: Block) -> str:
    match block:
        case ToolCall():
            return f"[{one_line(block.name, _NAME)} call]"
        case File():
            return f"[file {one_line(block.name, _NAME)}]"
        case Marker():
            return one_line(block.text, _NAME)
        case _:
            return ""
