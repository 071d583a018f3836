"""Lists of targets: CSV, JSON Lines, a JSON array; a wrong line is told with its number and stops nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrator.asking import Manner
from narrator.batch.rows import Rows, read_rows
from narrator.errors import UsageError

GIVEN = Manner(style="essay", length=500)
"""How the command line says that essays are written."""


def read(text: str | bytes, *sessions: str, folder: str = "lists") -> Rows:
    data = text.encode() if isinstance(text, str) else text
    return read_rows(data, "t", Path(folder), sessions, GIVEN)


def told(rows: Rows) -> list[str]:
    return [f"{problem.where}: {problem.why}" for problem in rows.problems]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("session,msg\na.json,3\n", id="CSV"),
        pytest.param("msg,session\r\n3,a.json\r\n", id="columns in another order, lines of Windows"),
        pytest.param("\ufeffSession, Msg\na.json, 3\n", id="with a byte order mark, capitals and blanks"),
        pytest.param("session;msg\na.json;3\n", id="semicolons"),
        pytest.param("session\tmsg\na.json\t3\n", id="tabs"),
        pytest.param('session,msg\n"a.json","3"\n\n , \n', id="quotes and empty lines"),
        pytest.param('{"session": "a.json", "msg": 3}\n\n', id="JSON Lines"),
        pytest.param('{"session": "a.json", "msg": "3", "style": null}', id="JSON Lines with a text and a null"),
        pytest.param('[{"session": "a.json", "msg": 3}]', id="a JSON array"),
        pytest.param(
            '[{"session": "a.json", "index": 3, "id": "m", "score": 1, "kinds": [], "says": ""}]', id="targets"
        ),
        pytest.param("session\tmsg\na.json\t3\n".encode("utf-16"), id="a spreadsheet's UTF-16"),
    ],
)
def test_a_list_with_one_target(text: str | bytes) -> None:
    rows = read(text)
    assert [(row.session, row.msg, row.manner) for row in rows.rows] == [(str(Path("lists/a.json")), "3", GIVEN)]
    assert (rows.problems, rows.notices) == ([], [])


def test_a_line_may_say_how_its_essay_is_written() -> None:
    rows = read("session,msg,style,length,language\na,1,brief,200,German\na,2,,,\n")
    assert [row.manner for row in rows.rows] == [Manner(style="brief", length=200, language="German"), GIVEN]


def test_a_style_beside_the_list_is_found_there_and_a_name_stays_a_name(tmp_path: Path) -> None:
    for name in ("haiku", "brief"):
        (tmp_path / name).mkdir()
    (tmp_path / "haiku" / "style.toml").touch()
    rows = read("session,msg,style\na,1,haiku\na,2,brief\na,3,./brief\n", folder=str(tmp_path))
    assert [row.manner.style for row in rows.rows] == [str(tmp_path / "haiku"), "brief", str(tmp_path / "brief")]


def test_an_absolute_path_stays_and_a_line_without_one_means_the_only_session_that_is_named() -> None:
    rows = read("session,msg\n/x/a.json,1\n,2\n", "here/b.json")
    assert [row.session for row in rows.rows] == ["/x/a.json", "here/b.json"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("session,msg\n,1\n", "t, line 2: no session; none is given beside the list", id="no session"),
        pytest.param("session,msg\na,\n", "t, line 2: no message", id="no message"),
        pytest.param("session,msg\na,1,2\n", "t, line 2: 3 cells, but 2 columns", id="too many cells"),
        pytest.param('session,msg\na,"1\n2",x\n', "t, line 2: 3 cells, but 2 columns", id="a cell of two lines"),
        pytest.param(
            "msg,session,length\n1,a,50\n", "t, line 2: length 50: a whole number of words from 100", id="short"
        ),
        pytest.param("msg,session,length\n1,a,ten\n", "t, line 2: length ten: a whole number", id="no number"),
        pytest.param('{"msg": true, "session": "a"}', "t, line 1: msg True: a number or an id is needed", id="true"),
        pytest.param('{"msg": 1, "session": "a", "length": true}', "t, line 1: length True: a whole", id="length true"),
        pytest.param(
            '{"msg": 1.5, "session": "a"}', "t, line 1: msg 1.5: a number or an id is needed", id="a fraction"
        ),
        pytest.param('{"msg": 1, "session": 7}', "t, line 1: session 7: a text is needed", id="a session of digits"),
        pytest.param('{"msg": 1, "session": "a"', "t, line 1: no JSON object", id="cut JSON"),
        pytest.param('{}\n[1]\n"x"', "t, line 1: no session", id="an empty object"),
        pytest.param("[1]", "t, entry 1: no JSON object", id="an array of numbers"),
        pytest.param('["x"]', "t, entry 1: no JSON object", id="an array of texts"),
    ],
)
def test_a_line_that_cannot_be_used(text: str, problem: str) -> None:
    assert told(read(text))[0].startswith(problem)


def test_a_wrong_line_stops_nothing_and_lines_are_counted_as_an_editor_counts_them() -> None:
    rows = read('session,msg\na,1\n\n"a\nb",2\n,3\na,4\n')
    assert [row.where for row in rows.rows] == ["t, line 2", "t, line 4", "t, line 7"]
    assert told(rows) == ["t, line 6: no session; none is given beside the list"]


def test_a_cell_that_is_too_large_ends_a_csv_with_its_line() -> None:
    rows = read("session,msg\na,1\na," + "x" * 200_000 + "\na,2\n")
    assert [row.msg for row in rows.rows] == ["1"]
    assert told(rows) == ["t, line 3: field larger than field limit (131072)"]


def test_two_sessions_beside_a_list_leave_open_which_is_meant() -> None:
    assert told(read("msg\n1\n", "a", "b")) == ["t, line 2: no session; several are given beside the list"]


def test_columns_that_are_not_used_are_told_once() -> None:
    rows = read("session,msg,lenght,notes\na,1,300,x\na,2,300,\n")
    assert rows.notices == [
        "t: not used: 'lenght', 'notes'; the columns are session, msg, style, length, language",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "--from t: it is empty; give a CSV with the columns session, msg", id="empty"),
        pytest.param("a.json,3\n", "--from t: no column `msg` in its first line ('a.json', '3')", id="no header"),
        pytest.param("[1,", "--from t: no JSON: ", id="a cut array"),
        pytest.param("\x00\x01", "--from t: no column `msg` in its first line", id="no text"),
    ],
)
def test_what_is_no_list(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(text)
    assert str(raised.value).startswith(says)


def test_a_path_that_is_no_utf8_is_kept() -> None:
    rows = read(b"session,msg\n\xff.json,1\n", folder=".")
    assert rows.rows[0].session == b"\xff.json".decode("utf-8", "surrogateescape")


def test_a_large_list_takes_no_longer_than_its_length() -> None:
    lines = "".join(json.dumps({"session": "a", "msg": place}) + "\n" for place in range(20_000))
    assert len(read(lines).rows) == 20_000
