"""What is known of all messages and calls as columns: what they answer, and that they hold what was put in."""

from __future__ import annotations

from array import array

import pytest

from narrator.skims import FAILED, KINDS, LIST_DONE, NONE, OK, Columns, Skim, Skims, TurnKind


def made(*kinds: TurnKind, calls: dict[int, list[tuple[int, int, int]]] | None = None) -> Skims:
    """Skims of messages of the given kinds, each answering the first one."""
    columns = Columns()
    for index, kind in enumerate(kinds):
        role = "assistant" if kind in ("answer", "compaction-summary") else "user"
        skim = Skim(index=index, id=f"m{index}", role=role, kind=kind, created=index * 10)  # type: ignore[arg-type]
        columns.add(skim, "m0" if index else None, (calls or {}).get(index, []))
    return Skims(columns, columns.link())


SESSION = made("typed", "answer", "answer", "compaction-request", "compaction-summary", "synthetic", "answer", "typed")


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        pytest.param("answer", [1, 2, 6], id="several"),
        pytest.param("typed", [0, 7], id="the first and the last"),
        pytest.param("synthetic", [5], id="one"),
    ],
)
def test_all_messages_of_a_kind_are_found(kind: TurnKind, places: list[int]) -> None:
    assert SESSION.places(kind) == places
    assert SESSION.count(kind) == len(places)
    assert (SESSION.first(kind), SESSION.last(kind, len(SESSION))) == (places[0], places[-1])


def test_a_kind_that_is_not_there_is_nowhere() -> None:
    bare = made("typed")
    assert (bare.places("answer"), bare.first("answer"), bare.last("answer", 1)) == ([], None, None)
    assert bare.tally() == {"typed": 1}
    assert made().tally() == {}


def test_first_and_last_look_beyond_and_before_a_message_and_not_at_it() -> None:
    assert (SESSION.first("answer", after=1), SESSION.last("answer", before=2)) == (2, 1)
    assert (SESSION.first("answer", after=6), SESSION.last("answer", before=1)) == (None, None)


def test_kinds_are_counted_in_a_stretch_in_a_fixed_order() -> None:
    assert SESSION.tally(1, 6) == {"synthetic": 1, "compaction-request": 1, "compaction-summary": 1, "answer": 2}
    assert list(SESSION.tally()) == list(KINDS)


def test_a_skim_is_made_of_the_columns_and_a_slice_is_several() -> None:
    assert SESSION[3] == Skim(index=3, id="m3", role="user", kind="compaction-request", created=30, parent=0)
    assert SESSION[-1].index == 7
    assert [skim.index for skim in SESSION[2:5]] == [2, 3, 4]
    assert [skim.index for skim in SESSION] == list(range(8))
    assert (SESSION.ids[2], list(SESSION.ids)[7], len(SESSION.ids)) == ("m2", "m7", 8)
    with pytest.raises(IndexError):
        SESSION[8]


def test_skims_are_compared_by_what_they_say() -> None:
    assert made("typed", "answer") == made("typed", "answer")
    assert made("typed", "answer") != made("typed", "typed")
    assert made("typed") != (made("typed")[0],)


def test_what_is_not_recorded_is_none_and_stands_as_a_number_no_record_has() -> None:
    assert SESSION[1].completed is None
    assert SESSION.completed[1] == NONE < -(2**53)


def test_a_parent_is_the_first_message_of_its_name_wherever_it_stands() -> None:
    columns = Columns()
    for index, (id_, parent) in enumerate([("a", "b"), ("b", None), ("b", "b"), ("c", "nowhere")]):
        columns.add(Skim(index=index, id=id_, role="user", kind="typed"), parent, [])
    assert list(columns.link()) == [1, -1, 1, -1]
    assert columns.doubled == 1


CALLS = made(
    *("typed", "answer", "answer", "answer"),
    calls={1: [(7, FAILED, 0), (0, OK, LIST_DONE)], 3: [(9, OK, 0), (7, OK, 0), (0, FAILED, 0)]},
).calls


def test_calls_are_numbered_through_the_session() -> None:
    assert len(CALLS) == 5
    assert [list(CALLS.of(index)) for index in range(4)] == [[], [0, 1], [], [2, 3, 4]]
    assert [CALLS.message_of(number) for number in range(5)] == [1, 1, 3, 3, 3]
    assert CALLS.messages == array("i", [1, 1, 3, 3, 3])
    assert (CALLS.outcomes[0], CALLS.steps[1]) == (FAILED, LIST_DONE)


def test_the_same_command_is_found_over_the_whole_session_and_nothing_is_the_same_as_nothing() -> None:
    assert CALLS.same(3) == CALLS.same(0) == CALLS.with_subject(7) == [0, 3]
    assert CALLS.same(1) == CALLS.with_subject(0) == []
    assert CALLS.with_subject(8) == []
