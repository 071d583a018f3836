"""An essay's Markdown as the HTML of a page: citations become links, and nothing in it becomes anything else.

Two nets, one behind the other: the parser makes no element from raw HTML, and what it makes is cleaned once
more against a short list of elements, attributes, classes and link schemes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from narrator.citations import find_citations
from narrator.doubts import Doubt, Quoted, add_places, cut_out, doubts_in, lead_to_marks, mark_doubts, place_of
from narrator.markdown import make_parser
from narrator.places import Lines
from narrator.sanitize import plain

SUMMARY = 200
"""Longest summary, in characters: about what a search result shows."""

_ITEM = re.compile(r"msg_[A-Za-z0-9]+…?|\d+")
_QUOTE = re.compile(r'(<[^<>]*>)|"')
"""A tag, or a quotation mark in a text: escaped too, so that no text looks like an attribute."""
_MISSING = "no such message in the evidence"
_ELEMENTS = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ol", "ul", "li"),
    *("div", "table", "thead", "tbody", "tr", "th", "td"),
    *("a", "span", "code", "em", "strong", "br", "sup"),
}
_ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "rel"},
    "ol": {"start"},
    "span": {"id"},
    "sup": {"id"},
    "*": set(),  # else `title` and `lang` are allowed everywhere
}
_CLASSES = {
    "a": {"cite"},
    "div": {"table"},
    "span": {"cites", "range", "cite", "missing", "doubt"},
    "sup": {"sign"},
    "td": {"left", "center", "right"},
    "th": {"left", "center", "right"},
}


class Article(NamedTuple):
    """An essay, ready for a page."""

    title: str
    """The first top-level heading as HTML; "" when there is none."""
    heading: str
    """The same as plain text, on one line."""
    summary: str
    """The beginning of the first paragraph as plain text, without its citations."""
    body: str
    """Everything but the title, as HTML."""
    citations: int
    cited: dict[int, str]
    """Index of a message that is in the evidence → id of the element that cites it first."""
    missing: int
    """How many names in citations are of no message in the evidence."""
    doubted: frozenset[int]
    """Numbers of the doubts that are marked in it."""


def typeset(
    markdown: str, names: Mapping[str, int], doubts: Sequence[Doubt] = (), quoted: Sequence[Quoted] = ()
) -> Article:
    """Make an essay ready for a page.

    `names` says what a citation may name: a decimal index or a native id → index of a message that
    is in the evidence. Doubts are marked; a citation of what is quoted beside it leads to the mark in the message.
    """
    text = plain(markdown)
    tokens = _parser().parse(text, {"lines": Lines(text) if doubts or quoted else None, "doubts": doubts})
    cited: dict[int, str] = {}
    missing = number = 0
    for token in _citations(tokens):
        token.meta["indices"] = [names[name] for name in map(_normal, token.meta["targets"]) if name in names]
    lead_to_marks(list(_citations(tokens)), quoted)
    for number, token in enumerate(_citations(tokens), 1):
        anchor = f"cite-{number}"
        for name in token.meta["targets"]:
            if (index := names.get(_normal(name))) is not None:
                cited.setdefault(index, anchor)
        missing += sum(_normal(name) not in names for name in _ITEM.findall(token.content))
        token.content = _citation_html(token.content, anchor, names, token.meta.get("marks", {}))
    title, body = _take_title(tokens)
    return Article(
        title=_html(title),
        heading=_plain(title),
        summary=_summary(body),
        body=_html(body),
        citations=number,
        cited=cited,
        missing=missing,
        doubted=frozenset(doubts_in(tokens)),
    )


def _normal(name: str) -> str:
    return str(int(name)) if name.isdecimal() else name


def _citations(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from (child for child in token.children or () if child.type == "citation")


def _citation_html(text: str, anchor: str, names: Mapping[str, int], marks: Mapping[int, str]) -> str:
    """One citation: every message named in it is a link, or marked as missing; a range links its two ends.

    `marks`: message → id of the words in it that are quoted here.
    """
    parts: list[str] = []
    for part in text.split(","):
        ends = [
            _name_html(name, names, marks, "" if parts or at else "msg ") for at, name in enumerate(_ITEM.findall(part))
        ]
        parts.append(ends[0] if len(ends) == 1 else f'<span class="range">{"–".join(ends)}</span>')
    return f'<span class="cites" id="{anchor}">[{", ".join(parts)}]</span>'


def _name_html(name: str, names: Mapping[str, int], marks: Mapping[int, str], before: str) -> str:
    index = names.get(_normal(name))
    if index is None:
        return f'<span class="cite missing" title="{_MISSING}">{before}{name}</span>'
    return f'<a class="cite" href="#{marks.get(index, f"msg-{index}")}">{before}{name}</a>'


def _take_title(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Split off the first heading of the first rank; any other goes down a rank: a page has one title."""
    ranked = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h1"]
    start = next((at for at in ranked if tokens[at].level == 0), None)
    title = [] if start is None else [tokens[start + 1]]
    rest = tokens if start is None else [*tokens[:start], *tokens[start + 3 :]]
    for token in rest:
        if token.tag == "h1":
            token.tag = "h2"
    return title, rest


def _plain(tokens: Iterable[Token]) -> str:
    """The text a reader sees, on one line, without citations."""
    words = "".join(
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for token in tokens
        for child in token.children or ()
        if child.type != "citation"
    )
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(words.split()))


def _summary(tokens: Sequence[Token]) -> str:
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and opening.level == 0 and (text := _plain([inline])):
            return text if len(text) <= SUMMARY else text[: SUMMARY - 1].rpartition(" ")[0].rstrip(".,;:") + "…"
    return ""


def _html(tokens: Sequence[Token]) -> str:
    parser = _parser()
    clean = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=_ELEMENTS,
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        tag_attribute_values={"span": {"title": {_MISSING}}},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,  # ours stands on every link that leaves the page, and on no other
    )
    return _QUOTE.sub(lambda match: match[1] or "&quot;", clean)


@cache
def _parser() -> MarkdownIt:
    parser = make_parser()
    # Before `text_join`: until then an escaped bracket is a token of its own, so `\[msg 3]` stays a text.
    parser.core.ruler.before("text_join", "citations", _settle)
    parser.add_render_rule("citation", lambda _self, tokens, at, *_: tokens[at].content)
    parser.add_render_rule("doubt", lambda _self, tokens, at, *_: tokens[at].meta["html"])
    parser.add_render_rule("table_open", lambda *_: '<div class="table"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


def _settle(state: StateCore) -> None:
    """Make of the parser's tokens what a page shows: citations, alignment as a class, images as words, doubts."""
    lines = state.env.get("lines")
    for token in state.tokens:
        if token.type in {"th_open", "td_open"} and "style" in token.attrs:
            token.attrs = {"class": str(token.attrs["style"]).removeprefix("text-align:")}
        if lines is not None:
            add_places(token, lines)
        if token.children:
            token.children = list(_with_citations(token.children))
    mark_doubts(state.tokens, state.env["doubts"] if lines is not None else ())


def _with_citations(tokens: Iterable[Token]) -> Iterator[Token]:
    """Cut citations out of running text; inside a link they stay text."""
    run: list[Token] = []
    linked = False
    for token in tokens:
        if token.type == "image":
            run.append(Token("text", "", 0, content=f"[image: {token.content}]", meta=token.meta))
        elif token.type in {"text", "softbreak"} and not linked:
            run.append(token)
        else:
            yield from _cut(run)
            run = []
            yield token
        if token.type in {"link_open", "link_close"}:
            linked = token.type == "link_open"
        if token.type == "link_open" and not str(token.attrs["href"]).startswith("#"):
            token.attrSet("rel", "noopener nofollow ugc")
    yield from _cut(run)


def _cut(run: Sequence[Token]) -> Iterator[Token]:
    text = "".join("\n" if token.type == "softbreak" else token.content for token in run)
    end = 0
    for citation in find_citations(text):
        yield from cut_out(run, end, citation.start)
        meta = {"targets": citation.targets, **place_of(run, citation.start, citation.end)}
        yield Token("citation", "", 0, content=citation.text, meta=meta)
        end = citation.end
    yield from cut_out(run, end, len(text))
