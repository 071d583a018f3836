"""What an essay may rest on: the messages of a session as searchable text, and what the record states of them.

A message is made ready when it is asked for and kept; nothing here reads a whole session unless a search for words that
stand nowhere near asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from narrator.citations import resolve
from narrator.context import Context
from narrator.draft import Draft
from narrator.excerpt import take_excerpt
from narrator.findings import diagnose
from narrator.report import Known, Said
from narrator.session import Role, Session


class Told(Struct, frozen=True):
    """One message as evidence."""

    index: int
    role: Role
    recorded: tuple[tuple[str, str], ...]
    """Stretches of recorded text: what each is (`PassageKind`) and the text."""
    record: tuple[str, ...]
    """What the record states of it, in the product's words."""


class Evidence:
    """Messages by their index, and statements about the session."""

    def __init__(
        self,
        read: Callable[[int], Told | None],
        *,
        count: int | None,
        names: Mapping[str, int] | None = None,
        shown: Iterable[int] | None = None,
        says: Iterable[str] = (),
        target: int | None = None,
    ) -> None:
        self._read = read
        self._kept: dict[int, Told | None] = {}
        self.count = count
        """Messages in the session; None when the draft does not tell."""
        self._names = dict(names or {})
        self.shown = None if shown is None else frozenset(shown)
        """Messages the writer saw; None when the essay was not written from such a choice."""
        self.says = tuple(says)
        """What the record states of the session as a whole."""
        self.target = target
        """The message the essay is about, where that is known."""

    def resolve(self, name: str) -> int | None:
        """Index that a citation's name (`12`, `msg_ab…`) stands for; None when it is no message of the session."""
        return resolve(name, self._names, self.count if self.count is not None else 10**9)

    def message(self, index: int) -> Told | None:
        """Message `index` as evidence; None when it is not in this evidence."""
        if index not in self._kept:
            self._kept[index] = self._read(index)
        return self._kept[index]

    def known(self, cited: Iterable[int]) -> Known:
        """What a draft keeps of this evidence beside the messages it cites."""
        told = [one for index in sorted(set(cited)) if (one := self.message(index)) is not None]
        return Known(
            messages=self.count or 0,
            shown=tuple(sorted(self.shown or ())),
            says=self.says,
            record=tuple(Said(index=one.index, says=one.record) for one in told),
        )

    def whole(self) -> Iterator[Told]:
        """Every message there is, in order; for a session that is all of it."""
        for index in range(self.count or 0):
            if (told := self.message(index)) is not None:
                yield told


def evidence_of_session(session: Session) -> Evidence:
    """The whole session, for an essay of which nobody knows what its writer saw."""
    return Evidence(lambda index: _told(session, index), count=len(session), names=session.positions)


def evidence_of_context(context: Context, session: Session, *, read: Iterable[int] = ()) -> Evidence:
    """What a writer was shown, what it read besides (`read`), and the whole session behind it."""
    return Evidence(
        lambda index: _told(session, index),
        count=len(session),
        names=session.positions,
        shown={*context.shown, *read},
        says=context.says,
        target=context.target.index,
    )


def evidence_of_draft(draft: Draft, session: Session | None = None) -> Evidence:
    """What a draft kept of what its writer saw, and, where it is at hand, the session."""
    kept = {message.index: message for message in draft.evidence}
    known = draft.check.known if draft.check is not None else None
    stated = {said.index: said.says for said in known.record} if known is not None else {}

    def read(index: int) -> Told | None:
        if session is not None:
            return _told(session, index)
        if (message := kept.get(index)) is None:
            return None
        stretches = re.split(r"(?m)^‹([^›\n]*)›$\n?", message.text)
        return Told(
            index, message.role, tuple(zip(stretches[1::2], stretches[2::2], strict=True)), stated.get(index, ())
        )

    return Evidence(
        read,
        count=len(session) if session is not None else known.messages if known is not None else None,
        names=session.positions if session is not None else {},
        shown=known.shown if known is not None else None,
        says=known.says if known is not None else (),
        target=draft.target.index,
    )


def _told(session: Session, index: int) -> Told | None:
    if not 0 <= index < len(session):
        return None
    excerpt = take_excerpt(session, index)
    record = (excerpt.states(), *(finding.says for finding in diagnose(session, index)))
    return Told(index, excerpt.role, tuple((p.kind, p.text) for p in excerpt.passages), record)
