"""The essays of the benchmark, and the plants drawn from all that are possible."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from random import Random

from planted import citing, figuring, quoting, telling
from planted.essay import Essay
from planted.plant import HARD, MECHANICAL, Plant
from planted.recording import Recording, read_recording

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLANTERS: dict[str, Callable[[Essay, Random], Iterator[Plant]]] = {
    "citation off by one": citing.off_by_one,
    "missing message": citing.missing,
    "altered digit": figuring.altered_digit,
    "swapped unit": figuring.swapped_unit,
    "dropped negation": quoting.dropped,
    "quotation from elsewhere": quoting.from_elsewhere,
    "invented path": figuring.invented_path,
    "wrong version": figuring.wrong_version,
    "wrong speaker": quoting.wrong_speaker,
    "inflated count": figuring.inflated_count,
    "invented time": figuring.invented_time,
    "spliced quotation": quoting.spliced,
    "reversed order": telling.reversed_order,
    "wrong cause of an end": telling.wrong_cause,
    "dropped negation in prose": quoting.dropped_in_prose,
}


def session_of(entry: dict[str, str]) -> Path:
    """Where an essay's recording is; what starts with `shared/` is beside the repository and may be absent."""
    named = entry["session"]
    return ROOT.parent / named if named.startswith("shared/") else ROOT / named


def read_essays(only: str = "") -> tuple[list[tuple[Essay, Path]], list[str]]:
    """The essays whose name holds `only` with their sessions, and the names of those whose session is absent."""
    entries = json.loads((HERE / "essays" / "manifest.json").read_text("utf-8"))
    read: Callable[[Path], Recording] = cache(read_recording)
    found, absent = [], []
    for entry in entries:
        path = session_of(entry)
        if only not in entry["essay"]:
            continue
        if not path.is_file():
            absent.append(entry["essay"])
            continue
        markdown = (HERE / "essays" / entry["essay"]).read_text("utf-8")
        essay = Essay(entry["essay"].removesuffix(".md"), markdown, read(path), int(entry["target"]), entry["writer"])
        found.append((essay, path))
    return found, absent


def draw_plants(essays: list[Essay], seed: int, each: int) -> list[Plant]:
    """Up to `each` plants of every kind, taken from the essays by turns, no two alike."""
    drawn: list[Plant] = []
    for kind in (*MECHANICAL, *HARD):
        chance = Random(f"{seed} {kind}")  # noqa: S311  # repeatable, no secret
        rows = []
        for essay in essays:
            possible = list({(one.start, one.end, one.new): one for one in PLANTERS[kind](essay, chance)}.values())
            chance.shuffle(possible)
            rows.append(possible)
        chance.shuffle(rows)
        drawn += [one for one in chain.from_iterable(zip_longest(*rows)) if one is not None][:each]
    return drawn
