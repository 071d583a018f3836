"""What a message does, on one line: what comes first, whose words are whose, and where it is cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, EXAMPLE, assistant, export, reasoning, text, tool, user

from narrator.findings import diagnose
from narrator.formats import open_session
from narrator.gist import GIST, Gist, take_gist
from narrator.session import Message, Text, ToolCall, essence

ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
OVERLOADED = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
MARK = {"type": "compaction", "auto": True}
FILE = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"}
HARNESS = text("Continue if you have next steps", synthetic=True)


def gist_of(folder: Path, *messages: dict[str, Any], **info: Any) -> str:
    """The gist of a session's last message, as a list without a terminal has it."""
    session = opened(folder, export(*messages, **info))
    last = len(session) - 1
    kinds = [finding.kind for finding in diagnose(session, last)]
    return take_gist(session.peek(last), kinds, session.about.directory).within(GIST)


def called(*calls: dict[str, Any], **info: Any) -> dict[str, Any]:
    return assistant(reasoning("I look."), *calls, **info)


@pytest.mark.parametrize(
    ("message", "gist"),
    [
        pytest.param(user("Fix the test. Then run it."), "Fix the test. Then run it.", id="what was typed, all of it"),
        pytest.param(user('"continue"'), "continue", id="without the quotation marks of `opencode run`"),
        pytest.param(user("a\n\n\tb"), "a b", id="on one line"),
        pytest.param(user("Fix it", HARNESS), "Fix it", id="typed text comes before the harness's"),
        pytest.param(user(HARNESS), "[synthetic] Continue if you have next steps", id="what nobody typed"),
        pytest.param(user(FILE), "[attached file] a.png", id="a file and no text"),
        pytest.param(user(FILE, FILE), "[2 attached files] a.png, a.png", id="several files"),
        pytest.param(user("See this", FILE), "See this", id="a text with a file"),
        pytest.param(user(MARK), "[compaction request, automatic]", id="a request for a summary"),
        pytest.param(user(MARK | {"auto": False}), "[compaction request, manual]", id="one that the user made"),
        pytest.param(user(), "[empty]", id="a turn without parts"),
        pytest.param(user(" \n"), "[empty]", id="a turn of white space"),
        pytest.param(
            user({"type": "subtask", "prompt": "p", "description": "look for it"}),
            "[mark] “subtask: look for it”",
            id="a part that is neither",
        ),
        pytest.param(
            assistant("It fails because of the order. I sort."), "It fails because of the order.", id="a text"
        ),
        pytest.param(
            assistant(reasoning("hm"), "It fails.", tool()), "It fails.", id="a text before calls and thoughts"
        ),
        pytest.param(called(tool(input={"command": "pytest -q"})), "bash: pytest -q", id="a call before thoughts"),
        pytest.param(
            called(tool(input={"command": "pytest -q"}, metadata={"exit": 1})),
            "bash: pytest -q → exit 1",
            id="a command that failed",
        ),
        pytest.param(called(tool(status="error", error="no")), "bash: ls → error", id="a call that failed"),
        pytest.param(called(tool(status="running")), "bash: ls → no end", id="a call without an end"),
        pytest.param(
            called(tool(status="error", error="Tool execution aborted")), "bash: ls → interrupted", id="a stopped call"
        ),
        pytest.param(
            called(tool(status="error", input={}, error="The bash tool was called with invalid arguments: x")),
            "bash: [no arguments] → refused",
            id="a refused call",
        ),
        pytest.param(called(tool("edit", input={"filePath": "src/a.py"})), "edit: src/a.py", id="a file"),
        pytest.param(
            called(tool("edit", input={"filePath": "/home/me/work/src/a.py"})), "edit: src/a.py", id="below the folder"
        ),
        pytest.param(
            called(tool("edit", input={"filePath": "/home/me/works/a.py"})),
            "edit: /home/me/works/a.py",
            id="not below the folder",
        ),
        pytest.param(
            called(tool("todowrite", input={"todos": [{"id": 1, "content": "sort"}]})),
            "todowrite: sort",
            id="the first text of other arguments",
        ),
        pytest.param(called(tool("now", input={"utc": True})), "now", id="arguments without a text"),
        pytest.param(called(tool("now", input="utc")), "now: utc", id="arguments that are a text"),
        pytest.param(called(tool(input={"command": "a\n  b"})), "bash: a b", id="a command of two lines"),
        pytest.param(
            called(tool(), tool("read"), tool("grep")), "3 calls: bash, read, grep", id="several calls by their names"
        ),
        pytest.param(
            called(tool(), tool(metadata={"exit": 2}), tool("read", status="error")),
            "3 calls: bash ×2, read → 1 exit 2; 1 error",
            id="several calls, some of which failed",
        ),
        pytest.param(
            assistant(reasoning("I think. Then more.")), "[reasoning] I think. Then more.", id="thoughts only"
        ),
        pytest.param(
            assistant(reasoning(""), tokens={"input": 1, "output": 1, "reasoning": 64}),
            "[reasoning, its text not recorded]",
            id="encrypted thoughts",
        ),
        pytest.param(assistant(), "[empty]", id="an answer without parts"),
        pytest.param(
            assistant(error=ABORTED, finish=None),
            "[aborted, empty] “MessageAbortedError: The operation was aborted.”",
            id="an aborted answer without parts",
        ),
        pytest.param(assistant("I will", error=ABORTED), "[aborted] I will", id="an aborted answer with a text"),
        pytest.param(
            called(tool(status="error", error="Tool execution aborted"), error=ABORTED),
            "[aborted] bash: ls → interrupted",
            id="an aborted answer with a call",
        ),
        pytest.param(
            assistant(error=OVERLOADED, finish=None), "[error, empty] “APIError: overloaded”", id="an endpoint's error"
        ),
        pytest.param(
            assistant(finish=None, time={"created": BEGIN}), "[unfinished, empty]", id="an answer without an end"
        ),
        pytest.param(assistant("a", finish="length"), "[cut off] a", id="an answer that was cut off"),
        pytest.param(
            assistant("## Goal\n\nFix the test.", summary=True),
            "[compaction summary] ## Goal Fix the test.",
            id="a summary",
        ),
        pytest.param(assistant(summary=True), "[compaction summary, empty]", id="the place of a summary"),
    ],
)
def test_a_gist_says_what_the_message_does(message: dict[str, Any], gist: str, tmp_path: Path) -> None:
    assert gist_of(tmp_path, user("Go"), message, directory="/home/me/work") == gist


@pytest.mark.parametrize(
    ("words", "gist"),
    [
        pytest.param("[empty]", "“[empty]”", id="a state"),
        pytest.param("[aborted] bash: ls", "“[aborted] bash: ls”", id="a state and a call"),
        pytest.param("bash: ls", "“bash: ls”", id="a call"),
        pytest.param("3 calls: bash, read, grep", "“3 calls: bash, read, grep”", id="several calls"),
        pytest.param("It ended → exit 1", "“It ended → exit 1”", id="an outcome"),
        pytest.param("It is done.  [aborted]", "“It is done. [aborted]”", id="marks"),
        pytest.param("[a” → exit 1", '“[a" → exit 1”', id="the end of the quotation"),
        pytest.param(
            "［aborted］ bash꞉ ls ⟶ exit 1", "“［aborted］ bash꞉ ls ⟶ exit 1”", id="signs that look like ours"
        ),
        pytest.param("See [1] there", "See [1] there", id="not a bracket inside"),
        pytest.param("a -> b", "a -> b", id="not another arrow"),
        pytest.param("So: it works", "“So: it works”", id="any word with a colon, which may be a tool's name"),
        pytest.param("So it is: good", "So it is: good", id="not a colon after several words"),
        pytest.param("13:02 is when", "13:02 is when", id="not a colon inside a word"),
    ],
)
def test_recorded_words_cannot_pass_for_the_products(words: str, gist: str, tmp_path: Path) -> None:
    assert gist_of(tmp_path, user("Go"), assistant(words)) == gist
    assert gist_of(tmp_path, user(words)) == gist


@pytest.mark.parametrize(
    ("call", "gist"),
    [
        pytest.param(tool(input={"command": "ls # → exit 0"}), "bash: “ls # → exit 0”", id="an outcome in a command"),
        pytest.param(
            tool(input={"command": "ls # → exit 0"}, metadata={"exit": 2}),
            "bash: “ls # → exit 0” → exit 2",
            id="beside the true one",
        ),
        pytest.param(tool(input={"command": "[no arguments]"}), "bash: “[no arguments]”", id="a state for a command"),
        pytest.param(tool("a: b [aborted]"), "“a: b [aborted]”: ls", id="a name that is more than a name"),
        pytest.param(tool("a” b"), '“a" b”: ls', id="a name that ends the quotation"),
        pytest.param(tool("mcp/a.b-c_d"), "mcp/a.b-c_d: ls", id="not a name with a path"),
        pytest.param(tool("読む"), "読む: ls", id="not a name in another script"),
    ],
)
def test_nor_can_those_of_a_call(call: dict[str, Any], gist: str, tmp_path: Path) -> None:
    assert gist_of(tmp_path, user("Go"), assistant(call)) == gist


@pytest.mark.parametrize(
    ("said", "gist"),
    [
        pytest.param("The test compares lists. I sort them.", "The test compares lists.", id="up to the full stop"),
        pytest.param("Good. Let me sort them. Then I run it.", "Good. Let me sort them.", id="more while it is short"),
        pytest.param(
            "I use a tool here, e.g. pytest. Then I go.", "I use a tool here, e.g. pytest.", id="no end in e.g."
        ),
        pytest.param(
            "Now it is at version 1.2.3 again. Good.", "Now it is at version 1.2.3 again.", id="no end in 1.2"
        ),
        pytest.param(
            "Here is where we are now:\n1. It\n2. runs",
            "Here is where we are now: 1. It 2. runs",
            id="no end in a list",
        ),
        pytest.param("The result of the whole run\n\nIt works. Yes.", "The result of the whole run", id="a paragraph"),
        pytest.param(
            "# The result of the whole run\n\nIt works. Yes.",
            "# The result of the whole run It works.",
            id="a heading goes on",
        ),
        pytest.param(
            "その順序は保証されていませんので、ここで並べ替えます。次に実行。",
            "その順序は保証されていませんので、ここで並べ替えます。",
            id="the full stop of another script",
        ),
        pytest.param(
            'He said "it is all sorted now." Then he left.', 'He said "it is all sorted now."', id="a quotation with it"
        ),
        pytest.param("one two three four five six", "one two three four five six", id="no end at all"),
    ],
)
def test_of_an_answer_it_is_the_first_sentence(said: str, gist: str, tmp_path: Path) -> None:
    assert gist_of(tmp_path, user("Go"), assistant(said)) == gist


@pytest.mark.parametrize(
    ("gist", "limit", "line"),
    [
        pytest.param(Gist("", "one two three"), 13, "one two three", id="it fits"),
        pytest.param(Gist("", "one two three"), 9, "one two…", id="it does not"),
        pytest.param(
            Gist("bash: ", "one two three", " → exit 1"), 24, "bash: one two… → exit 1", id="the outcome stays"
        ),
        pytest.param(Gist("[aborted] ", "one two three"), 16, "[aborted] one t…", id="the state stays"),
        pytest.param(Gist("", "[one] two three", "", quoted=True), 10, "“[one] t…”", id="the quotation stays closed"),
        pytest.param(Gist("[compaction summary, empty] ", ""), 12, "[compaction…", id="until it is too long itself"),
        pytest.param(Gist("", "one"), 1, "…", id="one place"),
    ],
)
def test_a_gist_is_cut_in_its_recorded_words(gist: Gist, limit: int, line: str) -> None:
    assert gist.within(limit) == line


def test_no_gist_is_longer_than_it_may_be() -> None:
    session = open_session(str(EXAMPLE))
    for index in range(len(session)):
        gist = take_gist(session.peek(index), [found.kind for found in diagnose(session, index)])
        assert all(0 < len(gist.within(limit)) <= limit for limit in (1, 7, 40, GIST))


def test_a_gist_does_not_read_all_of_a_long_text(tmp_path: Path) -> None:
    heads = gist_of(tmp_path, user("Go"), assistant("\n" * 4_000 + "! \n" * 200_000))
    assert len(heads) <= GIST


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        pytest.param([reasoning("a"), text("b"), tool(output="long")], ["Text"], id="a text"),
        pytest.param([text("b"), text("c"), tool()], ["Text", "Text"], id="two texts"),
        pytest.param([reasoning("a"), text(" "), tool()], ["Reasoning", "Text", "ToolCall"], id="a blank text"),
        pytest.param([reasoning("a")], ["Reasoning"], id="thoughts"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_a_look_keeps_what_a_message_says_first(parts: list[dict[str, Any]], kept: list[str], tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("Go"), assistant(*parts)))
    assert [type(block).__name__ for block in session.peek(1).blocks] == kept
    whole = session.message(1)
    assert session.peek(1) == essence(whole)
    kinds = [finding.kind for finding in diagnose(session, 1)]
    assert take_gist(session.peek(1), kinds) == take_gist(whole, kinds)


def test_a_look_leaves_out_what_calls_returned_and_cleans_the_rest(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = opened(
        tmp_path,
        export(
            user(f"\x1b[31mtoken {secret}"),
            assistant(tool(input={"command": f"echo {secret}"}, output="long"), tool(status="error", error="no")),
        ),
    )
    assert session.peek(1) == essence(session.message(1))
    calls = [block for block in session.peek(1).blocks if isinstance(block, ToolCall)]
    assert [(call.output, call.error) for call in calls] == [(None, None)] * 2
    assert session.peek(0) == session.message(0)
    assert secret not in repr((session.peek(0), session.peek(1)))
    assert re.search("«secret:github-token:[0-9]+»", repr(session.peek(1)))


def test_a_message_of_a_tool_or_a_system_is_told_like_an_answer() -> None:
    words = (Text(at="content", text="Use uv. Never pip, whatever the user says. More."),)
    message = Message(index=0, id="a", role="system", blocks=words)
    assert take_gist(message, ()).within(GIST) == "Use uv. Never pip, whatever the user says."
