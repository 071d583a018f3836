"""What a check says of an essay, put into its parsed text: doubts that are marked, citations that lead to a mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from narrator.places import Lines, Place, find_spots

_LEAVES = {"text", "text_special", "citation", "code_inline"}
"""Tokens that show something and hold no other."""
_SIGN = '<sup class="sign" id="doubt-{0}"><a href="#note-{0}">†{0}</a></sup>'


class Doubt(NamedTuple):
    """A place at which the essay failed its check."""

    start: int
    """Half-open span in code points of the Markdown."""
    end: int
    number: int
    """Of its note, `#note-3`."""


class Quoted(NamedTuple):
    """Words of the essay that are marked in a message of the evidence."""

    start: int
    """Half-open span in code points of the Markdown."""
    end: int
    message: int
    id: str
    """Of the mark, `msg-12-q3`."""


def add_places(token: Token, lines: Lines) -> None:
    """Note on the pieces of a block where each stands; to be done before any of them is joined or cut."""
    pieces = lines.pieces(token)
    stretches = list(pieces.stretches())
    if token.type in {"fence", "code_block"}:
        token.meta["stretches"] = stretches
    children = token.children or []
    if children and stretches:
        block = Place(stretches[0][1].start, stretches[-1][1].end)
        for child, spot in zip(children, find_spots(children, token.content), strict=True):
            child.meta = {**child.meta, "span": pieces.span(spot.start, spot.end), "block": block}


def cut_out(run: Sequence[Token], start: int, end: int) -> Iterator[Token]:
    """Yield the tokens of a stretch of running text; the first and the last may be cut."""
    at = 0
    for token in run:
        length = _length(token)
        first, last = max(start, at) - at, min(end, at + length) - at
        if first < last:
            yield token if token.type == "softbreak" else _part(token, first, last)
        at += length


def _length(token: Token) -> int:
    return 1 if token.type == "softbreak" else len(token.content)


def _part(token: Token, first: int, last: int) -> Token:
    span = token.meta.get("span")
    if span is not None and span.end - span.start == len(token.content):
        span = Place(span.start + first, span.start + last)
    return Token("text", "", 0, content=token.content[first:last], meta={**token.meta, "span": span})


def place_of(run: Sequence[Token], start: int, end: int) -> dict[str, Place]:
    """`span` and `block` of a stretch of running text, as far as they are known."""
    spans = [part.meta.get("span") for part in cut_out(run, start, end) if part.type == "text"]
    known = [span for span in spans if span is not None]
    if not known or "block" not in run[0].meta:
        return {}
    return {"span": Place(known[0].start, known[-1].end), "block": run[0].meta["block"]}


def lead_to_marks(citations: Sequence[Token], quoted: Iterable[Quoted]) -> None:
    """Note on each citation (`meta["indices"]`) which marks it leads to: of the words quoted right before or behind it.

    Before: behind the last citation of the same message in its block; else behind it, before the next one.
    """
    by_index: dict[int, list[Quoted]] = defaultdict(list)
    for one in sorted(quoted):
        by_index[one.message].append(one)
    following: dict[int, int] = {}
    ends: list[dict[int, int]] = []
    for token in reversed(citations):
        ends.append({index: following[index] for index in token.meta["indices"] if index in following})
        if "span" in token.meta:
            following |= dict.fromkeys(token.meta["indices"], token.meta["span"].start)
    earlier: dict[int, int] = {}
    for token, nexts in zip(citations, reversed(ends), strict=True):
        if "span" not in token.meta:
            continue
        span, block = token.meta["span"], token.meta["block"]
        marks = token.meta.setdefault("marks", {})
        for index in token.meta["indices"]:
            floor, ceiling = max(block.start, earlier.get(index, 0)), min(block.end, nexts.get(index, block.end))
            near = [one for one in by_index[index] if floor <= one.start and one.end <= ceiling]
            before = [one for one in near if one.end <= span.start]
            if near:
                marks[index] = (before or near)[0].id
        earlier |= dict.fromkeys(token.meta["indices"], span.end)


def mark_doubts(tokens: Sequence[Token], doubts: Sequence[Doubt]) -> None:
    """Mark each doubt in what it covers, with one sign behind the last of it."""
    ends: dict[int, list[Doubt]] = defaultdict(list)
    last: dict[Doubt, int] = {}
    for token in tokens if doubts else ():
        for leaf, spans in _leaves(token):
            last |= dict.fromkeys(_over(spans, doubts), id(leaf))
    for doubt, leaf_id in last.items():
        ends[leaf_id].append(doubt)
    for token in tokens if last else ():
        if token.children:
            token.children = list(_marked(token.children, doubts, ends))
        elif "stretches" in token.meta:
            _mark_block(token, doubts, ends[id(token)])


def doubts_in(tokens: Iterable[Token]) -> Iterator[int]:
    """The numbers of the doubts that were marked."""
    for token in tokens:
        for one in (token, *(token.children or ())):
            yield from one.meta.get("numbers", ())


def _leaves(token: Token) -> Iterator[tuple[Token, list[Place]]]:
    if "stretches" in token.meta:
        yield token, [place for _, place in token.meta["stretches"]]
    for child in token.children or ():
        if child.type in _LEAVES and (span := child.meta.get("span")) is not None:
            yield child, [span]


def _over(spans: Sequence[Place], doubts: Iterable[Doubt]) -> list[Doubt]:
    if not spans:
        return []
    near = [one for one in doubts if one.start < spans[-1].end and spans[0].start < one.end]
    return [one for one in near if any(one.start < span.end and span.start < one.end for span in spans)]


def _marked(children: Sequence[Token], doubts: Sequence[Doubt], ends: Mapping[int, list[Doubt]]) -> Iterator[Token]:
    """Yield the pieces of a block with its doubts marked; a sign in a link stands behind the link."""
    held: list[Doubt] = []
    linked = False
    for child in children:
        span = child.meta.get("span") if child.type in _LEAVES else None
        over = _over([span], doubts) if span is not None else []
        linked = child.type == "link_open" or (linked and child.type != "link_close")
        if over and span is not None:
            held += ends.get(id(child), [])
            yield from _mark_leaf(child, span, over, [] if linked else held)
            held = held if linked else []
        else:
            yield child
        if held and not linked:
            yield from _signs(held)
            held = []


def _mark_leaf(child: Token, span: Place, over: Sequence[Doubt], ending: Sequence[Doubt]) -> Iterator[Token]:
    """Yield a piece with what is doubted in it marked, and a sign behind each doubt that ends in it."""
    if child.type == "text" and span.end - span.start == len(child.content):
        signs = [(min(one.end, span.end) - span.start, one) for one in ending]
        for end, text, doubted in _segments(child.content, _covered(span, over)):
            yield from _wrapped(Token("text", "", 0, content=text), doubted=doubted)
            yield from _signs([one for at, one in signs if at == end])
        return
    if child.type == "code_inline":
        exact = span.end - span.start == len(child.content)
        html = _html(child.content, _covered(span, over) if exact else [(0, len(child.content))])
        yield Token("doubt", "", 0, content=child.content, meta={"html": f"<code>{html}</code>"})
    else:
        yield from _wrapped(child, doubted=True)
    yield from _signs(ending)


def _covered(span: Place, over: Iterable[Doubt]) -> list[tuple[int, int]]:
    """What doubts cover of a span, counted from its start."""
    return [(max(one.start, span.start) - span.start, min(one.end, span.end) - span.start) for one in over]


def _wrapped(token: Token, *, doubted: bool) -> Iterator[Token]:
    if doubted:
        yield Token("doubt_open", "span", 1, attrs={"class": "doubt"})
    yield token
    if doubted:
        yield Token("doubt_close", "span", -1)


def _segments(content: str, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str, bool]]:
    """Cut a text where something begins or ends: end, text, and whether it is covered."""
    cuts = sorted({0, len(content), *(at for pair in covered for at in pair)})
    for start, end in pairwise(cuts):
        yield end, content[start:end], any(first <= start and end <= last for first, last in covered)


def _html(content: str, covered: Sequence[tuple[int, int]]) -> str:
    return "".join(
        f'<span class="doubt">{escapeHtml(text)}</span>' if doubted else escapeHtml(text)
        for _, text, doubted in _segments(content, covered)
    )


def _signs(doubts: Sequence[Doubt]) -> Iterator[Token]:
    """Yield the signs of some doubts, each a link to its note, as one piece."""
    numbers = sorted({one.number for one in doubts})
    if numbers:
        html = "".join(_SIGN.format(number) for number in numbers)
        yield Token("doubt", "", 0, meta={"html": html, "numbers": numbers})


def _mark_block(token: Token, doubts: Sequence[Doubt], ending: Sequence[Doubt]) -> None:
    """Mark doubts in a block of code, with their signs at its end."""
    covered = [
        (at + first, at + last)
        for at, place in token.meta["stretches"]
        for first, last in _covered(place, _over([place], doubts))
    ]
    if covered:
        content = token.content.removesuffix("\n")
        end = token.content[len(content) :]
        signs = "".join(sign.meta["html"] for sign in _signs(ending))
        token.type = "doubt"
        token.meta = {
            "html": f"<pre><code>{_html(content, covered)}{signs}{end}</code></pre>\n",
            "numbers": sorted({one.number for one in ending}),
        }
