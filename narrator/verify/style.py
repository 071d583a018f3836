"""Words of the product's own, and paragraphs of claims without a citation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from narrator.verify.clauses import Clause
from narrator.verify.quotations import Finding
from narrator.verify.scope import Cited
from narrator.verify.speakers import Charge

_OURS = re.compile(
    r"\bthe (?:session['’]s )?outline\b"
    r"|\bthe (?:parts?|portions?|text|window|excerpts?|context|material) (?:that (?:is|was|were) )?"
    r"(?:shown|given|provided|supplied)(?: to me| here)?\b"
    r"|\bthe (?:excerpt|prompt)s?\b(?= (?:shows?|gives?|says?|lists?|does|do|is|ends|stops))"
    r"|\b(?:the )?record:? lines?\b|\bnot (?:shown|listed) here\b|\baccording to the metadata\b"
    r"|\bwhat (?:I|we) (?:was|were|am|are) (?:given|shown)\b|\bI (?:was|am) (?:not )?(?:given|shown)\b"
    r"|\bthe (?:provided|supplied|given) (?:context|outline|excerpt|window|transcript|evidence|material)\b"
    r"|\bleft out for length\b|\bin my context window\b",
    re.IGNORECASE,
)
_ACTOR = re.compile(
    r"\b(?:the (?:user|assistant|agent|model|harness|server|build|command|script|process|tool|session|run)|"
    r"it|they|he|she)\s+(?:\w+ly\s+|then\s+|had\s+|first\s+)?(?:\w{2,}ed|wrote|ran|said|told|began|went|sent|came|got|"
    r"gave|found|took|built|chose|made|was|were|did|saw|left|put|set|read|held|kept|broke|fell|rose|lost|met)\b",
    re.IGNORECASE,
)
_CERTAIN_ACTOR = re.compile(r"\bthe (?:user|assistant|agent|harness)\s", re.IGNORECASE)


def judge_wording(text: str, cited: Cited) -> Iterator[Charge]:
    """Charge words that only the product and its writer know, unless the recording itself has them."""
    for match in _OURS.finditer(text):
        said = match[0].lower()
        if not any(said in told.folded for told in cited.messages):
            says = "the reader of an essay knows nothing of what its writer was shown"
            yield Charge(match.start(), match.end(), Finding("prompt-words", says))


def judge_uncited(text: str, clauses: Sequence[Clause], specific: Sequence[int], *, cites: bool) -> Iterator[Charge]:
    """Charge a paragraph that states events or figures and cites nothing.

    `specific`: where quotations and figures stand that were not cited before in the essay.
    """
    if cites or not clauses:
        return
    sentences = list(dict.fromkeys(clause.sentence for clause in clauses))
    told = [span for span in sentences if _ACTOR.search(text, *span) and _CERTAIN_ACTOR.search(text, *span)]
    if len(told) > 1 or (specific and _ACTOR.search(text)):
        says = "the paragraph states what happened and cites no message"
        yield Charge(sentences[0][0], sentences[-1][1], Finding("uncited", says))
