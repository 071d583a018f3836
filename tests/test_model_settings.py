from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from narrator.errors import UsageError
from narrator.model import DEFAULT_MODEL, Settings, settings_from

ROOT = Path(__file__).resolve().parents[1]
KEY = "sk-test-0123456789"
URL = "http://localhost:8080/v1"


def given(
    env: dict[str, str],
    *,
    model: str | None = None,
    base_url: str | None = None,
    max_output_tokens: int | None = None,
    timeout: float | None = None,
) -> Settings:
    settings = settings_from(model, base_url, env, max_output_tokens, timeout)
    assert settings is not None
    return settings


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, id="set to nothing"),
        pytest.param({"OPENAI_API_KEY": " \n", "OPENAI_BASE_URL": " "}, id="set to white space"),
        pytest.param({"NARRATE_MODEL": "gpt-6-luna"}, id="a model in the environment alone"),
    ],
)
def test_without_key_and_address_the_essay_is_written_offline(env: dict[str, str]) -> None:
    assert settings_from(None, None, env) is None


@pytest.mark.parametrize(
    ("env", "model", "base_url", "expected"),
    [
        pytest.param({"OPENAI_API_KEY": KEY}, None, None, (DEFAULT_MODEL, None, KEY), id="a key alone"),
        pytest.param(
            {"OPENAI_API_KEY": f" {KEY}\n"}, None, None, (DEFAULT_MODEL, None, KEY), id="a key with white space"
        ),
        pytest.param({"OPENAI_BASE_URL": URL}, None, None, (DEFAULT_MODEL, URL, "none"), id="an address without a key"),
        pytest.param({}, None, URL, (DEFAULT_MODEL, URL, "none"), id="an address from the call"),
        pytest.param(
            {"OPENAI_BASE_URL": "http://a/v1"}, None, URL, (DEFAULT_MODEL, URL, "none"), id="the call's comes first"
        ),
        pytest.param(
            {"OPENAI_BASE_URL": "nonsense"},
            None,
            URL,
            (DEFAULT_MODEL, URL, "none"),
            id="the other one is not even read",
        ),
        pytest.param(
            {"OPENAI_API_KEY": KEY, "NARRATE_MODEL": "b"}, "a", None, ("a", None, KEY), id="the call's model first"
        ),
        pytest.param(
            {"OPENAI_API_KEY": KEY, "NARRATE_MODEL": "b"}, None, None, ("b", None, KEY), id="then NARRATE_MODEL"
        ),
        pytest.param(
            {"OPENAI_API_KEY": KEY, "NARRATE_MODEL": " "}, None, None, (DEFAULT_MODEL, None, KEY), id="a blank one"
        ),
        pytest.param({}, "a\udcff", URL, ("a\ufffd", URL, "none"), id="a name that cannot be encoded"),
    ],
)
def test_the_call_comes_before_the_environment(
    env: dict[str, str], model: str | None, base_url: str | None, expected: tuple[str, str | None, str]
) -> None:
    settings = given(env, model=model, base_url=base_url)
    assert (settings.model, settings.base_url, settings.api_key.get_secret_value()) == expected


def test_limits_have_defaults_and_can_be_set() -> None:
    assert (given({}, base_url=URL).max_output_tokens, given({}, base_url=URL).timeout) == (None, 600.0)
    limited = given({}, base_url=URL, max_output_tokens=500, timeout=2.5)
    assert (limited.max_output_tokens, limited.timeout) == (500, 2.5)


@pytest.mark.parametrize(
    ("base_url", "shown"),
    [
        pytest.param(None, "https://api.openai.com/v1", id="the default"),
        pytest.param(URL, URL, id="a plain one"),
        pytest.param("https://me:pass@host:1/v1?token=x#y", "https://host:1/v1", id="one with a password and a token"),
        pytest.param("http://[::1]:8080/v1", "http://[::1]:8080/v1", id="one by number"),
    ],
)
def test_an_address_is_shown_without_secrets(base_url: str | None, shown: str) -> None:
    assert given({"OPENAI_API_KEY": KEY}, base_url=base_url).address == shown


def test_a_key_is_not_shown() -> None:
    settings = given({"OPENAI_API_KEY": KEY})
    assert KEY not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("sk-te st-0123456789", id="a blank inside"),
        pytest.param("sk-te\nst-0123456789", id="a line break inside"),
        pytest.param("sk-tést-0123456789", id="a letter beyond ASCII"),
        pytest.param("sk-te\x00st-0123456789", id="a control character"),
    ],
)
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match=r"^OPENAI_API_KEY: ") as caught:
        given({"OPENAI_API_KEY": key})
    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("localhost:8080/v1", id="no scheme"),
        pytest.param("ftp://host/v1", id="another scheme"),
        pytest.param("http://", id="no host"),
        pytest.param("http:///v1", id="a path alone"),
        pytest.param("http://[::1/v1", id="half a number"),
        pytest.param("http://host:99999/v1", id="a port that cannot be"),
        pytest.param("http://host:x/v1", id="a port that is none"),
        pytest.param("http://ho st/v1", id="a blank inside"),
        pytest.param("http://host/\x1b[2J", id="a control character"),
        pytest.param("", id="nothing"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match=r"^--base-url '.*not an address") as caught:
        given({}, base_url=address)
    assert str(caught.value).isprintable()


def test_an_address_that_is_none_is_shown_without_secrets() -> None:
    with pytest.raises(UsageError, match=r"^OPENAI_BASE_URL ") as caught:
        given({"OPENAI_BASE_URL": f"ftp://me:password@{KEY}"})
    assert "password" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"model": "m"}, "--model m: no key and no base URL", id="a model and nowhere to ask it"),
        pytest.param({"model": " ", "base_url": URL}, "--model: the name is empty", id="a model without a name"),
        pytest.param({"base_url": URL, "max_output_tokens": 0}, "--max-output-tokens 0", id="no tokens"),
        pytest.param({"base_url": URL, "timeout": 0.0}, "--timeout 0", id="no time"),
        pytest.param({"base_url": URL, "timeout": float("nan")}, "--timeout nan", id="a time that is no number"),
        pytest.param({"base_url": URL, "timeout": float("inf")}, "--timeout inf", id="a time without end"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        given({}, **arguments)  # type: ignore[arg-type]  # a table of different arguments


def test_settings_are_found_without_loading_the_sdk() -> None:
    code = "import sys, narrator.model as m; m.settings_from(None, None, {}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"openai", "httpx2", "tenacity", "asyncio"} & set(done.stdout.split())
