"""Run the checker as its users do, and see which plants it found and whom it accused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from planted.draw import ROOT
from planted.essay import Essay
from planted.plant import EXPECTED, Plant

Answer = dict[str, Any]
"""One report of `narrate check --json`."""


class Verdict(NamedTuple):
    """What became of one plant."""

    plant: Plant
    found: bool
    """A failure that the clean essay does not have overlaps the planted place."""
    apt: bool
    """One of an expected kind does."""
    said: tuple[str, ...]
    """Kind and sentence of every new failure, on the place or elsewhere."""


def check_folder(folder: Path, session: Path) -> dict[str, Answer]:
    """Check all essays of a folder against one session in one process; reports by the file's name."""
    command = [sys.executable, "-m", "narrator", "check", str(folder), str(session), "--json"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    run = subprocess.run(  # noqa: S603  # our own command
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    if run.returncode not in {0, 1}:
        raise SystemExit(f"narrate check ended with exit code {run.returncode}: {run.stderr.strip()[-500:]}")
    answers = json.loads(run.stdout)
    return {Path(one["file"]).name: one for one in answers}


def write_all(folder: Path, essays: Sequence[Essay], plants: Sequence[Plant]) -> None:
    """Write clean essays as `<name>.md` and spoiled ones as `plant-<number>.md`."""
    for essay in essays:
        (folder / f"{essay.name}.md").write_text(essay.markdown, "utf-8", newline="")
    for number, one in enumerate(plants):
        (folder / f"plant-{number:04}.md").write_text(one.markdown, "utf-8", newline="")


def judge(plants: Sequence[Plant], answers: dict[str, Answer]) -> list[Verdict]:
    """See whether each plant was found. A failure the clean essay has too, moved as the text moved, counts for none."""
    verdicts = []
    for number, one in enumerate(plants):
        known = {
            (failure["kind"], one.moved(tuple(failure["span"])))
            for failure in answers[f"{one.essay.name}.md"]["failures"]
        }
        failures = answers[f"plant-{number:04}.md"]["failures"]
        fresh = [failure for failure in failures if (failure["kind"], tuple(failure["span"])) not in known]
        hits = [failure for failure in fresh if any(_overlaps(failure["span"], place) for place in one.places)]
        apt = any(failure["kind"] in EXPECTED[one.kind] for failure in hits)
        said = tuple(f"{failure['kind']} {failure['text'][:80]!r}: {failure['says']}" for failure in fresh)
        verdicts.append(Verdict(one, bool(hits), apt, said))
    return verdicts


def _overlaps(one: Sequence[int], other: Sequence[int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def judged(answer: Answer) -> int:
    """Statements of an essay that were judged."""
    counts = answer["counts"]
    return int(counts["citations"] + counts["quotations"] + counts["figures"] - counts["unjudged"])
