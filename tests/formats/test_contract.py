"""What holds for every session format, found by walking the folder as the product does.

A format is tested here by its recordings: small files in `tests/formats/<format>/`, each named after its case.
"""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from msgspec import Struct, structs

import narrator.formats
from narrator.document import Document, find_document
from narrator.formats import Format, find_formats, open_session
from narrator.session import Message, Session
from narrator.source import read_source

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
MODULES = sorted(info.name for info in pkgutil.iter_modules(narrator.formats.__path__) if info.name[0] != "_")
CASES = [
    pytest.param(name, path, id=f"{name}: {path.stem}")
    for name in MODULES
    for path in sorted((FOLDER / name).glob("*"))
    if path.is_file()
]
every_case = pytest.mark.parametrize(("name", "path"), CASES)


def recorded(path: Path) -> Document:
    return find_document(read_source(str(path)))


def whole(session: Session) -> list[Message]:
    return [session.message(index) for index in range(len(session))]


def spoken(message: Message) -> list[str]:
    """Names of the fields in which a message says something."""
    return [name for name in message.__struct_fields__ if getattr(message, name)]


def test_there_are_formats_and_the_walk_finds_each_module() -> None:
    assert MODULES
    assert sorted(find_formats()) == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_one_format_of_its_own_name(name: str) -> None:
    found = import_module(f"narrator.formats.{name}").FORMAT
    assert isinstance(found, Format)
    assert found.name == name
    assert found is find_formats()[name]
    assert re.fullmatch(r"[^\n]{20,120}", found.says), "one line for `narrate formats`"


@pytest.mark.parametrize("name", MODULES)
def test_a_format_is_named_in_the_readme(name: str) -> None:
    assert f"`{name}`" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_a_format_has_a_recording_here(name: str) -> None:
    assert [path for path in (FOLDER / name).glob("*") if path.stat().st_size < 100_000]


@pytest.mark.parametrize("name", MODULES)
def test_a_format_names_its_paths_for_fields_that_we_have(name: str) -> None:
    values: list[type[Struct]] = [
        getattr(narrator.session, value) for value in ("Message", "ToolCall", "Fault", "Tokens", "About")
    ]
    ours = {field.name for value in values for field in structs.fields(value)} | {"provider"}  # half of `model`
    fields = find_formats()[name].fields
    assert fields
    assert {part for field in fields for part in field.split(".")[-1:]} <= ours


@every_case
def test_a_recording_is_known_by_its_own_format_and_by_no_other(name: str, path: Path) -> None:
    assert [found.name for found in find_formats().values() if found.sniff(recorded(path))] == [name]


@every_case
def test_a_number_is_the_place_in_the_list(name: str, path: Path) -> None:
    session = open_session(str(path))
    assert session.about.format == name
    assert len(session) > 0
    assert [message.index for message in whole(session)] == list(range(len(session)))
    assert [skim.index for skim in session.skims] == list(range(len(session)))


@every_case
def test_a_message_alone_is_that_of_the_whole(name: str, path: Path) -> None:
    together = whole(open_session(str(path)))
    for index in reversed(range(len(together))):
        alone = open_session(str(path)).message(index)
        assert alone == together[index], name
        assert spoken(alone)


@every_case
def test_reading_twice_is_the_same(name: str, path: Path) -> None:
    one, other = open_session(str(path)), open_session(str(path))
    assert whole(one) == whole(other)
    assert (one.about, one.skims, one.notices, one.sha256) == (other.about, other.skims, other.notices, other.sha256)
    assert one.about.format == name


@every_case
def test_a_skim_agrees_with_its_message(name: str, path: Path) -> None:
    session = open_session(str(path))
    assert session.about.format == name
    for skim, message in zip(session.skims, whole(session), strict=True):
        shared = ("id", "role", "created", "completed", "model")
        assert [getattr(skim, field) for field in shared] == [getattr(message, field) for field in shared]
        assert skim.parent == session.positions.get(message.parent or "")


@every_case
def test_every_id_leads_to_a_message_that_has_it(name: str, path: Path) -> None:
    session = open_session(str(path))
    assert session.about.format == name
    assert all(session.message(index).id == id_ for id_, index in session.positions.items())


@every_case
def test_a_recording_is_read_without_an_oddity(name: str, path: Path) -> None:
    session = open_session(str(path))
    assert session.about.format == name
    assert {oddity for message in whole(session) for oddity in message.oddities} == set()
