"""What findings say, held against the recordings: every evidence field is read again from the raw JSON.

The reader here knows nothing of the product's: a path is followed from the message's `info`, else from its root, and
`finish` is the last step's reason where the message has none of its own. Values may differ in two ways only: control
characters shown as marks (`sanitize.plain`), and masked secrets, which are left alone.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from recordings import EXAMPLE, SHARED

from narrator.findings import RULES, Finding, Kind, diagnose
from narrator.formats import open_session
from narrator.milestones import find_milestones
from narrator.sanitize import plain

ESSAYS = SHARED / "sessions" / "essays"
SMALL = sorted((SHARED / "sessions" / "opencode").glob("gen_*.json"))
CASES = sorted((SHARED / "cases").glob("1[0-9]-*.json"))
TARGETS = {"ct200-11162": 11162, "eagle3-4347": 4347, "glm5-144": 144}
EVERY, NEAR = 37, 40
"""Of a long session every 37th message is looked at, and 40 on each side of the target."""
QUIET = {
    "gen_1.18.33_scenarioA.subagent.json",
    *("13-legacy-shapes.json", "14-duplicate-ids.json", "15-ids-sort-wrong-way.json"),
}
"""Recordings in which nothing is found."""
_MISSING = object()
STOPPED = re.compile(r"User aborted the command|exceed(?:ing|ed) timeout .*")
"""The words at the end of a long output that say that its command was stopped: evidence holds them alone."""


def read(message: dict[str, Any], path: str) -> Any:
    """The value at a path such as `parts[2].state.metadata.exit`; None where nothing is recorded."""
    steps = [int(place) if place else name for name, place in re.findall(r"(\w+)|\[(\d+)\]", path)]
    for root in (message.get("info"), message):
        value: Any = root
        for step in steps:
            value = follow(value, step)
        if value is not _MISSING:
            return value
    if path == "finish":
        reasons = [part.get("reason") for part in message["parts"] if part.get("type") == "step-finish"]
        return reasons[-1] if reasons else None
    return None


def follow(value: Any, step: int | str) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else _MISSING
    return value.get(step, _MISSING) if isinstance(value, dict) else _MISSING


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("time.created", 7),
        ("error.data.message", "no"),
        ("parts[0].text", "a"),
        ("parts[1].state.metadata.exit", None),
        ("parts[1].state.metadata.gone", None),
        ("parts[9].text", None),
        ("summary", None),
        ("finish", "stop"),
    ],
)
def test_the_reader_of_paths(path: str, expected: Any) -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "tool", "state": {"metadata": {"exit": None}}},
        {"type": "step-finish", "reason": "tool-calls"},
        {"type": "step-finish", "reason": "stop"},
    ]
    assert (
        read({"info": {"time": {"created": 7}, "error": {"data": {"message": "no"}}}, "parts": parts}, path) == expected
    )


@lru_cache(maxsize=1)  # the largest takes half a gigabyte
def recorded(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    messages: list[dict[str, Any]] = json.loads(text)["messages"]
    return messages


def check(finding: Finding, messages: list[dict[str, Any]]) -> int:
    """Compare a finding's evidence with the recording; gives how many fields were compared."""
    assert finding.evidence, finding
    compared = 0
    for item in finding.evidence:
        stored = read(messages[item.index], item.field)
        if isinstance(stored, str):
            stored = plain(stored)
        if isinstance(item.value, str) and "«secret:" in item.value:
            continue
        if item.field.endswith(".output") and STOPPED.fullmatch(str(item.value)):
            assert str(item.value) in stored, item  # the words that say so, at the end of a long output
        else:
            assert item.value == stored, (finding, item, stored)
            assert isinstance(item.value, bool) == isinstance(stored, bool), item
        compared += 1
    return compared


def ids(messages: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, message in enumerate(messages):
        found.setdefault(str((message.get("info") or {}).get("id")), index)
    return found


def check_names(finding: Finding, named: dict[str, int]) -> None:
    """Every message that a sentence names is the finding's own, or one that its evidence is of or points at."""
    proved = {finding.index, *(item.index for item in finding.evidence)}
    proved |= {named[item.value] for item in finding.evidence if isinstance(item.value, str) and item.value in named}
    ours = re.sub("“[^”]*”", "", finding.says)
    assert {int(number) for number in re.findall(r"[Mm]essage (\d+)", ours)} <= proved, finding


# ---- the sentences on causes, derived again from the raw JSON by other means


def again_turn(messages: list[dict[str, Any]], own: int, before: int) -> None:
    """Directly after it in the same turn: the same parent, only what the user typed between, and trouble in it."""
    assert messages[own]["info"].get("parentID") == messages[before]["info"].get("parentID")
    assert all(message["info"]["role"] == "user" for message in messages[before + 1 : own])
    states = [part["state"] for part in messages[before]["parts"] if part["type"] == "tool"]
    tools = [part["tool"] for part in messages[before]["parts"] if part["type"] == "tool"]
    assert (
        "invalid" in tools
        or messages[before]["info"].get("error")
        or any(state["status"] == "error" or (state.get("metadata") or {}).get("exit") != 0 for state in states)
    )


def again_running(messages: list[dict[str, Any]], sent: int, running: int) -> None:
    assert messages[running]["info"]["role"] == "assistant"
    times = messages[running]["info"]["time"]
    assert times["created"] < messages[sent]["info"]["time"]["created"] < times["completed"]


def again_next_call(messages: list[dict[str, Any]], own: int, following: int) -> None:
    """The next message that a model was asked for."""

    def asked(message: dict[str, Any]) -> bool:
        tokens = message["info"].get("tokens") or {}
        counted = any([tokens.get("input"), *(tokens.get("cache") or {}).values()])
        parts = [part["type"] for part in message["parts"]]
        answered = "step-start" in parts and not {"text", "tool", "reasoning"}.isdisjoint(parts)
        return message["info"]["role"] == "assistant" and (counted or bool(read(message, "finish")) or answered)

    assert next(index for index in range(own + 1, len(messages)) if asked(messages[index])) == following


SHELLS = ("bash", "shell", "powershell")
OFTEN = re.compile(
    r"(?:Since its last recorded success, in (?P<success>this message|message \d+), )?"
    r"(?:the same command|one of these commands) had failed (?:once|(?P<times>[\d,]+) times) before, "
    r"(?:all of them |first )?in (?P<first>this message|message \d+)(?: and last in (?P<last>this message|message \d+))?"
    r"(?:; no success of it before that is recorded in this session)?\.",
    re.IGNORECASE,
)


def ended(state: dict[str, Any]) -> bool | None:
    """Whether a stored call is recorded to have succeeded; None where neither is recorded."""
    exit_ = (state.get("metadata") or {}).get("exit", 0)
    if state["status"] == "error":
        return None if state.get("error") == "Tool execution aborted" else False
    return None if state["status"] != "completed" or exit_ is None else exit_ == 0


@lru_cache(maxsize=1)
def courses(path: Path) -> dict[str, list[tuple[int, int, bool]]]:
    """Command → (message, place of the part, whether it succeeded), over the whole recording."""
    found: dict[str, list[tuple[int, int, bool]]] = {}
    for index, message in enumerate(recorded(path)):
        for place, part in enumerate(message["parts"]):
            given = part["state"].get("input") if part["type"] == "tool" and part["tool"] in SHELLS else None
            command = given.get("command") if isinstance(given, dict) else None
            if isinstance(command, str) and (good := ended(part["state"])) is not None:
                found.setdefault(command.strip(), []).append((index, place, good))
    return found


def often(path: Path, own: int) -> set[tuple[int | None, int, int, int]]:
    """Of every failed command of a message: its last success, failures since, and the first and last of these."""
    told = set()
    for course in courses(path).values():
        for number, (index, _, good) in enumerate(course):
            if index == own and not good:
                before = course[:number]
                success = max((at for at, (*_, good) in enumerate(before) if good), default=None)
                failed = [at for at, *_ in before[0 if success is None else success + 1 :]]
                if failed:
                    told.add((None if success is None else before[success][0], len(failed), failed[0], failed[-1]))
    return told


def derive_failures(finding: Finding, path: Path) -> int:
    """Hold what is said of earlier failures of a command against the whole recording, also where nothing is said."""
    said, told = OFTEN.search(finding.says), often(path, finding.index)
    if finding.says.startswith("The command ended") or not told:
        assert bool(said) == bool(told), (finding, told)
    if said is None:
        return 0
    success, first, last = (
        None if (name := said[group]) is None else finding.index if name == "this message" else int(name.split()[1])
        for group in ("success", "first", "last")
    )
    times = int((said["times"] or "1").replace(",", ""))
    assert (success, times, first, first if last is None else last) in told, (finding, told)
    assert times == max(count for _, count, *_ in told) or len(told) > 4
    assert (success is None) == ("no success of it" in finding.says)
    return 1


def again_turn_after(messages: list[dict[str, Any]], own: int, turn: int) -> None:
    """The user's next turn by time: typed, and none typed between the message's beginning and it."""
    begun = messages[own]["info"]["time"]["created"]

    def typed(message: dict[str, Any]) -> bool:
        texts = [part for part in message["parts"] if part["type"] == "text" and not part.get("synthetic")]
        return message["info"]["role"] == "user" and bool(texts)

    sent = {index: message["info"]["time"]["created"] for index, message in enumerate(messages) if typed(message)}
    assert min((time, index) for index, time in sent.items() if time >= begun)[1] == turn


AGAIN: list[tuple[str, Any]] = [
    (r"It comes directly after message (\d+) of the same turn", again_turn),
    (r"It was sent while message (\d+) was still running", again_running),
    (r"the next recorded model call is message (\d+)\)", again_next_call),
    (r"The user's next turn is message (\d+), sent", again_turn_after),
]


def derive_causes(finding: Finding, messages: list[dict[str, Any]]) -> int:
    """Hold what a finding says of causes against the raw JSON; gives how many sentences were."""
    derived = 0
    for pattern, derive in AGAIN:
        if said := re.search(pattern, finding.says):
            derive(messages, finding.index, int(said[1]))
            derived += 1
    if "The next message is the user's" in finding.says:
        again_turn_after(messages, finding.index, finding.index + 1)
        derived += 1
    if said := re.search(r"Message (\d+), which it answers, was sent while message (\d+) was", finding.says):
        assert messages[finding.index]["info"]["parentID"] == messages[int(said[1])]["info"]["id"]
        again_running(messages, int(said[1]), int(said[2]))
        derived += 1
    return derived


def check_milestone(says: str, path: Path, own: int) -> None:
    """A first success has none before it; another one has one before the failures it names."""
    named = [int(number) for number in re.findall(r"\d+", re.sub(r" and [\d,]+ more", "", says))]
    more = int((re.findall(r" and (\d+) more", says) or ["0"])[0])
    told = []
    for course in courses(path).values():
        for number, (index, _, good) in enumerate(course):
            if index == own and good:
                before = course[:number]
                success = max((at for at, (*_, good) in enumerate(before) if good), default=None)
                failed = sorted({at for at, *_ in before[0 if success is None else success + 1 :]})
                told.append((success is None, failed))
    first = says.startswith("first success")
    assert any(
        first == never and set(named) <= set(failed) and named[0] == failed[0] and len(named) + more == len(failed)
        for never, failed in told
        if failed
    ), (own, says, told)


def looked_at(path: Path) -> list[int]:
    """All of a short session; of a long one a sample, what is near the target, and where another model took over."""
    messages = recorded(path)
    count = len(messages)
    if count < 400:
        return list(range(count))
    target = next(index for stem, index in TARGETS.items() if path.name.startswith(stem))
    models = [
        (index, message["info"]["modelID"]) for index, message in enumerate(messages) if "modelID" in message["info"]
    ]
    switches = {new for (_, before), (new, after) in pairwise(models) if before != after}
    return sorted({*range(0, count, EVERY), *range(max(0, target - NEAR), min(count, target + NEAR)), *switches})


def essay_sessions() -> list[Path]:
    return sorted(path for path in ESSAYS.glob("*.json*"))


EVERY_SESSION = [EXAMPLE, *SMALL, *CASES, *essay_sessions()]


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in EVERY_SESSION])
def test_every_evidence_field_is_what_is_recorded(path: Path) -> None:
    session, messages = open_session(str(path)), recorded(path)
    named, compared = ids(messages), 0
    for finding in (finding for index in looked_at(path) for finding in diagnose(session, index)):
        compared += check(finding, messages)
        check_names(finding, named)
    assert bool(compared) != (path.name in QUIET)


CAUSED = {"gen_1.1.65_scenarioA.json": 2, "gen_1.18.33_scenarioB_abort_compaction.json": 7, EXAMPLE.name: 3}
"""Recordings in which something is said of causes, and how many sentences at least."""


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in (EXAMPLE, *SMALL, *essay_sessions())])
def test_what_is_said_of_causes_is_derived_again(path: Path) -> None:
    session, messages = open_session(str(path)), recorded(path)
    failed = {index for index, message in enumerate(messages) if '"exit": 0' not in json.dumps(message["parts"])}
    places = {*looked_at(path), *sorted(failed)[:1500]}
    found = [finding for index in sorted(places) for finding in diagnose(session, index)]
    derived = sum(derive_causes(finding, messages) for finding in found)
    derived += sum(derive_failures(finding, path) for finding in found if finding.kind == "command-failed")
    assert derived >= CAUSED.get(path.name, 10 if len(messages) > 400 else 0)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in (EXAMPLE, *essay_sessions())])
def test_the_successes_of_a_command_are_derived_again(path: Path) -> None:
    session, checked = open_session(str(path)), 0
    for milestone in find_milestones(session):
        says = milestone.named(session)
        if milestone.step in ("first", "again") and " command " in says:
            check_milestone(says, path, milestone.index)
            checked += 1
    assert checked >= (20 if len(session) > 400 else 0)


@pytest.mark.skipif(not SMALL, reason="the recorded sessions of ../shared are not here")
def test_nearly_every_kind_is_seen_in_a_recording() -> None:
    seen = set()
    for path in EVERY_SESSION:
        session = open_session(str(path))
        seen |= {finding.kind for index in looked_at(path) for finding in diagnose(session, index)}
    assert set(get_args(Kind)) - seen == {"reverted"}


def contract() -> list[str]:
    """The closed list as the command line's contract has it."""
    page = (SHARED / "design" / "cli.md").read_text("utf-8")
    rows = page.partition("### Kinds of finding")[2].partition("\n## ")[0]
    firsts = [row.split("|")[1] for row in rows.splitlines() if row.startswith("| `")]
    return [kind for first in firsts for kind in re.findall(r"`([a-z-]+)`", first)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the contract of ../shared is not here")
def test_the_kinds_are_those_of_the_contract() -> None:
    assert sorted(contract()) == sorted(get_args(Kind))


def test_every_kind_has_a_rule_and_every_rule_a_kind() -> None:
    assert sorted(rule.__name__.replace("_", "-") for rule in RULES) == sorted(get_args(Kind))


# ------------------------------------------------------------------------------- what is known of the essays' sessions

FACTS: list[tuple[str, str, int, set[str]]] = [
    ("ct200-11162", "F01 F02 no parts, aborted, no tokens", 11162, {"aborted"}),
    ("ct200-11162", "F03 F05 bash {} stopped while it was written, no finish", 11161, {"tool-aborted", "cut-off"}),
    ("ct200-11162", "F09 exit code 1", 11158, {"command-failed"}),
    ("ct200-11162", "T04 no exit 0: what was refused or stopped never ran", 11160, set()),
    ("ct200-11162", "F06 the user's continue", 11163, {"user-nudge"}),
    ("ct200-11162", "T08 the plan is resumed, nothing odd", 11164, set()),
    ("ct200-11162", "T10 an option chosen with one digit is no nudge", 11136, set()),
    ("eagle3-4347", "F01 T01 automatic compaction, no empty message", 4347, {"compaction-request"}),
    ("eagle3-4347", "F02 T04 a compaction summary", 4348, {"compaction-summary"}),
    ("eagle3-4347", "F03 T05 synthetic", 4349, {"synthetic"}),
    ("eagle3-4347", "F04 T06 tool-calls, nothing odd", 4346, set()),
    ("eagle3-4347", "F08 a user's word that is no go-on word", 4334, set()),
    ("glm5-144", "F01 F02 T12 aborted, no provider error", 144, {"aborted"}),
    ("glm5-144", "F08 T02 the sleep completed with exit 0", 142, set()),
    ("glm5-144", "F05 T06 dose is no done", 143, set()),
    ("glm5-144", "F06 done", 145, {"user-nudge"}),
]


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the recorded sessions of ../shared are not here")
@pytest.mark.parametrize(
    ("name", "index", "expected"), [pytest.param(name, index, kinds, id=f"{name} {says}") for name, says, index, kinds in FACTS]
)  # fmt: skip
def test_facts_of_the_essays_sessions(name: str, index: int, expected: set[str]) -> None:
    session = open_session(str(next(path for path in essay_sessions() if path.name.startswith(name))))
    assert {finding.kind for finding in diagnose(session, index)} == expected


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the recorded sessions of ../shared are not here")
def test_every_metadata_fact_is_in_the_table_above() -> None:
    for name in TARGETS:
        rows = (ESSAYS / f"FACTS-{name}.tsv").read_text("utf-8").splitlines()
        facts = [row.split("\t") for row in rows[1:]]
        stated = {fact[0] for fact in facts if fact[1] == "metadata"}
        elsewhere = {"ct200-11162": {"F04", "F29"}, "glm5-144": {"F03", "F04"}}.get(name, set())
        told = {word for told_of, says, *_ in FACTS if told_of == name for word in says.split() if word[0] == "F"}
        assert stated <= told | elsewhere, stated - told
