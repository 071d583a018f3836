import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from narrator.context import SessionRef, TargetRef
from narrator.draft import (
    Draft,
    Essay,
    EvidenceMessage,
    ModelRef,
    StyleRef,
    Times,
    dump_draft,
)
from narrator.errors import StyleError
from narrator.findings import Evidence, Finding
from narrator.markdown import make_parser, without_footer
from narrator.render import render_html, render_markdown, theme_folder

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
ARTICLE = theme_folder("article")
ESSAY = "# The Empty Answer: A Stop\n\nIt was stopped [msg 3] after `dose` [msg 2].\n\n## Why\n\nSee [msg 2–3].\n"
EVIDENCE = (
    EvidenceMessage(index=3, role="assistant", time="2026-02-16T14:48:25Z", text=""),
    EvidenceMessage(index=2, role="user", time="2026-02-16T15:46:57.066+01:00", text="dose"),
)
ABORTED = Finding(
    index=3,
    kind="aborted",
    says="The turn was aborted.",
    evidence=(
        Evidence(index=3, field="error.name", value="MessageAbortedError"),
        Evidence(index=2, field="time.created", value=1771253217066),
        Evidence(index=7, field="finish", value=None),
    ),
)
NUDGE = Finding(index=2, kind="user-nudge", says="A nudge.", evidence=())


def make_draft(essay: str = ESSAY, **fields: Any) -> Draft:
    values: dict[str, Any] = {
        "schema": 2,
        "session": SessionRef(format="opencode", id="ses_1", title="Deploy it", file="s.json", sha256="0"),
        "target": TargetRef(index=3, id="msg_3", role="assistant"),
        "style": StyleRef(name="essay", version="1"),
        "model": ModelRef(name="acme-large"),
        "findings": (NUDGE, ABORTED),
        "evidence": EVIDENCE,
        "essay": Essay(written="", final=essay),
        "times": Times(started="2026-02-17T09:00:00Z", finished="2026-02-17T09:01:00Z"),
    }
    return Draft(**{**values, **fields})


class Page(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), "an attribute twice"
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag in {*self.open}:
            self.text[tag] = self.text.get(tag, "") + data

    def seen(self, tag: str) -> str:
        return " ".join(self.text.get(tag, "").split())

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.found if (value := attributes.get(name)) is not None]


ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "article", "header", "footer", "aside", "section"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ol", "ul", "li", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span", "time", "code", "em", "strong", "br", "sup", "mark"),
}
ATTRIBUTES = {
    *("lang", "charset", "name", "content", "http-equiv", "class", "href", "rel", "id", "title", "dir", "datetime"),
    *("aria-label", "aria-labelledby", "start", "tabindex", "role"),
}


def check_page(html: str) -> Page:
    """Assert what holds for every page, whatever is in the draft."""
    page = Page(html)
    assert {tag for tag, _ in page.found} <= ELEMENTS
    assert {name for _, attributes in page.found for name in attributes} <= ATTRIBUTES
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert [tag for tag, _ in page.found].count("h1") == 1
    for href in page.values("href"):
        assert re.match(r"#|https?://[^/]|mailto:", href)
    assert {name for name in page.values("aria-labelledby") if name not in ids} == set()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert html.rstrip().endswith("</html>")
    assert page.open == []
    return page


# The page


def test_the_parts_of_a_page() -> None:
    page = check_page(render_html(make_draft(), ARTICLE))
    assert page.seen("title") == page.seen("h1") == "The Empty Answer: A Stop"
    assert ("meta", {"name": "description", "content": "It was stopped after dose."}) in page.found
    assert ("html", {"lang": "en"}) in page.found
    head = page.seen("article")
    assert "Deploy it message 3 of the session" in head
    assert "Written by acme-large style essay 1 message of 16 February 2026, 14:48:25 UTC" in head
    assert head.count("The Empty Answer") == 1
    assert "3 citations of 2 messages." in page.seen("section")
    assert page.seen("pre") == "dose"
    assert "No text." in page.seen("section")
    assert page.seen("footer") == "About message 3 (msg_3) of the opencode session ses_1, read from s.json."


def test_every_link_inside_a_page_leads_somewhere() -> None:
    page = check_page(render_html(make_draft(), ARTICLE))
    fragments = [href[1:] for href in page.values("href") if href.startswith("#")]
    assert set(fragments) <= set(page.values("id"))
    assert {"msg-2", "msg-3", "cite-1", "cite-2", "essay", "evidence"} <= set(fragments)


def test_evidence_stands_in_the_order_of_the_session() -> None:
    page = Page(render_html(make_draft(), ARTICLE))
    assert [id_ for id_ in page.values("id") if re.fullmatch(r"msg-\d+", id_)] == ["msg-2", "msg-3"]
    assert "msg 2 user 16 February 2026, 14:46:57 UTC" in page.seen("h3")


def test_the_record_box_has_the_findings_of_the_target_alone() -> None:
    box = Page(render_html(make_draft(), ARTICLE)).seen("aside")
    assert box == (
        "What the record states The turn was aborted. error.name = MessageAbortedError"
        " msg 2 time.created = 1771253217066 (2026-02-16 14:46:57 UTC) msg 7 finish = null"
    )


@pytest.mark.parametrize(
    ("fields", "present", "absent"),
    [
        pytest.param({"model": None}, "Written offline by narrate, without a model", "Written by", id="no model"),
        pytest.param({"findings": ()}, "Deploy it", "What the record states", id="no findings"),
        pytest.param({"findings": (NUDGE,)}, "Deploy it", "What the record states", id="findings of another message"),
        pytest.param({"evidence": ()}, "no such message in the evidence", 'class="evidence"', id="no evidence"),
        pytest.param(
            {"evidence": EVIDENCE[1:]}, "message 3 of the session", "message of <time", id="no evidence of the target"
        ),
        pytest.param({"essay": "Words."}, "<title>Message 3</title>", "cite-1", id="no title"),
        pytest.param({"essay": ""}, "0 citations of 0 messages", "<p></p>", id="an empty essay"),
    ],
)
def test_a_page_of_a_draft_that_lacks_something(fields: dict[str, Any], present: str, absent: str) -> None:
    html = render_html(make_draft(**fields), ARTICLE)
    check_page(html)
    body = html.partition("</style>")[2]
    assert present in html
    assert absent not in body


def test_one_citation_is_counted_in_the_singular() -> None:
    assert "1 citation of 1 message; 1 more name in them" in render_html(make_draft("A [msg 2, 9]."), ARTICLE)


def test_two_messages_with_one_index_are_both_shown() -> None:
    twice = (*EVIDENCE, EvidenceMessage(index=3, role="tool", text="again"))
    page = check_page(render_html(make_draft(evidence=twice), ARTICLE))
    assert page.seen("pre") == "dose again" or page.seen("pre") == "doseagain"
    assert page.values("id").count("msg-3") == 1


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        pytest.param("2026-02-16T14:48:25Z", "16 February 2026, 14:48:25 UTC", id="UTC"),
        pytest.param("2026-02-16T14:48:25.123", "16 February 2026, 14:48:25 UTC", id="no zone is UTC"),
        pytest.param("2026-03-01T01:00:00+02:00", "28 February 2026, 23:00:00 UTC", id="another zone"),
        pytest.param("yesterday\nat <noon>", "yesterday at <noon>", id="no time"),
        pytest.param("0001-01-01T00:00:00+10:00", "0001-01-01T00:00:00+10:00", id="before the first year"),
        pytest.param(None, "", id="none"),
    ],
)
def test_a_recorded_time_is_shown_for_people(time: str | None, expected: str) -> None:
    shown = (EvidenceMessage(index=3, role="assistant", time=time, text="x"),)
    assert Page(render_html(make_draft(evidence=shown), ARTICLE)).seen("h3") == f"msg 3 assistant {expected}".strip()


@pytest.mark.parametrize(
    ("settings", "language"),
    [
        ({}, "en"),
        ({"language": "de"}, "de"),
        ({"language": "pt-BR"}, "pt-BR"),
        ({"language": "German"}, "de"),
        ({"language": "German (de-AT)"}, "de-AT"),
        ({"language": "Low German"}, ""),
        ({"language": 3}, "en"),
    ],
)
def test_the_language_of_the_page(settings: dict[str, Any], language: str) -> None:
    page = Page(render_html(make_draft(settings=settings), ARTICLE))
    assert page.values("lang") == [language]


def test_the_policy_allows_the_page_its_own_style_and_nothing_else() -> None:
    html = render_html(make_draft(), ARTICLE)
    style = html.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": policy}) in Page(html).found
    assert "url(" not in style
    assert "@import" not in style


def test_a_long_message_can_be_scrolled_with_the_keyboard() -> None:
    long = (
        EvidenceMessage(index=3, role="tool", text="line\n" * 30),
        EvidenceMessage(index=2, role="user", text="dose"),
    )
    page = check_page(render_html(make_draft(evidence=long), ARTICLE))
    assert [attributes.get("tabindex") for tag, attributes in page.found if tag == "pre"] == [None, "0"]


def test_a_line_feed_at_the_start_of_a_message_is_kept() -> None:
    html = render_html(make_draft(evidence=(EvidenceMessage(index=3, role="tool", text="\n\nx"),)), ARTICLE)
    assert '<pre dir="auto">\n\n\nx</pre>' in html  # a parser drops the first line feed of a `pre`


HOSTILE = [
    "</title></style></textarea><script>window.__pwned=1</script>",
    '"><img src=x onerror=alert(1)> \' onload=alert(1) x="',
    "</pre></section></main></body></html><!--",
    "{{ 1337*1337 }} {% include '/etc/passwd' %} {# x #}",
    "a\x00b\x1b[31m\x07 \u202ec \u2066d \r\n---\nfront: matter | `tick` #",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_field_of_a_draft_becomes_part_of_the_page(text: str) -> None:
    finding = Finding(index=3, kind="aborted", says=text, evidence=(Evidence(index=3, field=text, value=text),))
    draft = make_draft(
        f"# {text}\n\n{text} [msg 3]\n\n```{text}\n{text}\n```\n\n[{text}]({text})",
        session=SessionRef(format=text, id=text, title=text, file=text, sha256="0"),
        target=TargetRef(index=3, id=text, role="assistant"),
        style=StyleRef(name=text, version=text),
        model=ModelRef(name=text, settings={"tools": [text]}),
        settings={"language": text},
        findings=(finding,),
        evidence=(EvidenceMessage(index=3, role="tool", time=text, text=text),),
    )
    page = check_page(render_html(draft, ARTICLE))
    assert "1787569" not in str(page.text)
    markdown = render_markdown(draft, evidence=True)
    blocks = ["hr", *("paragraph_open", "paragraph_close"), *("heading_open", "heading_close") * 2, "fence"]
    assert [token.type for token in make_parser().parse(markdown) if token.level == 0][-8:] == blocks


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout")
@pytest.mark.parametrize(
    "case",
    [
        "35-escaped-nul.json",
        "38-emoji-cjk-combining.json",
        "39-bidi-overrides.json",
        "40-unicode-line-separators.json",
        "45-html-in-content.json",
        "46-dangerous-links.json",
        "48-template-syntax.json",
        "51-path-traversal-ids.json",
        "52-terminal-escapes.json",
        "55-csv-like-title.json",
        "116-api-hostile-essay.json",
    ],
)
def test_a_hostile_recording_stays_text(case: str) -> None:
    texts = list(strings(json.loads((CASES / case).read_bytes())))
    draft = make_draft(
        "\n\n".join([*texts, "The last words [msg 0]."]),
        session=SessionRef(format="opencode", id=texts[0], title=" ".join(texts), file="s.json", sha256="0"),
        evidence=tuple(EvidenceMessage(index=at, role="tool", text=text) for at, text in enumerate(texts)),
    )
    html = render_html(draft, ARTICLE)
    check_page(html)
    assert not re.search(r'<script|onerror="window|href="(?:javascript|data:|file:)|src="|1787569', html)
    if case != "116-api-hostile-essay.json":  # its last words stand in the fence it leaves open
        assert 'The last words <span class="cites"' in html
    markdown = render_markdown(draft, evidence=False)
    assert "<script>window" not in re.sub("`.*?`", "", markdown.partition("```")[0])
    assert "\n---\n\n*Essay on message 3 of " in markdown


def test_the_same_draft_gives_the_same_bytes() -> None:
    first, second = make_draft(), Draft.model_validate(json.loads(dump_draft(make_draft())))
    assert render_html(first, ARTICLE) == render_html(second, ARTICLE)
    assert render_markdown(first, evidence=True) == render_markdown(second, evidence=True)


# Markdown

FOOT = "*Essay on message 3 of “Deploy it” (session `ses_1`) · written by `acme-large` · style essay 1*\n"


def test_markdown_for_standard_output_is_the_essay_and_one_line() -> None:
    assert render_markdown(make_draft(), evidence=False) == f"{ESSAY}\n---\n\n{FOOT}"


def test_markdown_for_a_file_has_the_evidence() -> None:
    assert render_markdown(make_draft(), evidence=True) == (
        f"{ESSAY}\n---\n\n{FOOT}\n## Evidence\n\n"
        "### [msg 2] · user · 2026-02-16T15:46:57.066+01:00\n\n```\ndose\n```\n\n"
        "### [msg 3] · assistant · 2026-02-16T14:48:25Z\n\nNo text.\n"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"model": None}, "written offline by narrate, without a model · style essay 1*\n", id="offline"),
        pytest.param({}, FOOT, id="no evidence"),
        pytest.param(
            {"evidence": (EvidenceMessage(index=2, role="user", text="x"),)},
            "### [msg 2] · user\n\n```\nx\n```\n",
            id="no time",
        ),
        pytest.param({"style": StyleRef(name="a*b", version="1|2")}, "style a\\*b 1\\|2*\n", id="a style's name"),
    ],
)
def test_the_end_of_the_markdown(fields: dict[str, Any], expected: str) -> None:
    assert render_markdown(make_draft(**{"evidence": (), **fields}), evidence=True).endswith(expected)


@pytest.mark.parametrize("essay", [ESSAY, "x\n```\nopen", "- a\n\n---\n\nb"])
def test_an_essay_comes_back_from_its_file(essay: str) -> None:
    draft = make_draft(essay)
    closed = without_footer(render_markdown(draft, evidence=True))
    assert closed.startswith(essay)
    assert closed.removeprefix(essay) in {"", "\n", "\n```\n"}


# Themes


def test_a_shipped_theme_is_found_by_name() -> None:
    assert theme_folder("article").name == "article"


def test_any_folder_with_a_page_and_a_style_is_a_theme(tmp_path: Path) -> None:
    (tmp_path / "page.html.j2").write_text("<p>{{ essay.heading }} {{ draft.session.title }} {{ essay.title }}</p>\n")
    (tmp_path / "style.css").write_text("")
    draft = make_draft("# A & `b`", session=SessionRef(format="f", id="i", title="<i>\u202e", file="", sha256=""))
    assert (
        render_html(draft, theme_folder(str(tmp_path)))
        == "<p>A &amp; b &lt;i&gt;&lt;U+202E&gt; A &amp; <code>b</code></p>\n"
    )


def test_an_unknown_theme_names_those_that_exist() -> None:
    with pytest.raises(StyleError, match=r"^no theme 'nowhere': give a folder, or one of: .*\barticle\b"):
        theme_folder("nowhere")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ((), "no page.html.j2 and no style.css; themes that ship: "),
        (("page.html.j2",), "no style.css; themes that ship: "),
    ],
)
def test_a_folder_that_is_no_theme_says_what_it_lacks(tmp_path: Path, files: tuple[str, ...], says: str) -> None:
    for name in files:
        (tmp_path / name).write_text("x")
    with pytest.raises(StyleError, match=re.escape(f"theme {tmp_path}: {says}")):
        theme_folder(str(tmp_path))


@pytest.mark.parametrize(
    ("page", "style", "says"),
    [
        pytest.param("{{ nonsense }}", b"", "page.html.j2: 'nonsense' is undefined", id="an unknown name"),
        pytest.param("{% if %}", b"", "page.html.j2: Expected an expression", id="a syntax error"),
        pytest.param("{% include 'other.j2' %}", b"", "page.html.j2: .*other.j2", id="a missing include"),
        pytest.param("x", b"\xff", "style.css is not UTF-8", id="a style in another encoding"),
        pytest.param("\udcff", b"", "page.html.j2 is not UTF-8", id="a page in another encoding"),
        pytest.param("x", None, "cannot read style.css: No such file", id="a style that went away"),
    ],
)
def test_a_broken_theme_is_an_expected_error(tmp_path: Path, page: str, style: bytes | None, says: str) -> None:
    (tmp_path / "page.html.j2").write_bytes(page.encode("utf-8", "surrogateescape"))
    if style is not None:
        (tmp_path / "style.css").write_bytes(style)
    with pytest.raises(StyleError, match=f"^theme {re.escape(str(tmp_path))}: {says}"):
        render_html(make_draft(), tmp_path)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        '{% include "page.html.j2" %}',
        "{{ nothing }}",
        "{{ draft.nothing }}",
        "{% if %}",
    ],
)
def test_a_theme_that_fails_is_said_to_in_one_line(template: str, tmp_path: Path) -> None:
    (tmp_path / "page.html.j2").write_text(template, "utf-8")
    (tmp_path / "style.css").write_text("", "utf-8")
    with pytest.raises(StyleError) as caught:
        render_html(make_draft(), tmp_path)
    assert str(caught.value).startswith(f"theme {tmp_path}: page.html.j2: ")
    assert "\n" not in str(caught.value)


def test_a_title_of_a_page_and_an_id_that_is_none_are_not_printed_beside_the_essay() -> None:
    session = SessionRef(format="opencode", id="../../tmp/x", title="very " * 1000, file="s.json", sha256="0")
    draft = make_draft(session=session)
    markdown, page = render_markdown(draft, evidence=True), render_html(draft, ARTICLE)
    for shown in (markdown, page):
        assert "../../tmp/x" not in shown
        assert "very very" in shown
        assert "very " * 30 not in shown
