"""The map of a whole session, the same whichever message is asked about.

A writer needs to know what the session was for and how it ended, and a prompt cache needs the same text for every essay
of one session. So the outline depends on the session alone, is bounded for any length of it, and marks every gap with
its size: nothing is thinned without a mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby

from narrator.clock import span, stamp
from narrator.excerpt import ANY_KEY, CHARACTERS_A_TOKEN, abridge
from narrator.findings import NUDGE_WORDS, typed_text
from narrator.record import Record
from narrator.sanitize import one_line
from narrator.session import Block, File, Marker, Message, Role, Session, Skim, Text, ToolCall
from narrator.skims import NONE
from narrator.tokens import count_tokens

OUTLINE_TOKENS = 6000
"""The bound, for any length of session."""
_FIRST, _LAST = 700, 420
"""Tokens for the first request and for the last answer."""
_TURN, _SUMMARY, _ENDING = 60, 130, 90
"""Tokens for another user turn, a compaction summary, another of the last messages."""
_ENDINGS = 5
"""Messages that show how the session ended."""
_SEGMENTS = 16
"""Parts of the session that take turns in having their weightiest entry listed."""
_GAP = 28
"""Tokens of the gap mark before an entry, for choosing; what was really taken is counted."""
_LEAST = 40
"""Tokens that the smallest entry takes with its marks."""
_NAME = 80
"""Characters of a recorded name: a model, another session."""
_TITLE = 200


class OutlineEntry(Record):
    """One message in the outline."""

    index: int
    role: Role
    kind: str
    """`session.Skim.kind`."""
    time: str | None
    text: str
    """Recorded text, on one line unless it is the first request, a summary or the last message."""
    spoken: bool
    """The text is the message's own; otherwise it is what the message consists of, in the product's words."""
    omitted: int
    """Characters left out."""
    gap: str
    """What lies between the entry before it and this one, counted by kind; "" when nothing does."""

    @property
    def named(self) -> str:
        """`msg 12, user, 2026-02-16 13:18:41 UTC`: which message it is, in the product's words."""
        what = self.role if self.kind in ("typed", "answer") else self.kind
        return ", ".join(filter(None, [f"msg {self.index}", what, self.time]))


class Outline(Record):
    """The map of a session."""

    totals: tuple[str, ...]
    """What the record says of the session as a whole, in the product's words."""
    title: str
    """As recorded, on one line and not longer than a line."""
    entries: tuple[OutlineEntry, ...]
    gap: str
    """What lies after the last entry."""
    length: int
    """Estimated tokens of it in a prompt."""

    @property
    def indices(self) -> tuple[int, ...]:
        """Messages it shows."""
        return tuple(entry.index for entry in self.entries)

    def printed(self, key: str) -> str:
        """As `prompts/_shared/message.md.j2` prints it, for counting (`tests/test_prompt.py` compares the two)."""
        lines = [f"record: {fact}" for fact in self.totals]
        lines += [f"<conversation_data {key}>", f"[{key} title of the session]", self.title]
        for entry in self.entries:
            lines += [*([f"[{key} {entry.gap}]"] if entry.gap else []), f"[{key} {entry.named}]", entry.text]
        lines += [*([f"[{key} {self.gap}]"] if self.gap else []), f"</conversation_data {key}>"]
        return "\n".join(lines) + "\n"


def draw_outline(session: Session, *, bound: int = OUTLINE_TOKENS) -> Outline:
    """The outline of `session` in at most `bound` estimated tokens; the first request and the end always stand in it.

    It depends on the session alone.
    """
    fixed = _fixed(session)
    candidates = sorted({*session.skims.places("compaction-summary"), *session.skims.places("typed")} - fixed.keys())
    optional = [(index, *_weigh(session, session.skims[index])) for index in candidates]
    chosen = dict(fixed)
    spent = _assemble(session, chosen).length
    for index, limit in _by_turns(optional, len(session)):
        if bound - spent < _LEAST:
            break
        cost = _cost(session, index, limit)
        if spent + cost <= bound:
            chosen[index] = limit
            spent += cost
    outline = _assemble(session, chosen)
    while outline.length > bound and len(chosen) > len(fixed):
        for _ in range(max(1, (len(chosen) - len(fixed)) // 20)):
            chosen.popitem()
        outline = _assemble(session, chosen)
    return outline


def _totals(session: Session) -> tuple[str, ...]:
    skims, about = session.skims, session.about
    facts = [f"{len(skims):,} {'messages' if len(skims) > 1 else 'message'}: {in_words(skims.tally())}"]
    times = [time for time in (skims.created[k] for k in range(len(skims))) if time != NONE]
    if times:
        facts.append(f"from {stamp(times[0])} to {stamp(times[-1])} ({span(max(0, times[-1] - times[0]))})")
    answers = skims.places("answer")
    models = [skims.words[code] or "" for code, _ in groupby(filter(None, [skims.models[k] for k in answers]))]
    if models:
        listed = " → ".join(one_line(model, _NAME) for model in models[:6])
        facts.append(f"answered by {listed}" + (f" and {len(models) - 6} more changes" if len(models) > 6 else ""))
    codes = Counter([skims.finishes[k] for k in answers])
    ends = Counter({skims.words[code] or "no recorded reason": count for code, count in codes.items()})
    if ends and ends["no recorded reason"] < ends.total() // 2:
        listed = ", ".join(f"{count:,} with {one_line(end, _NAME)}" for end, count in ends.most_common(8))
        facts.append(f"assistant messages ended: {listed}")
    if about.parent:
        facts.append(f"a subagent's session, delegated by session {one_line(about.parent, _NAME)}")
    return tuple(facts)


_NAMES: dict[str, tuple[str, str]] = {
    "typed": ("user turn", "user turns"),
    "answer": ("assistant message", "assistant messages"),
    "compaction-request": ("compaction request", "compaction requests"),
    "compaction-summary": ("compaction summary", "compaction summaries"),
    "synthetic": ("message put in by the harness", "messages put in by the harness"),
}


def in_words(counts: Mapping[str, int]) -> str:
    """Messages counted by kind: `3 user turns, 208 assistant messages`, in the order of `_NAMES`; `nothing`."""
    told = [f"{counts[kind]:,} {names[counts[kind] > 1]}" for kind, names in _NAMES.items() if counts.get(kind)]
    return ", ".join(told) or "nothing"


def gap_between(session: Session, before: int, after: int, fate: str) -> str:
    """What lies between two messages, counted by kind, and what became of it: `20 assistant messages not listed`."""
    counts = session.skims.tally(before + 1, after)
    if len(counts) < 2:
        return f"{in_words(counts)} {fate}" if counts else ""
    return f"{after - before - 1:,} messages {fate}: {in_words(counts)}"


def _fixed(session: Session) -> dict[int, int]:
    """What every outline shows, index → limit: the first request and how it ended."""
    count = len(session)
    first = session.skims.first("typed") or 0
    shown = {first: _FIRST}
    for index in range(max(first + 1, count - _ENDINGS), count):
        shown[index] = _ENDING
    shown[count - 1] = max(shown.get(count - 1, 0), _LAST)
    return shown


def _weigh(session: Session, skim: Skim) -> tuple[int, int]:
    """How much a message deserves a place, and its limit in tokens; weight 0: none.

    A later summary of a segment covers more of it than an earlier one.
    """
    if skim.kind == "compaction-summary":
        return 1000 + skim.index, _SUMMARY
    if skim.kind != "typed":
        return 0, 0
    text = typed_text(session.message(skim.index))
    nudge = len(text) < 40 and NUDGE_WORDS.issuperset(text.lower().rstrip(".!").split())
    return (1 if nudge or not text else 10 + min(len(text), 400)), _TURN


def _by_turns(optional: list[tuple[int, int, int]], count: int) -> Iterable[tuple[int, int]]:
    """Entries in the order in which they are taken: each segment of the session gives its weightiest in turn.

    A segment gives its last summary, then two user turns, then whatever is weightiest.
    """
    segments: list[list[tuple[int, int, int]]] = [[] for _ in range(_SEGMENTS)]
    for index, weight, limit in optional:
        if weight > 1:
            segments[index * _SEGMENTS // count].append((index, weight, limit))
    for segment in segments:
        segment.sort(key=lambda entry: (-entry[1], entry[0]))
        turns = [entry for entry in segment if entry[2] == _TURN][:2]
        segment[1:1] = turns
        segment[:] = list(dict.fromkeys(segment))
    for round_ in range(max(map(len, segments))):
        for segment in segments:
            if round_ < len(segment):
                yield segment[round_][0], segment[round_][2]


def _entry(session: Session, index: int, limit: int, gap: str = "") -> OutlineEntry:
    skim = session.skims[index]
    message = session.message(index)
    words = _words(message)
    text, omitted = _gist(words or _stubs(message), limit, one=limit < _SUMMARY)
    return OutlineEntry(
        index=index,
        role=skim.role,
        kind=skim.kind,
        time=stamp(skim.created),
        text=text,
        spoken=bool(words),
        omitted=omitted,
        gap=gap,
    )


def _cost(session: Session, index: int, limit: int) -> int:
    entry = _entry(session, index, limit)
    return count_tokens(f"[{ANY_KEY} {entry.named}]\n{entry.text}\n") + _GAP


def _assemble(session: Session, chosen: Mapping[int, int]) -> Outline:
    entries, before = [], -1
    for index in sorted(chosen):
        entries.append(_entry(session, index, chosen[index], gap_between(session, before, index, "not listed")))
        before = index
    outline = Outline(
        totals=_totals(session),
        title=one_line(session.about.title, _TITLE),
        entries=tuple(entries),
        gap=gap_between(session, before, len(session), "not listed"),
        length=0,
    )
    return outline.model_copy(update={"length": count_tokens(outline.printed(ANY_KEY))})


def _gist(text: str, limit: int, *, one: bool) -> tuple[str, int]:
    """A text in about `limit` tokens, and how many characters were left out."""
    text = one_line(text) if one else re.sub(r"\n\s*\n", "\n", text.strip())
    characters = int(limit * CHARACTERS_A_TOKEN)
    while True:
        short, omitted = _cut(text, characters) if one else abridge(text, characters)
        length = count_tokens(short)
        if length <= limit or characters < _TURN:
            return short, omitted
        characters = int(characters * limit / length * 0.97)


def _cut(line: str, characters: int) -> tuple[str, int]:
    short = one_line(line, characters)
    return short, len(line) - len(short) + 1 if short != line else 0


def _words(message: Message) -> str:
    """What a message says: for a turn of the user, what was typed."""
    typed = typed_text(message) if message.role == "user" else ""
    return typed or "\n".join(block.text for block in message.blocks if isinstance(block, Text) and block.text.strip())


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
