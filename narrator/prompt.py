"""A context and a style become the messages that are sent.

Order matters: instructions and style, then the session's outline, then window, findings and target, so that all
essays of one session share the longest prefix. Recorded text stands between delimiters that hold a key taken from the
hash of the whole session: the same in every run, and not to be known by whoever wrote the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from narrator.assets import asset_folder
from narrator.context import Context
from narrator.errors import StyleError
from narrator.lookup import Bounds
from narrator.outline import in_words
from narrator.record import Record
from narrator.sanitize import one_line
from narrator.shortening import KEY_DIGITS
from narrator.style import Style, scale_style
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
    words: tuple[int, int]
    """Wanted length of the essay, from the style or from `--length`."""
    lookups: str = ""
    """What tells the model that it may look things up; "" when it may not."""

    def wire(self, *, lookups: bool = False) -> list[dict[str, str]]:
        """The messages as every OpenAI-compatible endpoint takes them; with `lookups`, beside the tools it tells of."""
        told = [{"role": message.role, "content": message.content} for message in self.messages]
        if lookups and self.lookups:
            told[0]["content"] += f"\n{self.lookups}"
        return told


def build_prompt(context: Context, style: Style, *, length: int | None = None, lookups: Bounds | None = None) -> Prompt:
    """The prompt for an essay in `style` about `context`'s target; `length` replaces the style's words.

    With `lookups` it has a part beside the messages that tells of the tools, and of how much may be looked up.

    Raises:
        StyleError: a template is missing or wrong; names the file and line.
    """
    scaled = style if length is None else scale_style(style, length)
    words = (scaled.words.least, scaled.words.most)
    key = delimiter_key(context)
    render = _templates(style)
    facts = {"style": scaled, "words": words, "key": key, "context": context, "target": context.centre}
    messages = (
        PromptMessage(role="system", content=render("system.md.j2", facts)),
        PromptMessage(role="user", content=render("user.md.j2", facts)),
    )
    guide = render("lookups.md.j2", {**facts, "bounds": lookups}) if lookups is not None and lookups.rounds else ""
    tokens = sum(count_tokens(text) for text in (*(message.content for message in messages), guide))
    return Prompt(messages=messages, tokens=tokens, context=context, style=style, words=words, lookups=guide)


def render_template(style: Style, name: str, facts: dict[str, Any]) -> str:
    """A template of the style, or a shared one, filled in.

    Raises:
        StyleError: it is missing or wrong; names the file and line.
    """
    return _templates(style)(name, facts)


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


def _templates(style: Style) -> Callable[[str, dict[str, Any]], str]:
    """A function that renders a template of the style; a file of the style's folder comes before a shared one."""
    import jinja2

    shared = asset_folder("prompts") / "_shared"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([style.folder, shared]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  # a prompt is text for a model, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["in_words"] = in_words

    def render(name: str, facts: dict[str, Any]) -> str:
        try:
            return environment.get_template(name).render(facts).strip() + "\n"
        except jinja2.TemplateSyntaxError as error:
            raise StyleError(f"{error.filename or name}, line {error.lineno}: {error.message}") from error
        except jinja2.TemplateNotFound as error:
            raise StyleError(f"{style.folder}: the template {error.name} is missing") from error
        except (jinja2.TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise StyleError(f"{_place(error, name)}: {one_line(str(error), 200)}") from error

    return render


def _place(error: BaseException, name: str) -> str:
    """File and line of the template that raised `error`: the last frame that belongs to one."""
    return next(reversed(list(_frames(error))), name)


def _frames(error: BaseException) -> Iterator[str]:
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.endswith(".j2"):
            yield f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
