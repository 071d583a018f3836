"""What a check found, on the page and in the Markdown: marked where it stands, whatever stands round it."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from test_markdown import PIECES, VIEWER
from test_render import ARTICLE, check_page, make_draft
from test_typeset import Elements

from narrator.doubts import Doubt, Quoted
from narrator.draft import Draft, EvidenceMessage
from narrator.markdown import make_parser, without_footer
from narrator.notes import MOST_NOTES, counts_line, find_notes, quote
from narrator.places import Lines, find_spots
from narrator.render import render_html, render_markdown
from narrator.report import Check, Counts, Match, Repair, Statement, make_report
from narrator.sanitize import one_line
from narrator.typeset import typeset

NAMES = {"3": 3, "4": 4}


def failed(essay: str, words: str, *, kind: str = "figure-not-found", **more: Any) -> Statement:
    """A failure on `words`, where they first stand."""
    start = essay.index(words)
    facts = {"span": (start, start + len(words)), "sort": "figure", "verdict": "failed", "text": one_line(words, 200)}
    return Statement.model_validate({**facts, "cites": (3,), "kind": kind, "says": "it stands nowhere", **more})


def quoted(essay: str, words: str, index: int, recorded: str) -> Statement:
    start = essay.index(words)
    return Statement(
        span=(start, start + len(words)),
        sort="quotation",
        verdict="passed",
        text=words,
        cites=(index,),
        found=Match(index=index, text=recorded),
    )


def checked(essay: str, *statements: Statement, **fields: Any) -> Draft:
    return make_draft(essay, check=Check(**dict(make_report(statements))), **fields)


def doubted(markdown: str, *words: str) -> str:
    """The body with doubts on these words, its own markup shortened: `{…}` what is doubted, `†1` a sign."""
    doubts = [Doubt(markdown.index(one), markdown.index(one) + len(one), n) for n, one in enumerate(words, 1)]
    article = typeset(markdown, NAMES, doubts)
    assert article.doubted == set(range(1, len(words) + 1))
    html = re.sub(r'<sup class="sign" id="doubt-(\d+)"><a href="#note-\1">†\1</a></sup>', r"†\1", article.body)
    html = re.sub(r'<span class="cites"[^>]*>(.*?\])</span>', r"\1", html)
    html = re.sub(r'<(?:a|span) class="cite[^>]*>([^<]*)</(?:a|span)>', r"\1", html)
    return re.sub(r'<span class="doubt">(.*?)</span>', r"{\1}", html).rstrip("\n")


@pytest.mark.parametrize(
    ("markdown", "words", "expected"),
    [
        pytest.param("It had 43 GB left.", ["43 GB"], "<p>It had {43 GB}†1 left.</p>", id="in running text"),
        pytest.param("43 GB", ["43 GB"], "<p>{43 GB}†1</p>", id="all there is"),
        pytest.param("A 1 and 22.", ["1", "22"], "<p>A {1}†1 and {22}†2.</p>", id="two"),
        pytest.param("*It had 43 GB*.", ["43 GB"], "<p><em>It had {43 GB}†1</em>.</p>", id="in emphasis"),
        pytest.param("It **had 43** GB.", ["43** GB"], "<p>It <strong>had {43}</strong>{ GB}†1.</p>", id="out of emphasis"),
        pytest.param("It ***had* 43** GB.", ["43"], "<p>It <strong><em>had</em> {43}†1</strong> GB.</p>", id="in nested emphasis"),
        pytest.param("a `b 43 c` d", ["43"], "<p>a <code>b {43} c</code>†1 d</p>", id="in code"),
        pytest.param("a `b` d", ["`b`"], "<p>a <code>{b}</code>†1 d</p>", id="code with its ticks"),
        pytest.param("a `` `b` 43 `` d", ["43"], "<p>a <code>`b` {43}</code>†1 d</p>", id="in code with double ticks"),
        pytest.param("a [b 43](https://x.y/z) c", ["43"], '<p>a <a href="https://x.y/z" rel="noopener nofollow ugc">b {43}</a>†1 c</p>', id="in a link"),
        pytest.param('a [b](https://x.y/43 "t") 43 c', ["43 c"], '<p>a <a href="https://x.y/43" rel="noopener nofollow ugc">b</a> {43 c}†1</p>', id="behind a link that has the same words"),
        pytest.param("a <https://x.y> 43", ["43"], '<p>a <a href="https://x.y" rel="noopener nofollow ugc">https://x.y</a> {43}†1</p>', id="behind an autolink"),
        pytest.param("- a\n- b 43\n\n  c", ["43"], "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b {43}†1</p>\n<p>c</p>\n</li>\n</ul>", id="in a list"),
        pytest.param("> a\n> b 43", ["43"], "<blockquote>\n<p>a\nb {43}†1</p>\n</blockquote>", id="in a quoted paragraph"),
        pytest.param("> a 7\n> b 43", ["7\n> b 43"], "<blockquote>\n<p>a {7}\n{b 43}†1</p>\n</blockquote>", id="over two quoted lines"),
        pytest.param("## a 43", ["43"], "<h2>a {43}†1</h2>", id="in a heading"),
        pytest.param("Said [msg 3] so.", ["[msg 3]"], "<p>Said {[msg 3]}†1 so.</p>", id="a citation"),
        pytest.param("A b [msg 3]. C.", ["A b [msg 3]."], "<p>{A b }{[msg 3]}{.}†1 C.</p>", id="a sentence with its citation"),
        pytest.param("a\\*b 43 \\[msg 3]", ["43"], "<p>a*b {43}†1 [msg 3]</p>", id="behind escapes"),
        pytest.param("a &amp; 43 &lt; b", ["43"], "<p>a &amp; {43}†1 &lt; b</p>", id="behind an entity"),
        pytest.param("a ![b](https://x.y) 43", ["43"], "<p>a [image: b] {43}†1</p>", id="behind an image"),
        pytest.param("a  \nb 43", ["43"], "<p>a<br>\nb {43}†1</p>", id="behind a hard break"),
        pytest.param("a 12 b 12", ["b 12"], "<p>a 12 {b 12}†1</p>", id="the second of two alike"),
        pytest.param("```\na\nb 43\n```", ["43"], "<pre><code>a\nb {43}†1\n</code></pre>", id="in a block of code"),
        pytest.param("```\na\nb\n```", ["a\nb"], "<pre><code>{a}\n{b}†1\n</code></pre>", id="a block of code"),
        pytest.param("    a <43>", ["<43>"], "<pre><code>a {&lt;43&gt;}†1\n</code></pre>", id="in indented code"),
        pytest.param("She said 43 [msg 3] of 50.", ["43 [msg 3] of 50", "50"], "<p>She said {43 }{[msg 3]}{ of }{50}†1†2.</p>", id="one inside another"),
    ],
)  # fmt: skip
def test_a_doubt_is_marked_where_it_stands(markdown: str, words: list[str], expected: str) -> None:
    assert doubted(markdown, *words) == expected


def test_a_doubt_in_a_table_is_marked_in_its_cell() -> None:
    table = "| a | b |\n|---|---|\n| 43 | x 43 |\n| `c \\| 43` | 44 |"
    cells = re.findall(r"<td>(.*?)</td>", doubted(table, "x 43", "c \\| 43", "44"))
    assert cells == ["43", "{x 43}†1", "<code>{c | 43}</code>†2", "{44}†3"]


def test_a_title_with_a_doubt_is_plain_text_in_the_page_s_head() -> None:
    article = typeset("# The 43 GB\n\nA.", NAMES, [Doubt(6, 11, 1)])
    assert article.heading == "The 43 GB"
    assert "†1" in article.title


def test_doubts_beyond_the_text_are_nowhere() -> None:
    assert typeset("A b.", NAMES, [Doubt(90, 95, 1)]).doubted == frozenset()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_essay_and_its_doubts_the_page_holds_nothing_else(seed: int) -> None:
    """Without what was added for them the body is the one without doubts."""
    chance = random.Random(seed)
    for _ in range(150):
        markdown = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14)))
        spans = sorted(chance.randrange(len(markdown) + 1) for _ in range(8))
        doubts = [Doubt(start, end, n) for n, (start, end) in enumerate(zip(spans[::2], spans[1::2], strict=True), 1)]
        signs = re.compile(r'<sup class="sign" id="doubt-\d+"><a href="#note-\d+">†\d+</a></sup>')
        marked = Elements(signs.sub("", typeset(markdown, NAMES, doubts).body))
        plain = Elements(typeset(markdown, NAMES).body)
        assert marked.text == plain.text, markdown
        assert [one for one in marked.found if one != ("span", {"class": "doubt"})] == plain.found, markdown


# ---- places


@pytest.mark.parametrize("seed", range(4))
def test_a_piece_of_text_stands_where_it_is_said_to(seed: int) -> None:
    chance = random.Random(seed)
    parser = make_parser().disable("text_join")
    for _ in range(200):
        markdown = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14))).replace("\x00", "")
        lines = Lines(markdown)
        for token in parser.parse(markdown):
            pieces = lines.pieces(token)
            for child, spot in zip(token.children or (), find_spots(token.children or (), token.content), strict=True):
                span = pieces.span(spot.start, spot.end)
                if child.type == "text" and child.content and span is not None:
                    assert markdown[span.start : span.end].replace("\\|", "|") == child.content, markdown


def test_a_text_that_is_not_in_its_line_has_no_place() -> None:
    (token,) = [token for token in MarkdownIt().parse("abc") if token.type == "inline"]
    token.content = "x | y"
    assert Lines("abc").pieces(token).span(0, 3) is None
    token.content = "abc\ndef"
    assert Lines("abc").pieces(token).span(0, 3) == (0, 3)
    token.map = None
    assert Lines("abc").pieces(token).place(0) is None


@pytest.mark.parametrize("piece", ["`a ", "*a ", "[a](b) ", "![a](b) ", "a\n", "\\* ", "[msg 3] ", "| "])
def test_hostile_repetition_is_marked_in_reasonable_time(piece: str) -> None:
    markdown = piece * 3000
    typeset(markdown, NAMES, [Doubt(at, at + 3, at) for at in range(0, 900, 3)])
    render_markdown(
        checked(markdown, *(failed(markdown, markdown[at : at + 9]) for at in range(0, 400, 4))), evidence=True
    )


# ---- citations that lead to the words


@pytest.mark.parametrize(
    ("markdown", "words", "expected"),
    [
        pytest.param('He said "ab" [msg 3].', ["ab"], ["#q0"], id="the words before it"),
        pytest.param('In [msg 3] he said "ab".', ["ab"], ["#q0"], id="the words behind it"),
        pytest.param('"ab" [msg 3] and "cd" [msg 3].', ["ab", "cd"], ["#q0", "#q1"], id="each its own"),
        pytest.param('"ab" and "cd" [msg 3].', ["ab", "cd"], ["#q0"], id="the first of two"),
        pytest.param('"ab" [msg 3]. More [msg 3].', ["ab"], ["#q0", "#msg-3"], id="a claim without a quotation"),
        pytest.param('"ab".\n\nMore [msg 3].', ["ab"], ["#msg-3"], id="words of another paragraph"),
        pytest.param('"ab" [msg 4].', ["ab"], ["#msg-4"], id="words of another message"),
        pytest.param('"ab" [msg 3, 4].', ["ab"], ["#q0", "#msg-4"], id="one of two messages"),
        pytest.param('**"ab"** [msg 3].', ["ab"], ["#q0"], id="words in emphasis"),
    ],
)  # fmt: skip
def test_a_citation_leads_to_the_words_it_stands_for(markdown: str, words: list[str], expected: list[str]) -> None:
    marks = [Quoted(markdown.index(one), markdown.index(one) + 2, 3, f"q{n}") for n, one in enumerate(words)]
    assert re.findall(r'<a class="cite" href="([^"]*)">', typeset(markdown, NAMES, (), marks).body) == expected


EVIDENCE = (
    EvidenceMessage(index=3, role="assistant", text="‹text›\nThe disk is full, the disk is slow.\nrm -rf /tmp/x"),
    EvidenceMessage(index=2, role="user", text="stop <b>now</b>"),
)
QUOTING = (
    '# T\n\nIt wrote "The disk is full" [msg 3] and "disk is full, the disk" [msg 3], ran `rm -rf /tmp/x` [msg 3], '
    'after "stop <b>now</b>" [msg 2]. It had 43 GB [msg 3].'
)


def quoting(*more: Statement) -> Draft:
    return checked(
        QUOTING,
        quoted(QUOTING, '"The disk is full"', 3, "The disk is full"),
        quoted(QUOTING, '"disk is full, the disk"', 3, "disk is full, the disk"),
        quoted(QUOTING, "rm -rf /tmp/x", 3, "rm -rf /tmp/x"),
        quoted(QUOTING, '"stop <b>now</b>"', 2, "stop <b>now</b>"),
        *more,
        evidence=EVIDENCE,
    )


def test_the_quoted_words_are_marked_in_the_evidence_and_the_citations_lead_there() -> None:
    html = render_html(quoting(), ARTICLE)
    check_page(html)
    marks = re.findall(r'<mark id="([^"]+)">([^<]*)</mark>', html)
    assert marks == [
        ("msg-2-q1", "stop &lt;b&gt;now&lt;/b&gt;"),
        ("msg-3-q1", "The disk is full, the disk"),
        ("msg-3-q2", "rm -rf /tmp/x"),
    ]
    cited = re.findall(r'<a class="cite" href="#(msg-\d[^"]*)">', html.partition('id="essay"')[2])
    assert cited == ["msg-3-q1", "msg-3-q1", "msg-3-q2", "msg-2-q1", "msg-3"]
    assert 'id="msg-3" aria' in html


def test_the_nearest_true_text_is_marked_too_and_its_note_leads_there() -> None:
    near = failed(QUOTING, "43 GB", nearest=Match(index=3, text="the disk is slow"))
    html = render_html(quoting(near), ARTICLE)
    check_page(html)
    assert '<mark id="msg-3-q2">' not in html or "the disk is slow" in html
    note = re.search(r'<li id="note-1">.*?</li>', html, re.DOTALL)
    assert note is not None
    assert 'href="#msg-3-q1"' in note[0]
    assert "“the disk is slow”" in note[0]


@pytest.mark.parametrize(
    ("found", "marked"),
    [
        pytest.param(Match(index=3, text="The disk is full"), True, id="there"),
        pytest.param(Match(index=3, text=" The disk is full\n"), True, id="with space round it"),
        pytest.param(Match(index=3, text="cut out of the evidence"), False, id="not in what is shown"),
        pytest.param(Match(index=7, text="The disk is full"), False, id="in a message that is not shown"),
        pytest.param(Match(index=3, text="T"), False, id="one letter"),
    ],
)
def test_words_that_the_evidence_does_not_hold_are_not_marked(found: Match, marked: bool) -> None:
    statement = quoted(QUOTING, '"The disk is full"', 3, "x").model_copy(update={"found": found})
    html = render_html(checked(QUOTING, statement, evidence=EVIDENCE), ARTICLE)
    check_page(html)
    assert ("<mark" in html) is marked


def test_a_name_is_marked_where_it_stands_alone() -> None:
    evidence = (EvidenceMessage(index=3, role="tool", text="retailer tail -5"),)
    essay = "It ran `tail` [msg 3]."
    html = render_html(checked(essay, quoted(essay, "tail", 3, "tail"), evidence=evidence), ARTICLE)
    assert 'retailer <mark id="msg-3-q1">tail</mark> -5' in html


def test_the_second_message_of_an_index_has_no_marks() -> None:
    twice = (*EVIDENCE, EVIDENCE[0])
    html = render_html(quoting().model_copy(update={"evidence": twice}), ARTICLE)
    check_page(html)
    assert html.count('<mark id="msg-3-q1">') == 1


# ---- notes

ESSAY = (
    "# The Empty Answer\n\nIt had 43 GB [msg 3], ran `foo --bar` and *read 7 files* [see 9](https://a.b/c) [msg 999].\n\n"
    "| a |\n|---|\n| 55 |\n\n```\nsleep 66\n```\n\nThe end."
)


def with_failures() -> Draft:
    return checked(
        ESSAY,
        *(
            failed(ESSAY, words)
            for words in ("43 GB", "foo --bar", "7 files", "see 9", "[msg 999]", "55", "sleep 66", "The end.")
        ),
    )


def test_every_failure_is_marked_and_has_its_note() -> None:
    html = render_html(with_failures(), ARTICLE)
    page = check_page(html)
    assert [id_ for id_ in page.values("id") if id_.startswith("note-")] == [f"note-{n}" for n in range(1, 9)]
    assert [id_ for id_ in page.values("id") if id_.startswith("doubt-")] == [f"doubt-{n}" for n in range(1, 9)]
    fragments = [href[1:] for href in page.values("href") if href.startswith("#")]
    assert set(fragments) <= set(page.values("id"))
    assert '<a href="#check">0 citations, 0 quotations, 8 figures checked; 8 failed</a>' in html
    assert '<span class="kind">figure-not-found</span> “43 GB”: it stands nowhere.' in html
    assert "title=" not in re.sub(r'title="no such message in the evidence"', "", html)


def test_the_markdown_has_a_footnote_for_each() -> None:
    text = render_markdown(with_failures(), evidence=True)
    assert "It had 43 GB[^check-1] [msg 3], ran `foo --bar`[^check-2] and *read 7 files*[^check-3] " in text
    assert "[see 9](https://a.b/c)[^check-4] [msg 999][^check-5]." in text
    assert "| 55[^check-6] |" in text
    assert "```\nsleep 66\n```\n\n[^check-7]\n\nThe end.[^check-8]\n" in text
    assert "\n*0 citations, 0 quotations, 8 figures checked; 8 failed*\n" in text
    assert "\n[^check-1]: **figure-not-found** “43 GB”: it stands nowhere.\n" in text
    assert without_footer(text) == f"{ESSAY}\n"


def test_the_same_draft_gives_the_same_bytes() -> None:
    for make in (quoting, with_failures):
        assert render_html(make(), ARTICLE) == render_html(make(), ARTICLE)
        assert render_markdown(make(), evidence=True) == render_markdown(make(), evidence=True)


@pytest.mark.parametrize(
    ("essay", "words", "expected"),
    [
        pytest.param("It ran foo(43) then.", "foo", "It ran foo(43)[^check-1] then.", id="before a bracket"),
        pytest.param("It ran foo(43)", "foo", "It ran foo(43)[^check-1]", id="before a bracket, at the end"),
        pytest.param("**It had 43**.", "43", "**It had 43**[^check-1].", id="behind the marks of emphasis"),
        pytest.param("***a* 43** b", "43", "***a* 43**[^check-1] b", id="behind nested emphasis"),
        pytest.param("a 43 b **c**", "43", "a 43[^check-1] b **c**", id="in the middle"),
        pytest.param("a [*43*](https://x.y) b", "43", "a [*43*](https://x.y)[^check-1] b", id="in emphasis in a link"),
        pytest.param("a <https://x.y/43> b", "43", "a <https://x.y/43>[^check-1] b", id="in an autolink"),
        pytest.param("a 43 &amp; b", "&amp;", "a 43 &amp;[^check-1] b", id="an entity"),
        pytest.param("> ```\n> 43\n> ```\n\nb", "43", "> ```\n> 43\n> ```\n\nb", id="not in code inside a quotation"),
        pytest.param("```\n43", "43", "```\n43\n```", id="not behind a fence left open"),
        pytest.param("```\n43\n```\nb", "43", "```\n43\n```\n\n[^check-1]\n\nb", id="between code and a paragraph"),
        pytest.param("```\n43\n```", "43", "```\n43\n```\n\n[^check-1]", id="behind code that ends the essay"),
        pytest.param("    43", "43", "    43", id="not in indented code"),
        pytest.param("a `43`(b)", "43", "a `43`(b)", id="not between code and a bracket"),
        pytest.param("a 43\\ b", "43\\", "a 43\\ [^check-1]b", id="behind a backslash and what it stands before"),
        pytest.param("a 43\\", "43\\", "a 43\\", id="not right behind a backslash"),
    ],
)
def test_a_sign_stands_where_markdown_stays_what_it_is(essay: str, words: str, expected: str) -> None:
    text = render_markdown(checked(essay, failed(essay, words)), evidence=False)
    assert text.startswith(f"{expected}\n")
    signed = "[^check-1]" in expected
    assert ("\n[^check-1]: " in text, "\n- **figure-not-found** " in text) == (signed, not signed)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_fails_the_markdown_is_what_it_was_but_for_the_signs(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        essay = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14)))
        spans = sorted(chance.randrange(len(essay) + 1) for _ in range(6))
        statements = [
            Statement(span=(start, end), sort="figure", verdict="failed", text=one_line(essay[start:end], 200), cites=(), kind="uncited", says="x")
            for start, end in zip(spans[::2], spans[1::2], strict=True)
        ]  # fmt: skip
        signed = render_markdown(checked(essay, *statements), evidence=True)
        env: dict[str, Any] = {}
        kinds = {child.type for token in VIEWER.parse(signed, env) for child in (token, *(token.children or ()))}
        assert not kinds & {"html_block", "html_inline", "image"}, essay
        assert not re.search(r"\]\[\^check-\d+\]\(", signed), essay
        html = render_html(checked(essay, *statements), ARTICLE)
        check_page(html)


def test_a_failure_that_stands_there_no_more_is_told_of_and_marked_nowhere() -> None:
    """A draft can be edited by hand."""
    draft = with_failures()
    draft = draft.model_copy(
        update={"essay": draft.essay.model_copy(update={"final": ESSAY.replace("43 GB", "42 GB")})}
    )
    html = render_html(draft, ARTICLE)
    page = check_page(html)
    assert "note-1" in page.values("id")
    assert "doubt-1" not in page.values("id")
    assert "doubt-2" in page.values("id")
    assert "\n- **figure-not-found** “43 GB”: it stands nowhere.\n" in render_markdown(draft, evidence=False)


@pytest.mark.parametrize("span", [(-5, 3), (3, 3), (5, 2), (0, 10**9), (10**9, 10**9 + 1)])
def test_a_span_that_is_none_breaks_nothing(span: tuple[int, int]) -> None:
    statement = failed(ESSAY, "43 GB").model_copy(update={"span": span})
    check_page(render_html(checked(ESSAY, statement), ARTICLE))
    assert "43 GB[^" not in render_markdown(checked(ESSAY, statement), evidence=True)


def test_an_essay_with_invisible_characters_is_marked_at_the_right_place() -> None:
    essay = "A \u202e b \u200b. It had 43 GB."
    draft = checked(essay, failed(essay, "43 GB"))
    assert '<span class="doubt">43 GB</span>' in render_html(draft, ARTICLE)
    assert "It had 43 GB[^check-1]." in render_markdown(draft, evidence=False)


def test_notes_are_bounded_and_what_has_none_is_counted() -> None:
    essay = " ".join(f"a{k}" for k in range(MOST_NOTES + 3))
    statements = [failed(essay, f"a{k}") for k in range(100, MOST_NOTES + 3)]
    statements += [failed(essay, f"a{k} ") for k in range(100)]
    draft = checked(essay, *statements)
    assert len(find_notes(draft)) == MOST_NOTES
    html = render_html(draft, ARTICLE)
    check_page(html)
    assert "<p>3 more failed.</p>" in html
    assert "\n3 more failed.\n" in render_markdown(draft, evidence=False)


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        pytest.param({"citations": 41, "quotations": 12, "figures": 63, "failed": 2}, "41 citations, 12 quotations, 63 figures checked; 2 failed", id="some failed"),
        pytest.param({"citations": 1, "quotations": 1, "figures": 1}, "1 citation, 1 quotation, 1 figure checked; none failed", id="one of each"),
        pytest.param({"unjudged": 5}, "0 citations, 0 quotations, 0 figures checked; none failed; 5 not judged", id="some not judged"),
    ],
)  # fmt: skip
def test_the_line_of_counts(counts: dict[str, int], line: str) -> None:
    check = Check(clean=not counts.get("failed"), counts=Counts(**counts))
    assert counts_line(check) == line
    html = render_html(make_draft(check=check), ARTICLE)
    check_page(html)
    assert f'<p class="checked">{line}</p>' in html
    assert f"\n*{line}*\n" in render_markdown(make_draft(check=check), evidence=False)


def test_a_draft_without_a_check_says_nothing_of_one() -> None:
    html = render_html(make_draft(), ARTICLE).partition("</style>")[2]
    assert not re.search(r'class="(?:checked|check|doubt|sign)"|<mark|<sup', html)
    assert "checked" not in render_markdown(make_draft(), evidence=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("43 GB", "“43 GB”", id="words"),
        pytest.param('"done"', '"done"', id="words in marks"),
        pytest.param("“done”", "“done”", id="words in typographic marks"),
        pytest.param('"done" and more', '“"done" and more”', id="marks at one end"),
    ],
)
def test_words_have_one_pair_of_marks(text: str, expected: str) -> None:
    assert quote(text) == expected


def test_a_note_does_not_say_the_same_words_twice() -> None:
    near = failed(ESSAY, "43 GB", says="the record has “42 GB”", nearest=Match(index=3, text="42 GB"))
    html = render_html(checked(ESSAY, near), ARTICLE)
    assert html.count("42 GB") == 1
    text = render_markdown(checked(ESSAY, near), evidence=False)
    assert "the record has “42 GB”. Nearest true text, in message 3.\n" in text


@pytest.mark.parametrize(
    ("says", "told"),
    [
        pytest.param("it stands nowhere", "it stands nowhere.", id="no stop"),
        pytest.param("it differs: “Stop.”", "it differs: “Stop.”", id="a stop before the marks"),
        pytest.param("", ".", id="nothing said"),
    ],
)
def test_a_note_ends_with_one_full_stop(says: str, told: str) -> None:
    (note,) = find_notes(checked(ESSAY, failed(ESSAY, "43 GB", says=says)))
    assert note.says == told


def test_what_the_writer_took_back_is_told() -> None:
    repair = (
        Repair(
            round=1, before="It cost *12* dollars.", after="", accepted=True, why="0 of 1 findings left", how="dropped"
        ),
        Repair(round=1, before="A 1.", after="A.", accepted=True, why="0 of 1 findings left", how="softened"),
        Repair(round=1, before="B 1.", after="B 2.", accepted=True, why="0 of 1 findings left", how="corrected"),
        Repair(round=2, before="C <b>.", after="", accepted=False, why="no", how="dropped"),
    )
    check = Check(clean=True)
    html = render_html(make_draft(check=check, repair=repair), ARTICLE)
    check_page(html)
    assert re.findall(r'<p class="taken">(.*?)</p>', html) == [
        "Left out after the check: “It cost *12* dollars.”",
        "Softened after the check: “A 1.” became “A.”",
    ]
    assert '<a href="#check">0 citations' in html
    text = render_markdown(make_draft(check=check, repair=repair), evidence=False)
    assert r"- left out after the check: “It cost \*12\* dollars.”" in text
    assert "- softened after the check: “A 1.” became “A.”" in text
    assert "C " not in text.partition("---")[2]
