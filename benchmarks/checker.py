"""How many planted errors `narrate check` finds, and how many true statements it accuses.

    python benchmarks/checker.py [--seed N] [--each N] [--only NAME] [--misses FILE] [--write FILE]

Takes clean essays about recorded sessions (benchmarks/planted/essays), plants errors of documented kinds into them, one
each, proves each false against the raw recording with code of its own (benchmarks/planted; nothing of `narrator`),
and runs `narrate check FOLDER SESSION --json` once a session. Prints a table; `--write` keeps it with date, seed and
commit, `--misses` lists what was not found and who was falsely accused. Essays whose sessions are not part of the
repository (../shared) are left out, and named, where that folder is absent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from planted.draw import HERE, ROOT, draw_plants, read_essays
from planted.essay import Essay
from planted.measure import Answer, Verdict, check_folder, judge, write_all
from planted.plant import HARD, SAYS, Plant
from planted.table import clean_table, kinds_table, share

SEED = 20261130
EACH = 50
"""Plants of a kind, where the essays allow so many."""


PAGE = """# How well the checker checks

`python benchmarks/checker.py --write docs/checking-benchmark.md` wrote this page. It takes essays that a reader has
checked sentence by sentence against the recordings (`benchmarks/planted/essays`), half of them by a strong model and
half by the offline writer, plants one error into each copy, and runs `narrate check` on all of them. A script that
imports nothing of `narrator` plants, and proves each error in the raw JSON of the recording:

| kind | what is planted, and what makes it false |
|---|---|
{kinds}

“Near” are the messages that the paragraph cites or names, and the essay's target. An error is found when a failure
that the clean essay does not have overlaps its place (of a moved citation: the claim it closes). Named aptly: with a
kind of failure that fits. Accused is every failure on a clean essay, counted against the statements judged. The
sessions of most essays are not part of the repository; where they are absent those essays are left out.

{report}
"""


def kinds() -> str:
    """A row a kind."""
    return "\n".join(f"| {kind}{' (hard)' if kind in HARD else ''} | {says} |" for kind, says in SAYS.items())


def run(essays: Sequence[tuple[Essay, Path]], plants: Sequence[Plant]) -> tuple[list[Verdict], dict[str, Answer]]:
    """Check every essay, clean and spoiled, session by session."""
    verdicts: list[Verdict] = []
    clean: dict[str, Answer] = {}
    for session in sorted({path for _, path in essays}):
        own = [essay for essay, path in essays if path == session]
        spoiled = [one for one in plants if one.essay in own]
        with tempfile.TemporaryDirectory() as folder:
            write_all(Path(folder), own, spoiled)
            answers = check_folder(Path(folder), session)
        verdicts += judge(spoiled, answers)
        clean |= {name: answer for name, answer in answers.items() if not name.startswith("plant-")}
    return verdicts, clean


def lines(
    arguments: argparse.Namespace,
    essays: Sequence[tuple[Essay, Path]],
    absent: Sequence[str],
    verdicts: Sequence[Verdict],
    clean: dict[str, Answer],
) -> Iterator[str]:
    """The report."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # the user's git
    yield f"{datetime.now(UTC):%Y-%m-%d} · seed {arguments.seed} · commit {commit.stdout.strip() or 'unknown'}"
    sessions = len({path for _, path in essays})
    targets = len({(path, essay.target) for essay, path in essays})
    yield f"{len(essays)} clean essays over {targets} targets in {sessions} sessions, {len(verdicts)} planted errors"
    if absent:
        yield f"left out, their sessions are not here: {', '.join(absent)}"
    yield ""
    yield from kinds_table(verdicts)
    yield ""
    yield from clean_table([essay for essay, _ in essays], clean)
    if not arguments.only:
        yield ""
        yield from speed()


def speed() -> Iterator[str]:
    """What `planted/speed.py` measures."""
    timing = subprocess.run([sys.executable, str(HERE / "speed.py")], capture_output=True, text=True, check=False)  # noqa: S603  # our own
    if timing.returncode:
        raise SystemExit(timing.stderr[-500:])
    figures = json.loads(timing.stdout)
    unjudged = share(figures["unjudged"], figures["sentences"])
    yield f"sentences with a digit or a quotation that are not judged: {unjudged}"
    yield (
        f"{figures['warm']:.1f} ms an essay against its evidence (slowest {figures['slowest']:.1f}); "
        f"reference: {figures['reference']:.1f} ms for one parse of the essay by markdown-it"
    )
    yield (
        f"{figures['cold']:.0f} ms an essay against its whole session, just opened (slowest {figures['coldest']:.0f}): "
        "every message is searched where a statement is found nowhere near"
    )


def misses(
    verdicts: Sequence[Verdict], essays: Sequence[tuple[Essay, Path]], clean: dict[str, Answer]
) -> Iterator[str]:
    """What was not found, and who was accused falsely, in full."""
    for essay, _ in essays:
        for failure in clean[f"{essay.name}.md"]["failures"]:
            sentence = _around(essay.markdown, failure["span"])
            yield f"ACCUSED  {essay.name}  {failure['kind']}: {failure['says']}"
            yield f"    place    {failure['text']}"
            yield f"    sentence {sentence}"
    for verdict in sorted(verdicts, key=lambda one: one.plant.kind):
        if not verdict.found:
            one = verdict.plant
            changed = f"{one.essay.markdown[one.start : one.end]!r} → {one.new!r}"
            yield f"MISSED   {one.kind}  {one.essay.name}  {changed[:400]}"
            yield f"    proof    {one.proof[:300]}"
            yield f"    sentence {_around(one.markdown, one.places[0])}"
            yield f"    said     {'; '.join(verdict.said) or 'nothing'}"


def _around(markdown: str, span: Sequence[int]) -> str:
    start, end = max(0, span[0] - 160), min(len(markdown), span[1] + 120)
    return markdown[start:end].replace("\n", " ")


def main() -> None:
    """Plant, check, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--each", type=int, default=EACH, help="plants of a kind")
    parser.add_argument("--only", default="", help="essays whose name holds this")
    parser.add_argument("--misses", type=Path, help="list what was not found, and false accusations, in this file")
    parser.add_argument("--write", type=Path, help="write the report there too")
    arguments = parser.parse_args()
    essays, absent = read_essays(arguments.only)
    plants = draw_plants([essay for essay, _ in essays], arguments.seed, arguments.each)
    verdicts, clean = run(essays, plants)
    report = "\n".join(lines(arguments, essays, absent, verdicts, clean))
    print(report)
    if arguments.misses:
        arguments.misses.write_text("\n".join(misses(verdicts, essays, clean)) + "\n", "utf-8")
    if arguments.write:
        arguments.write.write_text(PAGE.format(kinds=kinds(), report=report), "utf-8")


if __name__ == "__main__":
    main()
