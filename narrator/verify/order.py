"""What came first: a sentence that puts two messages in an order they do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.verify.clauses import Clause
from narrator.verify.quotations import Finding
from narrator.verify.scope import Cited
from narrator.verify.spans import Row
from narrator.verify.speakers import Charge

_LINK = re.compile(
    r"\b(?P<after>after)\b|\b(?P<before>before|prior to)\b"
    r"|\b(?P<then>then|afterwards|subsequently|followed by|and finally|thereafter)\b"
    r"|\b(?P<earlier>preceded by)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\s+(?:it|this|that|them|these|those|all|which)\s*(?:[.,;:\[()]|$|(?:and|with|in|as|the)\b)")
_JUST = re.compile(r"\b(?:right|just|directly|immediately|long|even|never|not)\s+$")
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")
_PLUPERFECT = re.compile(r"\bhad\s+(?:\w+\s+){0,2}?\w+(?:ed|en|wn|ne)\b")
_BACKWARD = re.compile(r"\bafter\b|^\W*(?:earlier|before that|previously|beforehand)\b", re.IGNORECASE)
"""Words that put first what a pluperfect tells of."""
_KEPT = re.compile(r"\b(?:log|file|listing|history|journal)s?\b", re.IGNORECASE)
"""What holds lines from before they are read."""
_INVERTED = re.compile(r"\b(?:came|followed)\b")
_HEAD = re.compile(
    r"^\W*(?:(?P<then>Then|Next|Afterwards|Subsequently|Later|After that|Thereafter|Shortly after)|"
    r"(?P<earlier>Earlier|Before that|Previously|Beforehand))\b[^.]*",
)


class Event(NamedTuple):
    """A place in a sentence that is tied to messages: a citation, a message named, words found in one."""

    start: int
    first: int
    """The earliest of its messages; `last` the latest."""
    last: int
    printed: bool = False
    """They are words of an output, which may be older than its message."""


def judge_order(text: str, clauses: Sequence[Clause], events: Sequence[Event], cited: Cited) -> Iterator[Charge]:
    """Charge the sentences whose own words put one of their messages before another that it follows."""
    sentences = list(dict.fromkeys(clause.sentence for clause in clauses))
    before: list[Event] = []
    row = Row(events)
    for start, end in sentences:
        own = row.within(start, end)
        link = _within(text, start, end, own)
        if _is_unsure(text[start:end]):
            link = None
        elif link is None and before and own:
            link = _across(text[start:end], before, own)
        printed = link is not None and link[0].printed and _KEPT.search(text, start, end) is not None
        if link is not None and not printed and not _by_time(cited, link):
            says = f"by the record message {link[1].last} comes before message {link[0].first}"
            yield Charge(start, end, Finding("wrong-order", says))
        before = own or before


def _is_unsure(sentence: str) -> bool:
    """Whether a sentence gives a time of day, or a pluperfect that its link does not explain."""
    if _CLOCK.search(sentence):
        return True
    return _PLUPERFECT.search(sentence) is not None and _BACKWARD.search(sentence) is None


def _within(text: str, start: int, end: int, own: Sequence[Event]) -> tuple[Event, Event] | None:
    """The two events of a sentence that it puts in the wrong order: as it says the earlier one first."""
    links = list(_LINK.finditer(text, start, end))
    if len(links) != 1 or len(own) < 2:
        return None
    link = links[0]
    if _POINTING.match(text, link.end()) or _JUST.search(text, start, link.start()):
        return None
    left = [event for event in own if event.start < link.start()]
    right = [event for event in own if event.start >= link.end()]
    head = not text[start : link.start()].strip(' \n"“*_—-')
    comma = text.find(", ", link.end(), end)
    if comma < 0 and (inverted := _INVERTED.search(text, link.end(), end)) is not None:
        comma = inverted.start()
    if head and comma >= 0:
        left, right = [event for event in right if event.start < comma][-1:], [e for e in right if e.start > comma][:1]
        if not (left and right):
            return None
        swapped = link["before"] is not None
    elif left and right and not head:
        left, right = left[-1:], right[:1]
        swapped = link["after"] is not None or link["earlier"] is not None
    else:
        return None
    earlier, later = (right[0], left[0]) if swapped else (left[0], right[0])
    return (earlier, later) if earlier.first > later.last else None


def _across(sentence: str, before: Sequence[Event], own: Sequence[Event]) -> tuple[Event, Event] | None:
    """A sentence that begins with `Then` or `Earlier`, against the one before it."""
    head = _HEAD.match(sentence)
    if head is None:
        return None
    earlier, later = (before[-1], own[0]) if head["then"] is not None else (own[0], before[-1])
    return (earlier, later) if earlier.first > later.last else None


def _by_time(cited: Cited, link: tuple[Event, Event]) -> bool:
    """Whether the recorded times, against the places, bear the sentence out: messages can overlap."""
    one, two = cited.evidence.message(link[0].first), cited.evidence.message(link[1].last)
    if one is None or two is None or not one.times or not two.times:
        return False
    return one.times[0][0] < two.times[0][1]
