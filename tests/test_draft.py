from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from narrator.context import SessionRef, TargetRef
from narrator.disk import check_place, write_whole
from narrator.draft import (
    Cost,
    Draft,
    Essay,
    EvidenceMessage,
    ModelRef,
    Redone,
    StyleRef,
    Times,
    Usage,
    draft_path,
    dump_draft,
    identity,
    identity_of,
    load_draft,
    read_draft,
    save_draft,
    slug,
)
from narrator.errors import DraftError, ExistsError
from narrator.findings import Evidence, Finding
from narrator.report import Repair

SESSION = SessionRef(format="opencode", id="ses_a", title="Fix it", file="a.json", sha256="ab" * 32)
STYLE = StyleRef(name="essay", version="1")
MODEL = ModelRef(name="m", base_url="http://localhost:1/v1", settings={"stream": True})
SET = {"max_output_tokens": 500, "budget": 3000}


def a_draft(**changes: Any) -> Draft:
    facts: dict[str, Any] = {
        "session": SESSION,
        "target": TargetRef(index=3, id="msg_3", role="assistant"),
        "style": STYLE,
        "essay": Essay(written="# A\n\nB [msg 3].", final="# A\n\nB [msg 3]."),
        "times": Times(started="2026-01-01T00:00:00Z", finished="2026-01-01T00:00:01Z"),
    }
    return Draft(**(facts | changes))


FULL = a_draft(
    style=StyleRef(name="essay", version="1", prompt_sha256="cd" * 32),
    model=MODEL,
    settings=SET,
    usage=Usage(input=9, output=4, cached=2, reasoning=1),
    cost=Cost(usd=0.25, source="--price 1,1,1"),
    evidence_sha256="ef" * 32,
    redone=(
        Redone(section="Context", before="## Context\n\nA 1.", prompt_sha256="ab", finished="2026-01-01T00:00:02Z"),
    ),
    findings=(
        Finding(
            index=3,
            kind="aborted",
            says="It was stopped.",
            evidence=(Evidence(index=3, field="error.name", value="X"),),
        ),
    ),
    evidence=(EvidenceMessage(index=3, role="assistant", time="2026-01-01T00:00:00Z", text="«é» 👩‍👧 \u202e\n"),),
    check={"clean": True, "failures": []},
    repair=(Repair(round=1, before="A 1.", after="A 2.", accepted=True, why="0 of 1 findings left", how="corrected"),),
    redacted={"github-token": 2},
)


# ---- identity and name -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"sha256": "cd" * 32}, id="another session"),
        pytest.param({"target": 4}, id="another message"),
        pytest.param({"style": StyleRef(name="other", version="1")}, id="another style"),
        pytest.param({"style": StyleRef(name="essay", version="2")}, id="another version of the style"),
        pytest.param({"model": None}, id="no model"),
        pytest.param({"model": MODEL.model_copy(update={"name": "n"})}, id="another model"),
        pytest.param({"model": MODEL.model_copy(update={"base_url": None})}, id="another address"),
        pytest.param({"settings": {}}, id="nothing set"),
        pytest.param({"settings": SET | {"budget": 4000}}, id="another setting"),
        pytest.param({"settings": {"budget": 3000}}, id="one setting less"),
    ],
)
@pytest.mark.parametrize("model", [pytest.param(MODEL, id="by a model"), pytest.param(None, id="offline")])
def test_a_draft_is_another_one_when_anything_it_was_made_from_differs(
    changes: dict[str, Any], model: ModelRef | None
) -> None:
    same: dict[str, Any] = {"sha256": "ab" * 32, "target": 3, "style": STYLE, "model": model, "settings": SET}
    changed = same | changes
    assert (identity(**changed) != identity(**same)) == (changed != same)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"model": MODEL.model_copy(update={"settings": {"looked_up": 3}})}, id="what was sent"),
        pytest.param({"settings": dict(reversed(SET.items()))}, id="the order of what was set"),
        pytest.param({"style": StyleRef(name="essay", version="1", prompt_sha256="0")}, id="the prompt's fingerprint"),
    ],
)
def test_what_follows_from_the_rest_makes_no_other_essay(changes: dict[str, Any]) -> None:
    same: dict[str, Any] = {"sha256": "ab" * 32, "target": 3, "style": STYLE, "model": MODEL, "settings": SET}
    assert identity(**(same | changes)) == identity(**same)


def test_a_draft_is_the_same_whenever_and_wherever_it_was_written() -> None:
    changed = FULL.model_copy(
        update={
            "essay": Essay(written="x", final="y"),
            "times": Times(started="a", finished="b"),
            "session": SESSION.model_copy(update={"file": "b.json", "title": "Another"}),
        }
    )
    assert identity_of(changed) == identity_of(FULL) == identity(SESSION.sha256, 3, STYLE, MODEL, SET)


@pytest.mark.parametrize(
    ("title", "start"),
    [
        pytest.param("Fix the flaky test", "fix-the-flaky-test-", id="words"),
        pytest.param("  Fix: the *flaky*   test! ", "fix-the-flaky-test-", id="signs and blanks"),
        pytest.param("試験を直す", "session-", id="no letter of ours"),
        pytest.param("", "session-", id="no title"),
        pytest.param("../../etc/passwd", "etc-passwd-", id="a way out"),
        pytest.param("C:\\con\\aux", "c-con-aux-", id="a way out on Windows"),
        pytest.param("CON", "session-", id="a device"),
        pytest.param("nul.txt", "session-", id="a device with a suffix"),
        pytest.param("com7: x", "session-", id="a port"),
        pytest.param("console", "console-", id="what only begins like a device"),
        pytest.param("...", "session-", id="dots"),
        pytest.param("\x00\x1b[2J", "2j-", id="controls"),
        pytest.param("word " * 99, "word-" * 9, id="a long one"),
    ],
)
def test_a_folder_s_name_is_one_safe_component(title: str, start: str) -> None:
    name = slug(title, "ses_a")
    assert name.startswith(start)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(name) <= 60
    assert not name.startswith("-")


def test_a_folder_belongs_to_one_session() -> None:
    assert slug("A", "ses_a") == slug("A", "ses_a")
    assert len({slug("A", name) for name in ("ses_a", "ses_A", "ses/a", "", "ses_\ud800")}) == 5


def test_the_plain_name_belongs_to_whichever_essay_came_first(tmp_path: Path) -> None:
    plain = tmp_path / "s" / "3-essay.json"
    mine = identity_of(FULL)
    assert draft_path(tmp_path, "s", 3, "essay", mine) == plain
    save_draft(FULL, plain)
    assert draft_path(tmp_path, "s", 3, "essay", mine) == plain
    assert draft_path(tmp_path, "s", 3, "essay", "0123456789") == plain.with_name("3-essay-012345.json")
    assert draft_path(tmp_path, "s", 4, "essay", "0123456789") == plain.with_name("4-essay.json")


def test_what_is_no_draft_keeps_its_place_too(tmp_path: Path) -> None:
    plain = tmp_path / "s" / "3-essay.json"
    plain.parent.mkdir()
    plain.write_text("mine", "utf-8")
    assert draft_path(tmp_path, "s", 3, "essay", "0123456789").name == "3-essay-012345.json"


@pytest.mark.parametrize(
    ("style", "name"),
    [
        pytest.param("post-mortem_2", "3-post-mortem_2.json", id="a plain one"),
        pytest.param("../../up", "3--up.json", id="a way out"),
        pytest.param("", "3-style.json", id="none"),
    ],
)
def test_a_style_s_name_stays_inside_the_file_s(tmp_path: Path, style: str, name: str) -> None:
    assert draft_path(tmp_path, "s", 3, style, "0") == tmp_path / "s" / name


# ---- where it may be written -------------------------------------------------------------------------------------


def test_a_place_is_free_or_said_to_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "new" / "newer" / "a.json"
    check_place(path, what="it", force=False)
    assert not path.parent.exists(), "to look is not to make"
    save_draft(FULL, path)
    with pytest.raises(ExistsError, match=r"^it exists: .*a\.json; --force writes it again$"):
        check_place(path, what="it", force=False)
    check_place(path, what="it", force=True)


def test_a_link_to_nothing_is_something(tmp_path: Path) -> None:
    link = tmp_path / "a.json"
    link.symlink_to("gone")
    with pytest.raises(ExistsError):
        check_place(link, what="it", force=False)


def test_a_place_in_a_file_is_found_out_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(DraftError, match=r"cannot write .*: .*file is not a folder$"):
        check_place(tmp_path / "file" / "deeper" / "a.json", what="it", force=True)


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    for force in (False, True):
        with pytest.raises(DraftError, match=r"it is a folder$"):
            check_place(tmp_path, what="it", force=force)


def test_a_place_in_a_closed_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, int]] = []

    def closed(path: Path, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(os, "access", closed)  # root may write everywhere
    with pytest.raises(DraftError, match="permission denied in"):
        check_place(tmp_path / "new" / "a.json", what="it", force=False)
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]


# ---- to disk and back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param(a_draft(), id="the least"),
        pytest.param(FULL, id="everything"),
        pytest.param(a_draft(essay=Essay(written="", final="")), id="an empty essay"),
        pytest.param(
            a_draft(
                findings=(Finding(index=0, kind="gap", says="", evidence=(Evidence(index=0, field="", value=None),)),)
            ),
            id="a value that is null",
        ),
    ],
)
def test_a_draft_comes_back_as_it_was(draft: Draft, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save_draft(draft, path)
    assert load_draft(path) == draft
    assert path.read_text("utf-8") == dump_draft(draft)
    assert dump_draft(load_draft(path)) == dump_draft(draft)


def test_the_file_has_the_keys_of_the_contract_in_its_order() -> None:
    document = json.loads(dump_draft(FULL))
    assert list(document) == [
        *("schema", "session", "target", "style", "model", "settings", "usage", "cost", "findings", "evidence"),
        *("evidence_sha256", "essay", "check", "repair", "redone", "redacted", "times"),
    ]
    assert document["schema"] == 2
    assert {name: list(document[name]) for name in ("session", "target", "style", "model", "essay", "times")} == {
        "session": ["format", "id", "title", "file", "sha256"],
        "target": ["index", "id", "role"],
        "style": ["name", "version", "prompt_sha256"],
        "model": ["name", "base_url", "settings"],
        "essay": ["written", "final"],
        "times": ["started", "finished"],
    }
    assert (document["cost"], list(document["redone"][0])) == (
        {"usd": 0.25, "source": "--price 1,1,1"},
        ["section", "before", "prompt_sha256", "finished"],
    )
    assert list(document["evidence"][0]) == ["index", "role", "time", "text"]
    least = json.loads(dump_draft(a_draft()))
    assert [least[name] for name in ("model", "usage", "cost", "check")] == [None] * 4


def test_the_file_is_text_for_people_and_strict_for_machines() -> None:
    text = dump_draft(FULL)
    assert "«é» 👩‍👧" in text
    assert text.endswith("}\n")
    assert "\n " in text
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_draft(a_draft().model_copy(update={"cost": Cost.model_construct(usd=float("nan"), source="")}))


def test_a_lone_surrogate_does_not_keep_a_draft_from_being_saved(tmp_path: Path) -> None:
    named = StyleRef.model_construct(name="a\udcff", version="1")
    save_draft(a_draft().model_copy(update={"style": named}), tmp_path / "a.json")
    assert load_draft(tmp_path / "a.json").style.name == "a\ufffd"


def changed(**changes: Any) -> str:
    document = json.loads(dump_draft(a_draft())) | changes
    return json.dumps({key: value for key, value in document.items() if value != "gone"})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "no such file or directory", id="no file"),
        pytest.param("", "not a draft: it is not JSON", id="nothing in it"),
        pytest.param("# An essay", "not JSON; drafts are written by", id="Markdown"),
        pytest.param(b"\xff\xfe\x00", "not JSON", id="no text"),
        pytest.param("[" * 100_000, "not JSON", id="nesting without end"),
        pytest.param("[1]", "no `schema` key", id="a list"),
        pytest.param('{"info": {}}', "no `schema` key", id="a session"),
        pytest.param(
            changed(schema=0), "draft schema 0; this version of narrate reads schema 2", id="before the first"
        ),
        pytest.param(changed(schema=3), "draft schema 3; this version", id="a newer one"),
        pytest.param(changed(schema=True), "draft schema True; this version", id="a truth value"),
        pytest.param(changed(schema=1, model=[]), "not a valid draft: model: ", id="an older one that is none"),
        pytest.param(changed(schema=1, model={"settings": 3}), "not a valid draft: model.name: ", id="another of them"),
        pytest.param(changed(schema="1"), "draft schema '1'", id="a schema of another type"),
        pytest.param(changed(extra=1), "not a valid draft: extra: ", id="a key too many"),
        pytest.param(changed(essay="gone"), "not a valid draft: essay: ", id="a key too few"),
        pytest.param(changed(target={"index": "x", "id": "", "role": "user"}), "target.index: ", id="a wrong type"),
    ],
)
def test_what_is_no_draft_is_told_apart(content: str | bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DraftError) as caught:
        load_draft(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


def test_a_folder_is_no_draft(tmp_path: Path) -> None:
    with pytest.raises(DraftError, match="is a directory"):
        load_draft(tmp_path)


# ---- drafts of earlier schemas -----------------------------------------------------------------------------------


def old(**changes: Any) -> dict[str, Any]:
    """A draft as schema 1 has it."""
    gone = ("settings", "evidence_sha256", "redone")
    document = {key: value for key, value in json.loads(dump_draft(a_draft())).items() if key not in gone}
    return document | {"schema": 1, "style": {"name": "essay", "version": "1"}} | changes


@pytest.mark.parametrize(
    ("document", "model", "settings", "cost"),
    [
        pytest.param(old(), None, {}, None, id="written offline"),
        pytest.param(
            old(model={"name": "m", "base_url": None, "settings": {"budget": 3000, "looked_up": 2}}),
            ModelRef(name="m", settings={"looked_up": 2}),
            {"budget": 3000},
            None,
            id="written by a model that looked things up",
        ),
        pytest.param(
            old(model={"name": "m"}), ModelRef(name="m"), {}, None, id="written by a model, nothing said of it"
        ),
        pytest.param(old(cost=0.5), None, {}, Cost(usd=0.5, source="unknown"), id="with a bare cost"),
    ],
)
def test_an_older_draft_is_read_as_one_of_today(
    document: dict[str, Any], model: ModelRef | None, settings: dict[str, Any], cost: Cost | None
) -> None:
    draft = read_draft(json.dumps(document), "a.json")
    assert (draft.schema_, draft.model, draft.settings, draft.cost) == (2, model, settings, cost)
    assert (draft.style.prompt_sha256, draft.evidence_sha256, draft.redone) == (None, None, ())
    assert read_draft(dump_draft(draft), "b.json") == draft


def test_the_identity_of_an_older_draft_is_what_it_was() -> None:
    asked = {"name": "m", "base_url": None, "settings": {"budget": 3000}}
    facts = ["ab" * 32, 3, "essay", "1", asked]
    draft = read_draft(json.dumps(old(model=asked | {"settings": {"budget": 3000, "looked_up": 2}})), "a.json")
    assert identity_of(draft) == hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    offline = hashlib.sha256(json.dumps([*facts[:4], None], sort_keys=True).encode()).hexdigest()
    assert identity_of(read_draft(json.dumps(old()), "a.json")) == offline


# ---- whole or not at all -----------------------------------------------------------------------------------------


def test_a_file_is_written_byte_for_byte_with_the_user_s_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new" / "a.md", "a\r\nb\n«é»")
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "a.md").read_bytes() == "a\r\nb\n«é»".encode()
    assert stat.S_IMODE((tmp_path / "new" / "a.md").stat().st_mode) == 0o640
    assert os.umask(before) == before, "the mask is as it was"


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def ctrl_c(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "fails", "kind"),
    [
        pytest.param("fsync", full_disk, DraftError, id="a full disk"),
        pytest.param("replace", full_disk, DraftError, id="a full disk at the end"),
        pytest.param("chmod", full_disk, DraftError, id="a disk without permissions"),
        pytest.param("fsync", ctrl_c, KeyboardInterrupt, id="an interrupt"),
        pytest.param("replace", ctrl_c, KeyboardInterrupt, id="an interrupt at the end"),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    name: str, fails: Any, kind: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.md"
    path.write_text("old", "utf-8")
    monkeypatch.setattr(os, name, fails)
    with pytest.raises(kind) as caught:
        write_whole(path, "new")
    monkeypatch.undo()
    if kind is DraftError:
        assert str(caught.value) == f"cannot write {path}: no space left on device"
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(DraftError, match=r"cannot write .*: (?:not a directory|file exists)"):
        write_whole(tmp_path / "file" / "a.md", "new")


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(DraftError, match="cannot write"):
        write_whole(tmp_path, "new")
    assert list(tmp_path.parent.glob(".narrate-*")) == []


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", "utf-8")
    (tmp_path / "a.md").symlink_to("mine")
    write_whole(tmp_path / "a.md", "new")
    assert (tmp_path / "mine").read_text("utf-8") == "mine"
    assert not (tmp_path / "a.md").is_symlink()


def test_a_file_that_came_meanwhile_stays_and_the_essay_goes_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "3-essay.json"
    path.write_text("another's", "utf-8")
    draft = a_draft()
    placed = save_draft(draft, path, replace=False)
    assert placed.name == f"3-essay-{identity_of(draft)[:6]}.json"
    assert (load_draft(placed), path.read_text("utf-8")) == (draft, "another's")
    assert save_draft(draft, placed, replace=False) == placed
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [placed.name, path.name]


def test_a_free_name_is_taken_without_replacing(tmp_path: Path) -> None:
    assert save_draft(a_draft(), tmp_path / "3-essay.json", replace=False) == tmp_path / "3-essay.json"


def no_links(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_without_hard_links_a_name_is_still_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "3-essay.json"
    assert save_draft(a_draft(), path, replace=False) == path
    first = path.read_bytes()
    second = save_draft(a_draft(model=MODEL), path, replace=False)
    assert (path.read_bytes(), load_draft(path), load_draft(second).model) == (first, a_draft(), MODEL)
    assert {file.name for file in tmp_path.iterdir()} == {path.name, second.name}


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(DraftError, match="it is no regular file"):
        check_place(tmp_path / "pipe.md", what="the output", force=True)


def test_a_folder_that_takes_no_file_is_found_out_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(DraftError, match="read-only file system in "):
        check_place(tmp_path / "new" / "a.md", what="the output", force=False)
