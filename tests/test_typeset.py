import re
from html.parser import HTMLParser

import nh3
import pytest

from narrator.typeset import SUMMARY, typeset

ELEMENTS = {
    *("h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ol", "ul", "li", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span", "code", "em", "strong", "br"),
}
ATTRIBUTES = {
    ("a", "href"),
    ("a", "rel"),
    ("a", "class"),
    ("ol", "start"),
    ("span", "id"),
    ("span", "class"),
    ("span", "title"),
    ("div", "class"),
    ("th", "class"),
    ("td", "class"),
}
NAMES = {"3": 3, "4": 4, "5": 5, "12": 12, "15": 15, "msg_ab12": 12}


class Elements(HTMLParser):
    """Every element and attribute that a parser finds in a piece of HTML, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(html: str) -> str:
    return " ".join(Elements(html).text.split())


def cites(markdown: str) -> str:
    """A paragraph's HTML with the citations' own markup shortened: `<3>` a link to message 3, `!7!` a missing one."""
    html = typeset(markdown, NAMES).body
    html = re.sub(r'<a class="cite" href="#msg-(\d+)">([^<]*)</a>', r"{\2→\1}", html)
    html = re.sub(r'<span class="cite missing" title="no such message in the evidence">([^<]*)</span>', r"!\1!", html)
    html = re.sub(r'<span class="range">([^<]*)</span>', r"\1", html)
    html = re.sub(r'<span class="cites" id="cite-(\d+)">([^<]*)</span>', r"#\1\2", html)
    return html.removeprefix("<p>").removesuffix("</p>\n")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param("no citation", "no citation", id="none"),
        pytest.param("[msg 12]", "#1[{msg 12→12}]", id="one"),
        pytest.param("a [msg 12].", "a #1[{msg 12→12}].", id="one at the end of a sentence"),
        pytest.param("[msg 12, 15]", "#1[{msg 12→12}, {15→15}]", id="two in one"),
        pytest.param("[msg 12, msg 15]", "#1[{msg 12→12}, {15→15}]", id="two in one, the word repeated"),
        pytest.param("[msg 3–5]", "#1[{msg 3→3}–{5→5}]", id="a range"),
        pytest.param("[msg 3-5]", "#1[{msg 3→3}–{5→5}]", id="a range with a hyphen"),
        pytest.param("[msg 3]–[msg 5]", "#1[{msg 3→3}–{5→5}]", id="a range of two brackets"),
        pytest.param("[msg 3–5, 12]", "#1[{msg 3→3}–{5→5}, {12→12}]", id="a range and one more"),
        pytest.param("[msg 3] [msg 4]", "#1[{msg 3→3}] #2[{msg 4→4}]", id="two of them are numbered"),
        pytest.param("[msg 012]", "#1[{msg 012→12}]", id="a leading zero"),
        pytest.param("[msg 7]", "#1[!msg 7!]", id="no such message"),
        pytest.param("[msg 3, 7]", "#1[{msg 3→3}, !7!]", id="one of two is missing"),
        pytest.param("[msg msg_ab12]", "#1[{msg msg_ab12→12}]", id="the target's native id"),
        pytest.param("[msg msg_ab1…]", "#1[!msg msg_ab1…!]", id="a prefix is not enough: it may be another message's"),
        pytest.param("[msg\n12, 15]", "#1[{msg 12→12}, {15→15}]", id="broken over two lines"),
        pytest.param("**a [msg 3]**", "<strong>a #1[{msg 3→3}]</strong>", id="in bold"),
        pytest.param("`[msg 3]`", "<code>[msg 3]</code>", id="not in a code span"),
        pytest.param(r"\[msg 3\]", "[msg 3]", id="not escaped"),
        pytest.param("[see [msg 3]](#x)", '<a href="#x">see [msg 3]</a>', id="not inside a link"),
        pytest.param("[msg 3](nowhere)", "#1[{msg 3→3}](nowhere)", id="a link that leads nowhere is none"),
        pytest.param(
            "[msg 3]: https://evil.invalid", "#1[{msg 3→3}]: https://evil.invalid", id="it cannot be redefined"
        ),
        pytest.param("![[msg 3]](https://x.invalid/p.png)", "[image: #1[{msg 3→3}]]", id="in an image's description"),
        pytest.param("[msg x] [msg] [message 3]", "[msg x] [msg] [message 3]", id="what only looks like one"),
        pytest.param("[msg 3]\n[msg 4]", "#1[{msg 3→3}]\n#2[{msg 4→4}]", id="a line break between two stays"),
    ],
)
def test_a_citation_becomes_links(markdown: str, expected: str) -> None:
    assert cites(markdown) == expected


def test_citations_in_fences_are_text_and_count_for_nothing() -> None:
    article = typeset("```\n[msg 3]\n```\n\n    [msg 4]\n", NAMES)
    assert (article.citations, article.cited, article.missing) == (0, {}, 0)
    assert "<a" not in article.body


def test_counts_and_first_places_of_citations() -> None:
    article = typeset("# On [msg 4]\n\nA [msg 3, 7] b [msg 3–5] c\n\n- d [msg msg_ab12] [msg msg_zz]\n", NAMES)
    assert article.citations == 5
    assert article.cited == {4: "cite-1", 3: "cite-2", 5: "cite-3", 12: "cite-4"}
    assert article.missing == 2
    assert 'id="cite-1"' in article.title
    assert re.findall(r'id="(cite-\d)"', article.body) == ["cite-2", "cite-3", "cite-4", "cite-5"]


@pytest.mark.parametrize(
    ("markdown", "title", "heading", "body"),
    [
        pytest.param("# A\n\nb", "A", "A", "<p>b</p>\n", id="taken out of the body"),
        pytest.param(
            "b\n\n# A `x` & <i>", "A <code>x</code> &amp; &lt;i&gt;", "A x & <i>", "<p>b</p>\n", id="after a paragraph"
        ),
        pytest.param("A\n===\n", "A", "A", "", id="underlined"),
        pytest.param("# A [msg 3], so\n", None, "A, so", "", id="its plain text has no citation"),
        pytest.param("## A\n", "", "", "<h2>A</h2>\n", id="a lower heading is no title"),
        pytest.param("# A\n\n# B\n", "A", "A", "<h2>B</h2>\n", id="a second one goes down a rank"),
        pytest.param("> # A\n", "", "", "<blockquote>\n<h2>A</h2>\n</blockquote>\n", id="a quoted one is none"),
        pytest.param("", "", "", "", id="nothing"),
    ],
)
def test_the_title_is_the_first_heading(markdown: str, title: str | None, heading: str, body: str) -> None:
    article = typeset(markdown, NAMES)
    assert (article.heading, article.body) == (heading, body)
    assert title is None or article.title == title


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param("# T\n\nOne `two`\nthree [msg 3].\n\nFour.", "One two three.", id="the first paragraph"),
        pytest.param("> quoted\n\n![x](https://a.invalid/b.png)\n\nb", "[image: x]", id="not a quotation"),
        pytest.param("[msg 3]\n\nb", "b", id="not a lone citation"),
        pytest.param("word, " * 50, "word, " * 32 + "word…", id="cut between words"),
        pytest.param("w" * SUMMARY, "w" * SUMMARY, id="just short enough"),
        pytest.param("# T", "", id="none"),
    ],
)
def test_the_summary_is_the_beginning(markdown: str, expected: str) -> None:
    assert typeset(markdown, NAMES).summary == expected


PROBES = {
    "script": "<script>alert(1)</script>",
    "script in a heading": "## <script>alert(1)</script>",
    "script over a blank line": "<script>\n\nalert(1)\n\n</script>",
    "unclosed script": "<script>alert(1)",
    "image with an error": "<img src=x onerror=alert(1)>",
    "svg": "<svg/onload=alert(1)>",
    "svg with a script": "<svg><script>alert(1)</script></svg>",
    "math": "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "iframe": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "object": "<object data='javascript:alert(1)'></object>",
    "embed": "<embed src='javascript:alert(1)'>",
    "form": "<form action='javascript:alert(1)'><button>x</button></form>",
    "input": "<input autofocus onfocus=alert(1)>",
    "details": "<details open ontoggle=alert(1)>x</details>",
    "style": "<style>body{display:none}</style>",
    "style attribute": "<p style='background:url(https://evil.invalid)'>x</p>",
    "link": "<link rel=stylesheet href=https://evil.invalid/x.css>",
    "meta refresh": "<meta http-equiv=refresh content='0;url=https://evil.invalid'>",
    "base": "<base href=https://evil.invalid/>",
    "template": "<template><script>alert(1)</script></template>",
    "noscript": "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "textarea and title": "</textarea></title></style><script>alert(1)</script>",
    "comment": "<!-- --!><script>alert(1)</script> -->",
    "unclosed comment": "<!-- not closed",
    "CDATA": "<![CDATA[<script>alert(1)</script>]]>",
    "processing instruction": "<?xml version='1.0'?><script>alert(1)</script>",
    "end of our elements": "</pre></code></div></article></main></body></html><script>alert(1)</script>",
    "uppercase and slash": "<SCRIPT/SRC=//evil.invalid></SCRIPT>",
    "javascript link": "[a](javascript:alert(1))",
    "javascript in mixed case with an entity": "[a](JaVaScRiPt&colon;alert(1))",
    "javascript with a tab": "[a](java\tscript:alert(1))",
    "javascript with a tab as an entity": "[a](java&Tab;script:alert(1))",
    "javascript with a control": "[a](\x01javascript:alert(1))",
    "javascript in angle brackets": "[a](<java\\script:alert(1)>)",
    "javascript, percent-encoded": "[a](javascript%3Aalert(1))",
    "data link": "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "data image link": "[a](data:image/png;base64,AA==)",
    "vbscript link": "[a](vbscript:x)",
    "file link": "[a](file:///etc/passwd)",
    "protocol-relative link": "[a](//evil.invalid/x)",
    "backslash link": "[a](https:\\\\evil.invalid)",
    "relative link": "[a](../x.html)",
    "blob link": "[a](blob:https://x.invalid/1)",
    "javascript autolink": "<javascript:alert(1)>",
    "javascript by definition": "[a]\n\n[a]: javascript:alert(1)",
    "image": "![b](https://beacon.invalid/p.png)",
    "javascript image": "![b](javascript:alert(1))",
    "image in a link": "[![b](https://beacon.invalid/p.png)](https://ok.invalid)",
    "link title that ends the attribute": '[a](https://ok.invalid/ "t\\" onclick=\\"alert(1)")',
    "link address that ends the attribute": '[a](https://ok.invalid/"onclick="alert(1))',
    "info string of a fence": '```"><script>alert(1)</script>\nx\n```',
    "code span": "`</code><script>alert(1)</script>`",
    "cell": "| </td><script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "alignment": "| a |\n|:-:|\n| b |",
    "citation lookalike": '[msg 3"><script>alert(1)</script>]',
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "null in a tag": "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "list start": "999999999. x",
}


@pytest.mark.parametrize("markdown", PROBES.values(), ids=PROBES.keys())
def test_nothing_becomes_an_element_that_is_not_on_the_list(markdown: str) -> None:
    body = typeset(f"before\n\n{markdown}\n\nafter [msg 3]", NAMES).body
    for tag, attributes in Elements(body).found:
        assert tag in ELEMENTS
        assert {(tag, name) for name in attributes} <= ATTRIBUTES
        if (href := attributes.get("href")) is not None:
            assert re.match(r"https?://[^/]|mailto:|#", href)
            assert href.startswith("#") is ("rel" not in attributes)
    assert "<p>after <span" in body
    assert body.rstrip().endswith("</p>")


@pytest.mark.parametrize(
    ("markdown", "href"),
    [
        ("[a](https://ok.invalid/a?b=1&c=2)", "https://ok.invalid/a?b=1&c=2"),
        ("[a](HTTP://ok.invalid)", "HTTP://ok.invalid"),
        ("<https://ok.invalid>", "https://ok.invalid"),
        ("<a@ok.invalid>", "mailto:a@ok.invalid"),
        ("[a](mailto:a@ok.invalid)", "mailto:a@ok.invalid"),
    ],
)
def test_a_link_that_leaves_the_page_is_kept_at_arms_length(markdown: str, href: str) -> None:
    ((_, attributes),) = [found for found in Elements(typeset(markdown, NAMES).body).found if found[0] == "a"]
    assert attributes == {"href": href, "rel": "noopener nofollow ugc"}


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        pytest.param("<conversation_data> && &lt;", "<conversation_data> && <", id="as a person expects"),
        pytest.param("`&lt;` `&amp;&amp;`", "&lt; &amp;&amp;", id="code is verbatim"),
        pytest.param(
            "{{ 1337*1337 }} {% raw %} ${HOME} %(x)s {0}", "{{ 1337*1337 }} {% raw %} ${HOME} %(x)s {0}", id="case 48"
        ),
        pytest.param("![b](https://beacon.invalid/p.png)", "[image: b]", id="an image is its description"),
        pytest.param("[a](javascript:x)", "[a](javascript:x)", id="a refused link is its source"),
        pytest.param("x\u202ey \x00 \u2066", "x<U+202E>y ␀ <U+2066>", id="controls are marks"),
        pytest.param("عربي עברית 👨‍👩‍👧 e\u0301", "عربي עברית 👨‍👩‍👧 e\u0301", id="letters of every script stay"),
    ],
)
def test_what_a_person_reads(markdown: str, text: str) -> None:
    assert shown(typeset(markdown, NAMES).body) == text


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param("a\n- b\n- c", "<p>a</p>\n<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n", id="bullets right under a line"),
        pytest.param(
            "a\n1. b\n2. c", "<p>a</p>\n<ol>\n<li>b</li>\n<li>c</li>\n</ol>\n", id="numbers right under a line"
        ),
        pytest.param("3. b", '<ol start="3">\n<li>b</li>\n</ol>\n', id="a list that starts at three"),
        pytest.param('a "b" c="d"', "<p>a &quot;b&quot; c=&quot;d&quot;</p>\n", id="no text looks like an attribute"),
        pytest.param("a  \nb", "<p>a<br>\nb</p>\n", id="a hard line break"),
        pytest.param("```py\n<b>\n```", "<pre><code>&lt;b&gt;\n</code></pre>\n", id="code"),
        pytest.param(
            "| a | b |\n|--:|---|\n| 1 | 2 |",
            '<div class="table"><table>\n<thead>\n<tr>\n<th class="right">a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n'
            '<tr>\n<td class="right">1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table></div>\n',
            id="a table scrolls in a box of its own",
        ),
    ],
)
def test_blocks(markdown: str, expected: str) -> None:
    assert typeset(markdown, NAMES).body == expected


def test_cleaning_again_changes_nothing() -> None:
    body = typeset("# T\n\na [msg 3, 7] **b** [c](https://ok.invalid) <x>\n\n| a |\n|:-:|\n| 1 |\n", NAMES).body
    classes = {
        "a": {"cite"},
        "span": {"cites", "cite", "missing"},
        "div": {"table"},
        "td": {"center"},
        "th": {"center"},
    }
    attributes = {"a": {"href", "rel"}, "span": {"id", "title"}}
    body = body.replace("&quot;", '"')
    assert nh3.clean(body, attributes=attributes, allowed_classes=classes, link_rel=None) == body


@pytest.mark.parametrize("piece", ["[", "> ", "*a ", "[a](", "[msg ", "<a ", "![", "\\`", "- "])
def test_hostile_repetition_is_typeset(piece: str) -> None:
    assert typeset(piece * 5000, NAMES).body
