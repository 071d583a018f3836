"""What is asked for one essay, and under which identity its draft is kept.

The same for one essay and for each of a batch: the same prompt to the byte, the same identity, the same file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from narrator.context import DEFAULT_BUDGET, Reach, take_context
from narrator.draft import ModelRef, StyleRef, draft_path, identity, slug
from narrator.errors import UsageError
from narrator.language import ENGLISH, name_language
from narrator.lookup import Bounds
from narrator.model import Settings
from narrator.prices import Price
from narrator.prompt import Prompt, build_prompt
from narrator.record import Record
from narrator.session import Session
from narrator.style import Style, adapt_style, load_style

REPAIRS = 1
"""Rounds of repair unless `--repair` says otherwise."""


class Manner(Record):
    """How an essay is written."""

    style: str = "essay"
    """A name, or a folder."""
    length: int | None = None
    """Words that are asked for; None for the style's own length."""
    language: str | None = None
    """As it was given; None for the style's own."""


class Terms(Record):
    """What holds for an essay whatever its message and its manner."""

    settings: Settings | None = None
    """Who is asked; None: the offline writer."""
    budget: int | None = None
    """Tokens for target and window; None for the default."""
    before: int = 0
    after: int = 0
    lookups: int = Bounds().rounds
    """Rounds in which the model may look things up."""
    repair: int = REPAIRS
    """Rounds that send failing sentences back."""
    price: Price | None = None
    """What the caller says tokens cost; no part of the identity."""
    redact: bool = True
    """Mask known secrets; no part of the identity."""

    @property
    def bounds(self) -> Bounds | None:
        """How much may be looked up; None for the offline writer, which is offered nothing."""
        return None if self.settings is None else Bounds(rounds=self.lookups)


class Asked(NamedTuple):
    """Who writes, and what was set: with session, target and style the identity of a draft."""

    model: ModelRef | None
    """None: the offline writer."""
    settings: dict[str, Any]
    """What the call set that makes another essay, by the names of its options."""
    price: Price | None = None
    """What tokens cost by `--price`; no part of the identity."""


class Request(NamedTuple):
    """What is asked, and how its draft names who is, and what was set."""

    prompt: Prompt
    asked: Asked


def read_style(manner: Manner) -> Style:
    """The style of that name, as long and in the language that the manner says.

    Raises:
        UsageError: no such language, or a length that does not fit.
        StyleError: no such style, or a mistake in it.
    """
    try:
        named = name_language(manner.language) if manner.language is not None else None
    except ValueError as error:
        raise UsageError(f"--language {manner.language!r} {error}") from error
    return adapt_style(load_style(manner.style), length=manner.length, language=named)


def read_asked(style: Style, length: int | None, terms: Terms) -> Asked:
    """What identifies the essay: name and address of the writer, and whatever was set that can change its words.

    Look-ups, rounds of repair and the limit of the answer are a model's; what shapes the prompt shapes the offline
    writer's essay too, but not its language: it writes English alone.
    """
    settings = terms.settings
    spoken = None if settings is None or style.language == ENGLISH else style.language
    shaping = {"length": length, "language": spoken, "before": terms.before, "after": terms.after}
    chosen: dict[str, Any] = {name: value for name, value in shaping.items() if value}
    if terms.budget:
        chosen["budget"] = terms.budget
    if settings is None:
        return Asked(None, chosen, terms.price)
    if terms.lookups != Bounds().rounds:
        chosen["lookups"] = terms.lookups
    if settings.max_output_tokens:
        chosen["max_output_tokens"] = settings.max_output_tokens
    if terms.repair != REPAIRS:
        chosen["repair"] = terms.repair
    address = settings.address if settings.base_url else None
    return Asked(ModelRef(name=settings.model, base_url=address), chosen, terms.price)


def ask(session: Session, target: int, style: Style, length: int | None, terms: Terms) -> Request:
    """The request for the essay about message `target`.

    Raises:
        UsageError: the budget is too small for the target or for `before` and `after`.
    """
    budget = DEFAULT_BUDGET if terms.budget is None else terms.budget
    context = take_context(session, target, Reach(budget=budget, before=terms.before, after=terms.after))
    return Request(build_prompt(context, style, lookups=terms.bounds), read_asked(style, length, terms))


def digest_of(sha256: str, target: int, style: Style, asked: Asked) -> str:
    """The identity of the draft about message `target` of the session with that hash."""
    return identity(sha256, target, StyleRef(name=style.name, version=style.version), asked.model, asked.settings)


def find_place(request: Request, drafts: Path) -> Path:
    """Where the draft of this essay is, or would be."""
    prompt, asked = request
    session, index = prompt.context.session, prompt.context.target.index
    digest = digest_of(session.sha256, index, prompt.style, asked)
    return draft_path(drafts, slug(session.title, session.id), index, prompt.style.name, digest)
