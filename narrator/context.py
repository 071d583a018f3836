"""What a writer may see for one target: outline, window, findings, and a count of what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from narrator.clock import iso, pause
from narrator.errors import UsageError
from narrator.excerpt import Excerpt, join_excerpts
from narrator.findings import Finding, diagnose_all, says_nothing
from narrator.outline import Outline, draw_outline, in_words
from narrator.passages import passages_of
from narrator.record import Record
from narrator.session import Role, Session, Text
from narrator.skims import KINDS, NONE
from narrator.tokens import count_tokens
from narrator.window import DEFAULT_BUDGET, LEAST_BUDGET, Reach, choose_window, find_gaps

__all__ = [
    "DEFAULT_BUDGET",
    "LEAST_BUDGET",
    "Context",
    "Omitted",
    "Reach",
    "SessionRef",
    "TargetRef",
    "add_read",
    "as_json",
    "find_target",
    "take_context",
]

_HEADINGS, _EDGE = 70, 14
"""Tokens of the headings round window and target and of the lines on the target's place, and of one on an end."""


class SessionRef(Record):
    """The session an essay is about."""

    format: str
    id: str
    title: str
    file: str
    """Name of the file it was read from, without its folder."""
    sha256: str


class TargetRef(Record):
    """The message an essay is about."""

    index: int
    id: str
    role: Role


class Omitted(Record):
    """What of the session is not shown."""

    messages: int
    """Messages neither in the window nor in the outline."""
    characters: int
    """Left out: the stored JSON of messages that are not shown, and of those that are, the text that is not."""


class Context(Record):
    """Everything a writer may see, and may cite."""

    session: SessionRef
    created: str | None
    """When the session began, ISO 8601."""
    begun: int | None
    """When its first message began, milliseconds since 1970."""
    ended: int | None
    """When its last message began."""
    count: int
    """Messages in the session."""
    target: TargetRef
    earlier: dict[str, int]
    """How many messages of each kind (`session.Skim.kind`) come before the target."""
    later: dict[str, int]
    """How many come after it."""
    latest: dict[str, int]
    """Index of the last message of each kind before the target."""
    window: tuple[Excerpt, ...]
    """In order, the target among them."""
    gaps: dict[int, str]
    """Index of a message of the window → what lies between it and the one before it there, counted by kind."""
    rest: str
    """What lies after the window; "" when nothing does."""
    timing: tuple[str, ...]
    """When the target began and ended against its neighbours, in the product's words."""
    outline: Outline
    findings: tuple[Finding, ...]
    """Of every message in the window, in order."""
    tokens: int
    """Estimated tokens of target and window, with all that is said of them."""
    omitted: Omitted
    redacted: dict[str, int]
    notices: tuple[str, ...]
    """What had to be stepped over, one sentence each: nothing is dropped silently."""

    @property
    def centre(self) -> Excerpt:
        """The target's excerpt."""
        return next(excerpt for excerpt in self.window if excerpt.index == self.target.index)

    @property
    def shown(self) -> tuple[int, ...]:
        """Messages of which the writer sees something, or is told something by a finding, ascending."""
        told = {int(index) for finding in self.findings for index in re.findall(r"\(message (\d+)\)", finding.says)}
        return tuple(sorted({excerpt.index for excerpt in self.window} | set(self.outline.indices) | told))

    @property
    def says(self) -> tuple[str, ...]:
        """What the writer is told of the session and of the target's place in it, in the product's words."""
        marks = [*self.gaps.values(), self.rest, *(entry.gap for entry in self.outline.entries), self.outline.gap]
        place = f"before it: {in_words(self.earlier)}; after it: {in_words(self.later)}"
        marks += [*(excerpt.why for excerpt in self.window), *(entry.reached for entry in self.outline.entries)]
        return (*self.outline.totals, *self.timing, place, *(mark for mark in marks if mark))

    def of(self, index: int) -> tuple[Finding, ...]:
        """The findings of one message of the window."""
        return tuple(finding for finding in self.findings if finding.index == index)


def find_target(session: Session, wanted: str, option: str = "--msg") -> int:
    """Index of the message that `wanted` names: a 0-based index, a native id, or a unique prefix of one.

    `option` is where it was asked for, for the error.

    Raises:
        UsageError: nothing, or more than one message, has that name; says what is valid.
    """
    last = len(session) - 1
    if re.fullmatch(r"-?\d+", wanted):
        index = int(wanted) if len(wanted) < 12 else last + 1
        if 0 <= index <= last:
            return index
        raise UsageError(f"{option} {wanted}: out of range; the session has {last + 1} messages, valid is 0..{last}")
    if wanted in session.positions:
        return session.positions[wanted]
    found = sorted({index for id_, index in session.positions.items() if wanted and id_.startswith(wanted)})
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{session.skims[index].id} ({index})" for index in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise UsageError(f"{option} {wanted}: {len(found)} messages begin so: {listed}{more}")
    raise UsageError(f"{option} {wanted}: neither a number (0..{last}) nor the id of a message in this session")


def take_context(session: Session, target: int, reach: Reach | None = None, *, hashed: bool = True) -> Context:
    """What a writer may see for message `target`.

    `hashed=False` leaves the session's hash out, for who only looks: hashing a large file takes as long as reading it.

    Raises:
        UsageError: the budget is too small for the target or for `before` and `after`.
    """
    reach = reach or Reach()
    if reach.budget < LEAST_BUDGET:
        raise UsageError(f"--budget {reach.budget}: at least {LEAST_BUDGET} tokens are needed")
    outline = draw_outline(session)
    skims = session.skims
    earlier, later = skims.tally(0, target), skims.tally(target + 1)
    edges = (target == 0) + (target == len(session) - 1)
    timing = tuple(_timing(session, target))
    framed = count_tokens(f"{in_words(earlier)}{in_words(later)}") + _HEADINGS + _EDGE * edges
    framed += sum(count_tokens(f"record: {fact}\n") for fact in timing)
    chosen = choose_window(session, target, reach, reach.budget - framed)
    window = tuple(shown.excerpt for shown in chosen.shown)
    sizes = {shown.excerpt.index: shown.size for shown in chosen.shown}
    sizes |= {entry.index: entry.size for entry in outline.entries}
    left_out = session.stored - sum(sizes.values()) + sum(_left_out(session, window, outline, sizes).values())
    about, sha256 = session.about, session.sha256 if hashed else ""
    return Context(
        session=SessionRef(format=about.format, id=about.id, title=about.title, file=about.file, sha256=sha256),
        created=iso(about.created),
        begun=_recorded(skims.created[0]),
        ended=_recorded(skims.created[-1]),
        count=len(session),
        target=TargetRef(index=target, id=session.message(target).id, role=session.skims[target].role),
        earlier=earlier,
        later=later,
        latest={kind: last for kind in KINDS if (last := skims.last(kind, target)) is not None},
        window=window,
        gaps=chosen.gaps,
        rest=chosen.rest,
        timing=timing,
        outline=outline,
        findings=tuple(found for shown in chosen.shown for found in shown.findings),
        tokens=chosen.length + framed,
        omitted=Omitted(messages=len(session) - len(sizes), characters=left_out),
        redacted=session.redacted(),
        notices=(*session.notices, *_oddities(session, sizes)),
    )


def _left_out(
    session: Session, window: Iterable[Excerpt], outline: Outline, sizes: Mapping[int, int]
) -> dict[int, int]:
    """Message → characters of its text that are not shown: where it is shown twice, those that neither shows.

    Never more than it has bytes as stored, for which it counts when it is not shown at all.
    """
    left = {excerpt.index: min(excerpt.omitted, sizes[excerpt.index]) for excerpt in window}
    for entry in outline.entries:
        index = entry.index
        if left.get(index) != 0:
            whole = sum(len(passage.text) for passage in passages_of(session.message(index), session))
            of_entry = max(entry.omitted, whole - len(entry.text))
            left[index] = min(of_entry, left.get(index, of_entry), sizes[index])
    return left


def _recorded(time: int) -> int | None:
    return None if time == NONE else time


def add_read(context: Context, session: Session, read: Sequence[Excerpt]) -> Context:
    """The context together with what the writer looked up: it may cite that as well.

    The counts of tokens and of what was left out stay those of the prompt.
    """
    if not read:
        return context
    window = {excerpt.index: excerpt for excerpt in context.window}
    for excerpt in read:
        given = window.get(excerpt.index)
        window[excerpt.index] = join_excerpts(given, excerpt) if given else excerpt
    shown = sorted(window)
    gaps, rest = find_gaps(session, shown)
    findings = diagnose_all(session, shown)
    changed = {"window": tuple(window[index] for index in shown), "gaps": gaps, "rest": rest, "findings": findings}
    return context.model_copy(update=changed)


def _timing(session: Session, target: int) -> Iterator[str]:
    """How long before the target its predecessor ended, and how long after its end the next message began."""
    for index in range(max(1, target), min(target + 2, len(session))):
        begun, end = session.skims[index].created, session.skims[index - 1].completed
        if begun is not None and end is not None and begun >= end:
            word = "was sent" if session.skims[index].kind == "typed" else "began"
            tools = ", its tools included," if session.calls.of(index - 1) else ""
            yield f"msg {index} {word} {pause(begun - end)} after msg {index - 1}{tools} had ended"


def _oddities(session: Session, shown: Iterable[int]) -> list[str]:
    """One sentence for each kind of oddity in the messages that were read, with where it first stands."""
    places: dict[str, list[int]] = {}
    for index in sorted(shown):
        for oddity in session.message(index).oddities:
            places.setdefault(oddity, []).append(index)
    doubled = session.skims.doubled
    duplicate = [f"{doubled} duplicate message id(s); messages are named by their place"] if doubled else []
    return duplicate + [
        f"skipped {oddity}, in message {found[0]}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        for oddity, found in places.items()
    ]


def as_json(context: Context, whole: Session) -> dict[str, Any]:
    """The shape of `narrate show --msg N --json`; the target's text is what was said in it, not its calls."""
    session, centre = context.session, context.centre
    message = whole.message(centre.index)
    text = "\n".join(block.text for block in message.blocks if isinstance(block, Text))
    return {
        "session": {
            "format": session.format,
            "id": session.id,
            "title": session.title,
            "messages": context.count,
            "created": context.created,
        },
        "target": {
            "index": centre.index,
            "id": centre.id,
            "role": centre.role,
            "text": text,
            "empty": says_nothing(message),
            "time": centre.time,
            "findings": [finding.kind for finding in context.of(centre.index)],
        },
        "findings": [finding.model_dump(mode="json") for finding in context.findings],
        "window": [excerpt.index for excerpt in context.window],
        "outline": list(context.outline.indices),
        "tokens": context.tokens,
        "omitted": context.omitted.model_dump(mode="json"),
    }
