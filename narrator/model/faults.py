"""What a server says instead of an answer, as our errors: each says what happened, where, and what to do."""

from __future__ import annotations

import re

from narrator.errors import (
    ModelError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    ModelUnavailableError,
)
from narrator.model.reported import Report
from narrator.model.settings import Settings

LONGEST_PAUSE = 120.0
"""Seconds a server may ask us to wait; when it asks for more, the call fails and says so."""

_PASSING = {408, 409, 425, 429}
"""Client errors that another try may mend: timeout, conflict, too early, rate limit."""
_UNSUPPORTED = {501, 505}
"""Server errors that another try will not mend."""
_REJECTED = {
    401: ("{address} refused the key", "check OPENAI_API_KEY"),
    402: ("{address} wants to be paid first", "add credit or use another key"),
    403: ("{address} does not let this key use {model}", "use another key or --model"),
    404: ("there is no model {model} at {address}", "check --model (`narrate models` lists them) and --base-url"),
}
"""Status → what happened, and what to do."""
_LASTING = {401, 402, 404}
"""Statuses that every other request would get too; gateways send 403 also for what a filter found in one."""
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
_OURS = re.compile(r"\b(?:stream_options|stream|max_completion_tokens|max_tokens|reasoning_effort|prompt_cache_key)\b")
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


def another_try(verdict: ModelError) -> ModelUnavailableError:
    """`verdict` as something another try may mend; when none does, it stands: it is the `__cause__`."""
    passing = ModelUnavailableError(str(verdict))
    passing.__cause__ = verdict
    return passing


def failure(report: Report, settings: Settings) -> ModelError:
    """The error that a report amounts to."""
    told = f" ({report.status})" if report.status else ""
    said = f"{told}: {report.words}" if report.words else told
    text = f"{report.names} {report.words.lower()}"
    if any(name in text for name in _FILTERED):
        advice = "choose another message or --model"
        return ModelRefusedError(f"content_filter: a filter turned the request down{said}; {advice}")
    if any(name in text for name in _SPENT):
        return ModelRejectedError(f"the quota of this key is used up{said}; check its plan and billing", lasting=True)
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
    lasting = report.status in _LASTING and not tools
    return ModelRejectedError(f"{what}{said}; {advice}", tools=tools, lasting=lasting)


def _malformed(report: Report) -> bool:
    """Whether the server found something wrong in the request itself; a stream of events may tell no status."""
    return report.status in {400, 422} or (report.status is None and "context" in report.names)


def _too_long(report: Report, settings: Settings, said: str) -> ModelTooLongError:
    """The error, with the server's numbers where it names them."""
    text = report.words.lower()
    amounts = sorted({*(_number(found) for found in _AMOUNT.findall(text)), *report.amounts})
    named = [_number(found[1] or found[2]) for found in _LIMIT.finditer(text)]
    # The larger of two is the prompt: "greater than the context length (n_keep: 19241 >= n_ctx: 8192)".
    smaller = [number for number in named if len(amounts) < 2 or number < amounts[-1]]
    limit = next(iter(smaller), amounts[0] if len(amounts) > 1 else None)
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
    return ModelUnavailableError(f"{what}{said}{asks}", retry_after=pause, status=report.status)


def _parameter(report: Report, settings: Settings, said: str) -> str:
    limit = settings.max_output_tokens is not None and "tokens" in f"{report.parameter} {report.words}"
    advice = "leave out --max-output-tokens" if limit else "use another --model or --base-url"
    name = f"the parameter {report.parameter}" if report.parameter else "a parameter"
    return f"{settings.model} at {settings.address} does not take {name}{said}; {advice}"
