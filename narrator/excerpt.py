"""One message as a writer and a reader may see it: what the record states of it, and its text, whole or shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from narrator.changes import tell_lines
from narrator.clock import iso, span, stamp
from narrator.findings import Finding, call_during, running_when_sent, sent_meanwhile
from narrator.passages import Passage, passages_of
from narrator.record import Record
from narrator.repeats import leave_out_repeats
from narrator.sanitize import one_line
from narrator.session import Message, Role, Session, Text
from narrator.shortening import fit_passages, label_passages
from narrator.skims import KINDS

_BODY = "\0"
"""Stands for the recorded text of a message in what is printed round it; no recorded text holds it."""
_MOST_FILES, _NAME = 3, 80
"""Changed files that are listed, and characters of their names."""
_MOST_TURNS = 4
"""Turns sent meanwhile that are listed."""


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
    changed: str
    """Files that its own record says were changed, in the product's words; "" for none."""
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
        return label_passages(self.passages, key)

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
        if self.changed:
            facts.append(f"files changed {'in its turn' if self.role == 'user' else 'in it'}: {self.changed}")
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
    running = running_when_sent(session, index)
    waited = None if running is None else call_during(session, running, skims.created[index])
    passages, omitted = passages_of(message, session), 0
    if shown:
        passages, omitted = leave_out_repeats(passages, index, shown)
    if limit is not None:
        passages, left_out = fit_passages(passages, limit)
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
        during=running,
        meanwhile=sent_meanwhile(session, index),
        during_call=one_line(waited.name, 60) if waited else None,
        model=message.model,
        cost=message.cost,
        calls=len(session.calls.of(index)),
        tokens=named,
        changed=_changed(message),
        passages=passages,
        omitted=omitted,
        why=why,
    )


def _changed(message: Message) -> str:
    """Files that a message's own record says were changed, with the lines added and removed where they are counted."""
    listed = []
    for change in message.changes[:_MOST_FILES]:
        lines = tell_lines(change)
        listed.append(one_line(change.file, _NAME) + (f" ({lines})" if lines else ""))
    more = len(message.changes) - _MOST_FILES
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def join_excerpts(one: Excerpt, other: Excerpt) -> Excerpt:
    """Two excerpts of one message as one: the fuller, and of the other what does not stand in it."""
    full, less = sorted((one, other), key=lambda excerpt: excerpt.omitted)
    text = "\n".join(passage.text for passage in full.passages)
    more = [p for p in less.passages if any(line not in text for line in p.text.split("\n") if line[:2] != "[…")]
    return full.model_copy(update={"passages": (*full.passages, *more)}) if more else full


_RUN_BY_USER = "The following tool was executed by the user"
"""What opencode puts before a command that the user ran with `!`; seen in 1.18.33."""


def _by_user(session: Session, message: Message) -> bool:
    """Whether no model call began and the message before it says that the user ran what follows."""
    skims = session.skims
    asked = skims.parents[message.index]
    if message.called or message.role != "assistant" or asked < 0 or KINDS[skims.kinds[asked]] != "synthetic":
        return False
    return any(isinstance(block, Text) and block.text == _RUN_BY_USER for block in session.message(asked).blocks)
