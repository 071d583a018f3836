"""How full the context was before a compaction, and when a target began against its neighbours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, assistant, export, tool, user

from narrator.clock import pause
from narrator.context import take_context
from narrator.findings import diagnose

AUTO: dict[str, Any] = {"type": "compaction", "auto": True}
MANUAL: dict[str, Any] = {"type": "compaction", "auto": False}


def full(tokens: int, **more: Any) -> dict[str, Any]:
    """An answer with this many tokens going in, most of them from the cache."""
    cache = {"read": tokens - 10, "write": 7}
    return assistant("ok", tokens={"input": 3, "output": 5, "reasoning": 0, "cache": cache}, **more)


PRESSURE = [
    pytest.param(
        [user("go"), full(900), full(1000), user(AUTO), full(50, summary=True)],
        3,
        " The answer before it, message 2, had 1,000 tokens going in, and no other answer (summaries not counted)"
        " had more than 900 (message 1).",
        id="the only one",
    ),
    pytest.param(
        [user("go"), full(1000), user(AUTO), full(50, summary=True), full(700), full(1200), user(AUTO)],
        6,
        " The answer before it, message 5, had 1,200 tokens going in; before each of the session's 2 compaction requests"
        " it was 1,000 (message 1) to 1,200 (message 5), and no other answer (summaries not counted) had"
        " more than 700 (message 4).",
        id="two of them",
    ),
    pytest.param([user("go"), full(1000), user(MANUAL)], 2, "", id="a person asked for it"),
    pytest.param([user("go"), user(AUTO)], 1, "", id="no answer before it"),
    pytest.param([user("go"), assistant("x", tokens=None), user(AUTO)], 2, "", id="no tokens counted"),
    pytest.param([user(AUTO), full(10)], 0, "", id="the first message"),
]


@pytest.mark.parametrize(("messages", "index", "expected"), PRESSURE)
def test_how_full_the_context_was(tmp_path: Path, messages: list[dict[str, Any]], index: int, expected: str) -> None:
    found = diagnose(opened(tmp_path, export(*messages)), index)
    (request,) = [finding for finding in found if finding.kind == "compaction-request"]
    assert request.says.partition("compaction.")[2].partition(" In the next request")[0] == expected
    counted: dict[int, int] = {}
    for item in request.evidence:
        if item.field.startswith("tokens.") and isinstance(item.value, int):
            counted[item.index] = counted.get(item.index, 0) + item.value
    assert sorted(counted) == sorted({int(number) for number in re.findall(r"message (\d+)", expected)})
    assert all(f"{count:,}" in expected for count in counted.values())


def at(created: int, completed: int | None = None) -> dict[str, Any]:
    return {"created": BEGIN + created} | ({"completed": BEGIN + completed} if completed is not None else {})


TIMING = [
    pytest.param(
        at(2011, 9000),
        at(12_000),
        ("msg 2 began 11 ms after msg 1 had ended", "msg 3 was sent 3.0 s after msg 2 had ended"),
        id="both",
    ),
    pytest.param(at(2011), at(12_000), ("msg 2 began 11 ms after msg 1 had ended",), id="it has no end"),
    pytest.param(at(1500, 9000), at(8000), (), id="they overlap"),
]


@pytest.mark.parametrize(("own", "following", "expected"), TIMING)
def test_when_it_began_and_ended(
    tmp_path: Path, own: dict[str, Any], following: dict[str, Any], expected: tuple[str, ...]
) -> None:
    messages = [user("go"), assistant("a", time=at(0, 2000)), assistant("b", time=own), user("c", time=following)]
    assert take_context(opened(tmp_path, export(*messages)), 2).timing == expected


def test_a_turn_of_the_user_is_sent_and_an_answer_begins(tmp_path: Path) -> None:
    messages = [assistant("a", time=at(0, 2000)), user("go", time=at(2500)), assistant("b", time=at(3000, 3100))]
    session = opened(tmp_path, export(*messages))
    assert take_context(session, 1).timing == ("msg 1 was sent 500 ms after msg 0 had ended",)
    assert take_context(session, 0).timing == ("msg 1 was sent 500 ms after msg 0 had ended",)
    assert take_context(session, 2).timing == ()


def test_what_includes_tools_is_said_to(tmp_path: Path) -> None:
    messages = [assistant(tool(), time=at(0, 2000)), assistant(tool(), time=at(2500, 3000)), user("go", time=at(3021))]
    assert take_context(opened(tmp_path, export(*messages)), 1).timing == (
        "msg 1 began 500 ms after msg 0, its tools included, had ended",
        "msg 2 was sent 21 ms after msg 1, its tools included, had ended",
    )


@pytest.mark.parametrize(("ms", "said"), [(0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (64_000, "64.0 s")])
def test_pauses(ms: int, said: str) -> None:
    assert pause(ms) == said
