"""The values: what a finding is and the closed list of its kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from narrator.errors import UsageError
from narrator.record import Record
from narrator.session import Message

Kind: TypeAlias = Literal[
    "empty-completion",
    "reasoning-only",
    "aborted",
    "provider-error",
    "cut-off",
    "unfinished",
    "compaction-request",
    "compaction-summary",
    "synthetic",
    "invalid-tool-call",
    "tool-error",
    "tool-aborted",
    "tool-unfinished",
    "command-failed",
    "empty-output",
    "output-truncated",
    "output-pruned",
    "user-nudge",
    "repeated-call",
    "gap",
    "subagent",
    "reverted",
    "model-switch",
]
"""The closed list; adding one needs a documented reason."""
KINDS: tuple[Kind, ...] = get_args(Kind)


def parse_kinds(given: str, option: str) -> tuple[Kind, ...]:
    """The kinds that an option names, separated by commas, in the order of `KINDS`.

    Raises:
        UsageError: one is none; all are listed.
    """
    names = [name.strip() for name in given.split(",")]
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise UsageError(f"{option} {given}: no kind of finding is called {unknown[0]!r}; there are {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in names)


class Evidence(Record):
    """One field of the record that a finding rests on."""

    index: int
    field: str
    """Path inside the stored message, as `jq` would take it (below `info` where the format nests it)."""
    value: str | int | float | bool | None


class Finding(Record):
    """Something the record states about a message that its text does not."""

    index: int
    kind: Kind
    says: str
    """What holds, in a sentence; where the record allows, what led to it and what came of it in further ones."""
    evidence: tuple[Evidence, ...]
    """At most `MOST_EVIDENCE` entries; the sentence has the full count."""

    def plus(self, *clauses: Clause) -> Finding:
        """With more said and proved; of the evidence, the clauses' own is kept before the last of this finding's."""
        says = " ".join([self.says, *(clause.says for clause in clauses if clause.says)])
        more = dict.fromkeys(item for clause in clauses for item in clause.evidence)
        own = self.evidence[: max(1, MOST_EVIDENCE - len(more))]
        together = tuple(dict.fromkeys([*own, *more]))[:MOST_EVIDENCE]
        return self.model_copy(update={"says": says, "evidence": together})


class Clause(NamedTuple):
    """A further sentence of a finding, and what proves it."""

    says: str = ""
    evidence: tuple[Evidence, ...] = ()


NOTHING = Clause()
"""Said where the record allows nothing more."""


def state(message: Message, kind: Kind, says: str, fields: Sequence[tuple[str, str | int | bool | None]]) -> Finding:
    """A finding that rests on fields of its own message."""
    shown = tuple(Evidence(index=message.index, field=field, value=value) for field, value in fields)
    return Finding(index=message.index, kind=kind, says=says, evidence=shown[:MOST_EVIDENCE])


MOST_EVIDENCE = 18
WORDS = 200
"""Characters of recorded words in a sentence, which stays one line whatever was recorded; the evidence has them all."""
