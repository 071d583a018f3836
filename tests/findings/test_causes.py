"""What led to an ending and what was in it: further sentences of a finding, each with what proves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, STEP_START, assistant, export, reasoning, step_finish, text, tool, user

from narrator.findings import Finding, diagnose
from narrator.session import Message

ASK = user("Find out why the test fails.")
ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
OVERLOADED = {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529}}
NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
REFUSED = tool(status="error", input={}, error="The bash tool was called with invalid arguments: no command")
STOPPED = tool(status="error", input={}, error="Tool execution aborted")
GONE = tool("read", status="error", error="File not found: a.py")
EMPTY = assistant(STEP_START, step_finish())
RUN_BY_USER = text("The following tool was executed by the user", synthetic=True)


def at(created: float, completed: float | None = None) -> dict[str, int]:
    """Seconds after the beginning."""
    given = {"created": created} if completed is None else {"created": created, "completed": completed}
    return {key: BEGIN + int(value * 1000) for key, value in given.items()}


def copy(message: dict[str, Any]) -> dict[str, Any]:
    """A recorded message may be filled in once only (`recordings.export`)."""
    return {"info": {**message["info"]}, "parts": [{**part} for part in message["parts"]]}


def found(folder: Path, kind: str, messages: list[dict[str, Any]], index: int = -1, **info: Any) -> Finding:
    session = opened(folder, export(*map(copy, messages), **info))
    (finding,) = [f for f in diagnose(session, range(len(session))[index]) if f.kind == kind]
    return finding


def call(*parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return assistant(*parts, **{"finish": "tool-calls"} | info)


AFTER = "It comes directly after message 1 of the same turn, "
TROUBLES = [
    pytest.param(call(REFUSED), "in which the bash call was refused as invalid.", id="a refused call"),
    pytest.param(call(REFUSED, REFUSED), "in which 2 calls were refused as invalid.", id="two refused calls"),
    pytest.param(call(STOPPED), "in which the bash call was interrupted.", id="a stopped call"),
    pytest.param(call(GONE), "in which the read call ended with an error.", id="a call that failed"),
    pytest.param(
        call(tool(metadata={"exit": 3})), "in which a command ended with exit code 3.", id="a command that failed"
    ),
    pytest.param(
        call(tool(metadata={"exit": 3}), tool(metadata={"exit": 4})),
        "in which 2 commands failed, the first of which ended with exit code 3.",
        id="two commands that failed",
    ),
    pytest.param(
        assistant(error=OVERLOADED, finish=None),
        "which ended in an error of the endpoint (APIError).",
        id="an error of the endpoint",
    ),
    pytest.param(
        call(GONE, REFUSED),
        "in which the bash call was refused as invalid and in which the read call ended with an error.",
        id="two kinds of trouble",
    ),
    pytest.param(call(tool()), None, id="a call that went well"),
    pytest.param(call(tool(output="exit code 1", metadata={"exit": 0})), None, id="only words of a failure"),
    pytest.param(call(tool(output="", metadata={"exit": None})), None, id="exit null"),
    pytest.param(assistant("Well."), None, id="an answer"),
    pytest.param(assistant(error=ABORTED, finish=None), None, id="an interrupted one"),
]
ENDINGS = [
    pytest.param("empty-completion", EMPTY, id="empty"),
    pytest.param("reasoning-only", assistant(reasoning("Hm.")), id="only reasoning"),
    pytest.param("aborted", assistant(error=ABORTED, finish=None), id="aborted"),
    pytest.param("cut-off", assistant("A", finish="length"), id="at a limit"),
    pytest.param("cut-off", assistant(STEP_START, "A", finish=None), id="by the stream"),
    pytest.param("unfinished", assistant("A", finish=None, time=at(100)), id="unfinished"),
]


@pytest.mark.parametrize(("kind", "ending"), ENDINGS)
@pytest.mark.parametrize(("before", "says"), TROUBLES)
def test_the_trouble_before_an_ending(tmp_path: Path, before: Any, says: str | None, kind: str, ending: Any) -> None:
    finding = found(tmp_path, kind, [ASK, before, ending])
    assert (AFTER in finding.says) == (says is not None)
    assert says is None or f"{AFTER}{says}" in finding.says
    parents = {item.index for item in finding.evidence if item.field == "parentID"}
    assert parents == ({1, 2} if says else set())


PLACES = [
    pytest.param([ASK, call(REFUSED), EMPTY], 1, id="right before it"),
    pytest.param(
        [ASK, call(REFUSED), user("x"), assistant(STEP_START, step_finish(), parentID="msg_0000")],
        1,
        id="a turn that was typed meanwhile stands between",
    ),
    pytest.param([ASK, call(REFUSED), user("x"), EMPTY], None, id="of another turn"),
    pytest.param([ASK, call(REFUSED), call(tool()), EMPTY], None, id="not directly before it"),
    pytest.param(
        [ASK, call(REFUSED), user(RUN_BY_USER), assistant(STEP_START, step_finish(), parentID="msg_0000")],
        None,
        id="the harness put something in between",
    ),
    pytest.param([call(REFUSED), EMPTY], 0, id="no parent is recorded, and it is right before it"),
    pytest.param(
        [call(REFUSED), user("x"), assistant(STEP_START, step_finish(), parentID=None)],
        None,
        id="no parent is recorded, and a turn stands between",
    ),
    pytest.param([EMPTY], None, id="nothing before it"),
]


@pytest.mark.parametrize(("messages", "expected"), PLACES)
def test_directly_before_in_the_same_turn(tmp_path: Path, messages: list[Any], expected: int | None) -> None:
    document = export(*map(copy, messages))
    last = document["messages"][-1]["info"]
    if messages[-1]["info"].get("parentID", "") is None:
        del last["parentID"]
    session = opened(tmp_path, document)
    (finding,) = diagnose(session, len(session) - 1)
    assert (f"directly after message {expected} of the same turn" in finding.says) == (expected is not None)
    assert ("comes directly after" in finding.says) == (expected is not None)


HELD = [
    pytest.param(
        [], "Nothing of it is recorded: no text, no reasoning, no call.", [("tokens.output", 0)], id="nothing"
    ),
    pytest.param(["I will"], "Recorded in it by then: text.", [("parts[0].type", "text")], id="text"),
    pytest.param(
        [reasoning("Hm"), "I will", tool("read")],
        "Recorded in it by then: reasoning, text and a call of read that had ended.",
        [("parts[0].type", "reasoning"), ("parts[1].type", "text"), ("parts[2].state.status", "completed")],
        id="three kinds",
    ),
    pytest.param(
        [reasoning(""), STOPPED],
        "Recorded in it by then: reasoning that is empty and a call of bash being written.",
        [("parts[0].text", ""), ("parts[1].state.error", "Tool execution aborted")],
        id="a call that was being written",
    ),
    pytest.param(
        [tool(metadata={"exit": None}, output="a\n<shell_metadata>\nUser aborted the command\n</shell_metadata>")],
        "Recorded in it by then: a call of bash still running.",
        [("parts[0].state.output", "User aborted the command")],
        id="a command that was running",
    ),
    pytest.param(
        [tool(status="running")],
        "Recorded in it by then: a call of bash without a recorded end.",
        [("parts[0].state.status", "running")],
        id="a call without an end",
    ),
    pytest.param(
        [{"type": "tool", "tool": "grep"}],
        "Recorded in it by then: a call of grep without a recorded end.",
        [("parts[0].state.status", None)],
        id="a call without a state",
    ),
    pytest.param(
        ["a", "b", tool("read"), tool("read"), tool("read")],
        "Recorded in it by then: text (2 times) and a call of read that had ended (3 times).",
        [("parts[0].type", "text"), ("parts[2].state.status", "completed")],
        id="several of a kind",
    ),
    pytest.param(
        [tool(f"t{n}") for n in range(7)],
        "Recorded in it by then: a call of t0 that had ended, a call of t1 that had ended, a call of t2 that had ended, "
        "a call of t3 that had ended, a call of t4 that had ended and 2 more kinds.",
        [(f"parts[{n}].state.status", "completed") for n in range(5)],
        id="too many to list",
    ),
    pytest.param(
        [{"type": "retry", "attempt": 1, "error": OVERLOADED}],
        "Nothing of it is recorded: no text, no reasoning, no call.",
        [("tokens.output", 0)],
        id="only a retry",
    ),
]


@pytest.mark.parametrize(("parts", "says", "proofs"), HELD)
def test_what_was_in_it_when_it_was_interrupted(tmp_path: Path, parts: list[Any], says: str, proofs: list[Any]) -> None:
    finding = found(tmp_path, "aborted", [ASK, assistant(*parts, error=ABORTED, finish=None, tokens=NOTHING)])
    assert finding.says.endswith(f"by whom. {says}")
    assert [(item.field, item.value) for item in finding.evidence[4:]] == proofs


def test_what_is_not_counted_proves_nothing(tmp_path: Path) -> None:
    finding = found(tmp_path, "aborted", [ASK, assistant(error=ABORTED, finish=None, tokens=None)])
    assert finding.says.endswith("by whom. Nothing of it is recorded: no text, no reasoning, no call.")
    assert not [item for item in finding.evidence if item.field == "tokens.output"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (assistant(STEP_START, "Half", finish=None), "cut-off"),
        (assistant(STEP_START, "Half", finish="unknown", tokens=NOTHING), "cut-off"),
        (assistant("Half", finish=None, time=at(60)), "unfinished"),
    ],
    ids=["closed without a finish", "dropped", "unfinished"],
)
def test_what_was_in_a_message_that_was_cut(tmp_path: Path, answer: Any, kind: str) -> None:
    assert "Recorded in it by then: text." in found(tmp_path, kind, [ASK, answer]).says


def stopped(created: float = 60, completed: float | None = 77.2, **info: Any) -> dict[str, Any]:
    return assistant(error=ABORTED, finish=None, time=at(created, completed), **info)


NEXT_TURN = [
    pytest.param([stopped(), user("go on", time=at(83.6))], " The next message is the user's, sent 6.4 s after that end.", 2, id="right behind it"),
    pytest.param([stopped(), user("go on", time=at(77.9))], " The next message is the user's, sent in the same second, 700 ms after that end.", 2, id="in the same second"),
    pytest.param([stopped(), user("go on", time=at(78.1))], " The next message is the user's, sent 900 ms after that end.", 2, id="less than a second later, in the next one"),
    pytest.param([stopped(), user("go on", time=at(77.2))], " The next message is the user's, sent in the same second, 0 ms after that end.", 2, id="at the same moment"),
    pytest.param([stopped(), assistant("b", time=at(78, 80)), user("x", time=at(90))], " The user's next turn is message 3, sent 12.8 s after that end.", 3, id="with an answer between"),
    pytest.param([stopped(), user("late", time=at(99)), user("x", time=at(80))], " The user's next turn is message 3, sent 2.8 s after that end.", 3, id="by time, not by place"),
    pytest.param([stopped(), user("stop", time=at(70))], " The user had sent message 2 7.2 s before that end, while it was running.", 2, id="while it was running"),
    pytest.param([user("stop", time=at(70)), stopped(parentID="msg_0000")], " The user had sent message 1 7.2 s before that end, while it was running.", 1, id="while it was running, but stands before it"),
    pytest.param([stopped(), user({"type": "compaction", "auto": True}, time=at(80))], "", None, id="a compaction"),
    pytest.param([stopped(), user(text("x", synthetic=True), time=at(80))], "", None, id="put in by the harness"),
    pytest.param([stopped(), user("x", time={})], "", None, id="a turn without a time"),
    pytest.param([stopped(), user("x", time=at(50))], "", None, id="a turn of before"),
    pytest.param([stopped(), *[assistant("b", time=at(80, 81))] * 60, user("x", time=at(90))], "", None, id="a turn far away"),
    pytest.param([stopped(completed=None), user("x", time=at(90))], "", None, id="no end is recorded"),
    pytest.param([assistant(error=ABORTED, finish=None, time={}), user("x", time=at(90))], "", None, id="no time at all"),
    pytest.param([stopped()], "", None, id="nothing follows"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "says", "turn"), NEXT_TURN)
def test_the_user_s_next_turn(tmp_path: Path, messages: list[Any], says: str, turn: int | None) -> None:
    first = {**ASK, "info": {**ASK["info"], "time": at(0)}}
    place = 1 + next(place for place, message in enumerate(messages) if "error" in message["info"])
    finding = found(tmp_path, "aborted", [first, *messages], place)
    assert finding.says.partition("no call.")[2].partition(" In the next request")[0] == says
    assert turn is None or next(item.index for item in finding.evidence if item.index != place) == turn


def test_the_turn_it_answers_had_waited_for_a_command(tmp_path: Path) -> None:
    slow = call(tool(), time=at(1, 60))
    messages = [user("a", time=at(0)), slow, user("b", time=at(30)), stopped(60.05)]
    finding = found(tmp_path, "aborted", messages)
    assert finding.says.endswith(
        " Message 2, which it answers, was sent while message 1 was still running; message 1 had ended 50 ms before "
        "this one began."
    )
    assert [(item.index, item.field) for item in finding.evidence[-3:]] == [
        (2, "time.created"),
        (1, "time.created"),
        (1, "time.completed"),
    ]


def test_the_turn_it_answers_while_the_command_goes_on(tmp_path: Path) -> None:
    messages = [user("a", time=at(0)), call(tool(), time=at(1, 70)), user("b", time=at(30)), stopped()]
    assert found(tmp_path, "aborted", messages).says.endswith("was sent while message 1 was still running.")


def test_the_turn_it_answers_is_not_there(tmp_path: Path) -> None:
    messages = [user("a", time=at(0)), call(tool(), time=at(1, 70)), stopped(60, parentID="msg_gone")]
    assert found(tmp_path, "aborted", messages).says.endswith("no call.")


def test_the_turn_it_answers_had_waited_for_nothing(tmp_path: Path) -> None:
    messages = [user("a", time=at(0)), call(tool(), time=at(1, 20)), user("b", time=at(30)), stopped()]
    assert found(tmp_path, "aborted", messages).says.endswith("no call.")


NUDGES = [
    pytest.param([stopped(1, 2)], " The answer before it, message 1, was interrupted before it ended.", id="aborted"),
    pytest.param([EMPTY], " The answer before it, message 1, holds nothing.", id="empty"),
    pytest.param([assistant(reasoning("Hm."))], " The answer before it, message 1, holds reasoning and no answer.", id="only reasoning"),
    pytest.param([assistant(error=OVERLOADED, finish=None)], " The answer before it, message 1, ended in an error of the endpoint.", id="an error of the endpoint"),
    pytest.param([assistant("A", finish="length")], " The answer before it, message 1, was cut off.", id="cut off"),
    pytest.param([assistant("A", finish=None, time=at(1))], " The answer before it, message 1, has no recorded end.", id="without an end"),
    pytest.param([EMPTY, user("and?")], " The answer before it, message 1, holds nothing.", id="a turn between"),
    pytest.param([assistant("Done.")], "", id="an answer as it should be"),
    pytest.param([EMPTY, assistant("Done.")], "", id="an earlier one was empty"),
    pytest.param([EMPTY, user({"type": "compaction", "auto": True})], "", id="a compaction between"),
    pytest.param([], "", id="nothing before it"),
    pytest.param([call(tool(), time=at(1, 900))], " It was sent while message 1 was still running.", id="sent while a command was running"),
    pytest.param([EMPTY, call(tool(), time=at(61, 900))], " It was sent while message 2 was still running.", id="sent while a later one was running"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "says"), NUDGES)
def test_what_a_nudge_answers(tmp_path: Path, messages: list[Any], says: str) -> None:
    finding = found(tmp_path, "user-nudge", [ASK, *messages, user("continue")])
    assert finding.says.partition("no instruction.")[2] == says
    assert (len(finding.evidence) > 1) == bool(says)


FULL = {"input": 3, "output": 5, "reasoning": 0, "cache": {"read": 900, "write": 7}}
AUTO: dict[str, Any] = {"type": "compaction", "auto": True}
LOOP = [
    pytest.param([ASK, call(tool()), user(AUTO)], "Message 1, right before it, finished with “tool-calls”: the turn, in answer to message 0, was not over.", id="the loop was going on"),
    pytest.param([call(tool()), user(AUTO)], "Message 0, right before it, finished with “tool-calls”: its turn was not over.", id="of a turn that is not there"),
    pytest.param([ASK, call(tool()), user("x"), user(AUTO)], "Message 1, right before it, finished with “tool-calls”: the turn, in answer to message 0, was not over.", id="a queued turn between"),
    pytest.param([ASK, assistant("Done."), user(AUTO)], None, id="the answer had ended its turn"),
    pytest.param([ASK, call(tool()), user(AUTO | {"auto": False})], None, id="asked for by hand"),
    pytest.param([user(AUTO)], None, id="nothing before it"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "says"), LOOP)
def test_whether_a_compaction_came_in_the_middle_of_a_turn(
    tmp_path: Path, messages: list[Any], says: str | None
) -> None:
    finding = found(tmp_path, "compaction-request", messages)
    assert ("tool-calls" in finding.says) == (says is not None)
    assert says is None or finding.says.endswith(says)


GO_ON = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."
SUMMARY = assistant("## Goal", summary=True)
GOES_ON = "It comes directly after the compaction summary, message 1; opencode puts such a text in so that the work goes on without a turn of the user's."
FOLLOWED = [
    pytest.param([user(AUTO), SUMMARY, user(text(GO_ON, synthetic=True))], {}, GOES_ON, id="after a summary"),
    pytest.param([user(AUTO), SUMMARY, user(text(GO_ON, synthetic=True))], {"version": "0.9.1"}, GOES_ON.partition(";")[0] + ".", id="of a version whose rules are not known"),
    pytest.param([ASK, assistant("x"), user(text(GO_ON, synthetic=True))], {}, "", id="after an answer"),
    pytest.param([user(text(GO_ON, synthetic=True))], {}, "", id="the first message"),
    pytest.param([user(AUTO), SUMMARY, user(RUN_BY_USER)], {}, "", id="a command of the user's after a summary"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "info", "says"), FOLLOWED)
def test_how_the_work_goes_on_after_a_compaction(tmp_path: Path, messages: list[Any], info: Any, says: str) -> None:
    finding = found(tmp_path, "synthetic", messages, **info)
    assert finding.says.partition("(synthetic).")[2].strip() == says
    assert [item.index for item in finding.evidence if item.field == "summary"] == ([1] if says else [])


LONG = [
    pytest.param(call(tool(metadata={"exit": 2})), id="a failed command"),
    pytest.param(assistant(error=ABORTED, finish=None), id="an abort"),
    pytest.param(EMPTY, id="an empty answer"),
    pytest.param(user("continue"), id="a nudge"),
    pytest.param(call(STOPPED), id="a stopped call"),
]


@pytest.mark.parametrize("message", LONG)
def test_a_finding_looks_at_a_bounded_number_of_neighbours(tmp_path: Path, message: dict[str, Any]) -> None:
    turns = [user("x"), *[call(tool(metadata={"exit": 2}))] * 5, assistant(error=ABORTED, finish=None)] * 100
    session = opened(tmp_path, export(*map(copy, [*turns, message, *turns])))
    read, whole = set[int](), session.message

    def reading(index: int) -> Message:
        read.add(index)
        return whole(index)

    session.message = reading
    assert diagnose(session, len(turns))
    assert len(read) <= 60
