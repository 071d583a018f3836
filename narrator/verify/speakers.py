"""Who spoke: a sentence that gives one side's words or deeds to another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from narrator.report import Match
from narrator.sanitize import one_line
from narrator.verify.clauses import Clause, Quotation
from narrator.verify.quotations import Finding, Wanted
from narrator.verify.scope import Scope
from narrator.verify.spans import Row
from narrator.verify.told import Told
from narrator.verify.wording import find_pieces

_SAID = (
    r"wrote|writes|said|says|asked|asks|answered|answers|replied|replies|typed|types|told|tells|ordered|requested|"
    r"demanded|instructed|announced|noted|explained|concluded|reasoned|remarked|observed|stated|declared|insisted|"
    r"objected|confirmed|suggested|proposed|wondered|complained|warned|called|reported|responded|added|named|recommended"
)
_DID = (
    r"ran|runs|copied|listed|edited|patched|installed|reinstalled|started|launched|restarted|read|checked|tested|built|"
    r"measured|changed|removed|deleted|created|wrote|opened|called|searched|fetched|downloaded|pushed|executed|invoked|"
    r"upgraded|replaced|chose|decided|offered|tried|found|looked|fixed|compared|inspected|verified|planned|computed"
)
_IRREGULAR = (
    "did|went|took|made|gave|got|kept|held|put|set|saw|left|held|began|brought|sent|drew|spoke|thought|knew|meant|"
    "came|let|wrote|had to|was|became|understood|chose|built|cut|paid|lost|won|met|rose|fell"
)
_ADVERB = (
    r"(?:\s+(?:then|later|first|also|now|next|at once|simply|only|again|instead|had|has|have|itself|once|just|already|"
    r"\w+ly)){0,3}"
)
_WHO = r"(?P<who>user|person|human|operator|assistant|agent|model|harness|tool|server|shell|command|log)"
_SAYING = re.compile(rf"\b[Tt]he\s+{_WHO}(?P<owner>['’]s)?{_ADVERB}\s+(?P<verb>{_SAID})\b")
_ACTING = re.compile(
    r"^\W*(?:(?:But|And|Then|Next|So|Here|Meanwhile|Afterwards|Instead|Finally|Later)[, ]+)?"
    rf"[Tt]he\s+{_WHO}{_ADVERB}\s+(?P<verb>did not|never|\w{{2,}}ed|{_SAID}|{_DID}|{_IRREGULAR})\b"
)
_EARLIER = re.compile(r"\bhad\s+(?!to\b)\w")
_STORED = re.compile(
    r"\b[Mm](?:essage|sg)\s+(?P<index>\d{1,15})\s+(?:is|was)\s+(?:an?\s+|the\s+)?(?:\w+[\s-]+){0,3}?"
    r"(?P<role>user|assistant)(?:['’]s)?\s+(?:message|turn|step|reply|answer|request)\b(?!\s+\d)"
)
_ACTOR = re.compile(r"\b[Tt]he (?:user|assistant|agent|model|harness)\b")
_SIDE = {
    "user": "user",
    "person": "user",
    "human": "user",
    "operator": "user",
    "assistant": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "harness": "harness",
    "tool": "tool",
    "server": "tool",
    "shell": "tool",
    "command": "tool",
    "log": "tool",
}
_PERSON = r"(?P<who>user|person|human|operator|assistant|agent|model|tool)"
_MESSAGE = r"(?:message|msg)\s+\d{1,15}"
_CLOSES = r"(?:wrote|said|asked|answered|replied|typed|ordered)\b"
_READS = r"(?:reads?|says|said|ran|runs|was|were|is|are)"
_LEADING = tuple(
    re.compile(rf"{pattern}\s*[,:]?\s*$", re.IGNORECASE)
    for pattern in (
        rf"\bas\s+the\s+{_PERSON}\s+(?:put|puts|phrased|phrases|worded|had)\s+it",
        rf"\baccording\s+to\s+the\s+{_PERSON}",
        rf"\bthe\s+{_PERSON}['’]s\s+(?:own\s+|exact\s+)?words\s+{_READS}",
        rf"^\W*(?:the\s+)?{_PERSON}(?:\s*\({_MESSAGE}\)|\s*\[{_MESSAGE}\])?\s*:",
        r"\bthe\s+(?P<who>tool)\s+(?:printed|prints|returned|returns|showed|shows)",
    )
)
"""Right before a quotation: whose words it is said to be."""
_HOLDING = tuple(
    re.compile(rf"{pattern}\s*[,:]?\s*$", re.IGNORECASE)
    for pattern in (
        rf"\bthe\s+{_PERSON}['’]s\s+{_MESSAGE}\s+{_READS}",
        rf"\b{_MESSAGE},\s+(?:by|from|of)\s+the\s+{_PERSON},\s+{_READS}",
    )
)
"""Right before a quotation: whose message holds it, output of its tools included."""
_TRAILING = tuple(
    re.compile(rf"^\s*{pattern}", re.IGNORECASE)
    for pattern in (
        rf",?\s*(?:wrote|writes|said|says|replied|replies|typed|noted|explained|concluded)\s+the\s+{_PERSON}\b(?!['’])",
        rf",?\s*the\s+{_PERSON}{_ADVERB}\s+{_CLOSES}(?=\s*(?:[.,;:]|$|\[|in {_MESSAGE}))",
        rf"(?:was|is|were)\s+what\s+the\s+{_PERSON}{_ADVERB}\s+(?:{_SAID})\b",
        rf"[—–]\s*the\s+{_PERSON}\s*(?=[.,;]|$|\[)",
    )
)
"""Right behind a quotation that begins a sentence."""
_ANYBODY = re.compile(rf"\b{_WHO}\b", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:was|were|is|are|been|being|got)\s+(?:\w+\s+)?"
    r"(?:told|asked|answered|given|shown|met|greeted|refused|warned|handed)\b"
)
"""Between a name and a quotation: the words came to the one who is named."""
_SPOKEN = {
    "synthetic": "harness",
    "reasoning": "assistant",
    "input": "assistant",
    "output": "tool",
    "error": "tool",
    "diff": "tool",
}
"""Whose words a stretch holds that is no plain text."""
_BEFORE = 140
"""Characters of a sentence before a quotation in which its speaker is looked for."""


class Charge(NamedTuple):
    """A sentence, or a part of it, that does not hold as a whole."""

    start: int
    end: int
    finding: Finding


def side_of(told: Told, kind: str) -> str:
    """Whose words a stretch of a message is: user, assistant, harness or tool."""
    side = _SPOKEN.get(kind, "")
    return side or ("tool" if told.role == "tool" else "assistant" if told.role == "assistant" else "user")


def judge_speakers(
    text: str, clauses: Sequence[tuple[Clause, Scope]], quoted: Sequence[tuple[Wanted, Sequence[Told]]]
) -> Iterator[Charge]:
    """Charge the sentences that name a speaker whose words or deeds these are not.

    `quoted`: the quotations that were found, each with the messages it may be from.
    """
    row = Row(clause for clause, _ in clauses)
    charged = set[tuple[int, int]]()
    for wanted, messages in quoted:
        clause = row.upto(wanted.quotation.start)
        if clause is None or (charge := _wrong_words(text, clause, wanted, messages)) is None:
            continue
        charged.add(clause.sentence)
        yield charge
    for clause, scope in clauses:
        if clause.sentence not in charged:
            yield from _wrong_deeds(text, clause, scope)
            yield from _wrong_place(text, clause, scope)


def _wrong_words(text: str, clause: Clause, wanted: Wanted, messages: Sequence[Told]) -> Charge | None:
    """A quotation whose speaker, named right before it, is another than the record has."""
    quotation = wanted.quotation
    speaker = _said_before(text, clause, quotation.start) or _said_around(text, clause, quotation)
    if speaker is None:
        return None
    named, verb = speaker
    sides = {side: told for told in messages for side in _speakers(wanted, told)}
    if not sides or _fits(named, verb, set(sides)):
        return None
    actual, told = next(iter(sides.items()))
    says = f"these are the {actual}'s words in message {told.index}, not the {named}'s"
    nearest = Match(index=told.index, text=one_line(quotation.words, 200))
    return Charge(quotation.start, quotation.end, Finding("wrong-role", says, nearest=nearest))


def _said_before(text: str, clause: Clause, start: int) -> tuple[str, str] | None:
    """The side that is said to have said, written or asked what begins at `start`, and the verb."""
    before = text[max(clause.sentence[0], start - _BEFORE) : start]
    found = [one for one in _SAYING.finditer(before) if one["owner"] is None]
    since = before[found[-1].start() :] if found else ""
    if not found or re.search(r"[\"”’`]", before[found[-1].end() :]) or _TOLD.search(since):
        return None
    return _SIDE[found[-1]["who"].lower()], found[-1]["verb"]


def _said_around(text: str, clause: Clause, quotation: Quotation) -> tuple[str, str] | None:
    """The side that other words right round a quotation give it to, and a verb; None where two may be meant."""
    before = text[max(clause.sentence[0], quotation.start - _BEFORE) : quotation.start]
    behind = text[quotation.end : min(clause.sentence[1], quotation.end + _BEFORE)]
    named = {_SIDE[one["who"].lower()] for one in _ANYBODY.finditer(f"{before} \ufffc {behind}")}
    if len(named) != 1 or re.search(r"[\"“”`]", before + behind):
        return None
    for patterns, verb, words in ((_LEADING, "said", before), (_HOLDING, "reads", before), (_TRAILING, "said", behind)):
        if patterns is _TRAILING and re.search(r"\w", before):
            continue
        if any(pattern.search(words) for pattern in patterns):
            return next(iter(named)), verb
    return None


def _speakers(wanted: Wanted, told: Told) -> set[str]:
    """Whose words a quotation is in one message."""
    both = zip(told.stretches, told.folds, strict=True)
    held = [one for one, folded in both if find_pieces(wanted.parts, folded) is not None]
    sides = {side_of(told, one.kind) for one in held}
    return sides | {"user"} if held and told.by_user else sides


def _fits(named: str, verb: str, sides: set[str]) -> bool:
    """Whether words of these sides may be said to be the named one's: a tool may print what it was given."""
    if named in sides or (named == "tool" and "assistant" in sides) or named == "harness":
        return named != "harness" or not sides <= {"user", "assistant"} or bool(sides & {"assistant"})
    return (
        named == "assistant" and sides == {"tool"} and verb in ("called", "named", "reported", "noted", "read", "reads")
    )


def _wrong_deeds(text: str, clause: Clause, scope: Scope) -> Iterator[Charge]:
    """A sentence about what one side did whose citation names only messages of the other."""
    if not scope.own or clause.start != clause.sentence[0]:
        return
    found = _ACTING.match(text[clause.start : clause.end].lstrip())
    # What had been done lies before what a later sentence cites.
    if found is None or (not clause.own and _EARLIER.search(found[0]) is not None):
        return
    named = _SIDE[found["who"].lower()]
    roles = {told.role for told in scope.own}
    typed = any(_is_typed(told) for told in scope.own)
    wrong = (named == "user" and not typed and not any(told.by_user for told in scope.own)) or (
        named == "assistant" and roles == {"user"}
    )
    # Where another side acts later in the sentence, the citation may be for that.
    if wrong and _ACTOR.search(text, clause.start + found.end(), clause.end) is None:
        start = clause.start + len(text[clause.start : clause.end]) - len(text[clause.start : clause.end].lstrip())
        says = f"what is cited is {_listed(scope.own)}, not the {named}'s"
        yield Charge(start, start + found.end(), Finding("wrong-role", says))


def _is_typed(told: Told) -> bool:
    """Whether a person may have sent it: a message of the user that holds typed words, or at least none of others."""
    if told.role != "user" or "compaction-request" in told.kinds:
        return False
    return "synthetic" not in told.kinds or any(stretch.kind == "text" for stretch in told.stretches)


def _listed(messages: Iterable[Told]) -> str:
    harness = {"synthetic", "compaction-request"}
    roles = {"the harness's" if harness & set(told.kinds) else f"the {told.role}'s" for told in messages}
    return " and ".join(sorted(roles))


def _wrong_place(text: str, clause: Clause, scope: Scope) -> Iterator[Charge]:
    """`Message 12 is a user message` of a message of the assistant."""
    for match in _STORED.finditer(text, clause.start, clause.end):
        told = scope.cited.evidence.message(int(match["index"]))
        if told is not None and told.role in ("user", "assistant") and told.role != match["role"]:
            says = f"message {told.index} is stored with the role {told.role}"
            yield Charge(match.start(), match.end(), Finding("wrong-role", says))
