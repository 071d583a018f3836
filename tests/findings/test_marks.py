"""The kinds that hold for every message, without decoding any: exactly those that `diagnose` gives."""

from __future__ import annotations

import json
import random
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from recordings import (
    BEGIN,
    EXAMPLE,
    SHARED,
    STEP_START,
    assistant,
    export,
    reasoning,
    step_finish,
    text,
    user,
    write,
)

from narrator.findings import KINDS, Kind, diagnose, mark, marked, mask_of
from narrator.formats import open_session
from narrator.session import Session
from narrator.traits import RECENT_CALLS, traits_of

SESSIONS = [EXAMPLE, *sorted(SHARED.glob("sessions/opencode/gen*.json")), *sorted(SHARED.glob("cases/[0-6]*.json"))]
LARGE = sorted(SHARED.glob("sessions/essays/*.gz"))
ABORT = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}


def differing(session: Session) -> list[tuple[int, set[Kind]]]:
    masks = mark(session)
    found = ((k, set(marked(masks[k])) ^ {one.kind for one in diagnose(session, k)}) for k in range(len(session)))
    return [(k, kinds) for k, kinds in found if kinds]


def readable(path: Path) -> Session | None:
    from narrator.errors import SessionError

    try:
        return open_session(str(path))
    except SessionError:
        return None


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in SESSIONS])
def test_marks_are_what_diagnose_finds(path: Path) -> None:
    session = readable(path)
    assert session is None or differing(session) == []


@pytest.mark.skipif(not LARGE, reason="needs ../shared/sessions, not in the repository")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in LARGE])
def test_marks_are_what_diagnose_finds_in_large_sessions(path: Path) -> None:
    assert differing(open_session(str(path))) == []


def anything(chance: random.Random) -> dict[str, Any]:
    """A message in which anything may have happened."""
    if chance.random() < 0.25:
        words = chance.choice(["go on", "continue!", "no, use the other one", "", "done", '"ok"', "ok " * 80])
        parts = [text(words, **chance.choice([{}, {}, {"synthetic": True}]))]
        parts += [{"type": "compaction", "auto": True}] * (chance.random() < 0.2)
        parts += [{"type": "subtask", "description": "x"}] * (chance.random() < 0.1)
        return user(*parts, time={"created": BEGIN})
    state: dict[str, Any] = {
        "status": chance.choice(["completed"] * 6 + ["error", "running", "pending", "odd"]),
        "input": chance.choice(
            [{"command": "ls"}, {"command": "make", "n": 1}, {"n": 1, "command": "make"}, {}, None, "x"]
        ),
        "output": chance.choice(["ok", "", " \n", "(no output)", None, "x" * 200, [], {"a": 1}, "\x1b[0m"]),
        "metadata": chance.choice(
            [{"exit": 0}, {"exit": 2}, {"exit": None}, {"truncated": True}, {}, {"interrupted": True}]
        ),
        "time": chance.choice([{"start": 1, "end": 2}, {"start": 1, "end": 2, "compacted": 9}, {}]),
    }
    if state["status"] == "error":
        state["error"] = chance.choice(["Tool execution aborted", "bash was called with invalid arguments: x", "boom"])
    if chance.random() < 0.1:
        state["output"] = "a\n<bash_metadata>\nUser aborted the command\n</bash_metadata>"
    parts = [STEP_START] * (chance.random() < 0.7)
    parts += [text(chance.choice(["hello", "", " ", "\n\n"]))] * (chance.random() < 0.4)
    parts += [reasoning(chance.choice(["hm", ""]))] * (chance.random() < 0.3)
    parts += [
        {"type": "tool", "tool": chance.choice(["bash", "read", "task", "invalid"]), "state": state}
    ] * chance.choice([0, 1, 1, 2])
    parts += [step_finish(chance.choice(["stop", "length"]))] * (chance.random() < 0.5)
    return assistant(
        *parts,
        finish=chance.choice(["stop", "tool-calls", "length", "unknown", "content-filter", None, ""]),
        error=chance.choice(
            [None] * 8 + [ABORT, {"name": "APIError", "data": {"message": "no"}}, {"name": "MessageOutputLengthError"}]
        ),
        summary=chance.choice([None] * 8 + [True]),
        modelID=chance.choice(["large"] * 9 + ["small", None]),
        tokens=chance.choice([{"input": 1, "output": 2}, {"input": 0, "output": 0, "reasoning": 5}, None]),
        time=chance.choice([{"created": BEGIN, "completed": BEGIN + 5}, {"created": BEGIN}, {}, {"created": "x"}]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_marks_hold_for_any_session(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    messages = [anything(chance) for _ in range(60)]
    clock = 0
    for message in messages:
        clock += chance.choice([60_000] * 20 + [3_000_000])
        times = message["info"].get("time", {})
        message["info"]["time"] = {key: at + clock if isinstance(at, int) else at for key, at in times.items()}
    revert = {"revert": {"messageID": "msg_0050"}} if seed % 3 == 0 else {}
    session = open_session(write(tmp_path, export(*messages, version=chance.choice(["0.14.6", "1.18.33"]), **revert)))
    assert differing(session) == []


@pytest.mark.parametrize("seed", range(12))
def test_traits_are_those_of_the_messages_read_whole(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    session = open_session(write(tmp_path, json.dumps(export(*(anything(chance) for _ in range(60))))))
    recent: deque[Any] = deque(maxlen=RECENT_CALLS)
    assert list(session.traits) == [int(traits_of(session.message(k), recent)) for k in range(len(session))]


def test_a_mask_is_its_kinds_and_back() -> None:
    assert marked(mask_of("gap", "aborted")) == ("aborted", "gap")
    assert marked(mask_of(*KINDS)) == KINDS
    assert marked(0) == ()
