"""Whether a citation bears its claim out: by the words that claim and message share, against the messages beside it.

A weak sign, used only where no quotation and no figure of the claim stands in what is cited. The measure is BM25
(Robertson and Walker 1994), which weighs rare words more and long messages less; the thresholds were set on essays
whose citations were right and on the same essays with citations moved by one (`docs/checking.md`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from narrator.report import Match
from narrator.sanitize import one_line
from narrator.verify.judged import Judged, Passage
from narrator.verify.quotations import Finding
from narrator.verify.scope import Cited
from narrator.verify.spans import Row
from narrator.verify.told import BORDER, Told
from narrator.verify.wording import fold

_LEAD, _SHARE = 5.0, 0.45
"""A message beside the cited one must score so much more, and the cited one at most such a share of both."""
_REPEATED = 8.0
"""The same where the assistant answers the user, whose request it often says again in more words."""
_SHARED = 3
"""Words of the claim that it must have."""
_SHARED_LAST = 2
"""Of these, words of the claim's last sentence."""
_SHORT = 0.5
"""A message counts as at least so long, against the average: a word of a short one is no better than another."""
_SATURATION, _LENGTH = 1.2, 0.75
_NEXT = 2
"""How far a citation may be off the message that is its sentence's subject and still be a slip."""
_SHOWN = 160
_READ = 20_000
"""Characters of a message that are read for its words."""
_WORD = re.compile(r"[a-z0-9][a-z0-9_]{2,}")
_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        the and that this with for from were was had has have not its his her their they them then than but only
        also more less over about into onto after before each every all both other another which who whom whose
        where when while msg message messages assistant user one two three four five six seven eight nine ten eleven
        twelve did does done been being are will would could should may might can cannot there here what how why
        said says wrote asked ran returned same such very just still even ever never most some any few many much
        first last next because since though although however yet out off down again between during without within
        upon through against under above
        """,
    )
)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without the commonest endings."""
    for ending in ("ing", "edly", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def words_of(text: str) -> list[str]:
    """The stems of the telling words of a folded text."""
    return [stem(word) for word in _WORD.findall(text) if word not in _STOP]


class Likeness:
    """The words of the messages an essay cites and of those beside them."""

    def __init__(self, messages: Iterable[Told]) -> None:
        self._told = {told.index: told for told in messages}
        self._words: dict[int, Counter[str]] = {}

    def words(self, told: Told) -> Counter[str]:
        """How often each stem stands in a message."""
        if told.index not in self._words:
            self._words[told.index] = Counter(words_of(told.numeric[:_READ]))
        return self._words[told.index]

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(word for told in self._told.values() for word in self.words(told))

    @cached_property
    def _average(self) -> float:
        lengths = [sum(self.words(told).values()) for told in self._told.values()]
        return max(1.0, sum(lengths) / max(1, len(lengths)))

    def better(self, claim: str, last: str, cited: Told, beside: Iterable[Told]) -> Told | None:
        """The message beside the cited one that a claim is clearly about; None when there is no such.

        `last`: the claim's last sentence, which the message must fit better as well: those before it may be of others.
        """
        wanted, ending = set(words_of(fold(claim))), set(words_of(fold(last)))
        own = self._score(wanted, self.words(cited))
        scored = [(self._score(wanted, self.words(told)), told.index, told) for told in beside]
        score, _, best = max(scored, default=(0.0, 0, None))
        if best is None or sum(word in self.words(best) for word in wanted) < _SHARED:
            return None
        shared = sum(word in self.words(best) for word in ending)
        if shared < _SHARED_LAST or self._score(ending, self.words(best)) <= self._score(ending, self.words(cited)):
            return None
        lead = _REPEATED if cited.role == "user" and best.role == "assistant" else _LEAD
        return best if score - own > lead and own <= _SHARE * (own + score) else None

    def _score(self, wanted: Iterable[str], words: Mapping[str, int]) -> float:
        length = max(_SHORT, sum(words.values()) / self._average)
        total = 0.0
        for word in wanted:
            if count := words.get(word, 0):
                held = self._frequency[word]
                rare = math.log(1 + (len(self._told) - held + 0.5) / (held + 0.5))
                total += rare * count * (_SATURATION + 1) / (count + _SATURATION * (1 - _LENGTH + _LENGTH * length))
        return total


def doubt_citations(
    passages: Sequence[Passage], cited: Cited, judged: Sequence[Sequence[Judged]], claims: Sequence[Judged]
) -> list[Judged]:
    """Every statement, the citations failed whose claim is clearly about the message beside the one they name."""
    charged: dict[int, list[Judged]] = {}
    for claim in claims:
        charged.setdefault(id(claim.passage), []).append(claim)
    doubts = [
        (one, words)
        for passage, own in zip(passages, judged, strict=True)
        for one, words in _unproven(passage, own, charged.get(id(passage), []))
    ]
    told = {one.scope.indices[0]: one.scope.own[0] for one, _ in doubts}
    beside = {index: cited.told([index - 1, index + 1]) for index in told}
    likeness = Likeness([*cited.messages, *(one for near in beside.values() for one in near)] if doubts else [])
    better: dict[int, Told] = {}
    for one, words in doubts:
        index = one.scope.indices[0]
        if (named := _subject(words)) is not None and 0 < abs(named - index) <= _NEXT:
            better.update((id(one), found) for found in cited.told([named]))
        elif (found := likeness.better(words, _ending(one, words), told[index], beside[index])) is not None:
            better[id(one)] = found
    return [_doubted(one, better[id(one)]) if id(one) in better else one for own in judged for one in own]


def _ending(citation: Judged, claim: str) -> str:
    """The sentence of a claim that its citation stands in."""
    found = citation.passage.clause_at(citation.start)
    return claim[-(citation.start - found[0].sentence[0]) :] if found is not None else claim


def _subject(claim: str) -> int | None:
    """The message that a claim's last sentence begins with: `Message 12 is …`."""
    found = re.search(r"(?:^|[.!?] )\W*(?:[Mm]essage|[Mm]sg) (\d{1,15})\b[^.]*$", claim)
    return int(found[1]) if found is not None else None


def _unproven(passage: Passage, own: Sequence[Judged], claims: Sequence[Judged]) -> Iterator[tuple[Judged, str]]:
    """The citations of one message for whose claim no quotation and no figure speaks, with that claim."""
    position = 0
    others = Row(one for one in (*own, *claims) if one.sort != "citation")
    for one in (one for one in own if one.sort == "citation"):
        start, position = position, one.end
        if not (one.holds and len(one.scope.indices) == 1 and one.scope.own):
            continue
        if not any(_proves(other, one) for other in others.within(start, one.end)):
            yield one, passage.block.text[start : one.start]


def _proves(one: Judged, citation: Judged) -> bool:
    """Whether a statement was found in what is cited, was counted in it, or has failed already."""
    finding = one.finding
    if finding is None:
        return False
    counted = finding.derived and finding.says.endswith(f" in message {citation.scope.indices[0]}")
    return finding.kind is not None or counted or bool(finding.weight and finding.found is not None)


def _doubted(one: Judged, better: Told) -> Judged:
    says = f"what is said here is told by message {better.index}, beside the one that is cited"
    nearest = Match(index=better.index, text=one_line(better.raw.replace(BORDER, " "), _SHOWN))
    return one._replace(finding=Finding("wrong-message", says, nearest=nearest))
