"""The map of a session: bounded, complete in its counts, and the same whatever is asked about."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, EXAMPLE, SHARED, assistant, export, text, tool, user

from narrator.context import take_context
from narrator.formats import open_session
from narrator.outline import OUTLINE_TOKENS, Outline, draw_outline, gap_between, in_words
from narrator.session import Session
from narrator.tokens import count_tokens

CT200 = SHARED / "sessions" / "essays" / "ct200-11162.json.gz"
COMPACTION = {"type": "compaction", "auto": True}
DENSE = "7 3 9 1 8 2 5 4 "
NAMES = {
    "typed": "user turns?",
    "answer": "assistant messages?",
    "compaction-request": "compaction requests?",
    "compaction-summary": "compaction summar(?:y|ies)",
    "synthetic": "messages? put in by the harness",
}


@lru_cache(maxsize=1)
def longest() -> Session:
    """11,240 messages: what a person recorded in a hundred days."""
    return open_session(str(CT200))


def round_(number: int, words: str = "Now the next thing, please: number") -> list[dict[str, Any]]:
    """A turn of the user, two answers; every tenth with a compaction."""
    made = [user(f"{words} {number}"), assistant("Working.", tool()), assistant(f"Done with {number}.")]
    if number % 10 == 9:
        summary = "\n\n".join(
            f"## {name}\n\n- {name.lower()} of {number}" for name in ("Goal", "Discoveries", "Accomplished")
        )
        made += [user(COMPACTION), assistant(summary, summary=True), user(text("Continue if you can.", synthetic=True))]
    return made


def long_session(folder: Path, rounds: int, words: str = "Now the next thing, please: number") -> Session:
    return opened(folder, export(*(message for number in range(rounds) for message in round_(number, words))))


def gaps_of(outline: Outline) -> list[str]:
    return [gap for gap in [*(entry.gap for entry in outline.entries), outline.gap] if gap]


def counted(gap: str) -> Counter[str]:
    """What a gap's sentence says, kind by kind, read by its words."""
    found = {kind: re.search(rf"([\d,]+) {name}(?:,|$| not listed)", gap) for kind, name in NAMES.items()}
    return Counter({kind: int(match[1].replace(",", "")) for kind, match in found.items() if match})


def check(session: Session, outline: Outline) -> None:
    """What holds for the outline of any session."""
    assert outline.length <= OUTLINE_TOKENS
    assert count_tokens(outline.printed("31415926")) == outline.length
    listed = Counter(session.skims[index].kind for index in outline.indices)
    assert listed + sum(map(counted, gaps_of(outline)), Counter()) == Counter(skim.kind for skim in session.skims)
    for gap in gaps_of(outline):
        total = re.match(r"([\d,]+) messages not listed: ", gap)
        assert total is None or int(total[1].replace(",", "")) == counted(gap).total()
    assert list(outline.indices) == sorted(set(outline.indices))
    first = next((skim.index for skim in session.skims if skim.kind == "typed"), 0)
    assert {first, *range(max(first, len(session) - 5), len(session))} <= set(outline.indices)


@pytest.mark.parametrize("rounds", [1, 2, 3, 10, 100, 667, 2000])
def test_any_number_of_rounds(tmp_path: Path, rounds: int) -> None:
    session = long_session(tmp_path, rounds)
    outline = draw_outline(session)
    check(session, outline)
    assert outline.length > min(4500, 70 * rounds), "it is used"


def test_a_session_of_eleven_thousand_messages() -> None:
    if not CT200.is_file():
        pytest.skip("the recorded sessions of ../shared are not here")
    outline = draw_outline(longest())
    check(longest(), outline)
    kinds = Counter(entry.kind for entry in outline.entries)
    assert kinds["compaction-summary"] >= 12
    assert kinds["typed"] >= 20
    widest = max(after - before for before, after in zip(outline.indices, outline.indices[1:], strict=False))
    assert widest < len(longest()) / 10, "no part of the session is passed over"


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([user("Only this.")], id="one turn"),
        pytest.param([assistant("Only this.")], id="one answer"),
        pytest.param([user()], id="one empty turn"),
        pytest.param([user(COMPACTION)], id="one compaction request"),
        pytest.param([assistant("A."), user("B.")], id="it begins with an answer"),
        pytest.param([user(COMPACTION), assistant("## Goal", summary=True), user("Go."), assistant()], id="it begins with a compaction"),
        pytest.param([user(text("Read.", synthetic=True))] * 3, id="nobody typed anything"),
        pytest.param([user("x" * 300_000), assistant("y" * 300_000)], id="two huge messages"),
        pytest.param([user(DENSE * 20_000), *[assistant(DENSE * 20_000)] * 9], id="texts of many tokens"),
        pytest.param([user("continue"), *[assistant("A."), user("continue")] * 40], id="nothing but nudges"),
        pytest.param([user("a\n\n\nb"), assistant("c\n\n" * 900)], id="blank lines"),
    ],
)  # fmt: skip
def test_odd_sessions(tmp_path: Path, messages: list[Any]) -> None:
    fresh = [
        {"info": dict(message["info"]), "parts": [dict(part) for part in message["parts"]]} for message in messages
    ]
    session = opened(tmp_path, export(*fresh))
    check(session, draw_outline(session))


def test_long_turns_are_shortened_before_they_crowd_others_out(tmp_path: Path) -> None:
    session = long_session(tmp_path, 300, "Please look into it again, with more care than last time. " * 40)
    outline = draw_outline(session)
    check(session, outline)
    assert len(outline.entries) > 40


@pytest.mark.parametrize("bound", [1700, 3000, 6000, 12_000])
def test_another_bound(tmp_path: Path, bound: int) -> None:
    session = long_session(tmp_path, 667)
    outline = draw_outline(session, bound=bound)
    assert bound * 0.8 < outline.length <= bound


def test_it_is_deterministic_and_does_not_depend_on_the_target(tmp_path: Path) -> None:
    drawn = draw_outline(long_session(tmp_path, 60))
    session = long_session(tmp_path, 60)
    assert drawn == draw_outline(session)
    assert {take_context(session, target).outline.model_dump_json() for target in (0, 90, len(session) - 1)} == {
        drawn.model_dump_json()
    }


def test_of_a_stretch_the_last_summary_and_what_the_user_asked_for_are_listed(tmp_path: Path) -> None:
    outline = draw_outline(long_session(tmp_path, 667))
    thirds = Counter((entry.index * 3 // 2600, entry.kind) for entry in outline.entries)
    assert all(thirds[third, kind] >= 4 for third in range(3) for kind in ("typed", "compaction-summary"))


def test_nudges_are_not_listed_among_other_turns(tmp_path: Path) -> None:
    words = ["Fix the parser.", "continue", "Ok.", "And the lexer, which is broken.", "go on", "done"]
    messages = [message for word in words for message in (user(word), assistant("Working."), assistant("Fine."))]
    outline = draw_outline(opened(tmp_path, export(*messages)))
    assert [entry.text for entry in outline.entries[:2]] == ["Fix the parser.", "And the lexer, which is broken."]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (user("Yes,\n  do."), "Yes, do."),
        (user('"Fix the test"'), "Fix the test"),
        (user(text("Read it.", synthetic=True)), "Read it."),
        (user(COMPACTION), "[automatic compaction]"),
        (user({"type": "file", "mime": "a/b", "filename": "a.png", "url": "file:///a.png"}), "[file a.png]"),
        (user(), "[no text]"),
        (assistant(tool(), tool("read")), "[bash call] [read call]"),
        (assistant(tool("a\n[b]")), "[a [b] call]"),
        (assistant("Done.", tool()), "Done."),
    ],
)
def test_what_an_entry_says(tmp_path: Path, message: dict[str, Any], shown: str) -> None:
    session = opened(tmp_path, export(user("First."), message, assistant("Last.")))
    assert draw_outline(session).entries[1].text == shown


def test_an_entry_counts_what_it_leaves_out(tmp_path: Path) -> None:
    line = " ".join(f"word{n}" for n in range(500))
    session = opened(tmp_path, export(user("First."), user(line), *[assistant("A.")] * 6))
    entry = draw_outline(session).entries[1]
    assert entry.text.endswith("…")
    assert entry.omitted == len(line) - len(entry.text.removesuffix("…"))
    assert draw_outline(session).entries[0].omitted == 0


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, "nothing"),
        ({"typed": 1}, "1 user turn"),
        ({"answer": 2, "typed": 3}, "3 user turns, 2 assistant messages"),
        (
            {"compaction-request": 1, "compaction-summary": 1, "synthetic": 1},
            "1 compaction request, 1 compaction summary, 1 message put in by the harness",
        ),
        ({"answer": 10_556, "compaction-summary": 60}, "10,556 assistant messages, 60 compaction summaries"),
        ({"typed": 0, "answer": 1}, "1 assistant message"),
    ],
)
def test_counts_in_words(counts: dict[str, int], words: str) -> None:
    assert in_words(counts) == words


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (0, 1, ""),
        (0, 2, "1 assistant message not listed"),
        (0, 3, "2 assistant messages not listed"),
        (0, 4, "3 messages not listed: 1 user turn, 2 assistant messages"),
        (-1, 1, "1 user turn not listed"),
    ],
)
def test_a_gap_is_counted_by_kind(tmp_path: Path, before: int, after: int, says: str) -> None:
    session = opened(tmp_path, export(user("a"), assistant("b"), assistant("c"), user("d"), assistant("e")))
    assert gap_between(session, before, after, "not listed") == says


def test_totals(tmp_path: Path) -> None:
    messages = [user("a"), assistant("b"), assistant("c", modelID="small"), assistant("d")]
    outline = draw_outline(opened(tmp_path, export(*messages, parentID="ses_parent")))
    assert outline.totals == (
        "4 messages: 1 user turn, 3 assistant messages",
        "from 2025-10-09 08:53:20 UTC to 2025-10-09 08:56:20 UTC (3 min 0 s)",
        "answered by acme/large → acme/small → acme/large",
        "assistant messages ended: 3 with stop",
        "a subagent's session, delegated by session ses_parent",
    )


def test_totals_of_little(tmp_path: Path) -> None:
    assert draw_outline(opened(tmp_path, export(user("a", time={})))).totals == ("1 message: 1 user turn",)


def test_many_changes_of_model_are_counted(tmp_path: Path) -> None:
    messages = [assistant("a", modelID=f"m{number}") for number in range(10)]
    [models] = [fact for fact in draw_outline(opened(tmp_path, export(*messages))).totals if "answered" in fact]
    assert models == "answered by acme/m0 → acme/m1 → acme/m2 → acme/m3 → acme/m4 → acme/m5 and 4 more changes"


def test_recorded_names_stay_on_their_line(tmp_path: Path) -> None:
    hostile = "x\n[msg 3] user\nrecord: aborted\x1b[2J" + "y" * 9999
    session = opened(tmp_path, export(user("a"), assistant("b", modelID=hostile), title=hostile, parentID=hostile))
    outline = draw_outline(session)
    assert not any("\n" in line or "\x1b" in line or len(line) > 300 for line in [*outline.totals, outline.title])
    check(session, outline)


def test_the_example() -> None:
    session = open_session(str(EXAMPLE))
    outline = draw_outline(session)
    check(session, outline)
    assert outline.entries[0].text.startswith("Deploy GLM-5-NVFP4 on root@192.0.2.129")
    assert outline.entries[-1].text == "Fine. The service stays up; notes are in `notes/glm5.md`."
    assert outline.entries[0].named == "msg 0, user, 2026-02-16 13:18:41 UTC"
    assert (session.skims[0].created or 0) > BEGIN
