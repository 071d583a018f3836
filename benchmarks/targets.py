"""Whether the ranking of `narrate targets` holds: with other weights, with a session left out, among planted oddities.

    python benchmarks/targets.py [SESSION N]…

Without arguments: the session that ships, and the two essay sessions of `../shared` where they are there. N is the
message whose essay was published. Prints its place in the list four times: as it is; with weights chosen without that
session; with every other number of the score changed; and with 20 harmless oddities planted, as `tests/planting.py`
does it. Everything is deterministic.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from math import log
from pathlib import Path
from typing import NamedTuple

from narrator.formats import open_session
from narrator.targets import LIMIT, Survey, order, survey, take_columns
from narrator.targets.columns import Columns
from narrator.targets.score import EQUAL, Weights

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))  # the tests plant the same oddities
ESSAYS = ROOT.parent / "shared" / "sessions" / "essays"
CASES = (
    (ROOT / "examples" / "glm5-144.json", 144),
    (ESSAYS / "eagle3-4347.json.gz", 4347),
    (ESSAYS / "ct200-11162.json.gz", 11162),
)
GRID = [Weights(*weights) for weights in product((1.0, 0.5, 2.0), repeat=4)]
"""The coarse grid that weights are chosen from; the first are the equal ones."""
SEEDS = range(5)
LAST = 100
"""Places that are looked at; what is further down counts as one more."""


class Case(NamedTuple):
    """A session and the message that is looked for."""

    path: Path
    target: int
    columns: Columns
    found: Survey


def place(found: Survey, target: int, weights: Weights = EQUAL) -> int:
    """Where the target stands in the list, from 1."""
    listed = [index for index, _ in order(found, LAST, weights=weights)]
    return listed.index(target) + 1 if target in listed else LAST + 1


def load(arguments: list[str]) -> list[Case]:
    """The sessions to look at."""
    pairs = list(zip(map(Path, arguments[::2]), map(int, arguments[1::2]), strict=True)) or CASES
    cases = []
    for path, target in pairs:
        if path.exists():
            columns = take_columns(open_session(str(path)))
            cases.append(Case(path, target, columns, survey(columns)))
    return cases


def leave_one_out(cases: list[Case]) -> None:
    """Weights that put the other sessions' targets highest in sum, nearest to equal among those that do, on each."""
    places = {weights: [place(case.found, case.target, weights) for case in cases] for weights in GRID}
    print("\nleft out: place with the weights (cost, trouble, turning, rarity) that are best for the others")
    for number, case in enumerate(cases):
        if len(cases) == 1:
            break

        def judged(weights: Weights, without: int = number) -> tuple[int, float]:
            others = sum(found for k, found in enumerate(places[weights]) if k != without)
            return others, sum(abs(log(weight)) for weight in weights)

        best = min(GRID, key=judged)
        print(f"  {case.path.name:<24} {tuple(best)}  place {places[best][number]}")
    print(f"\nall {len(GRID)} weights of the grid: places from … to, how many of them within {LIMIT}")
    for number, case in enumerate(cases):
        all_places = [found[number] for found in places.values()]
        within = sum(found <= LIMIT for found in all_places)
        print(f"  {case.path.name:<24} {min(all_places)} … {max(all_places)}, {within} of {len(GRID)}")


def other_numbers(cases: list[Case]) -> None:
    """One number of the score changed at a time, to half and twice what it is (less where it would be no share)."""
    print("\nother numbers: places in " + ", ".join(case.path.name for case in cases))
    numbers: tuple[tuple[str, str, tuple[float, ...]], ...] = (
        ("trouble", "REACH", (15, 20, 30, 45, 60)),
        ("turning", "NEAR", (5, 10, 20)),
        ("turning", "MANY", (2, 3, 5)),
        ("surprise", "RAREST", (100, 1000, 10_000)),
        ("choose", "NEARBY", (0.6, 0.8, 1.0)),
    )
    for part, name, values in numbers:
        module = import_module(f"narrator.targets.{part}")
        kept = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            shown = "  ".join(f"{place(survey(case.columns), case.target):>4}" for case in cases)
            print(f"  {name:<7} {value:>6}  {shown}" + ("   (as it is)" if value == kept else ""))
        setattr(module, name, kept)


def among_oddities(case: Case, folder: Path) -> Iterator[tuple[int, int, float, float]]:
    """For each seed: place of the target, oddities in the list, worth of the best abort and of the target."""
    from planting import plant

    data = case.path.read_bytes()
    document = json.loads(gzip.decompress(data) if case.path.suffix == ".gz" else data)
    for seed in SEEDS:
        planted = plant(document, case.target, seed)
        path = folder / "planted.json"
        path.write_text(json.dumps(planted.document), "utf-8")
        found = survey(take_columns(open_session(str(path))))
        target = planted.moved[case.target]
        listed = {index for index, _ in order(found, LIMIT)}
        scores = found.scores()
        aborts = [scores[index] for index, kind in planted.places.items() if kind == "aborted"]
        yield place(found, target), len(listed & set(planted.places)), max(aborts), scores[target]


def main() -> None:
    """Measure and print."""
    cases = load(sys.argv[1:])
    print("as it is")
    for case in cases:
        print(f"  {case.path.name:<24} message {case.target}: place {place(case.found, case.target)}")
    leave_one_out(cases)
    other_numbers(cases)
    print(
        f"\n20 harmless oddities planted, {len(SEEDS)} times: places of the target, oddities among the first {LIMIT},"
    )
    print("worth of the best planted abort / of the target")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            runs = list(among_oddities(case, Path(folder)))
            worth = ", ".join(f"{abort:.2f}/{target:.2f}" for _, _, abort, target in runs)
            print(f"  {case.path.name:<24} {[run[0] for run in runs]}, {[run[1] for run in runs]}, {worth}")


if __name__ == "__main__":
    main()
