"""Quotations: found as they are written, changed, cut, put together, or from somewhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from stage import checked, failed, statement

TRUE = [
    ("straight marks", 'It said "I will look at the log first" [msg 1].'),
    ("curly marks", "It said “I will look at the log first” [msg 1]."),
    ("guillemets", "It said « I will look at the log first » [msg 1]."),
    ("low and high marks", "It said „I will look at the log first“ [msg 1]."),
    ("single marks", "It said 'I will look at the log first' [msg 1]."),
    ("curly single marks", "It said ‘I will look at the log first’ [msg 1]."),
    ("an apostrophe opens no quotation", "The user's word and the parser's log were short [msg 1]."),
    ("a code span", "It ran `tail -n 40 /var/log/parser.log` [msg 1]."),
    ("a fence, cited behind it", "```\ntail -n 40 /var/log/parser.log\n```\n\nThat was the first command [msg 1]."),
    ("white space run together", 'It said "I will look\n  at the   log first" [msg 1].'),
    ("Markdown of the record left out", 'It said "It is not running yet" [msg 6].'),
    ("Markdown of the record kept", 'It said "It is **not** running yet" [msg 6].'),
    ("a typographic apostrophe", "It said “I’ve only copied it” [msg 6]."),
    ("an escape", r'It named "/etc/parser/rules\.toml" [msg 1].'),
    ("an entity", "It ran `bench.py` &amp; measured [msg 7]."),
    ("an ellipsis as a gap", 'It asked: "Please deploy … on host-7" [msg 0].'),
    ("three dots as a gap", 'It asked: "Please deploy ... on host-7" [msg 0].'),
    ("dots in brackets as a gap", 'It asked: "Please deploy […] on host-7" [msg 0].'),
    ("a gap inside a word", "It ran `tail -n 40 /var/log/par…` [msg 1]."),
    ("a first letter made large", 'It wrote "The rules file moved" [msg 2].'),
    ("a comma of the sentence inside the marks", 'It wrote "the rules file is missing," and stopped [msg 2].'),
    ("a recorded name that is no text", "It ended with `MessageAbortedError` [msg 4]."),
    ("the words of an error", 'It ended with "The operation was aborted." [msg 4]'),
    ("the finish of an answer", "It finished with `tool-calls` [msg 1]."),
    (
        "a citation behind the full stop",
        'It wrote: "The rules file is missing, so I stop here." [msg 2] Then it ended.',
    ),
    ("said again without its citation", 'It wrote "I will look" [msg 1]. That "I will look" came first [msg 1, 2].'),
    ("a name that stands elsewhere", "It copied, and then ran `bench.py` at last [msg 6]."),
    ("in a heading, without a citation", '# "I will look at the log first"\n\nSo it began [msg 1].'),
    (
        "a reproduced target with our labels",
        "```\n‹text›\nI will look at the log first.\n‹bash call›\ntail -n 40\n```\n\nSo [msg 1].",
    ),
    ("an empty target in its wrapper", "```\n<conversation_data>\n</conversation_data>\n```\n\nIt is empty [msg 4]."),
]


@pytest.mark.parametrize("markdown", [pytest.param(row[1], id=row[0]) for row in TRUE])
def test_a_true_quotation_passes(tmp_path: Path, markdown: str) -> None:
    report = checked(tmp_path, markdown)
    assert failed(report) == []
    assert not report.counts.unjudged


FALSE = [
    (
        "made up",
        'It said "the database is gone for good" [msg 1].',
        ['quote-not-found: "the database is gone for good"'],
    ),
    *(
        (f"words nobody said, {kind}", f"Es schrieb {quote} [msg 1].", [f"quote-not-found: {quote}"])
        for kind, quote in [
            ("in low and high marks", "„the database is gone for good“"),
            ("in low and high single marks", "‚the database is gone for good‘"),
            ("in the same mark on both sides", "”the database is gone for good”"),
            ("in corner marks", "「the database is gone for good」"),
        ]
    ),
    (
        "words nobody said, between low and curly marks",
        "„I will look“, „the database is gone for good“ und “first” [msg 1].",
        ["quote-not-found: „the database is gone for good“"],
    ),
    ("a dropped not", 'It said "It is running yet" [msg 6].', ['quote-altered: "It is running yet"']),
    (
        "a not dropped at its head",
        'It was told to "restart the database" [msg 0].',
        ['quote-altered: "restart the database"'],
    ),
    (
        "a condition cut off",
        'It read: "Do not restart the database." [msg 0]',
        ['quote-altered: "Do not restart the database."'],
    ),
    ("a changed number", 'It said "loaded 1,181 rules" [msg 1].', ['quote-altered: "loaded 1,181 rules"']),
    (
        "a changed path in code",
        "It ran `tail -n 40 /var/log/server.log` [msg 1].",
        ["quote-altered: tail -n 40 /var/log/server.log"],
    ),
    ("a number cut short", 'It had "memory 34.5 GB of 9" [msg 1].', ['quote-altered: "memory 34.5 GB of 9"']),
    (
        "pieces in the wrong order",
        'It asked: "on host-7 … Please deploy the parser" [msg 0].',
        ['quote-altered: "on host-7 … Please deploy the parser"'],
    ),
    (
        "spliced from two messages",
        'It said "I will look at the … rules file is missing" [msg 1, 2].',
        ['quote-not-found: "I will look at the … rules file is missing"'],
    ),
    ("from another message", 'It said "how fast is it?" [msg 9].', ['wrong-message: "how fast is it?"']),
    (
        "from another message, far away",
        'It said "The rules file is missing" [msg 8].',
        ['wrong-message: "The rules file is missing"'],
    ),
    ("a name that is nowhere", "It ran `benchmark_v2.py` [msg 7].", ["figure-not-found: benchmark_v2.py"]),
    (
        "what we state of a message",
        'It is told that "The turn was interrupted before it ended" [msg 4].',
        ['prompt-words: "The turn was interrupted before it ended"'],
    ),
    ("one said word", 'The user wrote "dome" [msg 5].', ['quote-not-found: "dome"']),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in FALSE])
def test_a_false_quotation_is_found(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    assert failed(checked(tmp_path, markdown)) == expected


def test_a_term_in_marks_that_nobody_said_is_not_judged(tmp_path: Path) -> None:
    report = checked(tmp_path, 'This "handover" came late [msg 6].')
    assert (report.counts.unjudged, report.counts.failed) == (1, 0)


def test_what_bears_a_quotation_out_is_given_as_recorded(tmp_path: Path) -> None:
    found = statement(checked(tmp_path, 'It said "it is not running yet" [msg 6].'), '"it is not running yet"').found
    assert found is not None
    assert (found.index, found.text) == (6, "It is **not** running yet")


def test_the_nearest_words_stand_beside_an_altered_quotation(tmp_path: Path) -> None:
    (failure,) = checked(tmp_path, 'It said "loaded 1,181 rules" [msg 1].').failures
    assert failure.nearest is not None
    assert failure.nearest.index == 1
    assert "1,171" in failure.nearest.text


def test_a_span_counts_code_points_of_the_markdown(tmp_path: Path) -> None:
    markdown = '# 🎉 *x*\r\n\r\n> 🎉 It **said** "nothing of the kind ever" \\[x\\] [msg 1].\r\n'
    (failure,) = checked(tmp_path, markdown).failures
    assert markdown[slice(*failure.span)] == '"nothing of the kind ever"'


BLOCKS = [
    ("cited inside", "> {} [msg 1]", True),
    ("cited in a line of its own", "> {}\n>\n> — [msg 1]", True),
    ("a source in the same paragraph", "> {}\n> — the assistant [msg 1]", True),
    ("cited right before", "It began so [msg 1]:\n\n> {}", True),
    ("cited right behind", "> {}\n\nSo it began [msg 1].", True),
    ("no citation near", "> {}", False),
]


@pytest.mark.parametrize(("block", "judged"), [pytest.param(*row[1:], id=row[0]) for row in BLOCKS])
def test_a_block_quotation_without_marks_is_a_quotation(tmp_path: Path, block: str, judged: bool) -> None:
    true = checked(tmp_path, block.format("I will look at the log first."))
    assert (failed(true), true.counts.quotations, true.counts.unjudged) == ([], 1, int(not judged))
    false = checked(tmp_path, block.format("I will look at the log first. The database is gone for good."))
    assert [one.text for one in false.failures] == (["The database is gone for good."] if judged else [])
    assert false.counts.quotations == 2


def test_a_note_set_apart_is_no_quotation(tmp_path: Path) -> None:
    report = checked(tmp_path, "> **Note:** nothing tells who stopped it [msg 4].")
    assert (failed(report), report.counts.quotations) == ([], 0)
