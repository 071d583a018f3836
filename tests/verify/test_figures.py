"""Figures: where they stand, with what unit, what they count, and what they follow from."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import opened
from recordings import assistant, export, user
from stage import checked, failed, statement

from narrator.verify import evidence_of_session, verify_essay

TRUE = [
    ("a number with its unit", "It used 34.5 GB [msg 1]."),
    ("a unit written out", "It took 17.2 seconds [msg 1]."),
    ("a number with thousands", "It loaded 1171 rules [msg 1]."),
    ("a number of a table", "At depth 5 it reached 92.0 tok/s [msg 7]."),
    ("a version", "It was 0.5.8 that moved the file [msg 2]."),
    ("a path", "It could not open /etc/parser/rules.toml [msg 1]."),
    ("a file", "It looked into parser.log [msg 1]."),
    ("a host", "The parser belongs on host-7 [msg 0]."),
    ("a name with digits that stands elsewhere", "On host-7 nothing ran [msg 2]."),
    ("an exit code", "It ended with exit code 1 [msg 1]."),
    ("a time of day", "It was sent at 08:56:20 UTC [msg 3]."),
    ("a date and time", "It was sent on 2025-10-09 08:56:20 UTC [msg 3]."),
    ("a day in words", "It was sent on 9 October 2025 [msg 3]."),
    ("tokens of a message", "It had 14,876 tokens going in and 640 coming out [msg 7]."),
    ("lines of an output", "It printed eight lines [msg 7]."),
    ("a count in words", "It offered three options [msg 9]."),
    ("messages of the session", "The session holds 12 messages [msg 0]."),
    ("a figure of a citation beside it", "It took 15 minutes [msg 11]. That is why 34.5 GB were used [msg 1]."),
    ("a figure given before", "It used 34.5 GB [msg 1].\n\nThe 34.5 GB were enough [msg 7]."),
    ("an ordinal is no figure", "It was the first and the second time [msg 1]."),
    ("numbers of messages are no figures", "In message 7 and messages 8–9 it ran [msg 7]."),
]


@pytest.mark.parametrize("markdown", [pytest.param(row[1], id=row[0]) for row in TRUE])
def test_a_true_figure_passes(tmp_path: Path, markdown: str) -> None:
    report = checked(tmp_path, markdown)
    assert failed(report) == []
    assert (report.counts.derived, report.counts.unjudged) == (0, 0)


DERIVED = [
    ("elapsed time of a message", "It ended 2,000 ms after it began [msg 4].", "2,000 ms", "message 4"),
    ("elapsed time between two", "It came 111 s after that began [msg 2, 4].", "111 s", "messages 2 and 4"),
    ("a rounded figure", "It used about 35 GB [msg 1].", "35 GB", "rounded"),
    ("another unit", "It took 17,200 ms [msg 1].", "17,200 ms", "another unit"),
    ("a difference", "It rose from 29.1 tok/s to 36.4 tok/s, by 7.3 tok/s [msg 9].", "7.3 tok/s", "the difference"),
    ("a sum", "With 29.1 tok/s and 36.4 tok/s there were 65.5 tok/s [msg 9].", "65.5 tok/s", "the sum"),
    ("a change in per cent", "It rose from 29.1 tok/s to 36.4 tok/s, by 25% [msg 9].", "25%", "the ratio"),
    ("a difference of token counts", "It had taken in 1,010 tokens more [msg 7, 9].", "1,010", "token counts"),
    ("messages of a range", "It took six turns [msg 2–7].", "six", "the range"),
    ("messages cited", "It took four steps [msg 2, 4, 6, 7].", "four", "messages cited"),
    ("messages apart", "It came 10 messages later [msg 1, 11].", "10", "the distance"),
    ("commands run", "It made six copies [msg 6].", "six", "`scp`"),
    ("items of a list", "It saw three ways out [msg 9].", "three", "items of a list"),
    ("a range in the sentence", "Eight workers, worker-0 to worker-7, answered [msg 6, 7].", "Eight", "the range"),
]


@pytest.mark.parametrize(("markdown", "text", "says"), [pytest.param(*row[1:], id=row[0]) for row in DERIVED])
def test_a_derived_figure_is_marked_as_such(tmp_path: Path, markdown: str, text: str, says: str) -> None:
    one = statement(checked(tmp_path, markdown), text)
    assert one.verdict == "derived", one
    assert says in one.says


FALSE = [
    ("an altered digit", "It used 35.4 GB [msg 1].", ["figure-not-found: 35.4 GB"]),
    ("an altered digit of a large number", "It loaded 1,271 rules [msg 1].", ["figure-not-found: 1,271"]),
    ("a swapped unit", "It used 34.5 MB [msg 1].", ["figure-not-found: 34.5 MB"]),
    ("a swapped unit of time", "It took 17.2 minutes [msg 1].", ["figure-not-found: 17.2 minutes"]),
    ("a swapped rate", "It answered at 36.4 tok/min [msg 9].", ["figure-not-found: 36.4 tok/min"]),
    ("another version", "It was 0.5.7 that moved the file [msg 2].", ["figure-not-found: 0.5.7"]),
    ("a version that stands elsewhere only", "It installed 0.5.8 at once [msg 6].", ["wrong-message: 0.5.8"]),
    (
        "an invented path",
        "It could not open /etc/parser/hosts.toml [msg 1].",
        ["figure-not-found: /etc/parser/hosts.toml"],
    ),
    ("an invented host", "The parser belongs on host-9 [msg 0].", ["figure-not-found: host-9"]),
    ("an invented time", "It was sent at 09:41:20 UTC [msg 3].", ["figure-not-found: 09:41:20"]),
    ("an invented day", "It was sent on 10 October 2025 [msg 3].", ["figure-not-found: 10 October 2025"]),
    ("an inflated count", "It made seven copies [msg 6].", ["figure-not-found: seven"]),
    ("an inflated count in digits", "It printed 11 lines [msg 7].", ["figure-not-found: 11"]),
    ("a figure from elsewhere", "It used 34.5 GB [msg 7].", ["wrong-message: 34.5 GB"]),
    ("a wrong exit code", "It ended with exit code 7 [msg 1].", ["figure-not-found: 7"]),
    (
        "a difference that is none",
        "It rose from 29.1 tok/s to 36.4 tok/s, by 8.3 tok/s [msg 9].",
        ["figure-not-found: 8.3 tok/s"],
    ),
    ("a change that is none", "It rose from 29.1 tok/s to 36.4 tok/s, by 52% [msg 9].", ["figure-not-found: 52%"]),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in FALSE])
def test_a_false_figure_is_found(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    assert failed(checked(tmp_path, markdown)) == expected


def test_two_or_three_of_something_uncounted_is_not_judged(tmp_path: Path) -> None:
    report = checked(tmp_path, "The two halves of the plan agree [msg 2].")
    assert (report.counts.unjudged, report.counts.failed) == (1, 0)


MORE = [
    ("a span of two units", "It ran from 08:53 to 09:04, which is 11 min 9 s [msg 0].", "11 min 9 s", "passed"),
    ("a span between two messages", "It went on for 4 min 0 s [msg 1, 5].", "4 min 0 s", "derived"),
    ("a number in tens", "It took forty-one tries [msg 2].", "forty-one", "failed"),
    ("a label in a command", "It read a tail of 40, no more [msg 1].", "40", "passed"),
    ("an exit code of another command", "It ended with exit code 40 [msg 1].", "40", "failed"),
    ("a count of compactions", "There was 1 compaction request so far [msg 11].", "1", "passed"),
    ("a number beside a date is not of it", "It had 10 workers [msg 3].", "10", "failed"),
    ("a name that is nowhere", "It needs libfoo_7 [msg 2].", "libfoo_7", "failed"),
    ("nothing of something", "It had 0 further calls [msg 1].", "0", "passed"),
]


@pytest.mark.parametrize(("markdown", "text", "verdict"), [pytest.param(*row[1:], id=row[0]) for row in MORE])
def test_a_figure_is_judged(tmp_path: Path, markdown: str, text: str, verdict: str) -> None:
    assert statement(checked(tmp_path, markdown), text).verdict == verdict


def test_a_port_behind_an_address_is_found(tmp_path: Path) -> None:
    said = assistant("It listens on http://0.0.0.0:8000 since 14:8123.")
    evidence = evidence_of_session(opened(tmp_path, export(user("go"), said)))
    kinds = {
        port: [one.kind for one in verify_essay(f"It is port {port} [msg 1].", evidence).failures]
        for port in (8000, 8123)
    }
    assert kinds == {8000: [], 8123: ["figure-not-found"]}
