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
        if item.field.endswith(".output") and finding.kind == "tool-aborted":
            assert str(item.value) in stored, item  # the words that say so, at the end of a long output
        else:
            assert item.value == stored, (finding, item, stored)
            assert isinstance(item.value, bool) == isinstance(stored, bool), item
        compared += 1
    return compared


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
    compared = sum(check(finding, messages) for index in looked_at(path) for finding in diagnose(session, index))
    assert bool(compared) != (path.name in QUIET)


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
