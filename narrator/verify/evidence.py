"""What an essay may rest on: the messages of a session as searchable text, and what the record states of them.

A message is made ready when it is asked for and kept; nothing here reads a whole session unless a search for words that
stand nowhere near asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property

from narrator.citations import resolve
from narrator.context import Context
from narrator.draft import Draft, EvidenceMessage
from narrator.excerpt import take_excerpt
from narrator.findings import Finding, diagnose
from narrator.outline import draw_outline, in_words
from narrator.passages import passages_of
from narrator.report import Known, Said, Statement
from narrator.session import Session, ToolCall
from narrator.verify.clauses import LONGEST_NUMBER
from narrator.verify.told import Stretch, Told

_LABELLED = re.compile(r"(?m)^‹([^›\n]*)›$\n?")
_KINDS = {name: name for name in ("text", "reasoning", "output", "error", "diff")} | {"call": "input"}


KEPT = 40_000_000
"""Characters of what a search of all read that are kept for the next search, of another essay on the same session."""


class Evidence:
    """Messages by their index, and statements about the session."""

    def __init__(
        self,
        read: Callable[[int], Told | None],
        *,
        count: int | None,
        names: Callable[[], Mapping[str, int]] = dict,
        kept: Iterable[int] | None = None,
        shown: Iterable[int] | None = None,
        says: Callable[[], tuple[str, ...]] = tuple,
        target: int | None = None,
        scan: Callable[[int], Told | None] | None = None,
        partial: bool = False,
        settled: Iterable[Statement] = (),
    ) -> None:
        self._read = read
        self._told: dict[int, Told | None] = {}
        self.count = count
        """Messages in the session; None when the draft does not tell."""
        self._names = names
        self._indices = None if kept is None else sorted(kept)
        self.shown = None if shown is None else frozenset(shown)
        """Messages the writer saw; None when the essay was not written from such a choice."""
        self._says = says
        self.target = target
        """The message the essay is about, where that is known."""
        self._scan = scan or read
        self._scanned: dict[int, Told] = {}
        self._room = KEPT
        self.partial = partial
        """It lacks what the record states of its messages: a draft that kept nothing of it."""
        self._settled = frozenset((one.sort, one.text, one.cites) for one in settled)

    def resolve(self, name: str) -> int | None:
        """Index that a citation's name (`12`, `msg_ab…`) stands for; None when it is no message of the session."""
        if name.isdecimal() and len(name) > LONGEST_NUMBER:
            return None
        names = {} if name.isdecimal() else self._names()
        return resolve(name, names, self.count if self.count is not None else 10**9)

    def message(self, index: int) -> Told | None:
        """Message `index` as evidence; None when it is not in this evidence."""
        if index not in self._told:
            self._told[index] = self._read(index)
        return self._told[index]

    def was_settled(self, statement: Statement) -> bool:
        """Whether the same words, tied to the same messages, held when all of the session was at hand."""
        return (statement.sort, statement.text, statement.cites) in self._settled

    @cached_property
    def session(self) -> Told:
        """What the record states of the session as a whole."""
        return Told(-1, "system", (), record=self._says(), named=self._says()[:1])

    def whole(self) -> Iterator[Told]:
        """Every message there is, in order, its text only; for a session that means reading all of it."""
        for index in self._indices if self._indices is not None else range(self.count or 0):
            told = self._told.get(index) or self._scanned.get(index)
            if told is None and (told := self._scan(index)) is not None and self._room > 0:
                self._scanned[index] = told
                self._room -= len(told.raw)
            if told is not None:
                yield told

    def known(self, cited: Iterable[int]) -> Known:
        """What a draft keeps of this evidence beside the messages it cites."""
        told = [one for index in sorted(set(cited)) if (one := self.message(index)) is not None]
        return Known(
            messages=self.count or 0,
            shown=tuple(sorted(self.shown or ())),
            says=self._says(),
            record=tuple(Said(index=one.index, says=one.record) for one in told),
        )


def evidence_of_session(session: Session, target: int | None = None) -> Evidence:
    """The whole session, for an essay of which nobody knows what its writer saw; `target` where it is known."""
    return Evidence(
        lambda index: _told(session, index),
        count=len(session),
        names=lambda: session.positions,
        says=lambda: _says(session),
        target=target,
        scan=lambda index: _text_of(session, index),
    )


def evidence_of_context(context: Context, session: Session, *, read: Iterable[int] = ()) -> Evidence:
    """What a writer was shown, what it read besides (`read`), and the whole session behind it."""
    return Evidence(
        lambda index: _told(session, index),
        count=len(session),
        names=lambda: session.positions,
        shown={*context.shown, *read},
        says=lambda: (session.about.title, *context.says),
        target=context.target.index,
        scan=lambda index: _text_of(session, index),
    )


def evidence_of_draft(draft: Draft, session: Session | None = None) -> Evidence:
    """What a draft kept of what its writer saw, and, where it is at hand, the session."""
    known = draft.check.known if draft.check is not None else None
    kept = {message.index: message for message in draft.evidence}
    says = (draft.session.title, *(known.says if known is not None else ()))
    shown = known.shown if known is not None else tuple(kept)
    if session is not None:
        return Evidence(
            lambda index: _told(session, index),
            count=len(session),
            names=lambda: session.positions,
            shown=shown,
            says=(lambda: says) if known is not None else (lambda: _says(session)),
            target=draft.target.index,
            scan=lambda index: _text_of(session, index),
        )
    stated = {said.index: said.says for said in known.record} if known is not None else {}
    return Evidence(
        lambda index: _kept(kept.get(index), stated.get(index, ()), draft.findings),
        count=known.messages if known is not None else None,
        kept=kept,
        shown=shown,
        says=lambda: says,
        target=draft.target.index,
        partial=known is None,
        settled=()
        if draft.check is None
        else (one for one in draft.check.statements if one.verdict in ("passed", "derived")),
    )


def _says(session: Session) -> tuple[str, ...]:
    about = session.about
    named = (about.title, about.id, about.directory or "", about.version or "")
    return (*named, *draw_outline(session).totals, f"a session of {len(session)} messages")


def _told(session: Session, index: int) -> Told | None:
    """A message of the session with all that is known of it."""
    if not 0 <= index < len(session):
        return None
    excerpt, message, findings = take_excerpt(session, index), session.message(index), diagnose(session, index)
    calls = [block for block in message.blocks if isinstance(block, ToolCall)]
    spans = [(excerpt.created, excerpt.completed), *((call.started, call.ended) for call in calls)]
    fault = [message.fault.name, message.fault.message] if message.fault is not None else []
    named = [excerpt.id, message.finish, message.model, message.agent, *fault, *(call.name for call in calls)]
    named += [change.file for change in message.changes]
    named += [str(item.value) for finding in findings for item in finding.evidence if isinstance(item.value, str)]
    labels = [passage.label for passage in excerpt.passages]
    counted = [f"{passage.lines} lines" for passage in excerpt.passages if passage.lines] + [
        f"{len(calls)} calls, {len(calls) - 1} further calls"
    ]
    counted += [f"{words.count(chr(10)) + 1} lines" for words in (p.subject[1] for p in excerpt.passages) if words]
    counted += [fact for passage in excerpt.passages for fact in passage.facts]
    if (tokens := message.tokens) is not None:
        cached = tokens.cache_read + tokens.cache_write
        counted.append(f"{tokens.input} new and {cached} cached tokens in, {tokens.output} out, {tokens.sent} in all")
    place = _place(session, index) if "compaction" in session.skims[index].kind else ""
    return Told(
        index,
        excerpt.role,
        tuple(Stretch(passage.kind, passage.text) for passage in excerpt.passages if passage.text),
        record=(excerpt.states(), *(finding.says for finding in findings), *labels, *counted, place),
        named=tuple(word for word in named if word),
        kinds=tuple(finding.kind for finding in findings),
        times=tuple((begun, begun if ended is None else ended) for begun, ended in spans if begun is not None),
        by_user=excerpt.by_user,
    )


def _place(session: Session, index: int) -> str:
    """How many compactions there were up to a message of one."""
    seen = session.skims.tally(0, index + 1).items()
    return in_words({kind: count for kind, count in seen if kind.startswith("compaction")})


def _text_of(session: Session, index: int) -> Told:
    """A message of the session, its text only: what a search of all of it reads."""
    message = session.message(index)
    passages = passages_of(message, session)
    return Told(index, message.role, tuple(Stretch(one.kind, one.text) for one in passages if one.text))


def _kept(message: EvidenceMessage | None, says: tuple[str, ...], findings: tuple[Finding, ...]) -> Told | None:
    """A message as a draft keeps it."""
    if message is None:
        return None
    parts = _LABELLED.split(message.text)
    stretches = [Stretch(_kind(label), text.strip("\n")) for label, text in zip(parts[1::2], parts[2::2], strict=True)]
    own = [finding for finding in findings if finding.index == message.index]
    labels = [label for label in parts[1::2] if label]
    values = [str(item.value) for finding in own for item in finding.evidence if isinstance(item.value, str)]
    begun = [round(datetime.fromisoformat(message.time).timestamp() * 1000)] if message.time is not None else []
    return Told(
        message.index,
        message.role,
        tuple(stretch for stretch in stretches if stretch.text),
        record=(message.time or "", *says, *(finding.says for finding in own), *labels),
        named=(*values, *(label.partition(" ")[0] for label in labels)),
        kinds=tuple(finding.kind for finding in own),
        times=tuple((time, time) for time in begun),
    )


def _kind(label: str) -> str:
    """What a stretch is, from the label it stands under in a draft."""
    if label.startswith("text put in"):
        return "synthetic"
    words = label.split(",", maxsplit=1)[0].split()
    return next((_KINDS[word] for word in reversed(words) if word in _KINDS), "text")
