"""What tokens cost: by the prices that the caller names, else by the data that genai-prices carries.

Nothing is guessed: a model that is not in the data, and an endpoint that is none of the providers named there (a local
server, a gateway), have no price.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from narrator.draft import Cost, Usage
from narrator.errors import UsageError
from narrator.record import Record

if TYPE_CHECKING:
    from genai_prices.types import Provider

_MILLION = 1_000_000
_OPENAI = "https://api.openai.com/v1"
"""Where requests go when no address is given."""
_TOKENS_A_WORD = 1.6
"""Tokens of an essay for each word that is asked for: citations, marks and code blocks are not counted as words."""


class Price(Record):
    """US dollars for a million tokens."""

    input: float
    cached: float
    """Of input that the endpoint had in its prompt cache."""
    output: float
    """Reasoning included."""

    @property
    def named(self) -> str:
        """As the option is written."""
        return f"--price {self.input:g},{self.cached:g},{self.output:g}"


def parse_price(text: str) -> Price:
    """The value of `--price IN,CACHED,OUT`.

    Raises:
        UsageError: it is not three numbers from 0.
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(isfinite(number) and number >= 0 for number in numbers):
        raise UsageError(f"--price {text}: three numbers are needed, IN,CACHED,OUT, US dollars per million tokens")
    return Price(input=numbers[0], cached=numbers[1], output=numbers[2])


def cost_of(requests: Sequence[Usage], model: str, base_url: str | None, price: Price | None = None) -> Cost | None:
    """What requests to a model cost; None when that is unknown, and for none at all.

    Each is priced by itself: a surcharge for long prompts depends on one request, not on their sum.

    Args:
        requests: Tokens of each request.
        model: Its name as it was asked for.
        base_url: The endpoint; None for OpenAI's own.
        price: What the caller says it costs; it comes before all data.
    """
    if not requests:
        return None
    if price is not None:
        return Cost(usd=round(sum(_by_price(usage, price) for usage in requests), 9), source=price.named)
    return _by_data(requests, model, base_url or _OPENAI)


def add_costs(one: Cost | None, other: Cost | None) -> Cost | None:
    """Both together; None when either is unknown."""
    if one is None or other is None:
        return None
    sources = dict.fromkeys([*one.source.split(" + "), other.source])
    return Cost(usd=round(one.usd + other.usd, 9), source=" + ".join(sources))


def expected_usage(tokens: int, words: tuple[int, int]) -> Usage:
    """Roughly what an essay takes: the prompt's tokens in, the middle of the wanted words out; no reasoning."""
    return Usage(input=tokens, output=round(sum(words) / 2 * _TOKENS_A_WORD))


def dollars(usd: float) -> str:
    """An amount for a person: cents from ten dollars on, four places below."""
    if 0 < usd < 0.0001:
        return "less than $0.0001"
    return f"${usd:,.2f}" if usd >= 10 else f"${usd:.4f}"


def _by_price(usage: Usage, price: Price) -> float:
    cached = min(usage.cached, usage.input)
    return ((usage.input - cached) * price.input + cached * price.cached + usage.output * price.output) / _MILLION


def _by_data(requests: Sequence[Usage], model: str, address: str) -> Cost | None:
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot

    try:
        provider = get_snapshot().find_provider(None, None, _without_dots(address))
    except LookupError:
        return None
    if not _is_of(provider, address):
        return None
    total = 0.0
    for usage in requests:
        counted = genai_prices.Usage(
            input_tokens=usage.input, cache_read_tokens=min(usage.cached, usage.input), output_tokens=usage.output
        )
        try:
            priced = genai_prices.calc_price(counted, model, provider_id=provider.id)
        except (LookupError, ValueError):
            return None
        rates = priced.model_price
        if (rates.input_mtok is None or rates.output_mtok is None) and not priced.model.id.endswith(":free"):
            return None
        total += float(priced.total_price)
    return Cost(usd=round(total, 9), source=f"genai-prices {genai_prices.__version__}")


def _without_dots(address: str) -> str:
    """An address whose path cannot be taken for a host: the data's patterns look for names anywhere in it."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}{parts.path.replace('.', '_')}"


def _is_of(provider: Provider, address: str) -> bool:
    """Whether the provider's pattern takes the whole host: most patterns are open at their end.

    A pattern that ends in a dot leaves the country to the address. A port of one's own is another server.
    """
    parts = urlsplit(address)
    if parts.port not in (None, 443):
        return False
    seen = _without_dots(address)
    found = re.match(provider.api_pattern, seen)
    host_end = seen.index("://") + 3 + len(parts.hostname or "")
    rest = seen[found.end() : host_end] if found is not None else "."
    return not rest or (seen[: host_end - len(rest)].endswith(".") and rest.isalpha())
