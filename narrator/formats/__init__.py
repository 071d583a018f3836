"""Session formats: one reader a file, found by walking this folder.

A format module has one public name, `FORMAT`. To add a format is to add a file (`CONTRIBUTING.md` has the recipe).
"""

from __future__ import annotations

import hashlib
import pkgutil
from array import array
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from narrator.blocks import Blocks, lay_out
from narrator.document import Document, find_document, keys_of, listed, name_other
from narrator.errors import SessionError
from narrator.formats._clean import Cleaner
from narrator.kept import SALT, Kept, keep, keep_traits, recall, recall_traits
from narrator.session import About, Message, Reader, Session, essence
from narrator.shelf import Shelf, open_shelf
from narrator.skims import Columns, Skims
from narrator.source import Source, read_source


class Recording(NamedTuple):
    """What a reader makes of a document: raw values, not yet safe to show."""

    about: About
    read: Callable[[int], Message]
    traits: Callable[[], array[int]]
    """`session.Reader.traits`."""
    notices: tuple[str, ...]


class Format(NamedTuple):
    """A session format."""

    name: str
    says: str
    """One line for `narrate formats`."""
    sniff: Callable[[Document], bool]
    """Whether a document is of this format, by its content."""
    open: Callable[[Document], Recording]
    """Raises SessionError when it is, but cannot be used."""
    take: Callable[[Raw, Columns], None]
    """Appends one stored message to the columns of a session."""
    fields: Mapping[str, str]
    """Our name of a field → the format's own path."""
    take_block: Callable[[memoryview, Columns], int] | None = None
    """The same for a JSON list of them, which gives their number; where it is given, so must be `open_blocks`."""
    open_blocks: Callable[[Blocks, str, tuple[str, ...]], Recording] | None = None
    """A recording of a document in blocks, from its name and what had to be stepped over to read it."""


@cache
def find_formats() -> dict[str, Format]:
    """Every format in this folder by name."""
    modules = (
        import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__) if info.name[0] != "_"
    )
    formats: list[Format] = [module.FORMAT for module in modules]
    return {found.name: found for found in formats}


def open_session(path: str, *, redact: bool = True) -> Session:
    """Open the recording at `path` (`-`: standard input).

    Every text of the session that is returned is plain (`sanitize.plain`) and, unless `redact` is False, has known
    secrets masked: nothing further on sees the recorded bytes.

    Raises:
        SessionError: it cannot be read, or no format knows it.
    """
    source = read_source(path)
    shelf = open_shelf(source, SALT)
    for candidate in find_formats().values():
        if session := _open_blocks(source, shelf, candidate, redact=redact):
            return session
    document = find_document(source)
    for candidate in find_formats().values():
        if candidate.sniff(document):
            return _open_whole(document, candidate, redact=redact)
    raise SessionError(f"{document.name}: {_unknown(document)}")


def _open_blocks(source: Source, shelf: Shelf, found: Format, *, redact: bool) -> Session | None:
    """A session whose document is read block by block; None when it cannot be."""
    if found.take_block is None or found.open_blocks is None:
        return None
    kept = recall(shelf) or _gather(source, found.take_block)
    if kept is None:
        return None
    blocks = Blocks(source, kept.layout)
    told = (*source.notices, *(f"{source.name}: {note}" for note in kept.notes))
    recording = found.open_blocks(blocks, source.name, told)
    clean = Cleaner(recording.about.id, redact=redact)
    if not kept.columns.stored_ids and clean.changes_none(kept.columns):
        keep(shelf, kept)
    return Session(
        _clean_about(recording.about, clean),
        Reader(
            messages=len(blocks),
            message=clean.reader(recording.read),
            peek=clean.reader(lambda index: essence(recording.read(index))),
            length=lambda index: len(memoryview(blocks.message(index))),
            skims=lambda: Skims(kept.columns, kept.parents, clean),
            traits=lambda: recall_traits(shelf) or keep_traits(shelf, recording.traits()),
            stored=blocks.stored,
            digest=blocks.digest,
            find=blocks.find,
        ),
        fields=found.fields,
        notices=tuple(clean(notice) for notice in recording.notices),
        redacted=clean.counts,
        shelf=shelf,
    )


def _gather(source: Source, take: Callable[[memoryview, Columns], int]) -> Kept | None:
    columns = Columns()
    laid_out = lay_out(source, lambda block: take(block, columns))
    return Kept(*laid_out, columns, columns.link()) if laid_out and columns.ids else None


def _open_whole(document: Document, found: Format, *, redact: bool) -> Session:
    """A session whose document is in memory."""
    recording = found.open(document)
    messages = document.messages
    clean = Cleaner(recording.about.id, redact=redact)

    def skims() -> Skims:
        columns = Columns()
        for raw in messages:
            found.take(raw, columns)
        return Skims(columns, columns.link(), clean)

    return Session(
        _clean_about(recording.about, clean),
        Reader(
            messages=len(messages),
            message=clean.reader(recording.read),
            peek=clean.reader(lambda index: essence(recording.read(index))),
            length=lambda index: len(memoryview(messages[index])),
            skims=skims,
            traits=recording.traits,
            stored=lambda: sum(len(memoryview(raw)) for raw in messages),
            digest=lambda: hashlib.sha256(document.text).hexdigest(),
            find=lambda wanted: (index for index, raw in enumerate(messages) if wanted(bytes(raw))),
        ),
        fields=found.fields,
        notices=tuple(clean(notice) for notice in recording.notices),
        redacted=clean.counts,
    )


def _unknown(document: Document) -> str:
    first = keys_of(document.messages)
    known = ", ".join(sorted(find_formats()))
    if other := name_other(first | set(document.top)):
        return f"{other}, which this version does not read; it reads {known}"
    return f"messages of no format this version reads ({known}); keys of the first: {listed(first)}"


def _clean_about(about: About, clean: Callable[[str], str]) -> About:
    return replace(
        about,
        id=clean(about.id),
        title=clean(about.title),
        file=clean(about.file),
        version=_maybe(clean, about.version),
        directory=_maybe(clean, about.directory),
        parent=_maybe(clean, about.parent),
        revert=_maybe(clean, about.revert),
        delegated=tuple(clean(child) for child in about.delegated),
    )


def _maybe(change: Callable[[str], str], text: str | None) -> str | None:
    return None if text is None else change(text)
