"""What an essay may rest on: a session, what a writer was shown of it, a draft with and without its session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recordings import EXAMPLE, SHARED
from stage import checked, failed, staged

from narrator.context import take_context
from narrator.draft import Draft, Essay, EvidenceMessage, StyleRef, Times
from narrator.excerpt import take_excerpt
from narrator.formats import open_session
from narrator.offline import compose
from narrator.offline.plan import plan_essay
from narrator.report import Check, Report
from narrator.session import Session
from narrator.style import load_style
from narrator.verify import check_essay, evidence_of_context, evidence_of_draft, evidence_of_session, verify_essay

ESSAY = (
    "# The Abort: What Was Left\n\nThe user wrote “done” [msg 5]. The turn before was interrupted 2.0 s after it "
    "began, and took in no tokens [msg 4]. It used 34.5 GB [msg 1]. The session holds 12 messages [msg 0].\n"
)


def draft_of(session: Session, essay: str, check: Check | None) -> Draft:
    context = take_context(session, 4)
    cited = (0, 1, 4, 5)
    return Draft(
        session=context.session,
        target=context.target,
        style=StyleRef(name="essay", version="1"),
        findings=context.findings,
        evidence=tuple(
            EvidenceMessage(index=one.index, role=one.role, time=one.time, text=one.text)
            for one in (take_excerpt(session, index) for index in cited)
        ),
        essay=Essay(written=essay, final=essay),
        check=check,
        times=Times(started="2025-10-09T09:00:00Z", finished="2025-10-09T09:00:01Z"),
    )


def test_a_writers_own_evidence_bears_its_essay_out(tmp_path: Path) -> None:
    session = staged(tmp_path)
    check = check_essay(ESSAY, evidence_of_context(take_context(session, 4), session))
    assert failed(check) == []
    assert check.known is not None
    assert (check.known.messages, [said.index for said in check.known.record]) == (12, [0, 1, 4, 5])


def test_a_message_the_writer_did_not_see_is_said_to_be_so(tmp_path: Path) -> None:
    session = staged(tmp_path)
    context = take_context(session, 4)
    unseen = context.model_copy(
        update={"window": context.window[:3], "outline": context.outline.model_copy(update={"entries": ()})}
    )
    assert 9 not in unseen.shown
    text = "There were three options [msg 9]."
    assert [f.kind for f in verify_essay(text, evidence_of_context(unseen, session)).failures] == ["not-shown"]
    assert verify_essay(text, evidence_of_context(unseen, session, read=[9])).clean
    assert verify_essay(text, evidence_of_session(session)).clean


def test_a_draft_is_checked_again_by_what_it_kept(tmp_path: Path) -> None:
    session = staged(tmp_path)
    check = check_essay(ESSAY, evidence_of_context(take_context(session, 4), session))
    draft = draft_of(session, ESSAY, check)
    assert Draft.model_validate_json(draft.model_dump_json(by_alias=True)) == draft
    again = verify_essay(ESSAY, evidence_of_draft(draft))
    assert (failed(again), again.counts.unjudged) == ([], 0)
    spoilt = ESSAY.replace("2.0 s", "2.5 s").replace("34.5", "35.4").replace("12 messages", "13 messages")
    assert failed(verify_essay(spoilt, evidence_of_draft(draft))) == [
        "figure-not-found: 2.5 s",
        "figure-not-found: 35.4 GB",
        "figure-not-found: 13",
    ]


def test_what_held_with_the_session_holds_without_it(tmp_path: Path) -> None:
    session = staged(tmp_path)
    essay = "It ended 2,000 ms after it began, and 58 s before the next message [msg 4]."
    draft = draft_of(session, essay, check_essay(essay, evidence_of_session(session)))
    assert verify_essay(essay, evidence_of_draft(draft)).clean
    assert failed(verify_essay(essay.replace("58", "57"), evidence_of_draft(draft))) == ["figure-not-found: 57 s"]


def test_a_draft_that_kept_nothing_of_the_record_is_not_judged_by_it(tmp_path: Path) -> None:
    draft = draft_of(staged(tmp_path), ESSAY, None)
    report = verify_essay(ESSAY, evidence_of_draft(draft))
    assert failed(report) == []
    assert report.counts.unjudged
    spoilt = ESSAY.replace("34.5 GB", "35.4 GB").replace("done", "do it now")
    assert failed(verify_essay(spoilt, evidence_of_draft(draft))) == [
        "quote-not-found: “do it now”",
        "figure-not-found: 35.4 GB",
    ]


def test_a_draft_without_its_session_knows_only_the_messages_it_kept(tmp_path: Path) -> None:
    draft = draft_of(staged(tmp_path), ESSAY, None)
    assert failed(verify_essay("It stopped [msg 2].", evidence_of_draft(draft))) == ["not-shown: [msg 2]"]
    assert (
        verify_essay("It stopped [msg 2].", evidence_of_draft(draft, staged(tmp_path))).failures[0].kind == "not-shown"
    )


ODD = [
    ("nothing", ""),
    ("white space", " \n\t\n"),
    ("marks that do not close", '“ " « ` ``` [msg 1'),
    ("a table", "| a | b |\n|---|---|\n| `x \\| y` [msg 1] | “z” |\n"),
    ("nested lists and quotations", "> - “a\n>   b” [msg 1]\n>   1. `c` [msg 2]\n"),
    ("HTML", "<div>It <b>stopped</b><br>here [msg 1]</div>\n<script>x</script>"),
    ("a definition", "[msg 1]: http://example.org\n\n[msg 1]"),
    ("a range too wide", "All of it [msg 0–999999999]."),
    ("no digits that are ASCII", "It took ٣٤ GB [msg ١]."),
    ("control characters", "It\x00 said \x1b[31m“done”\x1b[0m [msg 5].\r"),
    ("a very long line", "It ran `x` and “y” at 12:00 [msg 1]. " * 2000),
    (
        "more digits than a number may have",
        f"x [msg 0–{'9' * 5000}], message {'9' * 5000}, {'9' * 5000} GB, {'9' * 400}",
    ),
    ("a span and a role of too many digits", f"{'9' * 400} min 3 s; message {'9' * 5000} is a user message [msg 1]."),
    ("many open marks", "“" * 3000 + "[msg 1]" * 300),
]


@pytest.mark.parametrize("markdown", [pytest.param(row[1], id=row[0]) for row in ODD])
def test_no_essay_is_too_odd_to_be_judged(tmp_path: Path, markdown: str) -> None:
    report = checked(tmp_path, markdown)
    for one in report.statements:
        start, end = one.span
        assert 0 <= start < end <= len(markdown)
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_essays_of_the_offline_writer_are_true() -> None:
    session = open_session(str(EXAMPLE))
    for target in (0, 60, 100, 143, 144, 170):
        essay = compose(plan_essay(take_context(session, target), load_style("essay")).paragraphs)
        assert failed(verify_essay(essay, evidence_of_session(session))) == [], target


def test_a_number_longer_than_any_message_number_names_no_message(tmp_path: Path) -> None:
    assert [one.kind for one in checked(tmp_path, f"It stopped [msg 2], as message {'9' * 5000} says.").failures] == [
        "no-such-message"
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_is_not_judged(tmp_path: Path, end: str) -> None:
    essay = end.join(["---", "title: 99.5 GB", "---", "", "It used 34.5 GB [msg 1].", ""])
    report = checked(tmp_path, essay)
    assert (failed(report), report.counts.figures) == ([], 1)


SPOILT = [
    ("a citation off by one", "[msg 146]", "[msg 147]"),
    ("a time", "14:48:25", "14:58:25"),
    ("a size", "371GB", "381GB"),
    ("a count", "a session of 171 messages", "a session of 172 messages"),
    ("a speaker", "The user wrote “done”", "The assistant wrote “done”"),
    ("a cause", "was interrupted before it ended", "timed out"),
]


@pytest.mark.parametrize(("true", "false"), [pytest.param(*row[1:], id=row[0]) for row in SPOILT])
def test_an_error_in_an_essay_of_the_offline_writer_is_found(true: str, false: str) -> None:
    session = open_session(str(EXAMPLE))
    essay = compose(plan_essay(take_context(session, 144), load_style("essay")).paragraphs)
    assert true in essay
    assert not verify_essay(essay.replace(true, false, 1), evidence_of_session(session)).clean


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded sessions are not part of the repository")
def test_statements_that_are_true_of_the_example_are_not_accused() -> None:
    session = open_session(str(EXAMPLE))
    table = (SHARED / "sessions/essays/FACTS-glm5-144.tsv").read_text("utf-8").splitlines()[1:]
    accused: list[Any] = []
    for _, kind, says, indices, *_ in (line.split("\t") for line in table):
        if kind != "trap":
            report = verify_essay(f"{says} [msg {indices}].", evidence_of_session(session))
            accused += [(says, one.kind, one.text) for one in report.failures]
    # F30 names the user as who pressed escape, which the record does not.
    assert [kind for says, kind, _ in accused if "escape" not in says] == [], accused
