from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from opened import opened
from recordings import assistant, export, user

from narrator.assets import folders
from narrator.context import Reach, add_read, take_context
from narrator.errors import StyleError
from narrator.excerpt import take_excerpt
from narrator.fingerprint import fingerprint_context, fingerprint_style
from narrator.style import load_style


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(folders("prompts")["essay"], folder / "essay"))


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_the_same_style_elsewhere_has_the_same_fingerprint(tmp_path: Path) -> None:
    assert fingerprint_style(load_style(str(copied(tmp_path)))) == fingerprint_style(load_style("essay"))


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        pytest.param("style.toml", "# a remark\n", False, id="the manifest"),
        pytest.param("rules.md.j2", "One rule more.\n", False, id="a template of its own"),
        pytest.param("message.md.j2", "", False, id="one in place of a shared one"),
        pytest.param("notes.txt", "mine", True, id="what is no template"),
    ],
)
def test_a_changed_template_shows_under_the_same_version(name: str, text: str, same: bool, tmp_path: Path) -> None:
    folder = copied(tmp_path)
    add(folder / name, text)
    changed, original = load_style(str(folder)), load_style("essay")
    assert changed.version == original.version
    assert (fingerprint_style(changed) == fingerprint_style(original)) is same


def test_a_template_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    style = load_style(str(folder))
    (folder / "gone.md.j2").symlink_to("nowhere")
    with pytest.raises(StyleError, match=r"gone\.md\.j2: no such file"):
        fingerprint_style(style)


def test_the_evidence_s_fingerprint_is_of_all_that_was_given(tmp_path: Path) -> None:
    turns = [message for k in range(60) for message in (user(f"go on {k}"), assistant("word " * 50))]
    session = opened(tmp_path, export(*turns))
    small, again, large, other = (
        take_context(session, target, Reach(budget=budget))
        for target, budget in ((90, 1000), (90, 1000), (90, 3000), (92, 1000))
    )
    read = add_read(small, session, [take_excerpt(session, 20)])
    prints = [fingerprint_context(context) for context in (small, again, large, other, read)]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4
