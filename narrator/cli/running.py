"""A batch planned, told, carried out and reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

if TYPE_CHECKING:
    from narrator.batch.job import Outcome, Plan, Problem
    from narrator.batch.plan import Aim
    from narrator.batch.report import Tally
    from narrator.batch.store import Store
    from narrator.cli.gathering import Gathered

MOST_LISTED = 100
"""Failures that are listed at the end; the report has all."""


class Desk(NamedTuple):
    """Where things go."""

    drafts: str
    report: str | None
    """`-`: stdout, which holds nothing else then."""
    dry_run: bool
    offline: bool
    """Nobody need be told that the offline writer writes."""
    cluster: str | None = None
    """Address of the scheduler whose workers write; None: this machine does."""


def carry_out(gathered: Gathered, aim: Aim, desk: Desk) -> None:
    """Plan what was gathered, and carry it out unless it is a dry run; a typer.Exit says how it ended.

    Raises:
        UsageError: nothing of it can be used.
    """
    from narrator.batch.plan import make_plan
    from narrator.batch.report import Tally
    from narrator.batch.store import open_store
    from narrator.cli.essay import OFFLINE_NOTE
    from narrator.cli.output import complain, warn
    from narrator.cli.planning import plan_lines, plan_table

    store = open_store(desk.drafts)
    started = datetime.now(UTC)
    _check_report(desk.report, [wanted.session for wanted in gathered.wanted])
    if not aim.terms.redact:
        warn(["--no-redact: secrets in the recordings go into prompts and drafts as they are"])
    plan = make_plan(
        gathered.wanted, store, aim, problems=gathered.problems, notice=lambda line: complain(f"warning: {line}")
    )
    _refuse_nothing(plan)
    _list_problems(plan.problems)
    tally = Tally(plan)
    if aim.terms.settings is None and not desk.offline:
        complain(OFFLINE_NOTE)
    if desk.dry_run:
        for line in plan_table(plan, aim.limits):
            typer.echo(line, err=desk.report == "-")
        _write_report(desk.report, tally, started, "planned")
    else:
        for line in plan_lines(plan, aim.limits):
            complain(line)
        with _reported(desk.report, tally, started):
            _write(plan, store, aim, tally, desk.cluster)
    if not tally.clean:
        raise typer.Exit(1)


def _write(plan: Plan, store: Store, aim: Aim, tally: Tally, cluster: str | None) -> None:
    """Have the essays written; what failed for good is marked beside the drafts."""
    from narrator.batch.claims import sweep
    from narrator.batch.dask import spread
    from narrator.batch.run import run_batch
    from narrator.batch.saved import Marks
    from narrator.cli.following import follow
    from narrator.cli.output import warn
    from narrator.errors import DraftError

    sweep(store, plan)
    if not plan.groups:
        return
    if not store.check():
        warn(
            [f"{store.place} cannot make a file only if there is none: two runs may write an essay twice; use --shard"]
        )
    marks = Marks(store, plan.marked)
    with follow(tally) as (show, notice):

        def tell(outcome: Outcome) -> None:
            tally.add(outcome)
            show(outcome)
            try:
                marks.note(outcome, datetime.now(UTC))
            except DraftError as error:
                warn([str(error)])

        if cluster is not None:
            spread(plan, aim.limits, cluster, tell, redo=aim.redo)
        else:
            run_batch(plan, aim.limits, store, tell, notice=notice, replace=aim.redo)


@contextmanager
def _reported(report: str | None, tally: Tally, started: datetime) -> Iterator[None]:
    """Sum up and write the report, also of a run that was interrupted."""
    from narrator.cli.output import complain
    from narrator.cli.planning import summary_lines
    from narrator.errors import NarratorError

    state, told = "interrupted", True
    try:
        yield
        state = "done"
    except NarratorError:
        told = bool(tally.outcomes)  # else its one line is all there is to say
        raise
    finally:
        if told:
            for line in summary_lines(tally, datetime.now(UTC) - started, most=MOST_LISTED):
                complain(line)
            _write_report(report, tally, started, state)


def _refuse_nothing(plan: Plan) -> None:
    """Exit 2 where everything that was asked for is a problem."""
    from narrator.errors import UsageError

    if plan.problems and not (plan.groups or plan.done or plan.given_up):
        first = plan.problems[0]
        more = f" (and {len(plan.problems) - 1} more)" if len(plan.problems) > 1 else ""
        raise UsageError(f"nothing to write: {_told(first)}{more}")


def _list_problems(problems: Iterable[Problem]) -> None:
    from narrator.cli.output import warn

    listed = list(problems)
    warn(_told(problem) for problem in listed[:MOST_LISTED])
    if len(listed) > MOST_LISTED:
        warn([f"… and {len(listed) - MOST_LISTED} more; --report FILE has all"])


def _told(problem: Problem) -> str:
    """A problem, with where it is unless it says so itself."""
    return problem.why if problem.where in problem.why else f"{problem.where}: {problem.why}"


def _check_report(report: str | None, sessions: Iterable[str]) -> None:
    """Raise, before anything is sent, when the report could not be written there."""
    from narrator.disk import check_place
    from narrator.errors import UsageError

    if report is None or report == "-":
        return
    path = Path(report)
    check_place(path, what="the report", force=True)
    if path.exists() and any(Path(session).exists() and path.samefile(session) for session in sessions):
        raise UsageError(f"--report {report}: this is a recording itself")


def _write_report(report: str | None, tally: Tally, started: datetime, state: str) -> None:
    import json

    from narrator.batch.report import report_json
    from narrator.cli.output import complain
    from narrator.disk import write_whole

    if report is None:
        return
    document = report_json(tally, started, datetime.now(UTC), state=state)
    text = json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode() + "\n"
    if report == "-":
        typer.echo(text, nl=False)
    else:
        write_whole(Path(report), text)
        complain(f"wrote {report}")
