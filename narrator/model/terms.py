"""What of a request an endpoint does not take, found out once and remembered while it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from narrator.errors import ModelRejectedError
from narrator.model.settings import Settings

_LIMITS = ("max_completion_tokens", "max_tokens")
"""The two names of the limit of an answer: OpenAI's own, and the one that all other servers know (Ollama ignores the
first without a word)."""


class Terms:
    """What may be sent to one endpoint."""

    def __init__(self, settings: Settings) -> None:
        """Send everything, until something is refused."""
        self._settings = settings
        self._refused: set[str] = set()

    def parameters(self, tools: Sequence[Mapping[str, Any]], cache_key: str | None = None) -> dict[str, Any]:
        """What a request holds beside model and messages; `cache_key` is the same for prompts that begin alike."""
        settings, sent = self._settings, dict[str, Any]()
        if settings.stream and "stream" not in self._refused:
            sent["stream"] = True
            if "stream_options" not in self._refused:
                sent["stream_options"] = {"include_usage": True}
        if settings.max_output_tokens is not None:
            sent[self._limit()] = settings.max_output_tokens
        # A strict server refuses what it does not know, and only OpenAI's is known to use it.
        if cache_key is not None and settings.place.is_openai and "prompt_cache_key" not in self._refused:
            sent["prompt_cache_key"] = cache_key
        if tools:
            sent["tools"] = list(tools)
            if settings.looks_up_apart and "reasoning_effort" not in self._refused:
                sent["reasoning_effort"] = "none"
        return sent

    def _limit(self) -> str:
        """The name under which the limit is sent: the usual one for the address, the other once it was refused."""
        usual, other = _LIMITS if self._settings.place.follows_openai else reversed(_LIMITS)
        return other if usual in self._refused else usual

    def adapt(self, error: ModelRejectedError, sent: Mapping[str, Any]) -> str | None:
        """Leave out what of a request was refused, and say in a few words how it is asked now; None: there is nothing.

        A parameter that was refused already (by an essay that is written beside) is said with "": ask again in silence.
        """
        named = [name for name in error.parameters if name in sent]
        if "" in error.parameters and "tools" not in sent and "stream_options" in sent:
            named = ["stream_options"]  # what servers know least
        if not named:
            return None
        name = named[0]
        if name in self._refused and name not in self.parameters(sent.get("tools", ())):
            return ""
        if name in _LIMITS and self._refused.intersection(_LIMITS):
            return None
        self._refused.add(name)
        return f"with {self._limit()}" if name in _LIMITS else f"without {name}"
