"""Which model is asked, where, and within what bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pydantic import SecretStr

from narrator.errors import UsageError
from narrator.model.address import DEFAULT_BASE_URL, Address, read_address, take_apart
from narrator.record import Record
from narrator.reply import holds_key, plain_text, server_words

__all__ = ["DEFAULT_BASE_URL", "DEFAULT_MODEL", "DEFAULT_TIMEOUT", "Settings", "settings_from"]

DEFAULT_MODEL = "gpt-6-sol"
DEFAULT_TIMEOUT = 600.0
"""Seconds for the whole call."""

_NO_KEY = "none"
"""What a server without keys gets: the SDK refuses an empty one."""
_PLACEHOLDERS = {_NO_KEY, "ollama", "lm-studio", "empty", "dummy", "test"}
"""What manuals of local servers put in place of a key, lower case: no secret, and words that messages need."""


class Settings(Record):
    """One model at one endpoint."""

    model: str
    base_url: str | None
    """None for OpenAI's own."""
    api_key: SecretStr
    max_output_tokens: int | None = None
    """None: not sent, the endpoint's own limit holds."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for the whole call, every try and every wait between tries included."""
    attempts: int = 4
    """Requests at most, the first included."""

    stream: bool = True
    """Have the answer sent in pieces as it is written."""

    @property
    def place(self) -> Address:
        """The parts of the address that is asked."""
        return take_apart(self.base_url)

    @property
    def address(self) -> str:
        """Where requests go, fit to print: without user name, password and query."""
        return self.place.shown

    @property
    def looks_up_apart(self) -> bool:
        """It takes tools only while it does not reason, so that looking up and writing must be different requests.

        So do OpenAI's gpt-6 models on Chat Completions: with tools, reasoning effort `none` alone is accepted.
        """
        return self.place.is_openai and bool(re.match(r"gpt-6(?!\d)", self.model))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold: the key, and what of the address is not for print."""
        key = self.api_key.get_secret_value()
        return (*(() if key.lower() in _PLACEHOLDERS else (key,)), *self.place.secrets)

    def words(self, text: str) -> str:
        """A server's text as a message may repeat it: one short line, no secret in it."""
        return server_words(text, *self.secrets)

    def leaks(self, text: str) -> bool:
        """Whether a secret, or what looks like one, is in a text."""
        return holds_key(text, *self.secrets)


def settings_from(
    model: str | None,
    base_url: str | None,
    env: Mapping[str, str],
    max_output_tokens: int | None = None,
    timeout: float | None = None,
) -> Settings | None:
    """Settings for the model the call and the environment name; None when they name none: write offline.

    Args:
        model: `--model`; before NARRATE_MODEL, before `DEFAULT_MODEL`.
        base_url: `--base-url`; before OPENAI_BASE_URL.
        env: environment variables; one that is empty or blank counts as unset.
        max_output_tokens: `--max-output-tokens`.
        timeout: `--timeout`, seconds; None for `DEFAULT_TIMEOUT`.

    Raises:
        UsageError: a value cannot be used, or a model is asked for and there is nowhere to ask.
    """
    key = _key(env)
    address = read_address("--base-url", base_url) if base_url is not None else None
    if address is None and (named := env.get("OPENAI_BASE_URL", "").strip()):
        address = read_address("OPENAI_BASE_URL", named)
    if model is not None and not model.strip():
        raise UsageError("--model: the name is empty")
    if max_output_tokens is not None and max_output_tokens < 1:
        raise UsageError(f"--max-output-tokens {max_output_tokens}: at least 1 is needed")
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise UsageError(f"--timeout {timeout:g}: a number of seconds above 0 is needed")
    if not key and address is None:
        if model is not None:
            raise UsageError(
                f"--model {server_words(model)}: no key and no base URL to ask it; set OPENAI_API_KEY, "
                "or give --base-url, or leave out --model to write offline"
            )
        return None
    named = plain_text(model or env.get("NARRATE_MODEL", "")).strip()
    return Settings(
        model=named or take_apart(address).deployment or DEFAULT_MODEL,
        base_url=address,
        api_key=SecretStr(key or _NO_KEY),
        max_output_tokens=max_output_tokens,
        timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
    )


def _key(env: Mapping[str, str]) -> str:
    """The key of the environment, "" when there is none; it goes into a header: visible ASCII only."""
    key = env.get("OPENAI_API_KEY", "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise UsageError("OPENAI_API_KEY: it holds white space, a control character or one beyond ASCII; copy it again")
    return key
