from __future__ import annotations

import pytest

from narrator.draft import Cost, Usage
from narrator.errors import UsageError
from narrator.prices import Price, add_costs, cost_of, dollars, expected_usage, parse_price

MILLION = 1_000_000
OWN = Price(input=2, cached=0.5, output=10)
SOURCE = "genai-prices "


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(input=MILLION), 2.0, id="input"),
        pytest.param(Usage(output=MILLION), 10.0, id="output"),
        pytest.param(Usage(output=MILLION, reasoning=900_000), 10.0, id="reasoning is within the output"),
        pytest.param(Usage(input=MILLION, cached=MILLION), 0.5, id="all of it cached"),
        pytest.param(Usage(input=MILLION, cached=400_000), 1.4, id="a part of it cached"),
        pytest.param(Usage(input=MILLION, cached=9 * MILLION), 0.5, id="more cached than there is"),
        pytest.param(Usage(), 0.0, id="no token"),
    ],
)
def test_tokens_cost_what_the_caller_says(usage: Usage, usd: float) -> None:
    cost = cost_of([usage], "whatever", "http://127.0.0.1:1/v1", OWN)
    assert cost == Cost(usd=usd, source="--price 2,0.5,10")


@pytest.mark.parametrize(
    ("model", "address", "usd"),
    [
        pytest.param("gpt-6-sol", None, 12.0, id="OpenAI's, no address"),
        pytest.param("gpt-6-sol", "https://api.openai.com/v1", 12.0, id="OpenAI's address"),
        pytest.param("gpt-6-sol", "https://api.openai.com:443/v1", 12.0, id="its own port"),
        pytest.param("openai/gpt-4o", "https://openrouter.ai/api/v1", 12.5, id="a gateway with prices of its own"),
        pytest.param("gpt-4o", "https://mine.openai.azure.com/openai/v1", 12.5, id="a host below a provider's"),
        pytest.param(
            "kimi-k2-0905-preview", "https://api.moonshot.ai/v1", 3.1, id="a pattern that ends before the country"
        ),
        pytest.param("gpt-6.2-sol", None, None, id="a model that is not in the data"),
        pytest.param("gpt-6", None, None, id="a beginning of a model's name"),
        pytest.param("gpt-6-sol", "http://127.0.0.1:8000/v1", None, id="a local server with a known model's name"),
        pytest.param("gpt-6-sol", "http://localhost/api.openai.com/v1", None, id="a known host in a path"),
        pytest.param("gpt-6-sol", "https://api.openai.com:8443/v1", None, id="a port of one's own"),
        pytest.param("gpt-6-sol", "https://api.openai.com.evil.example/v1", None, id="a host that begins like it"),
        pytest.param("gpt-4o", "https://mine.openai.azure.com.evil.example/v1", None, id="one that holds it"),
        pytest.param("gemini-2.5-pro", "https://evil.example/x.googleapis.com/v1", None, id="one with it in its path"),
        pytest.param("kimi-k2-0905-preview", "https://api.moonshot.evil.ai/v1", None, id="more than a country"),
        pytest.param("mai-ds-r1", "https://mine.openai.azure.com/openai/v1", None, id="a model without a price"),
    ],
)
def test_a_price_is_the_provider_s_or_unknown(model: str, address: str | None, usd: float | None) -> None:
    usages = [Usage(input=MILLION // 10, output=MILLION // 10)] * 10
    cost = cost_of(usages, model, address)
    assert (cost and round(cost.usd, 6)) == usd
    assert cost is None or cost.source.startswith(SOURCE)


def test_what_costs_nothing_is_known_to() -> None:
    cost = cost_of([Usage(input=9, output=9)], "mai-ds-r1:free", "https://mine.openai.azure.com/openai/v1")
    assert cost is not None
    assert cost.usd == 0


def test_cached_tokens_are_priced_as_cached() -> None:
    whole, cached = (cost_of([Usage(input=100_000, cached=hit)], "gpt-6-sol", None) for hit in (0, 90_000))
    assert (whole and whole.usd, cached and cached.usd) == (0.2, 0.038)


def test_a_long_prompt_s_surcharge_is_a_request_s_and_not_a_sum_s() -> None:
    one, two = (cost_of([Usage(input=400_000 // n)] * n, "gpt-6-sol", None) for n in (1, 2))
    assert (one and one.usd, two and two.usd) == (1.6, 0.8)


def test_no_request_has_no_cost() -> None:
    assert cost_of([], "gpt-6-sol", None) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("1,2", id="too few"),
        pytest.param("1,2,3,4", id="too many"),
        pytest.param("1,,3", id="a gap"),
        pytest.param("1,2,x", id="a word"),
        pytest.param("1,2,-3", id="below zero"),
        pytest.param("1,2,nan", id="no number"),
        pytest.param("1,2,inf", id="no end"),
    ],
)
def test_a_price_is_three_numbers(text: str) -> None:
    with pytest.raises(UsageError, match="IN,CACHED,OUT"):
        parse_price(text)


def test_a_price_is_read_as_it_is_written() -> None:
    assert parse_price("2, 0.5,10") == OWN


@pytest.mark.parametrize(
    ("one", "other", "sum_"),
    [
        pytest.param(Cost(usd=1, source="a"), Cost(usd=2, source="a"), Cost(usd=3, source="a"), id="one source"),
        pytest.param(Cost(usd=1, source="a"), Cost(usd=2, source="b"), Cost(usd=3, source="a + b"), id="two sources"),
        pytest.param(
            Cost(usd=1, source="a + b"), Cost(usd=2, source="b"), Cost(usd=3, source="a + b"), id="one of the two again"
        ),
        pytest.param(None, Cost(usd=2, source="a"), None, id="the first unknown"),
        pytest.param(Cost(usd=1, source="a"), None, None, id="the second unknown"),
    ],
)
def test_costs_are_added_where_both_are_known(one: Cost | None, other: Cost | None, sum_: Cost | None) -> None:
    assert add_costs(one, other) == sum_


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0, "$0.0000"), (0.00004, "less than $0.0001"), (0.0421, "$0.0421"), (3.5, "$3.5000"), (1234.5, "$1,234.50")],
)
def test_dollars_for_a_person(usd: float, text: str) -> None:
    assert dollars(usd) == text


def test_an_essay_is_expected_to_be_as_long_as_is_asked_for() -> None:
    assert expected_usage(500, (900, 1100)) == Usage(input=500, output=1600)
