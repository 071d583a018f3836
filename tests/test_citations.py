"""Citations as the command line's contract writes them, and what only looks like one."""

from __future__ import annotations

import pytest

from narrator.citations import LONGEST_RANGE, Citation, cited_indices, find_citations, resolve

IDS = {"msg_ab12": 0, "msg_ab34": 1, "msg_cd56": 2, "msg_cd": 3}


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[msg 12]", ["12"]),
        ("[msg 12, 15]", ["12", "15"]),
        ("[msg 12,15 , 18]", ["12", "15", "18"]),
        ("[msg 12–15]", ["12", "13", "14", "15"]),
        ("[msg 12-15]", ["12", "13", "14", "15"]),
        ("[msg 12 — 14]", ["12", "13", "14"]),
        ("[msg 12]–[msg 15]", ["12", "13", "14", "15"]),
        ("[msg 12] - [msg 14]", ["12", "13", "14"]),
        ("[msg 2, 4–6, 9]", ["2", "4", "5", "6", "9"]),
        ("[msg 12, msg 15]", ["12", "15"]),
        ("[msg 12–msg 14]", ["12", "13", "14"]),
        ("[msg  12]", ["12"]),
        ("[msg\u00a012]", ["12"]),
        ("[msg msg_ab12]", ["msg_ab12"]),
        ("[msg msg_ab…]", ["msg_ab…"]),
        ("[msg msg_ab12, 7, msg_cd…]", ["msg_ab12", "7", "msg_cd…"]),
        ("[msg 15–12]", ["15", "12"]),
        ("[msg 15]–[msg 12]", ["15", "12"]),
        ("[msg 7–7]", ["7"]),
        ("[msg msg_ab12–msg_cd56]", ["msg_ab12", "msg_cd56"]),
        ("[msg 0]", ["0"]),
    ],
)
def test_a_citation(text: str, targets: list[str]) -> None:
    before = "It failed "
    [citation] = find_citations(f"{before}{text}.")
    assert citation == Citation(len(before), len(before) + len(text), text, tuple(targets))


@pytest.mark.parametrize(
    "text",
    [
        "[msg]",
        "[msg ]",
        "[msg x]",
        "[msg -3]",
        "[msg 12 and 15]",
        "[msg 12,]",
        "[msg 12–]",
        "[msg 1.5]",
        "[Msg 12]",
        "[message 12]",
        "(msg 12)",
        "msg 12",
        "[msg 12",
        "[[msg]] 12",
        "[msg 1234567890]",
        "[msg ²]",
        "",
    ],
)
def test_no_citation(text: str) -> None:
    assert list(find_citations(text)) == []


def test_several_in_order_with_their_places() -> None:
    text = "First [msg 3], then [msg 5]–[msg 7]; [msg 9][msg 10] and [msg 12–13]–[msg 20]."
    found = list(find_citations(text))
    assert [text[citation.start : citation.end] for citation in found] == [citation.text for citation in found]
    assert [citation.text for citation in found] == [
        *("[msg 3]", "[msg 5]–[msg 7]", "[msg 9]", "[msg 10]", "[msg 12–13]", "[msg 20]"),
    ]


@pytest.mark.parametrize(
    ("last", "count"),
    [(LONGEST_RANGE, LONGEST_RANGE + 1), (LONGEST_RANGE + 1, 2), (999_999_999, 2)],
    ids=["the widest that is written out", "one wider cites its ends", "as wide as can be written"],
)
def test_wide_ranges(last: int, count: int) -> None:
    [citation] = find_citations(f"[msg 0–{last}]")
    assert len(citation.targets) == count
    assert (citation.targets[0], citation.targets[-1]) == ("0", str(last))


@pytest.mark.parametrize(
    ("target", "index"),
    [
        ("0", 0),
        ("003", 3),
        ("3", 3),
        ("4", None),
        ("999999999", None),
        ("msg_ab12", 0),
        ("msg_ab1…", 0),
        ("msg_ab3", 1),
        ("msg_ab", None),
        ("msg_ab…", None),
        ("msg_cd", 3),
        ("msg_cd5…", 2),
        ("msg_zz", None),
        ("²", None),
    ],
)
def test_what_a_target_names(target: str, index: int | None) -> None:
    assert resolve(target, IDS, 4) == index


def test_a_prefix_of_two_ids_of_one_message_is_unique() -> None:
    assert resolve("msg_a", {"msg_a1": 2, "msg_a2": 2}, 3) == 2


@pytest.mark.parametrize(
    ("text", "found", "missing"),
    [
        ("Nothing is cited.", (), ()),
        ("[msg 3] and [msg 1], again [msg 3]", (1, 3), ()),
        ("[msg msg_cd56] is [msg 2]", (2,), ()),
        ("[msg 2–5]", (2, 3), ("4", "5")),
        ("[msg 9], [msg 9], [msg msg_zz]", (), ("9", "msg_zz")),
    ],
)
def test_what_a_text_cites(text: str, found: tuple[int, ...], missing: tuple[str, ...]) -> None:
    assert cited_indices(text, IDS, 4) == (found, missing)
