"""Names that tie the target to other messages: what it leans on, and what came back to it.

A name is a word of the target's own text with a figure, an underscore or a mark in it (`cu130`, `rope_theta`,
`#14311`): such words are seldom met by chance. Only the words of messages are looked at, not what their calls returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.excerpt import Excerpt
from narrator.offline.claims import Field
from narrator.offline.facts import Facts, first_of

_NAME = re.compile(r"[\w#./+-]+")
_MARKED = re.compile(r"(?=.*[A-Za-z#])(?=.*(?:[\d_#]|[a-z][A-Z]))")
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_NEAR, _MOST, _NAMES, _LONGEST = 8, 3, 12, 60


class Link(NamedTuple):
    """A name that the target and another message share."""

    term: Field
    place: int
    """Number of the other message."""
    sentence: Field
    """Of that message."""
    text: Field
    """Of the target."""


def links_back(facts: Facts) -> list[Link]:
    """Earlier messages, but for those next to the target, that say something of a name in it; the last of each name."""
    earlier = [e for e in facts.context.window if e.index < facts.target.index - _NEAR]
    return list(_links(facts, earlier[::-1]))[:_MOST]


def links_on(facts: Facts) -> list[Link]:
    """Later messages that say something of a name in the target; the first of each name."""
    later = [e for e in facts.context.window if e.index > facts.target.index + _NEAR]
    return list(_links(facts, later))[:_MOST]


def _links(facts: Facts, others: Sequence[Excerpt]) -> Iterator[Link]:
    target, used = facts.target, set[int]()
    own = next((p for p in target.passages if p.kind in ("text", "reasoning") and p.text.strip()), None)
    if own is None or target.kind == "compaction-summary":
        return
    words = dict.fromkeys(word.strip("./+-") for word in _NAME.findall(own.text))
    names = [name for name in words if 3 < len(name) < _LONGEST and "/" not in name and _MARKED.match(name)]
    for name in names[:_NAMES]:
        for other in others:
            sentence = _sentence(other, name) if other.index not in used else None
            if sentence is not None:
                used.add(other.index)
                term = Field(target.index, f"name({own.at})", name)
                yield Link(term, other.index, sentence, Field(target.index, f"part({own.at})", own.text))
                break


def _sentence(excerpt: Excerpt, name: str) -> Field | None:
    """The sentence of an answer or of a user's turn that has a name."""
    words = first_of(excerpt, "text")
    if words is None or words.omitted or excerpt.kind not in ("answer", "typed") or name not in words.text:
        return None
    said = next((one.strip() for one in _END.split(words.text) if name in one), "")
    good = 20 < len(said) <= 220 and "[…" not in said and not said.startswith(("|", "#", "`"))
    return Field(excerpt.index, f"sentence({words.at})", said) if good else None
