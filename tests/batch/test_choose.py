"""Which messages of which sessions are wanted: numbers, ranges, ids, kinds of finding, folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from recordings import assistant, export, tool, user, write

from narrator.asking import Manner
from narrator.batch.choose import Choice, Row, Wanted, choose, gather, is_other_json, parse_msgs
from narrator.batch.job import Problem
from narrator.errors import UsageError
from narrator.findings import KINDS
from narrator.formats import open_session
from narrator.session import Session

PLAIN, BRIEF = Manner(), Manner(style="brief")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Five messages; 1 and 3 hold a failed command, 2 is a nudge."""
    failed = tool(output="1 failed\n", metadata={"exit": 1})
    document = export(
        user("Fix it."),
        assistant(failed, "It fails.", id="msg_aa01"),
        user("continue", id="msg_aa02"),
        assistant(failed, "Again."),
        user("Thanks a lot for that."),
    )
    return open_session(write(tmp_path, document))


def chosen(session: Session, choice: Choice | None, *rows: Row) -> tuple[list[int], list[str]]:
    problems: list[Problem] = []
    found = [one.message for one in choose(session, Wanted("s.json", False, choice, list(rows)), problems)]
    return found, [f"{problem.where}: {problem.why}" for problem in problems]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        pytest.param("3", ("3",), id="one"),
        pytest.param("3,17,100-120", ("3", "17", "100-120"), id="numbers and a range"),
        pytest.param(" 3 , msg_ab,", ("3", "msg_ab"), id="blanks and a last comma"),
        pytest.param("5-5", ("5-5",), id="a range of one"),
        pytest.param("b-1", ("b-1",), id="an id with a hyphen is no range"),
    ],
)
def test_the_items_of_msgs(text: str, items: tuple[str, ...]) -> None:
    assert parse_msgs(text) == items


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "--msgs '': no message; give numbers, ranges and ids: 3,17,100-120", id="nothing"),
        pytest.param(" , ", "no message", id="commas alone"),
        pytest.param("3,9-2", "--msgs 9-2: a range goes up: 2-9", id="backwards"),
    ],
)
def test_msgs_that_name_nothing(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_msgs(text)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("msgs", "found", "problems"),
    [
        pytest.param("1", [1], [], id="a number"),
        pytest.param("0-2", [0, 1, 2], [], id="a range, both ends in it"),
        pytest.param("1–2", [1, 2], [], id="a range with an en dash"),
        pytest.param("msg_aa02", [2], [], id="an id"),
        pytest.param(
            "msg_aa", [], ["s.json: --msgs msg_aa: 2 messages begin so: msg_aa01 (1), msg_aa02 (2)"], id="two"
        ),
        pytest.param(
            "3-9", [3, 4], ["s.json: --msgs 3-9: the session has 5 messages, valid is 0..4"], id="over the end"
        ),
        pytest.param("7-9", [], ["s.json: --msgs 7-9: the session has 5 messages, valid is 0..4"], id="beyond the end"),
        pytest.param(
            "9", [], ["s.json: --msgs 9: out of range; the session has 5 messages, valid is 0..4"], id="no such"
        ),
        pytest.param("0-99999999999", [0, 1, 2, 3, 4], ["s.json: --msgs 0-99999999999: the session"], id="far beyond"),
        pytest.param("-1,2", [2], ["s.json: --msgs -1: out of range"], id="negative; the rest goes on"),
    ],
)
def test_what_msgs_choose(session: Session, msgs: str, found: list[int], problems: list[str]) -> None:
    given, told = chosen(session, Choice(msgs=parse_msgs(msgs), manner=PLAIN))
    assert given == found
    assert len(told) == len(problems)
    assert all(one.startswith(start) for one, start in zip(told, problems, strict=True))


def test_an_id_that_looks_like_a_range_is_an_id(tmp_path: Path) -> None:
    session = open_session(write(tmp_path, export(user("a"), user("b"), user("c", id="0-1"))))
    assert chosen(session, Choice(msgs=("0-1",), manner=PLAIN)) == ([2], [])


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        pytest.param(("command-failed",), [1, 3], id="one kind"),
        pytest.param(("command-failed", "user-nudge"), [1, 2, 3], id="two kinds"),
        pytest.param(("aborted",), [], id="a kind that does not occur"),
    ],
)
def test_what_kinds_choose(session: Session, kinds: tuple[str, ...], found: list[int]) -> None:
    assert chosen(session, Choice(kinds=tuple(kind for kind in KINDS if kind in kinds), manner=PLAIN)) == (found, [])


def test_all_messages_and_the_ways_together(session: Session) -> None:
    assert chosen(session, Choice(everything=True, manner=PLAIN))[0] == [0, 1, 2, 3, 4]
    assert chosen(session, Choice(msgs=("0",), kinds=("user-nudge",), manner=PLAIN))[0] == [0, 2]
    assert chosen(session, None) == ([], [])


def test_rows_are_found_and_a_wrong_one_is_told_with_its_line(session: Session) -> None:
    rows = [
        Row(where="t.csv, line 2", session="s.json", msg="4", manner=BRIEF),
        Row(where="t.csv, line 3", session="s.json", msg="5", manner=BRIEF),
    ]
    assert chosen(session, None, *rows) == (
        [4],
        ["t.csv, line 3: msg 5: out of range; the session has 5 messages, valid is 0..4"],
    )


# ---- sessions -----------------------------------------------------------------------------------------------------


def test_a_folder_gives_its_recordings_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.json", "a.json.gz", "c.jsonl", "notes.md", ".hidden.json", "D.JSON"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "below.json").mkdir()
    wanted, problems = gather([str(tmp_path)], Choice(everything=True, manner=PLAIN), [])
    assert [Path(one.session).name for one in wanted] == ["D.JSON", "a.json.gz", "b.json", "c.jsonl"]
    assert all(one.found for one in wanted)
    assert problems == []


def test_a_folder_without_recordings_is_a_problem(tmp_path: Path) -> None:
    wanted, problems = gather([str(tmp_path)], Choice(everything=True, manner=PLAIN), [])
    assert wanted == []
    assert [(problem.where, problem.why[:27]) for problem in problems] == [
        (str(tmp_path), "no recording in this folder")
    ]


def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    _, problems = gather([str(tmp_path)], Choice(everything=True, manner=PLAIN), [])
    assert [problem.why for problem in problems] == ["permission denied"]


def test_a_session_that_is_named_twice_is_taken_once_and_rows_are_added_to_it() -> None:
    row = Row(where="t, line 2", session="b.json", msg="1", manner=BRIEF)
    wanted, _ = gather(["a.json", "b.json", "a.json"], Choice(everything=True, manner=PLAIN), [row])
    assert [(one.session, one.found, one.choice is not None, one.rows) for one in wanted] == [
        ("a.json", False, True, []),
        ("b.json", False, True, [row]),
    ]


def test_without_a_choice_only_rows_name_sessions() -> None:
    row = Row(where="t, line 2", session="b.json", msg="1", manner=BRIEF)
    wanted, _ = gather(["a.json"], Choice(manner=PLAIN), [row])
    assert [(one.session, one.choice) for one in wanted] == [("b.json", None)]


@pytest.mark.parametrize(
    ("data", "other"),
    [
        pytest.param(json.dumps({"schema": 2}).encode(), True, id="JSON of another kind"),
        pytest.param(b'{"messages": [', False, id="JSON that is cut"),
        pytest.param(b"notes", False, id="no JSON"),
        pytest.param(gzip.compress(b"{}"), False, id="packed"),
    ],
)
def test_sound_json_of_another_kind(tmp_path: Path, data: bytes, other: bool) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert is_other_json(str(path)) is other


def test_what_is_large_or_gone_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.json").write_text("{}")
    monkeypatch.setattr("narrator.batch.choose._LARGEST", 1)
    assert not is_other_json(str(tmp_path / "x.json"))
    assert not is_other_json(str(tmp_path / "y.json"))
