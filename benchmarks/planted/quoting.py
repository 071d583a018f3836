"""False quotations and speakers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from planted.essay import Claim, Essay, Quotation
from planted.plant import Plant, plant
from planted.recording import words_of

_NEGATIONS = (
    (r"\b(is|are|was|were|do|does|did|has|have|had|should|would|could|must|ca|wo)n['’]t\b", ""),
    (r"\bcannot\b", "can"),
    (r"\b[Ww]ithout\b", "with"),
    (r"\b(?:not|never|no|nor) ", ""),
    (r"\b(?:No|Not|Never) (?=\w)", ""),
    (r"\bunauthenticated\b", "authenticated"),
    (r"\binvalid(?= \w)", "valid"),
    (r"\bunavailable\b", "available"),
    (r"\bUnterminated\b", "Terminated"),
    (r"\bincomplete\b", "complete"),
)
"""A word that turns the meaning, and what stands there without it."""
_PROSE = (
    (r"\b(is|was|were|are|had|has|did|does|could|can) not\b", r"\1"),
    (r"\bcannot\b", "can"),
    (r"\b(holds|held|has|had|with|gives|gave|took|typed|recorded|shows) no\b", r"\1 a"),
    (r"\bNo (finish|end|reason|text|result)\b", r"A \1"),
    (r"\bnever (ran|reached|started|came|moved)\b", r"\1"),
    (r"\bnone of\b", "some of"),
    (r"\bnothing\b", "something"),
    (r"\bwithout\b", "with"),
)
_SPEAKER = re.compile(
    r"\b(?P<article>[Tt]he )(?P<who>user|assistant|agent|model)(?P<does>"
    r"(?: \w+)? (?:wrote|said|asked|replied|answered|sent|reasoned|typed|noted|announced|concluded|called it|put it|"
    r"remarked|explained|declared|reported|told|decided|offered)[^.“\"`]{0,50}|['’]s (?:request|words|question|reply|"
    r"answer|plan|summary|verdict|conclusion)[^.“\"`]{0,30})(?=[“\"])"
)


def _sayings(essay: Essay, chance: Random, away: frozenset[int], *, commands: bool) -> Iterator[tuple[int, str]]:
    """Recorded words of other messages, at random: a sentence somebody wrote, or a command."""
    count = len(essay.recording)
    for _ in range(60):
        index = chance.randrange(count)
        if index in away or (count > 30 and any(abs(index - near) < 3 for near in away)):
            continue
        said = essay.recording.commands(index) if commands else essay.recording.sayings(index)
        lines = [line.strip() for text in said for line in re.split(r"(?<=[.?!])\s+|\n", text)]
        lines = [line for line in lines if 3 <= len(line.split()) <= 16 and not re.search(r"[`“”\"*\\<>«»\[\]…]", line)]
        if lines:
            yield index, chance.choice(lines)


def from_elsewhere(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Put recorded words of another message into a quotation."""
    for one, claim in _quoted_claims(essay):
        for index, words in _sayings(essay, chance, claim.nearby, commands=one.code):
            if not any(words_of(words).strip() in essay.recording.words(near) for near in claim.nearby):
                proof = f"{words!r} is from message {index} and stands in none of {sorted(claim.nearby)}"
                yield plant("quotation from elsewhere", essay, (one.start, one.end, words), proof)
                break


def spliced(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Join the beginning of a quotation to the end of another message's words."""
    for one, claim in _quoted_claims(essay):
        words = re.split("…", one.words)[0].split()
        if one.code or len(words) < 4:
            continue
        for index, other in _sayings(essay, chance, frozenset(claim.cites), commands=False):
            tail = other.split()
            new = " ".join([*words[: max(2, len(words) // 2)], *tail[len(tail) // 2 :]])
            if not any(words_of(new).strip() in essay.recording.words(k) for k in {*claim.nearby, index}):
                proof = f"{new!r} is half of a message cited and half of message {index}; no message has it"
                yield plant("spliced quotation", essay, (one.start, one.end, new), proof)
                break


def _quoted_claims(essay: Essay) -> Iterator[tuple[Quotation, Claim]]:
    """Quotations of at least three words that stand in a message their claim cites."""
    for one in essay.quotations:
        claim = essay.claim_at(one.start)
        head = words_of(re.split("…", one.words)[0])
        if claim is not None and head.count(" ") > 3 and _holders(essay, claim, head):
            yield one, claim


def _holders(essay: Essay, claim: Claim, words: str) -> list[int]:
    return [index for index in claim.cites if words.rstrip() in essay.recording.words(index)]


def dropped(essay: Essay, _: Random) -> Iterator[Plant]:
    """Leave a negation out of a quotation or of a fenced block."""
    for one in (*essay.quotations, *essay.fenced):
        nearby = essay.nearby(one.start)
        if nearby is None or len(one.words.split()) < 3:
            continue
        for pattern, instead in _NEGATIONS:
            for match in re.finditer(pattern, one.words):
                new = one.words[: match.start()] + _without(match, instead) + one.words[match.end() :]
                parts = [words_of(part).strip() for part in re.split("…", new)]
                if all(any(part in essay.recording.words(k) for k in nearby) for part in parts):
                    continue
                at = (one.start + match.start(), one.start + match.end(), _without(match, instead))
                proof = f"no message near has {new!r}"
                yield plant("dropped negation", essay, at, proof, (one.start, one.end))


def _without(match: re.Match[str], instead: str) -> str:
    if match.re.groups:
        return {"ca": "can", "wo": "will"}.get(match[1], match[1])
    return instead


def dropped_in_prose(essay: Essay, _: Random) -> Iterator[Plant]:
    """Leave the one negation out of a true sentence that cites, outside every quotation."""
    for claim in essay.claims:
        text = essay.markdown[claim.start : claim.end]
        if len(re.findall(r"(?i)\b(?:not|no|never|none|nothing|cannot|without|nor|neither)\b|n['’]t\b", text)) != 1:
            continue
        for pattern, instead in _PROSE:
            match = re.search(pattern, text)
            if match is None or essay.is_quoted(claim.start + match.start()):
                continue
            at = claim.start + match.start()
            sentence = essay.sentence_at(at)
            edit = (at, at + len(match[0]), match.expand(instead))
            yield plant("dropped negation in prose", essay, edit, "the negation of a true sentence", sentence)


def wrong_speaker(essay: Essay, _: Random) -> Iterator[Plant]:
    """Give the words of one role to the other."""
    recording = essay.recording
    for match in _SPEAKER.finditer(essay.markdown):
        one, claim = essay.quotation_at(match.end() + 1), essay.claim_at(match.start())
        if one is None or claim is None or essay.is_quoted(match.start()):
            continue
        words = words_of(re.split("…", one.words)[0]).rstrip()
        said = {recording.role(index) for index in _holders(essay, claim, words)}
        truth = "user" if match["who"] == "user" else "assistant"
        if said == {truth} and not any(words in recording.words(k) for k in claim.nearby if recording.role(k) != truth):
            new = "user" if truth == "assistant" else "assistant"
            edit = (match.start("who"), match.end("who"), new)
            proof = f"{one.words!r} stands in a message of the {truth} and in none of the {new} nearby"
            yield plant("wrong speaker", essay, edit, proof, (one.start, one.end), match.span())
