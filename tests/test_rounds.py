"""A model that looks things up before it writes, over the wire; and endpoints that make nothing of tools."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cassette import Conversation
from endpoint import MODEL, Answer, Loopback, as_json, chunk, completion, essay_stream, stream, usage_chunk
from opened import opened
from pydantic import SecretStr
from recordings import SHARED, assistant, export, tool, user

from narrator.draft import Usage
from narrator.errors import ModelCutOffError, ModelError, ModelNoAnswerError, ModelRejectedError
from narrator.lookup import Bounds, Lookups
from narrator.model import Endpoint, Settings
from narrator.model.rounds import Offer
from narrator.model.tools import TOOLS
from narrator.reply import Reply

ESSAY = "# Essay\n\nWhole."
PLAIN = ({"role": "system", "content": "Write."}, {"role": "user", "content": "About message 3.\n"})
GUIDED = ({"role": "system", "content": "Write. You may look things up."}, PLAIN[1])
ONCE = Usage(input=9, output=4, cached=2, reasoning=1)
SEARCH = ("search_session", '{"text": "fatal"}')
READ = ("read_messages", '{"indices": [1]}')
NO_TOOLS = as_json({"error": {"message": "loopback does not support tools"}}, 400)


def lookups_in(folder: Path, **bounds: int) -> Lookups:
    session = opened(folder, export(user("Go."), assistant(tool(output="FATAL: disk full\n")), user("Again.")))
    return Lookups(session, "12345678", Bounds(**bounds))


def endpoint_at(url: str, notices: list[str] | None = None, **changes: Any) -> Endpoint:
    settings = Settings(**{"model": MODEL, "base_url": url, "api_key": SecretStr("sk-test"), "timeout": 5.0} | changes)

    async def at_once(_: float) -> None:
        """Instead of waiting."""

    return Endpoint(settings, notice=None if notices is None else notices.append, wait=at_once)


def pieces(*calls: tuple[str, str]) -> list[dict[str, Any]]:
    """Tool calls as one list, whole."""
    return [
        {"index": place, "id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]


def asks(*calls: tuple[str, str], finish: str = "tool_calls", said: str | None = None) -> Answer:
    """A streamed answer that calls tools, the arguments in two pieces."""
    events: list[dict[str, Any] | str] = [chunk(said)]
    for place, (name, arguments) in enumerate(calls):
        head = {"index": place, "id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": ""}}
        events.append(chunk(tool_calls=[head]))
        halves = (arguments[:9], arguments[9:])
        events += [chunk(tool_calls=[{"index": place, "function": {"arguments": half}}]) for half in halves]
    return stream(*events, chunk(finish=finish), usage_chunk(), "data: [DONE]\n\n")


def talk(folder: Path, *answers: Answer, **bounds: int) -> tuple[Reply, Lookups, list[dict[str, Any]], list[str]]:
    """The reply to what a server answers, what was looked up, what it was asked, and what a person was told."""
    lookups, notices = lookups_in(folder, **bounds), list[str]()
    with Loopback(*answers) as server:
        reply = endpoint_at(server.url, notices).write(PLAIN, Offer(GUIDED, lookups))
    return reply, lookups, server.requests, notices


# ------------------------------------------------------------------------------------------------------ look-ups


def test_a_model_searches_then_reads_then_writes(cassette: Conversation, tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    with cassette.serve(asks(SEARCH), asks(READ), essay_stream()) as url:
        reply = endpoint_at(url).write(PLAIN, Offer(GUIDED, lookups))
    assert reply == Reply(
        text=ESSAY,
        model="loopback",
        finish="stop",
        usage=Usage(input=27, output=12, cached=6, reasoning=3),
        requests=(Usage(input=9, output=4, cached=2, reasoning=1),) * 3,
        sent={"stream": True, "tools": ["read_messages", "search_session"]},
    )
    assert [excerpt.index for excerpt in lookups.read] == [1]
    assert lookups.made == 2


def test_what_came_back_is_sent_as_the_protocol_wants_it(tmp_path: Path) -> None:
    _, _, requests, notices = talk(tmp_path, asks(SEARCH, READ, said="I look."), essay_stream())
    first, second = requests
    assert first["messages"] == list(GUIDED)
    assert first["tools"] == second["tools"] == [dict(one) for one in TOOLS]
    assert not {"tool_choice", "reasoning_effort", "parallel_tool_calls"} & (set(first) | set(second))
    called, found, read = second["messages"][2:]
    assert (called["role"], called["content"]) == ("assistant", "I look.")
    assert [call["function"] for call in called["tool_calls"]] == [
        {"name": name, "arguments": arguments} for name, arguments in (SEARCH, READ)
    ]
    assert [(said["role"], said["tool_call_id"]) for said in (found, read)] == [("tool", "call_0"), ("tool", "call_1")]
    assert "<conversation_data 12345678>\n[12345678 bash output, exit 0]\nFATAL: disk full\n" in found["content"]
    assert re.search(r"record: rounds of look-ups left: 2, and about \d,\d{3} tokens\n\Z", read["content"])
    assert "rounds of look-ups left" not in found["content"]
    assert notices == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(completion(None, finish="tool_calls", tool_calls=pieces(SEARCH, READ)), id="in one document"),
        pytest.param(completion("", finish="stop", tool_calls=pieces(SEARCH, READ)), id="with the finish of a text"),
        pytest.param(stream(chunk(tool_calls=[pieces(SEARCH)[0]]), chunk(tool_calls=[{**pieces(READ)[0], "id": "b"}]), chunk(finish="stop")), id="all with the number 0"),
        pytest.param(stream(chunk(tool_calls=[{"function": {"name": name, "arguments": json.loads(arguments)}} for name, arguments in (SEARCH, READ)]), chunk(finish="tool_calls")), id="without number and id, arguments as an object"),
        pytest.param(stream(chunk(tool_calls=pieces(SEARCH, READ)), *[chunk(tool_calls=[{"index": place, "id": f"call_{place}", "function": {"name": READ[0], "arguments": ""}}]) for place in (0, 1, 0)], chunk(finish="tool_calls")), id="with id and name in every piece"),
        pytest.param(stream(chunk(tool_calls=[None, "x", {"function": None}, *pieces(SEARCH, READ)]), chunk(finish="tool_calls")), id="with what is no call among them"),
    ],
)  # fmt: skip
def test_calls_are_understood_however_they_come(answer: Answer, tmp_path: Path) -> None:
    reply, lookups, requests, notices = talk(tmp_path, answer, essay_stream())
    assert (reply.text, lookups.made, notices) == (ESSAY, 2, [])
    made = requests[1]["messages"][2]["tool_calls"]
    assert [call["function"]["name"] for call in made] == ["search_session", "read_messages"]
    assert len({call["id"] for call in made}) == 2


def test_pieces_of_two_calls_may_come_in_turns(tmp_path: Path) -> None:
    halves = [(place, half) for half in (slice(0, 9), slice(9, None)) for place in (0, 1)]
    heads = chunk(tool_calls=pieces((SEARCH[0], ""), (READ[0], "")))
    rest = [
        chunk(tool_calls=[{"index": p, "function": {"arguments": (SEARCH, READ)[p][1][half]}}]) for p, half in halves
    ]
    _, lookups, _, _ = talk(tmp_path, stream(heads, *rest, chunk(finish="tool_calls")), essay_stream())
    assert lookups.made == 2


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(("read_file", "{}"), id="an unknown tool"),
        pytest.param(("read_messages", '{"indices": ['), id="malformed arguments"),
        pytest.param(("read_messages", "null"), id="arguments that are no object"),
        pytest.param(("read_messages", '{"indices": "\ud83d"}'), id="half a character"),
        pytest.param(("", ""), id="a call of nothing"),
    ],
)
def test_a_call_that_cannot_be_done_is_answered_and_the_essay_comes(call: tuple[str, str], tmp_path: Path) -> None:
    reply, lookups, requests, notices = talk(tmp_path, asks(call), essay_stream())
    assert (reply.text, lookups.made, notices) == (ESSAY, 0, [])
    called, answered = requests[1]["messages"][2:]
    assert isinstance(json.loads(called["tool_calls"][0]["function"]["arguments"]), dict)
    assert answered["content"].startswith("error: ")


def test_only_so_many_calls_are_answered_at_once(tmp_path: Path) -> None:
    _, lookups, requests, _ = talk(tmp_path, asks(*[SEARCH] * 20), essay_stream())
    assert lookups.made == 8
    assert len(requests[1]["messages"]) == 2 + 1 + 8
    assert "error: 12 further calls were not answered, at most 8 are at once" in requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_after_the_last_round_the_tools_are_gone_and_the_essay_is_asked_for(rounds: int, tmp_path: Path) -> None:
    reply, lookups, requests, notices = talk(tmp_path, *[asks(SEARCH)] * rounds, essay_stream(), rounds=rounds)
    assert (reply.text, lookups.made, len(requests), notices) == (ESSAY, rounds, rounds + 1, [])
    assert "tools" not in requests[-1]
    system, asked = requests[-1]["messages"]
    assert system == PLAIN[0]
    assert asked["content"].startswith(
        "About message 3.\n\n# What you looked up\n\nrecord: 1 message holds this text\n"
    )
    assert asked["content"].count("FATAL: disk full") == rounds
    assert asked["content"].endswith("Write the essay now; nothing more can be looked up.\n")
    assert reply.usage == Usage(**{name: count * (rounds + 1) for name, count in ONCE.model_dump().items()})


def test_when_all_tokens_are_spent_the_essay_is_asked_for(tmp_path: Path) -> None:
    _, lookups, requests, _ = talk(tmp_path, asks(READ), essay_stream(), tokens=250)
    assert lookups.spent
    assert ["tools" in request for request in requests] == [True, False]


def test_a_model_that_calls_for_ever_ends(tmp_path: Path) -> None:
    with pytest.raises(ModelNoAnswerError, match="called a tool instead of writing"):
        talk(tmp_path, asks(SEARCH))


def test_a_prompt_that_what_was_read_makes_too_long_is_sent_without_it(tmp_path: Path) -> None:
    long = as_json(
        {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}, 400
    )
    reply, lookups, requests, notices = talk(tmp_path, asks(SEARCH), long, long, essay_stream())
    assert (reply.text, lookups.read, lookups.made) == (ESSAY, (), 0)
    assert requests[-1]["messages"] == list(PLAIN)
    assert notices == [
        "the prompt is too long for loopback (400): maximum context length is 8192 tokens; asked again without tools"
    ]


def test_tokens_that_were_not_counted_are_none(tmp_path: Path) -> None:
    bare = stream(chunk(ESSAY), chunk(finish="stop"))
    assert talk(tmp_path, bare)[0].usage is None
    assert talk(tmp_path, asks(SEARCH), bare)[0].usage == ONCE


def test_a_round_is_tried_again_like_any_request(tmp_path: Path) -> None:
    busy = as_json({"error": "busy"}, 503)
    reply, lookups, requests, notices = talk(tmp_path, busy, asks(SEARCH), busy, essay_stream())
    assert (reply.text, lookups.made, len(requests), len(notices)) == (ESSAY, 1, 4, 2)


def test_an_answer_cut_off_in_a_call_is_cut_off(tmp_path: Path) -> None:
    with pytest.raises(ModelCutOffError):
        talk(tmp_path, asks(SEARCH, finish="length"))


# ------------------------------------------------------------------------------- endpoints that make nothing of tools


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(400, "registry.ollama.ai/library/small:1b does not support tools", id="a model without tools"),
        pytest.param(400, '"auto" tool choice requires --enable-auto-tool-choice', id="a server not set up for them"),
        pytest.param(400, "Function tools with reasoning_effort are not supported", id="tools and reasoning"),
        pytest.param(400, "Unknown parameter: 'tools'.", id="a parameter it does not know"),
        pytest.param(400, "Error rendering prompt with jinja template: no 'tool' role", id="a template without them"),
        pytest.param(400, "Conversation roles must alternate user/assistant", id="a template with two roles"),
        pytest.param(400, "functions are not enabled", id="functions"),
        pytest.param(404, "No endpoints found that support tool use", id="a gateway without one that has them"),
        pytest.param(422, "Extra inputs are not permitted", id="a strict server"),
        pytest.param(422, "bad", id="a server of few words"),
        pytest.param(500, "tools param requires --jinja flag", id="a server that fails at them"),
        pytest.param(501, "not implemented", id="a server that has none"),
    ],
)
def test_an_endpoint_that_refuses_tools_is_asked_once_more(status: int, words: str, tmp_path: Path) -> None:
    refusal = as_json({"error": {"message": words}}, status)
    reply, lookups, requests, notices = talk(tmp_path, refusal, essay_stream())
    assert (reply.text, lookups.made) == (ESSAY, 0)
    assert ["tools" in request for request in requests] == [True, False]
    assert requests[1]["messages"] == list(PLAIN)
    [notice] = notices
    assert f"({status}): {words.rstrip('.')}" in notice
    assert notice.endswith("; asked again without tools")


@pytest.mark.parametrize(
    ("status", "words", "tries"),
    [
        pytest.param(400, "maximum context length is 8192 tokens", 1, id="a prompt that is too long"),
        pytest.param(400, "no", 1, id="a bad request"),
        pytest.param(401, "no tools for this key", 1, id="a refused key"),
        pytest.param(404, "no such model", 2, id="a model that is not there, which may as well be the tools"),
        pytest.param(500, "the function that counts failed", 4, id="a server's own failure"),
    ],
)
def test_what_has_nothing_to_do_with_tools_fails_as_ever(status: int, words: str, tries: int, tmp_path: Path) -> None:
    with Loopback(as_json({"error": {"message": words}}, status)) as server, pytest.raises(ModelError):
        endpoint_at(server.url).write(PLAIN, Offer(GUIDED, lookups_in(tmp_path)))
    assert len(server.requests) == tries


LONG = "# Essay\n\n" + "It calls read_messages here [msg 1]. " * 60


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(completion('<tool_call>\n{"name": "read_messages"}\n</tool_call>'), "wrote a tool call as text", id="a tag"),
        pytest.param(completion('[TOOL_CALLS][{"name": "x"}]'), "wrote a tool call as text", id="a token"),
        pytest.param(completion("I look first: read_messages(indices=[1])"), "wrote a tool call as text", id="as a person would"),
        pytest.param(completion('{"name": "f", "arguments": {}}'), "sent a document of JSON", id="JSON"),
        pytest.param(completion(None, function_call={"name": "f", "arguments": "{}"}), "called a tool instead", id="the old shape"),
        pytest.param(completion("Half", finish="tool_calls"), "called a tool instead", id="a finish without a call"),
    ],
)  # fmt: skip
def test_a_call_that_is_none_is_not_taken_for_the_essay(answer: Answer, words: str, tmp_path: Path) -> None:
    reply, _, requests, notices = talk(tmp_path, answer, essay_stream())
    assert (reply.text, len(requests)) == (ESSAY, 2)
    assert words in notices[0]


def test_an_empty_answer_to_tools_is_asked_for_without_them(tmp_path: Path) -> None:
    reply, _, requests, _ = talk(tmp_path, completion(""), completion(""), essay_stream())
    assert (reply.text, ["tools" in request for request in requests]) == (ESSAY, [True, True, False])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(completion(LONG), id="an essay that names a tool"),
        pytest.param(completion(LONG, tool_calls=pieces(SEARCH)), id="an essay with a call at its end"),
        pytest.param(completion(ESSAY), id="a short one"),
    ],
)
def test_an_endpoint_that_ignores_tools_has_written_the_essay(answer: Answer, tmp_path: Path) -> None:
    reply, _, requests, notices = talk(tmp_path, answer)
    assert (reply.text.startswith("# Essay"), len(requests), notices) == (True, 1, [])


def test_a_refusal_is_remembered_for_the_run_and_told_once(tmp_path: Path) -> None:
    notices: list[str] = []
    with Loopback(NO_TOOLS, essay_stream()) as server:
        endpoint = endpoint_at(server.url, notices)
        for _ in range(3):
            assert endpoint.write(PLAIN, Offer(GUIDED, lookups_in(tmp_path))).text == ESSAY
    assert ["tools" in request for request in server.requests] == [True, False, False, False]
    assert len(notices) == 1


def test_many_essays_at_once_tell_of_a_refusal_once(tmp_path: Path) -> None:
    notices: list[str] = []

    async def many(url: str) -> list[Reply]:
        async with endpoint_at(url, notices) as endpoint:
            offers = [Offer(GUIDED, lookups_in(tmp_path)) for _ in range(3)]
            return await asyncio.gather(*(endpoint.awrite(PLAIN, offer) for offer in offers))

    with Loopback(NO_TOOLS, NO_TOOLS, NO_TOOLS, essay_stream()) as server:
        assert [reply.text for reply in asyncio.run(many(server.url))] == [ESSAY] * 3
    assert len(notices) == 1


def test_a_refusal_needs_nobody_to_be_told(tmp_path: Path) -> None:
    with Loopback(NO_TOOLS, essay_stream()) as server:
        assert endpoint_at(server.url).write(PLAIN, Offer(GUIDED, lookups_in(tmp_path))).text == ESSAY


def test_an_endpoint_that_takes_tools_but_not_their_results_is_sent_these_as_text(tmp_path: Path) -> None:
    refusal = as_json({"error": {"message": "role `tool` is not allowed"}}, 400)
    reply, lookups, requests, notices = talk(tmp_path, asks(SEARCH), refusal, essay_stream())
    assert (reply.text, lookups.made, len(notices)) == (ESSAY, 1, 1)
    assert "FATAL: disk full" in requests[-1]["messages"][-1]["content"]
    assert "tools" not in requests[-1]


# ---------------------------------------------------------------------------- models that take tools or reason, not both


@pytest.mark.parametrize(
    ("base_url", "model", "apart"),
    [
        pytest.param(None, "gpt-6-sol", True, id="OpenAI's own"),
        pytest.param("https://api.openai.com/v1", "gpt-6.2-sol", True, id="the same by its address"),
        pytest.param(None, "gpt-6", True, id="the bare name"),
        pytest.param(None, "gpt-60", False, id="another number"),
        pytest.param(None, "gpt-4.1", False, id="an older one"),
        pytest.param("http://127.0.0.1:8080/v1", "gpt-6-sol", False, id="the same name elsewhere"),
    ],
)
def test_a_model_looks_up_apart(base_url: str | None, model: str, apart: bool) -> None:
    settings = Settings(model=model, base_url=base_url, api_key=SecretStr("sk-test"))
    assert settings.looks_up_apart is apart


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        pytest.param((asks(SEARCH), completion("READY")), 1, id="one that looks something up"),
        pytest.param((completion("READY"),), 0, id="one that needs nothing"),
        pytest.param((completion(LONG),), 0, id="one that writes all the same"),
    ],
)
def test_such_a_model_reasons_when_it_writes(
    answers: tuple[Answer, ...], made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "looks_up_apart", True)
    reply, lookups, requests, notices = talk(tmp_path, *answers, essay_stream())
    assert (reply.text, lookups.made, notices) == (ESSAY, made, [])
    *before, last = requests
    assert [request["reasoning_effort"] for request in before] == ["none"] * len(answers)
    assert all("then answer READY" in request["messages"][1]["content"] for request in before)
    assert not {"reasoning_effort", "tools"} & set(last)
    assert "READY" not in json.dumps(last)
    assert ("FATAL" in last["messages"][1]["content"]) is bool(made)
    assert reply.usage == Usage(**{name: count * len(requests) for name, count in ONCE.model_dump().items()})


# --------------------------------------------------------------------------------------------------- the shared endpoint


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared endpoint is not beside this checkout")
def test_every_fault_ends_in_a_reply_or_in_our_error_with_tools_offered_too(tmp_path: Path) -> None:
    server_file = SHARED / "tools" / "fault_endpoint.py"
    listed = re.search(r'KNOWN = set\("""(.*?)"""', server_file.read_text("utf-8"), re.DOTALL)
    assert listed
    names = re.findall(r"[\w-]+", listed[1])
    offers = {name: Offer(GUIDED, lookups_in(tmp_path)) for name in names}

    async def one(url: str, name: str) -> Reply | BaseException:
        endpoint = endpoint_at(url, model=name, timeout=3.0)
        [outcome] = await asyncio.gather(endpoint.awrite(PLAIN, offers[name]), return_exceptions=True)
        return outcome

    async def every(url: str) -> list[Reply | BaseException]:
        return await asyncio.gather(*(one(url, name) for name in names))

    with subprocess.Popen([sys.executable, str(server_file), "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        outcomes = dict(zip(names, asyncio.run(every(server.stdout.readline().strip())), strict=True))
        server.kill()
    assert len(outcomes) > 60
    assert not {name: found for name, found in outcomes.items() if not isinstance(found, Reply | ModelError)}
    assert not [
        name for name, found in outcomes.items() if isinstance(found, ModelError) and not str(found).isprintable()
    ]
    assert isinstance(outcomes["ok"], Reply)
    assert isinstance(outcomes["422"], ModelRejectedError)
