"""Where words stand in a session: the messages that hold them, and the lines round them.

A search goes through the stored JSON first, at the speed of reading, and decodes only messages that can hold the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from narrator.excerpt import Excerpt, take_excerpt
from narrator.passages import Passage
from narrator.sanitize import plain, shorten
from narrator.session import Session

Value = TypeVar("Value")

MOST_SHOWN = 8
"""Hits that one search shows."""
_LOOKED_AT, _MOST_BYTES = 64, 16 << 20
"""Messages that one search decodes at most, and bytes of them: a word may stand in all of 60,000."""
_SIDE, _WIDE = 240, 1800
"""Characters shown at most on either side of a hit, less where the lines beside it end sooner; and on either side of a
text that a message is read round."""
_MOST_WORDS = 8
_FEW = 3
"""Hits of a text up to which it is said as well where all of its words stand."""
_PLACES = 2
"""Passages of one message in which a hit is shown."""


class Found(NamedTuple):
    """What a search found."""

    messages: int
    """How many hold it."""
    bound: Literal["", "at least", "at most", "about"]
    """How that number is meant; "" when each that may hold it was looked at, so that it is exact."""
    literal: bool
    """They hold the text as it was asked for; else only all of its words."""
    excerpts: tuple[Excerpt, ...]
    """The lines of some, spread over the session."""
    indices: tuple[int, ...] = ()
    """Those that hold it, ascending; where not all were looked at, also those that may."""
    apart: tuple[int, ...] = ()
    """Where few hold the text as it was asked for: those that hold all of its words, or may."""
    apart_exact: bool = True
    """Each of these was looked at."""


def search_session(session: Session, text: str, *, most: int = MOST_SHOWN) -> Found:
    """Where `text` stands in the session, whatever its case and white space; else where all its words stand.

    Takes one pass over the stored JSON, two where all the words are frequent. A word that a terminal sequence cuts is
    not found, nor is what was masked.
    """
    words = plain(text).split()[:_MOST_WORDS]
    if not words:
        return Found(0, "", literal=False, excerpts=())
    phrase = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    candidates = session.search(Needle(words))
    if len(words) == 1 or len(candidates) <= _LOOKED_AT:
        found = _look(session, candidates, [phrase], most, literal=True)
    else:
        found = _look(session, session.search(Needle([" ".join(words)])), [phrase], most, literal=True)
        # Not counted are messages in which a line ends within the text.
        found = found._replace(bound="about" if found.bound else "at least")
    if len(words) == 1 or found.messages > _FEW:
        return found
    each = [re.compile(re.escape(word), re.IGNORECASE) for word in words]
    apart = _look(session, candidates, each, most, literal=False)
    if not found.excerpts:
        return apart
    return found._replace(apart=apart.indices, apart_exact=not apart.bound)


def read_round(session: Session, index: int, text: str) -> Excerpt | None:
    """The stretch of a message round the first place where a text stands in it; None where it does not."""
    words = plain(text).split()
    phrase = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return _hit(session, index, [phrase], wide=True) if words else None


class Needle:
    """Whether stored JSON may hold all of several texts, whatever their case: a yes is still to be looked at."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [tuple(dict.fromkeys(_stored(text))) for text in texts]

    def __call__(self, stored: bytes | bytearray) -> bool:
        """Whether each text stands in `stored`, in one of the ways it may be written there."""
        low = stored.lower()
        return all(any(form in low for form in forms) for forms in self._texts)


def _stored(text: str) -> Iterator[bytes]:
    """Ways in which JSON may hold a text, ASCII letters in lower case: escaped or not, and with other capitals."""
    for word in (text, text.lower(), text.upper(), text.title(), text.casefold()):
        for escaped in (True, False):
            form = json.dumps(word, ensure_ascii=escaped)[1:-1].encode("utf-8", "replace").lower()
            yield form
            yield form.replace(b"/", b"\\/")


def _look(
    session: Session, candidates: Sequence[int], patterns: Sequence[re.Pattern[str]], most: int, *, literal: bool
) -> Found:
    """Decode candidates, all or as many as are allowed, and show some of those that hold every pattern."""
    hits, missed, looked, read = [], set[int](), 0, 0
    for index in _spread(candidates, _LOOKED_AT):
        if read > _MOST_BYTES:
            break
        looked, read = looked + 1, read + session.size(index)
        if (excerpt := _hit(session, index, patterns)) is not None:
            hits.append(excerpt)
        else:
            missed.add(index)
    every = looked == len(candidates)
    indices = tuple(index for index in candidates if index not in missed) if hits else ()
    count = len(hits) if every or not hits else len(candidates)
    shown = tuple(_spread(hits, most))
    return Found(count, "" if every else "at most", literal=literal, excerpts=shown, indices=indices)


def _spread(values: Sequence[Value], most: int) -> list[Value]:
    """At most `most` of several values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / max(1, most - 1))] for place in range(most)]


def _hit(session: Session, index: int, patterns: Sequence[re.Pattern[str]], *, wide: bool = False) -> Excerpt | None:
    """The lines of a message where the patterns stand; None when one of them stands nowhere in it."""
    whole = take_excerpt(session, index)
    places: dict[int, tuple[int, int]] = {}
    for pattern in patterns:
        found = next(
            ((place, match) for place, one in enumerate(whole.passages) if (match := pattern.search(one.text))), None
        )
        if found is None:
            return None
        places.setdefault(found[0], found[1].span())
    shown = tuple(_clip(whole.passages[place], *places[place], wide=wide) for place in sorted(places)[:_PLACES])
    omitted = sum(one.omitted for one in shown)
    if others := [one for place, one in enumerate(whole.passages) if place not in sorted(places)[:_PLACES]]:
        omitted += sum(len(one.text) for one in others)
        label = f"{len(others)} other part{'s' if len(others) > 1 else ''} of this message not shown here"
        shown = (*shown, Passage(kind="left-out", label=label, text="", at=""))
    return whole.model_copy(update={"passages": shown, "omitted": omitted})


def _clip(passage: Passage, start: int, end: int, *, wide: bool) -> Passage:
    """A passage shortened to the lines of a hit, with one line before and one after them, or with more (`wide`)."""
    text = passage.text
    begin = text.rfind("\n", 0, max(0, text.rfind("\n", 0, start))) + 1
    stop = text.find("\n", end)
    stop = text.find("\n", stop + 1) if stop >= 0 else -1
    after = (stop if stop >= 0 else len(text)) - end
    before_it, behind_it = (_WIDE, _WIDE) if wide else (min(_SIDE, start - begin), min(_SIDE, after))
    head, before = shorten(text[:start], before_it + 2, head=0)
    tail, behind = shorten(text[end:], behind_it + 2, head=1)
    return passage.model_copy(update={"text": head + text[start:end] + tail, "omitted": before + behind})
