"""A style: what its manifest may say, and how it is told what is wrong with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from narrator.errors import StyleError
from narrator.style import MANIFEST, Matter, Span, Style, adapt_style, list_styles, load_style, scale_style

WHOLE = """\
version = "1"
says = "a haiku"
words = { least = 10, most = 20 }
citations = { least = 1, most = 3 }

[[sections]]
name = "first"
does = "Begin."
words = { least = 4, most = 6 }

[[sections]]
name = "second"
does = "End."
words = { least = 4, most = 6 }
"""


def style_at(folder: Path, manifest: str) -> str:
    (folder / MANIFEST).write_text(manifest, "utf-8")
    return str(folder)


def test_a_style_of_one_s_own(tmp_path: Path) -> None:
    folder = tmp_path / "haiku"
    folder.mkdir()
    style = load_style(style_at(folder, WHOLE))
    assert (style.name, style.version, style.says) == ("haiku", "1", "a haiku")
    assert [section.name for section in style.sections] == ["first", "second"]
    assert style.folder == folder


def test_a_style_is_named_by_its_folder_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "haiku"
    folder.mkdir()
    style_at(folder, WHOLE)
    monkeypatch.chdir(folder)
    assert load_style(".").name == "haiku"
    assert load_style("../haiku/").name == "haiku"


def test_a_style_may_name_itself(tmp_path: Path) -> None:
    assert load_style(style_at(tmp_path, 'name = "tanka"\n' + WHOLE)).name == "tanka"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("[[sections]]", "colour = 1\n\n[[sections]]", ", line 6: unknown key `colour`; there are: name, version, says, title, headings, words, citations, language, sections", id="an unknown key"),
        pytest.param('does = "End."', 'does = "End."\ncolour = 1', ", line 14: unknown key `colour` of section 2; there are: name, matter, on, heading, does, words", id="an unknown key of a part"),
        pytest.param('version = "1"', "version = 1", ", line 1: `version`: Input should be a valid string", id="a number for a version"),
        pytest.param('version = "1"\n', "", ", line 1: `version` is missing", id="no version"),
        pytest.param('does = "End."\n', "", ", line 11: `does` is missing in section 2", id="a part that does nothing"),
        pytest.param("least = 10", 'least = "ten"', ", line 3: `words.least`: Input should be a valid integer", id="a word for a number"),
        pytest.param("least = 10", "least = 30", ", line 3: `words`: least, 30, is above most, 20", id="a range upside down"),
        pytest.param("least = 4, most = 6 }\n\n", "least = -4, most = 6 }\n\n", ", line 9: `words.least` of section 1: Input should be greater than or equal to 0", id="fewer than no words"),
        pytest.param("least = 1, most = 3", "least = 1", ", line 4: `citations.most` is missing", id="half a range"),
        pytest.param('name = "first"', 'name = "first"\nmatter = "causes"', ", line 8: no matter 'causes' of section 1; there are: introduction, message, ", id="an unknown matter"),
        pytest.param('name = "first"', 'name = "first"\non = "no"', ", line 8: `on` of section 1: Input should be a valid boolean", id="a word for a switch"),
        pytest.param('name = "first"', "name = 1", ", line 7: `name` of section 1: Input should be a valid string", id="a number for a name"),
        pytest.param('name = "second"', 'name = "First "', ", line 12: section 'First ' is there twice, first on line 7", id="a name twice"),
        pytest.param('name = "second"', 'name = "a\\nb"', ", line 12: `name` of section 2 is empty or not one line", id="a name of two lines"),
        pytest.param('does = "End."', 'does = " "', ", line 13: `does` of section 2 is empty", id="a part that does nothing in so many words"),
        pytest.param('says = "a haiku"', 'says = ""', ", line 2: `says` is empty or not one line", id="nothing said"),
        pytest.param('says = "a haiku"', 'says = "a haiku"\ntitle = ""', ", line 3: `title` is empty or not one line", id="no title"),
        pytest.param('says = "a haiku"', 'says = "a haiku"\nlanguage = "x1"', ", line 3: `language`: 'x1' is no name of a language", id="no language"),
        pytest.param('says = "a haiku"', 'says = "a haiku"\nfolder = "/tmp"', ", line 3: unknown key `folder`; there are: name, version, says,", id="a folder of its own"),
        pytest.param("least = 10", 'least = "10"', ", line 3: `words.least`: Input should be a valid integer", id="a number in quotation marks"),
        pytest.param("least = 10, most = 20", "least = 10, most = 20.5", ", line 3: `words.most`: Input should be a valid integer", id="half a word"),
        pytest.param("least = 10, most = 20", "least = 0, most = 0", ", line 3: `words.most`: Input should be greater than or equal to 1", id="no words"),
        pytest.param("least = 10, most = 20", "least = 10, most = 999999", ", line 3: `words.most`: Input should be less than or equal to 100000", id="a library"),
        pytest.param("{ least = 10, most = 20 }", "15", ", line 3: `words` is no table", id="a number for a range"),
        pytest.param('says = "a haiku"', "says = a haiku", ", line 2: no TOML: Invalid value", id="no TOML"),
        pytest.param("[[sections]]", "[sections]", ", line 11: no TOML: Cannot declare ('sections',) twice", id="a table twice"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    wrong = WHOLE.replace(old, new, 1) if new != "[sections]" else WHOLE.replace(old, new)
    with pytest.raises(StyleError, match=re.escape(f"{tmp_path / MANIFEST}{says}")) as refused:
        load_style(style_at(tmp_path, wrong))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        pytest.param("", ", line 1: `sections` is missing", id="none"),
        pytest.param("sections = []", ", line 5: no sections; a style has at least one", id="an empty list"),
        pytest.param("sections = 3", ", line 5: `sections` is no list of tables; begin each with [[sections]]", id="a number"),
        pytest.param('sections = ["a"]', ", line 5: section 1 is no table", id="a list of names"),
        pytest.param('[sections]\nname = "a"', ", line 5: `sections` is no list of tables", id="a single table"),
        pytest.param('[[sections]]\non = false\nname = "a"\ndoes = "b"\nwords = { least = 1, most = 2 }', ", line 5: every section is off", id="all off"),
    ],
)  # fmt: skip
def test_a_style_has_sections(tmp_path: Path, sections: str, says: str) -> None:
    manifest = WHOLE.partition("\n[[sections]]")[0] + sections + "\n"
    with pytest.raises(StyleError, match=re.escape(f"{tmp_path / MANIFEST}{says}")):
        load_style(style_at(tmp_path, manifest))


def test_what_is_not_set_is_usual(tmp_path: Path) -> None:
    style = load_style(style_at(tmp_path, WHOLE))
    assert (style.language, style.parts) == ("English", style.sections)
    assert all((one.matter, one.on, one.heading) == (None, True, True) for one in style.sections)


def test_a_part_that_is_off_is_none_of_the_parts(tmp_path: Path) -> None:
    style = load_style(style_at(tmp_path, WHOLE.replace('name = "first"', 'name = "first"\non = false')))
    assert [section.name for section in style.sections] == ["first", "second"]
    assert [section.name for section in style.parts] == ["second"]


def test_a_style_in_another_language(tmp_path: Path) -> None:
    style = load_style(style_at(tmp_path, 'language = "de"\n' + WHOLE))
    assert style.language == "German"
    assert adapt_style(style, language="French").language == "French"
    assert adapt_style(style) == style


def test_a_manifest_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StyleError, match=rf"{MANIFEST}, line 1: no UTF-8 text"):
        load_style(str(tmp_path))


@pytest.mark.parametrize("name", ["esay", "_shared", "no/such/folder", "essay/system.md.j2", "", " "])
def test_a_style_that_is_not_there_lists_those_that_are(name: str) -> None:
    with pytest.raises(
        StyleError, match=rf"no style '{name}'; there are: .*essay.*; or give a folder with a style.toml"
    ):
        load_style(name)


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(StyleError, match=re.escape(f"{tmp_path}: no style: the folder has no {MANIFEST}")):
        load_style(str(tmp_path))


def test_those_that_ship() -> None:
    styles = list_styles()
    assert [style.name for style in styles] == ["essay", "brief", "postmortem"]
    assert all(style.says and style.language == "English" for style in styles)


def test_all_that_ship_say_what_each_part_is_about() -> None:
    told = [section.matter for style in list_styles() for section in style.sections]
    assert None not in told
    assert set(told) == set(get_args(Matter))


@pytest.mark.parametrize("style", list_styles(), ids=lambda style: style.name)
def test_the_parts_fit_the_whole(style: Style) -> None:
    assert sum(section.words.least for section in style.sections) <= style.words.most
    assert sum(section.words.most for section in style.sections) >= style.words.least
    assert [section.matter for section in style.sections if not section.heading][:1] == ["introduction"]


@pytest.mark.parametrize(
    ("length", "words", "citations", "part"),
    [
        (15, (13, 17), (1, 3), (4, 6)),
        (30, (26, 34), (2, 6), (8, 12)),
        (150, (132, 168), (10, 30), (40, 60)),
        (1, (1, 1), (0, 1), (0, 1)),
    ],
)
def test_parts_and_citations_grow_with_the_whole(
    tmp_path: Path, length: int, words: tuple[int, int], citations: tuple[int, int], part: tuple[int, int]
) -> None:
    scaled = scale_style(load_style(style_at(tmp_path, WHOLE)), length)
    assert scaled.words == Span(least=words[0], most=words[1])
    assert scaled.citations == Span(least=citations[0], most=citations[1])
    assert [section.words for section in scaled.sections] == [Span(least=part[0], most=part[1])] * 2
