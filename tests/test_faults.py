"""Every fault of the shared endpoint, streamed and in one document: what comes of it, and after how many requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from console import run
from endpoint import Answer, Loopback, as_json, completion, stream
from faults import fault_endpoint, needs_the_endpoint, serving_faults
from pydantic import SecretStr
from recordings import SHARED, assistant, export, user, write

from narrator.errors import (
    ModelCutOffError,
    ModelError,
    ModelNoAnswerError,
    ModelRefusedError,
    ModelRejectedError,
    ModelTooLongError,
    ModelUnavailableError,
)
from narrator.model import Endpoint, Settings, retry
from narrator.reply import Reply

pytestmark = needs_the_endpoint

PROMPT = ({"role": "system", "content": "Write."}, {"role": "user", "content": "About message 3."})


class Row(NamedTuple):
    """What a fault comes to."""

    kind: type[ModelError] | None
    """None: an essay."""
    says: str
    """A piece of the error, or the beginning of the essay."""
    requests: int


GOOD = Row(None, "# The Quiet Message", 1)
BUSY, CUT = ModelUnavailableError, ModelCutOffError
PASSING = "tried 4 times, try again later"
NO_JSON = Row(ModelNoAnswerError, "an unreadable answer (not JSON); check --base-url", 2)
EMPTY = Row(ModelNoAnswerError, "sent an empty answer; use another --model", 2)
NO_API = "does not answer as an OpenAI-compatible API: got {}; check --base-url"
A_DOCUMENT = Row(ModelNoAnswerError, "sent a document of JSON instead of Markdown; use another --model", 1)
HALF = Row(CUT, "cut off after 300 characters, without a finish; try again", 4)
NOTHING = Row(CUT, "the answer was empty and without a finish; try again, or use another --model", 4)
NO_CHOICES = Row(ModelNoAnswerError, "the answer holds no choices, only: id, object", 2)
LIMIT = "raise --max-output-tokens, or ask for less with --length"

BOTH: dict[str, Row] = {
    **dict.fromkeys(("ok", "no-usage", "reasoning", "id-int", "gzip", "reset", "stats"), GOOD),
    **dict.fromkeys(("odd-finish", "sse-notsse", "sse-nodone", "sse-comments"), GOOD),
    **dict.fromkeys(("sse-emptychoices", "sse-nullcontent"), GOOD),
    "echo": Row(None, "echo: About message 3.", 1),
    "multiline": Row(None, '# Title\n\nFirst paragraph, with "quotes"', 1),
    "content-list": Row(None, "Hello", 1),
    "400": Row(ModelTooLongError, "(400): This model's maximum context length is 8192 tokens; a smaller --budget", 1),
    "401": Row(ModelRejectedError, "refused the key (401): Incorrect API key provided: [key]; check OPENAI_API_KEY", 1),
    "402": Row(ModelRejectedError, "(402): Insufficient credits; add credit or use another key", 1),
    "404": Row(ModelRejectedError, "there is no model 404 at {url} (404): model 'x' not found; check --model", 1),
    "unheard-of": Row(ModelRejectedError, "there is no model unheard-of at {url} (404)", 1),
    "408": Row(BUSY, f"(408): timeout; {PASSING}", 4),
    "409": Row(BUSY, f"(409): conflict; {PASSING}", 4),
    "413": Row(ModelTooLongError, "(413): 413 Request Entity Too Large; a smaller --budget", 1),
    "422": Row(ModelRejectedError, "turned the request for 422 down (422): bad; the same would fail again", 1),
    "429": Row(BUSY, f"rate limited (429): Rate limit reached; it asks to wait 1 s; {PASSING}", 4),
    "429-ms": Row(BUSY, f"it asks to wait 0.25 s; {PASSING}", 4),
    "429-date": Row(BUSY, f" s; {PASSING}", 4),
    "429-long": Row(BUSY, "it asks to wait 300 s, longer than the 120 s that narrate waits", 1),
    "429-none": Row(BUSY, f"rate limited (429): Rate; {PASSING}", 4),
    "429-quota": Row(ModelRejectedError, "the quota of this key is used up (429)", 1),
    "500": Row(BUSY, f"(500): The server had an error; {PASSING}", 4),
    "502html": Row(BUSY, f"(502): 502 Bad Gateway; {PASSING}", 4),
    "503": Row(BUSY, f"(503): overloaded; it asks to wait 1 s; {PASSING}", 4),
    "529": Row(BUSY, f"(529): overloaded; {PASSING}", 4),
    "hang": Row(BUSY, "no whole answer from hang within 0.5 s; --timeout gives more", 1),
    "close-before": Row(BUSY, f"the connection to {{url}} failed: Server disconnected.*; {PASSING}", 4),
    "close-headers": Row(BUSY, f"the connection to {{url}} failed: peer closed.*; {PASSING}", 4),
    **dict.fromkeys(("badjson", "badutf8", "emptybody"), NO_JSON),
    "html200": Row(ModelNoAnswerError, NO_API.format("text/html"), 1),
    "plain200": Row(ModelNoAnswerError, NO_API.format("text/plain"), 1),
    "jsonlist": Row(ModelNoAnswerError, "JSON that is no object; check --base-url", 2),
    "error200": Row(BUSY, f"(502): Provider returned error; {PASSING}", 4),
    **dict.fromkeys(("content-null", "content-empty", "no-message"), EMPTY),
    "length": Row(CUT, f"cut the answer off after 14 characters; {LIMIT}", 1),
    "length-empty": Row(CUT, f"the whole output limit went to reasoning, no essay was written; {LIMIT}", 1),
    "json-trunc": Row(CUT, f"cut the answer off after 20 characters; {LIMIT}", 1),
    "content_filter": Row(ModelRefusedError, "a content filter stopped the answer (content_filter)", 1),
    "refusal": Row(ModelRefusedError, "the model refused: I can't help with that; choose another message", 1),
    "finish-error": Row(BUSY, f"failed while finish-error was writing; {PASSING}", 4),
    **dict.fromkeys(("json", "json-fenced", "json-wrong"), A_DOCUMENT),
    "tool": Row(ModelNoAnswerError, "called a tool instead of writing; use another --model", 1),
}
"""What comes of a fault however it is served."""
SPOKEN = Row(None, "The session shows a patient search", 1)
STREAMED = BOTH | {
    **dict.fromkeys(("slow", "drip"), SPOKEN),
    **dict.fromkeys(("empty-choices", "null-choices", "no-choices"), NOTHING),
    **dict.fromkeys(("close-mid", "close-mid-fin", "sse-truncate"), HALF),
    "sse-hang": Row(BUSY, "no whole answer from sse-hang within 0.5 s; --timeout gives more", 1),
    "sse-error": Row(BUSY, f"(502): upstream died; {PASSING}", 4),
    "sse-error-event": Row(BUSY, f"failed: boom; {PASSING}", 4),
    "sse-badjson": NO_JSON,
    "sse-crlf": GOOD,
}
WHOLE = BOTH | {
    **dict.fromkeys(("slow", "drip", "close-mid", "close-mid-fin"), GOOD),
    **dict.fromkeys(("empty-choices", "null-choices", "no-choices"), NO_CHOICES),
    **dict.fromkeys(("sse-hang", "sse-truncate", "sse-error", "sse-error-event", "sse-badjson", "sse-crlf"), GOOD),
}
"""In one document nothing can go wrong with a stream."""


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    with serving_faults() as server:
        yield server


class Asked(NamedTuple):
    """What was asked of the endpoint, and what came of it."""

    outcome: Reply | ModelError
    requests: list[dict[str, Any]]
    """As the endpoint saw them."""
    notices: list[str]


def ask(server: Any, model: str, *, stream: bool) -> Asked:
    notices, begun = list[str](), len(server.log)
    settings = Settings(
        model=model,
        base_url=server.url,
        api_key=SecretStr("sk-fault"),
        stream=stream,
        timeout=0.5 if model.endswith("hang") else 30.0,
    )

    async def at_once(_: float) -> None:
        """Instead of waiting."""

    endpoint = Endpoint(settings, notice=notices.append, wait=at_once)
    try:
        outcome: Reply | ModelError = endpoint.write(PROMPT)
    except ModelError as error:
        outcome = error
    requests = [entry["body"] for entry in server.log[begun:]]
    assert endpoint.requests == len(requests), "what the product counted is what arrived"
    return Asked(outcome, requests, notices)


def test_the_tables_hold_every_fault_that_there_is() -> None:
    known = fault_endpoint().KNOWN
    assert known - STREAMED.keys() == known - WHOLE.keys() == set()


@pytest.mark.parametrize(
    ("name", "row", "stream"),
    [
        pytest.param(name, row, stream, id=f"{name}, {'streamed' if stream else 'in one document'}")
        for table, stream in ((STREAMED, True), (WHOLE, False))
        for name, row in table.items()
    ],
)
def test_a_fault_comes_to(name: str, row: Row, stream: bool, served: Any) -> None:
    hits = served.hits[name]
    outcome, requests, notices = ask(served, name, stream=stream)
    assert served.hits[name] - hits == len(requests) == row.requests, "the fault was served, so often"
    assert all(request["model"] == name and bool(request.get("stream")) is stream for request in requests)
    assert len(notices) == row.requests - 1, "every further request was announced"
    if row.kind is None:
        assert isinstance(outcome, Reply)
        assert outcome.text.startswith(row.says)
        return
    assert type(outcome) is row.kind
    assert outcome.exit_code == 3
    assert str(outcome).isprintable()
    place = str(outcome)
    for piece in row.says.format(url=served.url).split(".*"):
        assert piece in place
        place = place.partition(piece)[2]


PASSES = sorted({name for name, row in STREAMED.items() if row.requests > 1} - {"429-long"})


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one document"])
@pytest.mark.parametrize("times", [1, 3, 4])
def test_a_fault_that_passes_after_so_many_times(times: int, name: str, stream: bool, served: Any) -> None:
    row = (STREAMED if stream else WHOLE)[name]
    model = f"{name}x{times}"
    served.hits[model] = 0
    outcome, requests, notices = ask(served, model, stream=stream)
    passed = row.kind is None or times < row.requests
    needed = 1 if row.kind is None else min(times + 1, row.requests)
    assert (isinstance(outcome, Reply), len(requests), served.hits[model]) == (passed, needed, needed)
    assert len(notices) == needed - 1
    assert all(request == requests[0] for request in requests), "a second try asks for the same"


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one document"])
@pytest.mark.parametrize("name", ["400", "401", "429-quota", "422", "html200", "refusal", "length"])
def test_a_fault_that_will_not_pass_is_not_tried_again(name: str, stream: bool, served: Any) -> None:
    model = f"{name}x1"
    served.hits[model] = 0
    outcome, requests, notices = ask(served, model, stream=stream)
    assert isinstance(outcome, ModelError)
    assert (len(requests), served.hits[model], notices) == (1, 1, [])


# ---- the same from the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMED)
def test_from_the_command_line_a_fault_is_an_essay_or_exit_3_with_a_reason(
    name: str, served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(retry, "_pause", lambda _: 0.0)
    session = write(Path(), export(user("Please fix the test."), assistant("It fails."), user("continue")))
    begun = len(served.log)
    seconds = "1" if name.endswith("hang") else "60"
    words = ["--base-url", served.url, "--model", name, "--timeout", seconds]
    ran = run("--msg", "1", session, "--repair", "0", "--json", *words)
    requests = [entry["body"] for entry in served.log[begun:]]
    assert 1 <= len(requests) <= 8
    if ran.code == 0:
        assert json.loads(ran.out)["essay"]["final"]
        return
    assert (ran.code, ran.out) == (3, "")
    reason = ran.lines[-1]
    assert not list(Path().rglob("drafts/*"))
    answered = 3 if name == "tool" else 0  # its calls are answered, round by round: that is no retry
    assert len(ran.lines) == len(requests) - answered, "a line for each request after the first, and the reason"
    assert len(reason) > 40


# ---- the recorded answers of the shared table, in the other form too ---------------------------------------------


CASES = SHARED / "cases"
ONCE = {"102", "104", "105", "107", "108", "109", "111", "114", "115", "116", "118", "119"}
"""Rows after which nothing is asked for again."""


def rows() -> list[list[str]]:
    lines = (CASES / "EXPECT.tsv").read_text("utf-8").splitlines() if CASES.is_dir() else []
    return [row for line in lines if re.match(r"1\d\d-api", line) for row in [line.split("\t")]]


def in_the_other_form(body: str, kind: str) -> Answer:
    """A recorded stream as one document, a document as a stream."""
    if kind == "text/event-stream":
        events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
        failed = next((event for event in events if "error" in event), None)
        text = "".join((event.get("choices") or [{"delta": {}}])[0]["delta"].get("content") or "" for event in events)
        return as_json(failed) if failed else completion(text)
    whole = json.loads(body)
    choices = [{**choice, "delta": choice.get("message")} for choice in whole.get("choices") or []]
    return stream({**whole, "choices": choices or whole.get("choices")}, "data: [DONE]\n\n")


@pytest.mark.parametrize("form", ["as recorded", "in the other form"])
@pytest.mark.parametrize("row", [pytest.param(row, id=row[0]) for row in rows()])
def test_a_recorded_answer_comes_to_the_same_in_both_forms(row: list[str], form: str) -> None:
    status, kind, headers = json.loads((CASES / "api-replies.json").read_text("utf-8"))[row[0]]
    body = (CASES / row[0]).read_bytes()
    answer = Answer(body=body, status=status, kind=kind, headers=headers)
    if form != "as recorded" and status == 200:
        answer = in_the_other_form(body.decode("utf-8"), kind)
    notices: list[str] = []

    async def at_once(_: float) -> None:
        """Instead of waiting."""

    # What is asked for in one document is answered so: a status other than 200 is the same either way.
    streamed = "event-stream" in str(answer.kind)
    with Loopback(answer) as server:
        settings = Settings(model="m", base_url=server.url, api_key=SecretStr("sk-case"), stream=streamed, timeout=30.0)
        endpoint = Endpoint(settings, notice=notices.append, wait=at_once)
        try:
            outcome: Reply | ModelError = endpoint.write(PROMPT)
        except ModelError as error:
            outcome = error
    assert len(server.requests) == endpoint.requests == len(notices) + 1
    assert (len(server.requests) == 1) == (row[0][:3] in ONCE)
    code, has, hides = row[3], row[5], row[6]
    if isinstance(outcome, Reply):
        assert "0" in code
        assert not (hides and not hides.startswith("<script>") and re.search(hides, outcome.text))
        return
    assert "3" in code
    # An empty stream has no end either, which is said first.
    assert re.search(f"{has}|empty", str(outcome)), outcome
