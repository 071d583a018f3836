import random
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from narrator.markdown import FOOTER, code_span, fence, inert, literal, make_parser, prose_of, without_footer

VIEWER = MarkdownIt("commonmark", {"html": True}).enable("table")
"""Another program that shows Markdown: it knows HTML, definitions and images."""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("plain words", id="words"),
        pytest.param("```", id="a fence"),
        pytest.param("a\n`````\nb\n```` x", id="longer fences"),
        pytest.param("~~~\n</pre></details>\n# x\n---\n[msg 3]", id="everything else that could end a block"),
        pytest.param("two line ends\n\n", id="blank lines at its end"),
        pytest.param("    indented\n\ttab", id="indentation"),
        pytest.param("sep\u2028line", id="a line separator"),
    ],
)
def test_a_fence_holds_exactly_its_text(text: str) -> None:
    tokens = VIEWER.parse(f"before\n\n{fence(text)}\n\nafter")
    assert [token.type for token in tokens if token.level == 0] == [
        *("paragraph_open", "paragraph_close", "fence", "paragraph_open", "paragraph_close"),
    ]
    shown = text.replace("\u2028", "<U+2028>")
    assert next(token for token in tokens if token.type == "fence").content == shown.removesuffix("\n") + "\n"


@pytest.mark.parametrize("text", ["`", "a`b``c", "``", "```x", "x|y", "<b>", "", "two\nlines", "[msg 3]", "\\"])
def test_a_code_span_holds_exactly_its_text(text: str) -> None:
    (line,) = [token for token in VIEWER.parse(f"x {code_span(text)} y") if token.type == "inline"]
    spans = [child.content for child in line.children or () if child.type == "code_inline"]
    assert spans == [" ".join(text.split())] or (not text and not "".join(spans).strip())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# hash", id="a heading"),
        pytest.param(
            '=HYPERLINK("https://evil.invalid","x") | pipe | `tick` # hash\n---\nfront: matter\n---', id="case 55"
        ),
        pytest.param("</title><script>window.__pwned=1</script>", id="case 45"),
        pytest.param(
            "[msg 3] [a](javascript:x) ![b](c) *em* _em_ **b** ~~s~~ &lt; <https://x.invalid>", id="inline marks"
        ),
        pytest.param("ends with \\", id="a backslash at the end"),
        pytest.param("{{ 1337*1337 }} {% endblock %}", id="case 48"),
    ],
)
def test_literal_text_is_shown_as_it_is(text: str) -> None:
    tokens = VIEWER.parse(f"Title “{literal(text)}” end")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} == {"text"}
    assert "".join(child.content for child in children) == f"Title “{' '.join(text.split())}” end"


def test_literal_text_is_no_citation() -> None:
    assert literal("[msg 3]") == r"\[msg 3\]"


@pytest.mark.parametrize(
    ("essay", "expected"),
    [
        pytest.param("# T\n\nSaid [msg 3].\n", "# T\n\nSaid [msg 3].\n", id="a plain essay is untouched"),
        pytest.param("a < b, <- c, 1<2", "a < b, <- c, 1<2\n", id="a less-than sign is no tag"),
        pytest.param("the <style> block", "the &lt;style> block\n", id="a tag in prose"),
        pytest.param(
            "</pre> <!-- x <?php <!DOCTYPE", "&lt;/pre> &lt;!-- x &lt;?php &lt;!DOCTYPE\n", id="what opens a block"
        ),
        pytest.param("`<b>` and ``a ` <i>``", "`<b>` and ``a ` <i>``\n", id="code spans are untouched"),
        pytest.param("a ` <b>\n\n` c", "a ` &lt;b>\n\n` c\n", id="a span does not reach over a blank line"),
        pytest.param(r"\`<b>`", r"\`&lt;b>`" + "\n", id="an escaped backtick opens no span"),
        pytest.param(r"\<b>", "\\<b>\n", id="an escaped tag stays as it is"),
        pytest.param("```\n<b> ![x](y)\n```", "```\n<b> ![x](y)\n```\n", id="a fence is untouched"),
        pytest.param("    <b>\n", "    <b>\n", id="indented code is untouched"),
        pytest.param(
            "> - ~~~\n>   <b>\n>   ~~~\n> <b>",
            "> - ~~~\n>   <b>\n>   ~~~\n> &lt;b>\n",
            id="a fence in a list in a quote",
        ),
        pytest.param(
            "<https://ok.invalid/a?b=1> <a@b.invalid>",
            "<https://ok.invalid/a?b=1> <a@b.invalid>\n",
            id="plain links stay",
        ),
        pytest.param("<javascript:alert(1)>", "&lt;javascript:alert(1)>\n", id="a dangerous autolink"),
        pytest.param("![b](https://beacon.invalid/p.png)", "\\![b](https://beacon.invalid/p.png)\n", id="an image"),
        pytest.param(
            "[msg 3]: https://evil.invalid", "\\[msg 3]: https://evil.invalid\n", id="a definition of a citation"
        ),
        pytest.param("[x]: y\n[MSG\n 3]: z", "[x]: y\n\\[MSG\n 3]: z\n", id="a definition after a definition"),
        pytest.param("- > 1. [msg 3]: z", "- > 1. \\[msg 3]: z\n", id="a definition in a container"),
        pytest.param("as [msg 3]: z", "as [msg 3]: z\n", id="a colon after a citation is no definition"),
        pytest.param(
            "| ` | <b> ` |\n|---|---|\n| `<i>` | ` |",
            "| ` | &lt;b> ` |\n|---|---|\n| `<i>` | ` |\n",
            id="a span ends with its cell",
        ),
        pytest.param("x\n```\nopen", "x\n```\nopen\n```\n", id="an open fence is closed"),
        pytest.param("~~~~\nopen\n~~~", "~~~~\nopen\n~~~\n~~~~\n", id="a shorter run closes nothing"),
        pytest.param("```\nopen\n    ```", "```\nopen\n    ```\n```\n", id="an indented run closes nothing"),
        pytest.param("```", "```\n```\n", id="a fence that only opens"),
        pytest.param("- ```\n  open", "- ```\n  open\n", id="a fence in a list ends with it"),
        pytest.param("a\r\nb \u202e c\x00", "a\nb <U+202E> c␀\n", id="controls become marks"),
        pytest.param("\n\n", "\n", id="nothing"),
    ],
)
def test_an_essay_is_made_inert(essay: str, expected: str) -> None:
    assert inert(essay) == expected
    assert inert(expected) == expected


@pytest.mark.parametrize(
    "essay",
    [
        "<style>body{display:none}\n\nx",
        "<!--\n\nx",
        "<div\nonclick=x>\n\n```\n<script>\n",
        "a <b\nonclick='`'>` x",
        "![a\nb](c) [![x](y)](https://z.invalid)",
        "<p>\n`\n</p>\n` <script>",
        "[msg 3]: https://evil.invalid\n[msg 3]",
        "`\n<script>alert(1)</script>\n`",
        "> `\n> <!-- `",
    ],
)
def test_a_viewer_finds_no_html_image_or_definition(essay: str) -> None:
    env: dict[str, Any] = {}
    tokens = VIEWER.parse(f"{inert(essay)}\n---\n\nfooter\n", env)
    kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}
    assert not kinds & {"html_block", "html_inline", "image"}
    assert not any(label.startswith("MSG") for label in env.get("references", {}))
    assert [token.content for token in tokens if token.type == "inline"][-1] == "footer"


def test_a_parser_of_untrusted_text_makes_no_element_of_it() -> None:
    assert (
        make_parser().render("<b>x</b>\n\n[a]: /b\n\n[a]")
        == "<p>&lt;b&gt;x&lt;/b&gt;</p>\n<p>[a]: /b</p>\n<p>[a]</p>\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"essay\n\n---\n\n{FOOTER}3 of x*\n\n## Evidence\n", "essay\n", id="the footer goes"),
        pytest.param(
            f"essay\n\n---\n\n{FOOTER}3*\n\n```\n\n---\n\n{FOOTER}4*\n```\n", "essay\n", id="one in the evidence too"
        ),
        pytest.param(
            f"a\n\n```\n---\n\n{FOOTER}3*\n```\n",
            f"a\n\n```\n---\n\n{FOOTER}3*\n```\n",
            id="one in a fence of the essay stays",
        ),
        pytest.param("a\n\n---\n\nb\n", "a\n\n---\n\nb\n", id="a rule alone is no footer"),
        pytest.param(f"a\n\n> ---\n>\n> {FOOTER}3*\n", f"a\n\n> ---\n>\n> {FOOTER}3*\n", id="a quoted footer stays"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_an_essay_is_found_without_its_footer(text: str, expected: str) -> None:
    assert without_footer(text) == expected


@pytest.mark.parametrize("piece", ["`", "<a ", "![", "[msg ", "\\`", ">", "- ", "[msg 3]:\n", "| "])
def test_hostile_repetition_is_read_in_reasonable_time(piece: str) -> None:
    assert len(re.sub(r"\s", "", inert(piece * 5000))) > 1000


PIECES = [
    *(
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "<b>",
        "</b>",
        "<script>",
        "<!--",
        "-->",
        "<div\n",
        "<p>",
        "![",
        "a",
        "](u)",
    ),
    *(
        "[msg 3]",
        ": x",
        "[msg 3]: y",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "|",
        "|---|---|\n",
        "| a | b |\n",
        "\\",
        "*",
        "# ",
    ),
    *("---", "<https://a.b>", "<a@b.c>", "&lt;", "<U+202E>", '"', "(", ")", "\n===\n", '<x y="', '`">'),
]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_essay_the_footer_stands_and_nothing_acts(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        essay = inert("".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14))))
        env: dict[str, Any] = {}
        tokens = VIEWER.parse(f"{essay}\n---\n\n{FOOTER}1*\n", env)
        kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}
        assert not kinds & {"html_block", "html_inline", "image"}, essay
        assert not any(label.startswith("MSG") for label in env.get("references", {})), essay
        assert [token.content for token in tokens if token.type == "inline"][-1] == f"{FOOTER}1*", essay
        assert inert(essay) == essay


def test_running_text_is_what_stands_in_no_code() -> None:
    text = "# Head [msg 1]\n\nOne `[msg 2]` *two* [msg 3].\n\n- item\n\n```\n[msg 4]\n```\n\n    [msg 5]\n"
    assert prose_of(text) == "Head [msg 1]\nOne    two  [msg 3].\nitem"
