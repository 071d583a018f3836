"""What endpoints do differently: parameters they refuse, contexts they exceed, addresses, keys, lists of models."""

from __future__ import annotations

import asyncio
import html
import json
import random
import signal
import string
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from console import GOOD_ESSAY, environment, good_answer, run
from endpoint import Answer, Loopback, as_json, chunk, completion, essay_stream, stream
from pydantic import SecretStr
from recordings import assistant, export, user, write

from narrator.errors import ModelError, ModelNoAnswerError, ModelRejectedError, ModelTooLongError
from narrator.model import Endpoint, Settings, settings_from
from narrator.model.address import read_address, take_apart
from narrator.model.listing import Offered, list_models, read_models
from narrator.reply import Reply

PROMPT = ({"role": "system", "content": "Write."}, {"role": "user", "content": "About message 3."})


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings_for(url: str, **changes: Any) -> Settings:
    return Settings(**{"model": "loopback", "base_url": url, "api_key": SecretStr("sk-test"), "timeout": 5.0} | changes)


async def at_once(_: float) -> None:
    """Instead of waiting."""


def talk(*answers: Answer, **changes: Any) -> tuple[Reply | ModelError, list[dict[str, Any]], list[str]]:
    """What came of it, what was asked, and what a person was told."""
    notices: list[str] = []
    with Loopback(*answers) as server:
        endpoint = Endpoint(settings_for(server.url, **changes), notice=notices.append, wait=at_once)
        try:
            outcome: Reply | ModelError = endpoint.write(PROMPT)
        except ModelError as error:
            outcome = error
    assert endpoint.requests == len(server.requests)
    return outcome, server.requests, notices


# ---- parameters that are refused ---------------------------------------------------------------------------------


def refusal(message: object, status: int = 400, **more: object) -> Answer:
    return as_json({"error": {"message": message, **more}}, status)


UNKNOWN = "Unrecognized request argument supplied: stream_options"
MISTRAL = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"], "msg": "Extra"}]}
FASTAPI = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs"}]}
VLLM = "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]"
SWAP = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
BACK = "Unsupported parameter: 'max_completion_tokens'. Did you mean 'max_tokens'?"
VERIFY = "Your organization must be verified to stream this model."


@pytest.mark.parametrize(
    ("answer", "changes", "gone", "how"),
    [
        pytest.param(refusal(UNKNOWN), {}, "stream_options", "without stream_options", id="by its sentence"),
        pytest.param(refusal(MISTRAL, 422), {}, "stream_options", "without stream_options", id="by the place in it"),
        pytest.param(as_json(FASTAPI, 422), {}, "stream_options", "without stream_options", id="by a place alone"),
        pytest.param(refusal(VLLM), {}, "stream_options", "without stream_options", id="by a place in a sentence"),
        pytest.param(refusal("Extra inputs are not permitted", 422), {}, "stream_options", "without stream_options", id="without a name"),
        pytest.param(refusal(VERIFY, param="stream", code="unsupported_value"), {}, "stream", "without stream", id="streaming"),
        pytest.param(refusal(SWAP, param="max_tokens"), {"max_output_tokens": 9}, "max_tokens", "with max_completion_tokens", id="the older name of the limit"),
        pytest.param(refusal(SWAP), {"max_output_tokens": 9}, "max_tokens", "with max_completion_tokens", id="the same by its sentence"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("good", [essay_stream(), completion()], ids=["streamed", "in one document"])
def test_a_refused_parameter_is_left_out_and_the_essay_comes(
    answer: Answer, changes: dict[str, Any], gone: str, how: str, good: Answer
) -> None:
    outcome, (first, second), notices = talk(answer, good, **changes)
    assert isinstance(outcome, Reply)
    assert gone in first
    assert gone not in second
    assert {name: value for name, value in first.items() if name in second and name != gone} == {
        name: value for name, value in second.items() if name in first
    }
    assert second.get("max_completion_tokens") == changes.get("max_output_tokens")
    [notice] = notices
    assert notice.endswith(f"; asked again {how}")


def test_what_openai_refuses_is_sent_as_other_servers_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("narrator.model.address.DEFAULT_BASE_URL", "http://127.0.0.1/v1")
    outcome, requests, _ = talk(refusal(BACK), essay_stream(), max_output_tokens=9)
    assert isinstance(outcome, Reply)
    assert [[name for name in request if name.startswith("max")] for request in requests] == [
        ["max_completion_tokens"], ["max_tokens"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "changes", "requests", "says"),
    [
        pytest.param([refusal(SWAP)], {}, 1, "max_completion_tokens", id="one that was not sent"),
        pytest.param([refusal(UNKNOWN)], {}, 2, "does not take a parameter (400)", id="one that is refused when it is gone"),
        pytest.param([refusal(SWAP), refusal(BACK)], {"max_output_tokens": 9}, 2, "leave out --max-output-tokens", id="the limit under both its names"),
        pytest.param([refusal("max_tokens is too large: 9000000")], {"max_output_tokens": 9}, 1, "too large", id="a value that is wrong"),
        pytest.param([refusal("no")], {}, 1, "the same would fail again", id="something else"),
        pytest.param([refusal(UNKNOWN), refusal(VERIFY, param="stream", code="unsupported_value"), refusal("no")], {}, 3, "(400): no", id="one after the other"),
    ],
)  # fmt: skip
def test_no_request_is_sent_twice_when_it_was_turned_down(
    answers: list[Answer], changes: dict[str, Any], requests: int, says: str
) -> None:
    outcome, asked, notices = talk(*answers, **changes)
    assert isinstance(outcome, ModelRejectedError)
    assert says in str(outcome)
    assert len(asked) == requests == len(notices) + 1
    assert len({json.dumps(request, sort_keys=True) for request in asked}) == requests


def test_a_refusal_is_known_to_all_essays_of_a_run_and_told_once() -> None:
    notices: list[str] = []

    async def many(url: str) -> list[Reply]:
        async with Endpoint(settings_for(url), notice=notices.append, wait=at_once) as endpoint:
            first = await asyncio.gather(*(endpoint.awrite(PROMPT) for _ in range(3)))
            return [*first, await endpoint.awrite(PROMPT)]

    with Loopback(*[refusal(UNKNOWN)] * 3, essay_stream()) as server:
        assert len(asyncio.run(many(server.url))) == 4
    assert ["stream_options" in request for request in server.requests].count(True) == 3
    assert "stream_options" not in server.requests[-1]
    assert len(notices) == 1


def test_reasoning_effort_is_left_out_for_a_model_that_does_not_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from narrator.model.terms import Terms

    monkeypatch.setattr(Settings, "looks_up_apart", True)
    terms = Terms(settings_for("http://localhost/v1"))
    sent = terms.parameters([{"type": "function"}])
    assert sent["reasoning_effort"] == "none"
    error = ModelRejectedError("x; y", tools=True, parameters=("reasoning_effort",))
    assert terms.adapt(error, sent) == "without reasoning_effort"
    assert "reasoning_effort" not in terms.parameters([{"type": "function"}])


# ---- a context that is exceeded ----------------------------------------------------------------------------------


def long_session() -> str:
    turns = [
        message for number in range(60) for message in (user(f"step {number}"), assistant(f"word {number} " * 300))
    ]
    return write(Path(), export(*turns), "long.json")


def too_long(message: str, status: int = 400, **more: object) -> Answer:
    return as_json({"error": {"message": message, **more}}, status)


NUMBERS = "This model's maximum context length is 8192 tokens. However, your messages resulted in 19241 tokens."
LLAMA = too_long(
    "exceeds the available context size", type="exceed_context_size_error", n_prompt_tokens=19241, n_ctx=8192
)


@pytest.mark.parametrize(
    ("answer", "limit", "sent"),
    [
        pytest.param(too_long(NUMBERS, code="context_length_exceeded"), 8192, 19241, id="OpenAI"),
        pytest.param(too_long("This model's maximum context length is 8192 tokens. However, you requested 20241 tokens (19241 in the messages, 1000 in the completion)."), 8192, 20241, id="vLLM"),
        pytest.param(too_long("request (19241 tokens) exceeds the available context size (8192 tokens), try increasing it", type="exceed_context_size_error", n_prompt_tokens=19241, n_ctx=8192), 8192, 19241, id="llama.cpp"),
        pytest.param(LLAMA, 8192, 19241, id="llama.cpp by its fields"),
        pytest.param(too_long("Trying to keep the first 19241 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens, which is not enough."), 8192, 19241, id="LM Studio"),
        pytest.param(too_long("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 19241 >= n_ctx: 8192)."), 8192, 19241, id="LM Studio, newer"),
        pytest.param(too_long("prompt is too long: 19,241 tokens > 8,192 maximum"), 8192, 19241, id="Anthropic"),
        pytest.param(too_long("This model's maximum context length is 8192 tokens"), 8192, None, id="the limit alone"),
        pytest.param(as_json({}, 413), None, None, id="no number at all"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "good", [completion(GOOD_ESSAY), essay_stream(GOOD_ESSAY)], ids=["in one document", "streamed"]
)
def test_a_prompt_that_is_too_long_is_shrunk_once(
    answer: Answer, limit: int | None, sent: int | None, good: Answer
) -> None:
    path = long_session()
    with Loopback(answer, good) as server:
        ran = run("--msg", "60", path, "--base-url", server.url, "--lookups", "0", "--repair", "0", "--json")
    assert ran.code == 0, ran.err
    first, second = (sum(len(said["content"]) for said in request["messages"]) for request in server.requests)
    assert second < first * 0.9
    [told] = [line for line in ran.lines if "asked again with --budget" in line]
    budget = int(told.rpartition(" ")[2])
    assert json.loads(ran.out)["settings"] == {"lookups": 0, "repair": 0, "budget": budget}
    assert budget >= 800
    outcome, _, _ = talk(answer)
    assert isinstance(outcome, ModelTooLongError)
    assert (outcome.limit, outcome.sent) == (limit, sent)


def test_a_prompt_shrunk_by_the_server_s_numbers_would_fit() -> None:
    path = long_session()
    with Loopback(too_long(NUMBERS), good_answer()) as server:
        ran = run("--msg", "60", path, "--base-url", server.url, "--lookups", "0", "--repair", "0")
    assert ran.code == 0
    first, second = (sum(len(said["content"]) for said in request["messages"]) for request in server.requests)
    assert second * 19241 / first <= 8192, "in the server's tokens"


@pytest.mark.parametrize(
    ("words", "requests", "says"),
    [
        pytest.param([], 2, r"8192 tokens.*19241 tokens, also with --budget \d+; use a model, or start", id="twice"),
        pytest.param(["--budget", "800"], 1, r"19241 tokens, also with --budget \d+; use a model", id="it is the least"),
        pytest.param(["--before", "40"], 1, r"19241 tokens, also with --budget \d+; use a model", id="more was promised"),
    ],
)  # fmt: skip
def test_a_prompt_that_cannot_be_made_to_fit_is_exit_3(words: list[str], requests: int, says: str) -> None:
    import re

    path = long_session()
    with Loopback(too_long(NUMBERS)) as server:
        ran = run("--msg", "60", path, "--base-url", server.url, "--lookups", "0", *words)
    assert (ran.code, ran.out, len(server.requests)) == (3, "", requests)
    assert re.search(says, ran.lines[-1]), ran.err
    assert not Path("drafts").exists()


def test_the_same_call_again_finds_the_shrunk_essay_before_it_is_paid_for_again() -> None:
    path = long_session()
    words = ["--msg", "60", path, "--lookups", "0", "--repair", "0"]
    with Loopback(too_long(NUMBERS), good_answer(), too_long(NUMBERS), good_answer()) as server:
        assert run(*words, "--base-url", server.url).code == 0
        again = run(*words, "--base-url", server.url)
    assert (again.code, len(server.requests)) == (2, 3)
    assert "exists: " in again.lines[-1]


# ---- addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        pytest.param("http://h:1/v1", "http://h:1/v1", id="as it should be"),
        pytest.param(" http://h:1/v1/ ", "http://h:1/v1", id="a slash at its end"),
        pytest.param("http://h:1/v1//", "http://h:1/v1", id="two"),
        pytest.param("http://h:1", "http://h:1/v1", id="a bare host"),
        pytest.param("http://h:1/", "http://h:1/v1", id="a bare host with a slash"),
        pytest.param("http://h:1/v1/chat/completions", "http://h:1/v1", id="pasted whole"),
        pytest.param("http://h:1/v1/chat/completions/", "http://h:1/v1", id="pasted whole, with a slash"),
        pytest.param("http://h:1/v1/models", "http://h:1/v1", id="the list of models"),
        pytest.param("http://h:1/chat/completions", "http://h:1", id="an API without /v1, pasted whole"),
        pytest.param("https://h/api/v1", "https://h/api/v1", id="deeper"),
        pytest.param("https://h/v1beta/openai/", "https://h/v1beta/openai", id="another version"),
        pytest.param("https://h/v1#top", "https://h/v1", id="a fragment"),
        pytest.param("https://h/v1?a=b&c=", "https://h/v1?a=b&c=", id="a query"),
        pytest.param("https://h?a=b", "https://h/v1?a=b", id="a query at a bare host"),
        pytest.param("https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1", id="Azure"),
        pytest.param("https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21", id="Azure, older"),
    ],
)  # fmt: skip
def test_an_address_is_taken_as_people_paste_it(given: str, asked: str) -> None:
    assert read_address("--base-url", given) == asked
    assert read_address("--base-url", asked) == asked or "/v1" not in asked


@pytest.mark.parametrize(
    ("path", "asked", "headers"),
    [
        pytest.param("", "/v1/chat/completions", {"authorization": "Bearer sk-abcdef"}, id="a bare host"),
        pytest.param("/v1/", "/v1/chat/completions", {"authorization": "Bearer sk-abcdef"}, id="a slash"),
        pytest.param("/v1?token=t&x=", "/v1/chat/completions?token=t&x=", {"authorization": "Bearer sk-abcdef"}, id="a query"),
        pytest.param("/openai/v1/", "/openai/v1/chat/completions", {"authorization": "Bearer sk-abcdef"}, id="Azure"),
        pytest.param("/openai/deployments/my-gpt?api-version=2024-10-21", "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21", {"api-key": "sk-abcdef"}, id="Azure, older"),
    ],
)  # fmt: skip
def test_what_is_asked_for_with_an_address(path: str, asked: str, headers: dict[str, str]) -> None:
    with Loopback(essay_stream()) as server:
        settings = settings_from(None, server.url.removesuffix("/v1") + path, {"OPENAI_API_KEY": "sk-abcdef"})
        assert settings is not None
        assert Endpoint(settings).write(PROMPT).text
    assert server.paths == [asked]
    sent = {name: value for name, value in server.headers[0].items() if name in ("authorization", "api-key")}
    assert sent == headers
    assert settings.model == ("my-gpt" if "deployments" in path else "gpt-6-sol")


def test_a_key_in_a_header_of_its_own_is_not_sent_on_to_another_address() -> None:
    with Loopback(essay_stream()) as other:
        moved = Answer(body="", status=307, headers={"location": f"{other.url}/chat/completions"})
        with Loopback(moved) as server:
            url = f"{server.url.removesuffix('/v1')}/openai/deployments/d?api-version=1"
            with pytest.raises(ModelRejectedError, match="307"):
                Endpoint(settings_for(url)).write(PROMPT)
    assert (len(server.requests), other.requests) == (1, [])


def test_azure_is_asked_like_openai() -> None:
    assert take_apart("https://r.openai.azure.com/openai/v1").follows_openai
    assert not take_apart("https://azure.com.evil.test/v1").follows_openai


# ---- keys --------------------------------------------------------------------------------------------------------


def odd_keys() -> Iterator[str]:
    rng = random.Random(7)
    visible = "".join(chr(code) for code in range(33, 127))
    for length in (6, 8, 9, 16, 40, 200):
        yield from ("".join(rng.choices(alphabet, k=length)) for alphabet in (visible, string.hexdigits, string.digits))
    yield from ("sk-proj-abcDEF_123-456", "a" * 32, 'q"u\\o/t&e<d>', "key.with.dots.and=equals==", "AIzaSyD-0123456789")


def echoes(key: str) -> Iterator[Answer]:
    """An endpoint that repeats the key in every way it could."""
    forms = [key, quote(key, safe=""), html.escape(key), key.upper(), json.dumps({"authorization": f"Bearer {key}"})]
    if len(key) >= 16:
        forms += [key[: len(key) // 2] + "…", f"…{key[-10:]}", f"{key[:4]}***{key[-4:]}"]
    for form in forms:
        yield as_json({"error": {"message": f"bad {form} sent", "code": "x"}}, 400)
        yield as_json({"error": {"message": f"bad {form} sent"}}, 401)
        yield Answer(body=f"<html><title>{form}</title>", status=502, kind="text/html")
        yield as_json({"error": {"message": f"slow: {form}", "code": 429}})
        yield completion(None, refusal=f"not with {form}")
        yield stream(chunk("Half"), {"error": {"message": f"died of {form}"}})
        yield as_json({form: 1})
        yield Answer(body="x", kind=f"text/{quote(form)}")


@pytest.mark.parametrize("key", [pytest.param(key, id=f"key {number}") for number, key in enumerate(odd_keys())])
def test_a_key_of_any_shape_is_in_no_message(key: str) -> None:
    password, answers = "pass" + "".join(letter for letter in key if letter.isalnum()), list(echoes(key))
    secrets = [
        key,
        quote(key, safe=""),
        html.escape(key),
        password,
        *([key[: len(key) // 2]] if len(key) >= 16 else []),
    ]
    with Loopback(*answers) as server:
        url = f"{server.url.replace('//', f'//me:{quote(password)}@')}?access_token={quote(key, safe='')}"
        for answer in answers:
            endpoint = Endpoint(settings_for(url, api_key=SecretStr(key), attempts=1))
            with pytest.raises(ModelError) as caught:
                endpoint.write(PROMPT)
            said = f"{caught.value}{''.join(traceback.format_exception(caught.value))}".lower()
            assert not [secret for secret in secrets if secret.lower() in said], (answer.body, said)
    assert len(server.requests) == len(answers)


@pytest.mark.parametrize("key", ["odd=key/with+signs==", "sk-proj-0123456789"])
def test_a_key_that_is_echoed_is_not_printed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    session = write(Path(), export(user("Please fix the test."), assistant("It fails."), user("continue")))
    for answer in (refusal(f"bad {key}"), as_json({"error": {"message": key}}, 503, retry_after_ms="1")):
        with Loopback(answer) as server:
            ran = run("--msg", "1", session, "--base-url", f"{server.url}?token={quote(key)}", "--debug")
        assert (ran.code, key in ran.err) == (3, False)


def test_a_placeholder_for_a_key_is_a_word_like_any_other() -> None:
    outcome, _, _ = talk(as_json({"error": {"message": "try: ollama pull x"}}, 404), api_key=SecretStr("ollama"))
    assert "ollama pull x" in str(outcome)


# ---- the deadline and the interrupt ------------------------------------------------------------------------------


def test_all_that_is_asked_for_an_essay_shares_one_deadline() -> None:
    drip = stream(chunk("# Essay"), *[": still here\n\n"] * 8, chunk("\n\nWhole.", "stop"), drip=0.1)
    with Loopback(drip) as server:
        call = Endpoint(settings_for(server.url, timeout=1.5)).begin()
        assert call.write(PROMPT).text
        begun = time.monotonic()
        with pytest.raises(ModelError, match=r"no whole answer from loopback within 1\.5 s; --timeout gives more"):
            call.write(PROMPT)
        assert time.monotonic() - begun < 1.2
        time.sleep(0.3)
        with pytest.raises(ModelError, match=r"within 1\.5 s"):
            call.write(PROMPT)
    assert len(server.requests) == 2, "nothing is sent when the time is over"


def test_a_repair_that_comes_too_late_costs_no_essay() -> None:
    session = write(Path(), export(user("Please fix the test."), assistant("It fails."), user("continue")))
    wrong = completion(GOOD_ESSAY + '\n\nIt said "these words stand nowhere at all" [msg 1].')
    with Loopback(wrong, Answer(body="", kind="text/event-stream", then="hang")) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "--timeout", "3", "--json")
    assert ran.code == 0, ran.err
    assert len(server.requests) == 2
    assert any("stays as it was before repair round 1: no whole answer" in line for line in ran.lines)


RUN = "import sys; from narrator.__main__ import start; start()"
SLOW_NAMES = f"import socket, time; socket.getaddrinfo = lambda *a, **k: time.sleep(60); {RUN}"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(None, SLOW_NAMES, id="while a name is looked up"),
        pytest.param(Answer(body="", status=0, then="hang"), RUN, id="before the first byte"),
        pytest.param(stream(chunk("Half"), then="hang"), RUN, id="in the middle"),
        pytest.param(as_json({}, 429, retry_after="60"), RUN, id="between two tries"),
    ],
)
def test_an_interrupt_ends_it_at_once(answer: Answer | None, code: str) -> None:
    session = write(Path(), export(user("Please fix the test."), assistant("It fails."), user("continue")))
    with Loopback(answer or essay_stream()) as server:
        address = "http://slow.invalid/v1" if answer is None else server.url
        command = [sys.executable, "-c", code, "--msg", "1", session, "--base-url", address]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            if answer is None:
                time.sleep(3)
            else:
                assert server.asked.wait(120)
                time.sleep(0.3)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=120)
    assert time.monotonic() - begun < 10
    assert (child.returncode, out) == (130, b"")
    assert err.splitlines()[-1] == b"narrate: interrupted; what was saved before is kept"
    assert b"Traceback" not in err


def test_a_name_that_nobody_answers_for_does_not_outlast_the_deadline() -> None:
    session = write(Path(), export(user("Please fix the test."), assistant("It fails."), user("continue")))
    words = ["--msg", "1", session, "--base-url", "http://slow.invalid/v1", "--timeout", "1"]
    command = [sys.executable, "-c", SLOW_NAMES, *words]
    ran = subprocess.run(command, env=environment(), capture_output=True, timeout=50, check=False)
    assert ran.returncode == 3
    assert b"within 1 s; --timeout gives more" in ran.stderr


LOADING = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from narrator.__main__ import start
start()
"""


def test_an_interrupt_while_the_program_loads_is_like_any_other() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADING], env=environment(), capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (130, b"")
    assert ran.stderr == b"narrate: interrupted; what was saved before is kept\n"


# ---- the models that an endpoint offers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "offered"),
    [
        pytest.param({"object": "list", "data": [{"id": "b", "owned_by": "x"}, {"id": "a"}]}, [("b", "x", None), ("a", "", None)], id="OpenAI"),
        pytest.param({"data": [{"id": "a", "context_length": 9000}]}, [("a", "", 9000)], id="OpenRouter"),
        pytest.param({"data": [{"id": "a", "max_model_len": 8192, "owned_by": "vllm"}]}, [("a", "vllm", 8192)], id="vLLM"),
        pytest.param({"models": [{"name": "n"}], "data": [{"id": "a", "meta": {"n_ctx": 8192}}]}, [("a", "", 8192)], id="llama.cpp"),
        pytest.param({"models": [{"name": "a:1b", "model": "a:1b"}]}, [("a:1b", "", None)], id="Ollama's own"),
        pytest.param({"object": "list", "data": None}, [], id="none yet"),
        pytest.param({"data": []}, [], id="none"),
        pytest.param([{"id": "a"}, {"id": "a"}], [("a", "", None)], id="a bare list, one twice"),
        pytest.param(["a", "b"], [("a", "", None), ("b", "", None)], id="names alone"),
        pytest.param({"data": [None, 5, {}, {"id": 5}, {"id": " "}, {"id": "a\x1b[2J\nb", "meta": 5, "owned_by": 5}]}, [("a[2J b", "", None)], id="what is no model among them"),
        pytest.param({"data": [{"id": "a", "context_length": True}]}, [("a", "", None)], id="a context that is no number"),
    ],
)  # fmt: skip
def test_a_list_of_models_is_read_from(payload: object, offered: list[tuple[str, str, int | None]]) -> None:
    assert read_models(payload, settings_for("http://localhost/v1")) == tuple(Offered(*one) for one in offered)


@pytest.mark.parametrize("payload", [{}, {"message": "x"}, {"data": {"a": 1}}, {"data": "a"}])
def test_what_is_no_list_of_models_is_said_to_be_none(payload: object) -> None:
    with pytest.raises(ModelNoAnswerError, match=r"sent no list of models.*; check --base-url"):
        read_models(payload, settings_for("http://localhost/v1"))


def test_models_are_listed_one_a_line_or_as_json() -> None:
    listed = as_json({"data": [{"id": "big", "context_length": 32768, "owned_by": "o"}, {"id": "small"}]})
    with Loopback(listed) as server:
        ran = run("models", "--base-url", server.url.removesuffix("/v1"))
        rows = json.loads(run("models", "--base-url", server.url, "--json").out)
    assert (ran.code, ran.out, ran.err) == (0, "big\t32,768 tokens\nsmall\n", "")
    assert rows == [{"id": "big", "owner": "o", "context": 32768}, {"id": "small", "owner": None, "context": None}]
    assert server.paths == ["/v1/models"] * 2


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        pytest.param(as_json({"error": {"message": "no"}}, 401), 3, "refused the key (401): no; check OPENAI_API_KEY", id="a wrong key"),
        pytest.param(Answer(body="<html>login", kind="text/html"), 3, "does not answer as an OpenAI-compatible API: got text/html", id="a web page"),
        pytest.param(Answer(body="no", status=404, kind="text/plain"), 3, "lists no models (404); check --base-url", id="no list"),
        pytest.param(as_json({"x": 1}), 3, "sent no list of models, only: x", id="something else"),
        pytest.param(as_json({"error": {"message": "x", "code": 401}}), 3, "refused the key", id="an error with a good status"),
        pytest.param(Answer(body="{"), 3, "unreadable answer", id="half a document"),
        pytest.param(as_json({"data": []}), 0, "offers no model", id="an empty list"),
        pytest.param(Answer(body="", status=0, then="hang"), 3, "within 1 s; --timeout gives more", id="silence"),
    ],
)  # fmt: skip
def test_a_list_of_models_that_cannot_be_had_is_one_line(
    answer: Answer, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from narrator.model import retry

    monkeypatch.setattr(retry, "_pause", lambda _: 0.0)
    with Loopback(answer) as server:
        ran = run("models", "--base-url", server.url, "--timeout", "1" if not answer.status else "30")
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.lines[-1]


def test_nobody_is_asked_for_models_without_an_endpoint() -> None:
    ran = run("models")
    assert (ran.code, ran.lines) == (
        2,
        ["narrate: no endpoint to ask; set OPENAI_API_KEY, or give --base-url for a local server"],
    )


def test_nothing_at_the_address_is_exit_3(monkeypatch: pytest.MonkeyPatch) -> None:
    from narrator.model import retry

    monkeypatch.setattr(retry, "_pause", lambda _: 0.0)
    with Loopback(essay_stream()) as server:
        pass
    ran = run("models", "--base-url", server.url)
    assert (ran.code, "Connection refused" in ran.lines[-1]) == (3, True)
    with pytest.raises(ModelError):
        list_models(settings_for(server.url, attempts=1))
