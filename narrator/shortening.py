"""Recorded text in a limited number of tokens: what is kept of it, and a counted mark for what is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.passages import Passage
from narrator.sanitize import shorten
from narrator.tokens import count_tokens

KEY_DIGITS = 8
"""Decimal digits of the session's hash that mark our lines in a prompt."""
ANY_KEY = "0" * KEY_DIGITS
"""Stands for the key where tokens are counted: all keys have as many."""
CHARACTERS_A_TOKEN = 5.5
"""As many as there are in dense prose: a token limit becomes a character limit with it, too high rather than too low,
and what comes out is counted and shortened again until it fits."""
_EXACT, _SURELY = 2000, 1.3
"""Tokens of a limit from which on what may fit is counted whole; below, how far over it an estimate must be."""
_SAMPLED, _SAMPLE = 2, 150
"""Texts of which a sample is taken, and characters at either end of each."""
_LEAST = 100
"""Characters below which a shortened passage is not worth its label."""
_MOST_LABELS, _MARK = 8, 14
"""Labels that count before a text is shortened to its limit, and tokens of what stands in one beside its words, and of
the mark where something is left out."""
_LABEL = 20
"""Characters of text that a label takes the place of."""
_OPENING = 160
"""Characters of an output's first line that are shown in any case: it says what the output is."""
_SECTION = re.compile(r"(?m)^(?=## )")
_MOST_SECTIONS, _LEAST_A_SECTION = 12, 50
"""Sections, and characters for each, with which a text under headings is still shortened section by section."""


def label_passages(passages: Sequence[Passage], key: str) -> str:
    """The text of passages under their labels, as prompts print them."""
    labelled = (f"[{key} {passage.label}]" + (f"\n{passage.text}" if passage.text else "") for passage in passages)
    return "\n".join(labelled)


def _length(passages: Sequence[Passage]) -> int:
    """Tokens of the passages under their labels."""
    return count_tokens(label_passages(passages, ANY_KEY))


def fit_passages(passages: tuple[Passage, ...], limit: int) -> tuple[tuple[Passage, ...], int]:
    """The passages in at most `limit` tokens, as far as that can be had, and the characters left out.

    Counting costs more than all else here. So what has more than forty characters a token is not counted whole, nor
    under a small limit what a sample of it says to be far too long; and the sample says how much to keep.
    """
    total = sum(len(passage.text) for passage in passages)
    density = _density(passages) if total > limit else 1.0
    whole = total <= 40 * limit if limit >= _EXACT else total * density <= _SURELY * limit
    if whole and _length(passages) <= limit:
        return passages, 0
    labels = passages[:_MOST_LABELS]
    fixed = min(limit // 2, _MARK * len(labels) + sum(len(passage.label) for passage in labels) // 4)
    characters = min(total, int((limit - fixed) / density))
    while True:
        shown, omitted = _shorten(passages, max(_LEAST, characters))
        length = _length(shown)
        if length <= limit or characters <= _LEAST:
            return shown, omitted
        characters = int(characters * (limit - fixed) / (length - fixed) * 0.95)


def _density(passages: Sequence[Passage]) -> float:
    """Tokens a character, in both ends of the longest texts: what is kept of them when they are shortened."""
    longest = sorted(passages, key=lambda passage: -len(passage.text))[:_SAMPLED]
    sample = "\n".join(passage.text[:_SAMPLE] + passage.text[-_SAMPLE:] for passage in longest)
    return max(count_tokens(sample) / len(sample), 1 / 40)


def _shorten(passages: Sequence[Passage], limit: int) -> tuple[tuple[Passage, ...], int]:
    """Share `limit` characters fairly: short passages stay whole, long ones split what remains."""
    typical = sum(len(passage.text) for passage in passages) // len(passages) + _LABEL
    kept, omitted = _thin(passages, max(4, limit // min(_LEAST, typical)))
    shown = []
    for passage, share in zip(kept, _shares([len(passage.text) for passage in kept], limit, _LEAST), strict=True):
        text, left_out = _cut(passage, share)
        omitted += left_out
        shown.append(
            passage.model_copy(update={"text": text, "omitted": passage.omitted + left_out}) if left_out else passage
        )
    return tuple(shown), omitted


def _cut(passage: Passage, limit: int) -> tuple[str, int]:
    """A passage's text in about `limit` characters, and how many were left out."""
    text = passage.text
    if len(text) <= limit:
        return text, 0
    if passage.kind == "input":  # the argument that says most stands first
        return shorten(text, limit, head=1)
    lead = len(text) - len(text.lstrip())
    opening = min(lead, _OPENING) + min(_OPENING, len(text[lead : lead + _OPENING].split("\n")[0]) + 1)
    if passage.kind != "output" or opening <= 0.6 * limit:
        return abridge(text, limit)
    room = max(limit, opening + _LEAST)
    return shorten(text, room, head=opening / (room - 2))


def _shares(lengths: Sequence[int], limit: int, least: int) -> list[int]:
    """Characters for each of several texts of the given lengths, `least` at least."""
    shares: dict[int, int] = {}
    remaining = limit
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        shares[place] = min(lengths[place], max(least, remaining // (len(lengths) - len(shares))))
        remaining = max(0, remaining - shares[place])
    return [shares[place] for place in range(len(lengths))]


def abridge(text: str, limit: int) -> tuple[str, int]:
    """About `limit` characters of a text, and how many were left out.

    Head and tail (`sanitize.shorten`); of a text under headings, as a compaction summary is, those of every section:
    its goal stands at the beginning, what was reached near the end.
    """
    if len(text) <= limit or text.count("\n## ") < 2:
        return shorten(text, limit)
    sections = _SECTION.split(text)
    if not 3 <= len(sections) <= min(_MOST_SECTIONS, limit // _LEAST_A_SECTION):
        return shorten(text, limit)
    shares = _shares([len(section) for section in sections], limit, 0)
    pieces = [shorten(section, share) for section, share in zip(sections, shares, strict=True)]
    return "".join(piece for piece, _ in pieces), sum(left_out for _, left_out in pieces)


def _thin(passages: Sequence[Passage], most: int) -> tuple[list[Passage], int]:
    """Keep the first two thirds of `most` and the last third; a counted mark stands for the rest."""
    if len(passages) <= most:
        return list(passages), 0
    tail = most // 3
    head, rest, last = passages[: most - tail], passages[most - tail : len(passages) - tail], passages[-tail:]
    characters = sum(len(passage.text) for passage in rest)
    mark = Passage(kind="left-out", label=f"{len(rest)} parts ({characters:,} characters) left out", text="", at="")
    return [*head, mark, *last], characters
