"""One request to the endpoint: the only module that imports the SDK and what it stands on.

The SDK makes the request (address, key, proxies, TLS) and names what goes wrong with it; the body is read
here, because the SDK's own reading lets half of the bad answers through (a web page becomes a string, a
stream that ends early is no error) and fails on the others with whatever exception comes first.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import anyio
import httpx2
import openai

from narrator.errors import (
    ModelError,
    ModelNoAnswerError,
    ModelRejectedError,
    ModelUnavailableError,
    UsageError,
)
from narrator.model.answer import Answer, cut_off, first_choice
from narrator.model.faults import another_try, failure
from narrator.model.reported import read_report
from narrator.model.settings import Settings
from narrator.reply import plain_text

CONNECT_TIMEOUT = 10.0
"""Seconds; there is none for reading: a model may think for minutes, and the whole call has its deadline."""

_FOREIGN = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    ssl.SSLError,
    anyio.EndOfStream,
)
"""What the SDK and the client below it raise; `fault` knows each."""
_OUR_FAULT = (
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
    httpx2.TooManyRedirects,
    httpx2.InvalidURL,
)
"""Failures that lie in the address or the headers: another try would fail in the same way."""


def open_client(settings: Settings) -> openai.AsyncOpenAI:
    """A client for one run; to be made, used and closed inside one event loop.

    Raises:
        UsageError: the address, a proxy variable, SSL_CERT_FILE or an OPENAI_ variable cannot be used.
    """
    try:
        # Handed in: the one that the SDK makes itself complains from `__del__` when its making fails.
        http = openai.DefaultAsyncHttpxClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT),
            # Sent on to another host, a key is taken out of `Authorization` alone, not out of Azure's own header.
            follow_redirects=not settings.place.deployment,
        )
        client = openai.AsyncOpenAI(
            api_key=settings.api_key.get_secret_value(),
            base_url=settings.place.base,
            default_query=settings.place.query,
            max_retries=0,
            http_client=http,
        )
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        raise UsageError(
            f"no connection to {settings.address} can be set up: {settings.words(str(error))}; "
            "check the address, the proxy variables and SSL_CERT_FILE"
        ) from error
    for name, value in (("OPENAI_ORG_ID", client.organization), ("OPENAI_PROJECT_ID", client.project)):
        if value and not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name}: it holds a character that cannot be sent; correct or unset it")
    return client


_NOT_KEPT = ("messages", "model", "stream_options", "prompt_cache_key")
"""What of a request a draft has already, and what changes no word of the answer."""


def _headers(settings: Settings) -> dict[str, Any]:
    """An older address of Azure OpenAI takes a key in a header of its own."""
    if not settings.place.deployment:
        return {}
    return {"api-key": settings.api_key.get_secret_value(), "Authorization": openai.Omit()}


class Hears(NamedTuple):
    """Who is told of an answer as it comes."""

    piece: Callable[[str], None] | None = None
    """Gets every piece of text."""
    begun: Callable[[], None] | None = None
    """Called with every event: the endpoint has read the prompt."""


async def ask(
    client: openai.AsyncOpenAI,
    settings: Settings,
    messages: Sequence[Mapping[str, Any]],
    hears: Hears,
    parameters: Mapping[str, Any],
) -> Answer:
    """Send one request and take its answer, which may be cut off or no essay.

    Args:
        client: from `open_client`, in the same event loop.
        settings: what `client` was made from.
        messages: chat messages, `role` and `content`, and what belongs to calls of tools.
        hears: who is told of the answer as it comes.
        parameters: whatever else the request holds.

    Raises:
        ModelUnavailableError: another try may succeed.
        ModelError: any other kind: it would not.
    """
    answer = Answer()
    create = cast("Any", client.chat.completions.with_streaming_response.create)
    said = [{**message, "content": plain_text(message["content"])} for message in messages]
    try:
        async with create(
            model=settings.model, messages=said, extra_headers=_headers(settings), **parameters
        ) as response:
            answer.sent = _sent(response.http_request.content)
            async for payload in _payloads(response.http_response, settings, answer):
                piece = answer.add(payload)
                if hears.begun is not None:
                    hears.begun()
                if piece and hears.piece is not None:
                    hears.piece(piece)
    except _FOREIGN as error:
        failed = fault(error, settings)
        # After the finish reason only the token count can be lost: the essay is whole.
        if answer.finish is None:
            if answer.pieces and isinstance(failed, ModelUnavailableError):
                failed = another_try(cut_off(answer.text))
            raise failed from (failed.__cause__ or _repeatable(error, settings))
    return answer


def _sent(body: bytes) -> dict[str, Any]:
    """What a request said beside its messages and its model, fit to keep: tools by their names."""
    said: dict[str, Any] = json.loads(body)
    kept = {name: value for name, value in said.items() if name not in _NOT_KEPT}
    if "tools" in kept:
        kept["tools"] = [tool["function"]["name"] for tool in kept["tools"]]
    return kept


async def fetch_models(client: openai.AsyncOpenAI, settings: Settings) -> object:
    """The decoded list of models, whatever its shape.

    Raises:
        ModelError: the endpoint sent none.
    """
    try:
        response = await client.get("/models", cast_to=httpx2.Response, options={"headers": _headers(settings)})
    except openai.NotFoundError as error:
        told = "lists no models (404); check --base-url: most end in /v1; a --model that you know may do all the same"
        raise ModelRejectedError(f"{settings.address} {told}") from _repeatable(error, settings)
    except _FOREIGN as error:
        failed = fault(error, settings)
        raise failed from (failed.__cause__ or _repeatable(error, settings))
    body = response.content
    if body.lstrip()[:1] not in (b"{", b"["):
        raise ModelNoAnswerError(_no_api(_kind(response), settings))
    payload = _decode(body)
    return payload if isinstance(payload, list) else _checked(payload, settings)


def _repeatable(error: BaseException, settings: Settings) -> BaseException | None:
    """`error` for a traceback under --debug, unless the key is in it: servers echo what was sent."""
    texts = (text for link in _chain(error) for text in (str(link), str(getattr(link, "body", ""))))
    return None if any(settings.leaks(text) for text in texts) else error


async def _payloads(response: httpx2.Response, settings: Settings, answer: Answer) -> AsyncIterator[Mapping[str, Any]]:
    """The JSON objects of a body, be it a stream of events or, from servers that do not stream, one document.

    Raises:
        ModelError: the body is neither, or an object says that the request failed.
    """
    kind = _kind(response)
    if kind == "text/event-stream":
        answer.streamed = True
        async for event in httpx2.EventSource(response):
            if event.data.startswith("[DONE]"):
                return
            if event.data:
                yield _checked(_decode(event.data), settings, failed=event.event == "error")
    elif kind == "application/json" or kind.endswith("+json"):
        yield _checked(_decode(await response.aread()), settings)
    else:
        raise ModelNoAnswerError(_no_api(kind, settings))


def _kind(response: httpx2.Response) -> str:
    """The content type, without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _no_api(kind: str, settings: Settings) -> str:
    hint = "is it the right address?" if "/v1" in settings.address else "is /v1 missing at its end?"
    got = settings.words(kind) or "an answer without a content type"
    return f"{settings.address} does not answer as an OpenAI-compatible API: got {got}; check --base-url: {hint}"


def _decode(body: str | bytes) -> object:
    """JSON of a body or an event; one that cannot be read was most likely cut, so it is asked for again."""
    with contextlib.suppress(ValueError, RecursionError):
        return cast("object", json.loads(body))
    raise another_try(ModelNoAnswerError("the endpoint sent an unreadable answer (not JSON); check --base-url"))


def _checked(payload: object, settings: Settings, *, failed: bool = False) -> Mapping[str, Any]:
    """`payload` if it is an object that reports no error: gateways report a provider's with status 200."""
    if failed:
        raise failure(read_report(payload, settings), settings)
    if not isinstance(payload, Mapping):
        raise another_try(ModelNoAnswerError("the endpoint sent JSON that is no object; check --base-url"))
    choice = first_choice(payload)
    for part in (payload, choice or {}):
        if part.get("error"):
            raise failure(read_report(part, settings), settings)
    return payload


def fault(error: BaseException, settings: Settings) -> ModelError:
    """Our error for one of the SDK's, or of the client below it."""
    match error:
        case openai.APIStatusError():
            report = read_report(error.body, settings, status=error.status_code, headers=error.response.headers)
            return failure(report, settings)
        case openai.APIConnectionError() | httpx2.TransportError() | httpx2.TooManyRedirects() | httpx2.InvalidURL():
            return _no_connection(error, settings)
        case ssl.SSLError() | anyio.EndOfStream():
            return _no_connection(error, settings)
        case openai.APIResponseValidationError() | httpx2.DecodingError():
            return another_try(ModelNoAnswerError("the endpoint sent an unreadable answer; check --base-url"))
        case openai.APIError():
            return failure(read_report(error.body or error.message, settings), settings)
        case _:
            words = settings.words(f"{type(error).__name__}: {error}")
            return ModelRejectedError(f"the request to {settings.address} could not be made: {words}")


def _no_connection(error: BaseException, settings: Settings) -> ModelError:
    chain = list(_chain(error))
    if any(isinstance(link, httpx2.TimeoutException | openai.APITimeoutError) for link in chain):
        return ModelUnavailableError(f"{settings.address} did not take the connection in time")
    reason = settings.words(_reason(chain))
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in chain):
        return ModelRejectedError(
            f"the certificate of {settings.address} is not trusted: {reason}; set SSL_CERT_FILE", lasting=True
        )
    if any(isinstance(link, _OUR_FAULT) for link in chain):
        return ModelRejectedError(f"{settings.address} cannot be asked: {reason}; check --base-url", lasting=True)
    return ModelUnavailableError(f"the connection to {settings.address} failed: {reason}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and so on down."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _reason(chain: Sequence[BaseException]) -> str:
    """The most telling words of a chain of errors: the system's for its number, else the deepest."""
    for link in reversed(chain):
        # The numbers of TLS and of name resolution are not the system's.
        if isinstance(link, OSError) and not isinstance(link, ssl.SSLError | socket.gaierror) and link.errno:
            return os.strerror(link.errno)
    return next((str(link) for link in reversed(chain) if str(link)), type(chain[0]).__name__)
