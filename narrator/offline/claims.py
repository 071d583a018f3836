"""Sentences that are true by construction: each is a rule applied to fields of the record.

A claim names its rule and the fields it read, so that anybody can read the same fields in the recording again, apply
the same rule, and must come to the same words (`tests/test_offline.py` does that for every sentence).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = str | int | bool | None


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
    """Name of the function in `sentences` that made it; "" for words that state no fact of the session."""
    text: str
    """Markdown, without its citation."""
    fields: tuple[Field, ...] = ()
    cites: tuple[int, ...] = ()
    """Messages it rests on, ascending."""


def state(rule: Callable[..., str], *fields: Field, cite: Sequence[int] = ()) -> Claim:
    """Apply `rule` to the values of `fields`, and cite the messages they come from (or `cite`)."""
    text = rule(*(field.value for field in fields))
    indices = set(cite) or {field.message for field in fields if field.message is not None}
    return Claim(rule.__name__, text, fields, tuple(sorted(indices)))


def frame(text: str) -> Claim:
    """Words that state no fact of the session: headings, transitions, general lessons."""
    return Claim("", text)


def paragraph(claims: Sequence[Claim]) -> str:
    """The claims as one paragraph; sentences in a row that rest on the same messages are cited once, at their end."""
    sentences = []
    for place, claim in enumerate(claims):
        following = claims[place + 1] if place + 1 < len(claims) else None
        repeated = following is not None and following.cites == claim.cites
        sentences.append(claim.text if repeated else _cited(claim.text, claim.cites))
    return " ".join(sentence for sentence in sentences if sentence)


def _cited(text: str, indices: Sequence[int]) -> str:
    if not indices:
        return text
    mark = f"[msg {', '.join(str(index) for index in indices)}]"
    return f"{text[:-1]} {mark}." if text.endswith(".") else f"{text} {mark}"


def rules_of(module: object) -> dict[str, Callable[..., str]]:
    """Name → rule, for whoever wants to apply one again."""
    return {name: rule for name, rule in vars(module).items() if inspect.isfunction(rule) and not name.startswith("_")}
