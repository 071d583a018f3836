from __future__ import annotations

import pytest

from narrator.reply import LONGEST_WORDS, clean_essay, document_kind, plain_text, server_words

FENCE = "an outer code fence"
THOUGHT = "a <think> block"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# Essay\n\nText.", id="plain Markdown"),
        pytest.param("# Essay\n\n\tA tab and  two spaces.", id="white space inside"),
        pytest.param("# Essay\n\nThe word <think> appears in the code.", id="a think tag in the body"),
        pytest.param("# Essay\n\nIt sent `</think>` and stopped.", id="a closing think tag inside a sentence"),
        pytest.param(
            "# Essay\n\n```\n</think>\n```\n\nThat line.", id="a closing think tag on its own line in a code block"
        ),
        pytest.param("# Essay\n\n<think>\nquoted\n</think>\n\nEnd.", id="a whole think block in the body"),
        pytest.param("```\nfirst\n```\n\nText.\n\n```\nlast\n```", id="code blocks at both ends, unmarked"),
        pytest.param("```python\nfirst()\n```\n\nText.", id="a code block at the start"),
        pytest.param("```python\nx = 1\n```", id="nothing but a code block of a language"),
        pytest.param("```\nnever closed", id="an unmarked fence that is never closed"),
        pytest.param("```\ninside\n```\n\nText after it.", id="text after the fence"),
        pytest.param("# Essay\n\n```\nunclosed fence", id="an unclosed fence in the body"),
    ],
)
def test_an_essay_without_wrapping_stays_as_it_is(text: str) -> None:
    assert clean_essay(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "essay", "notes"),
    [
        pytest.param("\n\n# Essay\n \n", "# Essay", (), id="blank lines around"),
        pytest.param("```markdown\n# Essay\n```", "# Essay", (FENCE,), id="a fence marked markdown"),
        pytest.param("```MD\n# Essay\n```\n", "# Essay", (FENCE,), id="a fence marked MD"),
        pytest.param("```\n# Essay\n```", "# Essay", (FENCE,), id="an unmarked fence"),
        pytest.param("~~~\n# Essay\n~~~", "# Essay", (FENCE,), id="a fence of tildes"),
        pytest.param(
            "```markdown\n# E\n\n```python\nprint(1)\n```\n\nMore.\n```",
            "# E\n\n```python\nprint(1)\n```\n\nMore.",
            (FENCE,),
            id="an inner block with a language is kept",
        ),
        pytest.param(
            "```\n# E\n\n```python\nprint(1)\n```\n\nMore.\n```",
            "# E\n\n```python\nprint(1)\n```\n\nMore.",
            (FENCE,),
            id="an inner block inside an unmarked fence is kept",
        ),
        pytest.param(
            "```markdown\n# E\n\n```\ncode\n```\n\nMore.\n```",
            "# E\n\n```\ncode\n```\n\nMore.",
            (FENCE,),
            id="an inner block without a language is kept",
        ),
        pytest.param(
            "```markdown\n# E\n\n```sh\nls\n```", "# E\n\n```sh\nls\n```", (FENCE,), id="the outer fence never closes"
        ),
        pytest.param("```markdown\n# E", "# E", (FENCE,), id="an outer fence and no other"),
        pytest.param("```markdown\n```markdown\n# E\n```\n```", "```markdown\n# E\n```", (FENCE,), id="removed once"),
        pytest.param("<think>\nBe nice.\n</think>\n\n# Essay", "# Essay", (THOUGHT,), id="a leading think block"),
        pytest.param("  <thinking>x</thinking># E", "# E", (THOUGHT,), id="under its other name, after blanks"),
        pytest.param("Be nice.\n</think>\n# Essay\n\nBody.", "# Essay\n\nBody.", (THOUGHT,), id="a lone closing tag"),
        pytest.param("<think>a</think> b\n</think>\n# E", "# E", (THOUGHT,), id="a thought that speaks of the tag"),
        pytest.param("<think>\nwithout end", "", (THOUGHT,), id="a thought that never ends"),
        pytest.param("<think>x</think>\n```markdown\n# E\n```", "# E", (THOUGHT, FENCE), id="a thought before a fence"),
        pytest.param("a\r\nb\rc", "a\nb\nc", (), id="other line ends"),
        pytest.param("a\x00b\x1b[0m\x85\x7fc\td", "ab[0mc\td", (), id="control characters, but not tabs"),
        pytest.param("a \ud83d b \ude00", "a \ufffd b \ufffd", (), id="halves of a character"),
        pytest.param("\ud83d\ude00", "😀", (), id="two halves that belong together"),
        pytest.param("", "", (), id="nothing"),
    ],
)
def test_wrappings_are_taken_off_an_essay(text: str, essay: str, notes: tuple[str, ...]) -> None:
    assert clean_essay(text) == (essay, notes)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("<!DOCTYPE html><p>x", "HTML", id="a doctype"),
        pytest.param("\n<html><body>login", "HTML", id="a page without one"),
        pytest.param('<?xml version="1.0"?><html/>', "HTML", id="XHTML"),
        pytest.param('{"title": "T"}', "JSON", id="an object"),
        pytest.param("[1, 2]", "JSON", id="a list"),
        pytest.param('```json\n{"title": "T"}\n```', "JSON", id="an object in a fence"),
        pytest.param("```html\n<html></html>\n```", "HTML", id="a page in a fence"),
        pytest.param("# Essay\n\n<html> is a tag.", None, id="an essay that names a tag"),
        pytest.param("<html5lib> is a package", None, id="a word that begins like a tag"),
        pytest.param("[msg 3] says so.", None, id="an essay that begins with a citation"),
        pytest.param('{"title": "T"', None, id="half an object"),
        pytest.param("[" * 100_000, None, id="brackets deeper than a parser goes"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_document_is_told_from_an_essay(text: str, kind: str | None) -> None:
    assert document_kind(text) == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("two\n lines\t here.", "two lines here", id="one line, without its full stop"),
        pytest.param("red\x1b[31m \x07alarm", "red[31m alarm", id="no control characters"),
        pytest.param("Incorrect API key provided: sk-proj-ab_C-12", "Incorrect API key provided: [key]", id="a key"),
        pytest.param("Incorrect key sk-ab****************yz.", "Incorrect key [key]", id="a masked key"),
        pytest.param("Invalid key: gsk_****abcd", "Invalid key: [key]", id="another provider's"),
        pytest.param("key ***yz is not ours", "key [key] is not ours", id="a key of no known kind, masked"),
        pytest.param("bad header Bearer abc123", "bad header Bearer [key]", id="a bearer token"),
        pytest.param(
            "no task-based risk-free plan", "no task-based risk-free plan", id="words that end like a key begins"
        ),
        pytest.param(
            "<html><head><title>502 Bad\nGateway</title></head>x", "502 Bad Gateway", id="the title of a page"
        ),
        pytest.param("<html>413 Too <b>Large</b></html>", "413 Too Large", id="the text of a page without one"),
        pytest.param("a < b", "a < b", id="a sentence with a bracket"),
    ],
)
def test_server_words_are_one_printable_line_without_keys(text: str, words: str) -> None:
    assert server_words(text) == words


def test_server_words_are_cut() -> None:
    words = server_words("word " * 200)
    assert len(words) == LONGEST_WORDS
    assert words.endswith("…")


def test_server_words_do_not_hold_the_key_in_use() -> None:
    assert server_words("who is AbCdEfGh123?", "AbCdEfGh123") == "who is [key]?"


def test_a_key_of_a_few_characters_is_no_reason_to_tear_words_apart() -> None:
    assert server_words("none of this", "none") == "none of this"


def test_plain_text_can_always_be_encoded() -> None:
    assert plain_text("".join(map(chr, range(0xD7F0, 0xE010)))).encode("utf-8")
