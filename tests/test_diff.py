from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from console import run
from test_draft import FULL, a_draft

from narrator import comparison
from narrator.cli import diff as command
from narrator.cli.screen import Screen, width
from narrator.comparison import Comparison, compare_drafts
from narrator.draft import Draft, Essay, StyleRef, save_draft

ONE = "# A\n\nThe cat sat on the mat [msg 3].\n\n## Context\n\nIt was cold that day [msg 3].\n\n```\nx\n\ny\n```\n\n## End\n\nSo."
OTHER = "# A\n\nThe cat lay on the mat [msg 3].\n\n## Setting\n\nNobody knew why.\n\n## End\n\nSo."


def drafted(text: str, **more: Any) -> Draft:
    return a_draft(essay=Essay(written=text, final=text), **more)


def texts(found: Comparison) -> list[tuple[str, str]]:
    return [("".join(p.text for p in row.left), "".join(p.text for p in row.right)) for row in found.rows]


def test_paragraphs_stand_beside_what_is_most_like_them() -> None:
    assert texts(compare_drafts(drafted(ONE), drafted(OTHER))) == [
        ("# A", "# A"),
        ("The cat sat on the mat [msg 3].", "The cat lay on the mat [msg 3]."),
        ("## Context", ""),
        ("It was cold that day [msg 3].", ""),
        ("```\nx\n\ny\n```", ""),
        ("", "## Setting"),
        ("", "Nobody knew why."),
        ("## End", "## End"),
        ("So.", "So."),
    ]


def test_words_of_one_side_are_marked() -> None:
    row = compare_drafts(drafted(ONE), drafted(OTHER)).rows[1]
    assert [piece.text for piece in row.left if piece.changed] == ["sat"]
    assert [piece.text for piece in row.right if piece.changed] == ["lay"]
    assert row.differs


def test_every_paragraph_is_shown_once_on_its_side() -> None:
    found = texts(compare_drafts(drafted(ONE), drafted(OTHER)))
    for side, essay in ((0, ONE), (1, OTHER)):
        assert re.sub(r"\s", "", "".join(pair[side] for pair in found)) == re.sub(r"\s", "", essay)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        pytest.param(FULL, FULL, set(), id="the same"),
        pytest.param(drafted("A."), drafted("A.", settings={"budget": 1}), {"settings"}, id="a setting"),
        pytest.param(
            drafted("A."), drafted("A.", style=StyleRef(name="essay", version="1", prompt_sha256="ab")), {"style"},
            id="a template under the same version",
        ),
        pytest.param(
            a_draft(), FULL, {"style", "model", "settings", "sent", "evidence", "tokens", "cost", "check"}, id="nearly all"
        ),
    ],
)  # fmt: skip
def test_what_differs_beside_the_text(one: Draft, other: Draft, differ: set[str]) -> None:
    found = compare_drafts(one, other)
    assert {fact.name for fact in found.facts if fact.differs} == differ
    assert found.differs is bool(differ)


def test_a_text_that_differs_differs() -> None:
    assert compare_drafts(drafted("A."), drafted("B.")).differs


def test_very_long_essays_are_paired_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_MOST_PAIRS", 1)
    assert texts(compare_drafts(drafted(ONE), drafted("# A\n\nB."))) == [
        ("# A", "# A"), ("The cat sat on the mat [msg 3].", "B."), ("## Context", ""),
        ("It was cold that day [msg 3].", ""), ("```\nx\n\ny\n```", ""), ("## End", ""), ("So.", ""),
    ]  # fmt: skip


@pytest.fixture
def saved(tmp_path: Path) -> tuple[str, str]:
    save_draft(drafted(ONE), tmp_path / "a.json")
    save_draft(drafted(OTHER, settings={"budget": 3000}), tmp_path / "b.json")
    return str(tmp_path / "a.json"), str(tmp_path / "b.json")


def test_through_a_pipe_it_is_one_side_under_the_other(saved: tuple[str, str]) -> None:
    ran = run("diff", *saved)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(f"--- {saved[0]}\n+++ {saved[1]}\n  session: Fix it (ses_a, abababab)\n")
    assert "- settings: none\n+ settings: budget 3000\n" in ran.out
    assert "\n- The cat [-sat-] on the mat [msg 3].\n+ The cat {+lay+} on the mat [msg 3].\n" in ran.out
    assert "\n- ```\n- x\n- \n- y\n- ```\n" in ran.out
    assert ran.out.endswith("\n  ## End\n\n  So.\n")


def test_nothing_differs_is_exit_0(saved: tuple[str, str]) -> None:
    ran = run("diff", saved[0], saved[0])
    assert (ran.code, ran.err) == (0, "")
    assert not re.search(r"^[-+] ", ran.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("gone.json", "no such file or directory", id="no file"),
        pytest.param("text.json", "not a draft: it is not JSON", id="no draft"),
    ],
)
def test_what_is_no_draft_is_exit_2(name: str, says: str, saved: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("x", "utf-8")
    ran = run("diff", saved[0], str(tmp_path / name))
    assert (ran.code, ran.out, len(ran.lines)) == (2, "", 1)
    assert says in ran.err


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            {"session": FULL.session.model_copy(update={"id": "ses_b"})}, "about different sessions", id="sessions"
        ),
        pytest.param(
            {"target": FULL.target.model_copy(update={"index": 4})}, "different messages, 3 and 4", id="messages"
        ),
    ],
)
def test_different_matters_are_said_to_be(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    save_draft(drafted("A."), tmp_path / "a.json")
    save_draft(drafted("A.", **changes), tmp_path / "b.json")
    ran = run("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert ran.code == 1
    assert says in ran.err
    assert ran.out.endswith("\n  A.\n")


def test_as_json(saved: tuple[str, str]) -> None:
    told = json.loads(run("diff", *saved, "--json").out)
    assert told["differs"] is True
    assert [fact["name"] for fact in told["facts"] if fact["differs"]] == ["settings", "words"]
    assert told["rows"][0] == {"differs": False, "left": "# A", "right": "# A"}


@pytest.mark.parametrize("columns", [24, 61, 80])
@pytest.mark.parametrize("colours", [True, False])
def test_columns_keep_to_the_screen(columns: int, colours: bool) -> None:
    found = compare_drafts(drafted(ONE + "\n\n日本語" * 9), drafted(OTHER, settings={"budget": 1}))
    lines = list(command._columns(found, ("a.json", "b.json"), Screen(columns, colours)))
    plain = [command._COLOUR.sub("", line) for line in lines]
    assert max(map(width, plain)) <= columns
    assert all(" │" in line for line in plain)
    assert ("\x1b[" in "".join(lines)) is colours
    assert ("[-sat-]" in "".join(plain)) is not colours or columns == 24


def test_on_a_terminal_there_are_two_columns(saved: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_width_of_terminal", lambda: 80)
    ran = run("diff", *saved)
    assert ran.code == 1
    assert "The cat [-sat-] on the mat [msg 3].    │ The cat {+lay+} on the mat [msg 3]." in ran.out


def test_controls_in_an_essay_are_shown_as_marks(tmp_path: Path) -> None:
    save_draft(drafted("A \x1b[2J b."), tmp_path / "a.json")
    assert "\x1b" not in run("diff", str(tmp_path / "a.json"), str(tmp_path / "a.json")).out
