"""Drafts that earlier versions wrote: they render, check and compare as if they were of today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console import run

from narrator.draft import load_draft

GOLDEN = Path(__file__).parent / "golden"
OLD = GOLDEN / "draft-schema-1.json"
"""Written by the last version that wrote schema 1, and the page it made of it beside."""


def test_an_old_draft_renders_to_the_bytes_it_rendered_to() -> None:
    ran = run("render", str(OLD), "--format", "md")
    page = OLD.with_suffix(".md").read_text("utf-8")
    assert ran.code == 0
    assert page.startswith(ran.out.partition("\n---\n")[0])


def test_as_a_file_too(tmp_path: Path) -> None:
    assert run("render", str(OLD), "-o", str(tmp_path / "a.md")).code == 0
    assert (tmp_path / "a.md").read_bytes() == OLD.with_suffix(".md").read_bytes()


def test_an_old_draft_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("check", str(OLD), "--json")
    assert (ran.code, json.loads(ran.out)["clean"]) == (0, True)


def test_what_was_set_is_told_from_what_was_sent() -> None:
    draft = load_draft(OLD)
    assert draft.model is not None
    assert (draft.settings, draft.model.settings) == ({"budget": 3000}, {"looked_up": 1})
    assert (draft.evidence_sha256, draft.style.prompt_sha256, draft.cost) == (None, None, None)
