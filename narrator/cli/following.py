"""A batch while it runs: a bar on a terminal, a line for each essay elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from narrator.batch.job import Outcome
    from narrator.batch.report import Tally


@contextmanager
def follow(tally: Tally) -> Iterator[tuple[Callable[[Outcome], None], Callable[[str], None]]]:
    """Gives what shows an outcome that `tally` has counted, and what prints a line meanwhile.

    Whether stderr is a terminal is asked of the stream itself: FORCE_COLOR makes the library draw into pipes.
    """
    from narrator.cli.output import complain

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _Lines(tally), complain
        return
    with _bar(tally) as bar:
        yield bar


class _Lines:
    """A line for each outcome: `[3/120] session.json msg 17: done`."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def __call__(self, outcome: Outcome) -> None:
        from narrator.sanitize import one_line

        place = f"[{len(self._tally.outcomes)}/{self._tally.total}]"
        typer.echo(f"{place} {one_line(outcome_line(outcome), 1000)}", err=True)


def outcome_line(outcome: Outcome) -> str:
    """`session.json msg 17: failed: why`."""
    from narrator.cli.planning import named

    why = f": {outcome.why}" if outcome.why else ""
    return f"{named(outcome)}: {outcome.state}{why}"


@contextmanager
def _bar(tally: Tally) -> Iterator[tuple[Callable[[Outcome], None], Callable[[str], None]]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    from narrator.sanitize import one_line

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[told]}", markup=False))
    begun = time.monotonic()
    with Progress(*columns, console=console, transient=True, expand=False) as progress:
        task = progress.add_task("", total=tally.total, told="")

        def notice(line: str) -> None:
            progress.console.print(Text(f"narrate: {one_line(line, 1000)}"))

        def show(outcome: Outcome) -> None:
            if outcome.state != "done":
                notice(outcome_line(outcome))
            progress.update(task, completed=len(tally.outcomes), told=told(tally, time.monotonic() - begun))

        yield show, notice


def told(tally: Tally, seconds: float) -> str:
    """What stands beside the bar: pace, time left, tokens, cost, failures."""
    from narrator.cli.planning import money, span

    ended = len(tally.outcomes)
    pace = ended / seconds if seconds > 0 else 0.0
    parts = [f"{pace * 60:.1f}/min"]
    if pace and ended < tally.total:
        parts.append(f"{span((tally.total - ended) / pace)} left")
    if tally.counted:
        parts.append(f"{_short(tally.usage.input)} in, {_short(tally.usage.output)} out")
    if tally.cost is not None and tally.priced:
        parts.append(money(tally.cost.usd))
    if failed := tally.count("failed"):
        parts.append(f"{failed} failed")
    return " · ".join(parts)


def _short(number: int) -> str:
    """A number of tokens in few characters."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)
