from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cassette import Conversation
from endpoint import Answer, Loopback, as_json, chunk, completion, essay_stream, stream, usage_chunk
from pydantic import SecretStr

from narrator.draft import Usage
from narrator.errors import (
    ModelCutOffError,
    ModelError,
    ModelNoAnswerError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    ModelUnavailableError,
    UsageError,
)
from narrator.model import Endpoint, Settings
from narrator.model.wire import open_client
from narrator.reply import Reply

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
KEY = "sk-test-0123456789"
ESSAY = "# Essay\n\nWhole."
USED = Usage(input=9, output=4, cached=2, reasoning=1)
PROMPT = ({"role": "system", "content": "Write."}, {"role": "user", "content": "About message 3."})
DONE = "data: [DONE]\n\n"
LIMITED = as_json({"error": {"message": "slow down"}}, 429, retry_after="7")


def settings_for(url: str, **changes: Any) -> Settings:
    return Settings(**{"model": "loopback", "base_url": url, "api_key": SecretStr(KEY), "timeout": 5.0} | changes)


async def at_once(_: float) -> None:
    """Instead of waiting."""


def ask(url: str, messages: Sequence[Mapping[str, str]] = PROMPT, **changes: Any) -> Reply:
    return Endpoint(settings_for(url, **changes), wait=at_once).write(messages)


def reply_of(*answers: Answer, **changes: Any) -> tuple[Reply, int]:
    """The reply to what a server answers, and how many requests it took."""
    with Loopback(*answers) as server:
        return ask(server.url, **changes), len(server.requests)


def error_of(*answers: Answer, **changes: Any) -> tuple[ModelError, int]:
    """The same where there is no reply."""
    with Loopback(*answers) as server:
        with pytest.raises(ModelError) as caught:
            ask(server.url, **changes)
        return caught.value, len(server.requests)


# What goes over the wire, from recordings.


def test_a_streamed_essay_is_read_whole(cassette: Conversation) -> None:
    heard: list[str] = []
    with cassette.serve(essay_stream("# Ess", "ay\n\n", "Whole.")) as url:
        reply = Endpoint(settings_for(url), progress=heard.append).write(PROMPT)
    assert reply == Reply(text=ESSAY, model="loopback", finish="stop", usage=USED, sent={"stream": True})
    assert heard == ["# Ess", "ay\n\n", "Whole."]


def test_a_rate_limit_is_waited_out(cassette: Conversation) -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    with cassette.serve(LIMITED, essay_stream()) as url:
        reply = Endpoint(settings_for(url, timeout=60.0), wait=wait).write(PROMPT)
    assert reply.text == ESSAY
    assert [7 <= seconds <= 7.5 for seconds in waits] == [True]


def test_a_server_that_does_not_stream_is_read_too(cassette: Conversation) -> None:
    heard: list[str] = []
    with cassette.serve(completion()) as url:
        reply = Endpoint(settings_for(url, max_output_tokens=500), progress=heard.append).write(PROMPT)
    sent = {"stream": True, "max_tokens": 500}
    assert reply == Reply(text=ESSAY, model="loopback", finish="stop", usage=USED, sent=sent)
    assert heard == [ESSAY]


# The request.


def test_only_what_was_set_is_sent() -> None:
    with Loopback(essay_stream()) as server:
        ask(server.url)
        ask(server.url, max_output_tokens=500)
    bare = {
        "model": "loopback",
        "messages": list(PROMPT),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert server.requests == [bare, bare | {"max_tokens": 500}]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_prompt_with_half_characters_can_be_sent() -> None:
    with Loopback(essay_stream()) as server:
        ask(server.url, [{"role": "user", "content": "cut \ud83d here"}])
    assert server.requests[0]["messages"] == [{"role": "user", "content": "cut \ufffd here"}]


# Answers that hold an essay.


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(stream(chunk(ESSAY), chunk(finish="stop"), usage_chunk()), id="a stream without its end mark"),
        pytest.param(stream(chunk(ESSAY), chunk(finish="stop"), usage_chunk(), DONE, then="hang"), id="a stream that stays open after its end"),
        pytest.param(stream(": waiting\n\n", "event: ping\ndata: {}\n\n", chunk(ESSAY, "stop"), usage_chunk(), DONE), id="comments and pings"),
        pytest.param(stream(f"data: {json.dumps(chunk(ESSAY))}\r\n\r\n", chunk(finish="stop"), usage_chunk()), id="other line ends"),
        pytest.param(stream("data:\n\n", chunk(ESSAY, "stop"), usage_chunk()), id="an event without data"),
        pytest.param(stream(chunk(None), chunk(ESSAY), chunk(None, "stop"), usage_chunk()), id="deltas without content"),
        pytest.param(stream(chunk(ESSAY, reasoning_content="secret"), chunk("", "stop"), usage_chunk()), id="reasoning beside the text"),
        pytest.param(stream(chunk([{"type": "text", "text": ESSAY}], "stop"), usage_chunk()), id="a delta in parts"),
        pytest.param(completion([{"type": "text", "text": "# Essay\n\n"}, {"type": "thinking", "thinking": []}, 5, "Whole."]), id="a message in parts"),
        pytest.param(completion(ESSAY, refusal=None, reasoning="secret", tool_calls=None), id="a message with empty fields"),
        pytest.param(completion(ESSAY, refusal=""), id="a refusal of no words"),
    ],
)  # fmt: skip
def test_an_essay_is_read_from(answer: Answer) -> None:
    reply, tries = reply_of(answer)
    assert (reply.text, reply.usage, reply.finish, reply.notes, tries) == (ESSAY, USED, "stop", (), 1)


def with_message_so_far(text: str, so_far: str) -> dict[str, Any]:
    both = chunk(text)
    both["choices"][0]["message"] = {"role": "assistant", "content": so_far}
    return both


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(as_json({"choices": [{"message": {"content": ESSAY}}]}), ("loopback", None, None), id="next to nothing"),
        pytest.param(as_json({"model": 5, "usage": {"prompt_tokens": None}, "choices": [{"finish_reason": "eos", "message": {"content": ESSAY}}]}), ("loopback", "eos", None), id="fields of other types"),
        pytest.param(as_json({"model": "a\x1b[2J\nb", "usage": {"completion_tokens": 3}, "choices": [{"message": {"content": ESSAY}}]}), ("a[2J b", None, Usage(output=3)), id="a model's name that would clear a screen"),
        pytest.param(stream(with_message_so_far("# Essay", "# Essay"), with_message_so_far("\n\nWhole.", ESSAY), {"choices": [{"message": {"content": ESSAY}, "finish_reason": "stop"}]}), ("loopback", "stop", None), id="the text so far beside each delta"),
        pytest.param(stream({"choices": [{"message": {"content": ESSAY}, "finish_reason": "stop"}]}), ("loopback", "stop", None), id="a whole message as one event"),
    ],
)  # fmt: skip
def test_an_essay_is_read_whatever_else_is_missing(
    answer: Answer, expected: tuple[str, str | None, Usage | None]
) -> None:
    reply, _ = reply_of(answer)
    assert (reply.text, (reply.model, reply.finish, reply.usage)) == (ESSAY, expected)


def test_wrappings_are_taken_off_and_named() -> None:
    reply, _ = reply_of(completion(f"<think>nice</think>\n```markdown\n{ESSAY}\n```"))
    assert (reply.text, reply.notes) == (ESSAY, ("a <think> block", "an outer code fence"))


def test_a_character_may_come_in_two_halves() -> None:
    heard: list[str] = []
    with Loopback(stream(chunk("# \ud83d"), chunk("\ude00 E", "stop"))) as server:
        reply = Endpoint(settings_for(server.url), progress=heard.append).write(PROMPT)
    assert reply.text == "# 😀 E"
    assert "".join(heard).encode("utf-8")


def test_what_is_lost_after_the_end_of_the_text_is_not_missed() -> None:
    reply, tries = reply_of(stream(chunk(ESSAY), chunk(finish="stop"), then="short"))
    assert (reply.text, reply.usage, tries) == (ESSAY, None, 1)


# Answers that hold none.


TOOL = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("answer", "kind", "words", "tries"),
    [
        pytest.param(completion("Half", finish="length"), ModelCutOffError, "the output limit cut the answer off after 4 characters; raise --max-output-tokens", 1, id="cut at the limit"),
        pytest.param(completion("", finish="length", reasoning_content="secret"), ModelCutOffError, "the whole output limit went to reasoning", 1, id="nothing but reasoning"),
        pytest.param(stream(chunk("Half", "MAX_TOKENS")), ModelCutOffError, "limit", 1, id="cut at the limit, in a gateway's word"),
        pytest.param(stream(chunk("Half")), ModelCutOffError, "cut off after 4 characters", 4, id="a stream that ends early"),
        pytest.param(stream(chunk("Half"), DONE), ModelCutOffError, "cut off after 4 characters", 4, id="the same with its end mark"),
        pytest.param(stream(chunk("Half", "abort")), ModelCutOffError, "cut off after 4 characters", 4, id="a stream that the server broke off"),
        pytest.param(stream(chunk("Half"), then="short"), ModelCutOffError, "cut off after 4 characters", 4, id="a connection lost in the middle"),
        pytest.param(completion(None, finish="content_filter"), ModelRefusedError, "(content_filter)", 1, id="a filter"),
        pytest.param(completion("Half", finish="content_filter"), ModelRefusedError, "filter", 1, id="a filter in the middle"),
        pytest.param(completion(None, refusal="I can't\nhelp."), ModelRefusedError, "the model refused: I can't help;", 1, id="a refusal"),
        pytest.param(completion([{"type": "refusal", "refusal": "No."}]), ModelRefusedError, "the model refused: No;", 1, id="a refusal as a part"),
        pytest.param(stream(chunk(refusal="I "), chunk(refusal="won't"), chunk(finish="stop")), ModelRefusedError, "refused: I won't;", 1, id="a refusal in pieces"),
        pytest.param(completion(None, finish="tool_calls", tool_calls=TOOL), ModelNoAnswerError, "called a tool", 1, id="a tool call"),
        pytest.param(completion("Let me look.", finish="tool_calls", tool_calls=TOOL), ModelNoAnswerError, "called a tool", 1, id="a tool call with a word before it"),
        pytest.param(stream(chunk(tool_calls=TOOL), chunk(finish="stop")), ModelNoAnswerError, "called a tool", 1, id="a tool call that ends like a text"),
        pytest.param(completion(""), ModelNoAnswerError, "empty answer", 2, id="no text"),
        pytest.param(completion(None), ModelNoAnswerError, "empty answer", 2, id="null for a text"),
        pytest.param(completion(5), ModelNoAnswerError, "empty answer", 2, id="a number for a text"),
        pytest.param(completion("<think>only"), ModelNoAnswerError, "empty answer", 2, id="nothing but a thought"),
        pytest.param(as_json({"choices": [{"finish_reason": "stop"}]}), ModelNoAnswerError, "empty answer", 2, id="no message"),
        pytest.param(as_json({"id": "", "choices": []}), ModelNoAnswerError, "no choices, only: id, choices;", 2, id="no choices"),
        pytest.param(as_json({}), ModelNoAnswerError, "no choices, only: nothing;", 2, id="nothing"),
        pytest.param(stream(usage_chunk(), DONE), ModelNoAnswerError, "no choices", 2, id="a stream without choices"),
        pytest.param(completion("<!doctype html><p>Hi"), ModelNoAnswerError, "a document of HTML", 1, id="a web page for an essay"),
        pytest.param(completion('```json\n{"title": "T"}\n```'), ModelNoAnswerError, "a document of JSON", 1, id="JSON for an essay"),
        pytest.param(as_json([1, 2]), ModelNoAnswerError, "JSON that is no object", 2, id="a list"),
        pytest.param(Answer(body=b'{"choices": ['), ModelNoAnswerError, "unreadable", 2, id="half of the JSON"),
        pytest.param(Answer(body=b""), ModelNoAnswerError, "unreadable", 2, id="an empty body"),
        pytest.param(Answer(body=b'{"choices": "\xff\xfe"}'), ModelNoAnswerError, "unreadable", 2, id="bytes that are no text"),
        pytest.param(Answer(body="[" * 100_000), ModelNoAnswerError, "unreadable", 2, id="JSON too deep to read"),
        pytest.param(Answer(body=b"no gzip", headers={"content-encoding": "gzip"}), ModelNoAnswerError, "unreadable", 2, id="a broken compression"),
        pytest.param(stream(chunk("Half"), 'data: {"cho\n\n'), ModelNoAnswerError, "unreadable", 2, id="half of an event"),
        pytest.param(Answer(body="<html>login", kind="text/html; charset=x"), ModelNoAnswerError, "does not answer as an OpenAI-compatible API: got text/html; check --base-url: is it the right address?", 1, id="a web page"),
        pytest.param(Answer(body="Ollama is running", kind="text/plain"), ModelNoAnswerError, "got text/plain", 1, id="a line of text"),
        pytest.param(Answer(body="x", kind=None), ModelNoAnswerError, "got an answer without a content type", 1, id="a body of no type"),
        pytest.param(completion("Half", finish="error"), ModelUnavailableError, "failed while loopback was writing; tried 4 times, try again later", 4, id="a provider that failed"),
        pytest.param(as_json({"choices": None, "error": {"message": "x", "code": 429}}), ModelUnavailableError, "rate limited (429): x; tried 4 times", 4, id="an error for a completion"),
        pytest.param(as_json({"choices": [{"error": {"message": "x", "code": 502}}]}), ModelUnavailableError, "(502): x", 4, id="an error for a choice"),
        pytest.param(as_json({"error": {"message": "x", "code": 401}}), ModelRejectedError, "refused the key", 1, id="an error that will not pass"),
        pytest.param(stream(chunk("Half"), {"error": {"message": "upstream overloaded", "code": 529}}), ModelUnavailableError, "(529): upstream overloaded", 4, id="an error in the stream"),
        pytest.param(stream(chunk("Half"), 'event: error\ndata: {"message": "boom"}\n\n'), ModelUnavailableError, "failed: boom", 4, id="an error event"),
        pytest.param(stream(chunk("Half"), 'event: error\ndata: "boom"\n\n'), ModelUnavailableError, "failed: boom", 4, id="an error event of mere text"),
        pytest.param(Answer(body=b"", status=0, then="reset"), ModelUnavailableError, "the connection to http://127.0.0.1", 4, id="a reset before the answer"),
        pytest.param(Answer(body=b'{"id": 1', then="short"), ModelUnavailableError, "the connection to http://127.0.0.1", 4, id="a body that is cut short"),
        pytest.param(Answer(body=b'{"error": 1', status=500, then="short"), ModelUnavailableError, "the connection to", 4, id="an error that is cut short"),
    ],
)  # fmt: skip
def test_no_essay_comes_from(answer: Answer, kind: type[ModelError], words: str, tries: int) -> None:
    error, made = error_of(answer)
    assert type(error) is kind
    assert words in str(error)
    assert str(error).isprintable()
    assert made == tries


def test_an_address_without_v1_is_told_so() -> None:
    with (
        Loopback(Answer(body="<html>", kind="text/html")) as server,
        pytest.raises(ModelNoAnswerError, match="is /v1 missing"),
    ):
        ask(server.url.removesuffix("/v1"))


def test_a_limit_that_was_set_is_named() -> None:
    error, _ = error_of(completion("", finish="length"), max_output_tokens=64)
    assert str(error).endswith("; raise --max-output-tokens (now 64), or ask for less with --length")


def test_nobody_at_the_address_is_said_so() -> None:
    with Loopback(essay_stream()) as server:
        pass
    with pytest.raises(ModelUnavailableError, match=r"failed: Connection refused; tried 4 times"):
        ask(server.url)


def test_a_refused_key_is_nowhere_to_be_read() -> None:
    error, _ = error_of(as_json({"error": {"message": f"Incorrect API key: {KEY}"}}, 401))
    assert KEY not in "".join(traceback.format_exception(error))
    assert "Incorrect API key: [key]" in str(error)


# Another try.


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(as_json({"error": {"message": "x"}}, 503), id="a server that failed"),
        pytest.param(stream(chunk("Half")), id="half a stream"),
        pytest.param(stream(chunk("Half"), then="short"), id="a lost connection"),
        pytest.param(completion(""), id="an empty answer"),
    ],
)
def test_a_second_try_starts_afresh(first: Answer) -> None:
    reply, tries = reply_of(first, essay_stream())
    assert (reply.text, tries) == (ESSAY, 2)


def test_every_wait_is_announced() -> None:
    notices: list[str] = []
    with Loopback(as_json({"error": "busy"}, 503), essay_stream()) as server:
        Endpoint(settings_for(server.url), notice=notices.append, wait=at_once).write(PROMPT)
    assert [re.sub(r"[\d.]+ s$", "N s", notice) for notice in notices] == [
        f"{server.url} failed (503): busy; next try in N s"
    ]


def test_a_server_that_names_no_pause_is_given_more_time_with_every_try() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    with Loopback(as_json({}, 500)) as server, pytest.raises(ModelUnavailableError):
        Endpoint(settings_for(server.url, timeout=60.0), wait=wait).write(PROMPT)
    assert [low <= seconds <= low + 0.5 for low, seconds in zip((0.5, 1.0, 2.0), waits, strict=True)] == [True] * 3


def test_without_a_way_to_wait_the_clock_is_used() -> None:
    with Loopback(as_json({}, 429, retry_after_ms="200"), essay_stream()) as server:
        started = time.monotonic()
        assert Endpoint(settings_for(server.url)).write(PROMPT).text == ESSAY
    assert time.monotonic() - started >= 0.2


def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    error, tries = error_of(LIMITED, timeout=2.0)
    assert (type(error), tries) == (ModelUnavailableError, 1)
    assert str(error) == "loopback is rate limited (429): slow down; it asks to wait 7 s"


def test_a_pause_of_minutes_is_not_begun() -> None:
    error, tries = error_of(as_json({}, 429, retry_after="300"), timeout=900.0)
    assert isinstance(error, ModelUnavailableError)
    assert (error.retry_after, tries) == (300.0, 1)


def test_one_try_may_be_all() -> None:
    error, tries = error_of(as_json({"error": "busy"}, 503), attempts=1)
    assert (str(error).endswith("failed (503): busy"), tries) == (True, 1)


# The deadline.


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(body=b"", status=0, then="hang"), id="a server that says nothing"),
        pytest.param(stream(chunk("Half"), then="hang"), id="a stream that stalls"),
        pytest.param(stream(*[chunk("drop ")] * 100, drip=0.05), id="a stream that drips"),
        pytest.param(stream(*[": still here\n\n"] * 100, drip=0.05), id="a stream that only says it is there"),
    ],
)
def test_the_whole_call_has_a_deadline(answer: Answer) -> None:
    started = time.monotonic()
    error, tries = error_of(answer, timeout=0.4)
    assert time.monotonic() - started < 2
    assert type(error) is ModelUnavailableError
    assert str(error) == "no whole answer from loopback within 0.4 s; --timeout gives more"
    assert tries == 1


def test_a_model_may_think_for_minutes_before_it_says_a_word() -> None:
    async def timeout() -> Any:
        async with open_client(settings_for("http://127.0.0.1:9/v1")) as client:
            return client.timeout

    found = asyncio.run(timeout())
    assert (found.read, found.connect) == (None, 10.0)


@pytest.mark.parametrize("raised", [TimeoutError, BrokenPipeError, KeyboardInterrupt])
def test_what_the_listener_raises_is_not_the_models_fault(raised: type[BaseException]) -> None:
    def listen(_: str) -> None:
        raise raised

    with Loopback(essay_stream()) as server, pytest.raises(raised):
        Endpoint(settings_for(server.url), progress=listen).write(PROMPT)
    assert len(server.requests) == 1


INTERRUPTED = """
import sys
from pydantic import SecretStr
from narrator.model import Endpoint, Settings
settings = Settings(model="m", base_url=sys.argv[1], api_key=SecretStr("none"))
try:
    Endpoint(settings).write([{"role": "user", "content": "x"}])
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(stream(chunk("Half"), then="hang"), id="while it streams"),
        pytest.param(as_json({}, 429, retry_after="60"), id="while it waits"),
    ],
)
def test_an_interrupt_ends_it_at_once_and_in_silence(answer: Answer) -> None:
    with Loopback(answer) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as child:
            asked = server.asked.wait(300)
            time.sleep(0.2)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            _, said = child.communicate()
    assert asked
    assert time.monotonic() - begun < 30, "the server would have held it for a minute"
    assert (child.returncode, said) == (130, "")


# Many essays.


class Gate:
    """Counts who is inside, and remembers what each left with."""

    def __init__(self) -> None:
        self.inside = 0
        self.left: list[type[BaseException] | None] = []

        self.characters: list[int] = []
        self.counted: list[Usage | None] = []

    @asynccontextmanager
    async def admit(self, characters: int) -> AsyncIterator[Callable[[Usage | None], None]]:
        self.inside += 1
        self.characters.append(characters)
        try:
            yield self.counted.append
        except ModelUnavailableError as error:
            self.left.append(type(error))
            raise
        else:
            self.left.append(None)
        finally:
            self.inside -= 1


def test_many_essays_share_a_client_and_pass_a_gate() -> None:
    gate = Gate()

    async def many(url: str) -> list[Reply]:
        async with Endpoint(settings_for(url, timeout=60.0), gate=gate, wait=at_once) as endpoint:
            return await asyncio.gather(*(endpoint.awrite(PROMPT) for _ in range(5)))

    with Loopback(LIMITED, essay_stream()) as server:
        replies = asyncio.run(many(server.url))
    assert [reply.text for reply in replies] == [ESSAY] * 5
    assert gate.inside == 0
    assert gate.counted == [Usage(input=9, output=4, cached=2, reasoning=1)] * 5
    assert gate.characters == [sum(len(message["content"]) for message in PROMPT)] * 6
    assert sorted(map(str, gate.left)) == sorted(map(str, [ModelUnavailableError, *[None] * 5]))


def test_an_endpoint_can_be_used_again_after_its_client_is_closed() -> None:
    async def twice(url: str) -> list[str]:
        endpoint = Endpoint(settings_for(url))
        async with endpoint:
            first = await endpoint.awrite(PROMPT)
        return [first.text, (await endpoint.awrite(PROMPT)).text]

    with Loopback(essay_stream()) as server:
        assert asyncio.run(twice(server.url)) == [ESSAY, ESSAY]


# An environment that no client can be made in.


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("HTTP_PROXY", "garbage://x", "proxy variables", id="a proxy of no known kind"),
        pytest.param("HTTP_PROXY", "http://[::1", "proxy variables", id="a proxy without an address"),
        pytest.param("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE", id="certificates that are not there"),
        pytest.param("OPENAI_ORG_ID", "caf\xe9", "OPENAI_ORG_ID", id="an organization that no header can carry"),
        pytest.param("OPENAI_PROJECT_ID", "a\nb", "OPENAI_PROJECT_ID", id="a project that no header can carry"),
    ],
)
def test_an_environment_that_cannot_be_used_is_a_usage_error(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=words):
        ask("http://127.0.0.1:9/v1")
    gc.collect()
    assert not caplog.records


def test_an_address_that_only_the_client_finds_wrong_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="check the address"):
        ask("http://xn--\uffff/v1")


# The shared cases and the shared endpoint, where they are.


shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared cases are not beside this checkout")


@shared
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("100-api-choices-null.json", ModelUnavailableError, "Too Many Requests"),
        ("101-api-choices-empty.json", ModelNoAnswerError, "no choices"),
        ("102-api-length-empty.json", ModelCutOffError, "--max-output-tokens"),
        ("104-api-content-filter.json", ModelRefusedError, "content_filter"),
        ("105-api-refusal.json", ModelRefusedError, "refused: I can't help with that"),
        (
            "108-api-context-length-400.json",
            ModelTooLongError,
            "8192 tokens. However, your messages resulted in 19241",
        ),
        ("109-api-insufficient-quota-429.json", ModelRejectedError, "quota"),
        ("112-api-stream-error-event.sse", ModelUnavailableError, "upstream overloaded"),
        ("118-api-unsupported-param-400.json", ModelRejectedError, "max_completion_tokens"),
        ("107-api-fenced-whole.json", None, "# Essay\n\nText.\n\n```python\nprint(1)\n```\n\nMore."),
        ("111-api-stream-usage-chunk.sse", None, "# Essay\n\nWhole."),
        ("114-api-think-tags.json", None, "# Essay\n\nThe word <think> appears in the code."),
        ("115-api-think-orphan-close.json", None, "# Essay\n\nBody."),
        ("116-api-hostile-essay.json", None, "# Essay <script>window"),
        ("119-api-content-parts.json", None, "# Essay\n\nAs a list of parts."),
    ],
)
def test_a_shared_reply_ends_as_it_should(name: str, kind: type[ModelError] | None, words: str) -> None:
    folder = SHARED / "cases"
    status, content_type, headers = json.loads((folder / "api-replies.json").read_text("utf-8"))[name]
    answer = Answer(body=(folder / name).read_bytes(), status=status, kind=content_type, headers=headers)
    if kind is None:
        reply, _ = reply_of(answer)
        assert words in reply.text
        return
    error, _ = error_of(answer)
    assert type(error) is kind
    assert words in str(error)
    assert "private thought" not in str(error)


@shared
def test_every_fault_of_the_shared_endpoint_ends_in_a_reply_or_in_our_error() -> None:
    tool = SHARED / "tools" / "fault_endpoint.py"
    names = re.findall(r"[\w-]+", re.search(r'KNOWN = set\("""(.*?)"""', tool.read_text("utf-8"), re.DOTALL)[1])  # type: ignore[index]

    async def one(url: str, name: str) -> Reply | BaseException:
        endpoint = Endpoint(settings_for(url, model=name, timeout=3.0), wait=at_once)
        [outcome] = await asyncio.gather(endpoint.awrite(PROMPT), return_exceptions=True)
        return outcome

    async def every(url: str) -> list[Reply | BaseException]:
        return await asyncio.gather(*(one(url, name) for name in names))

    with subprocess.Popen([sys.executable, str(tool), "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        outcomes = dict(zip(names, asyncio.run(every(server.stdout.readline().strip())), strict=True))
        server.kill()
    assert len(outcomes) > 60
    assert not {name: found for name, found in outcomes.items() if not isinstance(found, Reply | ModelError)}
    assert not [
        name for name, found in outcomes.items() if not isinstance(found, Reply) and not str(found).isprintable()
    ]
