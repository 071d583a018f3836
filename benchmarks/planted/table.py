"""The figures of a run as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from planted.essay import Essay
from planted.measure import Answer, Verdict, judged
from planted.plant import HARD, MECHANICAL


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share (Wilson's score), between 0 and 1; all of it where nothing was drawn."""
    if not total:
        return 0.0, 1.0
    z, share = 1.959964, hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, total: int) -> str:
    """`93.3 % (90.1–95.6)`."""
    low, high = wilson(hits, total)
    return f"{100 * hits / total:.1f} % ({100 * low:.1f}–{100 * high:.1f})" if total else "none drawn"


def kinds_table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A row a kind, and one for all mechanical ones."""
    yield "| kind | planted | found | share found (95 % interval) | named aptly | essays |"
    yield "|---|---:|---:|---|---:|---:|"
    for kind in MECHANICAL:
        yield _row(kind, [one for one in verdicts if one.plant.kind == kind])
    yield _row("**all mechanical kinds**", [one for one in verdicts if one.plant.kind in MECHANICAL])
    for kind in HARD:
        yield _row(f"{kind} (hard)", [one for one in verdicts if one.plant.kind == kind])
    yield _row("**all**", verdicts)


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    found, apt = sum(one.found for one in verdicts), sum(one.apt for one in verdicts)
    essays = len({one.plant.essay.name for one in verdicts})
    return f"| {name} | {len(verdicts)} | {found} | {share(found, len(verdicts))} | {apt} | {essays} |"


def clean_table(essays: Sequence[Essay], answers: dict[str, Answer]) -> Iterator[str]:
    """A row a writer: true statements, how many were accused, how many could not be judged."""
    yield "| clean essays by | essays | statements judged | accused | share accused (95 % interval) | unjudged |"
    yield "|---|---:|---:|---:|---|---:|"
    for writer in ("strong", "offline", ""):
        own = [answers[f"{essay.name}.md"] for essay in essays if not writer or essay.writer == writer]
        total, accused = sum(judged(one) for one in own), sum(len(one["failures"]) for one in own)
        unjudged = sum(one["counts"]["unjudged"] for one in own)
        name = {"strong": "a strong writer", "offline": "the offline writer"}.get(writer, "**both**")
        yield f"| {name} | {len(own)} | {total} | {accused} | {share(accused, total)} | {unjudged} |"
