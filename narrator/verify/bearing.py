"""Whether a citation bears its claim out: by the words that claim and message share, against the messages beside it.

A weak sign, used only where no quotation and no figure of the claim stands in what is cited. The measure is BM25 (Robertson
and Walker 1994), which weighs rare words more and long messages less; thresholds were set on essays whose citations were
right and on the same essays with citations moved by one (`docs/checking.md`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from narrator.verify.told import Told
from narrator.verify.wording import fold

_LEAD, _SHARE = 4.0, 0.45
"""A message beside the cited one must score so much more, and the cited one at most such a share of both."""
_REPEATED = 8.0
"""The same where the assistant answers the user, whose request it often says again in more words."""
_SATURATION, _LENGTH = 1.2, 0.75
_READ = 20_000
"""Characters of a message that are read for its words."""
_WORD = re.compile(r"[a-z0-9][a-z0-9_]{2,}")
_STOP = frozenset(
    "the and that this with for from were was had has have not its his her their they them then than but only also more "
    "less over about into onto after before each every all both other another which who whom whose where when while msg "
    "message messages assistant user one two three four five six seven eight nine ten eleven twelve did does done been "
    "being are will would could should may might can cannot there here what how why said says wrote asked ran returned "
    "same such very just still even ever never most some any few many much first last next because since though although "
    "however yet out off down again between during without within upon through against under above".split()
)


def stem(word: str) -> str:
    """A word without the commonest endings."""
    for ending in ("ing", "edly", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def words_of(text: str) -> list[str]:
    """The stems of the telling words of a folded text."""
    return [stem(word) for word in _WORD.findall(text) if word not in _STOP]


class Bearing:
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

    def better(self, claim: str, cited: Told, beside: Iterable[Told]) -> Told | None:
        """The message beside the cited one that a claim is clearly about; None when there is no such."""
        wanted = set(words_of(fold(claim)))
        own = self._score(wanted, self.words(cited))
        scored = [(self._score(wanted, self.words(told)), told.index, told) for told in beside]
        best = max(scored, default=None)
        if best is None:
            return None
        lead = _REPEATED if cited.role == "user" and best[2].role == "assistant" else _LEAD
        if best[0] - own <= lead or own > _SHARE * (own + best[0]):
            return None
        return best[2]

    def _score(self, wanted: Iterable[str], words: Mapping[str, int]) -> float:
        length = sum(words.values()) / self._average
        total = 0.0
        for word in wanted:
            count = words.get(word, 0)
            if count:
                held = self._frequency[word]
                rare = math.log(1 + (len(self._told) - held + 0.5) / (held + 0.5))
                total += rare * count * (_SATURATION + 1) / (count + _SATURATION * (1 - _LENGTH + _LENGTH * length))
        return total
