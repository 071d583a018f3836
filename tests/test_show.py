"""`narrate show SESSION`: which messages are listed, and how, on a terminal, through a pipe, as JSON."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Ran, environment, run
from recordings import BEGIN, EXAMPLE, SHARED, assistant, export, text, tool, user, write

from narrator.cli import pager, show
from narrator.cli.listing import GRAVE, QUIET
from narrator.cli.screen import Screen, context_lines, cut, fold, width
from narrator.findings import KINDS
from narrator.skims import KINDS as TURN_KINDS
from narrator.skims import ROLES

HOUR = 3_600_000
ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
PRUNED: dict[str, Any] = {"time": {"start": BEGIN, "end": BEGIN, "compacted": BEGIN}}
SESSION = export(
    user("Fix the test."),
    assistant("It fails.", tool(metadata={"exit": 1})),
    user("continue"),
    assistant("Sorted.", tool(input={"command": "sort"}, **PRUNED)),
    user(text("Continue if you have next steps", synthetic=True)),
    assistant(error=ABORTED, finish=None, id="msg_stop"),
    *(message for _ in range(20) for message in (user("a"), assistant("b"))),
    user("later", time={"created": BEGIN + 30 * HOUR}),
    assistant("good", time={"created": BEGIN + 30 * HOUR + 1_000, "completed": BEGIN + 30 * HOUR + 2_000}),
)
"""48 messages, one a minute, and then a day passes before the last two."""


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`SESSION` in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    return write(Path(), SESSION)


def listed(*words: str) -> list[int]:
    """Indexes that a call lists, which has to list them alike for people and as JSON."""
    rows, ran = json.loads(run("show", "session.json", *words, "--json").out), run("show", "session.json", *words)
    assert [int(line.strip("> ").split()[0]) for line in ran.out.splitlines()] == [row["index"] for row in rows]
    return [row["index"] for row in rows]


# ---- which messages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "indexes"),
    [
        pytest.param([], range(48), id="all"),
        pytest.param(["--around", "20"], range(10, 31), id="ten before and ten after"),
        pytest.param(["--around", "20", "--before", "1"], range(19, 31), id="fewer before"),
        pytest.param(["--around", "20", "--before", "0", "--after", "2"], range(20, 23), id="none before, two after"),
        pytest.param(["--around", "3"], range(14), id="near the beginning"),
        pytest.param(["--around", "47"], range(37, 48), id="near the end"),
        pytest.param(["--around", "msg_stop", "--after", "0"], range(6), id="an id"),
        pytest.param(["--around", "msg_st", "--after", "0"], range(6), id="the beginning of one"),
        pytest.param(["--around", "5", "--before", "9999", "--after", "9999"], range(48), id="more than there are"),
        pytest.param(["--only", "user"], range(0, 48, 2), id="a role"),
        pytest.param(["--only", "assistant"], range(1, 48, 2), id="the other one"),
        pytest.param(["--only", "aborted"], [5], id="a kind of finding"),
        pytest.param(["--only", "aborted,command-failed"], [1, 5], id="two kinds"),
        pytest.param(["--only", " aborted , aborted "], [5], id="white space, and one twice"),
        pytest.param(["--only", "synthetic"], [4], id="a kind of turn and of finding"),
        pytest.param(["--only", "typed", "--around", "4", "--before", "4", "--after", "2"], [0, 2, 6], id="both"),
        pytest.param(
            ["--only", "answer,user-nudge", "--around", "2", "--before", "1", "--after", "1"],
            [1, 2, 3],
            id="a turn or a finding",
        ),
    ],
)
def test_a_list_holds_the_messages_that_are_asked_for(words: list[str], indexes: range | list[int]) -> None:
    assert listed(*words) == list(indexes)


@pytest.mark.parametrize("words", [["--only", "system"], ["--only", "cut-off", "--around", "20"]])
def test_a_list_that_is_empty_is_said_to_be(words: list[str]) -> None:
    people, machine = run("show", "session.json", *words), run("show", "session.json", *words, "--json")
    assert (people.code, people.out, len(people.lines)) == (0, "", 1)
    assert (machine.code, machine.out, machine.err) == (0, "[]\n", people.err)
    assert f"--only {words[1]}: no message" in people.err
    assert ("round 20" in people.err) == ("--around" in words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(
            ["--only", "users"], "--only users: 'users' is none of user, assistant, tool, system, typed", id="a word"
        ),
        pytest.param(["--only", "user,"], "--only user,: '' is none of", id="no word behind a comma"),
        pytest.param(["--only", "user,a\x1bb"], "'a\\x1bb' is none of", id="a control character"),
        pytest.param(
            ["--around", "48"],
            "--around 48: out of range; the session has 48 messages, valid is 0..47",
            id="a number too large",
        ),
        pytest.param(["--around", "-1"], "--around -1: out of range", id="a negative one"),
        pytest.param(["--around", "x"], "--around x: neither a number", id="no message"),
        pytest.param(["--around", "msg_"], "--around msg_: 48 messages begin so", id="several messages"),
        pytest.param(["--around", "3", "--before", "-1"], "--before", id="a negative count"),
        pytest.param(["--around", "3", "--msg", "3"], "--around 3: chooses from the list", id="a list and a context"),
        pytest.param(
            ["--only", "user", "--msg", "3"], "--only user: chooses from the list", id="a filter and a context"
        ),
        pytest.param(["--before", "3"], "--before 3: needs --around or --msg", id="before nothing"),
        pytest.param(["--after", "3", "--only", "user"], "--after 3: needs --around or --msg", id="after nothing"),
        pytest.param(["--budget", "3000"], "--budget 3000: needs --msg", id="a budget for a list"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_cannot_be_listed_is_one_line(words: list[str], says: str, form: list[str]) -> None:
    ran = run("show", "session.json", *words, *form)
    assert (ran.code, ran.out, len(ran.lines)) == (2, "", 1)
    assert says in ran.err


def test_an_unknown_word_is_told_all_there_are() -> None:
    told = run("show", "session.json", "--only", "x").err
    assert set(told.strip().partition("none of ")[2].split(", ")) == {*ROLES, *TURN_KINDS, *KINDS}


# ---- the line through a pipe, and JSON ---------------------------------------------------------------------------


def test_a_line_for_people_is_number_clock_role_gist_and_marks() -> None:
    lines = run("show", "session.json").out.splitlines()
    assert lines[:6] == [
        " 0  2025-10-09 08:53:20  user       Fix the test.",
        " 1  2025-10-09 08:54:20  assistant  It fails.  [command-failed]",
        " 2  2025-10-09 08:55:20  user       continue  [user-nudge]",
        " 3  2025-10-09 08:56:20  assistant  Sorted.  [output-pruned]",
        " 4  2025-10-09 08:57:20  user       [synthetic] Continue if you have next steps  [synthetic]",
        " 5  2025-10-09 08:58:20  assistant  [aborted, empty] “MessageAbortedError: The operation was aborted.”  [aborted]",
    ]
    assert lines[46] == "46  2025-10-10 14:53:20  user       later"


def test_the_message_that_is_asked_about_is_pointed_at() -> None:
    lines = run("show", "session.json", "--around", "5", "--before", "1", "--after", "1").out.splitlines()
    assert [line[:4] for line in lines] == ["   4", ">  5", "   6"]
    assert not any(line.startswith(("> ", "   ")) for line in run("show", "session.json").out.splitlines())


def test_what_went_wrong_is_marked_first() -> None:
    path = write(Path(), export(user("a"), assistant("b", tool(**PRUNED), tool(), tool(metadata={"exit": 1}))))
    assert run("show", path).out.splitlines()[1].endswith("  b  [command-failed, repeated-call, output-pruned]")


def test_json_has_the_shape_of_the_contract_an_element_a_line() -> None:
    ran = run("show", "session.json", "--around", "1", "--before", "1", "--after", "0", "--json")
    assert ran.out.splitlines()[0] == "["
    assert json.loads(ran.out) == [
        {
            "index": 0,
            "id": "msg_0000",
            "role": "user",
            "time": "2025-10-09T08:53:20Z",
            "gist": "Fix the test.",
            "findings": [],
        },
        {
            "index": 1,
            "id": "msg_0001",
            "role": "assistant",
            "time": "2025-10-09T08:54:20Z",
            "gist": "It fails.",
            "findings": ["command-failed"],
        },
    ]
    assert len(ran.out.splitlines()) == 4


def test_marks_have_a_place_in_the_closed_list() -> None:
    assert set(KINDS) > GRAVE | QUIET
    assert not GRAVE & QUIET


HOSTILE = ("37-ansi-and-cr", "38-emoji-cjk-combining", "39-bidi-overrides", "40-unicode-line-separators", "52-terminal-escapes", "54-special-tokens")  # fmt: skip
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.skipif(not SHARED.exists(), reason="needs the hostile inputs beside the repository")
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_recorded_breaks_a_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(SHARED / "cases" / f"{name}.json")
    ran = run("show", path)
    assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 2)
    assert not UNSAFE.search(ran.out)
    on_terminal(monkeypatch, 60)
    lines = run("show", path).out.splitlines()
    assert len(lines) == 3
    assert all(width(line) <= 60 for line in lines)


# ---- on a terminal -----------------------------------------------------------------------------------------------


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """As if stdout were a terminal, without pager and colours."""
    monkeypatch.setattr(show, "_columns", lambda: columns)


def test_a_terminal_gets_days_and_gaps_as_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 80)
    lines = run("show", "session.json").out.splitlines()
    assert lines[:4] == [
        "2025-10-09 UTC",
        " 0  08:53:20  user       Fix the test.",
        " 1  08:54:20  assistant  It fails.  [command-failed]",
        " 2  08:55:20  user       continue  [user-nudge]",
    ]
    assert lines[-5:] == [
        "45  09:38:20  assistant  b  [gap]",
        "    … nothing for 29 h 15 min …",
        "2025-10-10 UTC",
        "46  14:53:20  user       later",
        "47  14:53:21  assistant  good",
    ]


def test_a_day_is_told_again_only_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 80)
    path = write(
        Path(), export(user("a"), user("b", time={}), user("c"), user("d", time={"created": BEGIN - 24 * HOUR}))
    )
    assert [line[:10] for line in run("show", path).out.splitlines()] == [
        *("2025-10-09", "0  08:53:2", "1  no time", "2  08:55:2", "2025-10-08", "3  08:53:2")
    ]


LONG = "word " * 60


@pytest.mark.parametrize(
    ("columns", "message", "line"),
    [
        pytest.param(
            51,
            assistant("It fails because of the order."),
            "1 08:54:20 assistant It fails because of the order.",
            id="it fits",
        ),
        pytest.param(
            50,
            assistant("It fails because of the order."),
            "1 08:54:20 assistant It fails because of the orde…",
            id="it is cut",
        ),
        pytest.param(
            50,
            assistant("試" * 20),
            "1 08:54:20 assistant 試試試試試試試試試試試試試試…",
            id="wide characters take two columns",
        ),
        pytest.param(
            51, assistant("試" * 20), "1 08:54:20 assistant 試試試試試試試試試試試試試試…", id="half of one is none"
        ),
        pytest.param(
            80,
            assistant(LONG, tool(metadata={"exit": 1})),
            "1  08:54:20  assistant  word word word word word word word wo…  [command-failed]",
            id="marks take room",
        ),
        pytest.param(
            80,
            assistant(LONG, tool(**PRUNED)),
            "1  08:54:20  assistant  word word word word word word word word word word…  [+1]",
            id="not those of daily work",
        ),
        pytest.param(
            80,
            assistant("It fails.", tool(**PRUNED)),
            "1  08:54:20  assistant  It fails.  [output-pruned]",
            id="unless there is room",
        ),
        pytest.param(
            60,
            assistant("It fails.", tool(metadata={"exit": 1}), tool(**PRUNED)),
            "1 08:54:20 assistant It fails.  [command-failed, +2]",
            id="what there is no room for is counted",
        ),
        pytest.param(
            45,
            assistant(LONG, tool(metadata={"exit": 1})),
            "1 08:54:20 assistant word word word wo…  [+1]",
            id="also if it is all of them",
        ),
        pytest.param(24, assistant(LONG, tool(metadata={"exit": 1})), "1 08:54:20 assistant wo…", id="or not at all"),
        pytest.param(10, assistant("ab"), "1 08:54:20 assistant …", id="a screen too narrow for anything"),
    ],
)
def test_a_line_is_as_wide_as_the_screen_at_most(
    columns: int, message: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, columns)
    assert run("show", write(Path(), export(user("a"), message))).out.splitlines()[2] == line


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_no_line_of_the_example_is_wider_than_the_screen(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, columns)
    lines = run("show", str(EXAMPLE)).out.splitlines()
    assert len(lines) > 171
    assert max(map(width, lines)) <= columns
    assert all(width(line) <= columns for line in run("show", str(EXAMPLE), "--msg", "144").out.splitlines())


@pytest.mark.parametrize(
    ("given", "columns", "kept"),
    [
        pytest.param("abc", 3, "abc", id="it fits"),
        pytest.param("abcd", 3, "ab…", id="it does not"),
        pytest.param("試験", 4, "試験", id="wide, and it fits"),
        pytest.param("試験", 3, "試…", id="wide, and it does not"),
        pytest.param("試験", 2, "…", id="nothing of it fits"),
        pytest.param("abc", 0, "", id="no room"),
        pytest.param("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", id="marks take no column"),
        pytest.param("ae\u0301bc", 3, "ae\u0301…", id="a mark stays with its letter"),
        pytest.param("a👨\u200d👩\u200d👧b", 6, "a…", id="no part of a family"),
        pytest.param("ab🇩🇪cd", 4, "ab…", id="no half of a flag"),
        pytest.param("❤\ufe0f❤\ufe0f", 3, "❤\ufe0f…", id="a symbol made an emoji takes two"),
    ],
)
def test_text_is_cut_by_columns(given: str, columns: int, kept: str) -> None:
    assert cut(given, columns) == kept
    assert width(kept) <= columns


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        pytest.param("", [""], id="nothing"),
        pytest.param("one two", ["one two"], id="it fits"),
        pytest.param("one two three", ["one two", "three"], id="between words"),
        pytest.param("one two threefour", ["one two", "threefou", "r"], id="a word that is too long"),
        pytest.param("one twothree", ["one twot", "hree"], id="a space far back"),
        pytest.param("12345678 1", ["12345678", "1"], id="a word as long as the screen"),
        pytest.param("試験試験試験", ["試験試験", "試験"], id="a script without spaces"),
    ],
)
def test_a_long_line_is_folded_between_words(line: str, pieces: list[str]) -> None:
    assert list(fold(line, 8)) == pieces


def test_a_context_tells_the_products_lines_from_the_recordings() -> None:
    given = "# The target\n\n[msg 1] user\n<conversation_data 7>\n[7 text]\n# no heading\n[8 text]\n</conversation_data 7>\nrecord: x"
    lines = list(context_lines(given, "7", Screen(80, colours=True)))
    bold = [line for line in lines if line.startswith("\x1b[1m")]
    assert [re.sub("\x1b[^m]*m", "", line) for line in bold] == ["# The target", "[msg 1] user", "[7 text]"]
    assert [re.sub("\x1b[^m]*m", "", line) for line in lines] == given.split("\n")


def test_what_is_not_in_a_context_is_counted_by_kind() -> None:
    path = write(Path(), export(*[user("word " * 90), assistant("word " * 90)] * 60))
    ran = run("show", path, "--msg", "60", "--budget", "800")
    found = re.search(
        r"not shown: (\d+) messages \((\d+) user turns?, (\d+) assistant messages?\), [\d,]+ char", ran.err
    )
    assert found
    assert int(found[1]) == int(found[2]) + int(found[3])
    assert "not shown: 0 messages, 0 characters" in run("show", write(Path(), export(user("a"))), "--msg", "0").err


# ---- pager and colours -------------------------------------------------------------------------------------------


class Terminal:
    """Stands for a stdout that is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        pytest.param({"PAGER": "sh -x"}, ["sh", "-x"], id="one with an option"),
        pytest.param({}, ["less"], id="less when nothing is said"),
        pytest.param({"PAGER": ""}, None, id="an empty one"),
        pytest.param({"PAGER": "cat"}, None, id="cat"),
        pytest.param({"PAGER": "no-such-pager"}, None, id="one that is not there"),
        pytest.param({"TERM": "dumb", "PAGER": "sh"}, None, id="a terminal that can nothing"),
    ],
)
def test_the_pager_is_the_users(
    variables: dict[str, str], command: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, variables)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "no-such-pager" else name)
    assert pager.find_pager() is None, "no terminal"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert pager.find_pager() == command


def set_environment(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in ("PAGER", "LESS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("variables", "command", "shown"),
    [
        pytest.param({}, None, True, id="a terminal"),
        pytest.param({"NO_COLOR": "1"}, None, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, None, True, id="an empty NO_COLOR"),
        pytest.param({"TERM": "dumb"}, None, False, id="a terminal that can nothing"),
        pytest.param({}, ["/usr/bin/less"], True, id="less as we call it"),
        pytest.param({"LESS": "-iM"}, ["less"], False, id="less that would spell them"),
        pytest.param({"LESS": "-iMR"}, ["less"], True, id="less that is told not to"),
        pytest.param({"LESS": "-iM"}, ["less", "-R"], True, id="told so by its option"),
        pytest.param({"LESS": "-iM"}, ["more"], True, id="another pager"),
    ],
)
def test_colours_are_for_terminals(
    variables: dict[str, str], command: list[str] | None, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, variables)
    assert not pager.shows_colours(command), "no terminal"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert pager.shows_colours(command) is shown


def numbers(last: int) -> Iterator[str]:
    yield from map(str, range(last))


def test_a_pager_gets_every_line_and_how_to_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, {"LESS": ""})
    monkeypatch.delenv("LESSCHARSET", raising=False)
    pager.print_lines(["試"] * 200, ["sh", "-c", 'cat > paged; echo "$LESS $LESSCHARSET" > told'])
    assert Path("paged").read_text("utf-8") == "試\n" * 200
    assert Path("told").read_text("utf-8") == "FRX utf-8\n"
    monkeypatch.setenv("LESS", "-S")
    pager.print_lines(["a"], ["sh", "-c", 'cat > paged; echo "$LESS" > told'])
    assert Path("told").read_text("utf-8") == "-S\n"


def test_a_pager_that_is_left_early_ends_the_list() -> None:
    lines = numbers(10_000_000)
    pager.print_lines(lines, ["true"])
    assert int(next(lines)) < 1_000_000


def test_an_interrupt_while_paging_is_for_the_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Iterator[str]:
        yield from ["a"] * 64
        raise KeyboardInterrupt

    pager.print_lines(interrupted(), ["sh", "-c", "cat > paged"])
    assert Path("paged").read_text("utf-8") == "a\n" * 64
    wait, calls = subprocess.Popen.wait, []

    def twice(self: subprocess.Popen[bytes], *given: Any) -> int:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return wait(self)

    monkeypatch.setattr(subprocess.Popen, "wait", twice)
    pager.print_lines(["a"], ["true"])
    assert len(calls) >= 2


def in_terminal(*words: str, columns: int = 80, **variables: str) -> str:
    """What `narrate` writes to a terminal of its own."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "narrator", *words]
    seen = environment(TERM="xterm", **variables)
    with subprocess.Popen(command, env=seen, stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.PIPE) as process:
        os.close(its)
        printed = b""
        try:
            while piece := os.read(ours, 65_536):
                printed += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_pages() -> None:
    coloured = in_terminal("show", "session.json", PAGER="cat")
    assert "\x1b[31mcommand-failed\x1b[0m" in coloured
    assert "\x1b[1mFix the test.\x1b[0m" in coloured
    plain = in_terminal("show", "session.json", PAGER="cat", NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub("\x1b[^m]*m", "", coloured) == plain
    assert plain.splitlines()[2] == " 1  08:54:20  assistant  It fails.  [command-failed]"
    assert in_terminal("show", "session.json", PAGER="sed s/^/|/", NO_COLOR="1").splitlines()[0] == "|2025-10-09 UTC"
    assert all(
        len(line) <= 60
        for line in in_terminal("show", "session.json", columns=60, NO_COLOR="1", PAGER="cat").splitlines()
    )


def test_the_context_of_a_message_is_paged_too() -> None:
    shown = in_terminal("show", "session.json", "--msg", "5", PAGER="sed s/^/|/")
    assert shown.startswith("|\x1b[1m# The session\x1b[0m\n")
    assert all(width(re.sub("\x1b[^m]*m", "", line)) <= 81 for line in shown.splitlines())


def test_json_is_neither_paged_nor_coloured() -> None:
    shown = in_terminal("show", "session.json", "--json", PAGER="sed s/^/|/")
    assert len(json.loads(shown)) == 48


def test_a_pipe_gets_no_colours_whatever_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("PAGER", "no-such-pager")
    ran: Ran = run("show", "session.json")
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 48


def test_a_pipe_that_is_closed_early_is_no_error() -> None:
    many = write(Path(), export(*[user("word " * 30), assistant("b")] * 3_000), "many.json")
    command = f"{sys.executable} -m narrator show {many}; echo $? >&2"
    ran = subprocess.run(
        ["sh", "-c", f"({command}) | head -3"], env=environment(), capture_output=True, text=True, check=True
    )
    assert (len(ran.stdout.splitlines()), ran.stderr) == (3, "141\n")
