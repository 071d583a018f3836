"""How much a message deserves an essay: `docs/targets.md` has the formula and its reasons."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from narrator.findings import Kind, marked, mask_of
from narrator.targets.columns import Columns
from narrator.targets.surprise import surprise, surprises
from narrator.targets.trouble import Detour, Trouble, find_trouble
from narrator.targets.turning import Turning, feel_turnings, find_turnings

MINOR: tuple[Kind, ...] = (
    "output-truncated",
    "output-pruned",
    "empty-output",
    "repeated-call",
    "gap",
    "synthetic",
    "model-switch",
    "reverted",
)
"""Kinds that tell how the harness keeps its books or what time it was: no rarity is counted for them."""
_FOUND = ~mask_of(*MINOR)
STEPS_IN: tuple[Turning, ...] = ("broke-in", "corrected")
"""Turns of the user that are counted as findings are, although the list of kinds has none for them."""
_ALIKE: dict[Kind, str] = {
    "tool-error": "call-failed",
    "command-failed": "call-failed",
    "tool-aborted": "call-stopped",
    "tool-unfinished": "call-stopped",
}
"""Kinds of finding that are examples of one thing."""
_SORTS: dict[Turning, str] = {
    "first-success": "success",
    "retried": "success",
    "corrected": "step-in",
    "broke-in": "step-in",
}
"""What a message without a finding is an example of, when it is a turning point; the last one counts."""


class Weights(NamedTuple):
    """What each part counts; all alike, since nothing known beforehand makes one matter more."""

    cost: float = 1.0
    trouble: float = 1.0
    turning: float = 1.0
    rarity: float = 1.0


EQUAL = Weights()


class Parts(NamedTuple):
    """What the score of one message is made of, each from 0 to 1."""

    cost: float
    trouble: float
    turning: float
    rarity: float


class Survey(NamedTuple):
    """All that is known of a session's messages together."""

    columns: Columns
    trouble: Trouble
    turnings: dict[Turning, list[int]]
    parts: tuple[list[float], list[float], list[float], list[float]]
    """Of every message, in the order of `Parts`."""
    counts: dict[Kind, int]
    """Kind of finding → messages that have it."""
    sorts: list[str]
    """Message → what it is an example of: its rarest finding, else who speaks and at what turn of the work."""

    def parts_of(self, index: int) -> Parts:
        """What the score of a message is made of."""
        return Parts(*(part[index] for part in self.parts))

    def scores(self, weights: Weights = EQUAL) -> list[float]:
        """The score of every message: (cost + trouble + turning) × (1 + rarity).

        An oddity counts for as much as it stands in the way of.
        """
        by_cost, by_trouble, by_turning, by_rarity = weights
        return [
            (by_cost * cost + by_trouble * trouble + by_turning * turning) * (1 + by_rarity * rarity)
            for cost, trouble, turning, rarity in zip(*self.parts, strict=True)
        ]


def survey(columns: Columns) -> Survey:
    """Measure every message of a session; linear in their number."""
    trouble = find_trouble(columns)
    turnings = find_turnings(columns, trouble)
    counts = _count_kinds(columns)
    sorts = _sort(columns, turnings, counts)
    cost, felt = _cost(columns, trouble), _scaled(trouble.felt)
    turned = _scaled(feel_turnings(turnings, len(columns.kinds)))
    rarity = _rarity(columns, turnings)
    for index in trouble.spared:
        cost[index] = rarity[index] = 0.0
        felt[index], turned[index] = felt[index] / 2, turned[index] / 2
    for index in _bystanders(sorts, turnings):
        cost[index], felt[index], turned[index] = cost[index] / 2, felt[index] / 2, turned[index] / 2
    return Survey(columns, trouble, turnings, (cost, felt, turned, rarity), counts, sorts)


def _scaled(values: list[int]) -> list[float]:
    scale = surprises(values)
    return [scale[value] for value in values]


def _bystanders(sorts: list[str], turnings: dict[Turning, list[int]]) -> list[int]:
    """Answers that are neither odd nor a turning point: what is counted for them is all their neighbours'."""
    points = {index for places in turnings.values() for index in places}
    return [index for index, sort in enumerate(sorts) if sort == "answer" and index not in points]


def _cost(columns: Columns, trouble: Trouble) -> list[float]:
    """Of the detour a message is part of: how seldom one is so long in time, in messages or in setbacks."""
    total = len(columns.kinds)
    measures = [[0] * total for _ in range(3)]
    for begin, end, count in trouble.detours:
        whole = slice(begin, end)
        for measure, value in zip(measures, _measured(columns, Detour(begin, end, count)), strict=True):
            measure[whole] = [value] * (end - begin)
    for run in dict.fromkeys(trouble.repeats.values()):
        values = _measured(columns, Detour(run[0], run[-1] + 1, len(run) - 1))
        for index in run:
            for measure, value in zip(measures, values, strict=True):
                measure[index] = max(measure[index], value)
    return list(map(max, *map(_scaled, measures)))


def _measured(columns: Columns, detour: Detour) -> tuple[int, int, int]:
    """Milliseconds of work, messages, setbacks."""
    return columns.busy[detour.end] - columns.busy[detour.begin], detour.end - detour.begin, detour.setbacks


def _rarity(columns: Columns, turnings: dict[Turning, list[int]]) -> list[float]:
    """The surprise of the share of messages that have all the findings of one; of turns that step in as of findings."""
    total = len(columns.marks)
    counts = Counter(mask & _FOUND for mask in columns.marks)
    rare = {mask: surprise(sum(n for other, n in counts.items() if other & mask == mask), total) for mask in counts}
    rarity = [rare[mask & _FOUND] for mask in columns.marks]
    for turning in STEPS_IN:
        places = turnings.get(turning, [])
        for index in places:
            rarity[index] = max(rarity[index], surprise(len(places), total))
    return rarity


def _count_kinds(columns: Columns) -> dict[Kind, int]:
    counts: Counter[Kind] = Counter()
    for mask, count in Counter(columns.marks).items():
        counts.update(dict.fromkeys(marked(mask), count))
    return counts


def main_kind(mask: int, counts: dict[Kind, int], wanted: int = _FOUND) -> Kind | None:
    """The rarest of a message's kinds of finding that are `wanted`; of equals the first in `KINDS`."""
    return min(marked(mask & wanted), key=lambda kind: counts[kind], default=None)


def _sort(columns: Columns, turnings: dict[Turning, list[int]], counts: dict[Kind, int]) -> list[str]:
    """The sort of every message; all that the harness wrote is one."""
    kinds = {mask: main_kind(mask, counts) for mask in set(columns.marks)}
    named = {mask: _ALIKE.get(kind, kind) if kind else "" for mask, kind in kinds.items()}
    sorts = [
        named[mask] or kind if kind in ("typed", "answer") else "harness"
        for kind, mask in zip(columns.kinds, columns.marks, strict=True)
    ]
    for turning, sort in _SORTS.items():
        for index in turnings.get(turning, []):
            if sorts[index] == columns.kinds[index]:
                sorts[index] = sort
    return sorts
