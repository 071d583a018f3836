"""What a writer may see for one target: within the budget, nearest first, every gap counted."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import EXAMPLE, SHARED, assistant, export, reasoning, text, tool, user

from narrator import window
from narrator.context import DEFAULT_BUDGET, Context, Reach, as_json, find_target, take_context
from narrator.errors import UsageError
from narrator.excerpt import take_excerpt
from narrator.findings import diagnose
from narrator.formats import open_session
from narrator.prompt import build_prompt
from narrator.session import Session
from narrator.style import load_style
from narrator.tokens import count_tokens

ESSAYS = SHARED / "sessions" / "essays"
WINDOW = "# The messages round the target"
SLACK = 1.02
"""How much over the budget the printed window may come out."""
HUGE = 5 * 1024 * 1024
PROSE = "The quick brown fox jumps over the lazy dog and runs away from it. "
DENSE = "7 3 9 1 8 2 5 4 "


def printed(context: Context) -> str:
    """What the templates print of window and target."""
    user_message = build_prompt(context, load_style("essay")).messages[1].content
    return WINDOW + user_message.partition(WINDOW)[2]


def check(session: Session, context: Context, budget: int = DEFAULT_BUDGET) -> None:
    """What holds for any context."""
    real = count_tokens(printed(context))
    assert real <= budget * SLACK
    assert abs(context.tokens - real) <= max(20, 0.01 * real), (context.tokens, real)
    shown = [excerpt.index for excerpt in context.window]
    assert shown == sorted(set(shown))
    assert context.target.index in shown
    assert {finding.index for finding in context.findings} <= set(shown)
    gaps = [*context.gaps.values(), *([context.rest] if context.rest else [])]
    unshown = sum(int(re.sub(r"\D.*", "", gap.replace(",", ""))) for gap in gaps)
    assert unshown + len(shown) == len(session) == context.count
    neither = len(session) - len({*shown, *context.outline.indices})
    assert context.omitted.messages == neither
    assert context.earlier == Counter(skim.kind for skim in session.skims[: context.target.index])
    assert context.later == Counter(skim.kind for skim in session.skims[context.target.index + 1 :])


# --------------------------------------------------------------------------------------------------------- budget


@lru_cache(maxsize=1)
def opened_once(path: str) -> Session:
    return open_session(path)


RECORDED = [
    *((EXAMPLE, target) for target in (0, 1, 95, 144, 170)),
    *((ESSAYS / "ct200-11162.json.gz", target) for target in (0, 5000, 10910, 11158, 11162, 11239)),
    *((ESSAYS / "eagle3-4347.json.gz", target) for target in (120, 4347, 4348, 4419)),
    *((SHARED / "cases" / "62-2000-messages.json", target) for target in (0, 1000, 1999)),
    *((SHARED / "cases" / "64-many-tool-calls.json", target) for target in (0, 1)),
    *((SHARED / "sessions" / "opencode" / "gen_1.18.33_scenarioA.json", target) for target in (0, 9, 13)),
]


@pytest.mark.parametrize("budget", [800, 4000, 24_000, 60_000])
@pytest.mark.parametrize(("path", "target"), [pytest.param(path, n, id=f"{path.name} {n}") for path, n in RECORDED])
def test_the_budget_is_kept_and_what_is_counted_is_what_is_printed(path: Path, target: int, budget: int) -> None:
    if not path.is_file():
        pytest.skip("the recorded sessions of ../shared are not here")
    session = opened_once(str(path))
    check(session, take_context(session, target, Reach(budget)), budget)


def talk(rounds: int, words: str = PROSE * 4) -> list[dict[str, Any]]:
    return [
        message for n in range(rounds) for message in (user(f"Turn {n}. {words}"), assistant(f"Answer {n}. {words}"))
    ]


@pytest.mark.parametrize("budget", [800, 4000, 24_000])
@pytest.mark.parametrize(
    ("message", "what"),
    [
        (lambda: assistant(PROSE * 3000), "a long answer"),
        (lambda: assistant(DENSE * 20_000), "an answer of digits"),
        (lambda: assistant(tool(output="x" * HUGE)), "5 MiB in one line"),
        (lambda: assistant(*(tool(input={"command": f"echo {n}"}, output=PROSE * 3) for n in range(400))), "400 calls"),
        (lambda: assistant(*(tool(status="error", error="gone " * 50) for _ in range(30))), "30 failed calls"),
        (lambda: user(PROSE * 3000), "a long turn"),
        (assistant, "nothing"),
        (lambda: assistant(reasoning(DENSE * 999), DENSE * 999, tool(input={"content": DENSE * 999})), "dense parts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("place", ["the target", "beside the target"])
def test_the_budget_is_kept_whatever_is_in_a_message(
    tmp_path: Path, message: Any, what: str, budget: int, place: str
) -> None:
    session = opened(tmp_path, export(*talk(3), message(), *talk(3)))
    target = 6 if place == "the target" else 7
    context = take_context(session, target, Reach(budget))
    check(session, context, budget)
    assert abs(target - 6) <= 1, what


def test_the_marks_of_gaps_count_too(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*turns()))
    for budget in range(3700, 3900, 4):
        assert take_context(session, 2, Reach(budget)).tokens <= budget


def test_a_session_of_one_message(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("Only this.")))
    context = take_context(session, 0)
    check(session, context)
    assert [excerpt.text for excerpt in context.window] == ["‹text›\nOnly this."]
    assert (context.gaps, context.rest, context.omitted.messages, context.omitted.characters) == ({}, "", 0, 0)


def test_no_budget_smaller_than_the_frame(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(5)))
    with pytest.raises(UsageError, match="--budget 799: at least 800 tokens are needed"):
        take_context(session, 3, Reach(799))
    check(session, take_context(session, 3, Reach(800)), 800)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_the_smallest_budget_holds_a_long_target(tmp_path: Path, place: int) -> None:
    messages = [*talk(3), user("Last.")]
    messages[place] = {**messages[place], "parts": [text(PROSE * 300)]}
    check(session := opened(tmp_path, export(*messages)), take_context(session, place, Reach(800)), 800)


def test_a_gap_that_is_longer_to_tell_than_was_reckoned_costs_the_least_worthy_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(tmp_path, export(*anchored()))
    monkeypatch.setattr(window, "_GAP", -60)
    for budget in range(900, 3000, 50):
        context = take_context(session, 66, Reach(budget))
        check(session, context, budget)
        assert context.tokens <= budget


# --------------------------------------------------------------------------------------------------------- target


def of_tokens(count: int) -> str:
    """A text of about, and at most, so many tokens."""
    words = [f"word{'abcdefghij'[n % 10]}" for n in range(count)]
    while count_tokens(" ".join(words)) > count:
        words = words[: -max(1, len(words) // 200)]
    return " ".join(words)


@pytest.mark.parametrize("budget", [4000, 24_000])
def test_a_target_that_fits_half_the_budget_is_shown_verbatim(tmp_path: Path, budget: int) -> None:
    words = of_tokens(budget // 2 - 20)
    session = opened(tmp_path, export(*talk(20), assistant(words), *talk(20)))
    context = take_context(session, 40, Reach(budget))
    assert [passage.text for passage in context.centre.passages] == [words]
    assert words in printed(context)


@pytest.mark.parametrize("budget", [4000, 24_000])
def test_a_larger_target_is_shortened_with_a_counted_mark(tmp_path: Path, budget: int) -> None:
    words = of_tokens(budget)
    session = opened(tmp_path, export(*talk(20), assistant(words), *talk(20)))
    context = take_context(session, 40, Reach(budget))
    [passage] = context.centre.passages
    assert f"[… {passage.omitted} characters left out …]" in passage.text
    assert 0.4 * budget < count_tokens(passage.text) <= 0.5 * budget
    assert len(context.window) > 3, "its neighbours have the other half"


@pytest.mark.parametrize("target", [0, 41])
def test_a_target_at_an_end(tmp_path: Path, target: int) -> None:
    session = opened(tmp_path, export(*talk(20), user("Thanks."), assistant("You are welcome.")))
    context = take_context(session, target, Reach(4000))
    check(session, context, 4000)
    assert ("it is the first message of the session" in printed(context)) == (target == 0)
    assert ("it is the last message of the session" in printed(context)) == (target == 41)


# --------------------------------------------------------------------------------------------------------- window


def test_the_nearest_are_whole_and_the_window_reaches_further_ahead_than_back(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(100)))
    context = take_context(session, 100)
    shown = [excerpt.index for excerpt in context.window]
    assert set(range(70, 161)) <= set(shown)
    assert max(shown) - 100 >= 100 - min(shown)
    assert all(not excerpt.omitted for excerpt in context.window if abs(excerpt.index - 100) <= 15)


def test_what_is_near_has_more_room_than_what_is_far(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(100, PROSE * 60)))
    context = take_context(session, 100)
    sizes = {excerpt.index - 100: count_tokens(excerpt.text) for excerpt in context.window}
    whole = {distance for distance, size in sizes.items() if size > 800}
    assert {-2, -1, 0, 1, 2} <= whole
    assert max(map(abs, whole)) < 12
    assert sizes[max(sizes)] < 400
    assert sizes[min(sizes)] < 400


def test_gaps_of_the_window_are_marked_in_their_place(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(100, PROSE * 60)))
    context = take_context(session, 100, Reach(2500))
    shown = [excerpt.index for excerpt in context.window]
    lines = printed(context).splitlines()
    for before, after in zip([-1, *shown], shown, strict=False):
        assert (after in context.gaps) == (after > before + 1)
        if after in context.gaps:
            place = lines.index(f"record: {context.gaps[after]}")
            assert lines[place + 2].startswith(f"[msg {after}] ")
    assert f"record: {context.rest}" in lines
    assert re.fullmatch(r"[\d,]+ messages not shown here: [\d,]+ user turns, [\d,]+ assistant messages", context.rest)


def anchored() -> list[dict[str, Any]]:
    """The target, 68, lies far from the turn it answers, from the offer before that, and from the summary."""
    compaction = {"type": "compaction", "auto": True}
    summary = assistant("## Goal\n\nFix the parser.", summary=True)
    begin = [user("Fix the parser."), assistant("Hm."), user(compaction), summary, user(text("Go on.", synthetic=True))]
    steps = [assistant(f"Step {n}.", tool(), finish="tool-calls") for n in range(60)]
    return [*begin, assistant("Shall I rewrite it? Say 1."), user("1"), *steps, *talk(3)]


def test_what_the_target_cannot_be_understood_without_is_shown_however_far_it_lies(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*anchored()))
    context = take_context(session, 66, Reach(2000))
    shown = {excerpt.index: excerpt for excerpt in context.window}
    assert {3, 5, 6, 66} <= set(shown), "the summary, the offer, the answer to it"
    assert 20 not in shown
    assert shown[3].text == "‹text›\n## Goal\n\nFix the parser."
    check(session, context, 2000)


def turns() -> list[dict[str, Any]]:
    """Eight turns of ten messages."""
    return [
        message
        for _ in range(8)
        for message in (
            user("And now?"),
            *(assistant(PROSE, tool(), finish="tool-calls") for _ in range(8)),
            assistant("So it ended."),
        )
    ]


def test_farther_away_where_a_turn_ends_comes_before_its_middle(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*turns()))
    context = take_context(session, 2, Reach(4000))
    shown = {excerpt.index for excerpt in context.window}
    assert {29, 39, 49, 59} <= shown
    assert not {24, 34, 44, 54} & shown


@pytest.mark.parametrize(("before", "after"), [(0, 12), (12, 0), (20, 20), (0, 60), (99, 0)])
def test_before_and_after_are_promises(tmp_path: Path, before: int, after: int) -> None:
    session = opened(tmp_path, export(*talk(50, PROSE * 60)))
    context = take_context(session, 50, Reach(12_000, before, after))
    wanted = set(range(max(0, 50 - before), min(100, 51 + after)))
    assert wanted <= {excerpt.index for excerpt in context.window}
    check(session, context, 12_000)


@pytest.mark.parametrize("before", [30, 50])
def test_a_promise_that_the_budget_cannot_keep_is_refused_and_one_that_it_names_is_kept(
    tmp_path: Path, before: int
) -> None:
    session = opened(tmp_path, export(*talk(50, PROSE * 60)))
    with pytest.raises(
        UsageError, match=r"--budget 1500: too small for --before and --after; about \d+ are needed"
    ) as refused:
        take_context(session, 50, Reach(1500, before, 0))
    named = int(re.findall(r"about (\d+)", str(refused.value))[0])
    context = take_context(session, 50, Reach(named, before, 0))
    check(session, context, named)
    assert set(range(50 - before, 51)) <= {excerpt.index for excerpt in context.window}


def test_more_budget_shows_more(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(100, PROSE * 20)))
    sizes = [take_context(session, 100, Reach(budget)).tokens for budget in (800, 2000, 4000, 12_000, 24_000)]
    assert sizes == sorted(sizes)
    assert all(size > 0.85 * budget for size, budget in zip(sizes, (800, 2000, 4000, 12_000, 24_000), strict=True))


def test_it_is_the_same_every_time() -> None:
    one, two = (take_context(open_session(str(EXAMPLE)), 144).model_dump_json() for _ in range(2))
    assert one == two


# ------------------------------------------------------------------------------------------------- what goes with it


def test_findings_are_those_of_the_window(tmp_path: Path) -> None:
    session = opened(
        tmp_path, export(user("Go."), assistant(tool(metadata={"exit": 1})), assistant(), user("continue"))
    )
    context = take_context(session, 2)
    assert context.findings == tuple(found for index in range(4) for found in diagnose(session, index))
    assert [found.kind for found in context.of(2)] == ["empty-completion"]


@pytest.mark.parametrize(
    ("messages", "notice"),
    [
        ([user({"type": "hologram"}), user({"type": "hologram"})], "parts of the unknown type hologram"),
        ([user("a", id="msg_same"), assistant("b", id="msg_same")], "1 duplicate message id(s); messages are named by their place"),
    ],
)  # fmt: skip
def test_what_was_stepped_over_is_said_once(tmp_path: Path, messages: list[Any], notice: str) -> None:
    notices = take_context(opened(tmp_path, export(*messages)), 1).notices
    assert sum(notice in said for said in notices) == 1


def test_characters_left_out_are_counted(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("Go."), assistant("y" * 100_000)))
    context = take_context(session, 1, Reach(2000))
    assert context.omitted.characters == context.centre.omitted > 90_000, "the outline shows less of it than the window"


def test_more_is_left_out_of_a_message_that_only_the_outline_shows(tmp_path: Path) -> None:
    """A call of which the outline has no more than its name."""
    long = assistant(tool(output="y" * 50_000), finish="tool-calls")
    fresh = [{"info": dict(m["info"]), "parts": m["parts"]} for m in [*[assistant("On.")] * 90, long, assistant("So.")]]
    session = opened(tmp_path, export(user("Go."), *fresh))
    context = take_context(session, 1, Reach(800))
    assert 91 in context.outline.indices
    assert 91 not in [excerpt.index for excerpt in context.window]
    assert 49_000 < context.omitted.characters <= session.stored


@pytest.mark.parametrize("words", ["y " * 30_000, "\t" * 20_000 + "é" * 9000], ids=["words", "escapes"])
def test_no_more_is_left_out_when_more_is_shown(tmp_path: Path, words: str) -> None:
    messages = [
        user("Go."),
        *(m for n in range(40) for m in (assistant(tool(output=words)), assistant(f"{n} {words}"))),
    ]
    session = opened(tmp_path, export(*messages))
    left = [take_context(session, 40, Reach(budget)).omitted for budget in (800, 2000, 6000, 24_000, 96_000)]
    assert [one.characters for one in left] == sorted([one.characters for one in left], reverse=True)
    assert left[0].characters > left[-1].characters
    assert all(session.stored >= one.characters for one in left)


# ------------------------------------------------------------------------------------------------------ the target


@pytest.mark.parametrize(
    ("wanted", "index"),
    [("0", 0), ("2", 2), ("002", 2), ("msg_ab1", 1), ("msg_ab2", 2), ("msg_c", 0), ("٢", 2)],
)
def test_a_target_is_named_by_number_or_id(tmp_path: Path, wanted: str, index: int) -> None:
    messages = [user("a", id="msg_cd"), assistant("b", id="msg_ab1"), assistant("c", id="msg_ab2x")]
    assert find_target(opened(tmp_path, export(*messages)), wanted) == index


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("3", r"--msg 3: out of range; the session has 3 messages, valid is 0\.\.2"),
        ("-1", r"--msg -1: out of range; the session has 3 messages, valid is 0\.\.2"),
        ("9" * 40, "out of range"),
        ("msg_ab", r"--msg msg_ab: 2 messages begin so: msg_ab1 \(1\), msg_ab2x \(2\)"),
        ("msg_zz", r"--msg msg_zz: neither a number \(0\.\.2\) nor the id of a message in this session"),
        ("", "neither a number"),
        ("--1", "neither a number"),
        ("²", "neither a number"),
        ("1.5", "neither a number"),
    ],
)
def test_a_target_that_is_not_there(tmp_path: Path, wanted: str, says: str) -> None:
    messages = [user("a", id="msg_cd"), assistant("b", id="msg_ab1"), assistant("c", id="msg_ab2x")]
    with pytest.raises(UsageError, match=says):
        find_target(opened(tmp_path, export(*messages)), wanted)


def test_of_many_that_begin_so_the_first_five_are_listed(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk(20)))
    with pytest.raises(UsageError, match=r"40 messages begin so: msg_0000 \(0\), .* msg_0004 \(4\) and 35 more"):
        find_target(session, "msg_")


# ------------------------------------------------------------------------------------------------------------ JSON


def test_the_shape_for_scripts(tmp_path: Path) -> None:
    session = opened(
        tmp_path, export(user("Fix it."), assistant("Yes.", tool(metadata={"exit": 1}), "No."), user("Ah."))
    )
    context = take_context(session, 1)
    shape = as_json(context, session)
    assert list(shape) == ["session", "target", "findings", "window", "outline", "tokens", "omitted"]
    assert shape["session"] == {
        "format": "opencode",
        "id": "ses_4f1c0a7e2ffeTestTestTest01",
        "title": "Fix the flaky test",
        "messages": 3,
        "created": "2025-10-09T08:53:20Z",
    }
    assert shape["target"] == {
        "index": 1,
        "id": "msg_0001",
        "role": "assistant",
        "text": "Yes.\nNo.",
        "empty": False,
        "time": "2025-10-09T08:54:20Z",
        "findings": ["command-failed"],
    }
    assert shape["findings"][0]["evidence"] == [
        {"index": 1, "field": "parts[1].state.metadata.exit", "value": 1},
        {"index": 1, "field": "parts[1].state.status", "value": "completed"},
    ]
    assert (shape["window"], shape["outline"], shape["tokens"]) == ([0, 1, 2], [0, 1, 2], context.tokens)
    assert shape["omitted"] == {"messages": 0, "characters": 0}


@pytest.mark.parametrize(
    ("parts", "empty"), [((), True), ((" \n",), True), ((reasoning("a"),), False), ((tool(),), False)]
)
def test_whether_a_target_is_empty(tmp_path: Path, parts: tuple[Any, ...], empty: bool) -> None:
    session = opened(tmp_path, export(user("Go."), assistant(*parts)))
    assert as_json(take_context(session, 1), session)["target"]["empty"] is empty


def test_the_text_for_scripts_is_whole_however_small_the_budget(tmp_path: Path) -> None:
    session = opened(tmp_path, export(user("Go."), assistant("y" * 100_000)))
    assert len(as_json(take_context(session, 1, Reach(800)), session)["target"]["text"]) == 100_000
    assert len(take_excerpt(session, 1).text) > 100_000
