"""The map of a whole session, the same whichever message is asked about.

A writer needs to know what the session was for and how it ended, and a prompt cache needs the same text for every essay
of one session. So the outline depends on the session alone, is bounded for any length of it, and marks every gap with
its size: nothing is thinned without a mark. What is listed was chosen in `choice`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress, groupby

from narrator.choice import OUTLINE_TOKENS, Pick, choose_entries, keep_choice, recall_choice, word_entry
from narrator.clock import span, stamp
from narrator.record import Record
from narrator.sanitize import one_line
from narrator.session import Role, Session
from narrator.shortening import ANY_KEY
from narrator.skims import KINDS, NONE, ROLES, Skims
from narrator.tokens import count_tokens

__all__ = ["OUTLINE_TOKENS", "Outline", "OutlineEntry", "draw_outline", "gap_between", "in_words"]

_NAME = 80
"""Characters of a recorded name: a model, another session."""
_TITLE = 200
_ANSWER = KINDS.index("answer")
_IS_ANSWER = bytes(code == _ANSWER for code in range(256))


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
    reached: str = ""
    """What was reached in it, and where the same was typed, in the product's words: `a commit`."""
    size: int = 0
    """Bytes of the message as stored."""

    @property
    def named(self) -> str:
        """`msg 12, user, 2026-02-16 13:18:41 UTC`: which message it is, in the product's words."""
        what = self.role if self.kind in ("typed", "answer") else self.kind
        return ", ".join(filter(None, [f"msg {self.index}", what, self.time])) + (
            f"; {self.reached}" if self.reached else ""
        )


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

    It depends on the session alone. What was chosen is kept on the session's shelf; what is drawn from it must be what
    was drawn when it was kept, or it is chosen again.
    """
    totals = _totals(session)
    kept = recall_choice(session, bound)
    if kept is not None:
        outline = _assemble(session, totals, kept.picks)
        if kept.proves(outline.printed(ANY_KEY)):
            return outline
    fixed, optional = choose_entries(session, bound - _assemble(session, totals, ()).length)
    outline = _assemble(session, totals, [*fixed, *optional])
    while outline.length > bound and optional:
        optional = optional[: -max(1, len(optional) // 20)]
        outline = _assemble(session, totals, [*fixed, *optional])
    keep_choice(session, bound, [*fixed, *optional], outline.printed(ANY_KEY))
    return outline


def _totals(session: Session) -> tuple[str, ...]:
    skims, about = session.skims, session.about
    facts = [f"{len(skims):,} {'messages' if len(skims) > 1 else 'message'}: {in_words(skims.tally())}"]
    begun, ended, edge = _first_and_last(skims)
    if begun != NONE:
        facts.append(
            f"from {stamp(begun)} to {stamp(ended)}, the {edge} of the last message ({span(max(0, ended - begun))})"
        )
    answers = skims.kinds.translate(_IS_ANSWER)
    models = [skims.words[code] or "" for code, _ in groupby(filter(None, compress(skims.models, answers)))]
    if models:
        listed = " → ".join(one_line(model, _NAME) for model in models[:6])
        facts.append(f"answered by {listed}" + (f" and {len(models) - 6} more changes" if len(models) > 6 else ""))
    codes = Counter(compress(skims.finishes, answers))
    ends = Counter({skims.words[code] or "no recorded reason": count for code, count in codes.items()})
    if ends and ends["no recorded reason"] < ends.total() // 2:
        listed = ", ".join(f"{count:,} with {one_line(end, _NAME)}" for end, count in ends.most_common(8))
        others = " (summaries not counted)" if skims.count("compaction-summary") else ""
        facts.append(f"assistant messages{others} ended: {listed}")
    if about.parent:
        facts.append(f"a subagent's session, delegated by session {one_line(about.parent, _NAME)}")
    return tuple(facts)


def _first_and_last(skims: Skims) -> tuple[int, int, str]:
    """When the first message with a time began, and when the last one ended, or began; `NONE` twice where none has."""
    begun = next((time for time in skims.created if time != NONE), NONE)
    last = next((place for place in reversed(range(len(skims))) if skims.created[place] != NONE), None)
    if last is None:
        return begun, NONE, ""
    if skims.completed[last] >= skims.created[last]:
        return begun, skims.completed[last], "end"
    return begun, skims.created[last], "beginning"


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


def _assemble(session: Session, totals: tuple[str, ...], picks: Sequence[Pick]) -> Outline:
    entries, before = [], -1
    for pick in sorted(picks, key=lambda pick: pick.index):
        entries.append(_entry(session, pick, gap_between(session, before, pick.index, "not listed")))
        before = pick.index
    outline = Outline(
        totals=totals,
        title=one_line(session.about.title, _TITLE),
        entries=tuple(entries),
        gap=gap_between(session, before, len(session), "not listed"),
        length=0,
    )
    return outline.model_copy(update={"length": count_tokens(outline.printed(ANY_KEY))})


def _entry(session: Session, pick: Pick, gap: str) -> OutlineEntry:
    skims, index = session.skims, pick.index
    wording = word_entry(session, pick)
    return OutlineEntry(
        index=index,
        role=ROLES[skims.roles[index]],
        kind=KINDS[skims.kinds[index]],
        time=stamp(skims.created[index]),
        text=wording.text,
        spoken=wording.spoken,
        omitted=wording.omitted,
        gap=gap,
        reached=pick.named(session),
        size=pick.size,
    )
