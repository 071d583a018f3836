"""What a session gives: message k and no other, ids, the hash, and texts that a change reaches without exception."""

from __future__ import annotations

import hashlib
from array import array
from typing import Any

import msgspec
import pytest

from narrator.formats._clean import map_text
from narrator.session import (
    About,
    Fault,
    File,
    Marker,
    Message,
    Reader,
    Reasoning,
    Session,
    Skim,
    Skims,
    Text,
    Tokens,
    ToolCall,
)
from narrator.skims import Columns

ABOUT = About(format="test", id="s1", title="A title", file="f.json")
DOCUMENT = b'{"messages": [1, 2, 3]}'


def message(index: int) -> Message:
    return Message(index=index, id=f"m{index}", role="user", blocks=())


def skims(*ids: str) -> Skims:
    columns = Columns()
    for index, id_ in enumerate(ids):
        columns.add(Skim(index=index, id=id_, role="user", kind="typed"), None, [])
    return Skims(columns, columns.link())


def session(*ids: str, **more: Any) -> tuple[Session, list[int], list[int]]:
    """A session of as many messages as ids, with what was read and how often it was skimmed."""
    read: list[int] = []
    skimmed: list[int] = []

    def read_one(index: int) -> Message:
        read.append(index)
        return message(index)

    def skim_all() -> Skims:
        skimmed.append(len(ids))
        return skims(*ids)

    reader = Reader(
        messages=len(ids),
        message=read_one,
        peek=read_one,
        length=lambda index: 10 + index,
        skims=skim_all,
        traits=lambda: array("I", [0] * len(ids)),
        stored=lambda: len(DOCUMENT),
        digest=lambda: hashlib.sha256(DOCUMENT).hexdigest(),
        find=lambda wanted: (k for k, id_ in enumerate(ids) if wanted(id_.encode())),
    )
    return Session(ABOUT, reader, **more), read, skimmed


def test_nothing_is_read_before_it_is_asked_for() -> None:
    made, read, skimmed = session("a", "b", "c")
    assert len(made) == 3
    assert made.about is ABOUT
    assert made.notices == ()
    assert made.sha256
    assert (read, skimmed) == ([], [])


def test_a_message_is_read_once_and_no_other_with_it() -> None:
    made, read, skimmed = session("a", "b", "c")
    assert made.message(2).index == 2
    assert made.message(2) is made.message(2)
    assert (read, skimmed) == ([2], [])


def test_skims_are_made_once() -> None:
    made, read, skimmed = session("a", "b")
    assert [entry.id for entry in made.skims] == ["a", "b"]
    assert made.skims is made.skims
    assert (read, skimmed) == ([], [2])


def test_an_id_leads_to_its_place_and_a_duplicate_to_the_first() -> None:
    made, _, _ = session("z", "a", "z", "a")
    assert made.positions == {"z": 0, "a": 1}


def test_nothing_is_masked_unless_a_reader_says_so() -> None:
    assert session("a")[0].redacted() == {}
    assert session("a", redacted=lambda: {"token": 2})[0].redacted() == {"token": 2}


@pytest.mark.parametrize(
    ("field", "block", "path"),
    [
        pytest.param("created", None, "time.created", id="a field of the message"),
        pytest.param("finish", None, "finish", id="a field of the same name"),
        pytest.param("exit", ToolCall(at="parts[3]", name="bash", input={}, status="completed"), "parts[3].state.exit", id="a field of a call"),
        pytest.param("title", ToolCall(at="parts[3]", name="bash", input={}, status="completed"), "parts[3].title", id="a call's field of the same name"),
    ],
)  # fmt: skip
def test_a_field_has_the_formats_own_path(field: str, block: ToolCall | None, path: str) -> None:
    made, _, _ = session("a", fields={"created": "time.created", "call.exit": "state.exit"})
    assert made.native(field, block) == path


FULL = Message(
    index=4,
    id="id",
    role="assistant",
    blocks=(
        Text(at="at", text="text", synthetic=True),
        Reasoning(at="at", text="thought"),
        ToolCall(
            at="at",
            name="tool",
            input={"key": "input"},
            status="error",
            output="output",
            error="error",
            exit=1,
            started=2,
            ended=3,
            interrupted="stopped",
            invalid=True,
            truncated=True,
            pruned=4,
            child="child",
        ),
        File(at="at", name="file", mime="mime", size=5),
        Marker(at="at", kind="kind", text="mark"),
    ),
    created=6,
    completed=7,
    parent="parent",
    finish="finish",
    fault=Fault(name="fault", message="said", status=500),
    tokens=Tokens(input=1, output=2, reasoning=3, cache_read=4, cache_write=5),
    model="model",
    agent="agent",
    summary=True,
    called=True,
    oddities=("odd",),
)
FREE = {"at", "role", "status", "type", "tag"}
"""Words of ours that no recording decides."""


def words_of(value: Any, field: str = "") -> list[tuple[str, str]]:
    """Every string in a message with the field it stands in."""
    if isinstance(value, str):
        return [(field, value)]
    if isinstance(value, msgspec.Struct):
        return [pair for name in value.__struct_fields__ for pair in words_of(getattr(value, name), name)]
    if isinstance(value, tuple):
        return [pair for item in value for pair in words_of(item, field)]
    return []


def test_a_change_reaches_every_recorded_text() -> None:
    changed = map_text(FULL, str.upper, lambda _value: "INPUT")
    left = [(field, word) for field, word in words_of(changed) if word != word.upper() and field not in FREE]
    assert left == []
    assert len(words_of(changed)) == len(words_of(FULL)) + 1  # the input was no text before


def test_a_change_of_text_changes_nothing_else() -> None:
    assert map_text(FULL, lambda text: text, lambda value: value) == FULL


def test_where_nothing_is_recorded_nothing_is_made_up() -> None:
    bare = Message(
        index=0, id="m", role="user", blocks=(ToolCall(at="parts[0]", name="x", input=None, status="pending"),)
    )
    assert map_text(bare, lambda text: text + "!", lambda value: value) == msgspec.structs.replace(
        bare, id="m!", blocks=(ToolCall(at="parts[0]", name="x!", input=None, status="pending"),)
    )


@pytest.mark.parametrize(
    "value", [ABOUT, FULL, FULL.blocks[0], skims("a", "b")[1], Tokens(), Fault(name="a", message="b")]
)
def test_a_value_never_changes(value: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(value, value.__struct_fields__[0], "x")
