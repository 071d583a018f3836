"""Quotations against the record: found, found elsewhere, altered, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from narrator.report import FailureKind, Match
from narrator.sanitize import one_line
from narrator.verify.clauses import Quotation
from narrator.verify.held import Held
from narrator.verify.scope import Scope
from narrator.verify.told import BORDER, Told
from narrator.verify.wording import EDGES, find_near, find_pieces, original, pieces

ALTERED = 0.6
"""Share of words in common from which words are a changed quotation and not another text."""
_CITATION = re.compile(r"\[msg [^\[\]]*\]")
_CONDITION = re.compile(r"[ ,;:-]*(?:only if|if|unless|except|provided|as long as|but only|until)\b")
_NEGATION = re.compile(r"(?:\bnot|\bnever|\bcannot|n't|\bwithout|\bno)[ \"']*$")
_ANY_NEGATION = re.compile(r"\b(?:not|never|no|nor|none|neither|without|cannot|nothing)\b|n['’]t\b", re.IGNORECASE)
_SAYING = re.compile(
    r"\b(?:wrote|writes|said|says|typed|asked|asks|answered|replied|read|reads|called|named|ordered|reported|printed|"
    r"returned|message \d+)\b[^.]{0,30}$|\b(?:sent|sends|sending) (?:a |the |one |only |just |bare |word )*$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:would|could|should|might) (?:not )?(?:have|be)\b")
"""What is said of a thing that did not happen."""
_FRAME = re.compile(r"^(?:‹[^›\n]*›|</?conversation_data[^>\n]*>|\(no [a-z ]+\))$", re.MULTILINE)
"""Lines that this product's writers put into a reproduced message."""


class Finding(NamedTuple):
    """What became of a quotation or figure."""

    kind: FailureKind | None = None
    """None: it holds, or cannot be judged."""
    says: str = ""
    found: Match | None = None
    nearest: Match | None = None
    judged: bool = True
    derived: bool = False
    weight: int = 1
    """How much it tells about its citation: 0 nothing, since such words stand in many messages."""
    again: bool = False
    """It was said, and borne out, before in the essay."""


class Wanted(NamedTuple):
    """A quotation to be found."""

    quotation: Quotation
    parts: tuple[str, ...]
    """Folded, between its gaps."""
    before: str
    """The essay's own words before it."""
    fenced: bool
    supposed: bool = False
    """It is code of which the essay says what it would do, or should have done."""

    @property
    def is_name(self) -> bool:
        """One word of code: a name, which proves nothing about where it was read."""
        return self.quotation.code and len(self.parts) == 1 and " " not in self.parts[0]

    @property
    def is_term(self) -> bool:
        """One or two plain words in marks, which may be the essay's own irony."""
        words = " ".join(self.parts).split()
        plain = all(word.strip(".,;:!?'\"").replace("-", "").replace("'", "").isalpha() for word in words)
        return not self.quotation.code and len(words) <= 2 and plain and not _SAYING.search(self.before)

    @property
    def is_word(self) -> bool:
        """One plain word in marks that nobody is said to have said: it is spoken of and not quoted."""
        return self.is_term and len(self.parts) == 1 and " " not in self.parts[0]


def read_quotation(quotation: Quotation, text: str, *, fenced: bool) -> Wanted:
    """A quotation made ready to be looked for."""
    words = _FRAME.sub("…", quotation.words) if fenced else quotation.words
    parts = pieces(words, trim=not quotation.code)
    start = max(0, quotation.start - 80)
    before, behind = text[start : quotation.start], text[quotation.end : quotation.end + 40]
    near = re.split(r"[.!?;] ", before)[-1] + " \ufffc " + re.split(r"[.!?;] ", behind)[0]
    supposed = quotation.code and not fenced and _SUPPOSED.search(near) is not None
    return Wanted(quotation, tuple(parts), before, fenced, supposed)


def is_unmarked(quotation: Quotation, text: str) -> bool:
    """Whether it is a sentence of a block quotation, without marks of its own."""
    return not quotation.code and text[quotation.start : quotation.end] == quotation.words


def judge_quotation(wanted: Wanted, scope: Scope, known: Held, after: str) -> Finding | None:
    """What is known of a quotation from the messages the essay cites; None when only a search of all can tell.

    `known`: quotations that stand elsewhere in the essay with the citation that bears them out; `after`: the essay's
    words behind it.
    """
    if not wanted.parts or _CITATION.fullmatch(wanted.quotation.words):
        return Finding(weight=0)
    if (held := _in_any(wanted, scope.bracketed, after)) is not None:
        return held
    if " ".join(wanted.parts) == scope.cited.evidence.session.words.strip(EDGES):
        return Finding(weight=0, again=True)
    trails = scope.clause is not None and scope.clause.trails
    again = known.quotes(wanted.parts, inside=trails)
    loose = wanted.fenced or wanted.is_name or wanted.is_word or wanted.supposed or not scope.strict or again
    if (
        near := _in_any(wanted, [*scope.own, *scope.near], after) or _in_any(wanted, scope.cited.messages, after)
    ) is not None:
        return near._replace(weight=0, again=again) if loose else _elsewhere(near)
    return _ours(wanted, [*scope.own, *scope.near]) or _beside(wanted, scope, after, loose=loose)


def _beside(wanted: Wanted, scope: Scope, after: str, *, loose: bool) -> Finding | None:
    """Judge a quotation that stands in nothing the essay cites, by the session's own names and the messages beside."""
    if wanted.is_name and _named_in(wanted, [scope.cited.evidence.session]):
        return Finding(weight=0)
    if (beside := _held_in(wanted, scope.cited.beside(), after)) is not None:
        return beside._replace(weight=0) if loose else _elsewhere(beside)
    return None


def _in_any(wanted: Wanted, messages: Sequence[Told], after: str) -> Finding | None:
    """Judge a quotation by the messages that hold it, in their text or as a name."""
    return _held_in(wanted, messages, after) or _named_in(wanted, messages)


def found_far(wanted: Wanted, scope: Scope, told: Told) -> Finding | None:
    """Judge a quotation that was found in a message far from all that is cited."""
    far = _held_in(wanted, [told], "")
    if far is None:
        return None
    return (
        far._replace(weight=0)
        if wanted.is_name or wanted.is_word or wanted.supposed or not scope.own
        else _elsewhere(far)
    )


def not_found(wanted: Wanted, scope: Scope, messages: Sequence[Told]) -> Finding:
    """Judge a quotation that stands nowhere: changed, or made up."""
    quote = wanted.quotation.words
    near = _nearest(quote, scope.own) or _nearest(quote, messages)
    if wanted.is_term and (near is None or near[0] < 0.9):
        return Finding(judged=False, says="one or two words in quotation marks that no message holds", weight=0)
    if wanted.supposed and " " in quote.strip() and (near is None or near[0] < ALTERED):
        return Finding(judged=False, says="code of which the essay says what it would do", weight=0)
    if wanted.is_name and scope.cited.evidence.partial:
        return Finding(judged=False, says="the draft does not keep what could tell; give its session", weight=0)
    if near is not None and near[0] >= ALTERED:
        return Finding("quote-altered", f"the recorded words differ: “{one_line(near[1].text, 160)}”", nearest=near[1])
    if wanted.is_name and re.search(r"\d|/|\.\w", quote):
        return Finding("figure-not-found", "it stands in no message", nearest=near and near[1])
    return Finding("quote-not-found", "no message holds these words", nearest=near and near[1])


def _nearest(quote: str, messages: Iterable[Told]) -> tuple[float, Match] | None:
    best: tuple[float, Match] | None = None
    for told in messages:
        near = find_near(quote, told.raw)
        if near.ratio > (best[0] if best is not None else 0.3):
            best = near.ratio, Match(index=told.index, text=near.text)
    return best


def _held_in(wanted: Wanted, messages: Iterable[Told], after: str) -> Finding | None:
    """Judge a quotation by the first message that holds it whole, else by one that holds it cut."""
    cut: Finding | None = None
    for told in messages:
        for parts in (wanted.parts, *_shorter(wanted)):
            if parts and (span := find_pieces(parts, told.folded)) is not None:
                finding = _hold(wanted, told, span, parts, after)
                if finding.kind is None:
                    return finding
                cut = cut or finding
    return cut


def _shorter(wanted: Wanted) -> Iterator[tuple[str, ...]]:
    """The quotation as it reads when another of its marks closes it."""
    quotation = wanted.quotation
    for end in quotation.ends:
        length = end - quotation.start - 2
        if 0 < length < len(quotation.words):
            yield tuple(pieces(quotation.words[:length], trim=True))
    if wanted.fenced:
        yield tuple(piece for line in quotation.words.split("\n") for piece in pieces(_FRAME.sub("", line)))


def _hold(wanted: Wanted, told: Told, span: tuple[int, int], parts: Sequence[str], after: str) -> Finding:
    text, quote = told.folded, wanted.quotation
    match = Match(index=told.index, text=_recorded(wanted, told, parts))
    if quote.code or len(parts[0].split()) < 2:
        return Finding(found=match)
    before = text[max(0, span[0] - 24) : span[0]]
    if _NEGATION.search(before) and not _ANY_NEGATION.search(wanted.before[-40:]):
        lost = before.split(BORDER)[-1].split()[-1]
        says = f"the record has “{lost}” right before these words"
        return Finding("quote-altered", says, nearest=_widened(told, span))
    begins = span[0] == 0 or re.search(r"[.!?:\n" + BORDER + r"] ?[\"'(-]*$", text[: span[0]])
    ended = re.search(r"[.!]$", quote.words.strip()) or re.match(r"\s*(?:[.!]|\[msg[^\]]*\]\.)", after)
    whole = len(" ".join(parts).split()) >= 4 and begins and ended and not quote.words.rstrip().endswith("…")
    if whole and (condition := _CONDITION.match(text[span[1] :])) is not None:
        says = f"the record goes on with a condition: “{condition[0].strip(' ,;:-')} …”"
        return Finding("quote-altered", says, nearest=_widened(told, span))
    return Finding(found=match)


def _recorded(wanted: Wanted, told: Told, parts: Sequence[str]) -> str:
    """The words as recorded."""
    words = wanted.quotation.words
    return words if words in told.raw else original(told.raw, parts)


def _widened(told: Told, span: tuple[int, int]) -> Match:
    """The words with some of what stands round them."""
    start = told.folded.rfind(" ", 0, max(0, span[0] - 20)) + 1
    words = told.folded[start : span[1] + 40].split(BORDER)[0].strip()
    return Match(index=told.index, text=original(told.raw, [words]))


def _named_in(wanted: Wanted, messages: Iterable[Told]) -> Finding | None:
    """A quotation of a recorded name: a tool's, an error's, a finish."""
    for told in messages:
        if find_pieces(wanted.parts, told.words) is not None:
            return Finding(found=Match(index=told.index, text=wanted.quotation.words))
        if wanted.is_name and find_pieces(wanted.parts, told.stated) is not None:
            return Finding(weight=0)
    return None


def _ours(wanted: Wanted, messages: Iterable[Told]) -> Finding | None:
    """A quotation of what this product says of the record, which nobody said in it."""
    for told in messages:
        if " " in wanted.parts[0] and find_pieces(wanted.parts, told.stated) is not None:
            return Finding("prompt-words", f"this is what narrate states of message {told.index}, not recorded words")
    return None


def _elsewhere(found: Finding) -> Finding:
    index = found.found.index if found.found is not None else found.nearest.index if found.nearest is not None else 0
    return Finding(
        "wrong-message",
        f"these words stand in message {index}, not in what is cited",
        nearest=found.found or found.nearest,
    )
