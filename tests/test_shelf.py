"""What is kept for the next run: found again, never trusted when anything differs, never needed, no text in it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from recordings import assistant, export, tool, user, write

from narrator import blocks, shelf
from narrator.context import as_json, take_context
from narrator.findings import mark
from narrator.formats import open_session, opencode
from narrator.session import Session
from narrator.shelf import cache_folder, open_shelf
from narrator.source import read_source

SECRET_WORDS = "the capital of nowhere"


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "LEAST", 1)


def talk(count: int = 40) -> dict[str, Any]:
    turns = [
        user(f"go {k} {SECRET_WORDS}") if k % 9 == 0 else assistant("x", tool(), tool("read")) for k in range(count)
    ]
    turns[5] = assistant(finish="stop", parentID="msg_0000")
    return export(*turns)


def kept() -> list[Path]:
    return sorted(cache_folder().iterdir()) if cache_folder().is_dir() else []


def known(session: Session) -> list[Any]:
    """Everything that a session says, asked in the order in which a run asks."""
    context = take_context(session, 9)
    return [session.skims, list(session.calls.subjects), session.calls.outcomes, list(session.traits), list(mark(session)),
            session.positions, session.sha256, as_json(context, session), session.skims.doubled]  # fmt: skip


def test_a_second_run_finds_what_the_first_kept_and_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3000)
    path = write(tmp_path, talk())
    first = known(open_session(path))
    assert {file.suffix for file in kept()} >= {".skims", ".traits"}
    monkeypatch.setattr(opencode.FORMAT.take_block, "__code__", (lambda *_: 1 / 0).__code__)
    assert known(open_session(path)) == first


def test_nothing_recorded_is_in_it(tmp_path: Path) -> None:
    session = open_session(write(tmp_path, talk()))
    known(session)
    data = b"".join(file.read_bytes() for file in kept())
    assert b"msg_0007" in data
    assert b"acme/large" in data
    assert SECRET_WORDS.encode() not in data
    assert b"Fix the flaky test" not in data


@pytest.mark.parametrize(
    "id_", [pytest.param("sk-ant-api03-" + "aB3" * 20, id="a key"), pytest.param("a\x1b[31mb", id="a colour")]
)
def test_an_id_that_has_to_be_cleaned_is_not_kept(tmp_path: Path, id_: str) -> None:
    document = talk()
    document["messages"][3]["info"]["id"] = id_
    session = open_session(write(tmp_path, document))
    assert id_ not in session.skims.ids
    assert not [file for file in kept() if file.suffix == ".skims"]


def _touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _edit_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"go 9 ", b"no 9 "))


def _replace(path: Path) -> None:
    about, data = path.stat(), path.read_bytes().replace(b"flaky", b"shaky")
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize("change", [_touch, _edit_in_place, _replace, _append])
def test_a_file_that_changed_is_read_again(tmp_path: Path, change: Any) -> None:
    path = write(tmp_path, talk())
    known(open_session(path))
    before = read_source(path)
    assert open_shelf(before, "a").get("skims") is None
    change(Path(path))
    assert open_shelf(read_source(path), opencode_salt()).get("skims") is None
    known(open_session(path))
    assert open_shelf(read_source(path), opencode_salt()).get("skims") is not None


def opencode_salt() -> str:
    from narrator.kept import SALT

    return SALT


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-1], id="a byte short"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="a bit turned"),
        pytest.param(lambda data: b"x" + data[1:], id="of another version"),
        pytest.param(lambda data: data[:20], id="its head alone"),
    ],
)
def test_a_damaged_entry_is_none(tmp_path: Path, damage: Any) -> None:
    path = write(tmp_path, talk())
    first = known(open_session(path))
    for file in kept():
        file.write_bytes(damage(file.read_bytes()))
    assert known(open_session(path)) == first


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, talk())
    monkeypatch.setenv("NARRATE_CACHE_DIR", str(tmp_path / "session.json" / "no folder"))
    assert len(open_session(path).skims) == 40
    monkeypatch.setenv("NARRATE_CACHE_DIR", str(tmp_path / "cache"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert len(open_session(path).skims) == 40
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_nobody_used_for_long_is_removed_and_what_is_used_stays(tmp_path: Path) -> None:
    cache_folder().mkdir(parents=True, exist_ok=True)
    old, young = cache_folder() / "old.skims", cache_folder() / "young.skims"
    for file, days in ((old, 61), (young, 59)):
        file.write_bytes(b"x")
        os.utime(file, (time.time() - days * 86_400,) * 2)
    path = write(tmp_path, talk())
    known(open_session(path))
    assert (old.exists(), young.exists()) == (False, True)
    for file in kept():
        os.utime(file, (0, 0))
    known(open_session(path))
    assert any(file.stat().st_mtime > time.time() - 60 for file in kept())


@pytest.mark.parametrize("name", ["-", "s.json.gz"])
def test_what_is_no_plain_file_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    import gzip
    import io
    import sys

    data = json.dumps(talk()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    path = name if name == "-" else write(tmp_path, gzip.compress(data), name)
    assert len(open_session(path).skims) == 40
    assert kept() == []


def test_a_small_file_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "LEAST", 1 << 20)
    assert len(open_session(write(tmp_path, talk())).skims) == 40
    assert kept() == []


def test_the_cache_folder_is_the_users_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NARRATE_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "narrate"
