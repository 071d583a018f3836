"""Titles and headings that name this message and no other."""

from __future__ import annotations

from narrator.clock import span
from narrator.offline.lessons import LESSONS
from narrator.offline.quoting import code, place, whole

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


def title_of_exit(kind: str, index: int, exit_code: int) -> str:
    """From its kind, its number, and the exit code of the command in it."""
    return title(kind, index, f"Exit Code {exit_code}")


def heading_before(index: int) -> str:
    """From the target's number."""
    return f"## What Led to Message {index}"
