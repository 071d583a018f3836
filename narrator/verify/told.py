"""One message as evidence: its recorded text and what the record states of it, ready to be searched."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from narrator.session import Role
from narrator.verify.wording import fold

BORDER = "\ufffc"
"""Stands between two stretches, so that nothing is found across them."""
_QUOTED = re.compile(r"“([^“”]+)”")
"""Recorded words inside a statement of the record."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class Stretch(NamedTuple):
    """A piece of recorded text."""

    kind: str
    """`excerpt.PassageKind`."""
    text: str


class Told:
    """One message: what was recorded of it, and what is known about it. Everything costly is made when asked for."""

    def __init__(
        self,
        index: int,
        role: Role,
        stretches: tuple[Stretch, ...],
        *,
        record: tuple[str, ...] = (),
        named: tuple[str, ...] = (),
        kinds: tuple[str, ...] = (),
        times: tuple[tuple[int, int], ...] = (),
        by_user: bool = False,
    ) -> None:
        self.index = index
        self.role = role
        self.stretches = stretches
        self.record = record
        """What the record states of it, in the product's words."""
        self.named = named
        """Recorded words that are no text of it: names of tools, of errors, of models; file names, its id."""
        self.kinds = kinds
        """Kinds of its findings."""
        self.times = times
        """When it began and ended, and when each of its calls did; milliseconds since 1970."""
        self.by_user = by_user
        """The user ran the command in it."""

    @cached_property
    def raw(self) -> str:
        """All recorded text."""
        return f"\n{BORDER}\n".join(stretch.text for stretch in self.stretches)

    @cached_property
    def folded(self) -> str:
        """All recorded text, as it is compared."""
        return f" {BORDER} ".join(self.folds)

    @cached_property
    def folds(self) -> tuple[str, ...]:
        """Each stretch, as it is compared."""
        return tuple(fold(stretch.text) for stretch in self.stretches)

    @cached_property
    def words(self) -> str:
        """Recorded words beside the text, as they are compared."""
        quoted = [words for line in self.record for words in _QUOTED.findall(line)]
        return fold(f" {BORDER} ".join((*self.named, *quoted)))

    @cached_property
    def stated(self) -> str:
        """What the record states of it, as it is compared."""
        return fold(f" {BORDER} ".join((f"{self.role} message {self.index}", *self.record)))

    @cached_property
    def numeric(self) -> str:
        """Everything that is known of it, thousands written without a comma: where figures are looked for."""
        return _THOUSANDS.sub("", f"{self.folded} {BORDER} {self.words} {BORDER} {self.stated}")
