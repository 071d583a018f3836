"""What lies beside each other in a drafts folder: drafts of this version and of earlier ones, torn files, marks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from narrator.asking import Manner
from narrator.batch.job import Job, Outcome, State
from narrator.batch.saved import Failure, Marks, Place, Shelf, identity_in, mark_path, read_mark
from narrator.batch.store import open_store
from narrator.draft import ModelRef, StyleRef, identity, read_draft
from narrator.draft import identity_of as identity_by_draft

SHA = "a" * 64
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def document(**more: Any) -> dict[str, Any]:
    """A small draft as it lies on the disk."""
    return {
        "schema": 2,
        "session": {"format": "opencode", "id": "s", "title": "t", "file": "f", "sha256": SHA},
        "target": {"index": 3, "id": "m", "role": "user"},
        "style": {"name": "essay", "version": "2"},
        "model": {"name": "m", "base_url": "http://h/v1", "settings": {"stream": True}},
        "settings": {"length": 300},
        "essay": {"written": "w", "final": "f"},
        "times": {"started": "2026-11-30T12:00:00Z", "finished": "2026-11-30T12:00:00Z"},
        **more,
    }


def dumped(**more: Any) -> bytes:
    return json.dumps(document(**more), indent=1).encode()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="of this schema"),
        pytest.param({"model": None, "settings": {}}, id="written offline"),
        pytest.param({"model": None, "settings": {"length": 300}}, id="offline, with a setting"),
        pytest.param({"model": {"name": "m", "base_url": None, "settings": {}}}, id="at the SDK's own address"),
        pytest.param(
            {
                "schema": 1,
                "settings": {},
                "model": {"name": "m", "settings": {"length": 9, "looked_up": 2}},
                "cost": 1.5,
            },
            id="of schema 1, with settings of the model",
        ),
        pytest.param({"schema": 1, "settings": {}, "model": None, "cost": None}, id="of schema 1, offline"),
    ],
)
def test_the_identity_is_that_of_the_whole_draft(more: dict[str, Any]) -> None:
    data = dumped(**more)
    assert identity_in(data) == identity_by_draft(read_draft(data, "d"))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(dumped()[:-2], id="cut at the end"),
        pytest.param(dumped()[:200], id="cut in the middle"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\0" * 4096, id="zeros, as a power failure leaves"),
        pytest.param(b"[]", id="another JSON"),
        pytest.param(dumped(schema=3), id="of a later version"),
        pytest.param(dumped(schema=0), id="of no version"),
        pytest.param(dumped(model={"base_url": "x"}), id="a model without a name"),
        pytest.param(json.dumps({k: v for k, v in document().items() if k != "essay"}).encode(), id="without an essay"),
        pytest.param(b'{"schema": 2, "\xff": 1}', id="no UTF-8"),
    ],
)
def test_what_is_no_whole_draft_has_no_identity(data: bytes) -> None:
    assert identity_in(data) is None


def digest(version: str = "2", **settings: Any) -> str:
    return identity(
        SHA, 3, StyleRef(name="essay", version=version), ModelRef(name="m", base_url="http://h/v1"), settings
    )


SAVED, OTHER = digest(length=300), digest(length=400)


def shelf(tmp_path: Path, **files: bytes) -> Shelf:
    (tmp_path / "slug").mkdir()
    for name, data in files.items():
        (tmp_path / "slug" / name).write_bytes(data)
    return Shelf(open_store(str(tmp_path)), "slug")


@pytest.mark.parametrize(
    ("files", "wanted", "name", "saved"),
    [
        pytest.param({}, SAVED, "3-essay.json", False, id="nothing there"),
        pytest.param({"3-essay.json": dumped()}, SAVED, "3-essay.json", True, id="saved by the plain name"),
        pytest.param(
            {"3-essay.json": dumped()}, OTHER, f"3-essay-{OTHER[:6]}.json", False, id="another has the plain name"
        ),
        pytest.param(
            {f"3-essay-{SAVED[:6]}.json": dumped()},
            SAVED,
            f"3-essay-{SAVED[:6]}.json",
            True,
            id="saved by its own name",
        ),
        pytest.param({f"3-essay-{SAVED[:6]}.json": b"{"}, SAVED, "3-essay.json", False, id="torn under its own name"),
        pytest.param({"3-essay.json": b"{"}, SAVED, f"3-essay-{SAVED[:6]}.json", False, id="torn under the plain name"),
        pytest.param({"4-essay.json": dumped()}, SAVED, "3-essay.json", False, id="of another message"),
    ],
)
def test_where_a_draft_is_or_goes(tmp_path: Path, files: dict[str, bytes], wanted: str, name: str, saved: bool) -> None:
    found = shelf(tmp_path, **files).find(3, "essay", wanted)
    assert found == Place(str(tmp_path / "slug" / name), saved)


def test_two_essays_of_one_plan_do_not_get_the_same_name(tmp_path: Path) -> None:
    drafts = shelf(tmp_path)
    names = [Path(drafts.find(3, "essay", wanted).path).name for wanted in (SAVED, OTHER, SAVED)]
    assert names == ["3-essay.json", f"3-essay-{OTHER[:6]}.json", "3-essay.json"]


def test_a_draft_is_read_once_however_many_look_at_its_name(tmp_path: Path) -> None:
    drafts = shelf(tmp_path, **{"3-essay.json": dumped()})
    assert [drafts.find(3, "essay", wanted).saved for wanted in (OTHER, SAVED, SAVED)] == [False, True, True]


def test_a_draft_that_goes_away_meanwhile_is_none(tmp_path: Path) -> None:
    drafts = shelf(tmp_path, **{"3-essay.json": dumped()})
    (tmp_path / "slug" / "3-essay.json").unlink()
    assert not drafts.find(3, "essay", SAVED).saved


# ---- marks of failures --------------------------------------------------------------------------------------------


def outcome(path: Path, state: State, *, lasting: bool = False, why: str = "") -> Outcome:
    job = Job(
        session="s.json",
        sha256=SHA,
        index=3,
        manner=Manner(),
        path=str(path),
        digest=SAVED,
        tokens=9,
        prefix=5,
        output=7,
    )
    return Outcome(job=job, state=state, why=why, lasting=lasting)


def test_a_mark_counts_runs_and_goes_when_the_essay_is_written(tmp_path: Path) -> None:
    store, path = open_store(str(tmp_path)), tmp_path / "slug" / "3-essay.json"
    mark = mark_path(str(path), SAVED)
    assert mark == str(tmp_path / "slug" / f"3-essay-{SAVED[:6]}.failed")
    for why in ("refused", "refused again"):
        Marks(store, frozenset()).note(outcome(path, "failed", lasting=True, why=why), NOW)
    assert read_mark(store, mark, SAVED) == Failure(
        digest=SAVED, runs=2, why="refused again", time="2026-11-30T12:00:00Z"
    )
    found = Shelf(store, "slug").find(3, "essay", SAVED)
    assert (found.saved, found.failure and found.failure.runs) == (False, 2)
    Marks(store, frozenset({SAVED})).note(outcome(path, "done"), NOW)
    assert list((tmp_path / "slug").iterdir()) == []


@pytest.mark.parametrize(
    ("state", "lasting"),
    [
        pytest.param("failed", False, id="a failure that may pass"),
        pytest.param("skipped", False, id="skipped"),
        pytest.param("done", False, id="written"),
    ],
)
def test_what_leaves_no_mark(tmp_path: Path, state: State, lasting: bool) -> None:
    store = open_store(str(tmp_path))
    Marks(store, frozenset()).note(outcome(tmp_path / "3-essay.json", state, lasting=lasting), NOW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"runs": 3}', id="another shape"),
        pytest.param(Failure(digest=OTHER, runs=3, why="w", time="t").model_dump_json(), id="of another essay"),
    ],
)
def test_a_mark_that_is_none_counts_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.failed").write_text(text)
    assert read_mark(open_store(str(tmp_path)), str(tmp_path / "m.failed"), SAVED) is None


def test_a_draft_with_its_own_name_has_the_mark_of_that_name() -> None:
    own = f"3-essay-{SAVED[:6]}.json"
    assert mark_path(own, SAVED) == f"3-essay-{SAVED[:6]}.failed"
