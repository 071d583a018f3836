"""Session formats: one reader a file, found by walking this folder.

A format module has one public name, `FORMAT`. To add a format is to add a file (`CONTRIBUTING.md` has the recipe).
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from msgspec.structs import replace

from narrator.document import Document, find_document, keys_of, listed, name_other
from narrator.errors import SessionError
from narrator.redact import Redactor
from narrator.sanitize import plain
from narrator.session import About, Message, Session, Skim, essence, map_text
from narrator.source import read_source

_WORD = 64
"""Characters of a text that may be a name (of a model, an agent, a tool) and so come again."""


class Recording(NamedTuple):
    """What a reader makes of a document: raw values, not yet safe to show."""

    about: About
    size: int
    read: Callable[[int], Message]
    skim: Callable[[], tuple[Skim, ...]]
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
    fields: Mapping[str, str]
    """Our name of a field → the format's own path."""


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
    document = find_document(read_source(path))
    for candidate in find_formats().values():
        if candidate.sniff(document):
            return _clean(document, candidate, redact=redact)
    raise SessionError(f"{document.name}: {_unknown(document)}")


def _unknown(document: Document) -> str:
    first = keys_of(document.messages)
    known = ", ".join(sorted(find_formats()))
    if other := name_other(first | set(document.top)):
        return f"{other}, which this version does not read; it reads {known}"
    return f"messages of no format this version reads ({known}); keys of the first: {listed(first)}"


def _clean(document: Document, found: Format, *, redact: bool) -> Session:
    recording = found.open(document)
    redactor = Redactor(recording.about.id) if redact else None
    clean = _cleaner(redactor)

    def clean_input(value: Any) -> Any:
        value = _plain_json(value)
        if redactor is None:
            return value
        if isinstance(value, str):
            return redactor.mask(value)
        text = json.dumps(value, ensure_ascii=False)
        masked = redactor.mask(text)
        return value if masked == text else _loads(masked)

    return Session(
        _clean_about(recording.about, clean),
        count=recording.size,
        read=lambda index: map_text(recording.read(index), clean, clean_input),
        skim=lambda: _clean_skims(recording.skim(), clean),
        document=document.text,
        fields=found.fields,
        notices=tuple(clean(notice) for notice in recording.notices),
        redacted=(lambda: dict(redactor.counts)) if redactor else dict,
        peek=lambda index: map_text(essence(recording.read(index)), clean, clean_input),
    )


def _cleaner(redactor: Redactor | None) -> Callable[[str], str]:
    """Makes a text plain and masks secrets in it; fast for ids, and for the few words that stand in every message."""

    def clean(text: str) -> str:
        text = plain(text)
        return redactor.mask(text) if redactor else text

    clean_word = lru_cache(maxsize=1024)(clean)

    def clean_any(text: str) -> str:
        if text[:4] == "msg_" and text[4:].isalnum() and text.isascii():
            return text
        return clean_word(text) if len(text) <= _WORD else clean(text)

    return clean_any


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


def _clean_skims(skims: tuple[Skim, ...], clean: Callable[[str], str]) -> tuple[Skim, ...]:
    """Recorded words as `map_text` makes them, so that an id, its message's and a parent's are the same word."""
    words = {word for skim in skims for word in (skim.id, skim.parent, skim.model, skim.finish) if word}
    changed = {word: cleaned for word in words if (cleaned := clean(word)) != word}
    if not changed:
        return skims

    def own(word: str | None) -> str | None:
        return changed.get(word, word) if word else word

    return tuple(
        replace(
            skim,
            id=changed.get(skim.id, skim.id),
            parent=own(skim.parent),
            model=own(skim.model),
            finish=own(skim.finish),
        )
        for skim in skims
    )


def _maybe(change: Callable[[str], str], text: str | None) -> str | None:
    return None if text is None else change(text)


def _loads(text: str) -> Any:
    """Masked arguments as JSON again; as text when a mask swallowed a bracket."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain_json(value: Any) -> Any:
    match value:
        case str():
            return plain(value)
        case list():
            return [_plain_json(item) for item in value]
        case dict():
            return {plain(str(key)): _plain_json(item) for key, item in value.items()}
        case _:
            return value
