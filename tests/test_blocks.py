"""A document in blocks: the same messages as one reading of the whole gives, whatever its size, layout and damage."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from recordings import EXAMPLE, assistant, export, tool, user, write

from narrator import blocks, formats
from narrator.blocks import Blocks, lay_out
from narrator.document import find_document
from narrator.errors import SessionError
from narrator.formats import open_session, opencode
from narrator.formats.opencode.skims import take_block
from narrator.skims import Columns
from narrator.source import Source, read_source


def laid(source: Source) -> tuple[Blocks, tuple[str, ...], Columns] | None:
    columns = Columns()
    found = lay_out(source, lambda block: take_block(block, columns))
    return None if found is None else (Blocks(source, found[0]), found[1], columns)


def talk(count: int, size: int = 300) -> dict[str, Any]:
    chance = random.Random(count)
    turns = [user(f"go {k}") if k % 9 == 0 else assistant("x" * chance.randrange(size), tool()) for k in range(count)]
    return export(*turns)


LAYOUTS = {
    "as opencode writes it": lambda document: json.dumps(document, indent=2) + "\n",
    "compact": lambda document: json.dumps(document, separators=(",", ":")),
    "as json.dump writes it": json.dumps,
    "with tabs": lambda document: json.dumps(document, indent="\t"),
    "a bare list": lambda document: json.dumps(document["messages"], indent=1),
    "messages, then more": lambda document: json.dumps({"info": {}, "messages": document["messages"], "z": [1, {}]}),
    "carriage returns": lambda document: json.dumps(document, indent=2).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("block", [200, 1000, 1 << 17], ids=["tiny blocks", "small blocks", "one block"])
@pytest.mark.parametrize("layout", [pytest.param(layout, id=name) for name, layout in LAYOUTS.items()])
def test_blocks_hold_what_the_document_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: Any, block: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    text = layout(talk(60))
    source = read_source(write(tmp_path, text))
    found = laid(source)
    assert found is not None
    whole = find_document(source)
    assert [bytes(found[0].message(index)) for index in range(len(found[0]))] == [bytes(raw) for raw in whole.messages]
    assert found[0].digest() == hashlib.sha256(text.encode()).hexdigest() == hashlib.sha256(whole.text).hexdigest()
    assert found[0].stored() == sum(len(bytes(raw)) for raw in whole.messages)
    assert b"".join(found[0].walk()).count(b'"role"') == len(found[0]) == len(found[2].kinds) == 60
    assert found[0].top().keys() == whole.top.keys()
    assert (len(found[0].layout.starts) > 5) == (block <= 1000)


def test_a_message_larger_than_many_blocks_is_one_block_and_read_in_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 500)
    read: list[int] = []
    source = read_source(write(tmp_path, export(user("a"), assistant("b" * 400_000), assistant("c"), assistant("d"))))
    plain = source.read_into

    def counted(buffer: memoryview, start: int) -> int:
        read.append(count := plain(buffer, start))
        return count

    monkeypatch.setattr(source, "read_into", counted)
    found = laid(source)
    assert found is not None
    assert [len(bytes(found[0].message(index))) > 400_000 for index in range(4)] == [False, True, False, False]
    assert sum(read) < 2.5 * source.size
    assert len(read) < 60


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{}", id="no messages"),
        pytest.param('{"messages": []}', id="an empty list"),
        pytest.param('{"messages": [{"role": "user"}]}', id="another format"),
        pytest.param('{"a": {"messages": [{"info": {}}]}}', id="a list further down"),
        pytest.param('log line\n{"messages": [{"info": {}}]}', id="a log line before it"),
        pytest.param('{"messages": [{"info": {}}]}\nlog line', id="a log line behind it"),
        pytest.param('{"messages": [{"info": {}}]', id="cut before its end"),
        pytest.param('{"messages": [{"info": {}}, {"info": {"a": "b', id="cut inside a string"),
        pytest.param('[{"info": {}}] [{"info": {}}]', id="two documents"),
        pytest.param('{"messages": [{"info": {}}, 5}', id="closed by the wrong bracket"),
        pytest.param('{"messages": [{"info": ' + '{"a":' * 2000 + "1" + "}" * 2000 + "}]}", id="nested too deeply"),
        pytest.param('{"messages": [{"info": {}} {"info": {}}]}', id="no comma between two"),
        pytest.param('{"x": "' + "y" * 5_000_000 + '", "messages": [{"info": {}}]}', id="too much before the messages"),
    ],
)
def test_what_is_not_one_plain_document_is_left_to_the_slower_way(tmp_path: Path, text: str) -> None:
    assert laid(read_source(write(tmp_path, text))) is None


def test_a_border_inside_a_message_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 200)
    nested = [{"info": {"a": 1}}, {"info": {"b": 2}}] * 50
    document = export(user("go"), assistant(tool(metadata={"exit": 0, "list": nested})))
    path = write(tmp_path, document)
    assert laid(read_source(path)) is None
    assert len(open_session(path)) == 2


def test_a_border_is_not_looked_for_in_recorded_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 300)
    words = '}, {"info": {"role": "user"}}, {"info":'
    path = write(tmp_path, export(*(assistant(words * 9, words) for _ in range(20))))
    found = laid(read_source(path))
    assert found is not None
    assert len(found[0]) == 20


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        pytest.param(rb"\ud83d", "2 lone surrogate(s) read as U+FFFD", id="half a surrogate pair"),
        pytest.param(b'", "n": NaN, "m": "', "2 NaN or Infinity read as null", id="not a number"),
    ],
)
def test_what_strict_json_lacks_is_mended_in_its_block_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes, told: str
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 2000)
    data = json.dumps(talk(80), indent=2).encode().replace(b'"go 9"', b'"go %b"' % damage)
    data = data.replace(b'"go 54"', b'"go %b"' % damage)
    source = read_source(write(tmp_path, data))
    found = laid(source)
    assert found is not None
    assert found[1] == (told,)
    assert 0 < len(found[0].layout.mended) <= 2
    whole = find_document(source)
    assert [bytes(found[0].message(k)) for k in range(80)] == [bytes(raw) for raw in whole.messages]
    assert found[0].digest() == hashlib.sha256(whole.text).hexdigest()


def test_a_file_that_is_written_to_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 500)
    path = write(tmp_path, talk(50))
    session = open_session(path)
    Path(path).write_text("[]", "utf-8")
    with pytest.raises(SessionError, match="changed while it was read"):
        session.message(30)


def test_any_layout_of_any_cut_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 400)
    data = json.dumps(talk(12, 60), indent=1).encode()
    for end in range(7, len(data), 7):
        path = tmp_path / "cut.json"
        path.write_bytes(data[:end] + b" ")
        assert laid(read_source(str(path))) is None, end


def test_the_example_is_read_in_blocks() -> None:
    found = laid(read_source(str(EXAMPLE)))
    assert found is not None
    assert len(found[0].layout.starts) > 3
    assert isinstance(found[0].message(0), Raw)


def test_the_same_command_has_the_same_number_also_in_a_message_that_is_read_the_slow_way(tmp_path: Path) -> None:
    calls = [
        tool(input={"command": "make"}),
        tool(input={"filePath": "a.py"}),
        tool(input={"command": ""}),
        tool(input={}),
    ]
    slow = assistant(*calls, time={"created": "yesterday"})
    session = open_session(write(tmp_path, export(user("go"), assistant(*calls), slow, assistant(*calls))))
    assert list(session.calls.subjects) == [1, 2, 0, 0] * 3
    assert session.calls.same(0) == [0, 4, 8]


def test_a_format_without_blocks_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, talk(20))
    first = open_session(path)
    bare = opencode.FORMAT._replace(take_block=None)
    monkeypatch.setattr(formats, "find_formats", lambda: {"opencode": bare})
    whole = open_session(path)
    assert (whole.skims, list(whole.traits), whole.sha256) == (first.skims, list(first.traits), first.sha256)
    assert [whole.message(k) for k in range(20)] == [first.message(k) for k in range(20)]
    assert (whole.stored, whole.size(3)) == (first.stored, first.size(3))
