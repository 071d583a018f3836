"""What can be counted in the messages cited, and among them: items, lines, commands, words, spaces, messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from narrator.verify.figures import Figure
from narrator.verify.scope import Scope
from narrator.verify.told import Told

_LIST = re.compile(r"(?:^|\ufffc |[\n:;.?!] )(\d{1,2})[.)] ", re.MULTILINE)
_BULLET = re.compile(r"(?m)^\s*[-*•] ")
_LOOP = re.compile(r"\bfor \w+ in ([^;\n$`(]+);")
_COMMAND = re.compile(r"(?:^|&&|\|\||;|\n|command: ?)\s*([a-z][a-z0-9_.-]+)(?= )")
_RANGE = re.compile(r"\b[A-Za-z]{1,8}[-_ ]?(\d{1,4})\s*(?:to|through|[-–—]|…)\s*[A-Za-z]{0,8}[-_ ]?(\d{1,4})\b")
_READ, _OFTEN = 20_000, 4
_MOST_CITED = 12
_APART = re.compile(
    r"\s+(?:\w+\s+)?(?:messages?|steps?|turns?)\s+(?:after|before|later|earlier|behind|on|apart|away)\b"
)
"""Behind a number of messages that lie between two."""
_DEFINITE = re.compile(r"\b(?:the|these|those|all|its|their)\s+(?:other\s+|same\s+)?$", re.IGNORECASE)
_INDENTED = re.compile(r"\bindent|\bleading (?:spaces|blanks)|\bspaces\b", re.IGNORECASE)
_ACTS = frozenset(
    re.findall(
        r"\S+",
        """
        messag step turn call comman attemp check poll launch run start reply answer reques round crash failur
        restar try tries probe edit test readin questi prompt retry retrie respon action change copy copie read
        query lookup
        """,
    )
)
"""Stems of what one message each may be."""


def is_definite(text: str, figure: Figure) -> bool:
    """Whether it says again a number of things that are known: `the four`, `all four`, `one of these five`."""
    return _DEFINITE.search(text[max(0, figure.start - 20) : figure.start]) is not None


def is_distance(text: str, figure: Figure) -> bool:
    """Whether it counts the messages from one to another: `six messages later`."""
    return _APART.match(text, figure.end) is not None


def count(figure: Figure, text: str, scope: Scope, stems: Sequence[str]) -> str:
    """What there are so many of, in the sentence, among the messages cited or in one of them; "" if nothing is."""
    number = int(figure.value)
    return (
        _ranged(figure, text)
        or _apart(figure, text, scope)
        or _grouped(figure, text, scope)
        or _indented(figure, text, scope)
        or next(_counted(number, [*scope.own, *scope.near], scope.indices, stems), "")
    )


def _apart(figure: Figure, text: str, scope: Scope) -> str:
    """The distance of a message that the clause cites to another that it or its neighbours cite, or to the target."""
    if not is_distance(text, figure):
        return ""
    ends = scope.ends[:_MOST_CITED]
    others = {*ends, *scope.ends_near[: 4 * _MOST_CITED], *scope.cited.subjects}
    for one in ends:
        for two in others:
            if abs(one - two) == figure.value:
                return f"the distance of messages {min(one, two)} and {max(one, two)}"
    return ""


def _grouped(figure: Figure, text: str, scope: Scope) -> str:
    """The number of messages that one citation names, said of `the five` behind it or before it."""
    if not is_definite(text, figure) or scope.clause is None:
        return ""
    groups = (scope.cited.of([cite]) for cite in (*scope.clause.cites, *scope.clause.around) if cite.bracketed)
    return next((f"the number of messages cited, {len(group)}" for group in groups if len(group) == figure.value), "")


def _indented(figure: Figure, text: str, scope: Scope) -> str:
    """The spaces at the beginning of a line, where the sentence is about such."""
    if scope.clause is None or _INDENTED.search(text, *scope.clause.sentence) is None:
        return ""
    line = re.compile(rf"(?m)^ {{{int(figure.value)}}}(?=\S)")
    for told in [*scope.own, *scope.near]:
        if any(line.search(stretch.text[:_READ]) for stretch in told.stretches):
            return f"the spaces before a line in message {told.index}"
    return ""


def _counted(number: int, own: Sequence[Told], cited: Sequence[int], stems: Sequence[str]) -> Iterator[str]:
    """What there are so many of in the messages cited."""
    acts = any(stem in _ACTS for stem in stems)
    if acts and len(cited) == number > 1:
        yield f"the number of messages cited, {number}"
    if "messag" in stems and len(cited) > 1 and cited[-1] - cited[0] == number:
        yield f"the distance of messages {cited[0]} and {cited[-1]}"
    names = [stem for stem in stems if len(stem) > 2]
    for told in own[:_MOST_CITED]:
        for what, found in _counts(told, names):
            if found == number > 0:
                yield f"{what} in message {told.index}"


def _counts(told: Told, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Everything in a message that can be counted, and how many there are."""
    yield "the items of a list", max((int(item) for item in _LIST.findall(told.raw)), default=0)
    yield "the items of a list", len(_BULLET.findall(told.raw))
    for stretch in told.stretches:
        if stretch.kind == "input":
            yield from (("the items of a loop", len(match[1].split())) for match in _LOOP.finditer(stretch.text))
            commands = Counter(_COMMAND.findall(stretch.text))
            yield from ((f"how often `{command}` is run", found) for command, found in commands.items())
        elif stretch.kind == "output":
            yield "the lines of an output", sum(bool(line.strip()) for line in stretch.text[:_READ].split("\n"))
    for name in names:
        if (found := len(re.findall(rf"(?<![a-z]){re.escape(name)}", told.folded))) >= _OFTEN:
            yield f"how often “{name}…” stands", found


def _ranged(figure: Figure, text: str) -> str:
    """A range that the sentence itself states: `Eight processes, TP0 to TP7`."""
    for match in _RANGE.finditer(text[figure.end : figure.end + 80]):
        if int(match[2]) - int(match[1]) + 1 == figure.value:
            return f"the range {match[0]}"
    return ""
