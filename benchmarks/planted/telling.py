"""False stories: what came first, and how a turn ended. Hard, since no word or figure of the record is altered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from random import Random

from planted.essay import Claim, Essay
from planted.plant import Plant, plant

_FLIPS = (
    (r"(?<=Message )(?P<first>\d+), right before (?=it\b)", "before", r"\g<first>, right after "),
    (r"comes directly after (?=message \d+)", "after", "comes directly before "),
    (r"\bThe answer before (?=it, message \d+)", "before", "The answer after "),
    (r"(?<=ms) before (?=this one began)", "before", " after "),
    (r"\bhad ended (?=[\d.]+ m?s before)", "before", "was to begin "),
    (r"(?<=sent )[\d.]+ m?s after (?=that end)", "after", "shortly before "),
    (r"(?<=ms) after (?=[\w' ]{3,40} had (?:ended|begun)\b)", "after", " before "),
    (r"(?<=\d s) after (?=[\w' ]{2,40} had (?:ended|begun)\b)", "after", " before "),
    (r"(?<=[ m]s) later\b", "later", " earlier"),
    (r"\bThe last thing the user had typed before (?=it was)", "before", "The first thing the user typed after "),
)
"""How an order is told, the word that tells it, and the same turned round."""
_BEGINS = re.compile(r"(?:The (?:assistant|user|harness|agent|bash|edit|first|second|next)\b)")
_LONGEST = 500
"""Characters of a claim that is told in another place; a longer one holds more than one event."""
_ENDINGS = (
    ("aborted", r"\b(?:was interrupted|was aborted|had been aborted|was cut short)\b", ("timed out", "crashed")),
    ("aborted", r"\b(?:was interrupted|was aborted)\b", ("ended because the provider reported an error",)),
    ("aborted", r"\b(?:was interrupted|was aborted)\b", ("was cut off by the output limit", "ended normally")),
    ("aborted", r"\b(?:was interrupted|was aborted)\b", ("was cancelled by the user",)),
    ("stop", r"which means that the model ended its answer by itself", ("which means that the provider failed",)),
    ("stop", r"which means that the model ended its answer by itself", ("which means that the user interrupted it",)),
    ("stop", r"which means that the model ended its answer by itself", ("which means that it hit the length limit",)),
    ("stop", r"(?<=and )it ended normally", ("it was aborted by the user", "it timed out", "it crashed")),
    ("open", r"No end of this message is recorded", ("The user aborted this message", "This message timed out")),
    ("open", r"(?<=stream )ended without a finish", ("ended with a time-out", "hit the output limit")),
)
"""What the record has of an end, how it is told, and causes the record does not have."""


def reversed_order(essay: Essay, _: Random) -> Iterator[Plant]:
    """Tell two cited events in the wrong order, or turn a word of order round."""
    claims = essay.claims
    for first, second in pairwise(claims):
        if first.paragraph == second.paragraph and max(first.cites) < min(second.cites):
            start, one = _unit(essay, first)
            two = _unit(essay, second)[1]
            if max(len(one), len(two)) < _LONGEST and _BEGINS.match(one) and _BEGINS.match(two):
                new = f"{two}. After that, {one[0].lower()}{one[1:]}"
                proof = f"message {first.cites[-1]} came before message {second.cites[0]}"
                yield plant("reversed order", essay, (start, second.closes[1], new), proof)
    for pattern, word, new in _FLIPS:
        for match in re.finditer(pattern, essay.markdown):
            before = essay.markdown[match.start() - 14 : match.start()]
            # "closed 2.0 s later" tells how long one message was open, not which of two came first.
            if essay.claim_at(match.start()) is not None and "closed" not in before:
                proof = f"the true word is {word!r}"
                edit = (*match.span(), match.expand(new))
                yield plant("reversed order", essay, edit, proof, essay.sentence_at(match.start()))


def _unit(essay: Essay, claim: Claim) -> tuple[int, str]:
    """Where a claim begins, and its text with its citation."""
    lead = re.compile(r"[\s.,;]*(?:- )?").match(essay.markdown, claim.start)
    start = lead.end() if lead is not None else claim.start
    return start, essay.markdown[start : claim.closes[1]]


def wrong_cause(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Say that a turn ended for another reason than the recorded one."""
    for had, pattern, causes in _ENDINGS:
        for match in re.finditer(pattern, essay.markdown):
            claim = essay.claim_at(match.start())
            if claim is None or not any(had in _ends(essay, index) for index in claim.cites):
                continue
            cause = chance.choice(causes)
            if "user" in cause and any("user aborted" in essay.recording.text(k).lower() for k in claim.cites):
                continue
            edit = (*match.span(), cause)
            proof = f"recorded of {claim.cites}: {had}"
            yield plant("wrong cause of an end", essay, edit, proof, essay.sentence_at(match.start()))


def _ends(essay: Essay, index: int) -> set[str]:
    recording = essay.recording
    found = {recording.finish(index)} - {""}
    if "Aborted" in recording.error(index) or "execution aborted" in recording.text(index):
        found.add("aborted")
    return found if found & {"stop", "tool-calls", "length"} else found | {"open"}
