"""The benchmark of the checker: its plants are false, it finds what is found and no more, and its counts add up."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from recordings import EXAMPLE, assistant, export, user

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from planted import draw, measure, table  # noqa: E402  # found by the line above
from planted.essay import Essay  # noqa: E402
from planted.plant import HARD, MECHANICAL, SAYS, Plant  # noqa: E402
from planted.recording import Recording  # noqa: E402

ESSAYS = [essay for essay, _ in draw.read_essays("glm5")[0]]
PLANTS = [one for seed in (1, 2) for one in draw.draw_plants(ESSAYS, seed, 6)]
RAW: list[dict[str, Any]] = json.loads(EXAMPLE.read_text("utf-8"))["messages"]


def plain(text: str) -> str:
    """Letters and digits alone: what no mark, escape or line break can hide."""
    return re.sub(r"[^\w]+", "", text).lower()


def raw(index: int) -> str:
    return json.dumps(RAW[index], ensure_ascii=False).replace("\\n", " ").replace("\\t", " ")


def numbers(indices: Sequence[int]) -> set[str]:
    return {number.replace(",", "") for index in indices for number in re.findall(r"\d[\d,]*(?:\.\d+)?", raw(index))}


def cited(plant: Plant) -> list[int]:
    """Messages of the citation that closes the planted claim."""
    found = re.compile(r"\[msg ([\d, –-]+)\](?:–\[msg (\d+)\])?").search(plant.markdown, plant.places[0][0])
    assert found, plant
    indices: list[int] = []
    for part in found[1].split(","):
        first, last = ([int(end) for end in re.split("[–-]", part)] * 2)[:2]
        indices += range(first, int(found[2] or last) + 1)
    return indices


@pytest.mark.parametrize("kind", [*MECHANICAL, *HARD])
def test_every_kind_is_planted_in_the_essays_of_the_repository(kind: str) -> None:
    own = [one for one in PLANTS if one.kind == kind]
    assert own
    assert kind in SAYS
    assert all(one.proof for one in own)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda one: f"{one.kind} in {one.essay.name}")
def test_a_plant_changes_one_place_and_says_which(plant: Plant) -> None:
    clean, spoiled = plant.essay.markdown, plant.markdown
    assert spoiled != clean
    assert spoiled[: plant.start] == clean[: plant.start]
    assert spoiled[plant.start + len(plant.new) :] == clean[plant.end :]
    for start, end in plant.places:
        assert 0 <= start < end <= len(spoiled)
    first = plant.places[0]
    assert first[0] <= plant.start <= first[1]


FALSE = {
    "missing message": lambda one: int(one.new) >= len(RAW),
    "altered digit": lambda one: one.new.replace(",", "") not in numbers([k for k in cited(one) if k < len(RAW)]),
    "inflated count": lambda one: one.new not in numbers([k for k in cited(one) if k < len(RAW)]),
    "quotation from elsewhere": lambda one: (
        any(plain(one.new) in plain(raw(k)) for k in range(len(RAW)))
        and not any(plain(one.new) in plain(raw(k)) for k in cited(one))
    ),
    "spliced quotation": lambda one: not any(plain(one.new) in plain(raw(k)) for k in cited(one)),
    "invented path": lambda one: one.new.rpartition("/")[2] not in EXAMPLE.read_text("utf-8"),
    "wrong version": lambda one: not re.search(rf"(?<![\d.]){re.escape(one.new)}(?![\d])", EXAMPLE.read_text("utf-8")),
    "invented time": lambda one: one.new not in EXAMPLE.read_text("utf-8"),
    "swapped unit": lambda one: (
        not re.search(re.escape(one.markdown[slice(*one.places[1])]) + r"(?!\w)", " ".join(raw(k) for k in cited(one)))
    ),
}
"""What must hold of the raw recording, looked up with other code than the planter's."""


@pytest.mark.parametrize(
    "plant", [one for one in PLANTS if one.kind in FALSE], ids=lambda one: f"{one.kind} in {one.essay.name}"
)
def test_what_is_planted_is_not_in_the_recording(plant: Plant) -> None:
    assert FALSE[plant.kind](plant), plant.proof


@pytest.mark.parametrize(
    "plant", [one for one in PLANTS if one.kind == "wrong speaker"], ids=lambda one: one.essay.name
)
def test_the_planted_speaker_did_not_say_it(plant: Plant) -> None:
    words = plain(re.split("…", plant.markdown[slice(*plant.places[1])])[0])
    said = {k: plain(" ".join(part.get("text", "") for part in RAW[k]["parts"])) for k in cited(plant)}
    roles = {RAW[k]["info"]["role"] for k, text in said.items() if words in text}
    assert roles
    assert plant.new not in roles


@pytest.mark.parametrize(
    "plant", [one for one in PLANTS if one.kind == "citation off by one"], ids=lambda one: one.essay.name
)
def test_the_moved_citation_no_longer_bears_its_claim(plant: Plant) -> None:
    orphan = re.match(r"'(.*)' stands in message (\d+) and in none of \((.*)\)$|\"(.*)\" stands", plant.proof)
    assert orphan, plant.proof
    if orphan[1]:
        words = plain(re.split("…", orphan[1])[0])
        assert words in plain(raw(int(orphan[2])))
        assert not any(words in plain(raw(int(k))) for k in re.findall(r"\d+", orphan[3]) if len(words) > 6)


# ---- where nothing may be planted ----------------------------------------------------------------------------------


def small(markdown: str, *messages: dict[str, Any]) -> Essay:
    return Essay("small", markdown, Recording(export(*messages)), 0, "a test")


SAME = "The cache holds all forty files now."


@pytest.mark.parametrize(
    ("kind", "markdown", "messages"),
    [
        pytest.param(
            "citation off by one",
            f"The assistant wrote “{SAME}” [msg 1].\n",
            [user(SAME), assistant(SAME), assistant(SAME)],
            id="a neighbour that says the same bears the claim, too",
        ),
        pytest.param(
            "citation off by one",
            "The user asked, and the assistant answered [msg 1].\n",
            [user("go"), assistant("one"), assistant("two")],
            id="nothing in the claim tells the messages apart",
        ),
        pytest.param(
            "altered digit",
            "It took about 40 minutes [msg 1].\n",
            [user("go"), assistant("40 minutes")],
            id="a vague number is not exactly false when it changes",
        ),
        pytest.param(
            "wrong speaker",
            f"The assistant wrote “{SAME}” [msg 0, 1].\n",
            [user(SAME), assistant(SAME)],
            id="both said it",
        ),
        pytest.param(
            "dropped negation",
            "The assistant wrote “it is not done yet” [msg 1].\n",
            [user("go"), assistant("it is not done yet. Or: it is done yet.")],
            id="the words stand there without the negation as well",
        ),
        pytest.param("missing message", "Nothing is cited here.\n", [user("go")], id="no citation"),
    ],
)
def test_nothing_is_planted_that_would_be_true(kind: str, markdown: str, messages: list[dict[str, Any]]) -> None:
    essay = small(markdown, *messages)
    assert [one.proof for seed in range(8) for one in draw.PLANTERS[kind](essay, Random(seed))] == []


def test_a_neighbour_that_says_something_else_is_planted() -> None:
    essay = small(f"The assistant wrote “{SAME}” [msg 1].\n", user("go"), assistant(SAME), assistant("Other words."))
    planted = {one.markdown for seed in range(8) for one in draw.PLANTERS["citation off by one"](essay, Random(seed))}
    assert planted == {f"The assistant wrote “{SAME}” [msg {k}].\n" for k in (0, 2)}


# ---- what counts as found ----------------------------------------------------------------------------------------


def failure(span: tuple[int, int], kind: str = "figure-not-found") -> dict[str, Any]:
    return {"kind": kind, "span": list(span), "text": "", "says": "", "cites": []}


def report(*failures: dict[str, Any]) -> dict[str, Any]:
    counts = {"citations": 5, "quotations": 3, "figures": 4, "derived": 1, "unjudged": 2, "failed": len(failures)}
    return {"clean": not failures, "counts": counts, "failures": list(failures)}


def answers(*spoiled: list[dict[str, Any]], clean: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    given = {f"{essay.name}.md": report(*clean) for essay in ESSAYS}
    return given | {f"plant-{number:04}.md": report(*failures) for number, failures in enumerate(spoiled)}


def test_a_failure_on_the_place_has_found_it_and_one_beside_it_has_not() -> None:
    found = answers(*([failure(one.places[0])] for one in PLANTS))
    assert all(verdict.found for verdict in measure.judge(PLANTS, found))
    beside = answers(*([failure((len(one.markdown) + 1, len(one.markdown) + 9))] for one in PLANTS))
    assert not any(verdict.found for verdict in measure.judge(PLANTS, beside))
    silent = answers(*([] for _ in PLANTS))
    assert not any(verdict.found for verdict in measure.judge(PLANTS, silent))


def test_what_is_charged_of_the_clean_essay_too_has_found_nothing() -> None:
    one = next(plant for plant in PLANTS if plant.kind == "altered digit")
    span = one.start, one.end
    known = answers([failure(one.moved(span))], clean=[failure(span)])
    assert not measure.judge([one], known)[0].found
    other = answers([failure(one.moved(span), "quote-altered")], clean=[failure(span)])
    assert measure.judge([one], other)[0].found


def test_found_by_a_kind_that_does_not_fit_is_found_but_not_named_aptly() -> None:
    one = next(plant for plant in PLANTS if plant.kind == "missing message")
    verdict = measure.judge([one], answers([failure(one.places[0], "uncited")]))[0]
    assert verdict.found
    assert not verdict.apt


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(50, 100, 0.4038, 0.5962), (0, 10, 0.0, 0.2775), (95, 100, 0.8882, 0.9785), (0, 0, 0.0, 1.0)],
    ids=["half", "none of ten", "95 of 100", "nothing drawn"],
)
def test_the_interval_is_wilsons(hits: int, total: int, low: float, high: float) -> None:
    assert table.wilson(hits, total) == pytest.approx((low, high), abs=1e-4)


def test_the_rows_of_the_table_add_up() -> None:
    half = answers(*([failure(one.places[0])] if number % 2 else [] for number, one in enumerate(PLANTS)))
    rows = [line.split("|") for line in table.kinds_table(measure.judge(PLANTS, half))][2:]
    counted = {row[1].strip(): (int(row[2]), int(row[3])) for row in rows}
    mechanical = [counted[kind] for kind in MECHANICAL]
    assert counted["**all mechanical kinds**"] == tuple(map(sum, zip(*mechanical, strict=True)))
    assert counted["**all**"] == (len(PLANTS), len(PLANTS) // 2)


def test_accusations_are_counted_against_what_was_judged() -> None:
    rows = list(table.clean_table(ESSAYS, answers(clean=[failure((0, 3)), failure((5, 9))])))
    assert f"| **both** | {len(ESSAYS)} | {10 * len(ESSAYS)} | {2 * len(ESSAYS)} | 20.0 %" in rows[-1]


# ---- the benchmark as a whole --------------------------------------------------------------------------------------


def test_the_manifest_has_every_essay_half_of_them_by_a_strong_writer() -> None:
    folder = BENCHMARKS / "planted" / "essays"
    entries = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert {entry["essay"] for entry in entries} == {path.name for path in folder.glob("*.md")}
    assert Counter(entry["writer"] for entry in entries) == {"strong": 12, "offline": 12}
    assert len({(entry["session"], entry["target"]) for entry in entries}) >= 12
    assert len({entry["session"] for entry in entries}) >= 8


def test_only_the_stopwatch_knows_the_product() -> None:
    for path in (BENCHMARKS / "checker.py", *(BENCHMARKS / "planted").glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert any(name.split(".")[0] == "narrator" for name in modules) == (path.name == "speed.py"), path


def test_one_command_plants_checks_and_prints(tmp_path: Path) -> None:
    missed = tmp_path / "missed.txt"
    command = [sys.executable, str(BENCHMARKS / "checker.py"), "--only", "offline-glm5-144", "--each", "1"]
    run = subprocess.run([*command, "--misses", str(missed)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    drawn = re.search(r"1 clean essays over 1 targets in 1 sessions, (\d+) planted errors", run.stdout)
    assert drawn
    row = re.search(r"^\| \*\*all\*\* \| (\d+) \| (\d+) \|", run.stdout, re.MULTILINE)
    assert row
    assert row[1] == drawn[1]
    assert len(re.findall(r"^MISSED", missed.read_text("utf-8"), re.MULTILINE)) == int(row[1]) - int(row[2])
