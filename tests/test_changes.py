"""What was changed in files: at which line, by how many lines, and what stands round it; how it is shown and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, assistant, export, text, tool, user
from stage import failed

from narrator.changes import Change, facts_of, find_places, lines_round, tell_change
from narrator.context import take_context
from narrator.excerpt import Excerpt, take_excerpt
from narrator.session import ToolCall
from narrator.verify import evidence_of_session, verify_essay

HEAD = "Index: /w/a.py\n===\n--- /w/a.py\n+++ /w/a.py\n"
ONE = f"{HEAD}@@ -81,5 +81,5 @@\n def f():\n     one\n-    old\n+    new\n     two\n     three\n"
TWO = f"{ONE}@@ -120,2 +120,4 @@\n x\n+y\n+z\n w\n"


@pytest.mark.parametrize(
    ("diff", "places"),
    [
        pytest.param(ONE, [(83, 1, 1)], id="a line replaced"),
        pytest.param(TWO, [(83, 1, 1), (121, 2, 0)], id="two hunks"),
        pytest.param("@@ -5,4 +5,3 @@\n a\n-b\n c\n d", [(6, 0, 1)], id="a line deleted"),
        pytest.param("@@ -5,3 +5,5 @@\n+a\n b\n+c\n d\n", [(5, 1, 0), (7, 1, 0)], id="two places in a hunk"),
        pytest.param("@@ -0,0 +1,1 @@\n+hi\n\\ No newline at end of file\n", [(1, 1, 0)], id="a new file"),
        pytest.param("@@ -7 +7 @@\n-a\n+b", [(7, 1, 1)], id="counts left out of the header"),
        pytest.param("@@ -1,2 +1,2 @@\n--- a\n+++ b\n", [(1, 1, 1)], id="changed lines that look like a head"),
        pytest.param(f"{ONE}{HEAD}", [(83, 1, 1)], id="the head of another file ends a hunk"),
        pytest.param(f"{HEAD}+a\n+b\n", [], id="no hunk"),
        pytest.param("@@ -x +y @@\n+a", [], id="a header without numbers"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_where_a_diff_changes_a_file(diff: str, places: list[tuple[int, int, int]]) -> None:
    assert [(place.line, place.added, place.removed) for place in find_places(diff)] == places


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(Change(file="a", diff=ONE), "change at line 83, +1 -1 lines", id="counted in the diff"),
        pytest.param(
            Change(file="a", diff=ONE, added=2, removed=3), "change at line 83, +2 -3 lines", id="counted by the agent"
        ),
        pytest.param(Change(file="a", diff=TWO), "change at lines 83, 121, +3 -1 lines", id="at two places"),
        pytest.param(
            Change(file="a", diff="".join(f"@@ -{n},1 +{n},1 @@\n-a\n+b\n" for n in range(1, 8))),
            "change at lines 1, 2, 3, 4 and 3 more, +7 -7 lines",
            id="at more places than are listed",
        ),
        pytest.param(Change(file="a", fate="new"), "the file did not exist before", id="a new file"),
        pytest.param(
            Change(file="a", fate="new", added=4, removed=0),
            "the file did not exist before, +4 -0 lines",
            id="a new file with its lines",
        ),
        pytest.param(Change(file="a", added=4), "", id="only one count"),
        pytest.param(Change(file="a"), "", id="nothing but a name"),
    ],
)
def test_a_change_in_words(change: Change, told: str) -> None:
    assert tell_change(change) == told


@pytest.mark.parametrize(
    ("diff", "given", "shown"),
    [
        pytest.param(ONE, "old new", "def f():\n    one\n[…]\n    two\n    three", id="two lines on either side"),
        pytest.param(
            ONE, "def f():\n    one\n    old", "[…]\n    two\n    three", id="without those that the call has"
        ),
        pytest.param(ONE, "def f(): one two three", "", id="the call has all"),
        pytest.param(
            "@@ -1,5 +1,5 @@\n a\n b\n c\n-x\n+y\n \n d\n",
            "",
            "b\nc\n[…]\nd",
            id="no third one, and none that is blank",
        ),
        pytest.param("@@ -1,4 +1,4 @@\n-p\n a\n-x\n+y\n", "", "[…]\na\na\n[…]", id="between two changes"),
        pytest.param(f"@@ -1,2 +1,2 @@\n {'l' * 161}\n-x\n+y\n", "", "", id="a long line"),
        pytest.param("", "", "", id="no diff"),
    ],
)
def test_the_lines_round_a_change(diff: str, given: str, shown: str) -> None:
    assert lines_round(Change(file="a", diff=diff), given) == shown


def test_what_a_checker_is_told() -> None:
    assert list(facts_of(Change(file="a", diff=TWO))) == [
        "line 83",
        "line 121, lines 121 to 122, line 122",
        "3 lines added, added 3 lines, 1 lines removed, deleted 1 lines",
    ]
    assert list(facts_of(Change(file="a", fate="new"))) == []


# ------------------------------------------------------------------------------------------------ as opencode has it


def edited(**metadata: Any) -> dict[str, Any]:
    given = {"filePath": "/w/a.py", "oldString": "old", "newString": "new"}
    return tool("edit", input=given, output="Edit applied.", metadata=metadata)


def patch(*files: Any) -> dict[str, Any]:
    return {"type": "patch", "hash": "f1", "files": list(files)}


CALLS = [
    pytest.param(
        edited(diff=ONE), [Change(file="/w/a.py", diff=ONE, at="parts[0].state.metadata.diff")], id="an edit"
    ),
    pytest.param(
        edited(diff=ONE, filediff={"additions": 1, "deletions": 2.0}),
        [Change(file="/w/a.py", diff=ONE, at="parts[0].state.metadata.diff", added=1, removed=2)],
        id="an edit with counts",
    ),
    pytest.param(
        tool("write", input={"filePath": "/w/n"}, metadata={"exists": False, "filepath": "/w/n"}),
        [Change(file="/w/n", fate="new")],
        id="a new file",
    ),
    pytest.param(
        tool("write", input="odd", metadata={"exists": True, "filepath": "/w/n"}),
        [Change(file="/w/n", fate="existed")],
        id="a file written over",
    ),
    pytest.param(
        tool("apply_patch", metadata={"files": [{"relativePath": "b", "type": "add", "patch": "p", "additions": 3, "deletions": 0}, 7]}),
        [Change(file="b", diff="p", at="parts[0].state.metadata.files[0].patch", added=3, removed=0, fate="new")],
        id="a patch",
    ),
    pytest.param(
        tool("apply_patch", metadata={"files": [{"filePath": "/b", "type": "delete", "diff": "p"}]}),
        [Change(file="/b", diff="p", at="parts[0].state.metadata.files[0].diff", fate="deleted")],
        id="a patch of another version",
    ),
    pytest.param(edited(diff="", exists="no", files={}), [], id="nothing of use"),
    pytest.param(tool(), [], id="a command"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "changes"), CALLS)
def test_what_a_call_changed(part: dict[str, Any], changes: list[Change], tmp_path: Path) -> None:
    [call] = opened(tmp_path, export(user("go"), assistant(part))).message(1).blocks
    assert isinstance(call, ToolCall)
    assert list(call.changes) == changes


SUMMED = {"diffs": [{"file": "a.py", "additions": 3, "deletions": 1}, {"file": "b.py"}, "odd"]}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        pytest.param(assistant(tool(), patch("/w/x", "/w/y", 3)), "files changed in it: /w/x, /w/y", id="by a command"),
        pytest.param(assistant(patch(*"abcde")), "files changed in it: a, b, c and 2 more", id="more than are listed"),
        pytest.param(assistant(edited(diff=ONE), patch("/w/a.py")), "", id="what a call tells already"),
        pytest.param(assistant(edited(diff=ONE), patch("/w/a.py", "/w/b")), "files changed in it: /w/b", id="also another"),
        pytest.param(assistant("x", {"type": "patch", "files": "odd"}), "", id="no list"),
        pytest.param(user("x", summary=SUMMED), "files changed in its turn: a.py (+3 -1 lines), b.py", id="of a turn"),
        pytest.param(user("x", summary={"diffs": []}), "", id="none in a turn"),
        pytest.param(assistant("x", summary=True), "", id="a summary"),
    ],
)  # fmt: skip
def test_files_that_the_record_of_a_message_names(message: dict[str, Any], says: str, tmp_path: Path) -> None:
    states = take_excerpt(opened(tmp_path, export(user("go"), message)), 1).states()
    assert states.partition("files changed")[1:] == (("files changed", says[13:]) if says else ("", ""))


# ------------------------------------------------------------------------------------------------------- as it is shown


def last(folder: Path, *messages: dict[str, Any]) -> Excerpt:
    session = opened(folder, export(user("go"), *messages))
    return take_excerpt(session, len(session) - 1)


def labels(excerpt: Excerpt) -> list[str]:
    return [passage.label for passage in excerpt.passages]


def test_an_edit_is_shown_with_its_line_and_what_stands_round_it(tmp_path: Path) -> None:
    excerpt = last(tmp_path, assistant(edited(diff=ONE)))
    assert labels(excerpt) == ["edit call", "edit output, change at line 83, +1 -1 lines", "edit diff, lines round it"]
    assert excerpt.passages[-1].text == "def f():\n    one\n[…]\n    two\n    three"
    assert (excerpt.passages[-1].kind, excerpt.passages[-1].at) == ("diff", "parts[0].state.metadata.diff")
    assert excerpt.omitted == 0, "what is not shown of a diff stands in the call"


def test_a_written_file_that_did_not_exist(tmp_path: Path) -> None:
    call = tool("write", input={"filePath": "/w/n", "content": "x"}, output="Wrote.", metadata={"exists": False})
    assert labels(last(tmp_path, assistant(call))) == ["write call", "write output, the file did not exist before"]


def test_a_patch_of_several_files_names_them(tmp_path: Path) -> None:
    files = [{"relativePath": f"{name}.py", "type": "update", "patch": ONE} for name in "abcdef"]
    call = tool("apply_patch", input={"patchText": "def f(): one two three"}, output="Done.", metadata={"files": files})
    assert labels(last(tmp_path, assistant(call))) == [
        "apply_patch call",
        "apply_patch output",
        *(f"apply_patch diff of {name}.py, change at line 83, +1 -1 lines" for name in "abcd"),
        "apply_patch diff, of 2 more files",
    ]


def test_a_change_of_a_call_without_an_output(tmp_path: Path) -> None:
    call = tool("edit", input={"filePath": "/w/a.py"}, output=None, metadata={"diff": ONE})
    assert labels(last(tmp_path, assistant(call)))[1:] == [
        "edit output, none recorded",
        "edit diff, change at line 83, +1 -1 lines, lines round it",
    ]


def test_a_change_of_which_nothing_is_known_is_not_shown(tmp_path: Path) -> None:
    files = [{"relativePath": name, "type": "update"} for name in "ab"]
    call = tool("apply_patch", input={"patchText": "x"}, output="Done.", metadata={"files": files})
    assert labels(last(tmp_path, assistant(call))) == ["apply_patch call", "apply_patch output"]


def test_secrets_and_control_characters_are_masked_in_diffs_and_names(tmp_path: Path) -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    diff = f"@@ -1,2 +1,2 @@\n key = '{token}'\n-\x1b[31mx\n+y\n"
    session = opened(tmp_path, export(user("go"), assistant(edited(diff=diff), patch(f"/w/{token}"))))
    excerpt = take_excerpt(session, 1)
    assert token not in excerpt.text + excerpt.states()
    assert "«secret:github-token:" in excerpt.text
    assert "\x1b" not in str(session.message(1))


@pytest.mark.parametrize(
    ("call", "message", "label"),
    [
        pytest.param((10_000, 15_400), (1_000, 20_000), "bash call, ran 5.4 s", id="less than its message"),
        pytest.param((1_500, 19_500), (1_000, 20_000), "bash call, ran 18.0 s", id="a second less"),
        pytest.param((1_500, 19_600), (1_000, 20_000), "bash call", id="about as long as its message"),
        pytest.param((10_000, 11_900), (1_000, 20_000), "bash call", id="too short to matter"),
        pytest.param((10_000, 15_400), (1_000, None), "bash call, ran 5.4 s", id="a message without an end"),
        pytest.param((10_000, None), (1_000, 20_000), "bash call", id="a call without an end"),
        pytest.param((None, 15_400), (1_000, 20_000), "bash call", id="a call without a beginning"),
    ],
)
def test_how_long_a_call_ran(
    call: tuple[int | None, int | None], message: tuple[int, int | None], label: str, tmp_path: Path
) -> None:
    part = tool(time=timed(("start", "end"), call))
    excerpt = last(tmp_path, assistant(part, time=timed(("created", "completed"), message)))
    assert labels(excerpt)[0] == label


def timed(names: tuple[str, str], times: tuple[int | None, int | None]) -> dict[str, int]:
    return {name: BEGIN + time for name, time in zip(names, times, strict=True) if time is not None}


@pytest.mark.parametrize(
    ("make", "begun", "label"),
    [
        pytest.param(assistant, 8_300, "text, begun 7.3 s after the message", id="well after its message"),
        pytest.param(assistant, 6_999, "text", id="soon"),
        pytest.param(assistant, None, "text", id="no time recorded"),
        pytest.param(user, 8_300, "text", id="the user's"),
    ],
)
def test_when_a_text_began(make: Any, begun: int | None, label: str, tmp_path: Path) -> None:
    times = {} if begun is None else {"time": {"start": BEGIN + begun}}
    excerpt = last(tmp_path, make(text("Hello.", **times), time={"created": BEGIN + 1000, "completed": BEGIN + 9000}))
    assert labels(excerpt) == [label]


def test_a_text_of_a_message_without_a_time(tmp_path: Path) -> None:
    assert labels(last(tmp_path, assistant(text("Hello.", time={"start": BEGIN}), time={}))) == ["text"]


# ----------------------------------------------------------------------------------------------------- as it is checked


@pytest.mark.parametrize(
    ("markdown", "wrong"),
    [
        pytest.param("It changed line 83 of the file [msg 1].", [], id="the line"),
        pytest.param("It put lines 121 to 122 in [msg 1].", [], id="the lines"),
        pytest.param("It added 3 lines [msg 1].", [], id="how many were added"),
        pytest.param("It added three lines [msg 1].", [], id="in letters"),
        pytest.param("It stands under `def f():` [msg 1].", [], id="a line round it"),
        pytest.param("The call ran 5.4 s [msg 1].", [], id="how long it ran"),
        pytest.param("It changed line 183 of the file [msg 1].", ["figure-not-found: 183"], id="another line"),
        pytest.param("It added 9 lines [msg 1].", ["figure-not-found: 9"], id="another count"),
        pytest.param("It took 79.8 s [msg 1].", [], id="a duration, rounded"),
        pytest.param("It took 79.7 s [msg 1].", [], id="a duration, cut off"),
        pytest.param("It took 1 min 19 s [msg 1].", [], id="a duration in minutes, cut off"),
        pytest.param("It took 1 min 20 s [msg 1].", [], id="a duration in minutes, rounded"),
        pytest.param("It took 79.6 s [msg 1].", ["figure-not-found: 79.6 s"], id="another duration"),
        pytest.param("It took 79.9 s [msg 1].", ["figure-not-found: 79.9 s"], id="another duration, above"),
    ],
)
def test_an_essay_may_tell_of_it(markdown: str, wrong: list[str], tmp_path: Path) -> None:
    call = edited(diff=TWO)
    call["state"]["time"] = {"start": BEGIN + 2000, "end": BEGIN + 7400}
    answer = assistant(call, time={"created": BEGIN + 1000, "completed": BEGIN + 80_794})
    session = opened(tmp_path, export(user("go"), answer, user("on")))
    assert failed(verify_essay(markdown, evidence_of_session(session))) == wrong


def test_what_is_counted_is_what_is_printed(tmp_path: Path) -> None:
    session = opened(
        tmp_path, export(user("go", summary=SUMMED), assistant(edited(diff=ONE), patch("/w/z")), user("on"))
    )
    context = take_context(session, 1)
    assert "change at line 83" in context.centre.printed((), "0" * 8)
    assert "files changed in its turn: a.py (+3 -1 lines), b.py" in context.window[0].printed((), "0" * 8)
