from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from narrator.sanitize import one_line, plain, shorten

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
RAINBOW = "\U0001f3f3\ufe0f\u200d\U0001f308"
PERSIAN = "می\u200cخواهم"
CHILLU = "അവന്\u200d വന്നു"
HINDI = "क\u094d\u200dष"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing at all"),
        pytest.param("a line\nand\ta tab", id="line feeds and tabs"),
        pytest.param("naïve café", id="Latin letters beyond ASCII"),
        pytest.param("عربي עברית", id="Arabic and Hebrew letters"),
        pytest.param("修复 한국어 นำ", id="Chinese, Korean, Thai"),
        pytest.param("1\ufe0f\u20e3 ❤\ufe0f 🇩🇪 👍🏽", id="keycap, selector, flag, skin tone"),
    ],
)
def test_text_without_anything_special_comes_back_as_the_same_object(text: str) -> None:
    assert plain(text) is text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FAMILY, id="a family held together by joiners"),
        pytest.param(RAINBOW, id="a flag with selector and joiner"),
        pytest.param("🙂\u200d↔\ufe0f", id="an arrow in an emoji sequence"),
        pytest.param("\U0001fae9\u200d\U0001fae9", id="an emoji newer than the Unicode tables of old Pythons"),
        pytest.param(ENGLAND, id="the flag of England, spelt in tags"),
        pytest.param(PERSIAN, id="a non-joiner inside a Persian word"),
        pytest.param(HINDI, id="a joiner behind a virama"),
        pytest.param(CHILLU, id="a joiner behind a virama at the end of a word"),
    ],
)
def test_invisible_characters_that_shape_text_stay(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("\x1b[1mbold\x1b[0m \x1b[38;5;1mred\x1b[m", "bold red", id="colours"),
        pytest.param("\x1b[2J\x1b[H\x1b[?25lhi\x1b[1A\x1b[2K", "hi", id="cursor and erasing"),
        pytest.param("\x1b[ q\x1b[!px", "x", id="CSI with intermediate bytes"),
        pytest.param("a\x9b31mb\x9b0m", "ab", id="8-bit CSI"),
        pytest.param("a\x1b[31", "a", id="CSI torn at the end"),
        pytest.param("a\x1b[31\nb", "a\nb", id="CSI torn at a line break"),
        pytest.param("\x1b]0;title\x07x", "x", id="OSC ended by BEL"),
        pytest.param(
            "\x1b]8;;https://evil.invalid\x1b\\click\x1b]8;;\x1b\\!", "click!", id="OSC 8 hyperlink ended by ST"
        ),
        pytest.param("\x1b]52;c;ZWNobw==\x9cx", "x", id="OSC 52 ended by 8-bit ST"),
        pytest.param("\x9d0;title\x9cx\x9d0;t\x07y", "xy", id="8-bit OSC"),
        pytest.param("\x90q\x9cx\x1bPq#0\n#1\x1b\\y", "xy", id="DCS, with line breaks in a picture"),
        pytest.param("\x1b_Gi=1\x1b\\a\x1b^p\x1b\\b\x1bXs\x1b\\c", "abc", id="APC, PM and SOS"),
        pytest.param("a\x1b]0;never ended\nb", "a\nb", id="OSC without an end goes to the end of its line"),
        pytest.param("a\x9dnever ended\nb\x07", "a\nb␇", id="8-bit OSC is never longer than a line"),
        pytest.param("a\x1b]0;torn\x1b[31mb", "ab", id="another sequence ends a torn OSC"),
        pytest.param("\x1b(B\x1b7x\x1b8\x1bM\x1bc", "x", id="character set, save and restore, reset"),
        pytest.param("x\x1b", "x␛", id="a lone ESC is a mark"),
        pytest.param("\x1b\x1b[1mx", "␛x", id="ESC before a sequence"),
        pytest.param(
            "â\x80\x9chiâ\x80\x9d, he said", "â<U+0080><U+009C>hiâ<U+0080><U+009D>, he said", id="mangled UTF-8"
        ),
        pytest.param("é\x9b31m", "é<U+009B>31m", id="C1 behind a letter that may be half of mangled UTF-8"),
    ],
)
def test_terminal_sequences_are_removed(text: str, seen: str) -> None:
    assert plain(text) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("a\r\nb\r\n", "a\nb\n", id="CRLF is a line feed"),
        pytest.param("0%\r50%\r100%\n", "100%\n", id="the last frame of a progress bar"),
        pytest.param("0%\r50%\r", "50%", id="a trailing carriage return is nothing"),
        pytest.param("0%\r100%\r\r\nok", "100%\nok", id="carriage returns before a line break"),
        pytest.param("\r\r", "", id="carriage returns alone"),
        pytest.param("longer\rab", "ab", id="the rest of a longer frame is not kept"),
        pytest.param("a\rb\nc\rd", "b\nd", id="each line for itself"),
        pytest.param("|\b/\b-\b\\\bdone", "done", id="a spinner"),
        pytest.param("N\bNA\bA_\bM", "NAM", id="bold and underline of a man page"),
        pytest.param("abc\b\bX", "aXc", id="a backspace moves, what follows is written over"),
        pytest.param("OK\b\b done", " done", id="two backspaces"),
        pytest.param("abc\b\b", "abc", id="trailing backspaces change nothing"),
        pytest.param("a\n\b\b\bb", "a\nb", id="never across a line start"),
        pytest.param("a\b\b\b\bbc", "bc", id="no further than the first place"),
        pytest.param("x\x1b[K\b\by", "y", id="sequences take no place"),
    ],
)
def test_carriage_returns_and_backspaces_leave_what_the_terminal_shows(text: str, seen: str) -> None:
    assert plain(text) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("a\x00\x01\x1f", "a␀␁␟", id="C0 as control pictures"),
        pytest.param("\x07", "␇", id="BEL"),
        pytest.param("\x7f", "␡", id="DEL"),
        pytest.param("a\x85b", "a<U+0085>b", id="NEL and other C1"),
        pytest.param("vt\x0bff\x0c", "vt␋ff␌", id="vertical tab and form feed"),
        pytest.param("a\u2028b\u2029", "a<U+2028>b<U+2029>", id="line and paragraph separator"),
        pytest.param("rm \u202ehctap\u202c", "rm <U+202E>hctap<U+202C>", id="direction override"),
        pytest.param(
            "\u2066i\u2069\u200e\u200f\u061c", "<U+2066>i<U+2069><U+200E><U+200F><U+061C>", id="isolates and marks"
        ),
        pytest.param("a\u200bb\u2060c\ufeffd", "a<U+200B>b<U+2060>c<U+FEFF>d", id="characters without width"),
        pytest.param("pass\xadword", "pass<U+00AD>word", id="soft hyphen"),
        pytest.param("a\u3164b\uffa0\u180e", "a<U+3164>b<U+FFA0><U+180E>", id="letters that show nothing"),
        pytest.param("a\ufff9\uffff", "a<U+FFF9><U+FFFF>", id="annotation and non-character"),
        pytest.param("a\u200db", "a<U+200D>b", id="a joiner between ASCII letters"),
        pytest.param(" \u200c ", " <U+200C> ", id="a non-joiner between spaces"),
        pytest.param("\u200d", "<U+200D>", id="a joiner alone"),
        pytest.param("é\u200d\u200dé", "é<U+200D><U+200D>é", id="two joiners in a row"),
        pytest.param("é\u200d\u202eé", "é<U+200D><U+202E>é", id="a joiner before another hidden character"),
        pytest.param("hi\U000e0061\U000e0062", "hi<U+E0061><U+E0062>", id="text hidden in tags"),
        pytest.param("🏴\U000e0061\U000e0062", "🏴<U+E0061><U+E0062>", id="tags behind a flag that do not end"),
        pytest.param("👍\ufe0f\U000e0101\ufe00", "👍\ufe0f<U+E0101><U+FE00>", id="data hidden in selectors"),
        pytest.param("a\ud800b\udfff", "a\ufffdb\ufffd", id="lone surrogates"),
        pytest.param("\ud83d\ude00\x00", "😀␀", id="two halves of a pair are a character"),
    ],
)
def test_what_acts_or_hides_becomes_a_visible_mark(text: str, seen: str) -> None:
    assert plain(text) == seen


def test_nothing_that_acts_survives_any_mixture_and_a_second_pass_changes_nothing() -> None:
    bits = [
        "a",
        " ",
        "\n",
        "\r",
        "\b",
        "\x1b",
        "[",
        "31m",
        "]",
        "\x07",
        "\\",
        "\x9b",
        "\x9d",
        "é",
        "\x80",
        "\u200d",
        "\ufe0f",
    ]
    bits += [
        "👨",
        "🏽",
        "🏴",
        "\U000e0067",
        "\U000e007f",
        "\u0301",
        "\u094d",
        "क",
        "\u202e",
        "\ud800",
        "\x00",
        "\u2028",
        "م",
    ]
    acting = set(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x2028, 0x202E, 0xD800]))
    dice = random.Random(7)
    for _ in range(3000):
        shown = plain("".join(dice.choices(bits, k=dice.randint(1, 14))))
        assert not acting & set(shown)
        assert plain(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\x1b]" * 500_000, id="introducers without an end"),
        pytest.param("\x9dx\n" * 300_000, id="8-bit introducers, a line each"),
        pytest.param("\x1b[" + ";" * 1_000_000, id="parameters without an end"),
        pytest.param("\x1b" * 1_000_000, id="escapes alone"),
        pytest.param("\r" * 1_000_000, id="carriage returns alone"),
        pytest.param("\rframe 10%" * 100_000, id="frames of one line"),
        pytest.param("x" * 500_000 + "\b" * 500_000, id="half a megabyte of text taken back"),
        pytest.param("xx\b\b" * 250_000, id="backspaces everywhere"),
        pytest.param("\u200d" * 1_000_000, id="joiners alone"),
    ],
)
def test_a_megabyte_of_the_worst_ends(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        pytest.param("a\n b\t\tc\r\nd ", None, "a b c d", id="white space runs to single spaces"),
        pytest.param("\x1b[31mred\x1b[0m\x07", None, "red␇", id="plain first"),
        pytest.param("12345", 5, "12345", id="fits exactly"),
        pytest.param("123456", 5, "1234…", id="one too many"),
        pytest.param("ab cd ef", 4, "ab…", id="no space before the ellipsis"),
        pytest.param("abc", 1, "…", id="room for the ellipsis only"),
        pytest.param("abc", 0, "", id="no room at all"),
        pytest.param("a" + FAMILY, 5, "a…", id="a family is left out whole"),
        pytest.param("a" + FAMILY + "bcd", 9, "a" + FAMILY + "…", id="a family is kept whole"),
        pytest.param("🇩🇪🇫🇷🇮🇹", 4, "🇩🇪…", id="flags are pairs"),
        pytest.param("🇩🇪🇫🇷🇮🇹", 5, "🇩🇪🇫🇷…", id="flags are pairs, an even cut"),
        pytest.param("cafe\u0301s!", 5, "caf…", id="a letter and its accent"),
        pytest.param("❤\ufe0f\ufe0fab", 2, "…", id="a selector stays with its symbol"),
        pytest.param("👍🏽👍🏽", 3, "👍🏽…", id="a skin tone stays with its hand"),
        pytest.param("กำกำ", 2, "…", id="Thai AM stays with its consonant"),
        pytest.param("कष\u094dत्रab", 4, "क…", id="consonants bound by a virama"),
        pytest.param("\u1100\u1161\u11a8" * 3, 5, "\u1100\u1161\u11a8…", id="a syllable spelt in jamo"),
        pytest.param("a" + ENGLAND + "b", 4, "a…", id="a flag spelt in tags"),
        pytest.param("x\u0301" * 3, 4, "x\u0301…", id="repeated accents"),
    ],
)
def test_one_line(text: str, limit: int | None, line: str) -> None:
    assert one_line(text, limit) == line


def test_a_short_text_is_not_shortened() -> None:
    assert shorten("abc", 3) == ("abc", 0)


def test_a_text_is_not_made_longer_by_shortening_it() -> None:
    assert shorten("x" * 120, 100) == ("x" * 120, 0)


def test_the_mark_stands_on_a_line_of_its_own_and_counts_what_is_missing() -> None:
    text, left_out = shorten("a" * 500 + "b" * 500, 102)
    assert text == "a" * 60 + "\n[… 900 characters left out …]\n" + "b" * 40
    assert left_out == 900


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        pytest.param(0.0, ["[… 902 characters left out …]", "b" * 98], id="tail only"),
        pytest.param(1.0, ["a" * 98, "[… 902 characters left out …]"], id="head only"),
    ],
)
def test_the_head_has_the_share_asked_for(head: float, lines: list[str]) -> None:
    assert shorten("a" * 500 + "b" * 500, 100, head=head)[0].splitlines() == lines


def test_a_cut_moves_to_a_line_break_that_is_near() -> None:
    rows = "".join(f"line {number:03}\n" for number in range(200))
    text, left_out = shorten(rows, 107)
    head, mark, tail = text.partition(f"[… {left_out} characters left out …]\n")
    assert mark
    assert head.splitlines() == [f"line {number:03}" for number in range(7)]
    assert tail.splitlines() == [f"line {number:03}" for number in range(196, 200)]
    assert len(head) + left_out + len(tail) == len(rows)


def test_a_line_break_that_is_far_does_not_move_the_cut() -> None:
    text, _ = shorten("x\n" + "a" * 1000, 102)
    assert text.startswith("x\n" + "a" * 58 + "\n[…")


def test_no_room_leaves_the_mark_alone() -> None:
    assert shorten("a" * 100, 0) == ("[… 100 characters left out …]", 100)


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(FAMILY, id="families"),
        pytest.param("🇩🇪", id="flags"),
        pytest.param("e\u0301", id="accents"),
        pytest.param(ENGLAND, id="tags"),
    ],
)
def test_neither_cut_splits_a_character_as_people_see_it(unit: str) -> None:
    for limit in range(10, 40):
        text, left_out = shorten(unit * 60, limit)
        head, tail = text.split(f"[… {left_out} characters left out …]")
        assert set(head.strip("\n").split(unit)) == {""}
        assert set(tail.strip("\n").split(unit)) == {""}
        assert len(head) + len(tail) <= limit


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 10, 59, 100])
def test_the_result_is_at_most_the_mark_longer_than_the_limit(limit: int) -> None:
    dice = random.Random(limit)
    for _ in range(50):
        source = "".join(dice.choices(["ab", "\n", "e\u0301", FAMILY], k=150))
        text, left_out = shorten(source, limit, head=dice.random())
        mark = f"[… {left_out} characters left out …]"
        assert mark in text.split("\n")
        assert len(text) <= limit + len(mark)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [value]
        if isinstance(value, str)
        else [text for item in value for text in strings(item)]
        if isinstance(value, list)
        else []
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param("35-escaped-nul", ["ELF␀␀␁␂␀tail␡<U+0085>"], id="NUL and C1"),
        pytest.param(
            "37-ansi-and-cr",
            ["Collecting gizmo\nDownloading 100% |####################|\n done\nlast line without CR\n"],
            id="progress bar",
        ),
        pytest.param("38-emoji-cjk-combining", [f"了解しました。 한국어 नमस्ते {ENGLAND}"], id="scripts and emoji"),
        pytest.param(
            "39-bidi-overrides",
            [
                "Report gnp.<U+202E>gnissim",
                "Ran it. <U+2066>isolated<U+2069> <U+200B><U+200D><U+2060> and plain عربي עברית prose.",
            ],
            id="direction",
        ),
        pytest.param(
            "40-unicode-line-separators", ["sep<U+2028>para<U+2029>nel<U+0085>vt␋ff␌end"], id="line separators"
        ),
        pytest.param("52-terminal-escapes", ["nice title␇", "hi   click ", "acme-large", "bash", "c␇"], id="escapes"),
    ],
)
def test_the_shared_hostile_cases(name: str, wanted: list[str]) -> None:
    path = CASES / f"{name}.json"
    if not path.is_file():
        pytest.skip("the shared cases are not beside this checkout")
    shown = [plain(text) for text in strings(json.loads(path.read_text(encoding="utf-8")))]
    assert [text for text in wanted if text not in shown] == []
