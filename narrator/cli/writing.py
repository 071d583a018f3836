"""An essay written by whoever was chosen, and how its draft names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from narrator.asking import Request
    from narrator.cli.saving import Saver
    from narrator.draft import Draft
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.session import Session
    from narrator.steps import Steps


class Repairs(NamedTuple):
    """How often failing sentences are sent back."""

    rounds: int
    keep: Callable[[Draft], None]
    """Saves the essay before."""


def place_draft(request: Request, drafts: Path, *, force: bool) -> Path:
    """Where the draft goes; raises ExistsError for the same essay again, before a model is asked."""
    from narrator.asking import find_place
    from narrator.disk import check_place

    path = find_place(request, drafts)
    check_place(path, what="this essay", force=force, hint=f"`narrate render {path}` makes a page of it, ")
    return path


class Planner:
    """Makes requests that differ in their budget alone."""

    def __init__(self, make: Callable[..., Request], drafts: Path, *, force: bool) -> None:
        """Plan with `make` (`prepare`), which takes the budget; drafts go to `drafts`."""
        self._make, self._drafts, self._force = make, drafts, force

    def plan(self, budget: int | None, *, again: bool = False) -> Request:
        """What is asked with so many tokens for target and window."""
        return self._make(budget=budget, again=again)

    def place(self, request: Request) -> Path:
        """Where its draft goes; raises ExistsError for the same essay again."""
        return place_draft(request, self._drafts, force=self._force)

    def smaller(self, saver: Saver) -> Callable[[int], Request]:
        """What makes a request with less, and has its draft saved where such a one belongs."""

        def shrink(budget: int) -> Request:
            less = self.plan(budget, again=True)
            if saver.saves:
                saver.move(self.place(less))
            return less

        return shrink


def write_draft(
    session: Session,
    request: Request,
    settings: Settings | None,
    bounds: Bounds | None,
    repairs: Repairs,
    smaller: Callable[[int], Request],
) -> Draft:
    """Have the essay written, by the endpoint's model or offline, with a live line on a terminal.

    `smaller` gives the request with another budget, for a model that the prompt is too long for.
    """
    from narrator.cli.output import progress_line
    from narrator.pipeline import narrate

    if settings is None or bounds is None:
        from narrator.cli.output import complain
        from narrator.offline import OfflineWriter

        return narrate(session, request.prompt, OfflineWriter(), None, settings=request.asked.settings, notice=complain)
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter, essay_steps
    from narrator.shrinking import shrink_once
    from narrator.steps import follow

    with progress_line(settings.model) as (progress, notice):
        call = Endpoint(settings, progress=progress, notice=notice).begin()

        def write(request: Request) -> Steps[Draft]:
            return essay_steps(
                session,
                request.prompt,
                request.asked.model,
                repairs=repairs.rounds,
                settings=request.asked.settings,
                price=request.asked.price,
                keep=repairs.keep,
                notice=notice,
            )

        steps = shrink_once(write, request, smaller, answer=settings.max_output_tokens, notice=notice)
        return follow(steps, ModelWriter(call, session, bounds).write)


def bill(draft: Draft) -> str:
    """What an essay took, for its reader: tokens in and out, and dollars where a price is known."""
    from narrator.prices import dollars

    if draft.usage is None:
        return "tokens: not counted by the endpoint; cost unknown"
    usage, cost = draft.usage, draft.cost
    cached = f" ({usage.cached:,} cached)" if usage.cached else ""
    told = f"cost {dollars(cost.usd)} by {cost.source}" if cost is not None else "cost unknown: no price for it"
    return f"tokens: {usage.input:,} in{cached}, {usage.output:,} out; {told}"
