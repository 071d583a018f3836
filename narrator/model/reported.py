"""What a server says instead of an answer, whichever shape it comes in."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from narrator.model.settings import Settings

_STATUS_OF = {
    "context_length_exceeded": 400,
    "unsupported_parameter": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
}
"""Names in place of a number, the vaguest last; what is not here may pass, so it is tried again."""
_COUNTS = ("n_prompt_tokens", "n_ctx")
"""Fields in which llama.cpp tells by how much a prompt is too long."""


class Report(NamedTuple):
    """What a server said about a failure, whichever shape it came in."""

    status: int | None
    """HTTP status, or the number inside an answer that came with status 200; None when there is neither."""
    names: str
    """Its code, type and parameter, lower case, in one string to search."""
    words: str
    """Its sentence, fit to print, together with what the provider behind it said."""
    parameter: str = ""
    retry_after: float | None = None
    """Seconds it asked us to wait."""
    hopeless: bool = False
    """It said that another try is of no use."""
    amounts: tuple[int, ...] = ()
    """Numbers of its own beside the sentence: tokens counted, tokens that fit."""


def read_report(
    body: object,
    settings: Settings,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Report:
    """The report in an error's body.

    Seen in the wild: `{"error": {…}}`, `{"error": "…"}`, `{"detail": "…"}`, `{"detail": [{…}]}`, the inner
    object alone, plain text, a web page.

    Args:
        body: decoded JSON, or text.
        settings: whose key is masked.
        status: HTTP status, where the error has one of its own.
        headers: of the response, names in lower case or in a mapping that ignores case.
    """
    headers = headers or {}
    facts = _facts(body)
    code = facts.get("code")
    named = (code, facts.get("type"), facts.get("param"), facts.get("innererror"))
    names = " ".join(str(name).lower() for name in named if name)
    number = int(str(code)) if str(code).isdecimal() and len(str(code)) == 3 else None
    known = (number for name, number in _STATUS_OF.items() if name in names)
    return Report(
        status=status or number or next(known, None),
        names=f"{names} content_filter" if _filtered(body) else names,
        words=settings.words(_sentence(facts)),
        parameter=settings.words(_parameter_of(facts)),
        retry_after=_pause(headers),
        hopeless=headers.get("x-should-retry") == "false",
        amounts=tuple(facts[name] for name in _COUNTS if isinstance(facts.get(name), int)),
    )


def _facts(body: object) -> Mapping[str, Any]:
    """The object that describes the error; one with a message only, when the body is or holds mere text."""
    error: Any = body
    for _ in range(3):  # {"message": {"detail": [{…}]}}
        if isinstance(error, Mapping):
            inner = error.get("message")
            error = error.get("error") or error.get("detail") or (inner if isinstance(inner, Mapping) else error)
        if isinstance(error, list) and error:
            error = error[0]
    return error if isinstance(error, Mapping) else {"message": str(error or "")}


def _parameter_of(facts: Mapping[str, Any]) -> str:
    """The parameter that an error names in a field of its own."""
    parameter, place = facts.get("param"), facts.get("loc")
    if isinstance(parameter, str):
        return parameter
    # Where in the request something is wrong: ["body", "stream_options", "include_usage"].
    return str(place[1]) if isinstance(place, list) and len(place) > 1 else ""


def _sentence(facts: Mapping[str, Any]) -> str:
    """The message, and in brackets what a gateway quotes from the provider behind it."""
    message = next((facts[name] for name in ("message", "msg", "code", "type") if facts.get(name)), "")
    metadata = facts.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{message} ({raw})" if raw else str(message)


def _filtered(body: object) -> bool:
    """Whether an error's body is a completion that a filter stopped: some servers send it with status 400."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, Mapping) and first.get("finish_reason") == "content_filter"


def _pause(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            seconds = float(milliseconds) / 1000
        else:
            seconds = _seconds(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return email.utils.parsedate_to_datetime(value).timestamp() - time.time()
