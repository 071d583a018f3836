"""One message as a writer and a reader may see it: what the record states of it, and its text, whole or shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from narrator.clock import iso, span, stamp
from narrator.findings import Finding
from narrator.passages import Passage, passages_of
from narrator.record import Record
from narrator.repeats import leave_out_repeats
from narrator.sanitize import one_line, shorten
from narrator.session import Message, Role, Session, Text
from narrator.skims import KINDS
from narrator.tokens import count_tokens

__all__ = ["ANY_KEY", "CHARACTERS_A_TOKEN", "KEY_DIGITS", "Excerpt", "Passage", "abridge", "take_excerpt"]

CHARACTERS_A_TOKEN = 5.5
"""As many as there are in dense prose: a token limit becomes a character limit with it, too high rather than too low,
and what comes out is counted and shortened again until it fits."""
_EXACT, _SURELY = 2000, 1.3
"""Tokens of a limit from which on what may fit is counted whole; below, how far over it an estimate must be."""
_SAMPLED, _SAMPLE = 2, 150
"""Texts of which a sample is taken, and characters at either end of each."""
KEY_DIGITS = 8
"""Decimal digits of the session's hash that mark our lines in a prompt."""
ANY_KEY = "0" * KEY_DIGITS
"""Stands for the key where tokens are counted: all keys have as many."""
_LEAST = 100
"""Characters below which a shortened passage is not worth its label."""
_MOST_LABELS, _MARK = 8, 14
"""Labels that count before a text is shortened to its limit, and tokens of what stands in one beside its words, and of
the mark where something is left out."""
_LABEL = 20
"""Characters of text that a label takes the place of."""
_OPENING = 160
"""Characters of an output's first line that are shown in any case: it says what the output is."""
_BODY = "\0"
"""Stands for the recorded text of a message in what is printed round it; no recorded text holds it."""
_SECTION = re.compile(r"(?m)^(?=## )")
_MOST_SECTIONS, _LEAST_A_SECTION = 12, 50
"""Sections, and characters for each, with which a text under headings is still shortened section by section."""


class Excerpt(Record):
    """A message of the session as it is shown."""

    index: int
    id: str
    role: Role
    kind: str
    """What sort of turn it is (`session.Skim.kind`)."""
    created: int | None
    """Milliseconds since 1970; so is `completed`."""
    completed: int | None
    finish: str | None
    parent: int | None
    """Index of the user message it answers."""
    by_user: bool
    """The user ran a command inside the session: stored as the assistant's, but no model was asked."""
    during: int | None
    """Index of the message before it, if that one was still running when this one was sent by the user."""
    model: str | None
    calls: int
    """Tool calls in it."""
    tokens: dict[str, int]
    """As the provider counted them; empty where none are recorded."""
    passages: tuple[Passage, ...]
    omitted: int = 0
    """Characters of the message left out, in all passages."""
    why: str = ""
    """Of a message from far away, why it is shown, in the product's words: `msg 12 answers it`."""

    @property
    def time(self) -> str | None:
        """When it began, ISO 8601."""
        return iso(self.created)

    @property
    def text(self) -> str:
        """All passages under their labels."""
        return "\n".join(f"‹{p.label}›" + (f"\n{p.text}" if p.text else "") for p in self.passages)

    @property
    def quotable(self) -> str:
        """The first thing it says or does, for a quotation: its text, else a call's input, else its reasoning."""
        for kind in ("text", "input", "reasoning", "synthetic"):
            for passage in self.passages:
                if passage.kind == kind and passage.text.strip():
                    value = passage.subject[1] or passage.text
                    return f"{passage.tool}: {value}" if passage.tool else value
        return f"[{self.passages[0].label}]" if self.passages else "[empty]"

    def printed(self, findings: Sequence[Finding], key: str) -> str:
        """As `prompts/_shared/message.md.j2` prints it, for counting (`tests/test_prompt.py` compares the two)."""
        return self.framed(findings, key).replace(_BODY, self.body(key), 1)

    def framed(self, findings: Sequence[Finding], key: str) -> str:
        """What is printed round its recorded text, which stands where `_BODY` is."""
        lines = [f"[msg {self.index}] {self.role}", f"record: {self.states()}"]
        lines += [f"record: {finding.kind}: {finding.says}" for finding in findings]
        lines += [f"record: shown because {self.why}"] if self.why else []
        if self.passages:
            lines += [f"<conversation_data {key}>", _BODY, f"</conversation_data {key}>"]
        else:
            lines.append("record: this message holds no text, no tool call and no other part")
        return "\n".join(lines) + "\n"

    def body(self, key: str) -> str:
        """Its recorded text under labels."""
        return _body(self.passages, key)

    def states(self) -> str:
        """What the record states of it beside its findings, in the product's words, on one line."""
        facts = [self._when(), self._ended(), self._counted()]
        if self.parent is not None:
            facts.append(f"answers msg {self.parent}")
        if self.during is not None:
            facts.append(f"sent while msg {self.during} was still running")
        if self.by_user:
            facts.append("the user ran this command, no model was asked")
        return "; ".join(fact for fact in facts if fact)

    def _ended(self) -> str | None:
        return f"finish {one_line(self.finish or 'none', 60)}" if self.role == "assistant" else None

    def _when(self) -> str:
        begun = stamp(self.created)
        if begun is None or self.created is None:
            return "no time recorded"
        if self.role == "user":
            return f"{'sent' if self.kind == 'typed' else 'stamped'} {begun}"
        if self.completed is None:
            return f"began {begun}, no end recorded"
        return f"began {begun}, took {span(max(0, self.completed - self.created))}"

    def _counted(self) -> str | None:
        if not self.tokens:
            return None
        if not any(self.tokens.values()):
            return "no tokens counted"
        cached = {name: count for name in ("read from cache", "written to cache") if (count := self.tokens[name])}
        whole = f"tokens in {self.tokens['in'] + sum(cached.values()):,}"
        if cached:
            whole += f" ({', '.join(f'{count:,} {name}' for name, count in cached.items())})"
        thought = f", reasoning {self.tokens['reasoning']:,}" if self.tokens["reasoning"] else ""
        return f"{whole}, out {self.tokens['out']:,}{thought}"


def take_excerpt(
    session: Session, index: int, *, limit: int | None = None, shown: Mapping[str, int] | None = None, why: str = ""
) -> Excerpt:
    """Message `index` whole, or with its text and labels in at most about `limit` tokens.

    Args:
        session: The session.
        index: The message's place in it.
        limit: Estimated tokens.
        shown: Lines of outputs that are shown already (`repeats.lines_shown`), of which few are shown again.
        why: Why it is shown, where that is to be said.
    """
    message, skims = session.message(index), session.skims
    parent = skims.parents[index]
    passages, omitted = passages_of(message, session), 0
    if shown:
        passages, omitted = leave_out_repeats(passages, index, shown)
    if limit is not None:
        passages, left_out = _fit(passages, limit)
        omitted += left_out
    tokens = message.tokens
    named = {
        "in": tokens.input,
        "read from cache": tokens.cache_read,
        "written to cache": tokens.cache_write,
        "out": tokens.output,
        "reasoning": tokens.reasoning,
    } if tokens else {}  # fmt: skip
    return Excerpt(
        index=index,
        id=message.id,
        role=message.role,
        kind=KINDS[skims.kinds[index]],
        created=message.created,
        completed=message.completed,
        finish=message.finish,
        parent=None if parent < 0 else parent,
        by_user=_by_user(session, message),
        during=_running(session, index),
        model=message.model,
        calls=len(session.calls.of(index)),
        tokens=named,
        passages=passages,
        omitted=omitted,
        why=why,
    )


_RUN_BY_USER = "The following tool was executed by the user"
"""What opencode puts before a command that the user ran with `!`; seen in 1.18.33."""


def _by_user(session: Session, message: Message) -> bool:
    """Whether no model call began and the message before it says that the user ran what follows."""
    skims = session.skims
    asked = skims.parents[message.index]
    if message.called or message.role != "assistant" or asked < 0 or KINDS[skims.kinds[asked]] != "synthetic":
        return False
    return any(isinstance(block, Text) and block.text == _RUN_BY_USER for block in session.message(asked).blocks)


def _running(session: Session, index: int) -> int | None:
    """The message before a user's turn, if it had begun and not ended when the turn was sent: by time, not by place."""
    if not index or KINDS[session.skims.kinds[index]] != "typed":
        return None
    own, before = session.skims[index], session.skims[index - 1]
    times = (before.created, own.created, before.completed)
    if times[0] is None or times[1] is None or times[2] is None:
        return None
    return before.index if times[0] < times[1] < times[2] else None


def _body(passages: Sequence[Passage], key: str) -> str:
    labelled = (f"[{key} {passage.label}]" + (f"\n{passage.text}" if passage.text else "") for passage in passages)
    return "\n".join(labelled)


def _length(passages: Sequence[Passage]) -> int:
    """Tokens of the passages under their labels."""
    return count_tokens(_body(passages, ANY_KEY))


def _fit(passages: tuple[Passage, ...], limit: int) -> tuple[tuple[Passage, ...], int]:
    """The passages in at most `limit` tokens, as far as that can be had, and the characters left out.

    Counting costs more than all else here. So what has more than forty characters a token is not counted whole, nor
    under a small limit what a sample of it says to be far too long; and the sample says how much to keep.
    """
    total = sum(len(passage.text) for passage in passages)
    density = _density(passages) if total > limit else 1.0
    whole = total <= 40 * limit if limit >= _EXACT else total * density <= _SURELY * limit
    if whole and _length(passages) <= limit:
        return passages, 0
    labels = passages[:_MOST_LABELS]
    fixed = min(limit // 2, _MARK * len(labels) + sum(len(passage.label) for passage in labels) // 4)
    characters = min(total, int((limit - fixed) / density))
    while True:
        shown, omitted = _shorten(passages, max(_LEAST, characters))
        length = _length(shown)
        if length <= limit or characters <= _LEAST:
            return shown, omitted
        characters = int(characters * (limit - fixed) / (length - fixed) * 0.95)


def _density(passages: Sequence[Passage]) -> float:
    """Tokens a character, in both ends of the longest texts: what is kept of them when they are shortened."""
    longest = sorted(passages, key=lambda passage: -len(passage.text))[:_SAMPLED]
    sample = "\n".join(passage.text[:_SAMPLE] + passage.text[-_SAMPLE:] for passage in longest)
    return max(count_tokens(sample) / len(sample), 1 / 40)


def _shorten(passages: Sequence[Passage], limit: int) -> tuple[tuple[Passage, ...], int]:
    """Share `limit` characters fairly: short passages stay whole, long ones split what remains."""
    typical = sum(len(passage.text) for passage in passages) // len(passages) + _LABEL
    kept, omitted = _thin(passages, max(4, limit // min(_LEAST, typical)))
    shown = []
    for passage, share in zip(kept, _shares([len(passage.text) for passage in kept], limit, _LEAST), strict=True):
        text, left_out = _cut(passage, share)
        omitted += left_out
        shown.append(passage.model_copy(update={"text": text, "omitted": passage.omitted + left_out}) if left_out else passage)
    return tuple(shown), omitted


def _cut(passage: Passage, limit: int) -> tuple[str, int]:
    """A passage's text in about `limit` characters, and how many were left out."""
    text = passage.text
    if len(text) <= limit:
        return text, 0
    if passage.kind == "input":  # the argument that says most stands first
        return shorten(text, limit, head=1)
    lead = len(text) - len(text.lstrip())
    opening = min(lead, _OPENING) + min(_OPENING, len(text[lead : lead + _OPENING].split("\n")[0]) + 1)
    if passage.kind != "output" or opening <= 0.6 * limit:
        return abridge(text, limit)
    room = max(limit, opening + _LEAST)
    return shorten(text, room, head=opening / (room - 2))


def _shares(lengths: Sequence[int], limit: int, least: int) -> list[int]:
    """Characters for each of several texts of the given lengths, `least` at least."""
    shares: dict[int, int] = {}
    remaining = limit
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        shares[place] = min(lengths[place], max(least, remaining // (len(lengths) - len(shares))))
        remaining = max(0, remaining - shares[place])
    return [shares[place] for place in range(len(lengths))]


def abridge(text: str, limit: int) -> tuple[str, int]:
    """About `limit` characters of a text, and how many were left out.

    Head and tail (`sanitize.shorten`); of a text under headings, as a compaction summary is, those of every section:
    its goal stands at the beginning, what was reached near the end.
    """
    if len(text) <= limit or text.count("\n## ") < 2:
        return shorten(text, limit)
    sections = _SECTION.split(text)
    if not 3 <= len(sections) <= min(_MOST_SECTIONS, limit // _LEAST_A_SECTION):
        return shorten(text, limit)
    shares = _shares([len(section) for section in sections], limit, 0)
    pieces = [shorten(section, share) for section, share in zip(sections, shares, strict=True)]
    return "".join(piece for piece, _ in pieces), sum(left_out for _, left_out in pieces)


def _thin(passages: Sequence[Passage], most: int) -> tuple[list[Passage], int]:
    """Keep the first two thirds of `most` and the last third; a counted mark stands for the rest."""
    if len(passages) <= most:
        return list(passages), 0
    tail = most // 3
    head, rest, last = passages[: most - tail], passages[most - tail : len(passages) - tail], passages[-tail:]
    characters = sum(len(passage.text) for passage in rest)
    mark = Passage(kind="left-out", label=f"{len(rest)} parts ({characters:,} characters) left out", text="", at="")
    return [*head, mark, *last], characters
