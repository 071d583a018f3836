"""The values: what a finding is and the closed list of its kinds."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from narrator.record import Record

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
    """One sentence, or two."""
    evidence: tuple[Evidence, ...]
    """At most `MOST_EVIDENCE` entries; the sentence has the full count."""


MOST_EVIDENCE = 12
WORDS = 200
"""Characters of recorded words in a sentence, which stays one line whatever was recorded; the evidence has them all."""
