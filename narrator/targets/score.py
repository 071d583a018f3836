"""How much a message deserves an essay: `docs/targets.md` has the formula and its reasons."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from narrator.findings import Kind
from narrator.targets.columns import KINDS, Columns, bits
from narrator.targets.surprise import surprise, surprises
from narrator.targets.trouble import Detour, Trouble, find_trouble
from narrator.targets.turning import Point, Turning, feel_turnings, find_turnings

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


class Weights(NamedTuple):
    """What each part counts; all alike, since nothing known beforehand makes one matter more."""

    cost: float = 1.0
    trouble: float = 1.0
    turning: float = 1.0
    rarity: float = 1.0


EQUAL = Weights()
ALIKE={"tool-error":"call-failed","command-failed":"call-failed","tool-aborted":"call-stopped","tool-unfinished":"call-stopped"}
RARE=("broke-in","corrected")


class Parts(NamedTuple):
    """What a score is made of, each from 0 to 1."""

    cost: float
    trouble: float
    turning: float
    rarity: float

    def weighed(self, weights: Weights) -> float:
        """(cost + trouble + turning) × (1 + rarity): an oddity counts for as much as it stands in the way of."""
        consequence = weights.cost * self.cost + weights.trouble * self.trouble + weights.turning * self.turning
        return consequence * (1 + weights.rarity * self.rarity)


class Survey(NamedTuple):
    """All that is known of a session's messages together."""

    columns: Columns
    trouble: Trouble
    turnings: dict[Turning, list[int]]
    near: list[tuple[Point, ...]]
    """Message → the turning points felt most there."""
    parts: list[Parts]
    counts: dict[Kind, int]
    """Kind of finding → messages that have it."""
    sorts: list[str]
    """Message → what it is an example of: its rarest finding, else who speaks and at what turn of the work."""


def survey(columns: Columns) -> Survey:
    """Measure every message of a session; linear in their number."""
    trouble = find_trouble(columns)
    turnings = find_turnings(columns, trouble)
    near = feel_turnings(turnings, len(columns.kinds))
    cost = _cost(columns, trouble)
    felt = _scaled(trouble.felt)
    turned = _scaled([sum(point.points for point in points) for points in near])
    rarity = _rarity(columns)
    minor = ~bits(*MINOR)
    rare = [rarity[mask & minor] for mask in columns.marks]
    for turning in RARE:
        for index in turnings.get(turning, []):
            rare[index] = max(rare[index], surprise(len(turnings[turning]), len(rare)))
    for index in trouble.spared:
        cost[index] = rare[index] = 0.0
    counts = _count_kinds(columns)
    sorts = _sorted(columns, turnings, counts)
    own = frozenset().union(*turnings.values()) if turnings else frozenset()
    for index, sort in enumerate(sorts):
        if index in trouble.spared or (sort == "answer" and index not in own):
            felt[index], turned[index] = felt[index] / 2, turned[index] / 2
            if sort=="answer": cost[index]/=2
    parts = list(map(Parts, cost, felt, turned, rare))
    return Survey(columns, trouble, turnings, near, parts, counts, sorts)


def _scaled(values: list[int]) -> list[float]:
    scale = surprises(values)
    return [scale[value] for value in values]


def _cost(columns: Columns, trouble: Trouble) -> list[float]:
    """Of the detour a message is part of: how seldom one is so long in time, in messages or in setbacks."""
    total = len(columns.kinds)
    measures = [[0] * total for _ in range(3)]
    for begin, end, count in trouble.detours:
        whole = slice(begin, end)
        for measure, value in zip(measures, _measured(columns, Detour(begin, end, count)), strict=True):
            measure[whole] = [value] * (end - begin)
    for run in trouble.repeats:
        values = _measured(columns, Detour(run[0], run[-1] + 1, len(run) - 1))
        for index in run:
            for measure, value in zip(measures, values, strict=True):
                measure[index] = max(measure[index], value)
    return list(map(max, *map(_scaled, measures)))


def _measured(columns: Columns, detour: Detour) -> tuple[int, int, int]:
    """Milliseconds of work, messages, setbacks."""
    return columns.busy[detour.end] - columns.busy[detour.begin], detour.end - detour.begin, detour.setbacks


def _rarity(columns: Columns) -> dict[int, float]:
    """Mask of findings → the surprise of the share of messages that have all of them; 0 for none."""
    minor = ~bits(*MINOR)
    counts = Counter(mask & minor for mask in columns.marks)
    return {
        mask: surprise(sum(count for other, count in counts.items() if other & mask == mask), len(columns.marks))
        for mask in counts
    }


def main_kind(mask: int, counts: dict[Kind, int]) -> Kind | None:
    """The rarest of a message's kinds of finding, minor ones left out; of equals the first in `KINDS`."""
    held = [kind for place, kind in enumerate(KINDS) if mask >> place & 1 and kind not in MINOR]
    return min(held, key=lambda kind: counts[kind], default=None)


def _count_kinds(columns: Columns) -> dict[Kind, int]:
    masks = Counter(columns.marks)
    return {kind: sum(n for mask, n in masks.items() if mask >> place & 1) for place, kind in enumerate(KINDS)}


def _sorted(columns: Columns, turnings: dict[Turning, list[int]], counts: dict[Kind, int]) -> list[str]:
    """The sort of every message; all that the harness wrote is one."""
    named = {mask: main_kind(mask, counts) for mask in set(columns.marks)}
    sorts = [
        (ALIKE.get(name, name) if (name:=named[mask]) else kind) if kind in ("typed", "answer") else "harness"
        for kind, mask in zip(columns.kinds, columns.marks, strict=True)
    ]
    renamed: tuple[tuple[Turning, str], ...] = (
        ("first-success", "first-success"),
        ("retried", "first-success"),
        ("corrected", "step-in"),
        ("broke-in", "step-in"),
    )
    for turning, sort in renamed:
        for index in turnings.get(turning, []):
            if sorts[index] == columns.kinds[index]:
                sorts[index] = sort
    return sorts
