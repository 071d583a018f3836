"""A style: a folder with a manifest, and with whatever templates of a prompt are to differ from the shared ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, get_args

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from narrator.assets import folders
from narrator.errors import StyleError
from narrator.language import ENGLISH, name_language
from narrator.manifest import Manifest, read_manifest
from narrator.record import Record

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MANIFEST = "style.toml"
USUAL = "essay"
"""The style that is taken where none is named."""
MOST = 100_000
"""Words or citations that no essay has."""

Matter = Literal[
    "introduction",
    "message",
    "context",
    "before",
    "cause",
    "after",
    "assumptions",
    "input",
    "output",
    "lesson",
    "conclusion",
    "impact",
    "timeline",
    "contributing",
    "went-well",
    "actions",
]
"""What a section can be about, for the writer that has no model; a closed list."""

Line = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\S[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")
]
"""A text on one line, not empty."""
Words = Annotated[str, StringConstraints(pattern=r"\S")]
"""A text that is not empty."""


class Span(Record):
    """A wanted range."""

    least: int = Field(ge=0, le=MOST, strict=True)
    most: int = Field(ge=1, le=MOST, strict=True)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least, {self.least}, is above most, {self.most}")
        return self

    def times(self, factor: float) -> Span:
        """The range for a text that many times as long."""
        return Span(least=round(self.least * factor), most=max(1, round(self.most * factor)))


class Section(Record):
    """One part of the essay; the parts come in the order of the manifest."""

    name: Line
    """What it is called in prompts and options, once in a style; the heading is the writer's."""
    matter: Matter | None = None
    """What it is about, for the offline writer; None: only a model knows."""
    on: bool = Field(default=True, strict=True)
    """Whether it is asked for."""
    heading: bool = Field(default=True, strict=True)
    """Whether it has a `##` heading of its own."""
    does: Words
    """What it is for, told to the writer."""
    words: Span


class Style(Record):
    """What an essay of this style is like."""

    name: Line
    version: Line
    """Raised whenever a prompt of this style would differ: it is part of a draft's identity."""
    says: Line
    """One line for `narrate styles`; the prompt begins with it, too, unless the style has an opening of its own."""
    title: Line = "`# ` and 6 to 14 words that name the part the message plays, not the project."
    """What the first line is like, told to the writer."""
    headings: Line = 'in Title Case that carry content ("Context: The ABI Mismatch", not "Context")'
    """What the headings of parts are like, told to the writer; follows "under `##` headings"."""
    words: Span
    """Length of the whole."""
    citations: Span
    """Citations in a whole of that length; `scale_style` makes them more or fewer with it."""
    language: Line = ENGLISH
    """What it is written in; quotations stay as recorded."""
    sections: tuple[Section, ...] = Field(min_length=1)
    """All of the manifest; see `parts`."""
    folder: Path
    """Where the manifest is, and its own templates."""

    @field_validator("language")
    @classmethod
    def _by_name(cls, language: str) -> str:
        try:
            return name_language(language)
        except ValueError as error:
            raise ValueError(f"{language!r} {error}") from error

    @property
    def parts(self) -> tuple[Section, ...]:
        """The sections that are on, in order."""
        return tuple(section for section in self.sections if section.on)


def load_style(name: str) -> Style:
    """The style called `name` that ships, or the one in the folder at `name`.

    Raises:
        StyleError: no such style (the others are listed), or its manifest is wrong (file and line are named).
    """
    shipped = _shipped()
    folder = shipped.get(name) or Path(name)
    if not name.strip() or not folder.is_dir():
        raise StyleError(f"no style {name!r}; there are: {', '.join(shipped)}; or give a folder with a {MANIFEST}")
    if not (folder / MANIFEST).exists():
        raise StyleError(f"{folder}: no style: the folder has no {MANIFEST}")
    manifest = read_manifest(folder / MANIFEST)
    if "folder" in manifest.settings:
        raise manifest.error(["folder"], f"unknown key `folder`; there are: {', '.join(_keys(['folder']))}")
    try:
        named = manifest.settings.get("name", folder.resolve().name)
        style = Style.model_validate({**manifest.settings, "name": named, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        raise manifest.error(first["loc"], _says(first)) from error
    _check_sections(style, manifest)
    return style


def _check_sections(style: Style, manifest: Manifest) -> None:
    seen = dict[str, int]()
    for number, section in enumerate(style.sections):
        name = section.name.strip().casefold()
        if name in seen:
            first = manifest.line(["sections", seen[name], "name"])
            says = f"section {section.name!r} is there twice, first on line {first}"
            raise manifest.error(["sections", number, "name"], says)
        seen[name] = number
    if not style.parts:
        raise manifest.error(["sections"], "every section is off")


def _says(error: ErrorDetails) -> str:
    """What is wrong with a setting, in the words of a manifest."""
    key, section = _named(error["loc"])
    says = {
        "extra_forbidden": f"unknown key `{key}`{section}; there are: {', '.join(_keys(error['loc']))}",
        "missing": f"`{key}` is missing{section.replace(' of', ' in')}",
        "literal_error": f"no matter {error['input']!r}{section}; there are: {', '.join(get_args(Matter))}",
        "string_pattern_mismatch": f"`{key}`{section} is empty{'' if key == 'does' else ' or not one line'}",
        "too_short": "no sections; a style has at least one",
        "model_type": f"`{key}`{section} is no table" if key else f"{section.removeprefix(' of ')} is no table",
        "tuple_type": f"`{key}` is no list of tables; begin each with [[{key}]]",
    }
    usual = f"`{key}`{section}: {error['msg'].removeprefix('Value error, ')}"
    return says.get(error["type"], usual)


def _named(place: Sequence[int | str]) -> tuple[str, str]:
    """The key at a place, and ` of section N` where it is one of a section's."""
    section = f" of section {int(place[1]) + 1}" if len(place) > 1 and place[0] == "sections" else ""
    return ".".join(str(step) for step in place[2 if section else 0 :]), section


def _keys(place: Sequence[int | str]) -> Iterable[str]:
    """The keys that may stand beside the one at `place`."""
    beside = [step for step in place[:-1] if isinstance(step, str)]
    table = Style if not beside else Section if beside == ["sections"] else Span
    return (key for key in table.model_fields if key != "folder")


def list_styles() -> tuple[Style, ...]:
    """Every style that ships, the usual one first."""
    return tuple(load_style(name) for name in _shipped())


def _shipped() -> dict[str, Path]:
    """Name → folder."""
    found = folders("prompts")
    return dict(sorted(found.items(), key=lambda item: item[0] != USUAL))


def adapt_style(style: Style, *, length: int | None = None, language: str | None = None) -> Style:
    """`style` as it is asked for: of about `length` words, in `language` (its English name)."""
    scaled = style if length is None else scale_style(style, length)
    return scaled if language is None else scaled.model_copy(update={"language": language})


def scale_style(style: Style, length: int) -> Style:
    """`style` for an essay of about `length` words: its parts and its citations shrink or grow with the whole."""
    factor = 2 * length / max(1, style.words.least + style.words.most)
    return style.model_copy(
        update={
            "words": Span(least=round(length * 0.88), most=round(length * 1.12)),
            "citations": style.citations.times(factor),
            "sections": tuple(part.model_copy(update={"words": part.words.times(factor)}) for part in style.sections),
        }
    )
