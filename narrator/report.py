"""What a check of an essay found: every statement that was judged, and how.

`narrator.verify` makes it; a draft keeps it, a page marks it, a repair is given its failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from narrator.record import Record

FailureKind: TypeAlias = Literal[
    "no-such-message",
    "not-shown",
    "quote-not-found",
    "quote-altered",
    "wrong-message",
    "wrong-role",
    "figure-not-found",
    "wrong-order",
    "uncited",
    "prompt-words",
]
"""The closed list; `docs/checking.md` says what each means."""
Sort: TypeAlias = Literal["citation", "quotation", "figure", "claim"]
"""What a statement is. `claim`: a sentence or paragraph judged as a whole (who spoke, what came first, how a turn
ended, a paragraph without a citation, words of the product's own)."""
Verdict: TypeAlias = Literal["passed", "derived", "unjudged", "failed"]
"""`derived`: a figure that stands nowhere but follows by one documented operation from what does; `unjudged`: what
nothing in the evidence can prove or refute."""


class Match(Record):
    """Recorded words: those that bear a statement out, or the nearest true ones."""

    index: int
    """The message they stand in."""
    text: str
    """As recorded, white space included."""


class Statement(Record):
    """One thing an essay ties to the record, and what became of it."""

    span: tuple[int, int]
    """Half-open, in code points of the Markdown that was checked."""
    sort: Sort
    verdict: Verdict
    text: str
    """The Markdown of the span, on one line, not longer than a line."""
    cites: tuple[int, ...]
    """Messages it is tied to, ascending: those its citation names, or the citation that closes its claim."""
    kind: FailureKind | None = None
    """Why it failed; None unless it did."""
    says: str = ""
    """A sentence: why it failed, or from what a figure was derived; "" for what simply passed."""
    found: Match | None = None
    """The words that bear it out: of a quotation those it quotes, of a figure the figure as recorded. None where a
    statement of the record bears it out, or several."""
    nearest: Match | None = None
    """Of what failed, the nearest true words, where some are near."""


class Counts(Record):
    """How much was judged."""

    citations: int = 0
    """Citation brackets."""
    quotations: int = 0
    figures: int = 0
    """Derived ones included."""
    derived: int = 0
    unjudged: int = 0
    """Of all sorts."""
    failed: int = 0
    """Of all sorts."""


class Failure(Record):
    """What failed, as `narrate check --json` gives it."""

    kind: FailureKind
    span: tuple[int, int]
    """As in `Statement`; so are the others."""
    text: str
    cites: tuple[int, ...]
    says: str
    nearest: Match | None = None


class Report(Record):
    """All that was judged in one essay."""

    clean: bool
    """Whether nothing failed."""
    counts: Counts = Counts()
    failures: tuple[Failure, ...] = ()
    """Those of `statements` that failed, in order."""
    statements: tuple[Statement, ...] = ()
    """In the order of their spans."""


class Said(Record):
    """What the record states of one message."""

    index: int
    says: tuple[str, ...]
    """In the product's words, as the writer was told."""


class Known(Record):
    """What a writer knew beside the messages its draft keeps, so that the essay can be checked without the session."""

    messages: int
    """How many the session has."""
    shown: tuple[int, ...]
    """Those the writer saw, whole or in part, ascending."""
    says: tuple[str, ...]
    """What it was told of the session as a whole and of the target's place in it, in the product's words."""
    record: tuple[Said, ...]
    """What the record states of every message the essay cites."""


class Check(Report):
    """The report that a draft keeps: made when the essay was written, against all of the session."""

    known: Known | None = None


class Repair(Record):
    """What a round of repair made of one failing sentence."""

    round: int
    """From 1."""
    before: str
    """The sentence as it stood, Markdown."""
    after: str
    """What came back for it; "" where nothing did, or where it was to be left out."""
    accepted: bool
    """Whether the essay has it now."""
    why: str
    """Why it was taken, or why not: a phrase."""
    how: Literal["corrected", "softened", "dropped"] | None = None
    """What the writer said it did: `softened` claims less, `dropped` leaves the sentence out."""


def make_report(statements: Iterable[Statement]) -> Report:
    """Put statements in order and count them."""
    ordered = tuple(sorted(statements, key=lambda statement: (statement.span, statement.sort)))
    sorts = Counter(statement.sort for statement in ordered)
    verdicts = Counter(statement.verdict for statement in ordered)
    counts = Counts(
        citations=sorts["citation"],
        quotations=sorts["quotation"],
        figures=sorts["figure"],
        derived=verdicts["derived"],
        unjudged=verdicts["unjudged"],
        failed=verdicts["failed"],
    )
    failures = tuple(
        Failure(kind=kind, span=one.span, text=one.text, cites=one.cites, says=one.says, nearest=one.nearest)
        for one in ordered
        if one.verdict == "failed" and (kind := one.kind) is not None
    )
    return Report(clean=not counts.failed, counts=counts, failures=failures, statements=ordered)


def report_json(report: Report) -> dict[str, Any]:
    """The shape of `narrate check --json`."""
    return report.model_dump(mode="json", include={"clean", "counts", "failures"})
