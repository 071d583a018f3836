from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import openai
import pytest
from pydantic import SecretStr

from narrator.errors import (
    ModelError,
    ModelNoAnswerError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    ModelUnavailableError,
)
from narrator.model import Settings
from narrator.model.faults import failure
from narrator.model.reported import read_report
from narrator.model.wire import fault

KEY = "secret-0123456789"
SETTINGS = Settings(model="loopback", base_url="http://me:pw@llm.test/v1", api_key=SecretStr(KEY))
LIMITED = SETTINGS.model_copy(update={"max_output_tokens": 5})
REQUEST = httpx2.Request("POST", "http://llm.test/v1/chat/completions")

TOO_LONG = {"message": "maximum context length is 8192 tokens, not 19241", "code": "context_length_exceeded"}
UNSUPPORTED = {
    "message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}
FILTERED_COMPLETION = {"choices": [{"finish_reason": "content_filter", "message": {"content": None}}]}
AZURE = {"message": "filtered", "code": "400", "innererror": {"code": "ResponsibleAIPolicyViolation"}}


def report_of(body: object, status: int | None = None, **headers: str) -> ModelError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure(read_report(body, SETTINGS, status=status, headers=named), SETTINGS)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        pytest.param(400, TOO_LONG, ModelTooLongError, "too long for loopback (400): maximum context length is 8192 tokens, not 19241; a smaller --budget", id="a prompt that is too long"),
        pytest.param(400, {"message": "prompt is too long: 9 > 8"}, ModelTooLongError, "--budget", id="the same in other words"),
        pytest.param(413, "<html>413 Request Entity Too Large</html>", ModelTooLongError, "413 Request Entity Too Large; a smaller --budget", id="a body that is too large"),
        pytest.param(400, UNSUPPORTED, ModelRejectedError, "does not take the parameter max_tokens (400): Unsupported", id="a parameter it does not know"),
        pytest.param(422, {"detail": [{"loc": ["body"], "msg": "Extra inputs are not permitted"}]}, ModelRejectedError, "does not take a parameter (422): Extra inputs are not permitted", id="the same from a stricter server"),
        pytest.param(400, {"error": AZURE}, ModelRefusedError, "content_filter: a filter turned the request down (400): filtered", id="a filtered prompt"),
        pytest.param(400, FILTERED_COMPLETION, ModelRefusedError, "content_filter", id="a filtered completion under status 400"),
        pytest.param(400, {"message": "no"}, ModelRejectedError, "turned the request for loopback down (400): no; the same would fail again", id="any other bad request"),
        pytest.param(401, {"message": f"Incorrect API key {KEY}"}, ModelRejectedError, "http://llm.test/v1 refused the key (401): Incorrect API key [key]; check OPENAI_API_KEY", id="a refused key"),
        pytest.param(402, {"message": "Insufficient credits", "code": 402}, ModelRejectedError, "wants to be paid first (402)", id="an empty purse"),
        pytest.param(403, {"message": "no"}, ModelRejectedError, "does not let this key use loopback (403)", id="a model out of reach"),
        pytest.param(404, {"error": "model 'x' not found"}, ModelRejectedError, "no model loopback at http://llm.test/v1 (404): model 'x' not found; check --model (`narrate models` lists them) and --base-url", id="a wrong name"),
        pytest.param(404, {"error": "not found"}, ModelRejectedError, "no Chat Completions API at http://llm.test/v1 (404): not found; check --base-url: most end in /v1", id="a wrong address"),
        pytest.param(304, None, ModelRejectedError, "down (304); the same", id="a status that no API sends"),
        pytest.param(429, {"message": "slow down"}, ModelUnavailableError, "loopback is rate limited (429): slow down", id="a rate limit"),
        pytest.param(429, {"message": "no", "type": "insufficient_quota", "code": None}, ModelRejectedError, "quota of this key is used up (429)", id="a spent quota by its type"),
        pytest.param(429, {"message": "no", "code": "insufficient_quota"}, ModelRejectedError, "quota", id="a spent quota by its code"),
        pytest.param(408, {"detail": "late"}, ModelUnavailableError, "http://llm.test/v1 failed (408): late", id="a timeout of the server"),
        pytest.param(409, {"message": "x"}, ModelUnavailableError, "(409)", id="a conflict"),
        pytest.param(500, "", ModelUnavailableError, "http://llm.test/v1 failed (500)", id="a server error without a word"),
        pytest.param(502, "<html><title>502 Bad Gateway</title>nginx</html>", ModelUnavailableError, "failed (502): 502 Bad Gateway", id="a gateway's page"),
        pytest.param(529, {"message": "overloaded"}, ModelUnavailableError, "(529): overloaded", id="an overload"),
        pytest.param(501, {"message": "no"}, ModelRejectedError, "down (501)", id="what the server cannot do at all"),
    ],
)  # fmt: skip
def test_a_status_becomes_an_error_that_says_what_to_do(
    status: int, body: object, kind: type[ModelError], words: str
) -> None:
    error = report_of(body, status)
    assert type(error) is kind
    assert words in str(error)
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        pytest.param({"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "Too Many Requests"}}}, ModelUnavailableError, "rate limited (429): Provider returned error (Too Many Requests)", id="a number"),
        pytest.param({"error": {"message": "x", "code": "502"}}, ModelUnavailableError, "(502): x", id="a number as text"),
        pytest.param({"error": {"message": "x", "code": 400}}, ModelRejectedError, "(400)", id="a number that will not pass"),
        pytest.param({"error": {"message": "x", "code": "rate_limit_exceeded"}}, ModelUnavailableError, "rate limited (429)", id="a name"),
        pytest.param({"error": {"message": "x", "type": "invalid_request_error", "code": "model_not_found"}}, ModelRejectedError, "(404)", id="a vague name and a telling one"),
        pytest.param({"error": {"message": "x", "type": "invalid_request_error"}}, ModelRejectedError, "(400)", id="a vague name alone"),
        pytest.param({"error": {"message": "x", "code": "who_knows"}}, ModelUnavailableError, "failed: x", id="a name that nobody knows may pass"),
        pytest.param({"error": {"code": "server_error"}}, ModelUnavailableError, "failed: server_error", id="a name without a sentence"),
        pytest.param({"error": "upstream died"}, ModelUnavailableError, "failed: upstream died", id="a mere sentence"),
        pytest.param({"message": "boom"}, ModelUnavailableError, "failed: boom", id="an error event's data"),
        pytest.param([], ModelUnavailableError, "http://llm.test/v1 failed", id="nothing of use"),
    ],
)  # fmt: skip
def test_an_error_inside_a_good_status_is_what_its_code_says(body: object, kind: type[ModelError], words: str) -> None:
    error = report_of(body)
    assert type(error) is kind
    assert words in str(error)


def test_the_option_that_was_not_taken_is_named_only_if_it_was_given() -> None:
    report = read_report({"error": UNSUPPORTED}, LIMITED, status=400)
    assert str(failure(report, LIMITED)).endswith("instead; leave out --max-output-tokens")
    assert "--max-output-tokens" not in str(failure(report, SETTINGS))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="not told"),
        pytest.param({"retry-after": "3"}, 3.0, id="seconds"),
        pytest.param({"retry-after-ms": "250", "retry-after": "1"}, 0.25, id="milliseconds come first"),
        pytest.param({"retry-after": "300"}, 300.0, id="longer than is waited for"),
        pytest.param({"retry-after": "0"}, None, id="not at all"),
        pytest.param({"retry-after": "-5"}, None, id="less than that"),
        pytest.param({"retry-after": "nan"}, None, id="no number"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after": "soon"}, None, id="no date"),
        pytest.param({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None, id="a date in the past"),
    ],
)
def test_a_server_may_ask_for_a_pause(headers: dict[str, str], seconds: float | None) -> None:
    assert read_report({}, SETTINGS, status=429, headers=headers).retry_after == seconds


def test_a_server_may_ask_for_a_pause_until_a_date() -> None:
    then = email.utils.formatdate(time.time() + 60, usegmt=True)
    pause = read_report({}, SETTINGS, headers={"retry-after": then}).retry_after
    assert pause == pytest.approx(60, abs=3)


def test_a_pause_is_named_and_one_that_is_too_long_called_so() -> None:
    short, long = report_of({}, 429, retry_after="3"), report_of({}, 429, retry_after="300")
    assert str(short).endswith("; it asks to wait 3 s")
    assert str(long).endswith("; it asks to wait 300 s, longer than the 120 s that narrate waits")


def test_a_server_may_say_that_another_try_is_of_no_use() -> None:
    assert type(report_of({"message": "x"}, 500, x_should_retry="false")) is ModelRejectedError


EXPECTED: dict[type[BaseException], type[ModelError]] = {
    openai.OpenAIError: ModelRejectedError,
    openai.APIError: ModelUnavailableError,
    openai.APIResponseValidationError: ModelUnavailableError,
    openai.APIStatusError: ModelRejectedError,
    openai.BadRequestError: ModelRejectedError,
    openai.AuthenticationError: ModelRejectedError,
    openai.OAuthError: ModelRejectedError,
    openai.PermissionDeniedError: ModelRejectedError,
    openai.NotFoundError: ModelRejectedError,
    openai.ConflictError: ModelUnavailableError,
    openai.UnprocessableEntityError: ModelRejectedError,
    openai.RateLimitError: ModelUnavailableError,
    openai.InternalServerError: ModelUnavailableError,
    openai.APIConnectionError: ModelUnavailableError,
    openai.APITimeoutError: ModelUnavailableError,
    httpx2.HTTPError: ModelRejectedError,
    httpx2.HTTPStatusError: ModelRejectedError,
    httpx2.RequestError: ModelRejectedError,
    httpx2.TransportError: ModelUnavailableError,
    httpx2.TimeoutException: ModelUnavailableError,
    httpx2.ConnectTimeout: ModelUnavailableError,
    httpx2.ReadTimeout: ModelUnavailableError,
    httpx2.WriteTimeout: ModelUnavailableError,
    httpx2.PoolTimeout: ModelUnavailableError,
    httpx2.NetworkError: ModelUnavailableError,
    httpx2.ReadError: ModelUnavailableError,
    httpx2.WriteError: ModelUnavailableError,
    httpx2.ConnectError: ModelUnavailableError,
    httpx2.CloseError: ModelUnavailableError,
    httpx2.ProxyError: ModelUnavailableError,
    httpx2.ProtocolError: ModelUnavailableError,
    httpx2.RemoteProtocolError: ModelUnavailableError,
    httpx2.SSEError: ModelUnavailableError,
    httpx2.UnsupportedProtocol: ModelRejectedError,
    httpx2.LocalProtocolError: ModelRejectedError,
    httpx2.DecodingError: ModelUnavailableError,
    httpx2.TooManyRedirects: ModelRejectedError,
}
"""What each foreign exception becomes: worth another try, or not."""

OF_OTHER_CALLS = {
    "LengthFinishReasonError",
    "ContentFilterFinishReasonError",
    "SubjectTokenProviderError",
    "WebSocketConnectionClosedError",
    "WebSocketQueueFullError",
    "StreamAlreadyConsumed",
    "MutuallyExclusiveAuthError",
    "APIRemovedInV1",
    "_AmbiguousModuleClientUsageError",
}
"""Exceptions of parts of the SDK that are not used here."""


def below(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for child in kind.__subclasses__():
        yield from below(child)


def instance(kind: type[BaseException]) -> Any:
    """An exception of `kind` as the SDK would raise it, whatever its constructor asks for."""
    error = kind.__new__(kind)
    error.args = ("words",)
    status = getattr(kind, "status_code", 500 if kind is openai.InternalServerError else 418)
    facts = {"message": "words", "body": {"message": "words"}, "request": REQUEST, "status_code": status, "code": None}
    if isinstance(error, openai.APIError):
        facts["response"] = httpx2.Response(status, request=REQUEST)
        vars(error).update(facts)
    return error


@pytest.mark.parametrize("root", [openai.OpenAIError, httpx2.HTTPError], ids=["the SDK", "its client"])
def test_every_foreign_exception_has_been_decided_on(root: type[BaseException]) -> None:
    new = {kind.__name__ for kind in below(root)} - {kind.__name__ for kind in EXPECTED} - OF_OTHER_CALLS
    assert not new, "add each to EXPECTED with what it should become"


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_foreign_exception_becomes_ours(kind: type[BaseException]) -> None:
    error = fault(instance(kind), SETTINGS)
    assert type(error) is EXPECTED[kind]
    assert "llm.test" in str(error) or "loopback" in str(error) or isinstance(error.__cause__, ModelNoAnswerError)
    assert "pw" not in str(error)


def caused(error: Exception, *causes: Exception) -> Exception:
    link: BaseException = error
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        pytest.param(
            caused(httpx2.ConnectError("All attempts failed"), ConnectionRefusedError(111, "Connect call failed")),
            ModelUnavailableError, "failed: Connection refused", id="refused",
        ),
        pytest.param(
            caused(httpx2.ConnectError("x"), socket.gaierror(-2, "Name or service not known")),
            ModelUnavailableError, "Name or service not known", id="a name that nobody knows",
        ),
        pytest.param(
            caused(httpx2.ConnectError("x"), ssl.SSLCertVerificationError(1, "self-signed certificate")),
            ModelRejectedError, "self-signed certificate; set SSL_CERT_FILE", id="a certificate that is not trusted",
        ),
        pytest.param(caused(httpx2.ConnectError("x"), ssl.SSLError(1, "wrong version")), ModelUnavailableError, "wrong version", id="TLS"),
        pytest.param(ssl.SSLError(1, "broken"), ModelUnavailableError, "broken", id="bare TLS"),
        pytest.param(anyio.EndOfStream(), ModelUnavailableError, "failed: EndOfStream", id="no words at all"),
        pytest.param(httpx2.InvalidURL("bad"), ModelRejectedError, "cannot be asked: bad; check --base-url", id="an address"),
        pytest.param(httpx2.ConnectTimeout(""), ModelUnavailableError, "did not take the connection in time", id="a timeout"),
    ],
)  # fmt: skip
def test_a_lost_connection_says_why(error: Exception, kind: type[ModelError], words: str) -> None:
    found = fault(error, SETTINGS)
    assert type(found) is kind
    assert words in str(found)
