"""Milliseconds an essay takes against its evidence, and the share of sentences that are not judged.

    python benchmarks/planted/speed.py

The one part of the benchmark that imports `narrator`: what is timed is `verify_essay`. An essay against its evidence is
the essay against the messages it cites and those beside them, already read, as a draft keeps them; beside it stands the
same essay against its whole session just opened, of which every message has to be searched where one statement is found
nowhere near. The reference, in the same run, is one parse of the same essay by markdown-it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from time import perf_counter

sys.path[:0] = [str(Path(__file__).resolve().parents[level]) for level in (1, 2)]

from markdown_it import MarkdownIt  # noqa: E402  # the checkout is put first

from narrator.citations import cited_indices  # noqa: E402  # behind the path of the checkout
from narrator.formats import open_session  # noqa: E402  # behind the path of the checkout
from narrator.verify import Evidence, Report, evidence_of_session, verify_essay  # noqa: E402  # behind the path of the checkout
from planted.draw import read_essays  # noqa: E402  # behind the path of the checkout
from planted.essay import Essay  # noqa: E402  # behind the path of the checkout

ROUNDS = 5
_BEARS = re.compile(r"[\d“\"`]")


def least(call: Callable[[], object]) -> float:
    """Milliseconds, the least of several runs."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        call()
        times.append(1000 * (perf_counter() - start))
    return min(times)


def sentences_unjudged(essay: Essay, report: Report) -> tuple[int, int]:
    """Sentences that hold a digit or a quotation, and how many of them hold no statement that was judged."""
    bearing, blank = 0, 0
    for start, end in essay.sentences:
        text = re.sub(r"\[msg [^\]]*\]", "", essay.markdown[start:end])
        if not _BEARS.search(text):
            continue
        bearing += 1
        own = [one for one in report.statements if one.span[0] < end and one.span[1] > start]
        told = [one for one in own if one.sort != "citation"]
        blank += not any(one.verdict != "unjudged" for one in told)
    return bearing, blank


def kept(evidence: Evidence, markdown: str) -> Evidence:
    """The messages an essay cites and those beside them, already read: what a draft keeps, and no session behind it."""
    cited, _ = cited_indices(markdown, {}, evidence.count or 0)
    near = {index + step for index in cited for step in (-1, 0, 1)} & set(range(evidence.count or 0))
    told = {index: evidence.message(index) for index in sorted(near)}
    says = evidence.session.record
    return Evidence(told.get, count=evidence.count, kept=told, says=lambda: says, target=evidence.target)


def measure(essay: Essay, path: str) -> tuple[float, float, float, int, int]:
    """Milliseconds against the whole session just opened, against the kept evidence, of the reference; sentences."""
    whole = evidence_of_session(open_session(path), essay.target)
    first = perf_counter()
    report = verify_essay(essay.markdown, whole)
    cold = 1000 * (perf_counter() - first)
    own = kept(whole, essay.markdown)
    parser = MarkdownIt("commonmark")
    warm = least(lambda: verify_essay(essay.markdown, own))
    return cold, warm, least(lambda: parser.parse(essay.markdown)), *sentences_unjudged(essay, report)


def main() -> None:
    """Print the figures as JSON."""
    essays, _ = read_essays()
    rows = [(essay, measure(essay, str(path))) for essay, path in essays]
    for essay, row in rows:
        print(f"{essay.name:<48} {row[0]:7.1f} {row[1]:7.1f} {row[2]:6.1f} {row[4]:3}/{row[3]}", file=sys.stderr)
    columns = list(zip(*(row for _, row in rows), strict=True))
    cold, warm, reference = (mean(column) for column in columns[:3])
    figures = {"warm": warm, "slowest": max(columns[1]), "reference": reference}
    figures |= {"cold": cold, "coldest": max(columns[0])}
    print(json.dumps(figures | {"sentences": sum(columns[3]), "unjudged": sum(columns[4])}))


if __name__ == "__main__":
    main()
