"""Rules about tool calls, a table a kind: it holds, it does not, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import last_found, opened, table
from recordings import BEGIN, STEP_START, assistant, export, tool, user

from narrator.findings import diagnose
from narrator.findings.finding import MOST_EVIDENCE

ASK = user("Find out why the test fails.")
REFUSED = 'The bash tool was called with invalid arguments: SchemaError(Missing key at ["command"]).'
ABORTED_CALL: dict[str, Any] = {"status": "error", "input": {}, "error": "Tool execution aborted"}
STOPPED = "start\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
TIMED_OUT = "start\n<bash_metadata>\nbash tool terminated command after exceeding timeout 120000 ms\n</bash_metadata>"
OPEN = {"created": BEGIN}


def called(*parts: dict[str, Any], **info: Any) -> list[dict[str, Any]]:
    return [ASK, assistant(*parts, **{"finish": "tool-calls"} | info)]


def ran(exit_: Any, output: str | None = "ok\n", **state: Any) -> dict[str, Any]:
    return tool(output=output, metadata={"exit": exit_}, **state)


def unknown_tool(name: str = "frobnicate") -> dict[str, Any]:
    error = f"Model tried to call unavailable tool '{name}'."
    return tool("invalid", input={"tool": name, "error": error}, output=f"The arguments are invalid: {error}")


@table(
    (
        "bash {} refused: never a tool-error",
        called(tool(status="error", input={}, error=REFUSED)),
        {"invalid-tool-call"},
    ),
    ("an unknown tool: a completed call of `invalid`", called(unknown_tool()), {"invalid-tool-call"}),
    ("bash {} aborted while it was written", called(tool(**ABORTED_CALL)), {"tool-aborted"}),
    (
        "bash {} that never ended",
        called(tool(status="pending", input={}), finish=None, time=OPEN),
        {"tool-unfinished", "unfinished"},
    ),
    (
        "bash {} that failed for another reason",
        called(tool(status="error", input={}, error="spawn failed")),
        {"tool-error"},
    ),
    ("an error that only quotes such words", called(ran(1, "called with invalid arguments")), {"command-failed"}),
    ("a call that ran", called(tool("read")), set()),
)
def test_invalid_tool_call(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("a file that is not there", called(tool("read", status="error", error="File not found: a.py")), {"tool-error"}),
    (
        "the user refused a permission",
        called(tool(status="error", error="The user rejected permission to use this tool.")),
        {"tool-error"},
    ),
    ("no reason recorded", called(tool(status="error")), {"tool-error"}),
    ("an aborted call", called(tool(**ABORTED_CALL)), {"tool-aborted"}),
    (
        "an aborted call with arguments",
        called(tool("edit", status="error", error="Tool execution aborted")),
        {"tool-aborted"},
    ),
    ("a refused call", called(tool(status="error", input={}, error=REFUSED)), {"invalid-tool-call"}),
    ("a command with a bad exit", called(ran(2)), {"command-failed"}),
)
def test_tool_error(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("a command the user stopped: completed, exit null", called(ran(None, STOPPED)), {"tool-aborted"}),
    ("a command stopped at its time limit", called(ran(None, TIMED_OUT)), {"tool-aborted"}),
    ("a call that was being written", called(tool(**ABORTED_CALL)), {"tool-aborted"}),
    (
        "the flag of other tools",
        called(tool("webfetch", status="error", error="stopped", metadata={"interrupted": True})),
        {"tool-aborted"},
    ),
    ("output that quotes the mark, and an exit", called(ran(0, STOPPED)), set()),
    ("the mark in the middle of an output", called(ran(None, STOPPED + "\nmore")), set()),
    ("a call still running", called(tool(status="running"), finish=None, time=OPEN), {"tool-unfinished", "unfinished"}),
)
def test_tool_aborted(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("running", called(tool(status="running"), finish=None, time=OPEN), {"tool-unfinished", "unfinished"}),
    ("pending", called(tool(status="pending", input={}), finish=None, time=OPEN), {"tool-unfinished", "unfinished"}),
    ("pending in a message that ended", called(tool(status="pending")), {"tool-unfinished"}),
    ("no state", called({"type": "tool", "tool": "grep", "callID": "c"}), {"tool-unfinished"}),
    ("a state that is no object", called({"type": "tool", "tool": "grep", "state": "completed"}), {"tool-unfinished"}),
    ("completed without an output", called(tool("read", output=None)), set()),
    ("interrupted", called(tool(status="running", error="Tool execution aborted")), {"tool-aborted"}),
)
def test_tool_unfinished(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("exit 1", called(ran(1)), {"command-failed"}),
    ("exit 255, nothing printed", called(ran(255, "(no output)")), {"command-failed", "empty-output"}),
    ("a signal", called(ran(-9)), {"command-failed"}),
    ("exit 0", called(ran(0)), set()),
    ("exit null", called(ran(None)), set()),
    ("exit is a word", called(ran("1")), set()),
    ("exit is true", called(ran(True)), set()),
    ("exit is false", called(ran(False)), set()),
    ("exit is 1.0, which is the number 1", called(ran(1.0)), {"command-failed"}),
    ("no exit recorded", called(tool(metadata={})), set()),
    ("output that speaks of one", called(ran(0, "exit code 1")), set()),
    (
        "the call itself failed",
        called(tool(status="error", error="no such shell", metadata={"exit": 127})),
        {"tool-error"},
    ),
    ("one of two", called(ran(0), ran(3, input={"command": "false"})), {"command-failed"}),
)
def test_command_failed(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("nothing", called(ran(0, "")), {"empty-output"}),
    ("white space", called(ran(0, " \n")), {"empty-output"}),
    ("opencode's words for nothing", called(ran(0, "(no output)")), {"empty-output"}),
    ("null is nothing recorded, not nothing returned", called(ran(0, None)), set()),
    ("a call that failed has no output", called(tool("read", status="error", error="no", output="")), {"tool-error"}),
    (
        "a call still running has none yet",
        called(tool(status="running", output=""), finish=None, time=OPEN),
        {"tool-unfinished", "unfinished"},
    ),
    ("words that begin like it", called(ran(0, "(no output) was seen")), set()),
    ("zero", called(ran(0, "0")), set()),
    ("a command that failed without a word", called(ran(1, "")), {"command-failed", "empty-output"}),
    ("a file without a word in it", called(tool("read", output="<file>\n</file>")), set()),
)
def test_empty_output(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("the flag", called(tool("read", metadata={"truncated": True})), {"output-truncated"}),
    ("the flag is false", called(tool("read", metadata={"truncated": False})), set()),
    ("the flag is a word", called(tool("read", metadata={"truncated": "true"})), set()),
    ("words of an output", called(ran(0, "(output truncated)")), set()),
    ("not the flag of this call", called({**tool("read"), "metadata": {"truncated": True}}), set()),
)
def test_output_truncated(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("cleared later", called(tool("read", time={"start": 1, "end": 2, "compacted": 3})), {"output-pruned"}),
    ("not cleared", called(tool("read", time={"start": 1, "end": 2})), set()),
    ("only its words", called(tool("read", output="[Old tool result content cleared]")), set()),
    ("a compaction of the session", export(*called(tool("read")), time={"created": BEGIN, "compacting": 3}), set()),
)
def test_output_pruned(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("a task with its session", called(tool("task", metadata={"sessionId": "ses_child"})), {"subagent"}),
    ("a task without one", called(tool("task")), {"subagent"}),
    (
        "a task that failed on the way",
        called(tool("task", status="error", error="model gone", metadata={"sessionId": "ses_child"})),
        {"subagent", "tool-error"},
    ),
    (
        "a task that was refused: nothing was delegated",
        called(
            tool("task", status="error", input={}, error="The task tool was called with invalid arguments: no prompt")
        ),
        {"invalid-tool-call"},
    ),
    (
        "a task that failed before it began",
        called(tool("task", status="error", error="Unknown agent type")),
        {"tool-error"},
    ),
    (
        "a subtask of the user's",
        [user({"type": "subtask", "description": "review", "prompt": "review it"})],
        {"subagent"},
    ),
    ("another tool with a session in its metadata", called(tool("read", metadata={"sessionId": "ses_child"})), set()),
    ("a mention of an agent", [user("ask", {"type": "agent", "name": "general"})], set()),
)
def test_subagent(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


CHILD = {"info": {"id": "ses_child", "title": "Review"}, "messages": []}


@pytest.mark.parametrize(
    ("parts", "info", "says"),
    [
        pytest.param(
            [tool("task")], {}, "Work was delegated to another session, whose record is not in this file.", id="unnamed"
        ),
        pytest.param(
            [tool("task", metadata={"sessionId": "ses_child"})],
            {},
            "Work was delegated to another session (ses_child), whose record is not in this file.",
            id="elsewhere",
        ),
        pytest.param(
            [tool("task", metadata={"sessionId": name}) for name in ("ses_a", "ses_b", "ses_a")],
            {},
            "Work was delegated to 2 other sessions (ses_a, ses_b); the records of 0 are in the file.",
            id="several",
        ),
    ],
)
def test_where_the_delegated_work_is(tmp_path: Path, parts: list[Any], info: Any, says: str) -> None:
    assert last_found(tmp_path, export(*called(*parts), **info))["subagent"].says == says


def test_delegated_work_that_is_in_the_file(tmp_path: Path) -> None:
    document = export(*called(tool("task", metadata={"sessionId": "ses_child"}))) | {"subagents": [CHILD]}
    assert last_found(tmp_path, document)["subagent"].says == (
        "Work was delegated to another session (ses_child), whose record is in the file, outside the numbering."
    )


@pytest.mark.parametrize(
    ("kind", "parts", "says"),
    [
        (
            "invalid-tool-call",
            [unknown_tool()],
            (
                "The frobnicate call was refused by the harness as invalid and never ran "
                "(“Model tried to call unavailable tool 'frobnicate'.”)."
            ),
        ),
        (
            "invalid-tool-call",
            [unknown_tool("a"), unknown_tool("b")],
            (
                "Each of 2 calls (a, b) was refused by the harness as invalid and never ran "
                "(the first with “Model tried to call unavailable tool 'a'.”)."
            ),
        ),
        ("invalid-tool-call", [tool("invalid", input="?", output="bad")], "The invalid call was refused by the harness as invalid and never ran (“bad”)."),
        ("invalid-tool-call", [tool("invalid", input="?", output=None)], "The invalid call was refused by the harness as invalid and never ran (“no reason recorded”)."),
        ("tool-error", [tool("read", status="error")], "The read call failed: “no reason recorded”."),
        (
            "tool-error",
            [tool("read", status="error", error="gone"), tool("edit", status="error", error="no")],
            "Each of 2 calls (read, edit) failed: the first with “gone”.",
        ),
        ("tool-aborted", [tool(**ABORTED_CALL)], "The bash call was interrupted (“Tool execution aborted”) while it was being written, so it never ran."),
        ("tool-aborted", [ran(None, STOPPED)], "The bash call was interrupted (“User aborted the command”) before it ended."),
        ("tool-aborted", [ran(None, TIMED_OUT)], "The bash call was interrupted (“exceeding timeout 120000 ms”) before it ended."),
        ("tool-unfinished", [tool(status="running")], "The bash call has no recorded end (state: “running”); no result of it is known."),
        ("tool-unfinished", [{"type": "tool", "tool": "grep"}], "The grep call has no recorded end (state: without a state); no result of it is known."),
        ("command-failed", [ran(3)], "The command ended with exit code 3, although the tool call itself is recorded as completed."),
        ("command-failed", [ran(0), ran(3)], "One of 2 commands ended with exit code 3, although its tool call is marked completed."),
        ("command-failed", [ran(code, input={"command": f"make {code}"}) for code in range(1, 7)], "6 commands ended with exit codes 1, 2, 3, 4 and 2 more, although their tool calls are recorded as completed."),
        ("empty-output", [ran(0, "")], "The bash call completed and returned no output."),
        ("output-truncated", [tool("read", metadata={"truncated": True})], "The harness cut the output of the read call for its size; the model saw a part of it."),
        ("output-pruned", [tool("read", time={"compacted": 3})], "The output of the read call was cleared later from what the model is shown."),
    ],
)  # fmt: skip
def test_what_is_said(tmp_path: Path, kind: str, parts: list[Any], says: str) -> None:
    assert last_found(tmp_path, export(*called(*parts)))[kind].says == says


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        (tool(status="error", input={}, error=REFUSED), "parts[1].state.error", REFUSED),
        (unknown_tool(), "parts[1].tool", "invalid"),
        (tool(**ABORTED_CALL), "parts[1].state.error", "Tool execution aborted"),
        (ran(None, STOPPED), "parts[1].state.output", "User aborted the command"),
        (
            tool("webfetch", status="error", error="gone", metadata={"interrupted": True}),
            "parts[1].state.metadata.interrupted",
            True,
        ),
        (tool(status="running"), "parts[1].state.status", "running"),
        ({"type": "tool", "tool": "grep"}, "parts[1].state.status", None),
        (ran(7), "parts[1].state.metadata.exit", 7),
        (ran(0, "(no output)"), "parts[1].state.output", "(no output)"),
        (tool("task", metadata={"sessionId": "ses_c"}), "parts[1].state.metadata.sessionId", "ses_c"),
    ],
)
def test_the_evidence_is_a_path_into_the_message(tmp_path: Path, part: Any, field: str, value: Any) -> None:
    session = opened(tmp_path, export(*called(STEP_START, part)))
    shown = {(item.field, item.value) for finding in diagnose(session, 1) for item in finding.evidence}
    assert (field, value) in shown


def test_evidence_is_bounded_and_the_sentence_has_the_full_count(tmp_path: Path) -> None:
    found = last_found(tmp_path, export(*called(*(ran(0, "") for _ in range(400)))))["empty-output"]
    assert len(found.evidence) == MOST_EVIDENCE
    assert found.says == "Each of 400 calls (bash) completed and returned no output."


def test_a_tool_s_name_stays_on_one_line_of_a_sentence(tmp_path: Path) -> None:
    name = "bash\n[msg 3] user\nrecord: aborted\x1b[2J" + "x" * 500
    states: list[dict[str, Any]] = [
        {"status": "error", "error": name},
        {"status": "running"},
        {"output": ""},
        ABORTED_CALL,
        {"metadata": {"truncated": True}},
    ]
    for state in states:
        for finding in last_found(tmp_path, export(*called(tool(name, **state)))).values():
            assert "\n" not in finding.says
            assert "\x1b" not in finding.says
            assert len(finding.says) < 500


def failing(command: str = "make", code: int | None = 2, **state: Any) -> dict[str, Any]:
    return tool(metadata={"exit": code}, input={"command": command}, **state)


NEVER = "; no success of it before that is recorded in this session."
ONCE = f" The same command had failed once before, in message {{}}{NEVER}"
SEVERAL = f" The same command had failed {{}} times before, first in message {{}} and last in message {{}}{NEVER}"
SINCE = " Since its last recorded success, in message {}, the same command had failed "
GONE: dict[str, Any] = {"status": "error", "input": {"command": "make"}, "error": "no such shell"}
SERIES = [
    pytest.param([failing()], "", id="the first failure"),
    pytest.param([failing(), failing()], ONCE.format(1), id="once before"),
    pytest.param([failing(), failing(), failing()], SEVERAL.format(2, 1, 2), id="twice before"),
    pytest.param([failing(), failing("make -j2"), failing()], ONCE.format(1), id="another command between"),
    pytest.param([failing(), failing(code=0), failing()], "", id="a success between"),
    pytest.param(
        [failing(), failing(code=0), failing(), failing()],
        SINCE.format(2) + "once before, in message 3.",
        id="a failure since a success",
    ),
    pytest.param(
        [failing(), failing(code=0), failing(), failing(), failing()],
        SINCE.format(2) + "2 times before, first in message 3 and last in message 4.",
        id="failures since a success",
    ),
    pytest.param(
        [failing(), tool(metadata={}, input={"command": "make"}), failing(), failing()],
        SINCE.format(2) + "once before, in message 3.",
        id="a success without a code",
    ),
    pytest.param([failing(), tool(**GONE), failing()], SEVERAL.format(2, 1, 2), id="one of them failed as a call"),
    pytest.param([tool(**GONE), failing()], ONCE.format(1), id="the call itself had failed"),
    pytest.param([tool(**ABORTED_CALL), failing()], "", id="one that was being written"),
    pytest.param([failing(output=STOPPED, code=None), failing()], "", id="one that was stopped"),
    pytest.param(
        [failing(), failing(output=STOPPED, code=None), failing()], ONCE.format(1), id="a stopped one between"
    ),
    pytest.param([failing(), failing(status="running"), failing()], ONCE.format(1), id="a running one between"),
    pytest.param(
        [failing(), failing(code=None), failing()], ONCE.format(1), id="one without an exit: no success is recorded"
    ),
    pytest.param([failing("make "), failing(" make\n")], ONCE.format(1), id="white space round it"),
    pytest.param([failing(" é"), failing("é\t")], ONCE.format(1), id="letters that are stored with an escape"),
    pytest.param([failing("make \\"), failing("make")], "", id="a backslash behind it"),
    pytest.param([{**failing(), "reason": 7}, failing()], ONCE.format(1), id="a call of an unknown shape"),
    pytest.param(
        [failing(), tool(metadata={"exit": True}, input={"command": "make"}), failing()],
        ONCE.format(1),
        id="an exit that is no number is no success",
    ),
    pytest.param(
        [failing(), {**tool(input={"command": "make"}), "reason": 7}, failing(), failing()],
        SINCE.format(2) + "once before, in message 3.",
        id="a success of an unknown shape",
    ),
    pytest.param(
        [tool("read", status="error", error="no", input={"filePath": "make"}), failing()], "", id="a file of that name"
    ),
    pytest.param([failing("make"), failing("Make")], "", id="other letters"),
    pytest.param([failing(""), failing("")], "", id="no command"),
    pytest.param([tool(metadata={"exit": 1}, input="make")] * 2, "", id="arguments that are a string"),
    pytest.param([tool(metadata={"exit": 1}, input={"command": 7})] * 2, "", id="a command that is a number"),
    pytest.param([{**failing(), "tool": "task"}, failing()], "", id="another tool"),
    pytest.param([failing(), *[failing("ls", 0)] * 300, failing()], ONCE.format(1), id="however far away"),
]


@pytest.mark.parametrize(("calls", "says"), SERIES)
def test_earlier_failures_of_the_same_command(tmp_path: Path, calls: list[Any], says: str) -> None:
    messages = [assistant({**call}, finish="tool-calls") for call in calls]
    finding = last_found(tmp_path, export(ASK, *messages))["command-failed"]
    assert finding.says.partition("as completed.")[2] == says
    compared = [item.value for item in finding.evidence if item.field.endswith("input.command")]
    assert len(compared) == (2 if says else 0)
    assert len({str(value).strip() for value in compared}) <= 1


def test_earlier_failures_in_the_same_message(tmp_path: Path) -> None:
    once = last_found(tmp_path, export(*called(failing(), failing(code=3))))["command-failed"]
    assert once.says.endswith(f" One of these commands had failed once before, in this message{NEVER}")
    more = last_found(tmp_path, export(*called(failing(), failing(code=3), failing("ls"), failing())))["command-failed"]
    assert more.says.endswith(f" One of these commands had failed 2 times before, all of them in this message{NEVER}")
    assert [item.value for item in more.evidence if item.field.endswith("exit")] == [2, 3, 2, 2]


def test_a_long_series_names_the_first_and_the_last_few(tmp_path: Path) -> None:
    messages = [assistant(failing(code=code), finish="tool-calls") for code in range(1, 31)]
    finding = last_found(tmp_path, export(ASK, *messages))["command-failed"]
    assert finding.says.endswith(SEVERAL.format(29, 1, 29))
    shown = [(item.index, item.value) for item in finding.evidence if item.field.endswith("exit")]
    assert shown == [(30, 30), (1, 1), (29, 29), (28, 28), (27, 27), (26, 26), (25, 25)]
