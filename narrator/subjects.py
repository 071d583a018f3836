"""What a tool call is about, its shell command or its file, and whether two commands are much alike.

Each distinct one has a number in the columns of the session's calls, so that the same command is found at once. A
command that is tried again is often changed a little (another flag, a path put right), which no number can tell: so
a bounded number of commands is read and compared, each word weighing the more the fewer of them have it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from narrator.session import Session, ToolCall

_WORD = re.compile(r"[A-Za-z0-9_.+@-]*[A-Za-z][A-Za-z0-9_.+@-]*")
"""A word of a command: programs, flags, and each part of a path or an address; numbers alone are none."""
_FILE = re.compile(r"[\w-]+\.[A-Za-z]\w{0,4}")
"""The name of a file with a suffix."""
_PROGRAM = re.compile(r"(?:^|[;&|(`\n'\"])\s*(?:(?:sudo|nohup|time|env|exec|\w+=\S*)\s+)*([\w./+-]+)")
"""What is run: the first word of each command of a line, also of one that another machine or a shell is given."""
_COMMON = frozenset({"cd", "ssh", "sleep", "echo", "set", "export", "source"})
"""Programs that say nothing of what a line is for."""
_LONGEST = 4000
"""Characters of a command that are compared."""
_ALIKE, _CONTAINED = 0.3, 0.6
"""Share of what two commands say together that both must say, and share of what the one of them says that says less."""
_LEAST = 3
"""Words that a command must have to be compared at all."""


def call_at(session: Session, number: int) -> ToolCall | None:
    """Call `number` of the session; None where its message does not decode to as many."""
    index = session.calls.message_of(number)
    place = number - session.calls.of(index).start
    calls = [block for block in session.message(index).blocks if isinstance(block, ToolCall)]
    return calls[place] if place < len(calls) else None


def noun_of(call: ToolCall | None) -> str:
    """Whether what a call is about is a `command` or a `file`."""
    return "command" if call is not None and isinstance(call.input, dict) and "command" in call.input else "file"


def subject_of(call: ToolCall | None) -> str:
    """The command or the path itself; "" for a call with neither."""
    given = call.input if call is not None and isinstance(call.input, dict) else {}
    return next((given[name] for name in ("command", "filePath") if isinstance(given.get(name), str)), "")


def find_alike(session: Session, number: int, others: Iterable[int]) -> int | None:
    """The first of other calls whose command is much like that of call `number`; reads every one of them."""
    own = _command(session, number)
    if len(own.words) < _LEAST:
        return None
    read = {other: command for other in others if (command := _command(session, other)).words}
    known = Counter(word for command in (own, *read.values()) for word in command.words)
    weights = {word: math.log((len(read) + 2) / count) for word, count in known.items()}
    return next((other for other, command in read.items() if _is_alike(own, command, weights)), None)


class _Command(NamedTuple):
    words: frozenset[str]
    files: frozenset[str]
    """Names of files among them."""
    programs: frozenset[str]
    """What it runs, without folders."""


def _command(session: Session, number: int) -> _Command:
    call = call_at(session, number)
    line = subject_of(call)[:_LONGEST] if noun_of(call) == "command" else ""
    words = frozenset(_WORD.findall(line))
    programs = (program.rpartition("/")[2] for program in _PROGRAM.findall(line))
    return _Command(words, frozenset(filter(_FILE.fullmatch, words)), frozenset(programs) - _COMMON)


def _is_alike(one: _Command, other: _Command, weights: Mapping[str, float]) -> bool:
    """Whether they run the same on the same files, by and large, and in words that few others have."""
    files = one.files | other.files
    if one.programs.isdisjoint(other.programs) or 2 * len(one.files & other.files) < len(files):
        return False
    both, either, mine, others = (
        sum(weights[word] for word in sorted(words))
        for words in (one.words & other.words, one.words | other.words, one.words, other.words)
    )
    return both >= _ALIKE * either and both >= _CONTAINED * min(mine, others) > 0
