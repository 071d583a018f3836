"""What a block says, cut where its citations cut it: sentences, clauses, citations, quotations.

A citation closes the claim before it. A sentence without one belongs to the next citation of its paragraph (one at the
end covers all that rests on the same messages), or, behind the last, to the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from narrator.citations import find_citations
from narrator.verify.prose import Block
from narrator.verify.spans import Row, mark

_MENTION = re.compile(
    r"\b(?:messages?|msgs?\.?)\s+(?:no\.?\s*|number\s+|index\s+|\#)?"
    r"(\d[\d,]*\d|\d)((?:\s*(?:,\s*(?:and\s+)?|and\s+|or\s+|to\s+|through\s+|[-–—]\s*)(?:msg\s+)?\d+\b(?![.,]?\d|:|\s*%))*)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_STRAIGHT = re.compile(r"""(?<![\w"])"(?=[^\s"])([^"]*?[^\s"])"(?!\w)""")
_GUILLEMETS = re.compile(r"«(?!secret:)\s?([^«»]+?)\s?»|»([^«»]+)«")
_LOW = re.compile(r"„([^„“”\"]+)[“”\"]|(?<!\w)‚([^‚‘’]+)[‘’](?!\w)")
_HIGH = re.compile(r"(?<![\w”])”(?=[^\s”])([^„“”\"]*?[^\s„“”\"])”(?!\w)")
"""As Swedish and Finnish have it: the same mark before and behind."""
_CORNERS = re.compile(r"「([^「」]+)」|『([^『』]+)』")
_SINGLE = re.compile(r"(?<![\w’'])['‘](?=[^\s'’‘])((?:[^'’‘]|(?<=\w)['’](?=\w))*?[^\s'’‘])['’](?![\w’'])")
_END = re.compile(r"[.!?…]+[\"”’»'\)\]*_]*(?=\s)|\n\s*\n|[.!?]+[\"”’»']?(?=\[msg)")
_FOLLOWING = re.compile(r"\s*[\"“‘«(\[*]*(.)", re.DOTALL)
_SPACE, _STOPS = re.compile(r"\s*"), re.compile(r"[.,;:]*")
_SOURCE = re.compile(r"[ \t]*(?:[—–]|--)")
"""How the last line begins of a block quotation: `— the user [msg 12]`."""
_LABEL = re.compile(
    r"^\W*(?:note|tip|warning|caution|important|remark|takeaway|lesson|summary|caveat)\b", re.IGNORECASE
)
"""How a block begins that is set apart and not quoted."""
_SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|no|fig|resp|incl|Mr|Ms|Dr|St|v|p|pp)\.$", re.IGNORECASE)
LONGEST_NUMBER = 15
"""Digits; a longer run is no message number, and no value that a float holds."""
LONGEST_QUOTATION = 2000
"""Characters; two marks farther apart do not belong together."""


class Cite(NamedTuple):
    """A citation, or a message named in the text."""

    start: int
    """Half-open span in the block's text."""
    end: int
    names: tuple[str, ...]
    """Decimal indices or native ids."""
    bracketed: bool


class Quotation(NamedTuple):
    """Words in quotation marks or code."""

    start: int
    """Half-open span in the block's text, marks included where they stand in it."""
    end: int
    words: str
    code: bool
    ends: tuple[int, ...] = ()
    """Other places where it may end: where marks are nested or one is missing."""


class Clause(NamedTuple):
    """A stretch of a sentence that one citation closes, or the rest of it."""

    start: int
    end: int
    cites: tuple[Cite, ...]
    """The citation that closes it, with the messages it names itself; else those of its neighbours."""
    around: tuple[Cite, ...]
    """All citations of its sentence and of the sentences next to it."""
    own: bool
    """Whether a citation of its own closes it."""
    sentence: tuple[int, int]

    @property
    def tied(self) -> bool:
        """Whether a citation closes it or the sentence behind it, or it names a message itself."""
        return any(one.bracketed or self.start <= one.start < self.end for one in self.cites)


def find_cites(block: Block) -> list[Cite]:
    """Citations and messages named in running text, in order; what stands in code is neither."""
    if block.numbered:
        cells = re.finditer(r"\d.*\d|\d", block.text, re.DOTALL)
        return [Cite(cell.start(), cell.end(), tuple(_named(cell)), bracketed=True) for cell in cells]
    code = mark(len(block.text), block.codes)
    found = [
        Cite(one.start, one.end, one.targets, bracketed=True)
        for one in find_citations(block.text)
        if one.start not in block.escaped and not code[one.start]
    ]
    taken = mark(len(block.text), [(one.start, one.end) for one in found] + block.codes)
    named = (match for match in _MENTION.finditer(block.text) if not taken[match.start()])
    found += [Cite(match.start(), match.end(), tuple(_named(match)), bracketed=False) for match in named]
    return sorted(found)


def _named(match: re.Match[str]) -> Iterator[str]:
    """The messages of `messages 12, 15 and 18–20`."""
    text = match[0]
    last, position = None, match.start()
    for number in _NUMBER.finditer(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)):
        if len(number[0]) > LONGEST_NUMBER:
            yield number[0]
            continue
        here = int(number[0])
        between = text[position - match.start() : number.start()]
        if last is not None and re.search(r"[-–—]\s*$|\b(?:to|through)\s+$", between) and 0 < here - last <= 400:
            yield from (str(index) for index in range(last + 1, here + 1))
        else:
            yield str(here)
        last, position = here, match.start() + number.end()


def find_quotations(block: Block, cites: Sequence[Cite]) -> list[Quotation]:
    """Everything that stands in quotation marks, in code, or in a fence, in order, none inside another."""
    if block.kind == "fence":
        return [Quotation(0, len(block.text), block.text, code=True)]
    text = block.text
    if block.quoted and not re.search('["“”„«»「『]', text) and not _LABEL.match(text):
        return find_quoted(block, cites)
    found = [Quotation(start, end, text[start:end], code=True) for start, end in block.codes]
    taken = mark(len(text), [(one.start, one.end) for one in cites if one.bracketed] + block.codes)
    quoted = mark(len(text), [])
    for one in (*_curly(text), *_marked(text)):
        if taken[one.start] or taken[one.end - 1] or one.end - one.start > LONGEST_QUOTATION:
            continue
        if re.search(r"\w", one.words):
            found.append(one)
            for marked in (taken, quoted):
                marked[one.start : one.end] = b"\1" * (one.end - one.start)
    return sorted(one for one in found if not (one.code and quoted[one.start]))


def find_quoted(block: Block, cites: Sequence[Cite]) -> list[Quotation]:
    """The sentences of a block quotation that has no marks inside, without its citations and the line of its source."""
    text = block.text
    ending = text.rstrip().rfind("\n") + 1
    last = ending if _SOURCE.match(text, ending) is not None else len(text)
    found, row = [], Row(one for one in cites if one.bracketed)
    for start, end in find_sentences(text, cites, ()):
        position = start
        brackets = [(one.start, one.end) for one in row.within(start, end)]
        for stop, following in [*brackets, (end, end)]:
            words = text[position : min(stop, last)]
            begin = position + len(words) - len(words.lstrip(" \n.,;:)"))
            if re.search(r"\w", words):
                finish = position + len(words.rstrip())
                found.append(Quotation(begin, finish, text[begin:finish], code=False))
            position = following
    return found


def _marked(text: str) -> Iterator[Quotation]:
    for pattern in (_STRAIGHT, _GUILLEMETS, _LOW, _HIGH, _CORNERS, _SINGLE):
        for match in pattern.finditer(text):
            yield Quotation(match.start(), match.end(), next(filter(None, match.groups()), ""), code=False)


def _curly(text: str) -> Iterator[Quotation]:
    """What stands in “ ”, from the outermost opening mark to where it closes, or may close; of „ “ neither opens."""
    position = 0
    bare = _LOW.sub(lambda low: " " * len(low[0]), text) if "„" in text else text
    while (start := bare.find("“", position)) >= 0 and bare.find("”", start) >= 0:
        closing = _closings(bare, start)
        if not closing:
            position = start + 1
            continue
        end = closing[0]
        yield Quotation(start, end + 1, text[start + 1 : end], code=False, ends=tuple(at + 1 for at in closing[1:]))
        position = end + 1


def _closings(text: str, start: int) -> list[int]:
    """Places of the marks that may close the one at `start`: the balanced one, then any other near, nearest first."""
    depth, balanced, others = 0, -1, []
    for match in re.finditer("[“”]", text[start : start + LONGEST_QUOTATION]):
        depth += 1 if match[0] == "“" else -1
        if match[0] == "”":
            if depth == 0 and balanced < 0:
                balanced = start + match.start()
            else:
                others.append(start + match.start())
    return ([balanced] if balanced >= 0 else []) + others[:4]


def find_sentences(text: str, cites: Sequence[Cite], quotations: Sequence[Quotation]) -> list[tuple[int, int]]:
    """Half-open spans of the sentences of a block; a citation right behind a full stop belongs to what it closes."""
    whole = [(one.start, one.end) for one in quotations] + [(one.start, one.end) for one in cites]
    inside = mark(len(text), [(start + 1, end - 2) for start, end in whole])
    brackets = {one.start: one.end for one in cites if one.bracketed}
    spans, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start or inside[match.start()] or _SHORT.search(text[max(start, end - 8) : end]):
            continue
        while (nearest := _next_bracket(text, end, brackets)) is not None:
            end = nearest
        following = _FOLLOWING.match(text, end)
        if following is not None and following[1].islower() and not match[0].startswith("\n"):
            continue
        spans.append((start, end))
        start = end
    return [*spans, (start, len(text))] if text[start:].strip(" \n.)") else spans


def _next_bracket(text: str, end: int, brackets: Mapping[int, int]) -> int | None:
    """The end of a citation that stands right behind `end`, its full stop included."""
    gap = _SPACE.match(text, end)
    behind = brackets.get(gap.end() if gap is not None else end)
    stop = _STOPS.match(text, behind) if behind is not None else None
    return stop.end() if stop is not None else None


def find_clauses(text: str, cites: Sequence[Cite], quotations: Sequence[Quotation]) -> list[Clause]:
    """The block cut at its citations, each stretch with the messages it is tied to."""
    sentences = find_sentences(text, cites, quotations)
    row, brackets = Row(cites), Row(one for one in cites if one.bracketed)
    clauses = []
    for number, (first, last) in enumerate(sentences):
        near = sentences[max(0, number - 1)][0], sentences[min(len(sentences) - 1, number + 1)][1]
        around = tuple(row.within(*near))
        position = first
        for one in brackets.within(first, last):
            named = _mentioned(row, position, one.end)
            clauses.append(Clause(position, one.end, (one, *named), around, own=True, sentence=(first, last)))
            position = one.end
        if text[position:last].strip(" .,;:)\n"):
            named = _mentioned(row, position, last)
            tied = _tied(brackets, first, position, last) or ([] if named else _mentioned(row, 0, first)[-1:])
            clauses.append(Clause(position, last, (*tied, *named), around, own=False, sentence=(first, last)))
    return clauses


def _mentioned(cites: Row[Cite], start: int, end: int) -> list[Cite]:
    return [one for one in cites.within(start, end) if not one.bracketed]


def _tied(brackets: Row[Cite], first: int, position: int, last: int) -> list[Cite]:
    """The citation of a stretch that none closes: of its own sentence, else the next one, else the one before."""
    following = brackets.after(last)
    if own := brackets.within(first, position):
        return [own[-1], *([following] if following is not None else [])]
    nearest = following or brackets.before(first)
    return [nearest] if nearest is not None else []
