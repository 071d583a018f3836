"""What a tool call is about, its shell command or its file, and whether two commands are much alike.

A checksum of either is in the columns of the session's calls, so that the same command is found anywhere at once. A
command that is tried again is often changed a little (another flag, a path put right), which no checksum can tell: so
a bounded number of commands is read and compared, each word weighing the more the fewer of them have it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from narrator.session import Session, ToolCall

_WORD = re.compile(r"[A-Za-z0-9_.+@-]*[A-Za-z][A-Za-z0-9_.+@-]*")
"""A word of a command: programs, flags, and each part of a path or an address; numbers alone are none."""
_FILE = re.compile(r"[\w-]+\.[A-Za-z]\w{0,4}")
"""The name of a file with a suffix."""
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
    own = _words(session, number)
    if len(own) < _LEAST:
        return None
    read = {other: words for other in others if (words := _words(session, other))}
    known = Counter(word for words in (own, *read.values()) for word in words)
    weights = {word: math.log((len(read) + 2) / count) for word, count in known.items()}
    return next((other for other, words in read.items() if _is_alike(own, words, weights)), None)


def _words(session: Session, number: int) -> frozenset[str]:
    call = call_at(session, number)
    return frozenset(_WORD.findall(subject_of(call)[:_LONGEST])) if noun_of(call) == "command" else frozenset()


def _is_alike(one: frozenset[str], other: frozenset[str], weights: Mapping[str, float]) -> bool:
    files = [frozenset(filter(_FILE.fullmatch, words)) for words in (one, other)]
    if 2 * len(files[0] & files[1]) < len(files[0] | files[1]):
        return False
    both, either, mine, others = (
        sum(weights[word] for word in sorted(words)) for words in (one & other, one | other, one, other)
    )
    return both >= _ALIKE * either and both >= _CONTAINED * min(mine, others) > 0
