"""Where drafts lie: the same answers from a folder, from memory, and from an S3 server on loopback."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from narrator.batch.store import Folder, Store, identity_at, keep_draft, now_at, open_store
from narrator.context import SessionRef, TargetRef
from narrator.draft import Draft, Essay, StyleRef, Times, draft_path, dump_draft, identity_of, read_draft
from narrator.errors import DraftError


def a_draft(words: str = "Whole [msg 3].", **changes: Any) -> Draft:
    facts: dict[str, Any] = {
        "session": SessionRef(format="opencode", id="ses_a", title="Fix it", file="a.json", sha256="ab" * 32),
        "target": TargetRef(index=3, id="msg_3", role="assistant"),
        "style": StyleRef(name="essay", version="1"),
        "essay": Essay(written=words, final=words),
        "times": Times(started="2026-01-01T00:00:00Z", finished="2026-01-01T00:00:01Z"),
    }
    return Draft(**(facts | changes))


# ---- what every place does -----------------------------------------------------------------------------------------


def at(store: Store, name: str = "3-essay.json") -> str:
    return store.join(store.join(store.place, "fix-it-1"), name)


def test_nothing_is_there_before_something_is_written(store: Store) -> None:
    path = at(store)
    assert not store.exists(path)
    assert store.read(path) is None
    assert store.written(path) is None
    assert store.names(store.join(store.place, "fix-it-1")) == ()
    assert not store.renew(path, "text")
    store.remove(path)
    assert not store.exists(path)


def test_what_is_written_is_read_again_and_replaced_whole(store: Store) -> None:
    path = at(store)
    store.write(path, "a long first text «ü»\n")
    store.write(path, "short\n")
    assert store.read(path) == b"short\n"
    assert store.exists(path)


def test_a_file_is_made_once(store: Store) -> None:
    path = at(store)
    assert store.create(path, "first")
    assert not store.create(path, "second")
    assert store.read(path) == b"first"
    store.remove(path)
    assert store.create(path, "third", flush=False)


def test_of_several_that_make_one_file_at_once_one_does(store: Store) -> None:
    path, start = at(store), threading.Barrier(8)

    def make(k: int) -> bool:
        start.wait()
        return store.create(path, f"by {k}")

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(8)))
    assert made.count(True) == 1
    assert store.read(path) == f"by {made.index(True)}".encode()


def test_the_names_in_a_folder_are_sorted_and_those_below_it_are_not_told(store: Store) -> None:
    for name in ("9-essay.json", "10-essay.json", "3-essay-abcdef.claim"):
        store.write(at(store, name), "x")
    assert store.names(store.join(store.place, "fix-it-1")) == ("10-essay.json", "3-essay-abcdef.claim", "9-essay.json")
    assert store.names(store.place) == ("fix-it-1",)
    assert store.names(at(store)) == () or store.names(at(store)) == ("3-essay.json",)


def test_another_machine_sees_what_was_written_after_it_looked(store: Store) -> None:
    other = open_store(store.place)
    assert other.names(store.join(store.place, "fix-it-1")) == ()
    assert not other.exists(at(store))
    store.write(at(store), "new")
    assert other.exists(at(store))
    assert other.names(store.join(store.place, "fix-it-1")) == ("3-essay.json",)


def test_a_renewed_file_counts_as_written_now(store: Store) -> None:
    path = at(store)
    store.create(path, "claim")
    before = store.written(path)
    assert before is not None
    time.sleep(1.1)  # S3 tells whole seconds
    assert store.renew(path, "claim")
    after = store.written(path)
    assert after is not None
    assert after > before
    assert store.read(path) == b"claim"


def test_the_clock_of_the_place_is_read_off_what_is_written_there(store: Store) -> None:
    assert abs(now_at(store) - time.time()) < 2
    assert store.names(store.place) == ()


def test_a_place_that_can_be_written_is_found_out_and_left_as_it_was(store: Store) -> None:
    assert store.check()
    assert store.names(store.place) == ()


# ---- drafts --------------------------------------------------------------------------------------------------------


def test_a_draft_is_saved_where_it_belongs_and_read_again(store: Store) -> None:
    draft = a_draft()
    assert keep_draft(store, draft, at(store)) == at(store)
    text = store.read(at(store))
    assert text is not None
    assert read_draft(text, "it") == draft
    assert text.decode() == dump_draft(draft)
    assert identity_at(store, at(store)) == identity_of(draft)


def test_another_essay_that_came_meanwhile_stays_and_this_one_goes_beside_it(store: Store) -> None:
    other = a_draft(settings={"budget": 3000})
    keep_draft(store, other, at(store))
    mine = a_draft()
    beside = at(store, f"3-essay-{identity_of(mine)[:6]}.json")
    assert keep_draft(store, mine, at(store)) == beside
    assert identity_at(store, at(store)) == identity_of(other)
    assert keep_draft(store, mine, beside) == beside


def test_the_very_essay_that_came_meanwhile_stays_and_this_one_is_dropped(store: Store) -> None:
    keep_draft(store, a_draft("The first [msg 3]."), at(store))
    assert keep_draft(store, a_draft("The second [msg 3]."), at(store)) == at(store)
    assert store.names(store.join(store.place, "fix-it-1")) == ("3-essay.json",)
    assert b"The first" in (store.read(at(store)) or b"")


def test_a_draft_is_replaced_where_that_is_asked_for(store: Store) -> None:
    keep_draft(store, a_draft("The first [msg 3]."), at(store))
    assert keep_draft(store, a_draft("The second [msg 3]."), at(store), replace=True) == at(store)
    assert b"The second" in (store.read(at(store)) or b"")


def test_what_is_no_draft_is_not_overwritten(store: Store) -> None:
    mine = a_draft()
    beside = at(store, f"3-essay-{identity_of(mine)[:6]}.json")
    store.write(at(store), "notes")
    assert identity_at(store, at(store)) is None
    assert keep_draft(store, mine, at(store)) == beside
    store.write(beside, "more notes")
    with pytest.raises(DraftError, match="something else stands there and beside it"):
        keep_draft(store, mine, at(store))
    assert store.read(at(store)) == b"notes"


# ---- a folder ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["", "file://", "local://"], ids=["a path", "file", "local"])
def test_a_folder_is_a_path_or_its_address(scheme: str, tmp_path: Path) -> None:
    store = open_store(f"{scheme}{tmp_path}")
    assert isinstance(store, Folder)
    assert store.join(store.place, "a.json") == str(tmp_path / "a.json")


def test_a_draft_in_a_folder_is_named_as_the_single_call_names_it(tmp_path: Path) -> None:
    store, draft = open_store(str(tmp_path)), a_draft()
    path = draft_path(tmp_path, "fix-it-1", 3, "essay", identity_of(draft))
    assert keep_draft(store, draft, str(path)) == at(store)


def test_a_file_that_was_removed_does_not_come_back_when_it_is_renewed(tmp_path: Path) -> None:
    store = Folder(str(tmp_path))
    store.create(at(store), "claim")
    store.remove(at(store))
    assert not store.renew(at(store), "claim")
    assert not store.exists(at(store))


@pytest.mark.parametrize("act", ["names", "read", "renew", "remove", "written"])
def test_what_the_system_refuses_names_the_path(act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Folder(str(tmp_path))
    path = at(store)

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    for name in ("listdir", "utime"):
        monkeypatch.setattr(os, name, refuse)
    for name in ("read_bytes", "unlink", "stat"):
        monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(DraftError, match=r"3-essay\.json: permission denied"):
        getattr(store, act)(*((path, "claim") if act == "renew" else (path,)))


def test_a_place_below_a_file_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    store = Folder(str(tmp_path / "file"))
    assert store.names(store.place) == ()
    assert store.read(at(store)) is None
    assert store.written(at(store)) is None
    with pytest.raises(DraftError, match="is not a folder"):
        store.check()


# ---- an address ----------------------------------------------------------------------------------------------------


def test_an_address_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("narrator.batch.remote.importlib.import_module", absent)
    with pytest.raises(DraftError, match=r"s3://b/drafts need another package: pip install 'narrate\[remote\]'"):
        open_store("s3://b/drafts")


def test_an_address_of_no_known_kind_says_so() -> None:
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")
    with pytest.raises(DraftError, match=r"cannot open nowhere://b: .*nowhere"):
        open_store("nowhere://b")


def test_an_error_of_the_client_is_one_line_with_the_path(bucket: str) -> None:
    store = open_store("s3://no-such-bucket-at-all/drafts")
    with pytest.raises(DraftError, match=r"cannot write s3://no-such-bucket-at-all/drafts/.*bucket"):
        store.check()
    assert bucket


def test_errors_of_a_client_that_are_no_oserror_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")

    class ClientTrouble(Exception):  # noqa: N818
        pass

    def fail(*_: Any, **__: Any) -> Any:
        raise ClientTrouble("no credentials\nwere found")

    store = open_store("memory://b")
    monkeypatch.setattr(store._files, "cat_file", fail)  # type: ignore[attr-defined]
    with pytest.raises(ClientTrouble):
        store.read("memory://b/a.json")
    client = ModuleType("aiohttp")
    client.ClientError = ClientTrouble  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiohttp", client)
    with pytest.raises(DraftError, match=r"memory://b/a\.json: no credentials were found"):
        store.read("memory://b/a.json")


def test_a_place_that_makes_a_file_twice_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")
    store = open_store("memory://careless")
    careless = store._files.pipe_file  # type: ignore[attr-defined]
    monkeypatch.setattr(store._files, "pipe_file", lambda path, data, **_: careless(path, data))  # type: ignore[attr-defined]
    assert not store.check()
    assert store.names(store.place) == ()


@pytest.mark.parametrize(
    ("conflicts", "expected"),
    [
        pytest.param(1, True, id="once"),
        pytest.param(3, True, id="three times"),
        pytest.param(9, None, id="always"),
    ],
)
def test_a_put_that_meets_another_at_the_same_moment_is_tried_again(
    conflicts: int, expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")
    store = open_store(f"memory://busy-{conflicts}")
    put, left = store._files.pipe_file, [conflicts]  # type: ignore[attr-defined]

    def busy(path: str, data: bytes, mode: str = "overwrite") -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(5, "it is busy") from RuntimeError("An error occurred (ConditionalRequestConflict)")
        put(path, data, mode=mode)

    monkeypatch.setattr(store._files, "pipe_file", busy)  # type: ignore[attr-defined]
    if expected is None:
        with pytest.raises(DraftError, match="it is busy"):
            store.create(at(store), "x")
    else:
        assert store.create(at(store), "x") is expected
    left[0] = 0
    assert store.exists(at(store)) is bool(expected)


def test_another_error_of_a_put_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")
    store, tried = open_store("memory://refusing"), []

    def refuse(path: str, _data: bytes, mode: str) -> None:
        tried.append((path, mode))
        raise PermissionError(13, "Access Denied")

    monkeypatch.setattr(store._files, "pipe_file", refuse)  # type: ignore[attr-defined]
    with pytest.raises(DraftError, match=r"cannot write memory://refusing/fix-it-1/3-essay\.json: access denied"):
        store.create(at(store), "x")
    assert len(tried) == 1
