"""Sentences that are true by construction: each is a rule applied to fields of the record.

A claim names its rule and the fields it read, so that anybody can read the same fields in the recording again, apply
the same rule, and must come to the same words (`tests/test_offline.py` does that for every sentence).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple


class Field(NamedTuple):
    """One value read from the record."""

    message: int | None
    """The message; None for a count over the session."""
    name: str
    """Path of the field as `jq` would take it, or `count(KIND)` of messages of a kind."""
    value: Any


class Claim(NamedTuple):
    """One sentence, or a clause of the essay's frame."""

    rule: str
    """Name of the function that made it; "" for words that state no fact of the session."""
    text: str
    """Markdown, without its citation."""
    fields: tuple[Field, ...] = ()
    cites: tuple[int, ...] = ()
    """Messages it rests on, ascending."""
    form: int | None = None
    """Which of the rule's forms it has, where it has several that say the same."""


def state(rule: Callable[..., str], *fields: Field, cite: Sequence[int] = (), form: int | None = None) -> Claim:
    """Apply `rule` to the values of `fields`, and cite the messages they come from (or `cite`)."""
    values = [field.value for field in fields]
    text = rule(*values) if form is None else rule(*values, form=form)
    indices = set(cite) or {field.message for field in fields if field.message is not None}
    return Claim(rule.__name__, text, fields, tuple(sorted(indices)), form)


def frame(text: str) -> Claim:
    """Words that state no fact of the session: headings, transitions, general lessons."""
    return Claim("", text)


def paragraph(claims: Sequence[Claim]) -> str:
    """The claims as one paragraph; sentences in a row that rest on the same messages are cited once, at their end.

    A claim may be a clause that begins with a comma; it follows the one before it without a space.
    """
    sentences = []
    for place, claim in enumerate(claims):
        following = claims[place + 1] if place + 1 < len(claims) else None
        repeated = following is not None and following.cites == claim.cites
        sentences.append(claim.text if repeated else cited(claim.text, claim.cites))
    return "".join(f"{'' if sentence[0] == ',' else ' '}{sentence}" for sentence in sentences if sentence).strip(" ")


def cited(text: str, indices: Sequence[int]) -> str:
    """A sentence with its citation before the full stop."""
    if not indices:
        return text
    mark = f"[msg {', '.join(_ranges(indices))}]"
    return f"{text[:-1]} {mark}." if text.endswith(".") else f"{text} {mark}"


def _ranges(indices: Sequence[int]) -> Iterable[str]:
    """Numbers as they are cited: three and more in a row as a range."""
    start = 0
    for place, index in enumerate(indices):
        if place + 1 < len(indices) and indices[place + 1] == index + 1:
            continue
        run = indices[start : place + 1]
        yield from [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
        start = place + 1


def rules_of(*modules: ModuleType) -> dict[str, Callable[..., str]]:
    """Name → rule, for whoever wants to apply one again."""
    return {
        name: rule
        for module in modules
        for name, rule in vars(module).items()
        if inspect.isfunction(rule) and rule.__module__ == module.__name__ and not name.startswith("_")
    }
