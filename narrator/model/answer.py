"""An answer as it comes in, and whether it holds an essay.

Knows the shape of Chat Completions, whole or in chunks, and trusts none of it: compatible servers leave out,
rename and retype every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from narrator.draft import Usage
from narrator.errors import (
    ModelCutOffError,
    ModelError,
    ModelNoAnswerError,
    ModelRefusedError,
    ModelUnavailableError,
)
from narrator.model.faults import another_try
from narrator.model.settings import Settings
from narrator.reply import Reply, clean_essay, document_kind, plain_text

_AT_LIMIT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_FILTERED = {"content_filter", "safety", "refusal"}
_CALLED = {"tool_calls", "tool_call", "tool_use", "function_call"}
_BROKEN_OFF = {"abort", "cancelled"}
"""Finish reasons, lower case, as servers and gateways name them; any other word is a normal end."""


_WHOLE = 200
"""Words of a text that is an essay even if a tool call comes with it."""
_WRITTEN = re.compile(
    r"\s*(?:<\|?(?:tool|function)_?call|<\|python_tag|<function=|<invoke|<tools?>|\[TOOL_CALLS\])"
    r"|.*\b(?:read_messages|search_session)\b",
    re.DOTALL | re.IGNORECASE,
)
"""A short text that is a tool call which the server did not take for one."""


@dataclass
class Call:
    """A tool call as far as it has come."""

    index: object
    """Its number in the answer; None from servers that do not number."""
    id: str
    name: str = ""
    arguments: str = ""
    """JSON, if the model wrote it well."""


class Calls(NamedTuple):
    """An answer that asks for something instead of being the essay."""

    calls: tuple[Call, ...]
    text: str
    """What the model said beside them."""
    usage: Usage | None


@dataclass
class Answer:
    """What has come so far; `add` takes one decoded object after the other."""

    sent: dict[str, Any] = field(default_factory=dict)
    """What was sent beside the messages, fit to keep: tools by their names."""
    streamed: bool = False
    """It comes in chunks, so that only a finish reason shows that it is whole."""
    finish: str | None = None
    model: str = ""
    usage: Usage | None = None
    refusal: str = ""
    called: bool = False
    """A tool call came, in whatever shape."""
    calls: list[Call] = field(default_factory=list)
    """Tool calls that can be answered."""
    chosen: bool = False
    """A choice came."""
    keys: dict[str, None] = field(default_factory=dict)
    """Top-level keys that came, in order."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The essay's text so far; a model's separate reasoning is never part of it."""
        return "".join(self.pieces)

    def add(self, payload: Mapping[str, Any]) -> str:
        """Take a completion or a chunk of one, and return the text it adds."""
        self.keys |= dict.fromkeys(str(key) for key in payload)
        self.model = _string(payload.get("model")) or self.model
        self.usage = _usage(payload.get("usage")) or self.usage
        choice = first_choice(payload)
        if choice is None:
            return ""
        self.chosen = True
        self.finish = _string(choice.get("finish_reason")) or self.finish
        part = choice.get("delta")
        # Some servers send all text so far as `message` beside each delta: it counts where there is none.
        if part is None and not self.pieces:
            part = choice.get("message")
        if not isinstance(part, Mapping):
            return ""
        text, refusal = _content(part.get("content"))
        self.refusal += _string(part.get("refusal")) + refusal
        self.called = self.called or bool(part.get("tool_calls") or part.get("function_call"))
        self._add_calls(part.get("tool_calls"))
        if text:
            self.pieces.append(text)
        return plain_text(text)

    def _add_calls(self, pieces: object) -> None:
        """Take tool calls, or pieces of them: one goes on while number and id do not change."""
        for piece in pieces if isinstance(pieces, list) else ():
            function = piece.get("function") if isinstance(piece, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            index, id_, name = piece.get("index"), plain_text(_string(piece.get("id"))), _string(function.get("name"))
            last = next((call for call in reversed(self.calls) if call.index == index), None)
            # Some servers give every call the number 0: then its id is new. Where there is no number, a name is.
            if last is None or (id_ and id_ != last.id) or (name and index is None):
                last = Call(index, id_ or f"call_{len(self.calls)}")
                self.calls.append(last)
            last.name = last.name or plain_text(name)
            arguments = function.get("arguments")
            last.arguments += json.dumps(arguments) if isinstance(arguments, Mapping) else _string(arguments)


def first_choice(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice of a payload; only one is asked for."""
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else None


def _content(content: object) -> tuple[str, str]:
    """Text and refusal of a message's content: a string, or a list of parts (reasoning is left out)."""
    if isinstance(content, str):
        return content, ""
    text, refusal = "", ""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            text += part
        elif isinstance(part, Mapping) and part.get("type", "text") in {"text", "output_text"}:
            text += _string(part.get("text"))
        elif isinstance(part, Mapping):
            refusal += _string(part.get("refusal"))
    return text, refusal


def _usage(counts: object) -> Usage | None:
    if not isinstance(counts, Mapping):
        return None
    prompt, completion = counts.get("prompt_tokens_details"), counts.get("completion_tokens_details")
    usage = Usage(
        input=_count(counts, "prompt_tokens"),
        output=_count(counts, "completion_tokens"),
        cached=_count(prompt, "cached_tokens"),
        reasoning=_count(completion, "reasoning_tokens"),
    )
    return usage if usage.input or usage.output else None


def _count(counts: object, name: str) -> int:
    value = counts.get(name) if isinstance(counts, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def judge(answer: Answer, settings: Settings) -> Reply:
    """The reply that an answer amounts to.

    Raises:
        ModelRefusedError: the model or a filter declined.
        ModelCutOffError: the output limit was reached.
        ModelNoAnswerError: something whole came that is no essay.
        ModelUnavailableError: another try may mend it; its `__cause__` is the verdict when none does.
    """
    text, notes = _whole(answer, settings)
    if (answer.finish or "").lower() in _CALLED or (answer.called and not text):
        raise ModelNoAnswerError(f"{settings.model} called a tool instead of writing; use another --model")
    if not text:
        raise another_try(ModelNoAnswerError(f"{settings.model} sent an empty answer; use another --model"))
    if kind := document_kind(text):
        raise ModelNoAnswerError(f"{settings.model} sent a document of {kind} instead of Markdown; use another --model")
    model = settings.words(answer.model) or settings.model
    return Reply(text=text, model=model, finish=answer.finish, usage=answer.usage, sent=dict(answer.sent), notes=notes)


def judge_round(answer: Answer, settings: Settings) -> Reply | Calls:
    """The same for an answer to a request with tools: the essay, or what the model wants to know first.

    Raises:
        ModelNoAnswerError: also when a tool call was written as text, or in a shape that cannot be answered.
    """
    text, _ = _whole(answer, settings)
    short = len(text.split()) < _WHOLE
    if answer.calls and (short or (answer.finish or "").lower() in _CALLED):
        return Calls(tuple(answer.calls), text, answer.usage)
    if short and _WRITTEN.match(text):
        raise ModelNoAnswerError(f"{settings.model} wrote a tool call as text; --lookups 0 offers it no tools")
    return judge(answer, settings)


def _whole(answer: Answer, settings: Settings) -> tuple[str, tuple[str, ...]]:
    """The text of an answer that ended as it should, and what was taken off it."""
    finish = (answer.finish or "").lower()
    if answer.refusal.strip():
        raise ModelRefusedError(
            f"the model refused: {settings.words(answer.refusal)}; choose another message or --model"
        )
    if finish in _FILTERED:
        raise ModelRefusedError(f"a content filter stopped the answer ({finish}); choose another message or --model")
    if finish == "error":
        raise ModelUnavailableError(f"{settings.address} failed while {settings.model} was writing")
    text, notes = clean_essay(answer.text)
    if finish in _AT_LIMIT:
        raise ModelCutOffError(_at_limit(text, settings))
    if verdict := _unfinished(answer, text, finish, settings):
        raise another_try(verdict)
    return text, notes


def _at_limit(text: str, settings: Settings) -> str:
    limit = settings.max_output_tokens
    advice = f"raise --max-output-tokens{f' (now {limit})' if limit else ''}, or ask for less with --length"
    if not text:
        return f"the whole output limit went to reasoning, no essay was written; {advice}"
    return f"the output limit cut the answer off after {len(text)} characters; {advice}"


def _unfinished(answer: Answer, text: str, finish: str, settings: Settings) -> ModelError | None:
    """What is missing of an answer that ended too early, if something is."""
    if not answer.chosen:
        keys = settings.words(", ".join(answer.keys)) or "nothing"
        return ModelNoAnswerError(f"the answer holds no choices, only: {keys}; check --base-url and --model")
    if finish in _BROKEN_OFF or (answer.streamed and not finish):
        return cut_off(text)
    return None


def cut_off(text: str) -> ModelCutOffError:
    """The verdict on an answer that ended in the middle, or before it had begun."""
    if not text:
        return ModelCutOffError("the answer was empty and without a finish; try again, or use another --model")
    return ModelCutOffError(f"the answer was cut off after {len(text)} characters, without a finish; try again")
