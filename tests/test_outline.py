"""The map of a session: bounded, complete in its counts, and the same whatever is asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from opened import opened
from recordings import BEGIN, EXAMPLE, SHARED, assistant, export, text, tool, user

import narrator.outline as outline_module
from narrator import sayings, segments
from narrator.context import take_context
from narrator.formats import open_session
from narrator.milestones import find_milestones
from narrator.outline import OUTLINE_TOKENS, Outline, draw_outline, gap_between, in_words
from narrator.session import Session
from narrator.shelf import Shelf
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
    asked = [entry.text for entry in outline.entries if entry.kind == "typed"]
    assert len(set(asked)) == len(asked) >= 18, "what the user asked for again is listed once"
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
    typed = [entry.text for entry in outline.entries[:-5] if entry.kind == "typed"]
    assert typed == ["Fix the parser.", "And the lexer, which is broken."]


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
        "from 2025-10-09 08:53:20 UTC to 2025-10-09 08:56:29 UTC, the end of the last message (3 min 9 s)",
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


# ------------------------------------------------------------------------------------------------- milestones


def bash(command: str, code: int = 0, **state: Any) -> dict[str, Any]:
    return assistant(tool(input={"command": command}, metadata={"exit": code}, **state))


def todo(*states: str, status: str = "completed") -> dict[str, Any]:
    todos = [{"content": f"thing {number}", "status": state} for number, state in enumerate(states)]
    return assistant(tool("todowrite", status=status, input={"todos": todos}))


def edit(path: str, **state: Any) -> dict[str, Any]:
    return assistant(tool("edit", input={"filePath": path}, **state))


@pytest.mark.parametrize(
    ("messages", "reached"),
    [
        pytest.param([bash("make", 1), bash("make")], {2: "first success of a command that had only failed before (msg 1)"}, id="a success after a failure"),
        pytest.param([bash("make"), bash("make")], {}, id="a success after a success"),
        pytest.param([bash("make", 1), bash("make all")], {}, id="another command"),
        pytest.param([bash("make", 1), bash("make", 1)], {}, id="no success"),
        pytest.param([bash("make", 1), bash("make"), bash("make")], {2: "first success of a command that had only failed before (msg 1)"}, id="only the first success"),
        pytest.param(
            [bash("make", 1)] * 5 + [bash("make")],
            {6: "first success of a command that had only failed before (msg 1, 4, 5 and 2 more)"},
            id="many failures",
        ),
        pytest.param(
            [edit("a.py", status="error", error="no"), edit("a.py")],
            {2: "first success of calls on a file that had only failed before (msg 1)"},
            id="an edit after one that failed",
        ),
        pytest.param(
            [bash("make"), bash("make", 1), bash("make", 1), bash("make")],
            {4: "a command works again after failing in msg 2, 3"},
            id="a success after failures that followed a success",
        ),
        pytest.param(
            [bash("make", 1), bash("make"), bash("make", 1), bash("make")],
            {
                2: "first success of a command that had only failed before (msg 1)",
                4: "a command works again after failing in msg 3",
            },
            id="the second time only the failures since the first",
        ),
        pytest.param(
            [edit("a.py"), edit("a.py", status="error", error="no"), edit("a.py")],
            {3: "a call on a file works again after failing in msg 2"},
            id="an edit that works again",
        ),
        pytest.param(
            [bash("make", status="running"), bash("make", 1), bash("make")],
            {3: "a command works after failing in msg 2"},
            id="one without an end may have succeeded",
        ),
        pytest.param(
            [bash("make"), *[bash("make", 1), bash("make")] * 2],
            {3: "a command works again after failing in msg 2", 5: "a command works again after failing in msg 4"},
            id="twice",
        ),
        pytest.param([bash("ping"), *[bash("ping", 1), bash("ping")] * 3], {}, id="a status that comes and goes"),
        pytest.param([bash("a.py", 1), edit("a.py")], {}, id="a command and a file of one name"),
        pytest.param([bash("make ", 1), bash("make")], {2: "first success of a command that had only failed before (msg 1)"}, id="white space behind it"),
        pytest.param([bash("git add -A && git commit -m 'x'")], {1: "a commit"}, id="a commit"),
        pytest.param([bash("git commit -m 'x'", 1)], {}, id="a commit that failed"),
        pytest.param([bash("git log")], {}, id="no commit"),
        pytest.param([todo("completed", "cancelled")], {1: "the list of things to do is finished"}, id="a list that is done"),
        pytest.param([todo("completed", "pending")], {}, id="a list that is not done"),
        pytest.param([todo("completed", status="error")], {}, id="a list that could not be written"),
        pytest.param([todo("completed"), todo("completed")], {1: "the list of things to do is finished"}, id="the same list again"),
        pytest.param(
            [todo("completed"), todo("pending"), todo("completed")],
            {1: "the list of things to do is finished", 3: "the list of things to do is finished"},
            id="another list",
        ),
        pytest.param(
            [bash("git commit -m x", 1), bash("git commit -m x")],
            {2: "first success of a command that had only failed before (msg 1)"},
            id="of two that coincide the weightier",
        ),
    ],
)  # fmt: skip
def test_milestones(tmp_path: Path, messages: list[Any], reached: dict[int, str]) -> None:
    fresh = [{"info": dict(message["info"]), "parts": list(message["parts"])} for message in messages]
    session = opened(tmp_path, export(user("Go."), *fresh, *[assistant("On.")] * 8, user("Thanks."), assistant("So.")))
    assert {milestone.index: milestone.named(session) for milestone in find_milestones(session)} == reached
    listed = {entry.index: entry.reached for entry in draw_outline(session).entries if entry.reached}
    assert listed == reached


def test_a_milestone_is_named_with_its_message_and_shows_the_call(tmp_path: Path) -> None:
    messages = [user("Go."), bash("git commit -m 'Fix the parser'"), *[assistant("On.")] * 9]
    entry = draw_outline(opened(tmp_path, export(*messages))).entries[1]
    assert (entry.text, entry.spoken) == ("[bash call] git commit -m 'Fix the parser'", False)
    assert entry.named == "msg 1, assistant, 2025-10-09 08:54:20 UTC; a commit"
    assert f"[k {entry.named}]" in draw_outline(opened(tmp_path, export(*messages))).printed("k")


# ------------------------------------------------------------------------------------- the same turn again and again

SAME = "Please keep the service running while you test."


def talk(*words: str) -> list[dict[str, Any]]:
    """Turns with an answer and five more messages to each."""
    return [message for word in words for message in (user(word), *loop(5), assistant("Well."))]


def said(session: Session) -> dict[int, str]:
    return {entry.index: entry.reached for entry in draw_outline(session).entries if entry.reached}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["Go.", SAME, "Well done.", SAME, SAME], {7: "said 3 times: msg 7, 21, 28"}, id="three times"),
        pytest.param([SAME, "Well done.", SAME], {0: "said 2 times: msg 0, 14"}, id="the first request again"),
        pytest.param(["Go.", SAME, SAME[:-1] + "!"], {}, id="as long, but another"),
        pytest.param(["Go.", SAME, SAME.upper()], {}, id="in other letters"),
        pytest.param(["Go.", SAME, SAME + " Now."], {}, id="longer"),
        pytest.param(["Go.", *[SAME] * 8], {7: "said 8 times: msg 7, 14, 21, 28 and 4 more"}, id="too many to name"),
        pytest.param(["Go.", "continue", "continue"], {}, id="nudges are not listed"),
    ],
)  # fmt: skip
def test_a_turn_that_was_typed_several_times_is_listed_once(
    tmp_path: Path, words: list[str], told: dict[int, str]
) -> None:
    session = opened(tmp_path, export(*talk(*words), *[assistant("On.")] * 5))
    check(session, draw_outline(session))
    assert said(session) == told
    listed = [entry.text for entry in draw_outline(session).entries if entry.kind == "typed"]
    assert len(set(listed)) == len(listed)


def test_the_room_goes_to_other_turns(tmp_path: Path) -> None:
    words = [SAME if number % 2 else f"Now do the thing with the number {number}, please." for number in range(120)]
    texts = [entry.text for entry in draw_outline(opened(tmp_path, export(*talk(*words)))).entries]
    assert texts.count(SAME) == 1
    assert sum(text.startswith("Now do the thing") for text in texts) >= 35


def test_no_turn_is_read_to_find_where_the_same_was_typed(tmp_path: Path) -> None:
    session = opened(tmp_path, export(*talk("Go.", SAME, "Well done.", SAME)))
    read: list[int] = []
    session.message = read.append  # type: ignore[assignment]  # only counts
    assert sayings.places_of_saying(session, 7) == (7, 21)
    assert sayings.places_of_saying(session, 0) == sayings.places_of_saying(session, 1) == ()
    assert read == []


# --------------------------------------------------------------------------------------------------- segments


def loop(count: int, name: str = "a") -> list[dict[str, Any]]:
    return [bash(f"sed -n {number}p {name}.txt") for number in range(count)]


def minutes(messages: list[dict[str, Any]], pauses: dict[int, int]) -> list[dict[str, Any]]:
    """Messages one minute apart, but for pauses (index → minutes before it)."""
    at = BEGIN
    for index, message in enumerate(messages):
        at += 60_000 * (1 + pauses.get(index, 0))
        message["info"]["time"] = {"created": at} | (
            {"completed": at + 1000} if message["info"]["role"] == "assistant" else {}
        )
    return messages


@pytest.mark.parametrize(
    ("messages", "cut"),
    [
        pytest.param([user("Go."), *loop(23)], 12, id="where nothing breaks it, in the middle"),
        pytest.param([user("Go."), *loop(9), user("On."), *loop(13)], 10, id="at a turn of the user"),
        pytest.param([user("Go."), *loop(8), user("On."), *loop(3), user("Now do the other half of it, with more care, please."), *loop(10)], 13, id="at the longer turn"),
        pytest.param(minutes([user("Go."), *loop(8), user("Now do the other half of it, with more care, please."), *loop(14)], {14: 60}), 14, id="at a long silence"),
        pytest.param([user("Go."), *loop(5), user(COMPACTION), assistant("## Goal", summary=True), *loop(3), user("On."), *loop(12)], 8, id="behind a summary"),
        pytest.param([user("Go."), *[bash("make")] * 9, *[bash("pytest")] * 14], 10, id="where other commands begin"),
    ],
)  # fmt: skip
def test_a_border_is_where_the_session_breaks(tmp_path: Path, monkeypatch: Any, messages: list[Any], cut: int) -> None:
    monkeypatch.setattr(segments, "SEGMENTS", 2)
    fresh = [{"info": dict(message["info"]), "parts": list(message["parts"])} for message in messages]
    session = opened(tmp_path, export(*fresh))
    assert [part.start for part in segments.find_segments(session)] == [0, cut]


@pytest.mark.parametrize("rounds", [1, 2, 5, 40, 667])
def test_the_parts_hold_every_message_once(tmp_path: Path, rounds: int) -> None:
    session = long_session(tmp_path, rounds)
    parts = segments.find_segments(session)
    assert [index for part in parts for index in part] == list(range(len(session)))
    assert len(parts) == max(1, min(segments.SEGMENTS, len(session) // 6))
    assert max(map(len, parts)) <= 2 * len(session) / len(parts) + 2


@pytest.mark.parametrize("noisy", [0, 1, 2])
def test_no_third_of_a_session_is_passed_over_because_another_is_loud(tmp_path: Path, noisy: int) -> None:
    loud = [
        message for n in range(200) for message in (user(f"Do number {n}, " + "with care, " * 40), assistant("Done."))
    ]
    quiet = [*loop(390), user("And then?"), bash("make", 1), bash("make"), *loop(6), assistant("It works now.")]
    thirds: list[list[dict[str, Any]]] = [quiet, quiet, quiet]
    thirds[noisy] = loud
    fresh = [{"info": dict(m["info"]), "parts": [dict(p) for p in m["parts"]]} for third in thirds for m in third]
    session = opened(tmp_path, export(*fresh))
    outline = draw_outline(session)
    check(session, outline)
    listed = Counter(min(2, index // 400) for index in outline.indices)
    assert min(listed[third] for third in range(3)) >= 5


def test_without_a_summary_a_part_is_told_by_how_its_last_turn_ended(tmp_path: Path) -> None:
    turns = [m for n in range(40) for m in (user(f"Do number {n}."), *loop(20), assistant(f"Number {n} is done."))]
    outline = draw_outline(opened(tmp_path, export(*turns)))
    assert sum(re.fullmatch(r"Number \d+ is done\.", entry.text) is not None for entry in outline.entries) >= 16


def test_a_part_in_which_nobody_speaks_is_told_by_its_last_words(tmp_path: Path) -> None:
    steps = [message for n in range(100) for message in (*loop(9), assistant(f"Step {n} is done."), bash("ls"))]
    outline = draw_outline(opened(tmp_path, export(user("Go."), *steps)))
    assert sum(re.fullmatch(r"Step \d+ is done\.", entry.text) is not None for entry in outline.entries) >= 6
    assert {entry.index * 3 // 1101 for entry in outline.entries} == {0, 1, 2}


def test_a_part_that_ends_in_a_turn_of_the_user_has_no_end(tmp_path: Path) -> None:
    outline = draw_outline(opened(tmp_path, export(*[user(f"Do this, number {n}.") for n in range(60)])))
    assert {entry.kind for entry in outline.entries} == {"typed"}


# ---------------------------------------------------------------------------------------------------- the shelf


class Memory(Shelf):
    """A shelf in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.puts = 0

    def get(self, name: str) -> memoryview | None:
        return memoryview(self.kept[name]) if name in self.kept else None

    def put(self, name: str, pieces: Iterable[bytes]) -> None:
        self.kept[name] = b"".join(pieces)
        self.puts += 1


def test_what_was_chosen_is_not_chosen_again(tmp_path: Path, monkeypatch: Any) -> None:
    session = long_session(tmp_path, 200)
    session.shelf = shelf = Memory()
    drawn = draw_outline(session)
    assert drawn == draw_outline(long_session(tmp_path, 200)), "with a shelf as without one"
    again = long_session(tmp_path, 200)
    again.shelf = shelf
    monkeypatch.setattr(outline_module, "choose_entries", None)
    assert draw_outline(again) == drawn
    assert shelf.puts == 1


def test_it_holds_no_text(tmp_path: Path) -> None:
    session = long_session(tmp_path, 200)
    session.shelf = shelf = Memory()
    draw_outline(session)
    [kept] = shelf.kept.values()
    assert set(re.findall(rb"[A-Za-z]+", kept)) <= {b"null", b"first", b"again", b"after", b"commit", b"list"}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda kept: kept[:1], id="no JSON"),
        pytest.param(lambda kept: kept[:1] + kept[-1:], id="another shape"),
        pytest.param(lambda kept: kept.replace(b"[[0,", b"[[99999,"), id="a message that is not there"),
        pytest.param(lambda kept: kept.replace(b"[[0,", b"[[1,"), id="another message"),
        pytest.param(lambda kept: kept[:-3] + b"0]", id="another checksum"),
    ],
)  # fmt: skip
def test_what_does_not_give_the_same_outline_is_chosen_again(tmp_path: Path, broken: Callable[[bytes], bytes]) -> None:
    session = long_session(tmp_path, 60)
    session.shelf = shelf = Memory()
    drawn = draw_outline(session)
    [name] = shelf.kept
    good, shelf.kept[name] = shelf.kept[name], broken(shelf.kept[name])
    assert shelf.kept[name] != good
    assert draw_outline(session) == drawn
    assert shelf.kept[name] == good


def test_another_bound_is_another_choice(tmp_path: Path) -> None:
    session = long_session(tmp_path, 200)
    session.shelf = shelf = Memory()
    assert draw_outline(session, bound=3000) != draw_outline(session)
    assert len(shelf.kept) == 2


def test_57_000_messages_with_504_turns_and_60_summaries(tmp_path: Path) -> None:
    compaction = [
        user(COMPACTION),
        assistant("## Goal\n\nGo on.", summary=True),
        user(text("Continue.", synthetic=True)),
    ]
    messages: list[dict[str, Any]] = []
    for number in range(504):
        messages += [user(f"Now look at the thing with number {number}, please."), *loop(110), assistant("It is so.")]
        messages += compaction if number % 8 == 7 and number < 480 else []
    fresh = [{"info": dict(message["info"]), "parts": message["parts"]} for message in messages]
    session = opened(tmp_path, export(*fresh))
    assert len(session) > 56_000
    outline = draw_outline(session)
    check(session, outline)
    assert outline.length > 5000
    assert "60 compaction summaries" in outline.totals[0]
    assert {entry.index * 3 // len(session) for entry in outline.entries if entry.kind == "typed"} == {0, 1, 2}


def test_the_example() -> None:
    session = open_session(str(EXAMPLE))
    outline = draw_outline(session)
    check(session, outline)
    assert outline.entries[0].text.startswith("Deploy GLM-5-NVFP4 on root@192.0.2.129")
    assert outline.entries[-1].text == "Fine. The service stays up; notes are in `notes/glm5.md`."
    assert outline.entries[0].named == "msg 0, user, 2026-02-16 13:18:41 UTC"
    assert (session.skims[0].created or 0) > BEGIN
