"""Offline essays as a whole: golden files, what the checker says of them, and how they obey a style."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recordings import EXAMPLE, SHARED, assistant, export, reasoning, step_finish, text, tool, user, write

from narrator.context import take_context
from narrator.formats import open_session
from narrator.offline import OfflineWriter
from narrator.offline.claims import cited
from narrator.prompt import build_prompt
from narrator.reply import Reply
from narrator.report import Report
from narrator.session import Session
from narrator.style import Style, load_style
from narrator.verify import check_essay
from narrator.verify.evidence import evidence_of_context

GOLDEN = Path(__file__).with_name("golden") / "offline"
ESSAY = load_style("essay")
HARD = {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529, "isRetryable": True}}
SUMMARY = "## Goal\nMend the parser.\n\n## Discoveries\n- `parse_date` drops the zone\n\n## Next\nRun the tests."


def write_essay(session: Session, target: int, style: Style = ESSAY, *, length: int | None = None) -> Reply:
    return OfflineWriter().write(build_prompt(take_context(session, target), style, length=length))


def checked(session: Session, target: int, style: Style = ESSAY) -> Report:
    context = take_context(session, target)
    reply = OfflineWriter().write(build_prompt(context, style))
    return check_essay(reply.text, evidence_of_context(context, session))


def _compaction() -> list[dict[str, Any]]:
    return [
        user("mend the parser of dates"),
        assistant(
            "Looking at `parse_date`.", tool("read", input={"filePath": "/w/src/dates.py"}, output="def x(): 1\n2")
        ),
        assistant(
            tool(
                input={"command": "pytest -q && git commit -am wip"},
                output="1 failed, 3 passed\n",
                metadata={"exit": 1},
            ),
            finish="tool-calls",
        ),
        user({"type": "compaction", "auto": True}),
        assistant(SUMMARY, summary=True, mode="compaction"),
        user(text("Continue if you have next steps", synthetic=True)),
        assistant("`parse_date` keeps the zone now.", tool("edit", input={"filePath": "/w/src/dates.py"}, output="ok")),
        assistant(tool(input={"command": "pytest -q && git commit -am wip"}, output="4 passed in 0.2 s\n")),
        assistant("All four tests pass."),
    ]


def _error() -> list[dict[str, Any]]:
    return [
        user("list the open files"),
        assistant(tool(input={"command": "lsof | wc -l", "description": "Count open files"}, output="4211\n")),
        assistant(error=HARD, finish=None),
        user("continue"),
        assistant("There are 4211 open files."),
    ]


def _dropped() -> list[dict[str, Any]]:
    none = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    return [user("start the build"), assistant("I will begin by", finish="unknown", tokens=none), assistant("Built.")]


def _killed() -> list[dict[str, Any]]:
    slow = tool(status="running", input={"command": "sleep 900 && make"})
    return [user("run it"), assistant("Running now.", slow, finish=None, time={"created": 1_760_000_060_000})]


def _healthy() -> list[dict[str, Any]]:
    read = [assistant(tool("read", input={"filePath": f"/w/src/part{n}.py"}, output="a\nb")) for n in range(4)]
    edits = [assistant(tool("edit", input={"filePath": "/w/src/main.py"}, output="ok")) for _ in range(3)]
    waits = [assistant(tool(input={"command": f"sleep {n}0 && tail log"}, output=f"{n}0 %\n")) for n in (1, 2, 3)]
    steps = [
        *read,
        assistant("Now `main_loop` alone is left."),
        *edits,
        *waits,
        assistant(step_finish(), "It is done."),
    ]
    return [user("tidy the main loop"), *steps, user("thanks, and the docs?"), assistant("They are in `docs/loop.md`.")]


BUILT: list[tuple[str, Callable[[], list[dict[str, Any]]], int]] = [
    ("compaction-request", _compaction, 3),
    ("compaction-summary", _compaction, 4),
    ("provider-error", _error, 2),
    ("nudge", _error, 3),
    ("dropped-stream", _dropped, 1),
    ("killed", _killed, 1),
    ("healthy-stretch", _healthy, 5),
]
FROM_EXAMPLE = [(96, "failed"), (101, "step"), (108, "user"), (144, "aborted"), (0, "first-request")]


@pytest.mark.parametrize(("target", "name"), FROM_EXAMPLE, ids=[name for _, name in FROM_EXAMPLE])
def test_an_essay_about_the_example_is_the_one_that_was_read_and_approved(
    request: pytest.FixtureRequest, target: int, name: str
) -> None:
    """`pytest --update-golden` writes it again; read the difference before it is committed."""
    _compare(request, f"example-{name}", write_essay(open_session(str(EXAMPLE)), target))


@pytest.mark.parametrize(("name", "build", "target"), BUILT, ids=[name for name, _, _ in BUILT])
def test_an_essay_about_a_small_session_is_the_one_that_was_read_and_approved(
    tmp_path: Path, request: pytest.FixtureRequest, name: str, build: Callable[[], list[dict[str, Any]]], target: int
) -> None:
    session = open_session(write(tmp_path, export(*build())))
    _compare(request, name, write_essay(session, target))
    report = checked(session, target)
    assert not report.failures
    assert report.counts.citations > 6


@pytest.mark.parametrize("style", ["brief", "postmortem"])
def test_an_essay_in_another_style_is_the_one_that_was_read_and_approved(
    request: pytest.FixtureRequest, style: str
) -> None:
    _compare(request, f"example-{style}", write_essay(open_session(str(EXAMPLE)), 96, load_style(style)))


def _compare(request: pytest.FixtureRequest, name: str, reply: Reply) -> None:
    made, path = "".join([reply.text, *(f"\n<!-- {note} -->\n" for note in reply.notes)]), GOLDEN / f"{name}.md"
    if request.config.getoption("--update-golden"):
        path.write_text(made, "utf-8")
    assert path.read_text("utf-8") == made


# --------------------------------------------------------------------------------------------------------- checker


def test_nothing_fails_in_an_essay_about_any_message_of_the_example_and_none_is_thin() -> None:
    session = open_session(str(EXAMPLE))
    for target in range(0, len(session), 3):
        report = checked(session, target)
        assert not report.failures, target
        counts = report.counts
        assert counts.citations >= 12, target
        assert counts.quotations >= 5, target
        assert counts.figures >= 8, target


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize(
    "path", sorted((SHARED / "sessions" / "opencode").glob("gen_1.18.33_*.json")), ids=lambda path: path.stem
)
def test_nothing_fails_in_an_essay_about_any_message_of_official_builds(path: Path) -> None:
    session = open_session(str(path))
    for style in ("essay", "brief", "postmortem"):
        assert not [target for target in range(len(session)) if checked(session, target, load_style(style)).failures]


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize("name", ["ct200-11162", "eagle3-4347"])
def test_the_essay_sessions_of_others_hold_and_are_rich(name: str) -> None:
    session = open_session(str(SHARED / "sessions" / "essays" / f"{name}.json.gz"))
    target = int(name.rpartition("-")[2])
    for index in (target, *range(700, len(session), len(session) // 6)):
        report = checked(session, index)
        assert not report.failures, index
        assert report.counts.citations >= 12, index
    parts = re.findall(r"^## ", write_essay(session, target).text, re.MULTILINE)
    assert len(parts) in range(7, 12)


def test_no_two_messages_of_a_session_share_a_title() -> None:
    session = open_session(str(EXAMPLE))
    titles = [write_essay(session, index, load_style("brief")).text.split("\n")[0] for index in range(len(session))]
    assert len(set(titles)) == len(titles)


def test_no_sentence_is_said_twice_and_no_form_three_times_in_a_row() -> None:
    session = open_session(str(EXAMPLE))
    for index in range(0, len(session), 11):
        prose = re.sub(r"```.*?```", "", write_essay(session, index).text, flags=re.DOTALL)
        sentences = [one for one in re.split(r"(?<=[.!?])\s+|\n+", prose) if len(one.split()) > 6]
        assert len(set(sentences)) == len(sentences), index
        heads = [" ".join(one.split()[:3]) for one in sentences]
        assert not [head for head, two, three in zip(heads, heads[1:], heads[2:], strict=False) if head == two == three]


# ----------------------------------------------------------------------------------------------------------- styles


def _style(tmp_path: Path, sections: str, **more: Any) -> Style:
    folder = tmp_path / "own"
    folder.mkdir(exist_ok=True)
    head = {
        "version": '"1"',
        "says": '"x"',
        "words": "{ least = 10, most = 900 }",
        "citations": "{ least = 1, most = 40 }",
    }
    lines = [f"{key} = {value}" for key, value in (head | more).items()]
    (folder / "style.toml").write_text("\n".join(lines) + "\n" + sections, "utf-8")
    return load_style(str(folder))


def _section(matter: str | None, *, most: int = 200, **more: str) -> str:
    named = f'matter = "{matter}"\n' if matter else ""
    rest = "".join(f"{key} = {value}\n" for key, value in more.items())
    name = more.pop("name", f'"{matter or "mood"}"')
    rest = "".join(f"{key} = {value}\n" for key, value in more.items())
    return f'[[sections]]\nname = {name}\n{named}{rest}does = "x"\nwords = {{ least = 1, most = {most} }}\n'


def test_sections_come_in_the_order_of_the_manifest_and_those_that_are_off_do_not(tmp_path: Path) -> None:
    style = _style(
        tmp_path,
        _section("after") + _section("before") + _section("lesson", on="false") + _section("cause", heading="false"),
    )
    headings = re.findall(r"(?m)^## (.*)$", write_essay(open_session(str(EXAMPLE)), 144, style).text)
    assert headings == ["What Followed", "What Led to Message 144"]


NOTES = [
    pytest.param(_section("after") + _section(None), {}, "names no matter for it: mood", id="a part without a matter"),
    pytest.param(_section("after"), {"language": '"German"'}, "in English, not in German", id="another language"),
    pytest.param(
        _section("introduction"), {"words": "{ least = 1, most = 12 }"}, "more than the 12", id="less than a sentence"
    ),
    pytest.param(
        _section("after") + _section("input", most=9),
        {},
        "no room for a sentence of it: input",
        id="no room for a part",
    ),
    pytest.param(
        _section("introduction") + _section("after"),
        {"citations": "{ least = 0, most = 1 }"},
        "more than the 1 of",
        id="hardly a citation",
    ),
]


@pytest.mark.parametrize(("sections", "more", "note"), NOTES)
def test_what_a_style_asks_for_in_vain_is_said(tmp_path: Path, sections: str, more: dict[str, str], note: str) -> None:
    reply = write_essay(open_session(str(EXAMPLE)), 144, _style(tmp_path, sections, **more))
    assert any(note in one for one in reply.notes), reply.notes


def test_a_style_that_is_met_needs_no_note(tmp_path: Path) -> None:
    assert write_essay(open_session(str(EXAMPLE)), 144, _style(tmp_path, _section("after"))).notes == ()


@pytest.mark.parametrize("length", [200, 300, 600, 900])
def test_no_essay_is_longer_or_cites_more_than_it_may_and_no_sentence_is_cut(length: int) -> None:
    session = open_session(str(EXAMPLE))
    for target in (20, 96, 108, 144):
        prompt = build_prompt(take_context(session, target), ESSAY, length=length)
        told = OfflineWriter().write(prompt).text
        assert len(told.split()) <= prompt.style.words.most
        assert told.count("[msg ") <= prompt.style.citations.most
        assert "…." not in re.sub(r"[“`][^”`]*[”`]", "", told)


def test_writing_costs_little_in_a_long_session(tmp_path: Path) -> None:
    messages = [user("go"), *(assistant(tool(input={"command": f"make {n}"}, output="a 1\n" * 9)) for n in range(3000))]
    prompt = build_prompt(take_context(open_session(write(tmp_path, export(*messages))), 1500), ESSAY)
    began = time.perf_counter()
    OfflineWriter().write(prompt)
    assert time.perf_counter() - began < 1


def test_long_lines_and_names_cost_no_more_than_they_are_long(tmp_path: Path) -> None:
    long = "a_" * 20_000
    messages = [user("go"), assistant(long, reasoning(long), tool(output=long)), *(assistant("x") for _ in range(20))]
    session = open_session(write(tmp_path, export(*messages)))
    began = time.perf_counter()
    write_essay(session, 1)
    assert time.perf_counter() - began < 3


def test_numbers_in_a_row_are_cited_as_a_range() -> None:
    assert cited("One.", (3, 4, 5, 9, 10)) == "One [msg 3–5, 9, 10]."
