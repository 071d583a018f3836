"""An essay written by whoever was chosen, and how its draft names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from narrator.cli.saving import Saver
    from narrator.context import Context
    from narrator.draft import Draft, ModelRef
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.prompt import Prompt
    from narrator.session import Session

REPAIRS = 1
"""Rounds of repair unless `--repair` says otherwise."""


class Plan(NamedTuple):
    """What is asked, and how its draft names who is."""

    prompt: Prompt
    reference: ModelRef | None


class Repairs(NamedTuple):
    """How often failing sentences are sent back."""

    rounds: int
    keep: Callable[[Draft], None]
    """Saves the essay before."""


def reference_of(settings: Settings | None, lookups: int, **asked: int | None) -> ModelRef | None:
    """What identifies the writer in a draft: name, address and whatever was set; None for the offline writer."""
    from narrator.draft import ModelRef
    from narrator.lookup import Bounds

    if settings is None:
        return None
    chosen = {name: value for name, value in asked.items() if value}
    if lookups != Bounds().rounds:
        chosen["lookups"] = lookups
    if settings.max_output_tokens:
        chosen["max_output_tokens"] = settings.max_output_tokens
    return ModelRef(name=settings.model, base_url=settings.address if settings.base_url else None, settings=chosen)


def with_repairs(reference: ModelRef | None, rounds: int) -> ModelRef | None:
    """The writer with how often it is asked to repair, where that is not the usual."""
    if reference is None or rounds == REPAIRS:
        return reference
    return reference.model_copy(update={"settings": {**reference.settings, "repair": rounds}})


def place_draft(context: Context, prompt: Prompt, model: ModelRef | None, drafts: Path, *, force: bool) -> Path:
    """Where the draft goes; raises ExistsError for the same essay again, before a model is asked."""
    from narrator.draft import StyleRef, check_place, draft_path, identity, slug

    style = StyleRef(name=prompt.style.name, version=prompt.style.version)
    digest = identity(context.session.sha256, context.target.index, style, model)
    folder = slug(context.session.title, context.session.id)
    path = draft_path(drafts, folder, context.target.index, style.name, digest)
    check_place(path, what="this essay", force=force, hint=f"`narrate render {path}` makes a page of it, ")
    return path


class Planner(NamedTuple):
    """Makes plans that differ in their budget alone."""

    make: Callable[..., Prompt]
    """The prompt, given `budget` and `again` (`preparing.prepare`)."""
    refer: Callable[..., ModelRef | None]
    """The writer, given `budget` (`reference_of`)."""
    repairs: int
    drafts: Path | None
    """None: no draft is saved."""
    force: bool

    def plan(self, budget: int | None, *, again: bool = False) -> Plan:
        """What is asked with so many tokens for target and window."""
        return Plan(self.make(budget=budget, again=again), with_repairs(self.refer(budget=budget), self.repairs))

    def place(self, plan: Plan) -> Path | None:
        """Where its draft goes; raises ExistsError for the same essay again."""
        if self.drafts is None:
            return None
        return place_draft(plan.prompt.context, plan.prompt, plan.reference, self.drafts, force=self.force)

    def smaller(self, saver: Saver) -> Callable[[int], Plan]:
        """What makes a plan with less, and has its draft saved where such a one belongs."""

        def shrink(budget: int) -> Plan:
            less = self.plan(budget, again=True)
            saver.move(self.place(less))
            return less

        return shrink


def write_draft(
    session: Session,
    plan: Plan,
    settings: Settings | None,
    bounds: Bounds | None,
    repairs: Repairs,
    smaller: Callable[[int], Plan],
) -> Draft:
    """Have the essay written, by the endpoint's model or offline, with a live line on a terminal.

    `smaller` gives the plan with another budget, for a model that the prompt is too long for.
    """
    from narrator.cli.output import progress_line
    from narrator.pipeline import narrate

    if settings is None or bounds is None:
        from narrator.offline import OfflineWriter

        return narrate(session, plan.prompt, OfflineWriter(), plan.reference)
    from narrator.cli.shrinking import shrink_once
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter

    with progress_line(settings.model) as (progress, notice):
        call = Endpoint(settings, progress=progress, notice=notice).begin()
        writer = ModelWriter(call, session, bounds)

        def write(plan: Plan) -> Draft:
            asked = plan.prompt, writer, plan.reference
            return narrate(session, *asked, repairs=repairs.rounds, keep=repairs.keep, notice=notice)

        return shrink_once(write, plan, smaller, answer=settings.max_output_tokens, notice=notice)
