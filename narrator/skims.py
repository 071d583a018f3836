"""The little that is known of every message and tool call without decoding them, kept as columns.

A session has tens of thousands of messages, and much that is said of it (how many of a kind lie in between, when the
last one was typed, where the same command was run again) looks at all of them: so each fact is one array over all
messages, searched by methods that the interpreter has in C, and an object is made only of the message asked about.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias, overload

import msgspec
from msgspec import Struct

from narrator.codes import Models, Subjects, Words

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
TurnKind: TypeAlias = Literal["typed", "synthetic", "compaction-request", "compaction-summary", "answer"]
"""`typed`: a person's turn; `answer`: one model call; the rest is the harness's."""

ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")
KINDS: tuple[TurnKind, ...] = ("typed", "synthetic", "compaction-request", "compaction-summary", "answer")
"""A code in a column is a place in these."""
NONE = -(1 << 62)
"""Stands in a column of times or counts where none is recorded; no recorded number is near it."""

OK, FAILED, OPEN = 0, 1, 2
"""How a call came out: completed, with exit code 0 where it has one; an error or another code; with no end known."""
COMMIT, LIST, LIST_DONE = 1, 2, 4
"""Bits of `Calls.steps`: the command commits to git; the call writes a list of things to do; they are all done."""


class Skim(Struct, frozen=True, kw_only=True, gc=False):
    """What is known of one message without decoding it (plain values only, which no cycle can hold)."""

    index: int
    id: str
    role: Role
    kind: TurnKind
    created: int | None = None
    """Milliseconds since 1970, UTC; so is `completed`, None when no end was recorded."""
    completed: int | None = None
    parent: int | None = None
    """Index of the user message it answers."""
    model: str | None = None
    """`provider/model`."""
    calls: int = 0
    """Tool calls in it."""
    finish: str | None = None
    """How it ended: the name of its error, else the model's reason to stop, where one is stored with the message."""
    sent: int | None = None
    """Tokens that went in, cached ones included."""
    said: int = 0
    """Bytes, as stored, of what a person typed in it."""


class Calls:
    """Every tool call of a session, in order; a call is named by its number there."""

    def __init__(self, counts: array[int], subjects: array[int], outcomes: bytes, steps: bytes) -> None:
        self._starts = array("i", accumulate(counts, initial=0))
        self.subjects = subjects
        """`array('I')`: the number of the shell command or the path of the file; 0 for a call with neither."""
        self.outcomes = outcomes
        """`OK`, `FAILED` or `OPEN`."""
        self.steps = steps
        """Bits: `COMMIT`, `LIST`, `LIST_DONE`."""

    def __len__(self) -> int:
        return len(self.subjects)

    def of(self, index: int) -> range:
        """Numbers of the calls in message `index`."""
        return range(self._starts[index], self._starts[index + 1])

    def message_of(self, number: int) -> int:
        """Index of the message that holds call `number`."""
        return bisect_right(self._starts, number) - 1

    @cached_property
    def messages(self) -> array[int]:
        """`array('i')`: for every call the index of its message."""
        starts = self._starts
        return array("i", [index for index in range(len(starts) - 1) for _ in range(starts[index], starts[index + 1])])

    def same(self, number: int) -> list[int]:
        """Numbers of all calls of the session with the same subject, `number` itself too; none without a subject."""
        return self.with_subject(self.subjects[number])

    def with_subject(self, subject: int) -> list[int]:
        """Numbers of all calls with this subject; none for 0."""
        found, place = [], -1
        try:
            while subject:
                place = self.subjects.index(subject, place + 1)
                found.append(place)
        except ValueError:
            pass
        return found


class Columns:
    """The columns of a session's skims, while they are filled and when they are whole."""

    def __init__(self) -> None:
        self.kinds, self.roles = bytearray(), bytearray()
        self.created, self.completed, self.sent = array("q"), array("q"), array("q")
        self.models, self.finishes = array("i"), array("i")
        self.said, self.sayings, self.calls = array("i"), array("I"), array("i")
        self.subjects, self.outcomes, self.steps = array("I"), bytearray(), bytearray()
        self.words = Words()
        """Names of models and ends of messages → their code in `models` and `finishes`; None is 0."""
        self.subject_of = Subjects()
        """Commands and paths → their number, while they are gathered: numbers, since a checksum may be guessed back."""
        self.saying_of = Subjects()
        """Typed texts → their number, while they are gathered."""
        self.models_of = Models(self.words)
        """(provider, model) → the code of both; one without the other is none."""
        self.parents: list[str | None] = []
        """Native ids of parents, while they are gathered."""
        self.doubled = 0
        """Messages with the id of one before them."""
        self.stored_ids = b""
        """Ids as a JSON list, when they come from a shelf: most runs look at few of them, and many at none."""

    @cached_property
    def ids(self) -> list[str]:
        """Native ids as recorded."""
        return msgspec.json.decode(self.stored_ids, type=list[str]) if self.stored_ids else []

    def add(self, skim: Skim, parent: str | None, calls: Sequence[tuple[int, int, int]]) -> None:
        """Append one message, the native id of its parent, and (subject, outcome, steps) of its calls."""
        self.kinds.append(KINDS.index(skim.kind))
        self.roles.append(ROLES.index(skim.role))
        for column, value in ((self.created, skim.created), (self.completed, skim.completed), (self.sent, skim.sent)):
            column.append(NONE if value is None else value)
        self.models.append(self.words[skim.model])
        self.finishes.append(self.words[skim.finish])
        self.said.append(skim.said)
        self.sayings.append(0)
        self.calls.append(len(calls))
        for subject, outcome, steps in calls:
            self.subjects.append(subject)
            self.outcomes.append(outcome)
            self.steps.append(steps)
        self.ids.append(skim.id)
        self.parents.append(parent)

    def link(self) -> array[int]:
        """Indices of the parents, -1 for none; an id leads to the first message that has it."""
        places = dict(zip(reversed(self.ids), range(len(self.ids) - 1, -1, -1), strict=True))
        self.doubled = len(self.ids) - len(places)
        known = {parent: places.get(parent, -1) if parent else -1 for parent in set(self.parents)}
        linked = array("i", map(known.__getitem__, self.parents))
        self.parents, self.subject_of, self.saying_of = [], Subjects(), Subjects()
        return linked


class Ids:
    """Native ids, each made plain when it is looked at."""

    def __init__(self, columns: Columns, clean: Callable[[str], str]) -> None:
        self._columns, self._clean = columns, clean

    def __len__(self) -> int:
        return len(self._columns.kinds)

    def __getitem__(self, index: int) -> str:
        """One id."""
        return self._clean(self._columns.ids[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._clean, self._columns.ids)


class Skims(Sequence[Skim]):
    """The skims of a session, one a message."""

    def __init__(
        self,
        columns: Columns,
        parents: array[int],
        clean: Callable[[str], str] = str,
    ) -> None:
        self.kinds = bytes(columns.kinds)
        """A code a message, a place in `KINDS`."""
        self.roles = bytes(columns.roles)
        """A code a message, a place in `ROLES`."""
        self.created, self.completed, self.sent = columns.created, columns.completed, columns.sent
        """`array('q')`: milliseconds since 1970, and tokens that went in; `NONE` where none is recorded."""
        self.parents = parents
        """`array('i')`: index of the user message that a message answers, -1 for none."""
        self.said = columns.said
        """`array('i')`: bytes, as stored, of what a person typed in a message."""
        self.sayings = columns.sayings
        """`array('I')`: the number of what was typed in a message, the same for the same words; 0 for nothing."""
        self.models, self.finishes = columns.models, columns.finishes
        """`array('i')`: places in `words`."""
        self.words = tuple(word if word is None else clean(word) for word in columns.words)
        """Names of models and ends of messages; the first is None."""
        self.ids = Ids(columns, clean)
        """Native ids."""
        self._counts = columns.calls
        self.calls = Calls(columns.calls, columns.subjects, bytes(columns.outcomes), bytes(columns.steps))
        """Every tool call."""
        self.doubled = columns.doubled
        """How many messages have the id of one before them."""

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, index: int) -> Skim: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Skim, ...]: ...
    def __getitem__(self, index: int | slice) -> Skim | tuple[Skim, ...]:
        """One skim, or several."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = range(len(self))[index]
        parent = self.parents[place]
        return Skim(
            index=place,
            id=self.ids[place],
            role=ROLES[self.roles[place]],
            kind=KINDS[self.kinds[place]],
            created=_recorded(self.created[place]),
            completed=_recorded(self.completed[place]),
            parent=None if parent < 0 else parent,
            model=self.words[self.models[place]],
            calls=self._counts[place],
            finish=self.words[self.finishes[place]],
            sent=_recorded(self.sent[place]),
            said=self.said[place],
        )

    def __iter__(self) -> Iterator[Skim]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skims) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # compared by value, and large

    def places(self, kind: TurnKind) -> list[int]:
        """Indices of all messages of a kind."""
        found, place, code = [], -1, KINDS.index(kind)
        while (place := self.kinds.find(code, place + 1)) >= 0:
            found.append(place)
        return found

    def count(self, kind: TurnKind, start: int = 0, stop: int | None = None) -> int:
        """How many messages of a kind there are in `start <= index < stop`."""
        return self.kinds.count(KINDS.index(kind), start, len(self) if stop is None else stop)

    def tally(self, start: int = 0, stop: int | None = None) -> dict[str, int]:
        """Kind → how many there are in `start <= index < stop`, those that there are, in the order of `KINDS`."""
        return {kind: count for kind in KINDS if (count := self.count(kind, start, stop))}

    def last(self, kind: TurnKind, before: int) -> int | None:
        """Index of the last message of a kind before `before`."""
        return None if (place := self.kinds.rfind(KINDS.index(kind), 0, before)) < 0 else place

    def first(self, kind: TurnKind, after: int = -1) -> int | None:
        """Index of the first message of a kind after `after`."""
        return None if (place := self.kinds.find(KINDS.index(kind), after + 1)) < 0 else place


def _recorded(value: int) -> int | None:
    return None if value == NONE else value
