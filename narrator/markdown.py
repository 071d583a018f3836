"""Markdown that nobody vouches for: shown exactly, and passed on without what acts in another viewer.

An essay is written by a model from a recording, and a draft can be edited by hand: both are untrusted.
`typeset` makes a page's HTML of it; here is what a Markdown file needs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from narrator.sanitize import one_line, plain

FOOTER = "*Essay on message "
"""How the line under a Markdown essay begins; `without_footer` knows it by this and by the rule above it."""

_SIGN = re.compile(r"(?:\n\n(?=\[\^check-\d+\]\n))?\[\^check-\d+\]")
"""A footnote's sign of a failed check, behind the place or in a paragraph of its own (`notes`)."""

_RISKY = re.compile(
    r"""
    (?P<kept>
        (?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)              # a code span
      | `+ | \\.                                                # backticks that close nothing; an escape
      | <(?:https?://|mailto:)[^\s<>]*> | <[\w.+-]+@[\w.-]+>    # a plain link
    )
  | (?P<lead>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)\[(?=\s*msg\b[^\[\]]*\]:)    # redefines `[msg 3]`
  | (?P<tag><(?=[A-Za-z/!?])(?!U\+))      # `<U+202E>` is a mark, not a tag
  | !(?=\[)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_LINE_OF_HTML = re.compile(r"(?<=\n)([ \t>]*)<(?=[A-Za-z/!?])")
"""A line of a code span that would be a block of HTML all the same: blocks are found before spans."""
_ACTIVE = re.compile(r"[\\`*_\[\]<>&~|]")
_LINK = re.compile(r"https?://[^/?#\\]|mailto:.|#", re.IGNORECASE)


class _Parser(MarkdownIt):
    """CommonMark and tables, without raw HTML and definitions, and with few links."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name is the library's
        """Tell whether a link may lead to `url` as a browser reads it: entities decoded, controls dropped."""
        seen = re.sub(r"[\x00-\x20\x7f-\x9f]", "", html.unescape(url))
        return bool(_LINK.match(seen))


def make_parser() -> MarkdownIt:
    """A parser of untrusted Markdown: HTML in it is text, and nothing redefines what `[msg 3]` means."""
    return _Parser("commonmark", {"html": False}).enable("table").disable("reference")


def prose_of(markdown: str) -> str:
    """The running text of a Markdown document, a block a line: code, which holds quotations, is left out."""
    blocks = (token.children or [] for token in make_parser().parse(markdown) if token.type == "inline")
    return "\n".join("".join(_shown(child) for child in children) for children in blocks)


def _shown(token: Token) -> str:
    return token.content if token.type == "text" else " "


def literal(text: str) -> str:
    """`text` as one line of Markdown that shows exactly this text."""
    return _ACTIVE.sub(r"\\\g<0>", one_line(text))


def code_span(text: str) -> str:
    """`text` as one Markdown code span that nothing in it can end."""
    text = one_line(text)
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str) -> str:
    """`text` as a fenced block that nothing in it can end."""
    lines = plain(text).removesuffix("\n")
    ticks = "`" * max(3, _longest_run(lines) + 1)
    return f"{ticks}\n{lines}\n{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def inert(markdown: str) -> str:
    """The same Markdown, with nothing in it that acts by itself in a viewer of HTML and images.

    Outside code, `<` before a tag is written `&lt;` and an image's `!` is escaped; so is a definition that would
    turn citations into links elsewhere. A fence left open at the end is closed. The rest is untouched.
    """
    lines = plain(markdown).strip("\n").split("\n")
    tokens = make_parser().parse("\n".join(lines))
    rows = {token.map[0] for token in tokens if token.type == "tr_open" and token.map}
    for start, end in sorted(
        {(token.map[0], token.map[1]) for token in tokens if token.type == "inline" and token.map}
    ):
        source = "\n".join(lines[start:end])
        cells = re.split(r"(?<!\\)\|", source) if start in rows else [source]  # a code span ends with its cell
        lines[start:end] = "|".join(_RISKY.sub(_defuse, cell) for cell in cells).split("\n")
    return "\n".join([*lines, *_open_fence(tokens, lines)]) + "\n"


def _defuse(match: re.Match[str]) -> str:
    if match["kept"]:
        return _LINE_OF_HTML.sub(r"\1&lt;", match[0])
    if match["tag"]:
        return "&lt;"
    return r"\!" if match["lead"] is None else f"{match['lead']}\\["


def _open_fence(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[str]:
    """Yield what closes the last block if it is a fence without an end; one in a list ends with the list."""
    if tokens and tokens[-1].type == "fence" and (place := tokens[-1].map):
        mark = tokens[-1].markup
        closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
        if place[1] - place[0] < 2 or not closing.fullmatch(lines[place[1] - 1]):
            yield mark


def without_footer(markdown: str) -> str:
    """An essay without what `render_markdown` puts under it, and its signs; any other text as it is."""
    tokens = make_parser().parse(markdown)
    for rule, _, line in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if rule.type == "hr" and rule.level == 0 and rule.map and line.content.startswith(FOOTER):
            essay = "\n".join(markdown.split("\n")[: rule.map[0]]).rstrip("\n") + "\n"
            return _SIGN.sub("", essay)
    return markdown
