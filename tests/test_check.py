"""`narrate check`: what it prints, what it gives as JSON, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from console import run
from recordings import write
from stage import recording

from narrator.formats import open_session

TRUE = 'The user wrote "done" [msg 5].\n'
FALSE = 'The user wrote "done" [msg 5].\n\nIt used 35.4 GB [msg 1].\n'


@pytest.fixture
def session(tmp_path: Path) -> str:
    return write(tmp_path, recording())


def essay(folder: Path, text: str, name: str = "essay.md") -> str:
    folder.mkdir(exist_ok=True)
    return write(folder, text, name)


def draft(folder: Path, session: str, **changes: Any) -> Path:
    """A draft of message 4 as the offline writer writes it, changed."""
    assert run("--offline", "--msg", "4", session, "--drafts", str(folder), "--force").code == 0
    (path,) = folder.glob("*/4-essay.json")
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(document | changes), "utf-8")
    return path


def test_a_clean_essay_is_exit_0_and_one_line(tmp_path: Path, session: str) -> None:
    ran = run("check", essay(tmp_path, TRUE), session)
    line = "1 citations, 1 quotations, 0 figures checked (0 derived, 0 unjudged); nothing failed\n"
    assert (ran.code, ran.out, ran.err) == (0, line, "")


def test_a_failure_is_exit_1_and_a_line_with_its_place(tmp_path: Path, session: str) -> None:
    path = essay(tmp_path, FALSE)
    ran = run("check", path, session)
    failure, summary = ran.out.splitlines()
    assert ran.code == 1
    assert failure.startswith(f"{path}:3: figure-not-found: 35.4 GB — ")
    assert summary.endswith("1 failed")


def test_the_nearest_words_stand_on_the_line(tmp_path: Path, session: str) -> None:
    ran = run("check", essay(tmp_path, 'It said "loaded 1,181 rules" [msg 1].'), session)
    assert "; nearest, message 1: loaded 1,171 rules" in ran.out


def test_the_json_has_the_shape_of_the_contract(tmp_path: Path, session: str) -> None:
    ran = run("check", essay(tmp_path, FALSE), session, "--json")
    report = json.loads(ran.out)
    assert (ran.code, list(report)) == (1, ["clean", "counts", "failures"])
    assert report["counts"] == {
        "citations": 2, "quotations": 1, "figures": 1, "derived": 0, "unjudged": 0, "failed": 1,
    }  # fmt: skip
    (failure,) = report["failures"]
    assert list(failure) == ["kind", "span", "text", "cites", "says", "nearest"]
    assert FALSE[slice(*failure["span"])] == failure["text"] == "35.4 GB"
    assert (failure["cites"], failure["nearest"]) == ([1], None)


def test_an_essay_comes_from_standard_input(session: str) -> None:
    assert run("check", "-", session, stdin=TRUE.encode()).code == 0
    assert run("check", "-", session, stdin=FALSE.encode()).code == 1


UNUSABLE = [
    ("no session", ["essay.md"], "essay needs its recording"),
    ("no such file", ["gone.md", "session.json"], "no such file"),
    ("no such session", ["essay.md", "gone.json"], "gone.json"),
    ("not a text", ["bytes.md", "session.json"], "not UTF-8"),
    ("Latin-1", ["latin.md", "session.json"], "not UTF-8"),
    ("an empty file", ["void.md", "session.json"], "the file is empty"),
    ("a file of blanks", ["blank.md", "session.json"], "the file is empty"),
    ("a JSON list", ["list.json", "session.json"], "not a draft"),
    ("a page", ["page.md", "session.json"], "an HTML page"),
    ("JSON that is no draft", ["other.json", "session.json"], "not a draft"),
    ("an empty folder", ["empty", "session.json"], "no draft"),
]


@pytest.mark.parametrize(("words", "says"), [pytest.param(*row[1:], id=row[0]) for row in UNUSABLE])
def test_what_cannot_be_used_is_exit_2_and_one_line(tmp_path: Path, session: str, words: list[str], says: str) -> None:
    assert session.endswith("session.json")
    for name, body in (
        ("essay.md", TRUE),
        ("bytes.md", b"\xff\xfe\x00"),
        ("latin.md", "It was a café [msg 1].".encode("latin-1")),
        ("void.md", b""),
        ("blank.md", " \n\n"),
        ("list.json", "[]"),
        ("page.md", "<!DOCTYPE html><p>x"),
        ("other.json", '{"a": 1}'),
    ):
        write(tmp_path, body, name)
    (tmp_path / "empty").mkdir()
    ran = run("check", *(str(tmp_path / word) for word in words))
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.lines
    assert says in line.lower() or says in line


def test_a_draft_is_checked_with_the_session_it_lies_beside(tmp_path: Path, session: str) -> None:
    path = draft(tmp_path / "drafts", session)
    assert run("check", str(path)).code == 0
    spoilt = json.loads(path.read_text("utf-8"))
    spoilt["essay"]["final"] = spoilt["essay"]["final"].replace("2.0 s", "2.5 s")
    path.write_text(json.dumps(spoilt), "utf-8")
    ran = run("check", str(path))
    assert ran.code == 1
    assert "figure-not-found: 2.5 s" in ran.out


def test_a_draft_is_checked_by_what_it_kept(tmp_path: Path, session: str) -> None:
    path = draft(tmp_path / "drafts", session)
    Path(session).unlink()
    assert run("check", str(path)).code == 0
    spoilt = json.loads(path.read_text("utf-8"))
    spoilt["essay"]["final"] += 'The user wrote "stop it now" [msg 5]. It is in /etc/other.toml [msg 1].\n'
    path.write_text(json.dumps(spoilt), "utf-8")
    out = run("check", str(path)).out
    assert 'quote-not-found: "stop it now"' in out
    assert "figure-not-found: /etc/other.toml" in out


def test_a_draft_of_another_session_is_refused(tmp_path: Path, session: str) -> None:
    other = recording()
    other["info"]["id"] = "ses_another"
    ran = run("check", str(draft(tmp_path / "drafts", session)), write(tmp_path, other, "other.json"))
    assert ran.code == 2
    assert "ses_another" in ran.err


def test_a_session_that_went_on_is_used_and_said(tmp_path: Path, session: str) -> None:
    path = draft(tmp_path / "drafts", session)
    longer = recording()
    longer["info"]["title"] = "renamed"
    ran = run("check", str(path), write(tmp_path, longer, "longer.json"))
    assert ran.code == 0
    assert "another state of the session" in ran.err


def test_a_folder_is_checked_in_one_run_and_a_bad_file_stops_nothing(tmp_path: Path, session: str) -> None:
    folder = tmp_path / "essays"
    essay(folder, TRUE, "a.md")
    essay(folder, FALSE, "b.md")
    essay(folder, '{"schema": 99}', "c.json")
    draft(folder, session)
    ran = run("check", str(folder), session, "--json")
    rows = json.loads(ran.out)
    assert ran.code == 1
    assert [Path(row["file"]).name for row in rows] == ["a.md", "b.md", "c.json", "4-essay.json"]
    assert [row.get("clean") for row in rows] == [True, False, None, True]
    assert "schema" in rows[2]["error"]
    (line,) = ran.lines
    assert "c.json" in line
    assert run("check", str(folder), session).out.splitlines()[-1].startswith("3 essays checked, 1 could not be read: ")


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        pytest.param({"a.md": TRUE}, 0, "1 essay checked: 1 citations", id="one"),
        pytest.param({"a.md": TRUE, "b.md": TRUE}, 0, "2 essays checked: 2 citations", id="two"),
        pytest.param({"a.md": TRUE, "b.json": "[]"}, 1, "1 essay checked, 1 could not be read: 1 cit", id="no draft"),
        pytest.param({"a.md": "", "b.json": "[]"}, 2, "0 essays checked, 2 could not be read", id="nothing was read"),
    ],
)
def test_the_last_line_on_a_folder_says_what_was_read(
    tmp_path: Path, session: str, files: dict[str, str], code: int, says: str
) -> None:
    for name, text in files.items():
        essay(tmp_path / "essays", text, name)
    ran = run("check", str(tmp_path / "essays"), session)
    last = ran.out.splitlines()[-1]
    assert (ran.code, last.startswith(says)) == (code, True)
    assert ("nothing failed" in last) is (code != 2)


def test_an_empty_standard_input_is_exit_2_and_one_line(session: str) -> None:
    ran = run("check", "-", session, stdin=b"")
    (line,) = ran.lines
    assert (ran.code, ran.out, "stdin is empty" in line) == (2, "", True)


def test_a_page_of_markdown_is_checked_without_what_stands_under_it(tmp_path: Path, session: str) -> None:
    page = tmp_path / "page.md"
    assert run("--offline", "--msg", "4", session, "--no-save", "-o", str(page)).code == 0
    assert run("check", str(page), session).code == 0


def test_secrets_are_masked_as_they_were_for_the_writer(tmp_path: Path) -> None:
    document = recording()
    document["messages"][5]["parts"][0]["text"] = "use sk-proj-" + "a1B2" * 12
    session = write(tmp_path, document)
    (masked,) = {block.text for block in open_session(session).message(5).blocks if hasattr(block, "text")}
    path = essay(tmp_path, f'The user wrote "{masked}" [msg 5].')
    assert run("check", path, session).code == 0
    assert run("check", path, session, "--no-redact").code == 1
