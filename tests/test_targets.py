"""`narrate targets`: what is counted, how it is weighed, and whether it finds what was worth an essay."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from console import run
from planting import COUNT, MAKERS, plant
from recordings import BEGIN, EXAMPLE, SHARED, assistant, export, text, tool, user, write

from narrator.cli import targets as command
from narrator.findings import marked
from narrator.formats import open_session
from narrator.targets import LIMIT, Survey, Target, find_targets, order, survey, take_columns
from narrator.targets.choose import choose
from narrator.targets.reason import LONGEST
from narrator.targets.score import Weights
from narrator.targets.surprise import surprise, surprises
from narrator.targets.trouble import REACH
from narrator.targets.turning import Turning, feel_turnings, near_turnings

Stored = dict[str, Any]
WORKS = tool()
FAILS = tool(metadata={"exit": 1})
ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}


def call(*parts: Stored, **info: Any) -> Stored:
    """An answer that calls a tool."""
    return assistant(*(parts or (WORKS,)), finish="tool-calls", **info)


def command_of(words: str, code: int = 0) -> Stored:
    return tool(input={"command": words}, metadata={"exit": code})


def aborted(**info: Any) -> Stored:
    return assistant(error=ABORTED, finish=None, **info)


def meanwhile(place: int, words: str = "crashed") -> Stored:
    """The user's turn at `place`, sent while the message before it was running."""
    return user(words, time={"created": BEGIN + (place - 1) * 60_000 + 5_000})


def surveyed(folder: Path, messages: Sequence[Stored]) -> Survey:
    return survey(take_columns(open_session(write(folder, export(*messages)))))


# ---- surprise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "total", "value"),
    [
        pytest.param(0, 10, 0.0, id="what nothing has"),
        pytest.param(10, 10, 0.0, id="what all have"),
        pytest.param(1, 1, 0.0, id="the only message there is"),
        pytest.param(1, 10, 1 / 3, id="one in ten"),
        pytest.param(1, 1000, 1.0, id="one in a thousand"),
        pytest.param(1, 60_000, 1.0, id="rarer is not worth more"),
    ],
)
def test_surprise_is_the_logarithm_of_a_share(count: int, total: int, value: float) -> None:
    assert math.isclose(surprise(count, total), value)


def test_a_value_surprises_as_much_as_the_share_that_has_at_least_it() -> None:
    found = surprises([0] * 90 + [5] * 9 + [7])
    assert found == {0: 0.0, 5: surprise(10, 100), 7: surprise(1, 100)}


def test_no_value_surprises_where_all_are_alike() -> None:
    assert surprises([4, 4, 4]) == {4: 0.0}
    assert surprises([]) == {}


# ---- setbacks ----------------------------------------------------------------------------------------------------

SETBACKS: list[tuple[str, list[Stored], dict[int, str]]] = [
    ("a command that failed", [user("a"), call(FAILS), call()], {1: "call-failed"}),
    ("a command that worked", [user("a"), call(), call()], {}),
    ("a tool's error", [user("a"), call(tool("read", status="error", error="gone")), call()], {1: "call-failed"}),
    ("one call of two failed", [user("a"), call(WORKS, FAILS), call()], {1: "call-failed"}),
    (
        "a call that never ran",
        [user("a"), call(tool(status="error", input={}, error="called with invalid arguments")), call()],
        {1: "call-stopped"},
    ),
    (
        "a call that was stopped",
        [user("a"), call(tool(status="error", error="Tool execution aborted")), user("b")],
        {1: "call-stopped"},
    ),
    ("an abort that the user had to answer", [user("a"), aborted(), user("go")], {1: "turn-failed"}),
    ("an abort with which the session ends", [user("a"), aborted()], {1: "turn-failed"}),
    ("an abort that the same turn went on after", [user("a"), aborted(), call()], {}),
    ("two aborts that the same turn went on after", [user("a"), aborted(), aborted(), call()], {}),
    (
        "two aborts before the user's turn",
        [user("a"), call(), aborted(), aborted(), user("b")],
        {2: "turn-failed", 3: "turn-failed"},
    ),
    (
        "an abort before another's answer",
        [user("a", id="msg_a"), call(), aborted(), assistant("b", parentID="msg_x")],
        {2: "turn-failed"},
    ),
    ("an abort after its turn had ended", [user("a"), assistant("done"), aborted(), user("b")], {}),
    ("an answer without anything", [user("a"), assistant(), user("b")], {1: "turn-failed"}),
    ("a user's turn while an answer was running", [user("a"), call(), meanwhile(2), call()], {2: "broken-in"}),
    ("two of them", [user("a"), call(), meanwhile(2), meanwhile(2, "b"), call()], {2: "broken-in", 3: "broken-in"}),
    ("while an answer without calls was running", [user("a"), assistant("b"), meanwhile(2)], {2: "broken-in"}),
    ("one that was stopped then", [user("a"), aborted(), meanwhile(2)], {1: "turn-failed", 2: "broken-in"}),
    ("before it had begun", [user("a"), call(), user("b", time={"created": BEGIN + 1})], {}),
    ("after an answer with a call that had ended", [user("a"), assistant(WORKS, "done"), user("Thanks."), call()], {}),
    ("after calls, and the turn went on", [user("a"), call(), user("b"), call(parentID="msg_0000")], {2: "broken-in"}),
    ("after calls, and another turn began", [user("a"), call(), user("b"), call()], {}),
    ("after calls, with no times", [user("a"), call(time={}), user("b", time={}), call(time={})], {}),
    (
        "after a normal end, and a late answer to the same",
        [user("a"), assistant(WORKS), user("b"), call(parentID="msg_0000")],
        {},
    ),
    ("a user's turn after an ended one", [user("a"), assistant("done"), user("b"), call()], {}),
    ("a turn in which nothing was typed", [user("a"), call(), meanwhile(2, ""), call()], {}),
    ("go-on words while work was running", [user("a"), call(), meanwhile(2, "go on"), call()], {}),
    ("a user's turn after an abort", [user("a"), call(), aborted(), user("b")], {2: "turn-failed"}),
    ("a compaction is no user's turn", [user("a"), call(), user({"type": "compaction", "auto": True}), call()], {}),
]


@pytest.mark.parametrize(
    ("messages", "expected"), [pytest.param(messages, places, id=name) for name, messages, places in SETBACKS]
)
def test_what_is_a_setback(tmp_path: Path, messages: list[Stored], expected: dict[int, str]) -> None:
    assert dict(surveyed(tmp_path, messages).trouble.setbacks) == expected


COMPACTION = user({"type": "compaction", "auto": True})
SUMMARY = assistant("## Goal", summary=True)

SPARED: list[tuple[str, list[Stored], set[int]]] = [
    ("an abort that was passed over", [user("a"), aborted(), call()], {1}),
    ("an abort that was not", [user("a"), aborted(), user("b")], set()),
    ("go-on words when nothing was wrong", [user("a"), assistant("b"), user("ok"), assistant("c")], {2}),
    ("go-on words after a setback", [user("a"), call(FAILS), assistant("b"), user("go on"), call()], set()),
    (
        "go-on words long after a setback",
        [user("a"), call(FAILS), call(), call(), assistant("b"), user("go on"), call()],
        {5},
    ),
    ("a compaction between two turns", [user("a"), assistant("b"), COMPACTION, SUMMARY, user("c")], {2, 3}),
    ("a compaction that cut a turn", [user("a"), call(), COMPACTION, SUMMARY, call()], set()),
    ("a failed command is never spared", [user("a"), call(FAILS), call()], set()),
]


@pytest.mark.parametrize(
    ("messages", "expected"), [pytest.param(messages, places, id=name) for name, messages, places in SPARED]
)
def test_what_changed_nothing_counts_neither_as_rare_nor_as_costly(
    tmp_path: Path, messages: list[Stored], expected: set[int]
) -> None:
    found = surveyed(tmp_path, json.loads(json.dumps(messages)))
    assert found.trouble.spared == expected
    for index in expected:
        assert (found.parts_of(index).cost, found.parts_of(index).rarity) == (0, 0)


# ---- detours -----------------------------------------------------------------------------------------------------

DETOURS: list[tuple[str, list[Stored], list[tuple[int, int, int]]]] = [
    ("none without a setback", [user("a"), call(), assistant("b"), user("c"), call()], []),
    ("to the end of the matter", [user("a"), call(), call(FAILS), assistant("b"), user("c"), call()], [(2, 4, 1)]),
    ("to the success of the command", [user("a"), call(FAILS), call(command_of("pwd")), call(), call(), assistant("b"), user("c")], [(1, 4, 1)]),
    ("go-on words end no matter", [user("a"), call(FAILS), assistant("b"), user("go on"), assistant("c"), user("d")], [(1, 5, 1)]),
    ("from what was asked, if the user broke in", [user("a"), call(), call(), meanwhile(3), call(), meanwhile(5)], [(0, 6, 2)]),
    ("one a matter", [user("a"), call(FAILS), assistant("b"), user("c"), call(FAILS), assistant("d")], [(1, 3, 1), (4, 6, 1)]),
]  # fmt: skip  # a table


@pytest.mark.parametrize(
    ("messages", "expected"), [pytest.param(messages, found, id=name) for name, messages, found in DETOURS]
)
def test_where_a_detour_begins_and_ends(
    tmp_path: Path, messages: list[Stored], expected: list[tuple[int, int, int]]
) -> None:
    assert list(surveyed(tmp_path, messages).trouble.detours) == expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        pytest.param([], ((1, 2, 3),), id="at once"),
        pytest.param([assistant("a"), user("b")], ((1, 2, 5),), id="in another turn"),
        pytest.param([assistant("a"), user("b")] * REACH, (), id="too late to be the same matter"),
    ],
)
def test_a_command_that_fails_twice_and_then_works_is_a_detour_of_its_own(
    tmp_path: Path, between: list[Stored], expected: tuple[tuple[int, ...], ...]
) -> None:
    messages = [user("a"), call(FAILS), call(FAILS), *json.loads(json.dumps(between)), call(), assistant("done")]
    assert surveyed(tmp_path, messages).trouble.repeats == {index: run for run in expected for index in run}


def test_a_command_that_fails_once_is_none(tmp_path: Path) -> None:
    assert surveyed(tmp_path, [user("a"), call(FAILS), call(), call()]).trouble.repeats == {}
    assert surveyed(tmp_path, [user("a"), call(FAILS, FAILS, WORKS), call()]).trouble.repeats == {}


# ---- turning points ----------------------------------------------------------------------------------------------

LISTS = tool("todowrite", input={"todos": [{"content": "a", "status": "pending"}]})

TURNINGS: list[tuple[str, list[Stored], dict[str, list[int]]]] = [
    ("the user's turns", [user("a"), assistant("b"), user("c")], {"user-turn": [0, 2]}),
    ("the user breaks in", [user("a"), call(), meanwhile(2), call()], {"user-turn": [0], "broke-in": [2]}),
    ("after one who broke in", [user("a"), call(), meanwhile(2), user("b")], {"user-turn": [0, 3], "broke-in": [2]}),
    ("go-on words before the setback's end", [user("a"), call(FAILS), meanwhile(2, "go on")], {"user-turn": [0]}),
    ("after a setback", [user("a"), assistant(), user("b")], {"user-turn": [0], "after-setback": [2]}),
    ("go-on words after one", [user("a"), aborted(), user("continue")], {"user-turn": [0], "after-setback": [2]}),
    ("go-on words", [user("a"), assistant("b"), user("continue")], {"user-turn": [0]}),
    ("a correction", [user("a"), assistant("b"), user("No, use uv")], {"user-turn": [0], "corrected": [2]}),
    ("another", [user("a"), assistant("b"), user("that is Broken")], {"user-turn": [0], "corrected": [2]}),
    ("a wish", [user("a"), assistant("b"), user("use uv instead of pip if you like")], {"user-turn": [0, 2]}),
    ("a third", [user("a"), assistant("b"), user("OK, please revert that")], {"user-turn": [0], "corrected": [2]}),
    ("what may have to be undone", [user("a"), assistant("b"), user("try it, revert if slow")], {"user-turn": [0, 2]}),
    ("a word that only begins like one", [user("a"), assistant("b"), user("nothing yet?")], {"user-turn": [0, 2]}),
    ("a word that only looks like one", [user("a"), assistant("b"), user("no problem")], {"user-turn": [0, 2]}),
    (
        "a correction said again",
        [user("a"), assistant("b"), user("revert"), assistant("c"), user("Revert")],
        {"user-turn": [0, 4], "corrected": [2]},
    ),
    ("the first request corrects nothing", [user("no, wait")], {"user-turn": [0]}),
    (
        "many setbacks and a success",
        [user("a"), call(FAILS), call(command_of("b", 1)), call(command_of("c", 1)), assistant("d"), call(), assistant("e"), user("f")],
        {"user-turn": [0, 7], "set-off": [1], "first-success": [5]},
    ),
    (
        "a list, a reading and a command that stops are no success",
        [user("a"), *(call(command_of(name, 1)) for name in "xyz"), call(LISTS), call(tool("read", input={"filePath": "b"})),
         call(tool("grep", input={"pattern": "b"})), call(tool("edit", input={"filePath": "b"})), call()],
        {"user-turn": [0], "set-off": [1], "first-success": [7], "plan": [4]},
    ),
    (
        "a file that is only read again",
        [user("a"), *(call(tool("edit", status="error", error="gone", input={"filePath": "b"})) for _ in "xy"),
         call(tool("read", input={"filePath": "b"}))],
        {"user-turn": [0], "set-off": [1]},
    ),
    ("a list that was refused", [user("a"), call(tool("todowrite", status="error", error="gone"))], {"user-turn": [0]}),
    (
        "many setbacks and no success",
        [user("a"), call(FAILS), call(command_of("b", 1)), call(command_of("c", 1)), assistant("d")],
        {"user-turn": [0], "set-off": [1]},
    ),
    ("two setbacks", [user("a"), call(FAILS), call(command_of("b", 1)), call(LISTS)], {"user-turn": [0], "plan": [3]}),
    ("the same command", [user("a"), call(FAILS), call(FAILS), call()], {"user-turn": [0], "set-off": [1], "retried": [3]}),
    ("a compaction", [user("a"), call(), COMPACTION, SUMMARY, call()], {"user-turn": [0], "cut": [2]}),
    ("a compaction between turns", [user("a"), assistant("b"), COMPACTION, SUMMARY], {"user-turn": [0]}),
    ("one after a normal end", [user("a"), assistant(WORKS, "b"), COMPACTION, SUMMARY], {"user-turn": [0]}),
]  # fmt: skip  # a table


@pytest.mark.parametrize(
    ("messages", "expected"), [pytest.param(messages, found, id=name) for name, messages, found in TURNINGS]
)
def test_what_is_a_turning_point(tmp_path: Path, messages: list[Stored], expected: dict[str, list[int]]) -> None:
    assert surveyed(tmp_path, json.loads(json.dumps(messages))).turnings == expected


def test_the_strongest_turning_point_is_felt_and_the_nearer_the_more(tmp_path: Path) -> None:
    messages = [user("a"), *([call()] * 12), meanwhile(13), *([call()] * 12)]
    found = surveyed(tmp_path, json.loads(json.dumps(messages))).turnings
    near = [near_turnings(found, index, 26) for index in range(26)]
    assert [(point.place, point.turning) for point in near[13]] == [(13, "broke-in")]
    assert [(point.place, point.turning) for point in near[6]] == [(0, "user-turn"), (13, "broke-in")]
    points = feel_turnings(found, 26)
    assert points == [sum(point.points for point in several) for several in near]
    assert points[10] < points[11] < points[13] > points[15] > points[20]
    assert points[23] == 0


def test_of_three_turning_points_two_are_felt(tmp_path: Path) -> None:
    messages = [user("a"), *([call()] * 12), call(LISTS), meanwhile(14), assistant("b"), user("c"), call()]
    found = surveyed(tmp_path, json.loads(json.dumps(messages))).turnings
    assert [(point.turning, point.place) for point in near_turnings(found, 14, 18)] == [
        ("broke-in", 14),
        ("plan", 13),
        ("user-turn", 16),
    ]
    assert feel_turnings(found, 18)[14] == sum(point.points for point in near_turnings(found, 14, 18)[:2])


@pytest.mark.parametrize("places", [[0], [9], [3, 4, 5], [0, 9], [2, 8, 9], list(range(10))])
def test_the_nearest_is_felt_once_wherever_they_are(places: list[int]) -> None:
    turnings: dict[Turning, list[int]] = {"cut": places}
    expected = [near_turnings(turnings, index, 10) for index in range(10)]
    assert feel_turnings(turnings, 10) == [sum(point.points for point in points) for points in expected]


# ---- the score and the order -------------------------------------------------------------------------------------


def test_rarity_alone_is_worth_nothing() -> None:
    found = survey(take_columns(open_session(str(EXAMPLE))))
    given = found._replace(parts=([0, 0.5, 0.5], [0, 0.2, 0.2], [0, 0.3, 0.3], [1, 0, 1]))
    assert given.scores() == [0, 1, 2]
    assert given.scores(Weights(0, 1, 2, 3)) == pytest.approx([0, 0.8, 3.2])


def test_a_failed_subagent_is_rarer_than_a_failure(tmp_path: Path) -> None:
    failed = tool("task", status="error", error="gone", input={"prompt": "look"}, metadata={"sessionId": "ses_1"})
    many = [*([call(FAILS)] * 5), *([call(tool("task", input={"prompt": "b"}, metadata={"sessionId": "ses_2"}))] * 5)]
    messages = [user("a"), *many, call(failed), *([call()] * 20)]
    found = surveyed(tmp_path, json.loads(json.dumps(messages)))
    rarity = [found.parts_of(index).rarity for index in (11, 1, 6)]
    assert rarity[0] > max(rarity[1:]) > 0


def test_kinds_that_tell_of_the_harness_are_not_counted_as_rare(tmp_path: Path) -> None:
    messages = [user("a"), call(tool(metadata={"exit": 0, "truncated": True})), *([call(command_of("b"))] * 3)]
    session = open_session(write(tmp_path, export(*json.loads(json.dumps(messages)))))
    assert find_targets(session, kinds=["output-truncated"])[0].index == 1
    assert survey(take_columns(session)).parts_of(1).rarity == 0


CHOICES: list[tuple[str, list[float], str, list[int]]] = [
    ("the best first", [1, 3, 2], "abc", [1, 2, 0]),
    ("ties by index", [1, 1, 1], "abc", [0, 1, 2]),
    ("the second of a sort counts for half", [10, 9, 5], "aab", [0, 2, 1]),
    ("the third for a third", [10, 9.9, 9.8, 3.4, 3.2], "aaabb", [0, 1, 3, 2, 4]),
]


@pytest.mark.parametrize(("scores", "sorts", "expected"), [pytest.param(a, b, c, id=name) for name, a, b, c in CHOICES])
def test_the_order_of_the_list(scores: list[float], sorts: str, expected: list[int]) -> None:
    far = [place * 100 for place in range(len(scores))]
    spread = [0.0] * (len(scores) * 100)
    names = [""] * len(spread)
    for place, score, sort in zip(far, scores, sorts, strict=True):
        spread[place], names[place] = score, sort
    assert [index // 100 for index, _ in choose(spread, names, far, 9)] == expected


def test_every_neighbour_but_the_first_takes_a_fifth() -> None:
    assert choose([1.0, 0.9, 0.8, 0.7], "abcd", range(4), 4) == [
        (0, 1.0),
        (1, 0.9),
        (2, pytest.approx(0.64)),
        (3, pytest.approx(0.448)),
    ]
    assert [index for index, _ in choose([1.0, 0.9, 0.8, 0.7], "aabb", range(4), 4)] == [0, 2, 1, 3]
    apart = [1.0, 1.0, *([0.0] * REACH), 0.9]
    assert choose(apart, [str(place) for place in range(len(apart))], [0, 1, REACH + 2], 3)[2] == (REACH + 2, 0.9)


def test_what_is_printed_never_rises_down_the_list() -> None:
    scores = [target.score for target in find_targets(open_session(str(EXAMPLE)), 171)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 171


# ---- the essays that were published ------------------------------------------------------------------------------


class Case(NamedTuple):
    """A session, the message whose essay was published, and a message without a finding that turned the work."""

    path: Path
    target: int
    ordinary: int


ESSAYS = SHARED / "sessions" / "essays"
GLM5 = Case(EXAMPLE, 144, 143)
CASES = [
    pytest.param(GLM5, id="glm5"),
    *(
        pytest.param(
            case,
            id=case.path.name,
            marks=pytest.mark.skipif(not case.path.exists(), reason="needs ../shared/sessions/essays"),
        )
        for case in (
            Case(ESSAYS / "eagle3-4347.json.gz", 4347, 4339),
            Case(ESSAYS / "ct200-11162.json.gz", 11162, 11164),
        )
    ),
]


@cache
def document(path: Path) -> Stored:
    data = path.read_bytes()
    return dict(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))


@pytest.mark.parametrize("case", CASES)
def test_the_published_target_is_in_the_first_ten(case: Case) -> None:
    found = find_targets(open_session(str(case.path)))
    assert case.target in [target.index for target in found]
    assert len(found) == LIMIT


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_planted_oddities_push_it_out_no_more_than_they_outrank_a_turning_message(
    case: Case, seed: int, tmp_path: Path
) -> None:
    planted = plant(document(case.path), case.target, seed)
    assert len(planted.places) == COUNT
    session = open_session(write(tmp_path, json.dumps(planted.document)))
    found = survey(take_columns(session))
    assert set(MAKERS) == {kind for index in planted.places for kind in kinds_of(found, index)} & set(MAKERS)
    first = [index for index, _ in order(found, LIMIT)]
    assert planted.moved[case.target] in first
    assert not set(first) & set(planted.places)
    ordinary = planted.moved[case.ordinary]
    assert kinds_of(found, ordinary) == []
    worth = found.scores()
    aborts = [index for index, kind in planted.places.items() if kind == "aborted"]
    assert aborts
    assert worth[ordinary] > max(worth[index] for index in aborts)


def kinds_of(found: Survey, index: int) -> list[str]:
    return list(marked(found.columns.marks[index]))


def test_the_same_seed_plants_the_same() -> None:
    first, second, other = (plant(document(EXAMPLE), 144, seed) for seed in (1, 1, 2))
    assert json.dumps(first.document) == json.dumps(second.document)
    assert first.places != other.places


# ---- small sessions ----------------------------------------------------------------------------------------------

SMALL: list[tuple[str, list[Stored], int]] = [
    ("one message", [user("hello")], 1),
    ("only the user's turns", [user("a"), user("b"), user("no, c")], 3),
    ("only answers", [assistant("a"), assistant("b")], 2),
    ("no times", [user("a", time={}), call(FAILS, time={}), user("b", time={}), assistant("c", time={})], 4),
    ("nothing found", [user("a"), call(), assistant("b")], 3),
]


@pytest.mark.parametrize(("messages", "count"), [pytest.param(m, count, id=name) for name, m, count in SMALL])
def test_a_small_session_has_its_list_too(tmp_path: Path, messages: list[Stored], count: int) -> None:
    session = open_session(write(tmp_path, export(*messages)))
    found = find_targets(session)
    assert sorted(target.index for target in found) == list(range(count))
    assert found == find_targets(open_session(write(tmp_path, export(*messages))))


NO_MESSAGES: list[Any] = [None, [], "str", {"info": None}, {"info": {"role": "alien", "id": 7}, "parts": []}]


@pytest.mark.parametrize("entry", [pytest.param(entry, id=json.dumps(entry)) for entry in NO_MESSAGES])
def test_an_entry_that_is_no_message_is_neither_listed_nor_counted(entry: Any, tmp_path: Path) -> None:
    stored = export(user("a"), call(), call(FAILS), assistant("b"))
    stored["messages"] += [entry, entry]
    session = open_session(write(tmp_path, stored))
    found = survey(take_columns(session))
    assert sorted(target.index for target in find_targets(session)) == [0, 1, 2, 3]
    assert find_targets(session, kinds=["unfinished"]) == ()
    assert dict(found.trouble.setbacks) == {2: "call-failed"}
    assert list(found.trouble.detours) == [(2, 4, 1)]


def test_an_answer_that_only_has_no_end_is_a_message(tmp_path: Path) -> None:
    session = open_session(write(tmp_path, export(user("a"), assistant(finish=None, time={"created": BEGIN}))))
    assert find_targets(session, kinds=["unfinished"])[0].index == 1


# ---- the reason --------------------------------------------------------------------------------------------------


def reason(folder: Path, messages: Sequence[Stored], index: int) -> str:
    session = open_session(write(folder, export(*json.loads(json.dumps(list(messages))))))
    return next(target.says for target in find_targets(session, len(messages)) if target.index == index)


LIMIT_HIT = "exceeding timeout 9 ms"
CALM = [call(command_of("a")), call(command_of("b")), call(command_of("c"))]
REASONS: list[tuple[str, list[Stored], int, str]] = [
    ("aborted", [user("a"), *CALM * 4, aborted(time={"created": BEGIN, "completed": BEGIN + 2000}), user("b")], 13,
     r"The turn was interrupted, 2\.0 s after this answer began; .*the user's turn came next \(message 14\)"),
    ("aborted, no end", [user("a"), aborted(time={"created": BEGIN}), user("b")], 1, r"The turn was interrupted; "),
    ("failed command", [user("a"), *CALM, call(command_of("x", 3)), assistant("b"), user("c")], 4,
     r"A command failed with exit code 3; in a detour from message 4 to 5, 18\.0 s of work, with 1 failure \(message 4\); "),
    ("nudge", [user("a"), *CALM, call(FAILS), assistant("b"), user("go on"), call()], 6,
     r"The user says no more than “go on”; 1 failure \(message 4\) in the 30 messages before; in a detour "),
    ("the only one", [user("a"), *CALM, assistant(), user("b"), assistant("c")], 4,
     r"The model's answer is empty, .*\(message 5\); the only message of 7 with empty-completion\."),
    ("one of many", [user("a"), *CALM, call(FAILS), call(FAILS), user("b")], 4, r"; one of 2 with command-failed\."),
    ("compaction that cut", [user("a"), *CALM, COMPACTION, SUMMARY, call()], 4,
     r"A compaction was asked for right after tool calls; "),
    ("compaction between turns", [user("a"), assistant("b"), COMPACTION, SUMMARY, user("c")], 2,
     r"A compaction was asked for[;.]"),
    ("subagent", [user("a"), *CALM * 4, call(tool("task", input={"prompt": "b"}, metadata={"sessionId": "ses_1"})),
     meanwhile(14, "c")], 13,
     r"Work was delegated to a subagent; .*the user spoke before the turn was over 1 message later"),
    ("subagent that failed", [user("a"), *CALM,
     call(tool("task", status="error", error="gone", input={"prompt": "b"}, metadata={"sessionId": "ses_1"})),
     call(tool("edit", status="error", error="gone"))], 4, r"Work was delegated to a subagent, and the call failed; "),
    ("a tool's error", [user("a"), *CALM, call(tool("edit", status="error", error="gone")), *CALM], 4,
     r"A tool call failed \(edit\); "),
    ("the endpoint", [user("a"), *CALM, assistant(error={"name": "APIError", "data": {"message": "busy"}}), user("b")],
     4, r"The model call ended in an error of the endpoint \(APIError\); "),
    ("the user breaks in", [user("a"), *CALM, meanwhile(4, "crashed\nagain"), call()], 4,
     r"The user spoke before the turn was over: “crashed again”; the user's turn came 4 messages earlier \(message 0\)\.$"),
    ("the user's turn", [user("a"), assistant("b"), user("x" * 100), assistant("c")], 2, r"The user's turn: “x{59}…”"),
    ("a turn without words", [user("a"), assistant("b"), user(), assistant("c")], 2, r"The user's turn: nothing typed"),
    ("a plan", [user("a"), *CALM, call(text("Then  so:"), LISTS)], 4, r"An answer that writes a todo list: “Then so:”"),
    ("an answer", [user("a"), *CALM], 1, r"An answer with 1 tool call; the user's turn came 1 message earlier \(message 0\)"),
    ("first success", [user("a"), *CALM, call(FAILS), call(FAILS), call()], 6,
     r"A call worked whose command or file had failed before \(messages 4 and 5\); "),
    ("a command of its own", [user("a"), call(FAILS), assistant("b"), user("c"), call(FAILS), assistant("d"),
     user("e"), call(), *CALM], 7, r"A call worked whose command or file had failed before \(messages 1 and 4\); "),
    ("first of many", [user("a"), *CALM, *(call(command_of(name, 1)) for name in "xyz"), *CALM], 4,
     r"; the first of 3 failures \(messages 4, 5 and 6\)"),
    ("first of one command's", [user("a"), *CALM, call(FAILS), call(FAILS), call()], 4,
     r"; the first of 2 messages in which one command or file failed \(messages 4 and 5\)"),
    ("of several sorts", [user("a"), *CALM, call(FAILS), aborted(), user("continue"), call(command_of("y"))], 7,
     r"in a detour from message 4 to 7, 27\.0 s of work, with 1 failure and 1 interruption \(messages 4 and 5\)\.$"),
    ("more than are named", [user("a"), *(call(command_of(name, 1)) for name in "wxyz"), call()], 5,
     r"^The first command or edit that worked after the last of 4 failures \(messages 1 to 4\)[.;]"),
    ("near the first success", [user("a"), *CALM * 8, *(call(command_of(name, 1)) for name in "xyz"), call(), user("b")], 29,
     r"a command or edit worked after the last of 3 failures \(messages 25, 26 and 27\), 1 message earlier \(message 28\)"),
    ("near the first setback", [user("a"), *CALM * 4, *(call(command_of(name, 1)) for name in "xyz")], 12,
     r"the first of 3 failures \(messages 13, 14 and 15\) came 1 message later \(message 13\)"),
    ("near a correction", [user("a"), *CALM * 4, assistant("b"), user("OK, please Revert that"), call()], 15,
     r"the user wrote “Revert” 1 message earlier \(message 14\)"),
    ("near a turn after a setback", [user("a"), *CALM * 4, call(FAILS), user("b"), call()], 15,
     r"the user's turn came after the setback of message 13, 1 message earlier \(message 14\)"),
    ("an open end", [user("a"), *CALM, call(tool(status="running")), call()], 5,
     r"1 open end \(message 4\) in the 30 messages before"),
    ("a time limit", [user("a"), call(tool(output=f"<bash_metadata>{LIMIT_HIT}</bash_metadata>", metadata={})), call()], 1,
     r"^A call \(bash\) ran into its time limit \(“exceeding timeout 9 ms”\)[.;]"),
    ("a call that was stopped", [user("a"), call(tool("read", status="error", error="Tool execution aborted")), call()],
     1, r"^A call \(read\) was interrupted \(“Tool execution aborted”\)[.;]"),
    ("subagent beside another failure", [user("a"), call(
        tool("task", input={"prompt": "b"}, metadata={"sessionId": "ses_1"}), FAILS)], 1, r"^(?!.*and the call failed)"),
    ("two of a command in a long detour", [user("a"), call(FAILS), call(FAILS), user("b"), call(FAILS), user("c"), call()],
     4, r"its command or file failed in messages 1, 2 and 4 and worked in message 6, 36\.0 s of work"),
    ("an answer without a finding", [user("a"), call(meta := command_of("b")), meanwhile(2), call(meta)], 2,
     r"^(?!.*(?:of its kind|one of|only))"),
    ("the harness", [user("a"), call(), user(text("Go on", synthetic=True)), call()], 2,
     r"A message put in by the harness"),
    ("no work measured", [user("a", time={}), call(command_of("x", 1), time={}), assistant("b", time={})], 1,
     r"in a detour from message 1 to 2, with 1 failure \(message 1\)"),
]  # fmt: skip  # a table


@pytest.mark.parametrize(
    ("messages", "index", "pattern"), [pytest.param(m, index, pattern, id=name) for name, m, index, pattern in REASONS]
)
def test_the_reason_says_what_was_counted(tmp_path: Path, messages: list[Stored], index: int, pattern: str) -> None:
    assert re.search(pattern, reason(tmp_path, messages, index)), reason(tmp_path, messages, index)


HEADS: dict[str, str] = {
    "output-truncated": "The harness cut the output of a call",
    "empty-output": "A call returned nothing",
    "repeated-call": "A call repeats one of the five before it",
    "command-failed": "A command failed with exit code 2",
    "tool-error": "A tool call failed (edit)",
    "reverted": "This message was undone later",
}


@pytest.mark.parametrize("kind", HEADS)
def test_what_was_asked_for_is_said_first(kind: Any, tmp_path: Path) -> None:
    odd = call(
        tool(output="", metadata={"exit": 2, "truncated": True}),
        tool("edit", status="error", error="gone", input={"filePath": "b"}),
        tool(output="", metadata={"exit": 2, "truncated": True}),
    )
    given = export(user("a"), call(), odd, assistant("b"), revert={"messageID": "msg_0002"})
    says = find_targets(open_session(write(tmp_path, given)), kinds=[kind])[0].says
    assert says.startswith((f"{HEADS[kind]};", f"{HEADS[kind]}.")), says
    assert not re.search(r" with (?!" + kind + r")[a-z]+-[a-z]+\b", says), says


def test_a_reason_is_one_line_and_not_too_long() -> None:
    for target in find_targets(open_session(str(EXAMPLE)), 171):
        assert len(target.says) <= LONGEST, target
        assert target.says.isprintable()
        assert target.says.endswith(".")


# ---- the command -------------------------------------------------------------------------------------------------


def test_the_command_prints_the_contract() -> None:
    ran = run("targets", str(EXAMPLE), "--json", "--limit", "3")
    assert (ran.code, ran.err) == (0, "")
    rows = json.loads(ran.out)
    assert [set(row) for row in rows] == [{"index", "id", "score", "kinds", "says"}] * 3
    found = find_targets(open_session(str(EXAMPLE)), 3)
    assert [Target(**row) for row in rows] == list(found)


def test_a_line_a_message_for_a_pipe() -> None:
    lines = run("targets", str(EXAMPLE)).out.splitlines()
    assert len(lines) == LIMIT
    assert re.match(
        r" 1  144  2026-02-16 14:48:25  \[aborted\]  The turn was interrupted, 2\.0 s after this answer began; ",
        lines[0],
    )
    assert lines[9].startswith("10  ")
    assert any(re.match(r" \d  143  [-\d]{10} [:\d]{8}  The user spoke", line) for line in lines)


def test_a_message_without_a_time(tmp_path: Path) -> None:
    path = write(tmp_path, export(user("a", time={})))
    assert run("targets", path).out == "1  0  no time              The user's turn: “a”.\n"


@pytest.mark.parametrize("width", [80, 40, 6])
def test_a_terminal_gets_lines_of_its_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_columns", lambda: width)
    out = run("targets", str(EXAMPLE)).out
    assert max(map(len, out.splitlines())) <= width
    whole = " ".join(out.split())
    if width == 80:
        assert find_targets(open_session(str(EXAMPLE)))[0].says in whole


def test_only_messages_of_the_kinds_asked_for() -> None:
    rows = json.loads(run("targets", str(EXAMPLE), "--json", "--kind", "aborted, gap").out)
    assert {row["index"] for row in rows} == {38, 144}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param("reverted", "--kind reverted: no message has this finding", id="one"),
        pytest.param("cut-off,reverted", "--kind cut-off,reverted: no message has one of these findings", id="two"),
    ],
)
def test_no_message_of_a_kind_is_said_and_no_error(given: str, said: str) -> None:
    ran, listed = (run("targets", str(EXAMPLE), *more, "--kind", given) for more in (["--json"], []))
    assert (ran.code, json.loads(ran.out), ran.lines) == (0, [], [f"narrate: {said}"])
    assert (listed.code, listed.out, listed.lines) == (0, "", [f"narrate: {said}"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--kind", "aborted,abort"], r"--kind aborted,abort: .*'abort'; there are empty-completion, .*model-switch$", id="no such kind"),
        pytest.param(["--kind", ""], r"no kind of finding is called ''", id="no kind at all"),
        pytest.param(["--limit", "0"], "--limit 0: a whole number of at least 1$", id="none"),
        pytest.param(["--limit", "many"], "--limit many: a whole number of at least 1$", id="no number"),
        pytest.param(["--limit", "9" * 5000], "9: a whole number of at least 1$|--limit 9{900}", id="a huge one"),
    ],
)  # fmt: skip  # a table
def test_what_cannot_be_asked_for_is_one_line(words: list[str], expected: str) -> None:
    ran = run("targets", str(EXAMPLE), *words)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.lines) == 1
    assert re.search(expected, ran.lines[0])


def test_an_empty_name_is_named() -> None:
    ran = run("targets", "")
    assert (ran.code, ran.out) == (2, "")
    assert ran.lines == ["narrate: SESSION '': an empty name; give a recording: a file, a .gz, or - for stdin"]


def test_secrets_are_masked_unless_asked_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path, export(user("sk-proj-" + "Ab1" * 16)))
    assert "«secret:" in run("targets", path).out
    assert "sk-proj-Ab1" in run("targets", path, "--no-redact").out
