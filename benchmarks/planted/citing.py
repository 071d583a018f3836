"""False citations: one beside the message that bears the claim, one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from planted.essay import Claim, Essay, messages_of
from planted.plant import Plant, plant
from planted.recording import words_of

_FIGURE = re.compile(r"(?<![\w.,/:-])\d[\d,]*\d(?:\.\d+)?(?![\w/:-]|\.\d)|(?<![\w.,/:-])\d+\.\d+(?![\w/:-]|\.\d)")


def off_by_one(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Move one end of a citation to the message before or after; what it bore out must stand in neither."""
    for claim in essay.claims:
        text = essay.markdown[claim.start : claim.end]
        if re.search(r"\b[Mm]essages? \d", text):
            continue
        citation = essay.markdown[slice(*claim.closes)]
        for number in re.finditer(r"\d+", citation):
            old = int(number[0])
            new = old + chance.choice([step for step in (-1, 1) if 0 <= old + step < len(essay.recording)])
            left = messages_of(citation[: number.start()] + str(new) + citation[number.end() :])
            if old in left or new in claim.cites or not left:
                continue
            if orphans := _borne_only_by(essay, claim, old, left):
                at = claim.closes[0] + number.start()
                proof = f"{essay.markdown[slice(*orphans[0])]!r} stands in message {old} and in none of {left}"
                edit = (at, at + len(number[0]), str(new))
                yield plant("citation off by one", essay, edit, proof, (claim.start, claim.closes[1]))


def _borne_only_by(essay: Essay, claim: Claim, old: int, rest: tuple[int, ...]) -> list[tuple[int, int]]:
    """Spans of the claim's quotations and figures that stand in message `old` and in none of `rest`."""
    recording, found = essay.recording, []
    for one in essay.quotations:
        if claim.start <= one.start < claim.end and len(one.words) >= 8 and words_of(one.words).count(" ") > 2:
            head = words_of(re.split("…", one.words)[0])
            if head.strip() and head in recording.words(old) and not any(head in recording.words(k) for k in rest):
                found.append((one.start, one.end))
    for match in _FIGURE.finditer(essay.markdown, claim.start, claim.end):
        number = match[0].replace(",", "")
        forms = {number, number.rstrip("0").rstrip(".")}
        if essay.is_quoted(match.start()) or number not in recording.numbers(old):
            continue
        if not any(forms & recording.numbers(k) for k in rest):
            found.append(match.span())
    return found


def missing(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Cite a message that the session does not have."""
    count = len(essay.recording)
    for claim in essay.claims:
        number = chance.choice(list(re.finditer(r"\d+", essay.markdown[slice(*claim.closes)])))
        at = claim.closes[0] + number.start()
        new = chance.choice([count, count + chance.randrange(1, 90), 10 * count + chance.randrange(10)])
        edit = (at, at + len(number[0]), str(new))
        yield plant("missing message", essay, edit, f"the session has {count} messages", claim.closes)
