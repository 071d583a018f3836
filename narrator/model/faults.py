"""What a server says instead of an answer, as our errors: each says what happened, where, and what to do."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from narrator.errors import (
    ModelError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    ModelUnavailableError,
)
from narrator.model.settings import Settings
from narrator.reply import server_words

LONGEST_PAUSE = 120.0
"""Seconds a server may ask us to wait; when it asks for more, the call fails and says so."""

_PASSING = {408, 409, 425, 429}
"""Client errors that another try may mend: timeout, conflict, too early, rate limit."""
_UNSUPPORTED = {501, 505}
"""Server errors that another try will not mend."""
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
_REJECTED = {
    401: ("{address} refused the key", "check OPENAI_API_KEY"),
    402: ("{address} wants to be paid first", "add credit or use another key"),
    403: ("{address} does not let this key use {model}", "use another key or --model"),
    404: ("there is no model {model} at {address}", "check --model (`narrate models` lists them) and --base-url"),
}
"""Status → what happened, and what to do."""
_NOWHERE = ("there is no Chat Completions API at {address}", "check --base-url: most end in /v1")
"""The same for status 404 where the server speaks of no model."""
_REJECTED_OTHERWISE = ("{address} turned the request for {model} down", "the same would fail again")

_SPENT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_FILTERED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "too many tokens",
    "exceed_context_size",
    "n_ctx",
    "maximum prompt length",
    "input is too long",
)
_LIMIT = re.compile(
    r"(?:context(?: length| window| size)?|n_ctx|prompt length|maximum|limit)\b[^\d.]{0,40}?(\d[\d,]{2,})"
    r"|>=?\s*(?:n_ctx: *)?(\d[\d,]{2,})"
)
"""How servers name what a context holds; lower case."""
_AMOUNT = re.compile(r"(?<![\w.-])\d[\d,]{2,}(?![\w.-]*\w)")
_PARAMETER = (
    "unsupported_parameter",
    "unsupported_value",
    "unsupported parameter",
    "unknown parameter",
    "unrecognized request argument",
    "unrecognized field",
    "extra inputs",
    "extra_forbidden",
)
"""What servers call it, in a code or in a sentence, lower case."""
_OURS = re.compile(r"\b(?:stream_options|stream|max_completion_tokens|max_tokens|reasoning_effort)\b")
"""What a request holds beside model, messages and tools, and what can be left out or sent under another name."""
_NOT_TAKEN = re.compile(r"not support|not allowed|not permitted|unexpected|unknown|must be verified to stream")
"""What is said of such a name when it is not taken, and not when its value is wrong."""
_INSTEAD = re.compile(r"\b(?:use|instead|try|only)\b.*")
"""Where a sentence turns to what would be taken."""
_TOOLS = re.compile(
    r"\btool|\bfunction(?:s|_call|\b.call)|template|jinja|roles must alternate|unexpected role|invalid role"
)
"""How servers say, in a bad request, that they or a model's chat template take no tools."""
_TOOLS_PLAINLY = re.compile(
    r"not support (?:tools|functions?|tool us|tool call)|\btools param|tool_choice|chat template|jinja"
)
"""The same where it comes as a failure of the server, which otherwise may pass (llama.cpp without --jinja: 500)."""
_NO_TOOLS = {404, 422, 501}
"""Statuses that a request with tools gets where the same without may not (OpenRouter: 404, no endpoint with tools)."""


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


def another_try(verdict: ModelError) -> ModelUnavailableError:
    """`verdict` as something another try may mend; when none does, it stands: it is the `__cause__`."""
    passing = ModelUnavailableError(str(verdict))
    passing.__cause__ = verdict
    return passing


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


def failure(report: Report, settings: Settings) -> ModelError:
    """The error that a report amounts to."""
    told = f" ({report.status})" if report.status else ""
    said = f"{told}: {report.words}" if report.words else told
    text = f"{report.names} {report.words.lower()}"
    if any(name in text for name in _FILTERED):
        advice = "choose another message or --model"
        return ModelRefusedError(f"content_filter: a filter turned the request down{said}; {advice}")
    if any(name in text for name in _SPENT):
        return ModelRejectedError(f"the quota of this key is used up{said}; check its plan and billing")
    if report.status == 413 or (_malformed(report) and any(words in text for words in _TOO_LONG)):
        return _too_long(report, settings, said)
    names = _parameters(report)
    if _malformed(report) and (any(words in text for words in _PARAMETER) or (names and _NOT_TAKEN.search(text))):
        return ModelRejectedError(_parameter(report, settings, said), tools=True, parameters=names or ("",))
    tools = _names_tools(report.status, text)
    if _may_pass(report) and not tools:
        return _unavailable(report, settings, said)
    nowhere = report.status == 404 and not re.search(r"model|deployment|endpoints? found|tool|function", text)
    what, advice = _NOWHERE if nowhere else _REJECTED.get(report.status or 0, _REJECTED_OTHERWISE)
    what = what.format(model=settings.model, address=settings.address)
    return ModelRejectedError(f"{what}{said}; {advice}", tools=tools)


def _malformed(report: Report) -> bool:
    """Whether the server found something wrong in the request itself; a stream of events may tell no status."""
    return report.status in {400, 422} or (report.status is None and "context" in report.names)


def _too_long(report: Report, settings: Settings, said: str) -> ModelTooLongError:
    """The error, with the server's numbers where it names them."""
    text = report.words.lower()
    amounts = sorted({*(_number(found) for found in _AMOUNT.findall(text)), *report.amounts})
    named = _LIMIT.search(text)
    limit = amounts[0] if len(amounts) > 1 else None
    if named is not None:
        limit = _number(named[1] or named[2])
    sent = amounts[-1] if limit is not None and amounts and amounts[-1] > limit else None
    what = f"the prompt is too long for {settings.model}{said}"
    return ModelTooLongError(f"{what}; a smaller --budget gives a shorter one", limit=limit, sent=sent)


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _parameters(report: Report) -> tuple[str, ...]:
    """What of a request a server named as not taken: in a field of its own, else in its sentence."""
    found = _OURS.findall(report.parameter) or _OURS.findall(_INSTEAD.sub("", report.words.lower()))
    return tuple(dict.fromkeys(found))


def _names_tools(status: int | None, text: str) -> bool:
    """Whether a request may have been turned down for the tools in it; `text` in lower case."""
    if status in _NO_TOOLS:
        return True
    pattern = _TOOLS if status == 400 else _TOOLS_PLAINLY
    return (status is None or status == 400 or status >= 500) and bool(pattern.search(text))


def _may_pass(report: Report) -> bool:
    status = report.status
    if report.hopeless:
        return False
    return status is None or status in _PASSING or (status >= 500 and status not in _UNSUPPORTED)


def _unavailable(report: Report, settings: Settings, said: str) -> ModelUnavailableError:
    what = f"{settings.model} is rate limited" if report.status == 429 else f"{settings.address} failed"
    pause, asks = report.retry_after, ""
    if pause is not None:
        asks = f"; it asks to wait {pause:.3g} s"
        asks += f", longer than the {LONGEST_PAUSE:.0f} s that narrate waits" if pause > LONGEST_PAUSE else ""
    return ModelUnavailableError(f"{what}{said}{asks}", retry_after=pause)


def _parameter(report: Report, settings: Settings, said: str) -> str:
    limit = settings.max_output_tokens is not None and "tokens" in f"{report.parameter} {report.words}"
    advice = "leave out --max-output-tokens" if limit else "use another --model or --base-url"
    name = f"the parameter {report.parameter}" if report.parameter else "a parameter"
    return f"{settings.model} at {settings.address} does not take {name}{said}; {advice}"
