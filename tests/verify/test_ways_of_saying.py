"""What careful writers say rightly in their own ways, each with the false statement that looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import opened
from recordings import assistant, export, tool, user
from stage import checked, failed, statement

from narrator.report import Report
from narrator.verify import evidence_of_session, verify_essay

ROWS = [
    ("a month", "In October 2025 it was to be deployed [msg 0].", "October 2025", "passed"),
    ("another month", "In November 2025 it was to be deployed [msg 0].", "November 2025", "failed"),
    ("a month in which another message was recorded", "In October 2025 it ended [msg 4].", "October 2025", "passed"),
    ("a year", "In 2025 it was to be deployed [msg 0].", "2025", "passed"),
    ("another year", "In 2024 it was to be deployed [msg 0].", "2024", "failed"),
    ("as many as a year of something", "It loaded 2025 rules [msg 1].", "2025", "failed"),
    ("the target's day", "It ended [msg 4]. On 9 October one word was sent.", "9 October", "passed"),
    ("another day", "It ended [msg 4]. On 8 October one word was sent.", "8 October", "failed"),
    ("a day of the week", "It was sent on Thursday [msg 3].", "Thursday", "passed"),
    ("another day of the week", "It was sent on Friday [msg 3].", "Friday", "failed"),
    ("a day of the week in advice", "What to do on Monday: look first [msg 3].", "Monday", "failed"),
    ("a day of the week in a rule", "A team can look first on Monday [msg 3].", "Monday", "unjudged"),
    ("a time of a named zone", "It was sent at 10:56:20 (UTC+2) [msg 3].", "10:56:20", "passed"),
    ("a time of a named zone west", "It was sent at 03:26:20 UTC−5:30 [msg 3].", "03:26:20", "passed"),
    ("a time of a zone by its letters", "It was sent at 10:56:20 CEST [msg 3].", "10:56:20", "passed"),
    ("a time of a place and a zone", "It was sent at 10:56 Berlin time (CEST) [msg 3].", "10:56", "passed"),
    ("a time of a place alone", "It was sent at 10:56 Berlin time [msg 3].", "10:56", "failed"),
    ("a time of the wrong zone", "It was sent at 10:56:20 (UTC+3) [msg 3].", "10:56:20", "failed"),
    ("thousands with a space", "It had 14 876 tokens going in [msg 7].", "14 876", "passed"),
    ("thousands with a narrow space", "It had 14\u202f876 tokens going in [msg 7].", "14 876", "passed"),
    ("wrong thousands with a space", "It had 14 976 tokens going in [msg 7].", "14 976", "failed"),
    ("the time until the next message", "The next message came 58 s later [msg 4].", "58 s", "derived"),
    ("a wrong time until the next message", "The next message came 56 s later [msg 4].", "56 s", "failed"),
    ("the time of the session", "The whole session took 11 min 9 s [msg 0].", "11 min 9 s", "passed"),
    ("a wrong time of the session", "The whole session took 11 min 7 s [msg 0].", "11 min 7 s", "failed"),
    ("a factor", "With 92.0 tok/s and 71.2 tok/s it was 1.29 times as fast [msg 7].", "1.29", "derived"),
    ("a wrong factor", "With 92.0 tok/s and 71.2 tok/s it was 1.39 times as fast [msg 7].", "1.39", "failed"),
    (
        "a total",
        "It was 199.6 tok/s in all: 36.4 tok/s, 92.0 tok/s and 71.2 tok/s [msg 7, 9].",
        "199.6 tok/s",
        "derived",
    ),
    (
        "a wrong total",
        "It was 198.6 tok/s in all: 36.4 tok/s, 92.0 tok/s and 71.2 tok/s [msg 7, 9].",
        "198.6 tok/s",
        "failed",
    ),
    (
        "a total that is not said to be one",
        "It had 199.6 tok/s, 36.4 tok/s, 92.0 tok/s and 71.2 tok/s [msg 7, 9].",
        "199.6 tok/s",
        "failed",
    ),
    ("messages between two", "Between them lie fully 10 messages [msg 1, 11].", "10", "derived"),
    ("too many messages between two", "Between them lie fully 14 messages [msg 1, 11].", "14", "failed"),
    ("a duration in letters", "The next message came fifty-eight seconds later [msg 4].", "fifty-eight", "derived"),
    ("a wrong duration in letters", "It broke off after nineteen minutes [msg 4].", "nineteen", "failed"),
    ("the messages of a bracket again", "It went on [msg 1, 2, 3, 4, 9]. All five were short.", "five", "derived"),
    ("too many of a bracket again", "It went on [msg 1, 2, 3, 4, 9]. All six were short.", "six", "failed"),
    ("a part of a bracket", "It went on [msg 1, 2, 3, 4, 9]. Four of the five were short.", "Four", "unjudged"),
    ("a part that is too large", "It went on [msg 1, 2, 3, 4, 9]. Seven of the five were short.", "Seven", "failed"),
    ("a count again", "It printed eight lines [msg 7].\n\nThe eight were alike [msg 9].", "eight", "passed"),
    ("another count again", "It printed eight lines [msg 7].\n\nThe nine were alike [msg 9].", "nine", "failed"),
    ("a count in a passage without a citation", "A rule for a team: keep five things in mind.", "five", "unjudged"),
    ("messages before one that is named", "It spoke five messages after message 4 [msg 9].", "five", "derived"),
    ("too many messages before it", "It spoke six messages after message 4 [msg 9].", "six", "failed"),
]


@pytest.mark.parametrize(("markdown", "text", "verdict"), [pytest.param(*row[1:], id=row[0]) for row in ROWS])
def test_a_figure_in_other_words_is_judged(tmp_path: Path, markdown: str, text: str, verdict: str) -> None:
    found = [one for one in checked(tmp_path, markdown).statements if one.sort == "figure" and one.text == text]
    assert {one.verdict for one in found[-1:]} == {verdict}, found


DISTANCES = [("Five messages after the target", True), ("Six messages after the target", False)]


@pytest.mark.parametrize(("words", "true"), DISTANCES)
def test_messages_are_counted_from_the_target(tmp_path: Path, words: str, true: bool) -> None:
    report = checked(tmp_path, f"{words} came a list [msg 9].", target=4)
    assert (failed(report) == []) is true
    loose = checked(tmp_path, f"Message 4 was cut off [msg 4].\n\n{words} came a list [msg 9].")
    assert (failed(loose) == []) is true


AGAIN = 'It wrote "loaded 1,171 rules" [msg 1].\n\nIt ended well [msg 6]. '
SAID_AGAIN = [
    ("a number of a quotation", AGAIN + "The 1171 rules were enough [msg 9].", []),
    ("another number", AGAIN + "The 1181 rules were enough [msg 9].", ["figure-not-found: 1181"]),
    ("a part of a quotation", AGAIN + 'That "1,171 rules" were enough.', []),
    ("a part of a quotation, cited wrongly", AGAIN + 'That is "1,171 rules" [msg 9].', ["wrong-message"]),
    ("words of the same message that were not quoted", AGAIN + 'Of "96 GB" much was left.', ["wrong-message"]),
    ("the title of the session", 'It is called "Fix the flaky test" [msg 0].', []),
    ("another title", 'It is called "Fix the flaky parser" [msg 0].', ["quote-not-found"]),
    ("code that did not run", "A search for `how fast is it` would have found nothing [msg 9].", []),
    ("code that did run", "A search for `how fast is it` found nothing [msg 9].", ["wrong-message: how fast is it"]),
    ("a command that stands nowhere and did not run", "A `git status --short` would have told [msg 9].", []),
    ("a command that stands nowhere", "A `git status --short` told it [msg 9].", ["quote-not-found"]),
    ("an altered command", "A `tail -n 41 /var/log/parser.log` would have told [msg 1].", ["quote-altered"]),
    ("a word that is spoken of", 'The word could be a scrambled "continue" [msg 5].', []),
    ("a word that is sent", 'The user sent only "done" [msg 5].', []),
    ("a word that nobody sent", 'The user sent only "dome" [msg 5].', ['quote-not-found: "dome"']),
    ("a word that was sent before", 'The user sent "continue" [msg 5].', ['wrong-message: "continue"']),
    ("a word that is said", 'The user wrote "continue" [msg 5].', ['wrong-message: "continue"']),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in SAID_AGAIN])
def test_what_was_borne_out_may_be_said_again(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    found = failed(checked(tmp_path, markdown))
    assert [one.startswith(start) for one, start in zip(found, expected, strict=True)] == [True] * len(expected), found


HEADINGS = [
    ("fewer digits", "Seventeen Seconds", "It took 17.2 s [msg 1].", "derived"),
    ("fewer digits, in digits", "17 Seconds", "It took 17.2 s [msg 1].", "derived"),
    ("another number", "Nineteen Seconds", "It took 17.2 s [msg 1].", "unjudged"),
    ("another number in digits", "19.5 Seconds", "It took 17.2 s [msg 1].", "failed"),
    (
        "a figure of another section",
        "17 Seconds",
        "It took long [msg 1].\n\n## Next\n\nIt took 17.2 s [msg 1].",
        "failed",
    ),
    ("a figure of a part of its section", "17 Seconds", "### Now\n\nIt took 17.2 s [msg 1].", "derived"),
    ("a count of things", "Five More Failures", "It failed [msg 1].", "unjudged"),
]


@pytest.mark.parametrize(("heading", "section", "verdict"), [pytest.param(*row[1:], id=row[0]) for row in HEADINGS])
def test_a_heading_may_round_its_section(tmp_path: Path, heading: str, section: str, verdict: str) -> None:
    report = checked(tmp_path, f"## {heading}\n\n{section}\n")
    assert report.statements[0].verdict == verdict, report.statements[0]


SLOW = tool(
    input={"command": "sleep 30 && time cp", "timeout": 900_000},
    output="4.98GiB 0:00:47 [109MiB/s]\n83/83 [00:55<00:00]\nreal 3m13.250s\n",
)
TOKENS = {"input": 900, "output": 50, "reasoning": 0, "cache": {"read": 40, "write": 2}}


def edited(folder: Path, markdown: str) -> Report:
    code = "def read(path):\n            line = line.strip()\n    wait()\n"
    said = assistant(
        "Four: lib_a, lib_b, lib_c and lib_d.", tool(input={"oldString": code}, output="applied"), SLOW, tokens=TOKENS
    )
    return verify_essay(markdown, evidence_of_session(opened(folder, export(user("go"), said))))


EDITED = [
    ("spaces before a line", "The new line is indented four spaces, the one above it twelve [msg 1].", []),
    ("other spaces", "The new line is indented four spaces, the one above it ten [msg 1].", ["figure-not-found: ten"]),
    ("no spaces", "The new line has four words, the one above it twelve [msg 1].", ["figure-not-found: twelve"]),
    ("a token count", "The output, too, is counted as 50 for each [msg 1].", []),
    ("another token count", "The output, too, is counted as 49 for each [msg 1].", ["figure-not-found: 49"]),
    ("a token count as something else", "Its share is set to 50 for each [msg 1].", ["figure-not-found: 50"]),
    ("seconds of a command", "It waited for 30 seconds, half a minute [msg 1].", []),
    ("minutes of a command in seconds", "It waited for 30 minutes [msg 1].", ["figure-not-found: 30 minutes"]),
    ("a limit in milliseconds", "It had a limit of fifteen minutes, or 900 s [msg 1].", []),
    ("another limit", "It had a limit of 90 s [msg 1].", ["figure-not-found: 90 s"]),
    ("a duration of the shell", "It took 193 s [msg 1].", []),
    ("the time of a progress bar", "It took 47 seconds to copy [msg 1].", []),
    ("the time of another progress bar", "It took 55 seconds to load [msg 1].", []),
    ("another time of a progress bar", "It took 74 seconds to copy [msg 1].", ["figure-not-found: 74 seconds"]),
    ("a number that opens a list", "It found four libraries [msg 1].", []),
    ("another number of it", "It found five libraries [msg 1].", ["figure-not-found: five"]),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in EDITED])
def test_spaces_and_lists_are_counted(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    assert failed(edited(tmp_path, markdown)) == expected


CLAIMS = [
    ("what had been done before", "The user had asked for a parser. It was installed at last [msg 6].", []),
    ("what was done", "The user patched the parser. It was installed [msg 6].", ["wrong-role: The user patched"]),
    ("what had been done, cited", "The user had patched the parser [msg 6].", ["wrong-role: The user had patched"]),
    ("the target", "The target ended normally [msg 4].", ["wrong-message: target ended normally"]),
    ("another step that ended", "The previous step ended normally [msg 2–4].", []),
    ("the one that broke off", "The step ended normally [msg 2–4].", ["wrong-message: step ended normally"]),
    (
        "a line of a log before a word",
        'The line "cannot open /etc/parser/rules.toml" was in the log before "please deploy" [msg 0, 1].',
        [],
    ),
    (
        "words before a word",
        'It was told that "The rules file moved" in the log before "please deploy" [msg 0, 2].',
        ["wrong-order"],
    ),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in CLAIMS])
def test_a_claim_in_other_words_is_judged(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    found = failed(checked(tmp_path, markdown))
    assert [one.startswith(start) for one, start in zip(found, expected, strict=True)] == [True] * len(expected), found


def test_a_count_in_what_is_cited_speaks_for_the_citation(tmp_path: Path) -> None:
    loop = tool(input={"command": "for p in a b c d; do find $p | wc -l; done"}, output="62\n62\n")
    told = assistant(
        "All package directories, torch and triton among them, matched after the transfer from the mirror."
    )
    rest = [assistant(f"Step {number} went on as planned, with nothing to add.") for number in range(9)]
    evidence = evidence_of_session(opened(tmp_path, export(user("go"), assistant(loop), told, *rest)))
    text = "{} package directories, torch and triton among them, matched after the transfer from the mirror [msg 1]."
    more = "\n\nIt went on as planned [msg 3, 4, 5, 6, 7, 8]."
    true = verify_essay(text.format("Then four") + more, evidence)
    assert (statement(true, "four").verdict, failed(true)) == ("derived", [])
    assert failed(verify_essay(text.format("Then the") + more, evidence)) == ["wrong-message: [msg 1]"]
    led = text.format("It was the").replace(" [msg 1].", ". So it began [msg 1].")
    assert failed(verify_essay(led + more, evidence)) == []


def test_the_numbers_of_a_sum_stand_beside_each_other(tmp_path: Path) -> None:
    asked = tool(input={"command": "curl :8000/v1 -d '17 * 23 ='"}, output="17 * 23 = 391")
    evidence = evidence_of_session(opened(tmp_path, export(user("go"), assistant(asked))))
    assert failed(verify_essay("The server multiplied 17 by 23 [msg 1].", evidence)) == []
    [wrong] = failed(verify_essay("The server multiplied 17 by 24 [msg 1].", evidence))
    assert wrong.startswith("figure-not-found")


def test_what_somebody_was_told_is_not_what_they_said(tmp_path: Path) -> None:
    asked = tool(input={"filePath": "/a"}, status="error", error="File not found: /a")
    evidence = evidence_of_session(opened(tmp_path, export(user("go"), assistant(asked))))
    told = 'The assistant asked for a third file and was told "File not found" [msg 1].'
    assert failed(verify_essay(told, evidence)) == []
    [wrong] = failed(verify_essay('The assistant said "File not found" [msg 1].', evidence))
    assert wrong.startswith("wrong-role")
