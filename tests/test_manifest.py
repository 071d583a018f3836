"""Where in a manifest a setting stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from narrator.errors import StyleError
from narrator.manifest import read_manifest

TEXT = """\
# a comment

version = "1"
words = { least = 1, most = 2 }  # both
"says" = '''
sections = [ ]
'''
citations.least = 3
citations.most = 4
many = [
  "a",
  "b",
]

# the first part
[[sections]]
name = "one"
  [sections.words]
  least = 1

[[sections]]

does = "version"
name = "two"
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        pytest.param(["version"], 3, id="a key"),
        pytest.param(["words", "most"], 4, id="a key of a table in a line"),
        pytest.param(["says"], 5, id="a key in quotation marks whose text goes over lines and looks like another"),
        pytest.param(["citations", "most"], 9, id="a key with a dot"),
        pytest.param(["citations", "gone"], 8, id="a key that is missing in a table"),
        pytest.param(["many", 1], 10, id="an element of a list over lines"),
        pytest.param(["sections"], 16, id="a list of tables"),
        pytest.param(["sections", 0, "name"], 17, id="a key of the first"),
        pytest.param(["sections", 0, "words", "least"], 19, id="a key of a table below it"),
        pytest.param(["sections", 1, "does"], 23, id="a key of the second, behind an empty line"),
        pytest.param(["sections", 1, "name"], 24, id="another"),
        pytest.param(["sections", 1, "words"], 21, id="a key that is missing in the second"),
        pytest.param(["sections", 7], 16, id="a table that is not there"),
        pytest.param(["gone"], 1, id="a key that is nowhere"),
    ],
)
def test_the_line_of_a_setting(tmp_path: Path, place: list[str | int], line: int) -> None:
    for name, ends in (("unix", "\n"), ("windows", "\r\n")):
        (tmp_path / name).write_bytes(TEXT.replace("\n", ends).encode())
        assert read_manifest(tmp_path / name).line(place) == line


def test_a_long_comment_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("# x\n" * 100_000 + "a = 1\n")
    assert read_manifest(tmp_path / "a.toml").line(["a"]) == 100_001


def test_a_byte_order_mark_is_no_setting(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_manifest(tmp_path / "a.toml").settings == {"a": 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(b"a = 1\nb = x\n", ", line 2: no TOML: Invalid value", id="no value"),
        pytest.param(b"a = 1\nb = [", ", line 2: no TOML: ", id="an end too early"),
        pytest.param(b"a = 1\na = 2\n", ", line 2: no TOML: Cannot overwrite a value", id="a key twice"),
        pytest.param(b"a = 1\nb = '\xff'\n", ", line 2: no UTF-8 text", id="no text"),
        pytest.param(b"a = " + b"[" * 5000, ", line 1: no TOML: ", id="lists in lists without end"),
    ],
)
def test_what_cannot_be_read_names_its_line(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(text)
    with pytest.raises(StyleError, match=re.escape(f"{path}{says}")) as refused:
        read_manifest(path)
    assert "\n" not in str(refused.value)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(StyleError, match=re.escape(f"{tmp_path}: is a directory")):
        read_manifest(tmp_path)
