"""The models that an endpoint offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from narrator.errors import ModelNoAnswerError
from narrator.model.settings import Settings
from narrator.reply import plain_text

_NAMES = ("id", "name", "model", "slug")
"""Where servers put a model's name; what `model` in a request must hold comes first."""
_CONTEXTS = ("context_length", "max_model_len", "context_window", "max_context_length", "n_ctx")
"""Where they tell how many tokens it takes: OpenRouter, vLLM, Groq, LM Studio, llama.cpp."""


class Offered(NamedTuple):
    """A model that can be asked for."""

    id: str
    """What `--model` takes."""
    owner: str = ""
    """Whose it is, in the endpoint's word; "" when it does not say."""
    context: int | None = None
    """Tokens of prompt and answer together, where the endpoint tells."""


def list_models(settings: Settings, *, notice: Callable[[str], None] | None = None) -> tuple[Offered, ...]:
    """What the endpoint lists, in its order, each name once; not for use inside a running event loop.

    Raises:
        ModelError: it gave no list.
        UsageError: the address, a proxy variable or another one cannot be used.
    """
    from narrator.model.loop import run

    return run(_list_models(settings, notice))


async def _list_models(settings: Settings, notice: Callable[[str], None] | None) -> tuple[Offered, ...]:
    from narrator.model import retry, wire

    async def one_request() -> tuple[Offered, ...]:
        return read_models(await wire.fetch_models(client, settings), settings)

    async with retry.deadline(settings) as limit, wire.open_client(settings) as client:
        return await retry.persist(one_request, settings, limit=limit, notice=notice, wait=None)


def read_models(payload: object, settings: Settings) -> tuple[Offered, ...]:
    """The models in what a server answers: OpenAI's `data`, Ollama's `models`, or a bare list of objects or names.

    Raises:
        ModelNoAnswerError: there is no list in it.
    """
    listed: Any = payload
    if isinstance(payload, Mapping):
        key = next((key for key in ("data", "models") if key in payload), None)
        if key is None:
            keys = settings.words(", ".join(map(str, payload))) or "nothing"
            raise ModelNoAnswerError(f"{settings.address} sent no list of models, only: {keys}; check --base-url")
        listed = payload[key] or payload.get("models") or []
    if not isinstance(listed, list):
        raise ModelNoAnswerError(f"{settings.address} sent no list of models; check --base-url")
    return tuple({offered.id: offered for offered in reversed(list(_offered(listed)))}.values())[::-1]


def _offered(listed: list[Any]) -> Iterator[Offered]:
    """Each entry that has a name."""
    for entry in listed:
        facts: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"id": entry}
        name = next((facts[name] for name in _NAMES if isinstance(facts.get(name), str)), "")
        if shown := _line(name):
            owner = facts.get("owned_by")
            yield Offered(shown, _line(owner) if isinstance(owner, str) else "", _context(facts))


def _context(facts: Mapping[str, Any]) -> int | None:
    meta = facts.get("meta")
    places = (facts, meta if isinstance(meta, Mapping) else {})
    found = (place.get(name) for place in places for name in _CONTEXTS)
    return next(
        (count for count in found if isinstance(count, int) and not isinstance(count, bool) and count > 0), None
    )


def _line(text: str) -> str:
    return " ".join(plain_text(text).split())
