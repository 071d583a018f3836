"""Which of several machines writes a session's essays, when nothing tells them of each other (`--shard I/N`)."""

from __future__ import annotations

import re

from narrator.errors import UsageError
from narrator.record import Record


class Shard(Record):
    """One of so many shares."""

    index: int
    """From 1."""
    of: int

    def holds(self, sha256: str) -> bool:
        """Whether the session with this hash is in this share.

        All essays of a session are, since they share the beginning of their prompts. It follows from the session's
        content alone: neither the name of its file nor what else is given changes it.
        """
        return int(sha256[:16], 16) % self.of == self.index - 1


def parse_shard(text: str) -> Shard:
    """The share that `--shard` names: `2/8` is the second of eight.

    Raises:
        UsageError: it names none.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip(), re.ASCII)
    if found is None or not 1 <= (index := int(found[1])) <= (of := int(found[2])):
        raise UsageError(f"--shard {text!r} is no share; --shard 2/8 is the second of eight")
    return Shard(index=index, of=of)
