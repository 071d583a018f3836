"""A style: a folder with a manifest, and with whatever templates of a prompt are to differ from the shared ones."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from narrator.assets import folders
from narrator.errors import StyleError
from narrator.record import Record

MANIFEST = "style.toml"
ENGLISH = "English"

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

    least: int = Field(ge=0, strict=True)
    most: int = Field(ge=0, strict=True)

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
    """One line for `narrate styles`; begins the prompt, too, where the style has no words of its own for that."""
    title: Line = "`# ` and 6 to 14 words that name the part the message plays, not the project."
    """What the first line is like, told to the writer."""
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

    @property
    def parts(self) -> tuple[Section, ...]:
        """The sections that are on, in order."""
        return tuple(section for section in self.sections if section.on)


def load_style(name: str) -> Style:
    """The style called `name` that ships, or the one in the folder at `name`.

    Raises:
        StyleError: no such style (the others are listed), or its manifest is wrong (file and line are named).
    """
    shipped = folders("prompts")
    folder = shipped.get(name) or Path(name)
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise StyleError(f"no style {name!r}; there are: {', '.join(shipped)}; or give a folder with a {MANIFEST}")
    try:
        text = manifest.read_text("utf-8")
        settings = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StyleError(f"{manifest}: {error}") from error
    try:
        named = settings.get("name", folder.resolve().name)
        return Style.model_validate({**settings, "name": named, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"])
        raise StyleError(f"{manifest}{_line(text, first['loc'])}: {key}: {first['msg']}") from error


def list_styles() -> tuple[Style, ...]:
    """Every style that ships."""
    return tuple(load_style(name) for name in folders("prompts"))


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


def _line(text: str, place: Sequence[int | str]) -> str:
    """`, line N` of the line that sets the key at `place`, or of the nearest thing around it that has a line."""
    found: int | None = None
    start, lines = 0, text.splitlines()
    for step, following in zip(place, [*place[1:], ""], strict=True):
        if isinstance(step, int):
            continue
        heads = [n for n in range(start, len(lines)) if lines[n].strip() == f"[[{step}]]"]
        if isinstance(following, int) and following < len(heads):
            found = start = heads[following]
            continue
        found = next((n for n in range(start, len(lines)) if lines[n].split("=")[0].strip() == step), found)
    return f", line {found + 1}" if found is not None else ""
