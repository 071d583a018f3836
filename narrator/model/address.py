"""The address of an endpoint: as people paste it, as it is asked, and as it may be printed."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from narrator.errors import UsageError
from narrator.reply import server_words

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_PASTED = re.compile(r"/(?:chat/completions|models)/*$")
"""What the addresses in manuals end in beyond the base."""
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)")
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


class Address(NamedTuple):
    """A base URL taken apart."""

    base: str
    """Without its query; a user name and a password are still in it."""
    query: dict[str, str]
    """Sent with every request: Azure's `api-version`, a gateway's token."""
    shown: str
    """Fit to print: without user name, password and query."""
    host: str
    deployment: str
    """The model that an older address of Azure OpenAI names in its path; "" in any other."""

    @property
    def is_openai(self) -> bool:
        """It is OpenAI's own."""
        return self.host == urlsplit(DEFAULT_BASE_URL).hostname

    @property
    def follows_openai(self) -> bool:
        """It takes what OpenAI's own takes, also where other servers have kept an older name."""
        return self.is_openai or self.host.endswith(_AZURE) or bool(self.deployment)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of it must not be printed: user name, password, values of the query."""
        parts = urlsplit(self.base)
        named = [unquote(part) for part in (parts.username, parts.password) if part]
        return (*named, *(value for name, value in self.query.items() if name != "api-version"))


def take_apart(base_url: str | None) -> Address:
    """The parts of a base URL; None stands for OpenAI's own."""
    parts = urlsplit(base_url or DEFAULT_BASE_URL)
    named = _DEPLOYMENT.search(parts.path)
    return Address(
        base=urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        shown=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
        host=parts.hostname or "",
        deployment=unquote(named[1]) if named else "",
    )


def read_address(source: str, value: str) -> str:
    """The base URL that `value` means: what was pasted beyond it is cut off, and a bare host has its API below /v1.

    Args:
        source: where it was given, for the error: `--base-url`.
        value: an address with or without `/v1`, `/` or `/chat/completions` at its end; a query stays.

    Raises:
        UsageError: it is not the address of a web server.
    """
    value = value.strip()
    parts = urlsplit("")
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        shown = server_words(re.split(r"[?#]", value.rpartition("@")[2])[0])
        raise UsageError(f"{source} {shown!r}: not an address like http://localhost:8080/v1")
    path, pasted = _PASTED.subn("", parts.path)
    path = path.rstrip("/") or ("" if pasted else "/v1")
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
