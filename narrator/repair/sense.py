"""Whether a correction says what its sentence said: no more, not the contrary, and something for what failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from narrator.repair.failing import Failing
from narrator.report import Statement
from narrator.verify.clauses import find_cites, find_quotations
from narrator.verify.figures import find_figures
from narrator.verify.prose import read_blocks

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 5
"""Letters by which two forms of a word are known as one."""
_JOINING = (
    "about above across after again against all also among and another any are around because been before behind being "
    "below between both but can could did does done during each earlier either else every few first following for from "
    "had has have her here his how into its itself just last later least less many more most much near next off once "
    "one only onto other our out over own past per same second she should since some such than that the their them "
    "then there these they third this those though through thus till too under until upon was were what when where "
    "which while who whom whose will with within would yet you your two three four five six seven eight nine ten "
    "assistant user model message messages turn session system tool command nearly roughly almost exactly hour hours "
    "minute minutes day days byte bytes line lines file files time times percent"
)
_FREE = frozenset(_WORD.findall(_JOINING))
"""Words that a correction may bring: those that only join, those for who spoke, and those for an amount."""
_LINE_OF_QUOTE = re.compile(r"\n[ \t]*>[> \t]*")
"""Where a sentence in a block quotation goes on in its next line."""
_MORE_OF_CLAIM = 2
"""Other words that it may bring where what failed is the claim itself."""


def changed_sense(one: Failing, text: str, statements: Sequence[Statement]) -> Iterator[str]:
    """Yield why a correction of a sentence is none; `statements` are those of the sentence."""
    failing = [each for each in statements if each.verdict == "failed"]
    if one.kind == "fence":
        return
    written = _LINE_OF_QUOTE.sub(" ", one.text)  # as one line, which a correction is
    old, new = _plain(written), _plain(text)
    if len(_NEGATION.findall(old)) != len(_NEGATION.findall(new)):
        yield "it turns the sense round"
    near = [each.nearest.text for each in failing if each.nearest is not None]
    known = {stem for told in (one.text, *near) for stem in _stems(told)}
    brought = {word.casefold() for word in _WORD.findall(_NEGATION.sub(" ", new))} - _FREE
    more = sorted(word for word in brought if word[:_STEM] not in known)
    if len(more) > (_MORE_OF_CLAIM if any(each.sort == "claim" for each in failing) else 0):
        yield f"it says more than before: {', '.join(more)[:60]}"
    removable = any(each.sort in ("figure", "quotation") for each in failing)
    if removable and _count_told(text) < _count_told(written):
        yield "it only takes away what failed, and is not said to claim less"


def _plain(markdown: str) -> str:
    """The words of a piece of Markdown outside its citations and quotations."""
    return " ".join(_pieces(markdown))


def _pieces(markdown: str) -> Iterator[str]:
    for block in read_blocks(markdown):
        position, cites = 0, find_cites(block)
        taken = [(each.start, each.end) for each in cites if each.bracketed]
        taken += [(each.start, each.end) for each in find_quotations(block, cites)]
        for start, end in sorted(taken):
            yield block.text[position:start]
            position = max(position, end)
        yield block.text[position:]


def _count_told(markdown: str) -> int:
    """How many figures and quotations a piece of Markdown has."""
    found = 0
    for block in read_blocks(markdown):
        cites = find_cites(block)
        quoted = find_quotations(block, cites)
        taken = [*((each.start, each.end) for each in cites), *((each.start, each.end) for each in quoted)]
        found += len(quoted) + len(find_figures(block.text, taken))
    return found


def _stems(text: str) -> set[str]:
    return {word.casefold()[:_STEM] for word in _WORD.findall(text)}
