"""An essay written by whoever was chosen, and how its draft names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from narrator.context import Context
    from narrator.draft import Draft, ModelRef
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.prompt import Prompt
    from narrator.session import Session

REPAIRS = 1
"""Rounds of repair unless `--repair` says otherwise."""


class Repairs(NamedTuple):
    """How often failing sentences are sent back."""

    rounds: int
    keep: Callable[[Draft], None]
    """Saves the essay before."""


def reference_of(settings: Settings | None, lookups: int, **asked: int | str | None) -> ModelRef | None:
    """What identifies the writer in a draft: name, address and whatever was set; None for the offline writer."""
    from narrator.draft import ModelRef
    from narrator.lookup import Bounds

    if settings is None:
        return None
    chosen: dict[str, int | str] = {name: value for name, value in asked.items() if value}
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


def write_draft(
    session: Session,
    prompt: Prompt,
    settings: Settings | None,
    reference: ModelRef | None,
    bounds: Bounds | None,
    repairs: Repairs,
) -> Draft:
    """Have the essay written, by the endpoint's model or offline, with a live line on a terminal."""
    from narrator.cli.output import progress_line
    from narrator.pipeline import narrate

    if settings is None or bounds is None:
        from narrator.cli.output import complain
        from narrator.offline import OfflineWriter

        return narrate(session, prompt, OfflineWriter(), reference, notice=complain)
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter

    with progress_line(settings.model) as (progress, notice):
        writer = ModelWriter(Endpoint(settings, progress=progress, notice=notice), session, bounds)
        return narrate(session, prompt, writer, reference, repairs=repairs.rounds, keep=repairs.keep, notice=notice)
