from __future__ import annotations

import pytest

from narrator.errors import UsageError
from narrator.sections import find_part, read_parts, style_section
from narrator.style import Style, load_style

PLAIN = "# Title\n\nIntro.\n\n## One\n\nA.\n\n### Deeper\n\nB.\n\n## Two: The `rest` *of it*\n\nC.\n"


def headings(markdown: str) -> list[str]:
    return [part.heading for part in read_parts(markdown)]


@pytest.mark.parametrize(
    ("markdown", "found"),
    [
        pytest.param(PLAIN, ["", "One", "Two: The rest of it"], id="a title and two sections"),
        pytest.param("## One\n\nA.\n\n## Two\n\nB.", ["", "One", "Two"], id="no title"),
        pytest.param("# One\n\nA.\n\n# Two\n\nB.", ["", "One", "Two"], id="sections as high as a title"),
        pytest.param("# Title\n\nA.", [""], id="a title alone"),
        pytest.param("A.\n\n## One\n\nB.", ["", "One"], id="one heading, not at the beginning"),
        pytest.param("A.", [""], id="no heading"),
        pytest.param("", [""], id="nothing"),
        pytest.param("# T\n\n```\n## Not\n```\n\n## One\n\nA.", ["", "One"], id="a heading in a code fence"),
        pytest.param(
            "# T\n\n- ## Not\n\n> ## Nor\n\n## One\n\nA.", ["", "One"], id="one in a list, one in a quotation"
        ),
        pytest.param("T\n=\n\nA.\n\nOne\n---\n\nB.", ["", "One"], id="underlined headings"),
        pytest.param("# T\n\n### One\n\nA.\n\n### Two\n\nB.", ["", "One", "Two"], id="a level left out"),
        pytest.param("# T\n\n## One\n\nA.\n\n## One\n\nB.", ["", "One", "One"], id="a heading twice"),
        pytest.param("# T\r\n\r\nA.\r\n\r\n## One\r\n\r\nB.", ["", "One"], id="line ends of Windows"),
    ],
)
def test_an_essay_falls_into_sections(markdown: str, found: list[str]) -> None:
    parts = read_parts(markdown)
    assert [part.heading for part in parts] == found
    assert [one.end for one in parts] == [*(part.start for part in parts[1:]), len(markdown)]
    assert all(markdown[part.start : part.body].strip() for part in parts[1:])


def test_a_section_goes_to_the_next_heading_of_its_level() -> None:
    _, one, two = read_parts(PLAIN)
    assert PLAIN[one.start : one.end] == "## One\n\nA.\n\n### Deeper\n\nB.\n\n"
    assert PLAIN[two.body : two.end] == "\nC.\n"


@pytest.fixture
def style() -> Style:
    return load_style("essay")


NAMED = (
    "# T\n\nI.\n\n## Context: The Mismatch\n\nA.\n\n## What Led Here\n\nB.\n\n## What Followed\n\nC.\n\n## 2024\n\nD.\n"
)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param("Context: The Mismatch", 1, id="a heading"),
        pytest.param("context", 1, id="its beginning, in another case"),
        pytest.param("  what   LED ", 2, id="with other white space"),
        pytest.param("2", 4, id="a heading that is a number"),
        pytest.param("3", 3, id="a number"),
        pytest.param("0", 0, id="the introduction's number"),
        pytest.param("intro", 0, id="the introduction's name"),
    ],
)
def test_a_name_means_a_section(name: str, at: int, style: Style) -> None:
    assert find_part(read_parts(NAMED), name, style) == at


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param(
            "what", "2 sections begin so; there are: 0 introduction, 1 “Context: The Mismatch”", id="two of them"
        ),
        pytest.param(
            "conclusion", "no section of the essay has that name; there are: 0 intro", id="one that is not there"
        ),
        pytest.param("9", "no section of the essay has that name", id="a number too high"),
        pytest.param(" ", "no section of the essay has that name", id="nothing"),
    ],
)
def test_a_name_that_means_none_lists_all(name: str, says: str, style: Style) -> None:
    with pytest.raises(UsageError) as caught:
        find_part(read_parts(NAMED), name, style)
    assert says in str(caught.value)


def test_a_section_of_the_style_is_known_by_its_place_in_an_essay_with_all_of_them(style: Style) -> None:
    headed = [section for section in style.parts if section.heading]
    essay = "# T\n\nI.\n\n" + "".join(f"## H{number}\n\nA.\n\n" for number, _ in enumerate(headed))
    parts = read_parts(essay)
    assert [find_part(parts, section.name, style) for section in headed] == list(range(1, len(headed) + 1))
    assert style_section(style, 1, len(parts)) == headed[0]
    assert style_section(style, 1, len(parts) - 1) is None
    intro = style_section(style, 0, 2)
    assert intro is not None
    assert intro.name == "introduction"


def test_a_heading_that_stands_twice_is_named_by_its_number(style: Style) -> None:
    parts = read_parts("# T\n\n## One\n\nA.\n\n## One\n\nB.")
    with pytest.raises(UsageError, match="2 sections begin so"):
        find_part(parts, "One", style)
    assert find_part(parts, "2", style) == 2
