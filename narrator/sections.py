"""The sections of an essay: where each heading's part begins and ends in the Markdown, and which one a name means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from markdown_it.token import Token

from narrator.errors import UsageError
from narrator.markdown import make_parser
from narrator.sanitize import one_line
from narrator.style import Section, Style

INTRODUCTION = "introduction"
"""Names the part before the first heading, in any style."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_LONGEST = 80
"""Characters of a heading in a list of them."""


class Part(NamedTuple):
    """A section of an essay."""

    heading: str
    """Its text without marks; "" for the introduction, which has none."""
    level: int
    """Of its heading, from 1; of the introduction that of the others."""
    start: int
    """Half-open span in code points of the Markdown: from its heading to the next of its level or a higher one."""
    end: int
    body: int
    """Where what stands under the heading begins."""


class Headed(NamedTuple):
    """A heading, by lines."""

    text: str
    """Without marks."""
    source: str
    """Its Markdown, on one line, without what makes it a heading."""
    level: int
    first: int
    """Its first line."""
    after: int
    """The line after it."""


def read_headings(markdown: str) -> list[Headed]:
    """The headings of a text, in order; what looks like one in code, in a list or in a quotation is none."""
    tokens = make_parser().parse(markdown)
    return [
        Headed(_plain(inline), " ".join(inline.content.split()), int(token.tag[1:]), token.map[0], token.map[1])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]


def _plain(inline: Token) -> str:
    shown = (child.content if child.type in ("text", "code_inline") else " " for child in inline.children or ())
    return " ".join("".join(shown).split())


def read_parts(markdown: str) -> list[Part]:
    """The sections of an essay, the introduction first: all between its title and its first headed section.

    One heading of the highest level at the beginning is the title; sections are headed by the level below it that comes
    highest. Deeper headings belong to the section they stand in.
    """
    headings = read_headings(markdown)
    levels = sorted({one.level for one in headings})
    alone = [one for one in headings if one.level == levels[0]] == headings[:1]
    # Below a title there are sections, or nothing stands before it.
    titled = bool(headings) and alone and (len(levels) > 1 or not _before(markdown, headings[0].first).strip())
    level = levels[1] if titled and len(levels) > 1 else levels[0] + titled if levels else 2
    starts = [0, *(match.end() for match in _LINE_END.finditer(markdown)), len(markdown)]

    def place(line: int) -> int:
        return starts[min(line, len(starts) - 1)]

    own = [one for one in headings[titled:] if one.level <= level]
    ends = [*(place(one.first) for one in own), len(markdown)]
    begin = place(headings[0].after) if titled else 0
    parts = [Part("", level, begin, ends[0], begin)]
    for one, end in zip(own, ends[1:], strict=True):
        parts.append(Part(one.text, one.level, place(one.first), end, place(one.after)))
    return parts


def _before(markdown: str, line: int) -> str:
    return "\n".join(_LINE_END.split(markdown)[:line])


def find_part(parts: Sequence[Part], name: str, style: Style) -> int:
    """Which of an essay's sections a name means: by number, heading, or the style's name for it.

    A heading is named by itself or by a beginning that no other has, whatever the case. A section of the style is known
    by its place where the essay has as many headed sections as the style asks for.

    Raises:
        UsageError: none, or several are meant; all are listed, with their numbers.
    """
    wanted = _folded(name)
    headings = [_folded(part.heading) for part in parts]
    exact = [at for at, heading in enumerate(headings) if at and wanted and heading == wanted]
    found = exact or [at for at, heading in enumerate(headings) if at and wanted and heading.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"--redo-section {name}: {len(found)} sections begin so; {_listed(parts)}")
    if name.strip().isdecimal() and int(name) < len(parts):
        return int(name)
    if (at := _by_style(wanted, style, len(parts))) is not None:
        return at
    raise UsageError(f"--redo-section {name}: no section of the essay has that name; {_listed(parts)}")


def _by_style(wanted: str, style: Style, count: int) -> int | None:
    """The place of the section that the style calls so; None where the essay does not tell which it is."""
    if not wanted:
        return None
    names = [_folded(section.name) for section in style.parts if not section.heading]
    if any(name.startswith(wanted) for name in (INTRODUCTION, *names)):
        return 0
    headed = {at: _folded(section.name) for at in range(1, count) if (section := style_section(style, at, count))}
    exact = [at for at, name in headed.items() if name == wanted]
    found = exact or [at for at, name in headed.items() if name.startswith(wanted)]
    return found[0] if len(found) == 1 else None


def style_section(style: Style, at: int, count: int) -> Section | None:
    """What a style says of section `at` of an essay that has `count`; None where it cannot be told which of its it is.

    The introduction is the style's first section without a heading; the others are told by their place, in an essay
    that has as many as the style asks for.
    """
    if at == 0:
        return next((section for section in style.parts if not section.heading), None)
    headed = [section for section in style.parts if section.heading]
    return headed[at - 1] if len(headed) == count - 1 else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _listed(parts: Sequence[Part]) -> str:
    named = (f"{at} “{one_line(part.heading, _LONGEST)}”" for at, part in enumerate(parts[1:], 1))
    return f"there are: {', '.join([f'0 {INTRODUCTION}', *named])}"
