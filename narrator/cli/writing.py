"""An essay written by whoever was chosen, and how its draft names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from narrator.cli.saving import Saver
    from narrator.draft import Draft, ModelRef
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.prices import Price
    from narrator.prompt import Prompt
    from narrator.session import Session

REPAIRS = 1
"""Rounds of repair unless `--repair` says otherwise."""


class Repairs(NamedTuple):
    """How often failing sentences are sent back."""

    rounds: int
    keep: Callable[[Draft], None]
    """Saves the essay before."""


class Asked(NamedTuple):
    """Who writes, and what was set: with session, target and style the identity of a draft."""

    model: ModelRef | None
    """None: the offline writer."""
    settings: dict[str, Any]
    """What the call set that makes another essay, by the names of its options."""
    price: Price | None = None
    """What tokens cost by `--price`; no part of the identity."""


class Plan(NamedTuple):
    """What is asked, and how its draft names who is, and what was set."""

    prompt: Prompt
    asked: Asked


def read_asked(
    settings: Settings | None, lookups: int, repair: int, price: str | None = None, **shaping: str | int | None
) -> Asked:
    """What identifies the essay: name and address of the writer, and whatever was set that can change its words.

    Look-ups, rounds of repair and the limit of the answer are a model's; what shapes the prompt (`shaping`) shapes the
    offline writer's essay too.
    """
    from narrator.draft import ModelRef
    from narrator.lookup import Bounds
    from narrator.prices import parse_price

    per_token = parse_price(price) if price is not None else None
    chosen = {name: value for name, value in shaping.items() if value}
    if settings is None:
        return Asked(None, chosen, per_token)
    if lookups != Bounds().rounds:
        chosen["lookups"] = lookups
    if settings.max_output_tokens:
        chosen["max_output_tokens"] = settings.max_output_tokens
    if repair != REPAIRS:
        chosen["repair"] = repair
    address = settings.address if settings.base_url else None
    return Asked(ModelRef(name=settings.model, base_url=address), chosen, per_token)


def find_place(prompt: Prompt, asked: Asked, drafts: Path) -> Path:
    """Where the draft of this essay is, or would be."""
    from narrator.draft import StyleRef, draft_path, identity, slug

    session, index = prompt.context.session, prompt.context.target.index
    style = StyleRef(name=prompt.style.name, version=prompt.style.version)
    digest = identity(session.sha256, index, style, asked.model, asked.settings)
    return draft_path(drafts, slug(session.title, session.id), index, style.name, digest)


def place_draft(prompt: Prompt, asked: Asked, drafts: Path, *, force: bool) -> Path:
    """Where the draft goes; raises ExistsError for the same essay again, before a model is asked."""
    from narrator.disk import check_place

    path = find_place(prompt, asked, drafts)
    check_place(path, what="this essay", force=force, hint=f"`narrate render {path}` makes a page of it, ")
    return path


class Planner:
    """Makes plans that differ in their budget alone."""

    def __init__(self, make: Callable[..., Prompt], ask: Callable[..., Asked], drafts: Path, *, force: bool) -> None:
        """Plan with `make` (`prepare`) and `ask` (`read_asked`), which take the budget; drafts go to `drafts`."""
        self._make, self._ask = make, ask
        self._drafts, self._force = drafts, force

    def plan(self, budget: int | None, *, again: bool = False) -> Plan:
        """What is asked with so many tokens for target and window."""
        return Plan(self._make(budget=budget, again=again), self._ask(budget=budget))

    def place(self, plan: Plan) -> Path:
        """Where its draft goes; raises ExistsError for the same essay again."""
        return place_draft(plan.prompt, plan.asked, self._drafts, force=self._force)

    def smaller(self, saver: Saver) -> Callable[[int], Plan]:
        """What makes a plan with less, and has its draft saved where such a one belongs."""

        def shrink(budget: int) -> Plan:
            less = self.plan(budget, again=True)
            if saver.saves:
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
        from narrator.cli.output import complain
        from narrator.offline import OfflineWriter

        return narrate(session, plan.prompt, OfflineWriter(), None, settings=plan.asked.settings, notice=complain)
    from narrator.cli.shrinking import shrink_once
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter

    with progress_line(settings.model) as (progress, notice):
        call = Endpoint(settings, progress=progress, notice=notice).begin()
        writer = ModelWriter(call, session, bounds)

        def write(plan: Plan) -> Draft:
            return narrate(
                session,
                plan.prompt,
                writer,
                plan.asked.model,
                repairs=repairs.rounds,
                settings=plan.asked.settings,
                price=plan.asked.price,
                keep=repairs.keep,
                notice=notice,
            )

        return shrink_once(write, plan, smaller, answer=settings.max_output_tokens, notice=notice)


def bill(draft: Draft) -> str:
    """What an essay took, for its reader: tokens in and out, and dollars where a price is known."""
    from narrator.prices import dollars

    if draft.usage is None:
        return "tokens: not counted by the endpoint; cost unknown"
    usage, cost = draft.usage, draft.cost
    cached = f" ({usage.cached:,} cached)" if usage.cached else ""
    told = f"cost {dollars(cost.usd)} by {cost.source}" if cost is not None else "cost unknown: no price for it"
    return f"tokens: {usage.input:,} in{cached}, {usage.output:,} out; {told}"
