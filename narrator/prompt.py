"""A context and a style become the messages that are sent.

Order matters: instructions and style, then the session's outline, then window, findings and target, so that all
essays of one session share the longest prefix. Recorded text stands between delimiters that hold a key taken from the
hash of the whole session: the same in every run, and not to be known by whoever wrote the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from narrator.context import Context
from narrator.lookup import Bounds
from narrator.record import Record
from narrator.shortening import KEY_DIGITS
from narrator.style import Style, adapt_style
from narrator.templates import Templates
from narrator.tokens import count_tokens

KEYS = 9
"""Keys that a hash of 256 bits has digits for."""


class PromptMessage(Record):
    """One chat message."""

    role: Literal["system", "user"]
    content: str


class Prompt(Record):
    """What is sent to a model, and what it was made from."""

    messages: tuple[PromptMessage, ...]
    tokens: int
    """Estimated."""
    context: Context
    style: Style
    """As it is asked for: its length and language are those of this essay."""
    words: tuple[int, int]
    """Wanted length of the whole, the style's."""
    lookups: str = ""
    """What tells the model that it may look things up; "" when it may not."""

    def wire(self, *, lookups: bool = False) -> list[dict[str, str]]:
        """The messages as every OpenAI-compatible endpoint takes them; with `lookups`, beside the tools it tells of."""
        told = [{"role": message.role, "content": message.content} for message in self.messages]
        if lookups and self.lookups:
            told[0]["content"] += f"\n{self.lookups}"
        return told


def build_prompt(
    context: Context,
    style: Style,
    *,
    length: int | None = None,
    language: str | None = None,
    lookups: Bounds | None = None,
) -> Prompt:
    """The prompt for an essay in `style` about `context`'s target; `length` and `language` replace the style's.

    With `lookups` it has a part beside the messages that tells of the tools, and of how much may be looked up. All of
    a style's templates are tried, those too that only a repair needs: what is wrong shows before anything is sent.

    Raises:
        StyleError: a template is missing or wrong; names the file and line.
    """
    adapted = adapt_style(style, length=length, language=language)
    words = (adapted.words.least, adapted.words.most)
    key = delimiter_key(context)
    templates = Templates(adapted)
    templates.check()
    render = templates.render
    facts = {"style": adapted, "words": words, "key": key, "context": context, "target": context.centre}
    messages = (
        PromptMessage(role="system", content=render("system.md.j2", facts)),
        PromptMessage(role="user", content=render("user.md.j2", facts)),
    )
    guide = render("lookups.md.j2", {**facts, "bounds": lookups}) if lookups is not None and lookups.rounds else ""
    _try_others(templates, facts)
    tokens = sum(count_tokens(text) for text in (*(message.content for message in messages), guide))
    return Prompt(messages=messages, tokens=tokens, context=context, style=adapted, words=words, lookups=guide)


def _try_others(templates: Templates, facts: dict[str, Any]) -> None:
    """Fill in the templates that are needed only later, or not at all, with something like what they will be given."""
    context: Context = facts["context"]
    finding = {"kind": "quote-not-found", "text": "a", "says": "b", "nearest": 0, "nearest_text": "c"}
    item = {"text": "a", "kind": "in a list", "heading": "b", "findings": [finding], "tried": "c", "refused": "d"}
    evidence = [(context.centre, context.of(context.target.index))]
    sample = {"style": facts["style"], "key": facts["key"], "items": [item], "evidence": evidence, "hidden": 1}
    templates.render("repair.system.md.j2", sample)
    templates.render("repair.user.md.j2", sample)
    part = {"essay": "a", "number": 1, "level": 2, "section": "b", "asked": facts["style"].parts[0]}
    templates.render("redo.user.md.j2", {**sample, **part})
    templates.render("lookups.md.j2", {**facts, "bounds": Bounds()})


def render_template(style: Style, name: str, facts: dict[str, Any]) -> str:
    """A template of the style, or a shared one, filled in.

    Raises:
        StyleError: it is missing or wrong; names the file and line.
    """
    return Templates(style).render(name, {"style": style, **facts})


def delimiter_key(context: Context, also: Sequence[str] = ()) -> str:
    """Eight decimal digits of the session's hash that stand nowhere in what is shown, nor in `also`.

    A recording cannot hold its own hash; should its digits turn up all the same, the next ones are taken. Decimal,
    since every such key has the same length in tokens: what is counted before the hash is known stays true.
    """
    digits = str(int(context.session.sha256, 16))[-KEY_DIGITS * KEYS :].zfill(KEY_DIGITS * KEYS)
    shown = [excerpt.printed(context.of(excerpt.index), "") for excerpt in context.window]
    shown += [context.outline.printed(""), *also]
    for start in range(0, KEY_DIGITS * KEYS, KEY_DIGITS):
        key = digits[start : start + KEY_DIGITS]
        if not any(key in text for text in shown):
            return key
    raise AssertionError("every part of the session's own hash stands in its text")
