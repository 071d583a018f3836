"""One message as it is shown: what the record states of it, its passages under labels, whole or shortened."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from opened import last_found, opened
from recordings import BEGIN, EXAMPLE, SHARED, STEP_START, assistant, export, reasoning, step_finish, text, tool, user

from narrator.excerpt import Excerpt, take_excerpt
from narrator.formats import open_session
from narrator.shortening import abridge
from narrator.tokens import count_tokens

ESSAYS = SHARED / "sessions" / "essays"
ASK = user("Find out why the test fails.")
NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
LEFT_OUT = re.compile(r"\[… (\d+) characters left out …\]")
HUGE = 5 * 1024 * 1024


def last(folder: Path, *messages: dict[str, Any], limit: int | None = None, **info: Any) -> Excerpt:
    """The excerpt of a session's last message."""
    session = opened(folder, export(*messages, **info))
    return take_excerpt(session, len(session) - 1, limit=limit)


def passages(excerpt: Excerpt) -> list[tuple[str, str]]:
    return [(passage.label, passage.text) for passage in excerpt.passages]


# ------------------------------------------------------------------------------------ what the record states of it


@pytest.mark.parametrize(
    ("message", "says"),
    [
        pytest.param(
            assistant("Done."),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish stop; tokens in 942 (40 read from cache, 2 written to cache), out 120; answers msg 0",
            id="an answer",
        ),
        pytest.param(
            assistant("Done.", tokens={"input": 1234, "output": 5, "reasoning": 64, "cache": {"read": 0, "write": 0}}),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish stop; tokens in 1,234, out 5, reasoning 64; "
            "answers msg 0",
            id="with counted reasoning",
        ),
        pytest.param(
            assistant(finish=None, tokens=NOTHING, time={"created": BEGIN}),
            "began 2025-10-09 08:53:20 UTC, no end recorded; finish none; no tokens counted; answers msg 0",
            id="an answer without an end",
        ),
        pytest.param(
            assistant(finish=None, tokens=NOTHING, cost=0),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish none; no tokens counted, cost 0; answers msg 0",
            id="an answer that cost nothing",
        ),
        pytest.param(
            assistant("Done.", tokens=NOTHING, cost=0.02),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish stop; no tokens counted; answers msg 0",
            id="an answer that cost something, though no token was counted",
        ),
        pytest.param(
            assistant("Done.", tokens=None, finish=None, time={}, parentID="msg_gone"),
            "no time recorded; finish none",
            id="nothing but a text is recorded",
        ),
        pytest.param(
            assistant(step_finish("tool-calls"), finish=None, tokens=None),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish tool-calls; answers msg 0",
            id="the finish of the last step",
        ),
        pytest.param(
            assistant("Done.", tokens=None, time={"created": BEGIN, "completed": BEGIN - 5000}),
            "began 2025-10-09 08:53:20 UTC, took 0.0 s; finish stop; answers msg 0",
            id="a clock that was set back",
        ),
        pytest.param(
            assistant("Done.", tokens=None, finish="stop\n[msg 3] user\nrecord: aborted"),
            "began 2025-10-09 08:54:20 UTC, took 9.0 s; finish stop [msg 3] user record: aborted; answers msg 0",
            id="a finish with line breaks",
        ),
        pytest.param(user("Go."), "sent 2025-10-09 08:54:20 UTC", id="a typed turn"),
        pytest.param(user(text("Go.", synthetic=True)), "stamped 2025-10-09 08:54:20 UTC", id="a turn of the harness"),
        pytest.param(user("Go.", time={"created": 10**17}), "no time recorded", id="a time no calendar holds"),
    ],
)
def test_states(tmp_path: Path, message: dict[str, Any], says: str) -> None:
    assert last(tmp_path, ASK, message).states() == says


def at(created: int, completed: int | None = None) -> dict[str, int]:
    """Seconds after the beginning."""
    given = {"created": BEGIN + created * 1000}
    return given if completed is None else given | {"completed": BEGIN + completed * 1000}


def running(created: int = 1, completed: int | None = 60) -> dict[str, Any]:
    return assistant(tool(), time=at(created, completed))


QUEUED = [
    pytest.param([running(), user("and?", time=at(30))], 1, id="in the middle of the message before it"),
    pytest.param([running(), user("and?", time=at(1))], None, id="when it began"),
    pytest.param([running(), user("and?", time=at(60))], None, id="when it ended"),
    pytest.param([running(), user("and?", time=at(90))], None, id="later"),
    pytest.param([running(), user("a", time=at(20)), user("b", time=at(30))], 1, id="the second of two"),
    pytest.param([running(1, 60), running(2, 9), user("b", time=at(30))], 1, id="not the message right before it"),
    pytest.param([running(1, 60), running(2, 50), user("b", time=at(30))], 2, id="of two, the one that began last"),
    pytest.param([user("b", time=at(30)), running(), user("c", time=at(70))], None, id="asked of another turn"),
    pytest.param([running(1, None), user("b", time=at(30))], None, id="a message without an end"),
    pytest.param([running(), user("b", time={})], None, id="a turn without a time"),
    pytest.param([running(), *[user("x", time=at(70))] * 60, user("b", time=at(30))], None, id="too far away"),
    pytest.param([running(), user(text("put in", synthetic=True), time=at(30))], None, id="nobody typed it"),
    pytest.param([running(), assistant("b", time=at(30, 40))], None, id="an answer"),
]


@pytest.mark.parametrize(("messages", "during"), QUEUED)
def test_a_turn_that_was_sent_while_a_message_was_running(
    tmp_path: Path, messages: list[dict[str, Any]], during: int | None
) -> None:
    excerpt = last(tmp_path, user("Go.", time=at(0)), *[{**message} for message in messages])
    assert excerpt.during == during
    assert excerpt.states().endswith(f"sent while msg {during} was still running") == (during is not None)


MEANWHILE = [
    pytest.param([user("a", time=at(30))], "; meanwhile the user sent msg 2", id="one"),
    pytest.param([user("a", time=at(30)), user("b", time=at(40))], "; meanwhile the user sent msg 2, 3", id="two"),
    pytest.param(
        [user("a", time=at(second)) for second in range(30, 36)],
        "; meanwhile the user sent msg 2, 3, 4, 5 and 2 more",
        id="more than are listed",
    ),
    pytest.param([user("a", time=at(60))], "answers msg 0", id="when it ended"),
    pytest.param([user("a", time={})], "answers msg 0", id="without a time"),
    pytest.param([user(text("put in", synthetic=True), time=at(30))], "answers msg 0", id="nobody typed it"),
    pytest.param([assistant("b", time=at(30, 40))], "answers msg 0", id="an answer"),
]


@pytest.mark.parametrize(("later", "says"), MEANWHILE)
def test_what_the_user_sent_while_a_message_was_running(tmp_path: Path, later: list[Any], says: str) -> None:
    session = opened(tmp_path, export(user("Go.", time=at(0)), running(), *later))
    assert take_excerpt(session, 1).states().endswith(says)


CALLED = [
    pytest.param({"start": 10, "end": 50}, ", during its bash call", id="while the call was running"),
    pytest.param({"start": 40, "end": 50}, "", id="before it began"),
    pytest.param({"start": 10, "end": 20}, "", id="after it had ended"),
    pytest.param({"start": 10}, "", id="no end of it is recorded"),
    pytest.param({}, "", id="no times of it are recorded"),
]


@pytest.mark.parametrize(("times", "says"), CALLED)
def test_which_call_was_running(tmp_path: Path, times: dict[str, int], says: str) -> None:
    call = tool(time={name: BEGIN + seconds * 1000 for name, seconds in times.items()})
    slow = assistant(tool("read"), call, tool("grep"), time=at(1, 60))
    turns = [user("Go.", time=at(0)), slow, user("and?", time=at(30))]
    assert last(tmp_path, *turns).states().endswith(f"sent while msg 1 was still running{says}")
    nudge = last_found(tmp_path, export(*turns[:2], user("continue", time=at(30))))["user-nudge"]
    assert nudge.says.endswith(f"It was sent while message 1 was still running{says}.")
    assert len(nudge.evidence) == (6 if says else 4)


def test_a_turn_that_stands_before_the_message_it_was_sent_during(tmp_path: Path) -> None:
    turns = [user("Go.", time=at(0)), user("and?", time=at(30)), running()]
    assert take_excerpt(opened(tmp_path, export(*turns)), 1).during == 2


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the recorded sessions of ../shared are not here")
def test_facts_of_the_essays_sessions() -> None:
    """FACTS: glm5-144 F03, F04, F07; ct200-11162 F02, F04, F29."""
    glm5 = open_session(str(EXAMPLE))
    assert "took 2.0 s; finish none; no tokens counted, cost 0; answers msg 143" in take_excerpt(glm5, 144).states()
    assert take_excerpt(glm5, 143).states().endswith("; sent while msg 142 was still running, during its bash call")
    ct200 = open_session(str(ESSAYS / "ct200-11162.json.gz"))
    assert take_excerpt(ct200, 11162).states().endswith("finish none; no tokens counted, cost 0; answers msg 11136")
    assert take_excerpt(ct200, 11161).states().endswith("finish none; no tokens counted, cost 0; answers msg 11136")
    assert passages(take_excerpt(ct200, 11161)) == [
        ("reasoning, empty", ""),
        ("bash call, stopped", "(no arguments)"),
        ("bash error", "Tool execution aborted"),
    ]
    assert take_excerpt(ct200, 11162).passages == ()


# ------------------------------------------------------------------------------------------------------- passages


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(["Hello."], [("text", "Hello.")], id="text"),
        pytest.param([""], [("text, empty", "")], id="empty text"),
        pytest.param([reasoning("Hm.")], [("reasoning", "Hm.")], id="reasoning"),
        pytest.param([reasoning("")], [("reasoning, empty", "")], id="reasoning that is kept encrypted"),
        pytest.param([text("Read it.", synthetic=True)], [("text put in by the harness", "Read it.")], id="synthetic"),
        pytest.param([STEP_START, step_finish()], [], id="step marks are no part of it"),
        pytest.param([{"type": "compaction", "auto": False}], [("manual compaction", "")], id="a compaction"),
        pytest.param(
            [{"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,QUJD"}],
            [("attached file a.png, image/png, 3 bytes", "")],
            id="an attachment",
        ),
        pytest.param([{"type": "hologram"}], [("hologram omitted", "")], id="a part of a later version"),
        pytest.param([{"type": "x]\n[k text"}], [("x) (k text omitted", "")], id="a type that looks like a label"),
    ],
)  # fmt: skip
def test_parts_under_their_labels(tmp_path: Path, parts: list[Any], expected: list[tuple[str, str]]) -> None:
    assert passages(last(tmp_path, ASK, user(*parts))) == expected


LS = ("bash call", "ls")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(tool(output="a\n"), [LS, ("bash output, exit 0", "a\n")], id="a command"),
        pytest.param(tool(output=""), [LS, ("bash output, empty, exit 0", "")], id="it printed nothing"),
        pytest.param(tool(output=None), [LS, ("bash output, none recorded", "")], id="output null is no empty output"),
        pytest.param(tool(metadata={"exit": None}), [LS, ("bash output", "ok\n")], id="exit null"),
        pytest.param(tool(metadata={"truncated": True}), [LS, ("bash output, cut by the harness", "ok\n")], id="cut"),
        pytest.param(tool("read", time={"compacted": 5}), [("read call", "ls"), ("read output, cleared later from what the model saw", "ok\n")], id="pruned"),
        pytest.param(tool(status="running"), [("bash call, unfinished", "ls")], id="still running"),
        pytest.param(tool(status="error", error="No."), [LS, ("bash error", "No.")], id="failed"),
        pytest.param(tool(status="error", error=""), [LS, ("bash error, empty", "")], id="failed without a word"),
        pytest.param(tool(status="error", input={}, error="Tool execution aborted"), [("bash call, stopped", "(no arguments)"), ("bash error", "Tool execution aborted")], id="stopped while it was written"),
        pytest.param(tool(status="error", error="Tool execution aborted"), [("bash call, interrupted", "ls"), ("bash error", "Tool execution aborted")], id="stopped while it ran"),
        pytest.param(tool("invalid", output="Unknown."), [("invalid call, refused", "ls"), ("invalid output", "Unknown.")], id="refused"),
        pytest.param(tool("a]\n[b" + "x" * 99, output="o"), [("a) (b" + "x" * 54 + "… call", "ls"), ("a) (b" + "x" * 54 + "… output", "o")], id="a name that looks like a label"),
    ],
)  # fmt: skip
def test_calls_under_their_labels(tmp_path: Path, call: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert passages(last(tmp_path, ASK, assistant(call))) == expected


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param({"command": "ls -a"}, "ls -a", id="a command alone"),
        pytest.param({"command": "ls", "timeout": 5, "description": "List"}, "ls\ntimeout: 5\ndescription: List", id="a command first"),
        pytest.param({"command": "a\nb", "description": "Both"}, "description: Both\ncommand:\na\nb", id="one of several lines last, that nothing is taken for a part of it"),
        pytest.param({"content": "a\nb\n", "filePath": "x.py"}, "filePath: x.py\ncontent:\na\nb\n", id="the path before the content"),
        pytest.param({"b": "1", "a": "2\n3", "c": "4"}, "b: 1\na:\n2\n3\nc: 4", id="in the recorded order, when nothing says most"),
        pytest.param({"filePath": "x", "limit": None}, "filePath: x", id="null is nothing"),
        pytest.param({"todos": [{"a": 1}], "deep": {"é": None}}, 'todos: [{"a": 1}]\ndeep: {"é": null}', id="structures as JSON"),
        pytest.param({"flag": False, "n": 0, "s": ""}, "flag: false\nn: 0\ns: ", id="false, zero and empty are something"),
        pytest.param({}, "(no arguments)", id="none"),
        pytest.param(None, "(no arguments recorded)", id="not recorded"),
        pytest.param("a bare string", "a bare string", id="a string"),
        pytest.param(["a", 1], '["a", 1]', id="a list"),
    ],
)  # fmt: skip
def test_arguments(tmp_path: Path, given: Any, shown: str) -> None:
    assert last(tmp_path, ASK, assistant(tool(input=given))).passages[0].text == shown


TODOS = [{"content": "test", "status": "pending", "id": "1"}, {"content": "fix", "status": "done", "id": "2"}]
WITHOUT_IDS = [{key: value for key, value in todo.items() if key != "id"} for todo in TODOS]
SAME = "todowrite output, the same as an argument of the call"


@pytest.mark.parametrize(
    ("output", "label"),
    [
        pytest.param(json.dumps(TODOS, indent=2), SAME, id="word for word"),
        pytest.param(json.dumps(WITHOUT_IDS), SAME, id="with fewer fields"),
        pytest.param(json.dumps(TODOS[:1]), "todowrite output", id="with fewer entries"),
        pytest.param(json.dumps([*TODOS[:1], TODOS[1] | {"status": "pending"}]), "todowrite output", id="with another value"),
        pytest.param(json.dumps([*TODOS[:1], TODOS[1] | {"note": "x"}]), "todowrite output", id="with a field more"),
        pytest.param("[" * 100_000, "todowrite output", id="nested beyond reason"),
        pytest.param("[1, 2", "todowrite output", id="torn"),
        pytest.param("2 todos", "todowrite output", id="words"),
    ],
)  # fmt: skip
def test_an_output_that_gives_an_argument_back_is_not_shown_twice(tmp_path: Path, output: str, label: str) -> None:
    shown = last(tmp_path, ASK, assistant(tool("todowrite", input={"todos": TODOS}, output=output))).passages[1]
    assert shown.label == label
    assert shown.text == ("" if label == SAME else output)


def test_a_command_s_output_is_shown_even_if_it_looks_like_an_argument(tmp_path: Path) -> None:
    call = tool(input={"command": "cat", "list": [1]}, output="[1]", metadata={"exit": 0})
    assert last(tmp_path, ASK, assistant(call)).passages[1].text == "[1]"


def test_its_text_is_all_of_it_under_labels(tmp_path: Path) -> None:
    excerpt = last(tmp_path, ASK, assistant("Yes.", tool(output="")))
    assert excerpt.text == "‹text›\nYes.\n‹bash call›\nls\n‹bash output, empty, exit 0›"


# ------------------------------------------------------------------------------------------------------ shortening


def body(excerpt: Excerpt) -> int:
    """Tokens of its text and labels, by the prompt's own measure."""
    return count_tokens("\n".join(f"[00000000 {p.label}]\n{p.text}" for p in excerpt.passages))


LEAST = 400
"""Tokens that the least can take which is shown of any message: four parts, each a hundred characters or a first line."""
PROSE = "The quick brown fox jumps over the lazy dog and runs away from it. "
DENSE = "7 3 9 1 8 2 5 4 "
"""More than one token in two characters: the rule of thumb is off by a factor of three."""


@pytest.mark.parametrize("limit", [100, 400, 3000])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([PROSE * 2000], id="prose"),
        pytest.param([DENSE * 8000], id="digits"),
        pytest.param(["漢字" * 20_000], id="Chinese"),
        pytest.param(["\n".join([PROSE] * 2000)], id="lines"),
        pytest.param(["\n" * 100_000 + "end"], id="blank lines"),
        pytest.param([reasoning(PROSE * 99), PROSE * 99, tool(output=DENSE * 999)], id="three long parts"),
        pytest.param([tool(input={"command": f"echo {n}"}, output=PROSE * 9) for n in range(400)], id="400 calls"),
    ],
)
def test_a_limit_is_kept(tmp_path: Path, parts: list[Any], limit: int) -> None:
    assert body(last(tmp_path, ASK, assistant(*parts), limit=limit)) <= max(limit, LEAST)


@pytest.mark.parametrize("parts", [[PROSE * 2000], [reasoning(PROSE * 99), PROSE * 99, tool(output=PROSE * 999)]])
def test_a_limit_is_used(tmp_path: Path, parts: list[Any]) -> None:
    assert body(last(tmp_path, ASK, assistant(*parts), limit=3000)) > 2500


@pytest.mark.parametrize("limit", [60, 150, 1000])
def test_what_is_left_out_is_counted_where_it_stood(tmp_path: Path, limit: int) -> None:
    words = " ".join(str(n) for n in range(9000))
    excerpt = last(tmp_path, ASK, assistant(words), limit=limit)
    [passage] = excerpt.passages
    [counted] = LEFT_OUT.findall(passage.text)
    head, tail = LEFT_OUT.split(passage.text)[0::2]
    assert words.startswith(head.rstrip("\n"))
    assert words.endswith(tail.lstrip("\n"))
    assert (
        int(counted)
        == passage.omitted
        == excerpt.omitted
        == len(words) - len(head.rstrip("\n")) - len(tail.lstrip("\n"))
    )


def test_a_message_that_fits_is_untouched(tmp_path: Path) -> None:
    message = assistant(reasoning("Hm."), "Yes.\n\n  Indeed.", tool(output="a\n"))
    whole = last(tmp_path, ASK, message)
    assert last(tmp_path, ASK, message, limit=body(whole)) == whole
    assert last(tmp_path, ASK, message, limit=body(whole) - 1).omitted == 0, "nothing is won by shortening so little"


def test_short_parts_stay_whole_beside_long_ones(tmp_path: Path) -> None:
    excerpt = last(tmp_path, ASK, assistant("Here it is:", tool(output=PROSE * 500), "That is all."), limit=400)
    assert [passage.text for passage in excerpt.passages if passage.kind == "text"] == ["Here it is:", "That is all."]
    assert excerpt.omitted == excerpt.passages[2].omitted > 0


def test_of_arguments_the_beginning_is_kept(tmp_path: Path) -> None:
    call = tool("write", input={"content": PROSE * 500, "filePath": "notes.md"}, output="Wrote it.")
    shown = last(tmp_path, ASK, assistant(call), limit=200).passages[0].text
    assert shown.startswith("filePath: notes.md\ncontent: The quick")
    assert LEFT_OUT.search(shown.splitlines()[-1])


def test_of_an_output_the_first_line_is_kept(tmp_path: Path) -> None:
    line = "2026-02-16 14:06:38 [112/214] Building CUDA object layer/prompt_fp16.so for the flashinfer_cutlass backend of moe_runner"
    calls = [tool(input={"command": f"make {n}"}, output=f"\n{line}\n" + PROSE * 99) for n in range(9)]
    outputs = [p.text for p in last(tmp_path, ASK, assistant(*calls), limit=150).passages if p.kind == "output"]
    assert outputs
    assert all(output.startswith(f"\n{line}\n") for output in outputs)


def test_five_mebibytes_in_one_line(tmp_path: Path) -> None:
    excerpt = last(tmp_path, ASK, assistant(tool(output="x" * HUGE), "Done."), limit=1000)
    output = excerpt.passages[1]
    assert output.omitted + sum(len(piece) for piece in re.findall("x+", output.text)) == HUGE
    assert body(excerpt) <= 1000
    assert output.lines == 1


def test_four_hundred_calls_are_thinned_with_a_counted_mark(tmp_path: Path) -> None:
    calls = [tool(input={"command": f"echo {n}"}, output=f"{n}\n") for n in range(400)]
    excerpt = last(tmp_path, ASK, assistant(*calls), limit=2000)
    [mark] = [passage for passage in excerpt.passages if passage.kind == "left-out"]
    parts, characters = re.fullmatch(r"(\d+) parts \(([\d,]+) characters\) left out", mark.label).groups()  # type: ignore[union-attr]
    assert int(parts) + len(excerpt.passages) - 1 == 800
    assert int(characters.replace(",", "")) == excerpt.omitted
    assert excerpt.passages[0].text == "echo 0"
    assert excerpt.passages[-1].text == "399\n"
    assert 1500 < body(excerpt) <= 2000
    assert excerpt.calls == 400


SUMMARY = "".join(
    f"## {name}\n\n" + "".join(f"- {name} {n}\n" for n in range(60)) + "\n" for name in ("Goal", "Found", "Done")
)


@pytest.mark.parametrize(
    ("source", "limit", "sections"),
    [
        pytest.param(SUMMARY, 600, 3, id="a summary"),
        pytest.param("Preface.\n\n" + SUMMARY, 600, 4, id="with words before its first heading"),
        pytest.param(SUMMARY, 100, 1, id="with no room for all"),
        pytest.param(SUMMARY.replace("## ", "### "), 600, 1, id="smaller headings"),
        pytest.param(SUMMARY.replace("## ", "x ## "), 600, 1, id="marks that are no headings"),
        pytest.param(SUMMARY * 9, 6000, 1, id="a document of many sections"),
    ],
)
def test_a_text_under_headings_keeps_something_of_each(source: str, limit: int, sections: int) -> None:
    shown, omitted = abridge(source, limit)
    marks = [int(count) for count in LEFT_OUT.findall(shown)]
    assert sum(marks) == omitted > 0
    assert len(shown) <= limit + sum(len(f"\n[… {count} characters left out …]\n") for count in marks)
    assert len(marks) == (1 if sections == 1 else 3)
    if sections > 1:
        assert re.findall(r"## (\w+)", shown) == ["Goal", "Found", "Done"]
        assert "- Done 59" in shown


def test_a_text_that_fits_is_not_abridged() -> None:
    assert abridge(SUMMARY, len(SUMMARY)) == (SUMMARY, 0)
