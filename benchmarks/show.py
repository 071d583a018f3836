"""What it costs to look at one message of a large session, beside json.load of the same file in the same run.

    python benchmarks/show.py [SESSION N]

Without arguments a session of about 75 MB is made from the one that ships. Prints CPU seconds and peak memory, each
the least of several runs, and the two ratios that must hold: what the large file costs more than one of four messages,
CPU at most 0.5 and memory at most 0.6 of json.load.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "glm5-144.json"
ROUNDS = 7
SIZE = 75_000_000


class Cost(NamedTuple):
    """The least of several runs."""

    seconds: float
    """CPU, user and system."""
    mebibytes: float
    """Peak resident memory."""


def measure(*command: str) -> Cost:
    """Run `command` several times."""
    runs = [_run(command) for _ in range(ROUNDS)]
    return Cost(min(run.seconds for run in runs), min(run.mebibytes for run in runs))


def _run(command: tuple[str, ...]) -> Cost:
    with Path(os.devnull).open("w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)  # noqa: S603  # our own command
        _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def make_large(path: Path) -> int:
    """Write a session of about `SIZE` bytes, its messages those of the example over and over; gives their number."""
    example = json.loads(EXAMPLE.read_text("utf-8"))
    count, written = 0, 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n"info": ' + json.dumps(example["info"], indent=2) + ',\n"messages": [\n')
        while written < SIZE:
            for message in example["messages"]:
                message["info"]["id"] = f"msg_{count:012}"
                written += file.write(("," if count else "") + json.dumps(message, indent=2) + "\n")
                count += 1
        file.write("]\n}\n")
    return count


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.json", Path(folder) / "small.json"
        if len(sys.argv) == 3:
            large, target = Path(sys.argv[1]), int(sys.argv[2])
        else:
            target = make_large(large) - 100
        example = json.loads(EXAMPLE.read_text("utf-8"))
        small.write_text(json.dumps(example | {"messages": example["messages"][:4]}), "utf-8")
        show = (sys.executable, "-m", "narrator", "show", "--json", "--msg")
        costs = {
            "narrate show, large": measure(*show, str(target), str(large)),
            "narrate show, four messages": measure(*show, "3", str(small)),
            "json.load, large": measure(sys.executable, "-c", f"import json; json.load(open({str(large)!r}))"),
            "narrate --help": measure(sys.executable, "-m", "narrator", "--help"),
        }
        print(f"{large.stat().st_size / 1e6:.0f} MB, message {target}, least of {ROUNDS} runs")
    for name, cost in costs.items():
        print(f"{name:<28} {cost.seconds:6.3f} s CPU {cost.mebibytes:7.1f} MiB")
    big, four, whole, _ = costs.values()
    print(f"CPU    (large - four) / json.load = {(big.seconds - four.seconds) / whole.seconds:.2f}, at most 0.5")
    print(f"memory (large - four) / json.load = {(big.mebibytes - four.mebibytes) / whole.mebibytes:.2f}, at most 0.6")


if __name__ == "__main__":
    main()
