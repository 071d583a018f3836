"""A model's calls: whatever it writes is answered, with what it asked for or with one line that says how to ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opened import opened
from recordings import export, user

from narrator.lookup import Bounds, Lookups
from narrator.model.tools import TOOLS, answer_call

HOW = 'call read_messages with {"indices": [12, 13]} or search_session with {"text": "words"}'
NO_NUMBERS, NO_TEXT, NO_TOOL = (
    f"error: {what}; {HOW}" for what in ("no numbers of messages", "no text to search for", "there is no such tool")
)


def lookups_in(folder: Path, **bounds: int) -> Lookups:
    session = opened(folder, export(*[user(f"word {number}") for number in range(60)]))
    return Lookups(session, "12345678", Bounds(**bounds))


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        pytest.param("read_messages", '{"indices": [3, 5]}', [3, 5], id="numbers"),
        pytest.param("read_messages", '{"indices": ["3", "[msg 5]"]}', [3, 5], id="numbers as text"),
        pytest.param("read_messages", '{"indices": 3}', [3], id="one number"),
        pytest.param("read_messages", '{"indices": "3, 5-7"}', [3, 5, 6, 7], id="a list with a range in one text"),
        pytest.param("read_messages", '{"indices": "7-5"}', [], id="a range that goes back"),
        pytest.param("read_messages", '{"messages": [3]}', [3], id="under another name"),
        pytest.param("read_messages", "[3, 5]", [3, 5], id="without a name"),
        pytest.param("functions.read_messages", '{"indices": [3]}', [3], id="with a prefix"),
        pytest.param("search_session", '{"text": "WORD 41"}', [41], id="a text"),
        pytest.param("search_session", '{"query": "word 41"}', [41], id="a text under another name"),
        pytest.param("search_session", '"word 41"', [41], id="a bare text"),
    ],
)
def test_a_call_is_answered(name: str, arguments: str, shown: list[int], tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    told = answer_call(name, arguments, lookups)
    assert [excerpt.index for excerpt in lookups.read] == shown
    assert [f"[msg {index}] user\n" in told for index in shown] == [True] * len(shown)
    assert lookups.made == bool(shown)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        pytest.param("read_file", '{"path": "/etc/passwd"}', NO_TOOL, id="a tool that is not there"),
        pytest.param("", "{}", NO_TOOL, id="a call without a name"),
        pytest.param("read_messages", "", NO_NUMBERS, id="no arguments"),
        pytest.param("read_messages", '{"indices": [3', NO_NUMBERS, id="arguments that are cut"),
        pytest.param("read_messages", '{"indices": []}', NO_NUMBERS, id="no numbers"),
        pytest.param("read_messages", '{"indices": null}', NO_NUMBERS, id="nothing for numbers"),
        pytest.param("read_messages", '{"indices": [true, 3.5, {}]}', NO_NUMBERS, id="what is no number"),
        pytest.param("read_messages", '{"a": [1], "b": [2]}', NO_NUMBERS, id="two other names"),
        pytest.param("read_messages", "[" * 5000, NO_NUMBERS, id="arguments nested without end"),
        pytest.param("read_messages", json.dumps({"indices": list(range(9000))}), NO_NUMBERS, id="arguments without end"),
        pytest.param("search_session", '{"text": " "}', NO_TEXT, id="a blank text"),
        pytest.param("search_session", '{"text": ["a"]}', NO_TEXT, id="a list for a text"),
        pytest.param("search_session", "null", NO_TEXT, id="nothing for a text"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_answered_with_one_line(name: str, arguments: str, told: str, tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    assert answer_call(name, arguments, lookups) == told
    assert (lookups.read, lookups.made) == ((), 0)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        pytest.param('{"indices": [3, 5], "around": "word  5"}', [5], id="a text"),
        pytest.param('{"indices": [3, 5], "around": " "}', [3, 5], id="a blank text"),
        pytest.param('{"indices": [3, 5], "around": 5}', [3, 5], id="no text"),
        pytest.param('{"indices": [3, 5], "around": null}', [3, 5], id="nothing"),
    ],
)
def test_messages_are_read_round_a_text(arguments: str, shown: list[int], tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    answer_call("read_messages", arguments, lookups)
    assert [excerpt.index for excerpt in lookups.read] == shown


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"indices": "0-999999999"}', id="a range without end"),
        pytest.param('{"indices": [' + ", ".join(map(str, range(1000))) + "]}", id="a long list"),
        pytest.param('{"indices": [123456789012345678901234567890]}', id="a number without end"),
    ],
)
def test_numbers_without_end_are_a_few(arguments: str, tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    told = answer_call("read_messages", arguments, lookups)
    assert len(lookups.read) <= 8
    assert len(told) < 2000


def test_a_text_without_end_is_searched_for_in_part(tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path)
    assert "no message was found" in answer_call("search_session", json.dumps({"text": "nope " * 1000}), lookups)


def test_when_the_bound_is_reached_nothing_more_is_read(tmp_path: Path) -> None:
    lookups = lookups_in(tmp_path, tokens=100)
    told = answer_call("read_messages", '{"indices": [3]}', lookups)
    assert told == "error: the bound of what can be looked up is reached; write the essay from what you have"
    assert lookups.read == ()


def test_the_tools_are_defined_as_chat_completions_wants_them() -> None:
    for tool in TOOLS:
        function = tool["function"]
        assert (tool["type"], set(tool)) == ("function", {"type", "function"})
        assert set(function) == {"name", "description", "parameters"}
        assert set(function["parameters"]["properties"]) - {"around"} == set(function["parameters"]["required"])
    assert [tool["function"]["name"] for tool in TOOLS] == ["read_messages", "search_session"]
