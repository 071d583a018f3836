"""What a look at a large session costs, beside json.load, orjson, jq and plain reading of the same file.

    python benchmarks/scale.py [--rounds N] [MEGABYTES…]

Sessions of 1, 75 and 300 MB are made from the one that ships, laid out as opencode writes them. Prints CPU seconds
(user and system, the least of several runs) and peak memory, and the ratios that must hold:

- `narrate show --msg N --json` less the same on four messages: cold at most 2.5 times reading the bytes into memory;
  warm (an index is in the cache folder) at most 0.05 s; at most 60 MB of memory above it.
- `narrate targets` at most 1.5 times what orjson needs to read and parse the file.
- 300 MB cost at most 4.4 times what 75 MB cost.

orjson and jq are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "glm5-144.json"
SIZES = (1, 75, 300)
"""Megabytes."""


class Cost(NamedTuple):
    """The least of several runs."""

    seconds: float
    """CPU, user and system."""
    megabytes: float
    """Peak resident memory; next to nothing of it is file-backed, since no file is mapped."""


class Costs(NamedTuple):
    """What one file costs."""

    read: Cost
    cold: Cost
    warm: Cost
    targets: Cost
    targets_warm: Cost
    others: dict[str, Cost]


def run(command: tuple[str, ...], cache: Path) -> Cost:
    """Run a command once."""
    environment = os.environ | {"NARRATE_CACHE_DIR": str(cache), "NARRATE_TOKENS": "estimate"}
    with Path(os.devnull).open("w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment)  # noqa: S603  # our own command
        _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def least(rounds: int, once: Callable[[], Cost]) -> Cost:
    """The least of several runs."""
    runs = [once() for _ in range(rounds)]
    return Cost(min(cost.seconds for cost in runs), min(cost.megabytes for cost in runs))


def make_session(path: Path, size: float) -> int:
    """Write a session of about `size` bytes, its messages those of the example over and over; gives their number."""
    example = json.loads(EXAMPLE.read_text("utf-8"))
    indented = [
        json.dumps(message, indent=2, ensure_ascii=False).replace("\n", "\n    ") for message in example["messages"]
    ]
    head = json.dumps({"info": example["info"]}, indent=2, ensure_ascii=False)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        written = file.write(head.removesuffix("\n}") + ',\n  "messages": [\n    ')
        while written < size:
            for message, text in zip(example["messages"], indented, strict=True):
                again = text.replace(message["info"]["id"], f"msg_{count:012}") if count else text
                written += file.write((",\n    " if count else "") + again)
                count += 1
                if written >= size:
                    break
        file.write("\n  ]\n}\n")
    return count


def measure(path: Path, target: int, rounds: int, folder: Path) -> Costs:
    """What one file costs every reader."""
    narrate = (sys.executable, "-m", "narrator")
    show = (*narrate, "show", "--json", "--msg", str(target), str(path))
    targets = (*narrate, "targets", "--json", str(path))
    cache = folder / "cache"

    def cold(command: tuple[str, ...]) -> Cost:
        shutil.rmtree(cache, ignore_errors=True)
        return run(command, cache)

    def python(code: str) -> Cost:
        return run((sys.executable, "-c", code), cache)

    reading = f"open({str(path)!r}, 'rb').read()"
    others: dict[str, Callable[[], Cost]] = {"json.load": lambda: python(f"import json; json.loads({reading})")}
    if importlib.util.find_spec("orjson"):
        others["orjson"] = lambda: python(f"import orjson; orjson.loads({reading})")
    if jq := shutil.which("jq"):
        others["jq"] = lambda: run((jq, f".messages[{target}]", str(path)), cache)
    return Costs(
        read=least(rounds, lambda: python(reading)),
        cold=least(rounds, lambda: cold(show)),
        warm=least(rounds, lambda: run(show, cache)),
        targets=least(rounds, lambda: cold(targets)),
        targets_warm=least(rounds, lambda: run(targets, cache)),
        others={name: least(min(rounds, 3), once) for name, once in others.items()},
    )


def report(name: str, costs: Costs, four: Cost, empty: Cost) -> None:
    """Print what one file costs, and its ratios."""
    print(f"\n{name}")
    rows = {"plain reading": costs.read, "show --msg, cold": costs.cold, "show --msg, warm": costs.warm}
    rows |= {"targets, cold": costs.targets, "targets, warm": costs.targets_warm} | costs.others
    for what, cost in rows.items():
        print(f"  {what:<18} {cost.seconds:7.3f} s CPU {cost.megabytes:8.1f} MB")
    reading = costs.read.seconds - empty.seconds
    cold, warm = costs.cold.seconds - four.seconds, costs.warm.seconds - four.seconds
    ratio = (
        f"{cold / reading:.2f} times reading ({reading:.3f} s)"
        if reading > 0.005
        else "reading is too short to compare"
    )
    print(f"  cold less four messages: {cold:.3f} s, {ratio}; at most 2.5")
    print(f"  warm less four messages: {warm:.3f} s; at most 0.05")
    print(f"  memory above four messages: {costs.cold.megabytes - four.megabytes:.1f} MB; at most 60")
    if orjson := costs.others.get("orjson"):
        print(f"  targets / orjson: {costs.targets.seconds / orjson.seconds:.2f} cold; at most 1.5")


def main() -> None:
    """Make the sessions, measure and print."""
    parser = argparse.ArgumentParser(description="What a look at a large session costs.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("sizes", nargs="*", type=float, default=SIZES, metavar="MEGABYTES")
    given = parser.parse_args()
    found: dict[float, Costs] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "four.json"
        example = json.loads(EXAMPLE.read_text("utf-8"))
        small.write_text(json.dumps(example | {"messages": example["messages"][:4]}, indent=2), "utf-8")
        show = (sys.executable, "-m", "narrator", "show", "--json", "--msg", "3", str(small))
        four = least(given.rounds, lambda: run(show, folder / "cache"))
        empty = least(given.rounds, lambda: run((sys.executable, "-c", "pass"), folder / "cache"))
        print(f"four messages: {four.seconds:.3f} s CPU, {four.megabytes:.1f} MB; Python alone {empty.seconds:.3f} s")
        for size in given.sizes:
            path = folder / f"{size:g}.json"
            count = make_session(path, size * 1e6)
            found[size] = measure(path, count * 9 // 10, given.rounds, folder)
            report(f"{path.stat().st_size / 1e6:.0f} MB, {count:,} messages", found[size], four, empty)
            path.unlink()
    if {75, 300} <= found.keys():
        growth = (found[300].cold.seconds - four.seconds) / (found[75].cold.seconds - four.seconds)
        print(f"\n300 MB / 75 MB: {growth:.2f} (show, cold); at most 4.4")


if __name__ == "__main__":
    main()
