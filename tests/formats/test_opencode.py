"""opencode v1: what stands in a message, whichever version wrote it and whatever happened to the run or the file."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, Struct
from msgspec.structs import replace
from opened import opened
from recordings import (
    BEGIN,
    EXAMPLE,
    SESSION_ID,
    SHARED,
    STEP_START,
    assistant,
    export,
    reasoning,
    step_finish,
    text,
    tool,
    user,
    write,
)

from narrator.errors import SessionError
from narrator.formats import open_session, opencode
from narrator.formats.opencode import skims
from narrator.formats.opencode.messages import read_message
from narrator.formats.opencode.skims import take_message
from narrator.formats.opencode.traits import find_traits
from narrator.session import (
    Block,
    Fault,
    File,
    Marker,
    Message,
    Reasoning,
    Session,
    Skim,
    Text,
    Tokens,
    ToolCall,
)
from narrator.skims import Columns, Skims
from narrator.traits import Trait, traits_of

RECORDED = SHARED / "sessions" / "opencode"
needs_recordings = pytest.mark.skipif(not RECORDED.is_dir(), reason="needs ../shared/sessions, not in the repository")
MORE = assistant("more")


def read(message: Any) -> Message:
    """One message as stored, given as a value or as JSON."""
    raw = message if isinstance(message, bytes) else json.dumps(message).encode()
    return read_message(Raw(raw), 0)


def blocks(*parts: Any) -> tuple[Block, ...]:
    return read({"info": {"role": "assistant"}, "parts": list(parts)}).blocks


def call(**state: Any) -> ToolCall:
    (block,) = blocks(tool(**state))
    assert isinstance(block, ToolCall)
    return block


def refusal(folder: Path, document: Any) -> str:
    with pytest.raises(SessionError) as caught:
        open_session(write(folder, document))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("session.json: ")


def read_whole(session: Session) -> list[Message]:
    """Everything in a session, skims included."""
    assert len(session.skims) == len(session)
    return [session.message(index) for index in range(len(session))]


# --- the session as a whole ----------------------------------------------------------------------------------------


def test_what_the_export_says_of_the_session(tmp_path: Path) -> None:
    document = export(
        user("go"), directory="/home/dev", parentID="ses_parent", revert={"messageID": "msg_0000", "partID": "p"}
    )
    about = opened(tmp_path, document).about
    assert (about.format, about.id, about.title, about.file) == (
        "opencode",
        SESSION_ID,
        "Fix the flaky test",
        "session.json",
    )
    assert (about.version, about.directory, about.created) == ("1.18.33", "/home/dev", BEGIN)
    assert (about.parent, about.revert, about.delegated) == ("ses_parent", "msg_0000", ())


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        pytest.param({"id": "ses_1"}, ("ses_1", "Untitled session", BEGIN), id="an id is all there is"),
        pytest.param({}, (SESSION_ID, "Untitled session", BEGIN), id="an empty info: the first message knows"),
        pytest.param(None, (SESSION_ID, "Untitled session", BEGIN), id="info null"),
        pytest.param([1, {}], (SESSION_ID, "Untitled session", BEGIN), id="info a list"),
        pytest.param("x", (SESSION_ID, "Untitled session", BEGIN), id="info a string"),
        pytest.param({"id": 7, "title": {}, "time": 3, "revert": "x", "parentID": [], "version": 1, "directory": False}, (SESSION_ID, "Untitled session", BEGIN), id="fields of the wrong types"),
        pytest.param({"id": "", "title": "", "time": {"created": "x"}}, (SESSION_ID, "Untitled session", BEGIN), id="empty fields"),
        pytest.param({"time": {"created": 5.7}}, (SESSION_ID, "Untitled session", 5), id="a time with a fraction"),
    ],
)  # fmt: skip
def test_every_field_of_it_may_be_missing_or_wrong(tmp_path: Path, info: Any, expected: tuple[str, str, int]) -> None:
    session = opened(tmp_path, export(user("go")) | {"info": info})
    assert (session.about.id, session.about.title, session.about.created) == expected
    assert (session.about.parent, session.about.revert, session.about.version, session.about.directory) == (None,) * 4
    assert len(session) == 1


def test_the_bare_list_of_messages_is_a_session(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("go"), assistant("ok"))["messages"])
    assert [message.id for message in read_whole(session)] == ["msg_0000", "msg_0001"]
    assert (session.about.id, session.about.title) == (SESSION_ID, "Untitled session")


def test_bytes_that_are_not_utf8_in_what_is_said_of_the_session_are_told(tmp_path: Path) -> None:
    data = json.dumps(export(user("go"), title="caf@")).encode().replace(b"@", b"\xe9")
    session = open_session(write(tmp_path, data))
    assert session.about.title == "caf\ufffd"
    assert session.notices == (
        "session.json: in what it says of the session, 1 byte(s) that are not UTF-8, read as U+FFFD",
    )


def test_subagents_in_the_file_are_told_and_have_no_number(tmp_path: Path) -> None:
    document = export(user("go")) | {"subagents": [export(user("child"), id="ses_child"), None]}
    session = opened(tmp_path, document)
    assert len(session) == 1
    assert session.about.delegated == ("ses_child", "unknown")
    assert session.notices == ("session.json: 2 subagent session(s) in the file, not included and not numbered",)


def test_a_sanitised_export_is_told(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("[redacted:text:prt_1]"), assistant("[redacted:text:prt_2]")))
    assert session.notices == ("session.json: a sanitised export: numbers, times and ends are true, the text is gone",)
    assert opened(tmp_path, export(user("what is [redacted:x]?"))).notices == ()


# --- numbering -----------------------------------------------------------------------------------------------------


def test_the_number_is_the_place_in_the_file_empty_messages_counted(tmp_path: Path) -> None:
    document = export(user("go"), assistant(), assistant(STEP_START, step_finish()), user(), assistant("end"))
    messages = read_whole(opened(tmp_path, document))
    assert [message.index for message in messages] == [0, 1, 2, 3, 4]
    assert [message.id for message in messages] == [entry["info"]["id"] for entry in document["messages"]]


def test_ids_and_times_never_change_the_order(tmp_path: Path) -> None:
    stored = [
        user("a", id="msg_z", time={"created": 9}),
        assistant("b", id="msg_a", time={"created": 1}),
        user("c", id="msg_m"),
    ]
    messages = read_whole(opened(tmp_path, export(*stored)))
    assert [message.id for message in messages] == ["msg_z", "msg_a", "msg_m"]


def test_duplicate_ids_lose_no_message(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("a", id="msg_1"), assistant("b", id="msg_1"), assistant("c", id="msg_1")))
    assert ["".join(block.text for block in m.blocks if isinstance(block, Text)) for m in read_whole(session)] == list(
        "abc"
    )
    assert session.positions == {"msg_1": 0}


@pytest.mark.parametrize("entry", ["null", "7", '"x"', "[]", "true", "{}", '{"id": "x"}'])
def test_an_entry_that_is_no_message_keeps_its_number(tmp_path: Path, entry: str) -> None:
    data = json.dumps(export(user("@"), user("b"))).replace(json.dumps(export(user("@"))["messages"][0]), entry)
    session = open_session(write(tmp_path, data))
    assert [message.index for message in read_whole(session)] == [0, 1]
    assert session.message(0).blocks == ()
    assert session.message(0).id == session.skims[0].id == "message-0"
    odd = () if entry.startswith("{") else ("a message that is no object",)
    assert session.message(0).oddities == odd
    assert session.message(1).id == "msg_0001"


def test_a_session_of_nothing_but_null_is_still_counted(tmp_path: Path) -> None:
    session = opened(tmp_path, {"info": {"id": "ses_1"}, "messages": [None, None]})
    assert [message.oddities for message in read_whole(session)] == [("a message that is no object",)] * 2


# --- a message -----------------------------------------------------------------------------------------------------


def test_a_user_message_of_this_year() -> None:
    stored = user(
        "go", id="msg_1", time={"created": 5}, model={"providerID": "acme", "modelID": "large", "variant": "x"}
    )
    assert read(stored) == Message(
        index=0, id="msg_1", role="user", blocks=(Text(at="parts[0]", text="go"),), created=5, model="acme/large", agent="build"
    )  # fmt: skip


def test_an_answer_of_this_year() -> None:
    stored = assistant(
        STEP_START, "yes", step_finish("tool-calls"), id="msg_2", parentID="msg_1", time={"created": 5, "completed": 6}, agent="plan"
    )  # fmt: skip
    assert read(stored) == Message(
        index=0,
        id="msg_2",
        role="assistant",
        blocks=(Text(at="parts[1]", text="yes"),),
        created=5,
        completed=6,
        parent="msg_1",
        finish="stop",
        tokens=Tokens(input=900, output=120, cache_read=40, cache_write=2),
        model="acme/large",
        agent="plan",
        called=True,
    )


@pytest.mark.parametrize(
    ("stored", "field", "expected"),
    [
        pytest.param(assistant(agent=None), "agent", "build", id="before agents there were modes"),
        pytest.param(assistant(finish=None), "finish", None, id="no finish before 1.0"),
        pytest.param(assistant(step_finish("stop"), step_finish("length"), finish=None), "finish", "length", id="the last step's reason then"),
        pytest.param(assistant(step_finish("stop"), finish="length"), "finish", "length", id="the message's own finish first"),
        pytest.param(assistant(summary=True), "summary", True, id="a compaction summary"),
        pytest.param(user(summary={"title": "x", "diffs": []}), "summary", False, id="the summary of a user message is its changes"),
        pytest.param(assistant(summary={}), "summary", False, id="an object is no mark of a summary"),
        pytest.param(assistant(STEP_START), "called", True, id="a model call began"),
        pytest.param(assistant("x"), "called", False, id="no step is recorded"),
        pytest.param(assistant(tokens=None), "tokens", None, id="no tokens recorded"),
        pytest.param(assistant(cost=0.25), "cost", 0.25, id="a cost"),
        pytest.param(assistant(cost=0), "cost", 0.0, id="a cost of nothing"),
        pytest.param(assistant(), "cost", None, id="no cost recorded"),
        pytest.param(assistant(cost="0.1"), "cost", None, id="a cost that is a word"),
        pytest.param(assistant(cost=False), "cost", None, id="a cost that is no number"),
        pytest.param(assistant(tokens={"input": "x", "output": -1.5, "cache": 3}), "tokens", Tokens(output=-2), id="tokens of wrong types"),
        pytest.param(assistant(modelID=None), "model", None, id="half a model"),
        pytest.param(assistant(model={}), "model", "acme/large", id="an empty model object"),
        pytest.param(assistant(model={"providerID": "b"}), "model", "acme/large", id="half a model object"),
        pytest.param(assistant(model={"providerID": "b", "modelID": "small"}), "model", "b/small", id="the model object first"),
        pytest.param(assistant(parentID=5), "parent", None, id="a parent that is a number"),
        pytest.param({"info": {"role": "developer"}}, "role", "assistant", id="a role nobody writes"),
        pytest.param({"info": {"role": ["user"]}}, "role", "assistant", id="a role that is a list"),
        pytest.param({"parts": [text("x")]}, "blocks", (Text(at="parts[0]", text="x"),), id="no info"),
        pytest.param({"parts": [text("x")]}, "id", "message-0", id="no id"),
        pytest.param(assistant(id=""), "id", "message-0", id="an empty id"),
        pytest.param({"info": {}}, "blocks", (), id="no parts (opencode issue 42677)"),
        pytest.param({"info": {}}, "oddities", (), id="which is nothing odd"),
        pytest.param({"info": {}, "parts": []}, "oddities", (), id="nor is an empty list of them"),
        pytest.param({"info": {}, "parts": None}, "oddities", ("`parts` that is no list",), id="parts null"),
        pytest.param({"info": {}, "parts": {"0": {}}}, "oddities", ("`parts` that is no list",), id="parts an object"),
        pytest.param({"info": 7, "parts": []}, "oddities", ("`info` that is no object",), id="info a number"),
    ],
)  # fmt: skip
def test_a_field_of_a_message(stored: Any, field: str, expected: Any) -> None:
    assert getattr(read(stored), field) == expected


@pytest.mark.parametrize(
    ("value", "read_as"),
    [(BEGIN, BEGIN), (1.9, 1), (-5, -5), (-0.5, -1), (0, 0), (2**53, None), (10**30, None), (1e300, None), ("5", None), (True, None), (None, None), ([5], None)],
)  # fmt: skip
@pytest.mark.parametrize("field", ["created", "completed"])
def test_a_time_is_a_sane_number_or_nothing(field: str, value: Any, read_as: int | None) -> None:
    stored = assistant("x", time={field: value})
    assert getattr(read(stored), field) == read_as
    assert getattr(skim_message(Raw(json.dumps(stored).encode())), field) == read_as


@pytest.mark.parametrize("value", [None, 5, "x", []])
def test_a_time_that_is_no_object_is_no_time(value: Any) -> None:
    assert (read(assistant(time=value)).created, read({"info": {"time": value}}).created) == (None, None)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        pytest.param(None, None, id="no error"),
        pytest.param({"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}, Fault(name="MessageAbortedError", message="The operation was aborted."), id="aborted"),
        pytest.param({"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529, "isRetryable": True}}, Fault(name="APIError", message="Overloaded", status=529), id="the endpoint failed"),
        pytest.param({"name": "MessageOutputLengthError", "data": {}}, Fault(name="MessageOutputLengthError", message=""), id="no words"),
        pytest.param({"name": "UnknownError", "message": "x"}, Fault(name="UnknownError", message="x"), id="words beside the data"),
        pytest.param({}, Fault(name="error", message=""), id="an empty object is an error"),
        pytest.param({"name": 5, "data": "x"}, Fault(name="error", message=""), id="wrong types"),
        pytest.param("boom", Fault(name="error", message="boom"), id="a string is told, not dropped"),
        pytest.param(7, None, id="a number says nothing"),
    ],
)  # fmt: skip
def test_how_a_message_failed(error: Any, fault: Fault | None) -> None:
    assert read({"info": {"role": "assistant", "error": error}}).fault == fault


# --- parts ---------------------------------------------------------------------------------------------------------

PNG = "iVBORw0KGgo" * 30
AT = "parts[0]"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(text("hello"), Text(at=AT, text="hello"), id="text"),
        pytest.param(text(""), Text(at=AT, text=""), id="empty text"),
        pytest.param(text("x", synthetic=True, ignored=True, time={"start": 1}, metadata={}), Text(at=AT, text="x", synthetic=True, started=1), id="synthetic text"),
        pytest.param(text("x", synthetic=1), Text(at=AT, text="x"), id="only true is synthetic"),
        pytest.param(reasoning("hm", time={"start": 1}, metadata={"signature": "s"}), Reasoning(at=AT, text="hm"), id="reasoning"),
        pytest.param({"type": "reasoning"}, Reasoning(at=AT, text=""), id="encrypted reasoning"),
        pytest.param({"type": "reasoning", "text": 5}, Reasoning(at=AT, text=""), id="reasoning that is a number"),
        pytest.param({"type": "file", "mime": "text/plain", "filename": "a.py", "url": "file:///a.py"}, File(at=AT, name="a.py", mime="text/plain", size=0), id="a file that is pointed at"),
        pytest.param({"type": "file", "mime": "text/plain", "url": "file:///a.py"}, File(at=AT, name="file:///a.py", mime="text/plain", size=0), id="a file without a name"),
        pytest.param({"type": "file", "mime": "image/png", "filename": "a.png", "url": f"data:image/png;base64,{PNG}=="}, File(at=AT, name="a.png", mime="image/png", size=247), id="a file in the recording"),
        pytest.param({"type": "file", "url": f"data:image/png;base64,{PNG}"}, File(at=AT, name="attachment", mime="unknown type", size=247), id="one that says nothing of itself"),
        pytest.param({"type": "file", "url": "data:"}, File(at=AT, name="attachment", mime="unknown type", size=0), id="one without bytes"),
        pytest.param({"type": "file"}, File(at=AT, name="attachment", mime="unknown type", size=0), id="a file of nothing"),
        pytest.param({"type": "compaction", "auto": True, "overflow": True}, Marker(at=AT, kind="compaction", text="[automatic compaction]"), id="automatic compaction"),
        pytest.param({"type": "compaction", "auto": False}, Marker(at=AT, kind="compaction", text="[manual compaction]"), id="manual compaction"),
        pytest.param({"type": "agent", "name": "general"}, Marker(at=AT, kind="agent", text="[mention of agent general]"), id="a mention"),
        pytest.param({"type": "agent"}, Marker(at=AT, kind="agent", text="[mention of agent ?]"), id="a mention of nobody"),
        pytest.param({"type": "subtask", "description": "look", "prompt": "Look!"}, Marker(at=AT, kind="subtask", text="[subtask: look]"), id="a subtask"),
        pytest.param({"type": "subtask", "prompt": "Look!"}, Marker(at=AT, kind="subtask", text="[subtask: Look!]"), id="a subtask without a description"),
        pytest.param({"type": "retry", "attempt": 2, "error": {"name": "APIError", "data": {"message": "429"}}}, Marker(at=AT, kind="retry", text="[retry 2: 429]"), id="a retry"),
        pytest.param({"type": "retry"}, Marker(at=AT, kind="retry", text="[retry ?: error]"), id="a retry of nothing"),
        pytest.param({"type": "hologram-from-2031", "beam": 1}, Marker(at=AT, kind="hologram-from-2031", text="[hologram-from-2031 omitted]"), id="a part of the future"),
    ],
)  # fmt: skip
def test_a_part_becomes_a_block(part: dict[str, Any], expected: Block) -> None:
    assert blocks(part) == (expected,)


@pytest.mark.parametrize("kind", ["step-start", "step-finish", "snapshot", "patch"])
def test_a_part_that_annotates_is_no_block(kind: str) -> None:
    message = read({"info": {}, "parts": [{"type": kind, "hash": "x", "files": []}, text("x")]})
    assert message.blocks == (Text(at="parts[1]", text="x"),)
    assert message.oddities == ()


@pytest.mark.parametrize(
    ("parts", "oddity"),
    [
        ([None, 5, "x", [], {}, {"type": None}, {"type": ["text"]}], "a part without a type"),
        ([{"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": {}}], "a text part without text"),
        ([{"type": "tool"}, {"type": "tool", "state": "running"}], "a tool call without a state"),
        ([{"type": "new"}, {"type": "new"}], "parts of the unknown type new"),
        ([{"type": "n" * 500}], f"parts of the unknown type {'n' * 60}"),
    ],
    ids=["no type", "no text", "no state", "unknown", "an endless type"],
)
def test_a_part_of_the_wrong_shape_is_told_once_a_kind(parts: list[Any], oddity: str) -> None:
    assert read({"info": {}, "parts": [*parts, text("x")]}).oddities == (oddity,)


def test_a_block_says_where_it_stands_as_jq_would(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("go"), assistant(STEP_START, "a", tool(metadata={"exit": 3}))))
    said, called = session.message(1).blocks
    assert (said.at, called.at) == ("parts[1]", "parts[2]")
    assert session.native("exit", called) == "parts[2].state.metadata.exit"
    assert session.native("fault.name") == "error.name"


# --- tool calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param({"output": "ok", "metadata": {"exit": 0}, "time": {"start": 1, "end": 2}}, {"status": "completed", "output": "ok", "exit": 0, "started": 1, "ended": 2}, id="it ran"),
        pytest.param({"output": "no", "metadata": {"exit": 2}}, {"status": "completed", "exit": 2}, id="its command failed"),
        pytest.param({"metadata": {"exit": 2.0}}, {"exit": 2}, id="an exit code with a point"),
        pytest.param({"metadata": {"exit": "2"}}, {"exit": None}, id="an exit code that is text"),
        pytest.param({"status": "error", "error": "File not found"}, {"status": "error", "error": "File not found", "output": None}, id="it failed"),
        pytest.param({"status": "running", "input": {"command": "sleep 9"}, "time": {"start": 1}}, {"status": "running", "started": 1, "ended": None, "output": None}, id="it never ended"),
        pytest.param({"status": "pending", "input": {}, "raw": ""}, {"status": "pending", "input": {}}, id="it never began"),
        pytest.param({"status": "exploded"}, {"status": "unknown"}, id="a status nobody writes"),
        pytest.param({"status": None}, {"status": "unknown"}, id="status null"),
        pytest.param({"output": ""}, {"output": ""}, id="it returned nothing"),
        pytest.param({"output": None}, {"output": None}, id="nothing is recorded"),
        pytest.param({"metadata": {"truncated": True}}, {"truncated": True}, id="the output was cut"),
        pytest.param({"time": {"start": 1, "end": 2, "compacted": 3}}, {"pruned": 3}, id="the output was pruned"),
        pytest.param({"input": "text"}, {"input": "text"}, id="an input that is text"),
        pytest.param({"input": None}, {"input": None}, id="no input"),
        pytest.param({"status": "error", "error": "The bash tool was called with invalid arguments: x", "input": {}}, {"invalid": True}, id="arguments its schema refuses"),
        pytest.param({"name": "invalid", "input": {"tool": "frob", "error": "x"}, "output": "The arguments …"}, {"invalid": True, "status": "completed"}, id="an unknown tool"),
        pytest.param({"output": "called with invalid arguments"}, {"invalid": False}, id="the same words in an output"),
        pytest.param({"name": "task", "metadata": {"sessionId": "ses_child"}}, {"child": "ses_child"}, id="delegated"),
        pytest.param({"name": "bash", "metadata": {"sessionId": "ses_child"}}, {"child": None}, id="another tool with such a field"),
        pytest.param({"output": "…\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>", "metadata": {"exit": None}}, {"interrupted": "User aborted the command", "exit": None}, id="a command the user stopped (1.18)"),
        pytest.param({"output": "…\n<bash_metadata>\nbash tool terminated command after exceeding timeout 2000 ms\n</bash_metadata>", "metadata": {}}, {"interrupted": "exceeding timeout 2000 ms"}, id="a command that timed out (1.1)"),
        pytest.param({"output": "x\n<shell_metadata>\nUser aborted the command\n</shell_metadata>\nmore", "metadata": {}}, {"interrupted": None}, id="such words further up are quoted"),
        pytest.param({"output": "<shell_metadata>\nUser aborted the command\n</shell_metadata>", "metadata": {"exit": 0}}, {"interrupted": None}, id="a command with an exit code ended"),
        pytest.param({"status": "error", "error": "Tool execution aborted"}, {"interrupted": "Tool execution aborted"}, id="a call that was aborted"),
        pytest.param({"metadata": {"interrupted": True}}, {"interrupted": "interrupted"}, id="a mark of interruption"),
        pytest.param({"metadata": [], "time": "x", "title": 5}, {"exit": None, "started": None, "status": "completed"}, id="wrong types all over"),
    ],
)  # fmt: skip
def test_a_state_of_a_tool_call(state: dict[str, Any], expected: dict[str, Any]) -> None:
    found = call(**state)
    assert {field: getattr(found, field) for field in expected} == expected


@pytest.mark.parametrize(
    "part", [{"type": "tool"}, {"type": "tool", "state": None}, {"type": "tool", "tool": 5, "state": []}]
)
def test_a_call_without_name_and_state_is_still_a_call(part: dict[str, Any]) -> None:
    assert blocks(part) == (ToolCall(at=AT, name="unnamed tool", input=None, status="unknown"),)


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        pytest.param([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", id="text blocks"),
        pytest.param(
            [{"type": "image", "mimeType": "image/png", "data": PNG}], "[image/png, 247 bytes]", id="an image block"
        ),
        pytest.param(
            [{"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PNG}"}],
            "[image/png, 247 bytes]",
            id="a file block",
        ),
        pytest.param([{"type": "audio"}], "[audio, 0 bytes]", id="a block of nothing"),
        pytest.param({"a": [1, "é"]}, '{"a": [1, "é"]}', id="an object"),
        pytest.param([1, {"type": "x"}], '[1, {"type": "x"}]', id="a list that is no list of blocks"),
        pytest.param([], "", id="an empty list"),
        pytest.param(5, "5", id="a number"),
        pytest.param(False, "false", id="a truth value"),
    ],
)
def test_an_output_that_is_no_text_is_shown_as_text(output: Any, shown: str) -> None:
    assert call(output=output).output == shown


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        pytest.param(f"see data:image/png;base64,{PNG} there", "see [image/png, 247 bytes] there", id="in a sentence"),
        pytest.param(f'{{"u": "data:image/png;base64,{PNG}=="}}', '{"u": "[image/png, 247 bytes]"}', id="in JSON, padded"),
        pytest.param(f"data:image/svg+xml;charset=utf-8;base64,{PNG}", "[image/svg+xml, 247 bytes]", id="with parameters"),
        pytest.param(f"data:a/b;base64,{PNG}\n{PNG}\r\n{PNG}", "[a/b, 742 bytes]", id="in lines"),
        pytest.param(f"data:image/png;base64,{PNG}\nSaved to the disk", "[image/png, 247 bytes]\nSaved to the disk", id="the words behind it stay"),
        pytest.param(f"data:image/png;base64,{PNG}==\n\nDone", "[image/png, 247 bytes]\n\nDone", id="behind padding too"),
        pytest.param("data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo=", id="a short one is text"),
        pytest.param("data: none;base64,", "data: none;base64,", id="none at all"),
    ],
)  # fmt: skip
def test_an_inline_file_in_a_text_becomes_a_stub(recorded: str, shown: str) -> None:
    assert call(output=recorded).output == shown
    assert blocks(text(recorded)) == (Text(at=AT, text=shown),)


def test_attachments_follow_their_call() -> None:
    attached = [{"type": "file", "mime": "image/png", "filename": "a.png", "url": f"data:image/png;base64,{PNG}"}, None]
    _, first, second = blocks(tool("read", attachments=attached))
    assert first == File(at="parts[0].state.attachments[0]", name="a.png", mime="image/png", size=247)
    assert second == File(at="parts[0].state.attachments[1]", name="attachment", mime="unknown type", size=0)
    assert len(blocks(tool("read", attachments="x"))) == 1


# --- what interruptions, errors and emptiness look like ------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param(assistant(STEP_START, step_finish()), {"blocks": (), "finish": "stop", "called": True, "fault": None}, id="the model returned nothing"),
        pytest.param(assistant(STEP_START, reasoning("hm"), step_finish()), {"blocks": (Reasoning(at="parts[1]", text="hm"),), "finish": "stop"}, id="only reasoning"),
        pytest.param(assistant(STEP_START, "half", finish="unknown", tokens={"input": 0, "output": 0}), {"finish": "unknown", "fault": None, "tokens": Tokens()}, id="a dropped stream"),
        pytest.param(assistant(STEP_START, "half", finish=None, error={"name": "MessageAbortedError", "data": {"message": "x"}}, time={"created": 1, "completed": 2}), {"finish": None, "completed": 2, "fault": Fault(name="MessageAbortedError", message="x")}, id="aborted in the text"),
        pytest.param(assistant(STEP_START, tool(status="running"), finish=None, time={"created": 1}), {"finish": None, "completed": None, "fault": None}, id="the process was killed"),
        pytest.param(user({"type": "compaction", "auto": True}), {"role": "user", "blocks": (Marker(at=AT, kind="compaction", text="[automatic compaction]"),)}, id="a compaction request"),
    ],
)  # fmt: skip
def test_how_a_turn_can_end(stored: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read(stored)
    assert {field: getattr(found, field) for field in expected} == expected


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        pytest.param(user("go"), "typed", id="a person's turn"),
        pytest.param(user(), "typed", id="an empty turn"),
        pytest.param(user("go", text("file", synthetic=True)), "typed", id="a turn with an attached file's text"),
        pytest.param(user(text("Continue …", synthetic=True)), "synthetic", id="put in by the harness"),
        pytest.param(
            user({"type": "text", "text": None}, text("x", synthetic=True)),
            "synthetic",
            id="a text without text counts for nothing",
        ),
        pytest.param(user({"type": "compaction", "auto": False}), "compaction-request", id="a compaction request"),
        pytest.param(
            user(text("x", synthetic=True), {"type": "compaction"}), "compaction-request", id="one with a text"
        ),
        pytest.param(assistant("x", summary=True), "compaction-summary", id="a compaction summary"),
        pytest.param(assistant("x"), "answer", id="an answer"),
        pytest.param(user("x", summary={"diffs": []}), "typed", id="a user message with changes"),
        pytest.param({"info": {"role": "user"}, "parts": None}, "typed", id="parts null"),
    ],
)
def test_what_sort_of_turn_a_message_is(stored: dict[str, Any], kind: str) -> None:
    assert skim_message(Raw(json.dumps(stored).encode())).kind == kind


def skim_message(raw: Raw) -> Skim:
    """The skim of a session of one message."""
    columns = Columns()
    take_message(raw, columns)
    return Skims(columns, columns.link())[0]


# --- skims ---------------------------------------------------------------------------------------------------------

SAMPLES = [
    user("go", id="msg_1", time={"created": 5}),
    user(text("x", synthetic=True), {"type": "file", "url": "file:///a"}),
    user({"type": "compaction", "auto": True}),
    assistant(
        STEP_START,
        "a",
        tool(),
        tool("read"),
        step_finish(),
        id="msg_2",
        parentID="msg_1",
        time={"created": 5, "completed": 6},
    ),
    assistant(summary=True, time={"created": 5.5}),
    assistant(time=None, error={"name": "x"}),
    assistant(step_finish("stop"), step_finish("length"), finish=None),
    {"info": {"role": "user", "model": {"providerID": "a", "modelID": "b"}}},
]
WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    2**53,
    2**70,
    "",
    "x",
    [],
    {},
    [None],
    ["x"],
    {"a": 1},
    {"type": "text"},
    {"type": 5},
]


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of everything inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


def of(message: Message, kind: str) -> Skim:
    """What a skim of a message read whole has to say; what was typed is compared apart."""
    return Skim(
        index=message.index,
        id=message.id,
        role=message.role,
        kind=kind,  # type: ignore[arg-type]  # one of five words; the caller takes it from a skim
        created=message.created,
        completed=message.completed,
        model=message.model,
        calls=sum(isinstance(block, ToolCall) for block in message.blocks),
        finish=message.fault.name if message.fault else message.finish,
        sent=message.tokens.sent if message.tokens else None,
    )


def trait_of(raw: Raw) -> Trait:
    """The traits of a session of one message, from a pass that builds none."""
    return Trait(find_traits([b"[%b]" % bytes(raw)])[0])


@pytest.mark.parametrize("stored", SAMPLES)
def test_a_skim_says_what_the_whole_message_says_whatever_is_wrong_in_it(stored: dict[str, Any]) -> None:
    for path in [(), *places(stored)]:
        for wrong in [put(stored, path, value) for value in WRONG] if path else [stored]:
            raw = Raw(json.dumps(wrong).encode())
            quick, message = skim_message(raw), read_message(raw, 0)
            assert replace(quick, said=0, parent=None) == of(message, quick.kind), wrong
            whole = skims._skim_whole(message)
            assert (quick.kind, quick.said) == (whole.kind, whole.said), wrong
            assert trait_of(raw) == traits_of(message, deque()), wrong


def count_whole_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Indices of the messages that are decoded in full from here on."""
    calls: list[int] = []

    def counted(raw: Raw, index: int) -> Message:
        calls.append(index)
        return read_message(raw, index)

    monkeypatch.setattr(opencode, "read_message", counted)
    monkeypatch.setattr(skims, "read_message", counted)
    return calls


def test_one_message_of_two_thousand_is_all_that_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_whole_reads(monkeypatch)
    turns = [user("go"), *(assistant(STEP_START, f"{k}", tool(), step_finish()) for k in range(1, 2_000))]
    session = opened(tmp_path, export(*turns))
    assert calls == []
    assert session.message(1_234).blocks[0] == Text(at="parts[1]", text="1234")
    assert len(session.skims) == len(session.positions) == len(session) == 2_000
    assert session.message(1_234) is session.message(1_234)
    assert calls == [1_234]


def test_skimming_decodes_whole_only_what_no_version_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_whole_reads(monkeypatch)
    session = opened(tmp_path, export(user("go"), assistant("x", time={"created": "yesterday"}), assistant("y")))
    assert [skim.created for skim in session.skims] == [BEGIN, None, BEGIN + 120_000]
    assert calls == [1]


@needs_recordings
@pytest.mark.parametrize("path", [pytest.param(p, id=p.name) for p in sorted(RECORDED.glob("gen*.json"))])
def test_skimming_a_real_export_decodes_no_message_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_whole_reads(monkeypatch)
    assert len(open_session(str(path)).skims) > 1
    assert calls == []


# --- JSON that strict parsers refuse -------------------------------------------------------------------------------

BIG = "9" * 5000


def raw_session(raw: str | bytes) -> bytes:
    """A session of two messages with `raw` for a value in the tool input of the second, as it stands in the JSON."""
    whole = json.dumps(export(user("go"), assistant("x", tool(input={"n": "@@"}), "y"))).encode()
    return whole.replace(b'"@@"', raw if isinstance(raw, bytes) else raw.encode())


def read_input(folder: Path, raw: str | bytes) -> tuple[Any, tuple[str, ...]]:
    session = open_session(write(folder, raw_session(raw)))
    message = read_whole(session)[1]
    said, called, last = message.blocks
    assert isinstance(called, ToolCall)
    assert (said, last) == (Text(at="parts[0]", text="x"), Text(at="parts[2]", text="y"))
    return called.input["n"], message.oddities


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(BIG, BIG, id="5,000 digits"),
        pytest.param(f"-{BIG}", f"-{BIG}", id="5,000 digits below zero"),
        pytest.param(f"[{BIG}, 7, -1.5]", [BIG, 7, -1.5], id="beside numbers of sane size"),
        pytest.param("1e999", "1e999", id="more than a float holds"),
        pytest.param("123456789012345678901234567890", 123456789012345678901234567890, id="thirty digits are a number"),
        pytest.param('"a\\u0000b"', "a␀b", id="an escaped NUL"),
        pytest.param('"NaN"', "NaN", id="the word NaN"),
        pytest.param("NaN", None, id="NaN"),
    ],
)
def test_a_number_is_read_or_its_digits_are_kept(tmp_path: Path, raw: str, expected: Any) -> None:
    assert read_input(tmp_path, raw) == (expected, ())


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=".".join(map(str, path))) for path in places(export(user("go"), assistant("x", tool(), error={"name": "e", "data": {}}))) if path != ("messages",)],
)  # fmt: skip
def test_five_thousand_digits_may_stand_in_any_field(tmp_path: Path, path: tuple[str | int, ...]) -> None:
    document = put(export(user("go"), assistant("x", tool(), error={"name": "e", "data": {}})), path, "@@")
    session = open_session(write(tmp_path, json.dumps(document).replace('"@@"', BIG)))
    assert len(read_whole(session)) == 2
    assert not any("@" in skim.id for skim in session.skims)


@pytest.mark.parametrize(
    ("raw", "expected", "bad"),
    [
        (b'"caf\xe9"', "caf\ufffd", 1),
        (b'"\x93a\x94 \xe2\x80\x93"', "\ufffda\ufffd –", 2),
        (b'"\xed\xa0\xbd"', "\ufffd\ufffd\ufffd", 3),
        ('"\ufffd"'.encode() + b',"m":"\xe9"', "\ufffd", 1),
        (b'"\xe9","m":' + BIG.encode(), "\ufffd", 1),
        (b'"\xe9","m":1e999', "\ufffd", 1),
    ],
    ids=[
        "Latin-1",
        "CP1252 quotes",
        "a surrogate as UTF-8",
        "beside a real U+FFFD",
        "beside 5,000 digits",
        "beside 1e999",
    ],
)
def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path: Path, raw: bytes, expected: str, bad: int) -> None:
    assert read_input(tmp_path, raw) == (expected, (f"{bad} byte(s) that are not UTF-8, read as U+FFFD",))


@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
@pytest.mark.parametrize("depth", [90, 150, 700, 930, 950, 970, 990, 2_000])
def test_nesting_is_read_or_marked_or_refused_and_never_fatal(tmp_path: Path, depth: int, opening: str) -> None:
    path = write(tmp_path, raw_session(opening * depth + "1" + ("]" if opening == "[" else "}") * depth))
    try:
        messages = read_whole(open_session(path))
    except SessionError as error:
        refused, messages = str(error), []
    else:
        refused = ""
    if depth > 900 and refused:  # where exactly the end is depends on the stack and on the version of Python
        assert refused == "session.json: nested too deeply to read"
        return
    assert refused == ""
    assert [message.index for message in messages] == [0, 1]
    assert messages[1].oddities == (() if depth < 100 else ("JSON nested too deeply to read",))
    if depth == 150:
        assert "[nested too deeply]" in str(messages[1].blocks[1])


def test_a_message_that_is_too_deep_for_the_stack_of_its_caller_is_marked(tmp_path: Path) -> None:
    depth = 700
    session = open_session(write(tmp_path, raw_session("[" * depth + "]" * depth)))

    def from_below(frames: int) -> Message:
        return from_below(frames - 1) if frames else session.message(1)

    message = from_below(300)
    assert message.index == 1
    assert message.oddities == ("JSON nested too deeply to read",)


# --- any bytes -----------------------------------------------------------------------------------------------------


def small_export() -> bytes:
    turns = (user("go “on” 🙂"), assistant(STEP_START, "ok\n", tool(metadata={"exit": 1}), step_finish(), cost=0.25))
    return (json.dumps(export(*turns), indent=2, ensure_ascii=False) + "\n").encode()


def from_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> Session:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return open_session("-")


def test_an_export_cut_at_any_byte_is_an_error_or_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small_export()
    for cut in range(1, len(whole) - 1):
        with pytest.raises(
            SessionError, match=rf"^stdin: the file ends .*, at byte {cut}; write it with `opencode export ID > file`$"
        ):
            from_stdin(monkeypatch, whole[:cut])
    for data in (whole[:-1], whole):
        assert len(read_whole(from_stdin(monkeypatch, data))) == 2


def test_the_file_its_gzip_and_standard_input_are_the_same_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = small_export()
    sessions = [
        open_session(write(tmp_path, data)),
        open_session(write(tmp_path, gzip.compress(data), "s.json.gz")),
        from_stdin(monkeypatch, data),
        from_stdin(monkeypatch, gzip.compress(data)),
        open_session(write(tmp_path, f"Exporting session: {SESSION_ID}".encode() + data, "glued.json")),
    ]
    assert len({session.sha256 for session in sessions}) == 1
    assert all(read_whole(session) == read_whole(sessions[0]) for session in sessions)


JUNK = [
    *(b"\x00", b'"', b"\\", b"{", b"}", b"[", b"]", b"null", b"NaN", b"-Infinity", b"1e999", b"-", b",", b":", b"\n"),
    *(
        b"\\ud83d",
        b"\\ude00",
        b"\\u0000",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x1f\x8b",
        b"\x1b[31m",
    ),
    *(b"[" * 300, b"[" * 2_000, BIG.encode(), b"[]", b"{}", b'"x"', b"true", b'"info":', b'"messages":', b'"parts":'),
    *(b"\nses_ab{", b'\n{"messages":[{"info":{}}]}\n', b'{"a":' * 950 + b"1" + b"}" * 950),
]
VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\[\]|\{\}')


def mutate(data: bytes, chance: random.Random) -> bytes:
    """`data` with a few things wrong: bytes flipped, cut out, repeated, and values replaced by others."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = at + chance.choice((1, 2, 9, 80))
        values = list(VALUE.finditer(data))
        match chance.randrange(7):
            case 0:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + chance.choice(JUNK) + data[at:]
            case 3:
                data = data[:end] + data[at:]
            case _ if values:
                value = chance.choice(values)
                data = data[: value.start()] + chance.choice(JUNK) + data[value.end() :]
            case _:
                data += chance.choice(JUNK)
    return data


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_are_a_session_or_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    bases = [small_export(), json.dumps(export(user("go"), assistant("ok", tool()))["messages"]).encode()]
    outcomes = {True: 0, False: 0}
    for _ in range(1_000):
        data = mutate(chance.choice(bases), chance)
        try:
            said, places_read = "", [message.index for message in read_whole(from_stdin(monkeypatch, data))]
        except SessionError as error:
            said, places_read = str(error), []
        assert "\n" not in said, data
        assert places_read == list(range(len(places_read))), data
        outcomes[said == ""] += 1
    assert min(outcomes.values()) > 50, outcomes


# --- nothing unsafe, nothing secret --------------------------------------------------------------------------------

ACTING = "\x1b[31m\x07\x9b1m\u202e\x00"
TOKEN = "ghp_" + "aB3dE6gH9j" * 4
HOSTILE = ACTING + TOKEN


def hostile_export() -> dict[str, Any]:
    """An export with something that acts and a secret in every string a person or a tool could have chosen."""
    metadata = {"sessionId": HOSTILE}
    arguments = {HOSTILE: HOSTILE, "list": [HOSTILE]}
    answer = assistant(
        reasoning(HOSTILE),
        tool("task", input=arguments, output=HOSTILE, metadata=metadata),
        tool(HOSTILE, status="error", input=arguments, error=HOSTILE),
        tool(output=f"<bash_metadata>exceeding timeout {HOSTILE}</bash_metadata>", metadata={}),
        {"type": "file", "filename": HOSTILE, "mime": HOSTILE},
        {"type": "subtask", "description": HOSTILE},
        {"type": "retry", "error": {"data": {"message": HOSTILE}}},
        parentID=HOSTILE,
        providerID=HOSTILE,
        agent=HOSTILE,
        finish=HOSTILE,
        error={"name": HOSTILE, "data": {"message": HOSTILE}},
    )
    asked = user(HOSTILE, {"type": "agent", "name": HOSTILE}, {"type": HOSTILE}, id=HOSTILE)
    about = {"title": HOSTILE, "version": HOSTILE, "directory": HOSTILE, "parentID": HOSTILE}
    document = export(asked, answer, id=HOSTILE, revert={"messageID": HOSTILE}, **about)
    return {**document, "subagents": [{"info": {"id": HOSTILE}}]}


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, keys included."""
    match value:
        case str():
            yield value
        case dict():
            yield from strings([*value, *value.values()])
        case list() | tuple():
            for item in value:
                yield from strings(item)
        case Skims():
            yield from strings(list(value))
        case Struct():
            yield from strings([getattr(value, name) for name in value.__struct_fields__])
        case _:
            assert value is None or isinstance(value, int | float)


def all_that_is_said(session: Session) -> str:
    return "\n".join(
        strings([session.about, session.notices, session.skims, read_whole(session), dict(session.positions)])
    )


ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def test_nothing_a_session_says_acts_or_is_secret(tmp_path: Path) -> None:
    path = write(tmp_path, HOSTILE + "\n" + json.dumps(hostile_export()))
    said = all_that_is_said(open_session(path))
    assert said.count("«secret:github-token:") > 30
    assert TOKEN not in said
    assert ACTS.search(said) is None


def test_only_masking_can_be_switched_off(tmp_path: Path) -> None:
    session = opened(tmp_path, hostile_export(), redact=False)
    said = all_that_is_said(session)
    assert TOKEN in said
    assert "«secret:" not in said
    assert ACTS.search(said) is None
    assert session.redacted() == {}


def test_a_hostile_id_is_the_same_word_wherever_it_stands(tmp_path: Path) -> None:
    session = opened(tmp_path, hostile_export())
    asked, answer = read_whole(session)
    assert asked.id == answer.parent == session.skims[0].id == session.about.revert
    assert session.skims[1].parent == 0
    assert session.positions[asked.id] == 0
    assert session.skims[1].model == answer.model


def test_secrets_are_counted_once_each(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user(f"{TOKEN} and {TOKEN}"), assistant("x", tool(input={"key": TOKEN}))))
    assert session.redacted() == {}
    read_whole(session)
    assert session.redacted() == {"github-token": 1}


def test_an_input_that_is_text_is_masked_as_text(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("go"), assistant(tool(input=f"key {TOKEN}"))))
    (found,) = session.message(1).blocks
    assert isinstance(found, ToolCall)
    assert re.fullmatch("key «secret:github-token:[0-9]+»", found.input)


def test_a_mask_that_breaks_the_json_of_an_input_leaves_it_as_text(tmp_path: Path) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA" * 4
    session = opened(tmp_path, export(user("go"), assistant(tool(input={"a": key, "A" * 32: 1}))))
    (found,) = session.message(1).blocks
    assert isinstance(found, ToolCall)
    assert re.fullmatch(r'\{"a": "«secret:private-key:\d+»": 1\}', found.input)


# --- other documents -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param({"info": {}, "messages": []}, "the session has no messages", id="no messages"),
        pytest.param({"info": {"id": "ses_1"}, "messages": [{"id": "msg_1", "type": "user", "text": "hi", "time": {}}]}, "an export of opencode v2 (2.x); this version reads v1 (up to 1.18) and not yet v2", id="opencode v2"),
        pytest.param({"messages": [{"role": "user", "content": "hi"}]}, "a list of chat messages, which this version does not read; it reads opencode", id="OpenAI chat"),
        pytest.param({"info": {}, "messages": [{"role": "system", "content": "hi"}], "trajectory_format": "mini-swe-agent-1.1"}, "a mini-swe-agent trajectory, which this version does not read; it reads opencode", id="mini-swe-agent"),
        pytest.param({"sessionId": "x", "projectHash": "y", "messages": [{"type": "user", "content": "hi"}]}, "a Gemini CLI session, which this version does not read; it reads opencode", id="Gemini CLI"),
        pytest.param({"messages": [{"a": 1, "b": 2}]}, "messages of no format this version reads (opencode); keys of the first: a, b", id="nobody's"),
        pytest.param({"messages": []}, "messages of no format this version reads (opencode); keys of the first: none", id="an empty list of nobody's"),
        pytest.param({"messages": [None]}, "messages of no format this version reads (opencode); keys of the first: none", id="nothing at all"),
        pytest.param({"messages": None}, "`messages` at the top level is not a list", id="messages null"),
        pytest.param([], "a JSON list without messages", id="an empty list"),
    ],
)  # fmt: skip
def test_a_document_of_another_kind_is_refused_by_its_name(tmp_path: Path, document: Any, said: str) -> None:
    assert refusal(tmp_path, document) == said


@needs_recordings
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("opencode/synthetic_v2_from_schema.json", "an export of opencode v2"),
        ("opencode/gen_1.18.33_run_format_json.events.jsonl", "an event stream of `opencode run`"),
        ("opencode/gen_1.1.65_storage.tar.gz", "this is a tar archive"),
        ("opencode/gen_1.18.33_opencode.db", "this is an SQLite database"),
        ("atif/*.json", "an ATIF trajectory"),
        ("codex/*.jsonl", "a Codex rollout"),
        ("gemini-cli/*", "a Gemini CLI session"),
        ("inspect/*.json", "an Inspect log"),
        ("inspect/*.eval", "this is a ZIP archive"),
        ("swe-agent/*.traj", "a SWE-agent trajectory"),
        ("claude-code/*/*.jsonl", "a Claude Code session"),
    ],
)
def test_recordings_of_other_tools_are_called_by_their_names(path: str, said: str) -> None:
    found = sorted((SHARED / "sessions").glob(path))
    assert found
    for one in found:
        with pytest.raises(SessionError) as caught:
            open_session(str(one))
        assert str(caught.value).startswith(f"{one.name}: {said}"), one


# --- official builds -----------------------------------------------------------------------------------------------


@needs_recordings
@pytest.mark.parametrize(
    ("name", "count", "notices"),
    [
        ("gen_1.1.65_scenarioA.json", 16, 0),
        ("gen_1.1.65_scenarioA.2and1_glued.txt", 16, 1),
        ("gen_1.18.33_scenarioA.json", 16, 0),
        ("gen_1.18.33_scenarioA.2and1.txt", 16, 1),
        ("gen_1.18.33_scenarioA.sanitized.json", 16, 1),
        ("gen_1.18.33_scenarioA.subagent.json", 3, 0),
        ("gen_1.18.33_scenarioB_abort_compaction.json", 21, 0),
        ("gen_1.18.33_scenarioC_dropped_stream.json", 10, 0),
        ("gen_1.18.33_scenarioD_killed.json", 3, 0),
        ("synthetic_migration_banner_prefix.txt", 16, 1),
    ],
)
def test_what_official_builds_wrote_is_read_without_an_oddity(name: str, count: int, notices: int) -> None:
    session = open_session(str(RECORDED / name))
    messages = read_whole(session)
    assert (len(messages), len(session.notices)) == (count, notices)
    assert {oddity for message in messages for oddity in message.oddities} == set()


@needs_recordings
def test_the_two_ways_of_catching_an_export_hold_the_same_session() -> None:
    for plain, caught in (("1.1.65_scenarioA.json", "1.1.65_scenarioA.2and1_glued.txt"), ("1.18.33_scenarioA.json", "1.18.33_scenarioA.2and1.txt")):  # fmt: skip
        one, other = (open_session(str(RECORDED / f"gen_{name}")) for name in (plain, caught))
        assert read_whole(one) == read_whole(other)
        assert one.sha256 == other.sha256


@needs_recordings
def test_a_child_session_knows_its_parent_and_the_parent_its_child() -> None:
    parent = open_session(str(RECORDED / "gen_1.18.33_scenarioA.json"))
    child = open_session(str(RECORDED / "gen_1.18.33_scenarioA.subagent.json"))
    delegated = {b.child for m in read_whole(parent) for b in m.blocks if isinstance(b, ToolCall) and b.child}
    assert delegated == {child.about.id}
    assert child.about.parent == parent.about.id


@needs_recordings
def test_the_numbers_are_those_that_jq_shows() -> None:
    path = RECORDED / "gen_1.18.33_scenarioB_abort_compaction.json"
    stored = json.loads(path.read_bytes())["messages"]
    assert [(m.index, m.id, m.role) for m in read_whole(open_session(str(path)))] == [
        (place, entry["info"]["id"], entry["info"]["role"]) for place, entry in enumerate(stored)
    ]


def test_the_example_in_the_repository_is_read_whole() -> None:
    if not EXAMPLE.is_file():
        pytest.skip("examples/glm5-144.json is not there")
    session = open_session(str(EXAMPLE))
    stored = json.loads(EXAMPLE.read_bytes())["messages"]
    assert [message.id for message in read_whole(session)] == [entry["info"]["id"] for entry in stored]
    assert {oddity for message in read_whole(session) for oddity in message.oddities} == set()


def test_reading_a_large_session_takes_no_time_worth_naming(tmp_path: Path) -> None:
    """Held loosely, since machines differ: a message of a 20 MB session costs less than parsing the session."""
    padding = [assistant("x" * 9_000, *(tool(output="y" * 300) for _ in range(3))) for _ in range(2_000)]
    path = write(tmp_path, export(user("go"), *padding))
    begun = time.process_time()
    json.loads(Path(path).read_bytes())
    parsed = time.process_time() - begun
    begun = time.process_time()
    session = open_session(path)
    assert session.message(1_999).index == session.skims[1_999].index
    assert time.process_time() - begun < 2 * parsed
