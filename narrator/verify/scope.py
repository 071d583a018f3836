"""Where the evidence of a statement is looked for: the messages its clause cites, those near, all the essay cites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from narrator.verify.clauses import Cite, Clause
from narrator.verify.evidence import Evidence
from narrator.verify.told import Told

MOST_CITED = 60
"""Messages of one citation that are read as its evidence; of a wider range, those at its ends."""


class Cited:
    """All messages that an essay cites, and those right beside them."""

    def __init__(self, evidence: Evidence, cites: Iterable[Cite]) -> None:
        self.evidence = evidence
        self.cites = tuple(cites)

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Ascending, the target among them."""
        found = set(self.of(self.cites))
        if self.evidence.target is not None:
            found.add(self.evidence.target)
        return tuple(sorted(found))

    @cached_property
    def subjects(self) -> tuple[int, ...]:
        """The message the essay is about: the target where it is known, else those it names first and cites most."""
        if self.evidence.target is not None:
            return (self.evidence.target,)
        named = [one for one in self.cites if not one.bracketed and len(one.names) == 1]
        often = Counter(name for one in self.cites if one.bracketed for name in one.names).most_common(2)
        names = [*(one.names[0] for one in named[:1]), *(name for name, _ in often)]
        return tuple(index for name in names if (index := self.evidence.resolve(name)) is not None)

    def of(self, cites: Iterable[Cite]) -> tuple[int, ...]:
        """Indices that citations name, ascending, without those that name no message."""
        named = {self.evidence.resolve(name) for one in cites for name in one.names}
        return tuple(sorted(index for index in named if index is not None))

    def told(self, indices: Iterable[int]) -> list[Told]:
        """The messages that the evidence has of these."""
        return [told for index in indices if (told := self.evidence.message(index)) is not None]

    @cached_property
    def messages(self) -> list[Told]:
        """All that the essay cites, read."""
        return self.told(self.indices)

    def beside(self, reach: int = 2) -> Iterator[Told]:
        """Messages near those that are cited and not cited themselves."""
        have = set(self.indices)
        near = {index + step for index in self.indices for step in range(-reach, reach + 1)} - have
        yield from self.told(sorted(index for index in near if index >= 0))


class Scope:
    """The evidence of one clause."""

    def __init__(self, cited: Cited, clause: Clause | None, blocks: Sequence[Cite] = ()) -> None:
        self.cited = cited
        self.clause = clause
        self._blocks = blocks

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Messages that the clause is tied to, ascending."""
        return self.cited.of(self.clause.cites) if self.clause is not None else self.cited.of(self._blocks)

    @cached_property
    def own(self) -> list[Told]:
        """Those, read; of a wide range, its ends."""
        indices = self.indices
        if len(indices) > MOST_CITED:
            indices = (*indices[: MOST_CITED // 2], *indices[-MOST_CITED // 2 :])
        return self.cited.told(indices)

    @cached_property
    def bracketed(self) -> list[Told]:
        """Of those, the messages that its citations name in brackets; all, where it has no brackets."""
        cites = [one for one in self.clause.cites if one.bracketed] if self.clause is not None else []
        named = set(self.cited.of(cites))
        return [told for told in self.own if told.index in named] if named else self.own

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The first and the last message of each stretch that the clause's citations name."""
        return _ends(self.indices)

    @cached_property
    def ends_near(self) -> tuple[int, ...]:
        """The same of the citations round about."""
        return _ends(self.cited.of(self.clause.around)) if self.clause is not None else ()

    @cached_property
    def near(self) -> list[Told]:
        """Those cited round about and not by the clause itself."""
        around = self.cited.of(self.clause.around) if self.clause is not None else ()
        return self.cited.told(index for index in around[:MOST_CITED] if index not in self.indices)

    @cached_property
    def timed(self) -> list[Told]:
        """Messages between whose times a sentence may count: what it cites, what came right before, the target."""
        before = {index - 1 for index in self.indices[:4] if index > 0}
        target = self.cited.evidence.target
        indices = {*self.indices[:12], *before, *([target] if target is not None else [])}
        return self.cited.told(sorted(indices))

    @property
    def strict(self) -> bool:
        """Whether a citation closes the clause, or the sentence behind it: what it says must stand in what it cites."""
        return self.clause is not None and self.clause.tied


def _ends(indices: Sequence[int]) -> tuple[int, ...]:
    """Those of some ascending indices that have no neighbour on one side."""
    have = set(indices)
    return tuple(one for one in indices if one - 1 not in have or one + 1 not in have)
