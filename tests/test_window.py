"""What bears on a target is shown wherever in the session it lies, and it is said why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, EXAMPLE, SHARED, assistant, export, text, tool, user

from narrator.bearing import find_bearing
from narrator.context import Context, Reach, take_context
from narrator.formats import open_session
from narrator.session import Session

ESSAYS = SHARED / "sessions" / "essays"
REQUEST = "Please find out why the build breaks and repair it."
COMPACTION = {"type": "compaction", "auto": True}


def ran(command: str, code: int = 0, output: str = "ok\n") -> dict[str, Any]:
    """An answer that runs a command."""
    return assistant(tool(input={"command": command}, output=output, metadata={"exit": code}), finish="tool-calls")


def edited(path: str, *, failed: bool = False) -> dict[str, Any]:
    given: dict[str, Any] = {"input": {"filePath": path, "oldString": "a", "newString": "b"}}
    return assistant(tool("edit", status="error", error="oldString not found", **given) if failed
                     else tool("edit", **given), finish="tool-calls")  # fmt: skip


def steps(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Steps of the loop that have nothing to do with anything."""
    return [
        ran(f"sed -n {start + number}p part{start + number}.txt", output=f"line {number}\n") for number in range(count)
    ]


def whys(session: Session, target: int) -> dict[int, str]:
    return {bearing.index: bearing.why for bearing in find_bearing(session, target)}


def shown(context: Context) -> dict[int, str]:
    return {excerpt.index: excerpt.why for excerpt in context.window}


# ------------------------------------------------------------------------------------------------ what settles it


def test_a_command_that_succeeds_700_messages_on_is_shown_and_it_is_said_why(tmp_path: Path) -> None:
    messages = [user(REQUEST), *steps(5), ran("make all", 2), *steps(700), ran("make all"), *steps(100, 900)]
    session = opened(tmp_path, export(*messages))
    context = take_context(session, 6)
    assert shown(context)[707] == "the command of msg 6 succeeds here"
    assert 300 not in shown(context)
    assert re.search(r"\d+ assistant messages not shown here", context.gaps[707])
    assert {5, 7} <= set(shown(context)), "both neighbours stay"


def test_a_target_without_calls_is_about_the_last_failure_before_it(tmp_path: Path) -> None:
    aborted = assistant(error={"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}})
    messages = [user(REQUEST), ran("make all", 2), *steps(3), aborted, user("continue"), *steps(700), ran("make all")]
    told = whys(opened(tmp_path, export(*messages)), 5)
    assert told[1] == "it has the last call with a command before msg 5 that failed"
    assert told[4] == "it has the last call with a command before msg 5"
    assert told[6] == "it is the next turn typed after msg 5"
    assert told[707] == "the command of msg 1 succeeds here"


@pytest.mark.parametrize(
    ("later", "found"),
    [
        pytest.param("pytest -x tests/test_spin.py --timeout 90", True, id="another flag"),
        pytest.param("cd repo && pytest -x tests/test_spin.py", True, id="another folder"),
        pytest.param("pytest -x tests/test_turn.py", False, id="another file"),
        pytest.param("cat tests/test_spin.py", False, id="another program"),
        pytest.param("ssh build 'cd repo; CI=1 pytest -x tests/test_spin.py'", True, id="on another machine"),
        pytest.param("ls", False, id="nothing in common"),
    ],
)
def test_a_command_much_like_a_failed_one_settles_it_where_the_same_never_succeeds(
    tmp_path: Path, later: str, found: bool
) -> None:
    failing = ran("pytest -x tests/test_spin.py", 1)
    messages = [user(REQUEST), failing, *steps(30), ran(later), *steps(3, 90), ran("pytest -x tests/test_spin.py", 1)]
    told = whys(opened(tmp_path, export(*messages)), 1)
    assert (told.get(32) == "a command much like the command of msg 1 succeeds here") is found


@pytest.mark.parametrize("between", [0, 200])
def test_no_more_than_so_many_commands_are_read_for_one_that_is_alike(tmp_path: Path, between: int) -> None:
    messages = [
        user(REQUEST),
        ran("pytest -x tests/test_spin.py", 1),
        *steps(between),
        ran("pytest tests/test_spin.py"),
    ]
    told = whys(opened(tmp_path, export(*messages)), 1)
    assert ("a command much like the command of msg 1 succeeds here" in told.values()) is (between == 0)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        pytest.param(ran("ls", 1), False, id="too short to be compared"),
        pytest.param(edited("src/spin.py", failed=True), False, id="a file has no like"),
    ],
)
def test_what_is_not_compared(tmp_path: Path, message: dict[str, Any], told: bool) -> None:
    session = opened(tmp_path, export(user(REQUEST), message, ran("ls -l"), edited("src/spin2.py")))
    assert any("much like" in why for why in whys(session, 1).values()) is told


def test_the_answers_that_end_the_turn_and_the_next_ones_are_shown(tmp_path: Path) -> None:
    turns = [message for number in range(5) for message in (user(REQUEST), *steps(90), assistant(f"Done {number}."))]
    told = whys(opened(tmp_path, export(*turns)), 10)
    assert told[91] == "the turn of msg 10 ends here"
    assert told[183] == "the turn after that of msg 91 ends here"
    assert told[275] == "the turn after that of msg 183 ends here"
    assert 367 not in told


# ---------------------------------------------------------------------------------------------- what led to it


def test_an_edit_of_the_same_file_that_failed_300_messages_before(tmp_path: Path) -> None:
    failing = edited("src/spin.py", failed=True)
    messages = [user(REQUEST), *steps(4), failing, *steps(300), edited("src/spin.py"), *steps(5, 500)]
    session = opened(tmp_path, export(*messages))
    assert shown(take_context(session, 306))[5] == "the same file as in msg 306 failed here"
    assert session.message(306).blocks


def test_of_failures_with_the_same_command_those_since_it_succeeded_come_first(tmp_path: Path) -> None:
    outcomes = [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    messages = [user(REQUEST), *(ran("make all", code) for code in outcomes), *steps(2), ran("make all", 1)]
    told = whys(opened(tmp_path, export(*messages)), 13)
    assert {index for index, why in told.items() if why == "the same command as in msg 13 failed here"} == {
        4,
        7,
        8,
        9,
        10,
    }


def test_of_a_command_that_succeeded_the_last_failure_before_and_the_first_one_after(tmp_path: Path) -> None:
    messages = [
        user(REQUEST),
        ran("make all", 1),
        ran("make all"),
        *steps(99),
        ran("make all"),
        *steps(99, 200),
        ran("make all", 1),
    ]
    told = whys(opened(tmp_path, export(*messages)), 102)
    assert (told[1], told[2]) == (
        "the same command as in msg 102 failed here",
        "the same command as in msg 102 was used here last before it",
    )
    assert told[202] == "the command of msg 102 fails here"


def test_failures_since_the_turn_that_the_target_serves(tmp_path: Path) -> None:
    messages = [
        user(REQUEST),
        ran("a.sh x", 1),
        user(REQUEST),
        *(ran(f"b{n}.sh x", 1) for n in range(8)),
        *steps(2),
        assistant("So."),
    ]
    told = whys(opened(tmp_path, export(*messages)), 13)
    on_the_way = {index for index, why in told.items() if why == "a call failed here on the way to msg 13"}
    assert on_the_way == {6, 7, 8, 9}, "the nearest ones; 10 is the last failure, 1 is of another turn"


def test_short_turns_are_shown_with_what_they_answer_back_to_one_that_says_what_is_wanted(tmp_path: Path) -> None:
    said = [
        user(REQUEST),
        *steps(50),
        assistant("Which one?"),
        user("3"),
        *steps(50, 60),
        assistant("Now?"),
        user("yes"),
    ]
    session = opened(tmp_path, export(user(REQUEST + " First."), assistant("Well."), *said, *steps(60, 200)))
    told = whys(session, 160)
    assert told[106] == "msg 160 answers it"
    assert told[105] == "msg 106 answers it"
    assert told[54] == told[2] == "it is one of the last turns typed before msg 160"
    assert told[53] == "msg 54 was typed right after it"
    assert 0 not in told
    assert {2, 53, 54, 105, 106} <= set(shown(take_context(session, 160)))


# ------------------------------------------------------------------------------------------ what reacts to it


def queue() -> list[dict[str, Any]]:
    """Three turns that were typed while a command ran, and their answers far behind."""
    begun = BEGIN + 60_000
    running = ran("make all")
    running["info"]["time"] = {"created": begun, "completed": begun + 900_000}
    turns = [user(f"note {n}", time={"created": begun + n * 60_000}, id=f"msg_q{n}") for n in (1, 2, 3)]
    answers = [assistant(f"To {n}.", parentID=f"msg_q{n}") for n in (1, 2, 3)]
    return [user(REQUEST, time={"created": BEGIN}), running, *turns, *answers[:1], *steps(50), *answers[1:]]


def test_turns_sent_while_a_command_ran(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*queue()))
    told = whys(session, 1)
    assert [told[index] for index in (2, 3, 4)] == ["the user sent it while msg 1 was running"] * 3
    told = whys(session, 3)
    assert told[1] == "it was running when msg 3 was sent"
    assert told[56] == "it is the first answer to msg 3"
    assert {1, 2, 4, 56} <= set(shown(take_context(session, 3)))


def test_a_turn_that_nobody_answered(tmp_path: Path) -> None:
    assert whys(opened(tmp_path, export(assistant("Hm."), user("Well?"))), 1) == {}


# ----------------------------------------------------------------------------------------------- compactions


def compacted() -> list[dict[str, Any]]:
    """Two compactions, the second after 300 messages, each with a summary of some length."""
    summary = "## Goal\n\n" + "Repair the build. " * 150
    round_ = [user(COMPACTION), assistant(summary, summary=True), user(text("Continue.", synthetic=True))]
    return [user(REQUEST), *steps(20), *round_, *steps(300, 50), *round_, *steps(300, 500), *round_, *steps(20, 900)]


def fresh(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"info": dict(m["info"]), "parts": [dict(part) for part in m["parts"]]} for m in messages]


@pytest.mark.parametrize(("target", "summaries"), [(324, (22, 325)), (325, (22, 628))])
def test_of_a_compaction_both_summaries_are_shown_in_full(
    tmp_path: Path, target: int, summaries: tuple[int, int]
) -> None:
    session = opened(tmp_path, export(*fresh(compacted())))
    window = {excerpt.index: excerpt for excerpt in take_context(session, target).window}
    assert all(window[index].omitted == 0 for index in summaries)
    assert {target - 1, target + 1, target + 2} <= set(window)


def test_the_next_summary_is_shown_of_any_message(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*fresh(compacted())))
    told = shown(take_context(session, 100))
    assert told[22] == "it is the last compaction summary before msg 100"
    assert told[325] == "it is the next compaction summary after msg 100"


# ------------------------------------------------------------------------------------------------ near-duplicates


def test_what_a_polled_command_prints_again_is_left_out_in_favour_of_what_differs(tmp_path: Path) -> None:
    log = "".join(f"2026-01-01 step {n} of the long run is done\n" for n in range(40))
    polls = [ran("tail log", output=f"{log}progress {n} percent\n") for n in range(20)]
    session = opened(tmp_path, export(user(REQUEST), *polls, *steps(3)))
    window = {excerpt.index: excerpt for excerpt in take_context(session, 10).window}
    far, near = window[1], window[10]
    assert near.omitted == 0
    assert f"progress {0} percent" in far.text
    assert "[… 1" in far.text
    assert len(far.text) < 0.3 * len(near.text)
    [output] = [passage for passage in far.passages if passage.kind == "output"]
    assert re.fullmatch(r"bash output, exit 0, what msg \d+ printed as well left out", output.label)
    assert output.omitted == far.omitted > 1000


@pytest.mark.parametrize(
    ("output", "left_out"),
    [
        pytest.param(
            "".join(f"a line that stands here only, number {n}\n" for n in range(30)), False, id="other lines"
        ),
        pytest.param("".join(f"this line was printed, number {n}\n" for n in range(30)), True, id="the same lines"),
        pytest.param(
            "".join(f"this line was printed, number {n}\n" for n in range(9))
            + "".join(f"a line that stands here only, number {n}\n" for n in range(21)),
            False,
            id="few of the same lines",
        ),
        pytest.param(
            "".join(f"this line was printed, number {n}\n{n}\n" for n in range(30)), False, id="no run of them"
        ),
        pytest.param("this line was printed, number 1\n", False, id="a short output"),
    ],
)
def test_which_outputs_are_shortened_so(tmp_path: Path, output: str, left_out: bool) -> None:
    printed = "".join(f"this line was printed, number {n}\n" for n in range(30))
    messages = [user(REQUEST), ran("other", output=output), *steps(8), ran("one", output=printed), *steps(2, 50)]
    window = {excerpt.index: excerpt for excerpt in take_context(opened(tmp_path, export(*messages)), 10).window}
    assert (window[1].omitted > 0) is left_out
    assert ("printed as well" in window[1].text) is left_out


# ----------------------------------------------------------------------------------------------------- recorded


def test_why_is_said_only_of_what_is_far(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user(REQUEST), *steps(2), ran("make all", 1), ran("make all"), *steps(60, 80)))
    context = take_context(session, 3)
    assert shown(context)[4] == ""
    assert shown(context)[64] == "the turn of msg 3 ends here"


def test_a_small_budget_has_the_neighbours_and_what_settles_it(tmp_path: Path) -> None:
    words = "The quick brown fox jumps over the lazy dog. " * 60
    messages = [
        user(REQUEST),
        *(assistant(words) for _ in range(9)),
        ran("make all", 2),
        *(assistant(words) for _ in range(300)),
    ]
    session = opened(tmp_path, export(*messages, ran("make all"), *(assistant(words) for _ in range(9))))
    context = take_context(session, 10, Reach(3000))
    assert {9, 10, 11, 311} <= set(shown(context))
    assert context.tokens <= 3000


def test_the_example() -> None:
    context = take_context(open_session(str(EXAMPLE)), 144)
    assert {142, 143, 145, 146, 147, 149} <= set(shown(context))


@pytest.mark.parametrize(
    ("name", "target", "wanted", "whole"),
    [
        pytest.param("ct200-11162", 11162, [11136, *range(11158, 11172), 11175], [11163], id="an aborted answer"),
        pytest.param("eagle3-4347", 4347, [4323, 4334, *range(4339, 4351)], [4348], id="a compaction request"),
    ],
)
def test_recorded_sessions(name: str, target: int, wanted: list[int], whole: list[int]) -> None:
    path = ESSAYS / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip("the recorded sessions of ../shared are not here")
    window = {excerpt.index: excerpt for excerpt in take_context(open_session(str(path)), target).window}
    assert set(wanted) <= set(window)
    assert all(window[index].omitted == 0 for index in whole)
