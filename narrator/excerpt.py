"""One message as a writer and a reader may see it: what the record states of it, and its text, whole or shortened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.clock import iso, span, stamp
from narrator.findings import Finding, call_during, running_when_sent, sent_meanwhile
from narrator.passages import Passage, passages_of
from narrator.record import Record
from narrator.sanitize import one_line, shorten
from narrator.session import Message, Role, Session, Text
from narrator.tokens import count_tokens

__all__ = ["ANY_KEY", "CHARACTERS_A_TOKEN", "KEY_DIGITS", "Excerpt", "Passage", "abridge", "take_excerpt"]

CHARACTERS_A_TOKEN = 5.5
"""As many as there are in dense prose: a token limit becomes a character limit with it, too high rather than too low,
and what comes out is counted and shortened again until it fits."""
KEY_DIGITS = 8
"""Decimal digits of the session's hash that mark our lines in a prompt."""
ANY_KEY = "0" * KEY_DIGITS
"""Stands for the key where tokens are counted: all keys have as many."""
_LEAST = 100
"""Characters below which a shortened passage is not worth its label."""
_LABEL = 20
"""Characters of text that a label takes the place of."""
_OPENING = 160
"""Characters of an output's first line that are shown in any case: it says what the output is."""
_SECTION = re.compile(r"(?m)^(?=## )")
_MOST_TURNS = 4
"""Turns sent meanwhile that are listed."""
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
    """Index of the message that was still running when the user sent this one: by time, not by place."""
    during_call: str | None
    """The tool whose call in that message was running then, where its times are recorded."""
    meanwhile: tuple[int, ...]
    """Indices of the turns that the user sent while this one was running."""
    model: str | None
    cost: float | None
    """Dollars, as the agent reckoned them."""
    calls: int
    """Tool calls in it."""
    tokens: dict[str, int]
    """As the provider counted them; empty where none are recorded."""
    passages: tuple[Passage, ...]
    omitted: int = 0
    """Characters of the message left out, in all passages."""

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
        lines = [f"[msg {self.index}] {self.role}", f"record: {self.states()}"]
        lines += [f"record: {finding.kind}: {finding.says}" for finding in findings]
        if self.passages:
            lines += [f"<conversation_data {key}>", _body(self.passages, key), f"</conversation_data {key}>"]
        else:
            lines.append("record: this message holds no text, no tool call and no other part")
        return "\n".join(lines) + "\n"

    def states(self) -> str:
        """What the record states of it beside its findings, in the product's words, on one line."""
        facts = [self._when(), self._ended(), self._counted()]
        if self.parent is not None:
            facts.append(f"answers msg {self.parent}")
        if self.during is not None:
            called = f", during its {self.during_call} call" if self.during_call else ""
            facts.append(f"sent while msg {self.during} was still running{called}")
        if self.meanwhile:
            listed = ", ".join(map(str, self.meanwhile[:_MOST_TURNS]))
            more = len(self.meanwhile) - _MOST_TURNS
            facts.append(f"meanwhile the user sent msg {listed}" + (f" and {more} more" if more > 0 else ""))
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
            return "no tokens counted" + (", cost 0" if self.cost == 0 else "")
        cached = {name: count for name in ("read from cache", "written to cache") if (count := self.tokens[name])}
        whole = f"tokens in {self.tokens['in'] + sum(cached.values()):,}"
        if cached:
            whole += f" ({', '.join(f'{count:,} {name}' for name, count in cached.items())})"
        thought = f", reasoning {self.tokens['reasoning']:,}" if self.tokens["reasoning"] else ""
        return f"{whole}, out {self.tokens['out']:,}{thought}"


def take_excerpt(session: Session, index: int, *, limit: int | None = None) -> Excerpt:
    """Message `index` whole, or with its text and labels in at most about `limit` tokens."""
    message, skim = session.message(index), session.skims[index]
    running = running_when_sent(session, index)
    waited = None if running is None else call_during(session, running, skim.created or 0)
    passages, omitted = passages_of(message, session), 0
    if limit is not None and not _fits(passages, limit):
        passages, omitted = _fit(passages, limit)
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
        kind=skim.kind,
        created=message.created,
        completed=message.completed,
        finish=message.finish,
        parent=skim.parent,
        by_user=_by_user(session, message),
        during=running,
        meanwhile=sent_meanwhile(session, index),
        during_call=one_line(waited.name, 60) if waited else None,
        model=message.model,
        cost=message.cost,
        calls=skim.calls,
        tokens=named,
        passages=passages,
        omitted=omitted,
    )


_RUN_BY_USER = "The following tool was executed by the user"
"""What opencode puts before a command that the user ran with `!`; seen in 1.18.33."""


def _by_user(session: Session, message: Message) -> bool:
    """Whether no model call began and the message before it says that the user ran what follows."""
    asked = session.skims[message.index].parent
    if message.called or message.role != "assistant" or asked is None or session.skims[asked].kind != "synthetic":
        return False
    return any(isinstance(block, Text) and block.text == _RUN_BY_USER for block in session.message(asked).blocks)


def _body(passages: Sequence[Passage], key: str) -> str:
    labelled = (f"[{key} {passage.label}]" + (f"\n{passage.text}" if passage.text else "") for passage in passages)
    return "\n".join(labelled)


def _length(passages: Sequence[Passage]) -> int:
    """Tokens of the passages under their labels."""
    return count_tokens(_body(passages, ANY_KEY))


def _fits(passages: Sequence[Passage], limit: int) -> bool:
    """Whether they take at most `limit` tokens; what has more than forty characters a token is not even counted."""
    return sum(len(passage.text) for passage in passages) <= 40 * limit and _length(passages) <= limit


def _fit(passages: Sequence[Passage], limit: int) -> tuple[tuple[Passage, ...], int]:
    """The passages in at most `limit` tokens, as far as that can be had, and the characters left out."""
    characters = int(limit * CHARACTERS_A_TOKEN)
    while True:
        shown, omitted = _shorten(passages, max(_LEAST, characters))
        length = _length(shown)
        if length <= limit or characters <= _LEAST:
            return shown, omitted
        characters = int(characters * limit / length * 0.97)


def _shorten(passages: Sequence[Passage], limit: int) -> tuple[tuple[Passage, ...], int]:
    """Share `limit` characters fairly: short passages stay whole, long ones split what remains."""
    typical = sum(len(passage.text) for passage in passages) // len(passages) + _LABEL
    kept, omitted = _thin(passages, max(4, limit // min(_LEAST, typical)))
    shown = []
    for passage, share in zip(kept, _shares([len(passage.text) for passage in kept], limit, _LEAST), strict=True):
        text, left_out = _cut(passage, share)
        omitted += left_out
        shown.append(passage.model_copy(update={"text": text, "omitted": left_out}) if left_out else passage)
    return tuple(shown), omitted


def _cut(passage: Passage, limit: int) -> tuple[str, int]:
    """A passage's text in about `limit` characters, and how many were left out."""
    text = passage.text
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
    sections = _SECTION.split(text)
    if len(text) <= limit or not 3 <= len(sections) <= min(_MOST_SECTIONS, limit // _LEAST_A_SECTION):
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
