"""Titles and headings that name this message and no other."""

from __future__ import annotations

import re

from narrator.clock import span
from narrator.markdown import code_span
from narrator.offline.lessons import LESSONS
from narrator.offline.quoting import code, place, verbatim, whole
from narrator.sanitize import one_line

_WORDS = 60
"""Characters of recorded words in a title."""


def title(kind: str, index: int, detail: str) -> str:
    """From what kind of message it is, its number, and the words that tell it from others, if it has any."""
    noun = LESSONS[kind].noun
    return f"# {noun}: {detail} in Message {index}" if detail else f"# {noun}: Message {index}"


def title_in_time(kind: str, index: int, begun: int, ended: int) -> str:
    """From its kind, its number, and its times."""
    return f"# {LESSONS[kind].noun}: Message {index}, Closed After {span(ended - begun)}"


def title_of_many(kind: str, index: int, earlier: int) -> str:
    """From its kind, its number, and how many of its kind came before it."""
    which = f"Number {earlier + 1}" if earlier else "the First"
    return f"# {LESSONS[kind].noun}: Message {index}, {which} of Its Kind"


def title_of_words(kind: str, index: int, text: str) -> str:
    """From its kind, its number, and its own words."""
    return title(kind, index, whole(text, _WORDS))


def title_of_command(kind: str, index: int, command: str) -> str:
    """From its kind, its number, and the command in it."""
    return title(kind, index, code(command, _WORDS))


def title_of_path(kind: str, index: int, path: str) -> str:
    """From its kind, its number, and the file that its call is about."""
    return title(kind, index, place(path))


def title_of_failure(kind: str, index: int, about: str | None, command: str, line: str, exit_code: int) -> str:
    """From its kind, its number, and its command: how that describes itself, its most telling line, its exit code."""
    if kind != "command-failed":
        raise AssertionError("no failed command")
    name = f"“{verbatim(one_line(about, _WORDS))}”" if (about or "").strip() and about else code(command, _WORDS)
    return f"# {name} Failed in Message {index}: {_cause(line, exit_code)}"


_CAUSES = (
    (re.compile(r"missing key '([^']{1,40})'|KeyError: '([^']{1,40})'"), "A Missing {}"),
    (re.compile(r"No module named '([^']{1,40})'"), "No Module {}"),
    (re.compile(r"([\w.-]{1,40}): command not found"), "No Command {}"),
    (re.compile(r"(?:[\w.]*\.)?(\w{1,40}(?:Error|Exception))\b"), "{}"),
    (re.compile(r"(No such file or directory)|(Permission denied)|(Connection refused)"), "“{}”"),
)
"""What lines of failed commands name."""


def _cause(line: str, exit_code: int) -> str:
    for pattern, words in _CAUSES:
        if found := pattern.search(line):
            name = next(group for group in found.groups() if group)
            return words.format(name if "“" in words else code_span(name))
    return f"Exit Code {exit_code}"


def heading_before(index: int) -> str:
    """From the target's number."""
    return f"## What Led to Message {index}"
