"""What opencode shows the model of a message later: said as its rule, and only where a later call is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, STEP_START, assistant, export, reasoning, step_finish, tool, user

from narrator.findings import diagnose

ASK = user("Find out why the test fails.")
NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
ABORTED = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
OVERLOADED = {"name": "APIError", "data": {"message": "Overloaded"}}
AFTER = " In the next request (the next recorded model call is message 3) opencode "
LEFT_OUT = "leaves out a message without content."
ERROR_OUT = "leaves out a message with an error."
KEPT = "keeps an aborted message that holds text or a call."

ENDINGS = [
    pytest.param(assistant(STEP_START, step_finish()), "empty-completion", LEFT_OUT, id="empty"),
    pytest.param(assistant(" "), "empty-completion", None, id="white space is content to opencode"),
    pytest.param(assistant(reasoning("Hm.")), "reasoning-only", None, id="reasoning is content"),
    pytest.param(assistant(error=ABORTED, finish=None), "aborted", LEFT_OUT, id="aborted with nothing"),
    pytest.param(assistant("I", error=ABORTED, finish=None), "aborted", KEPT, id="aborted with text"),
    pytest.param(assistant(tool(), error=ABORTED, finish=None), "aborted", KEPT, id="aborted with a call"),
    pytest.param(
        assistant(reasoning("Hm"), error=ABORTED, finish=None), "aborted", None, id="aborted while it thought"
    ),
    pytest.param(
        assistant("I", error=ABORTED | {"name": "AbortError"}, finish=None), "aborted", None, id="an older name"
    ),
    pytest.param(
        assistant("Half", error=OVERLOADED, finish=None), "provider-error", ERROR_OUT, id="an error, with text"
    ),
    pytest.param(assistant(error=OVERLOADED, finish=None), "provider-error", ERROR_OUT, id="an error, with nothing"),
    pytest.param(
        assistant("A", error={"name": "MessageOutputLengthError"}, finish=None), "cut-off", ERROR_OUT, id="too long"
    ),
    pytest.param(assistant("A", finish="length"), "cut-off", None, id="at a length limit"),
    pytest.param(assistant(finish="length"), "cut-off", LEFT_OUT, id="at a length limit, with nothing"),
    pytest.param(assistant(STEP_START, "Half", finish=None), "cut-off", None, id="cut by the stream"),
    pytest.param(assistant(finish=None, time={"created": BEGIN}), "unfinished", LEFT_OUT, id="no end, with nothing"),
    pytest.param(
        assistant(tool(status="running"), finish=None, time={"created": BEGIN}),
        "tool-unfinished",
        "shows a call without an end as “[Tool execution was interrupted]”.",
        id="a running call",
    ),
    pytest.param(
        assistant(tool(status="pending"), error=ABORTED, finish=None),
        "tool-unfinished",
        "shows a call without an end as “[Tool execution was interrupted]”.",
        id="a pending call of an aborted message",
    ),
    pytest.param(
        assistant(tool(status="pending"), error=OVERLOADED, finish=None),
        "tool-unfinished",
        None,
        id="a pending call of a message that is left out",
    ),
    pytest.param(assistant({"type": "tool", "tool": "grep"}), "tool-unfinished", None, id="a call without a state"),
    pytest.param(
        user({"type": "compaction", "auto": True}),
        "compaction-request",
        "shows it to the model as the question “What did we do so far?”.",
        id="a compaction request",
    ),
]


def said(folder: Path, kind: str, *messages: dict[str, Any], **info: Any) -> tuple[str, set[int]]:
    document = export(*({"info": {**m["info"]}, "parts": [{**part} for part in m["parts"]]} for m in messages), **info)
    (finding,) = [finding for finding in diagnose(opened(folder, document), 1) if finding.kind == kind]
    return finding.says, {item.index for item in finding.evidence if item.field == "time.created"}


@pytest.mark.parametrize(("message", "kind", "says"), ENDINGS)
def test_in_the_next_request(tmp_path: Path, message: Any, kind: str, says: str | None) -> None:
    told, proofs = said(tmp_path, kind, ASK, message, user("go on"), assistant("Done."))
    assert ("opencode" in told) == (says is not None)
    assert says is None or told.endswith(AFTER + says)
    assert (3 in proofs) == (says is not None)


CALLS = [
    pytest.param([user("go on"), assistant("Done.")], {}, True, id="a call with tokens"),
    pytest.param([user("go on"), assistant("Done.", tokens=NOTHING)], {}, True, id="a call with a finish"),
    pytest.param([user("x"), assistant("## Goal", summary=True)], {}, True, id="a compaction's"),
    pytest.param([], {}, False, id="nothing follows"),
    pytest.param([user("go on"), user("hello?")], {}, False, id="nobody answered"),
    pytest.param([user("x"), assistant(tool(), finish=None, tokens=NOTHING)], {}, False, id="a command of the user's"),
    pytest.param(
        [user("x"), assistant(error=ABORTED, finish=None, tokens=NOTHING)], {}, False, id="stopped before it was sent"
    ),
    pytest.param([user("x"), assistant("Done.", time={})], {}, False, id="a call without a time"),
    pytest.param([*[user("x")] * 60, assistant("Done.")], {}, False, id="far away"),
    pytest.param([user("go on"), assistant("Done.")], {"version": "0.14.6"}, False, id="an early version"),
    pytest.param([user("go on"), assistant("Done.")], {"version": None}, True, id="a version nobody knows"),
]


@pytest.mark.parametrize(("following", "info", "expected"), CALLS)
def test_only_where_a_later_call_is_on_record(tmp_path: Path, following: list[Any], info: Any, expected: bool) -> None:
    told, _ = said(tmp_path, "empty-completion", ASK, assistant(STEP_START, step_finish()), *following, **info)
    assert ("opencode leaves out" in told) == expected


def pruned(*since: int) -> dict[str, Any]:
    return assistant(*(tool("read", time={"start": 1, "end": 2, "compacted": BEGIN + ms}) for ms in since))


PRUNED = [
    pytest.param([pruned(100_000), assistant("b")], {}, True, id="a call after it was cleared"),
    pytest.param([pruned(900_000, 100_000), assistant("b")], {}, True, id="one of two was cleared before the call"),
    pytest.param([pruned(900_000), assistant("b")], {}, False, id="no call after it was cleared"),
    pytest.param([pruned(100_000), user("x")], {}, False, id="no call at all"),
    pytest.param([pruned(100_000), assistant("b", tokens=NOTHING)], {}, False, id="nothing was counted"),
    pytest.param([pruned(100_000), assistant("b")], {"version": "0.5.29"}, False, id="an early version"),
]


@pytest.mark.parametrize(("messages", "info", "expected"), PRUNED)
def test_a_cleared_output(tmp_path: Path, messages: list[Any], info: Any, expected: bool) -> None:
    told, _ = said(tmp_path, "output-pruned", ASK, *messages, **info)
    more = ": from then on opencode puts “[Old tool result content cleared]” in its place" if expected else ""
    assert told.endswith(f" was cleared later from what the model is shown{more}.")
