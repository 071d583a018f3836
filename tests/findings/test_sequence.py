"""Rules that look at a message's neighbours, a table a kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import last_found, opened, table
from recordings import BEGIN, assistant, export, tool, user

from narrator.findings import diagnose

ASK = user("Find out why the test fails.")
MINUTE, HOUR = 60_000, 3_600_000


def run(command: str, **info: Any) -> dict[str, Any]:
    return assistant(tool(input={"command": command}), finish="tool-calls", **info)


def run_all(*commands: str) -> dict[str, Any]:
    return assistant(*(tool(input={"command": command}) for command in commands), finish="tool-calls")


@table(
    ("the call before", [ASK, run("ls"), run("ls")], {"repeated-call"}),
    ("the fifth before", [ASK, run("ls"), *(run(f"cat {n}") for n in range(4)), run("ls")], {"repeated-call"}),
    ("the sixth before", [ASK, run("ls"), *(run(f"cat {n}") for n in range(5)), run("ls")], set()),
    (
        "a user's turn and much talk between",
        [ASK, run("ls"), *(assistant(f"Thought {n}.") for n in range(30)), run("ls")],
        {"repeated-call"},
    ),
    ("twice in one message", [ASK, run_all("ls", "ls")], {"repeated-call"}),
    ("the second of a message", [ASK, run("ls"), run_all("cat a", "ls")], {"repeated-call"}),
    ("other arguments", [ASK, run("ls"), run("ls -a")], set()),
    (
        "one argument more",
        [ASK, run("ls"), assistant(tool(input={"command": "ls", "timeout": 5}), finish="tool-calls")],
        set(),
    ),
    (
        "another tool with the same arguments",
        [ASK, run("ls"), assistant(tool("shell", input={"command": "ls"}))],
        set(),
    ),
    (
        "calls without arguments are nothing to compare",
        [ASK, assistant(tool("list", input={})), assistant(tool("list", input={}))],
        set(),
    ),
    ("no call at all", [ASK, run("ls"), assistant("Done.")], set()),
    (
        "the same arguments in another order",
        [ASK, *(assistant(tool("grep", input=given)) for given in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))],
        {"repeated-call"},
    ),
    ("text that repeats itself", [ASK, assistant("ls"), assistant("ls")], set()),
)
def test_repeated_call(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@pytest.mark.parametrize(
    ("messages", "says", "where"),
    [
        pytest.param([ASK, run("ls"), run("ls"), run("ls")], "in message 2.", [3, 2], id="the nearest one is named"),
        pytest.param([ASK, run_all("ls", "pwd", "ls")], "earlier in this message.", [1, 1], id="in the same message"),
    ],
)
def test_what_is_said_of_a_repetition(tmp_path: Path, messages: list[Any], says: str, where: list[int]) -> None:
    found = last_found(tmp_path, export(*messages))["repeated-call"]
    assert found.says == f"The bash call is, arguments included, the same as one of the last five, {says}"
    assert [item.index for item in found.evidence if item.field.endswith(".tool")] == where
    assert [item.index for item in found.evidence if item.field.endswith(".state.input.command")] == where
    assert {item.value for item in found.evidence} == {"bash", "ls"}


ARGUMENTS = [
    pytest.param({"command": "ls", "timeout": 5, "quiet": True}, ["command", "timeout", "quiet"], id="three"),
    pytest.param({"a": 1, "b": 2, "c": 3, "d": 4}, ["a", "b", "c"], id="the first three of more"),
    pytest.param({"filePath": "a.py", "content": "x" * 201}, ["filePath"], id="a long one is left out"),
    pytest.param({"todos": [{"content": "a"}]}, [], id="a list"),
    pytest.param({"the file": "a.py", "n": 1}, ["n"], id="a name that is no plain word"),
    pytest.param("ls", [], id="arguments that are a string"),
]


@pytest.mark.parametrize(("given", "shown"), ARGUMENTS)
def test_the_arguments_that_are_the_same_are_shown(tmp_path: Path, given: Any, shown: list[str]) -> None:
    messages = [assistant(tool("grep", input=given), finish="tool-calls") for _ in range(2)]
    found = last_found(tmp_path, export(ASK, *messages))["repeated-call"]
    for index in (1, 2):
        fields = [item.field for item in found.evidence if item.index == index]
        assert fields == ["parts[0].tool", *(f"parts[0].state.input.{name}" for name in shown)]


def paced(*pauses: int, lasting: int = 9_000) -> dict[str, Any]:
    """Answers with these pauses between them, in milliseconds."""
    messages, now = [], BEGIN
    for pause in (*pauses, 0):
        messages.append(assistant("Step.", time={"created": now, "completed": now + lasting}))
        now += lasting + pause
    return export(*messages)


def gaps(tmp_path: Path, document: dict[str, Any]) -> list[int]:
    session = opened(tmp_path, document)
    return [index for index in range(len(session)) if "gap" in {finding.kind for finding in diagnose(session, index)}]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(paced(2000, 2000, 11 * MINUTE, 2000, 2000), [2], id="eleven minutes among seconds"),
        pytest.param(paced(2000, 2000, 10 * MINUTE, 2000, 2000), [], id="ten minutes to the millisecond"),
        pytest.param(paced(2000, 2000, 10 * MINUTE + 1, 2000, 2000), [2], id="a millisecond more"),
        pytest.param(paced(*[70_000] * 5, 11 * MINUTE, *[70_000] * 5), [], id="less than ten times what is usual"),
        pytest.param(paced(*[66_000] * 5, 11 * MINUTE, *[66_000] * 5), [], id="exactly ten times what is usual"),
        pytest.param(paced(*[65_999] * 5, 11 * MINUTE, *[65_999] * 5), [5], id="a little more than ten times"),
        pytest.param(paced(*[11 * MINUTE] * 5), [], id="always so slow"),
        pytest.param(paced(*[0] * 12, 11 * MINUTE), [12], id="usually no pause at all"),
        pytest.param(paced(*[80_000] * 20, *[0] * 10, 11 * MINUTE, *[0] * 10, *[80_000] * 20), [30], id="slow steps farther than ten away"),
        pytest.param(paced(*[80_000] * 5, *[0] * 5, 11 * MINUTE, *[0] * 5, *[80_000] * 5), [], id="slow steps among the 21"),
        pytest.param(paced(2000, 2000, 2000, lasting=2 * HOUR), [], id="commands of two hours"),
    ],
)  # fmt: skip
def test_gap(tmp_path: Path, document: Any, expected: list[int]) -> None:
    assert gaps(tmp_path, document) == expected


def minutes(created: float, completed: float | None = None) -> dict[str, int]:
    given = {"created": created} if completed is None else {"created": created, "completed": completed}
    return {key: BEGIN + int(value * MINUTE) for key, value in given.items()}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([user("a", time=minutes(0)), assistant("b", time=minutes(0, 60)), user("c", time=minutes(61))], [], id="a command of an hour"),
        pytest.param([user("a", time=minutes(0)), assistant("b", time=minutes(0, 1)), user("c", time=minutes(61)), assistant("d", time=minutes(61, 62))], [1], id="an hour of silence"),
        pytest.param([user("a", time=minutes(0)), assistant("b", time=minutes(0, 1)), user("c", time=minutes(61))], [], id="an hour of silence that is half of all steps"),
        pytest.param(
            [user("a", time=minutes(0)), assistant("b", time=minutes(0, 60)), user("queued", time=minutes(5)), assistant("c", time=minutes(60, 61)), assistant("d", time=minutes(61, 62))],
            [],
            id="the user typed while a command ran for an hour",
        ),
        pytest.param(
            [user("a", time=minutes(0)), assistant("b", time=minutes(0, 20)), user("queued", time=minutes(5)), assistant("c", time=minutes(50, 51)), assistant("d", time=minutes(51, 52))],
            [2],
            id="the user typed while a command ran, and then nothing came for half an hour",
        ),
        pytest.param([user("a", time=minutes(0)), assistant("b", finish=None, time=minutes(0)), user("c", time=minutes(30)), assistant("d", time=minutes(30, 31))], [1], id="no end recorded: counted from its beginning"),
        pytest.param([user("a", time={}), assistant("b", time={}), user("c", time={})], [], id="no times"),
        pytest.param([user("a", time=minutes(60)), assistant("b", time=minutes(50, 51))], [], id="a clock that was set back"),
        pytest.param([user("a", time=minutes(0))], [], id="nothing follows"),
    ],
)  # fmt: skip
def test_a_gap_is_idle_time(tmp_path: Path, messages: list[Any], expected: list[int]) -> None:
    assert gaps(tmp_path, export(*messages)) == expected


def test_a_gap_names_its_two_ends(tmp_path: Path) -> None:
    messages = [
        user("a", time=minutes(0)),
        assistant("b", time=minutes(0, 20)),
        user("q", time=minutes(5)),
        assistant("c", time=minutes(50, 51)),
    ]
    found = next(finding for finding in diagnose(opened(tmp_path, export(*messages)), 2) if finding.kind == "gap")
    assert found.says == "Nothing is recorded for 30 min 0 s after this message, until message 3."
    assert [(item.index, item.field, item.value) for item in found.evidence] == [
        (1, "time.completed", BEGIN + 20 * MINUTE),
        (3, "time.created", BEGIN + 50 * MINUTE),
    ]


@table(
    ("another model", [ASK, assistant("a"), assistant("b", modelID="small")], {"model-switch"}),
    ("another provider", [ASK, assistant("a"), assistant("b", providerID="other")], {"model-switch"}),
    ("the same", [ASK, assistant("a"), assistant("b")], set()),
    ("the first answer", [ASK, assistant("a", modelID="small")], set()),
    ("the same model in another variant", [ASK, assistant("a"), assistant("b", variant="high")], set()),
    ("the same model in another mode", [ASK, assistant("a"), assistant("b", mode="plan")], set()),
    (
        "a summary's own model",
        [
            ASK,
            assistant("a"),
            user({"type": "compaction", "auto": True}),
            assistant("## Goal", summary=True, modelID="small"),
        ],
        {"compaction-summary"},
    ),
    (
        "after a summary by another model, the old one goes on",
        [ASK, assistant("a"), assistant("## Goal", summary=True, modelID="small"), assistant("b")],
        set(),
    ),
    (
        "an answer that names no model between",
        [ASK, assistant("a"), assistant("b", modelID=None), assistant("c")],
        set(),
    ),
    ("it names no model itself", [ASK, assistant("a"), assistant("b", modelID=None)], set()),
    (
        "the user's choice, not yet an answer",
        [ASK, assistant("a"), user("b", model={"providerID": "acme", "modelID": "small"})],
        set(),
    ),
)
def test_model_switch(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


def test_a_switch_names_both_models(tmp_path: Path) -> None:
    messages = [ASK, assistant("a"), user("try the other"), assistant("b", providerID="router", modelID="lab/small")]
    found = last_found(tmp_path, export(*messages))["model-switch"]
    assert found.says == "From here on router/lab/small answers; the answer before it, message 1, is acme/large's."
    assert [(item.index, item.field, item.value) for item in found.evidence] == [
        (1, "providerID", "acme"),
        (1, "modelID", "large"),
        (3, "providerID", "router"),
        (3, "modelID", "lab/small"),
    ]


def test_a_mark_of_a_revert_that_is_no_object(tmp_path: Path) -> None:
    session = opened(tmp_path, export(ASK, assistant("a"), user("I reverted it"), revert="msg_0001"))
    assert [diagnose(session, index) for index in range(3)] == [()] * 3


@pytest.mark.parametrize(
    ("revert", "expected"),
    [
        ("msg_0002", [2, 3]),
        ("msg_0000", [0, 1, 2, 3]),
        ("msg_gone", []),
        (None, []),
    ],
)
def test_reverted(tmp_path: Path, revert: str | None, expected: list[int]) -> None:
    messages = [ASK, assistant("a"), user("no"), assistant("b")]
    session = opened(tmp_path, export(*messages, revert=revert and {"messageID": revert}))
    found = {index: diagnose(session, index) for index in range(4)}
    assert [index for index, all_ in found.items() if {finding.kind for finding in all_} == {"reverted"}] == expected
    assert [index for index, all_ in found.items() if all_] == expected
    for index in expected:
        [evidence] = found[index][0].evidence
        assert (evidence.index, evidence.field, evidence.value) == (expected[0], "id", revert)
        assert found[index][0].says.startswith(f"Message {expected[0]} and everything after it were undone later")
