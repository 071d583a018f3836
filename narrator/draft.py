"""A draft: an essay with all that it came from, saved atomically.

A page can be made from it again with no session and no model. The file's shape is a contract (`docs/draft.md`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from narrator.context import SessionRef, TargetRef
from narrator.disk import write_whole
from narrator.errors import DraftError, ExistsError, reason
from narrator.findings import Finding
from narrator.record import Record
from narrator.report import Check, Repair
from narrator.session import Role

SCHEMA: Literal[2] = 2
"""Version of the draft's shape; a change of meaning or a removed key raises it."""

LOOKED_UP = "looked_up"
"""Beside what was sent to a model: how many times it looked something up."""

_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}


class StyleRef(Record):
    """The style an essay was written in."""

    name: str
    version: str
    prompt_sha256: str | None = None
    """Of its manifest and templates (`fingerprint.fingerprint_style`); None in drafts of early versions."""


class ModelRef(Record):
    """The model that wrote it."""

    name: str
    base_url: str | None = None
    """None for the SDK's default endpoint."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What was really sent beside the messages in the request that brought the essay, by its names on the wire (tools
    by their own), and `looked_up`."""


class Usage(Record):
    """Tokens as the endpoint counted them."""

    input: int = 0
    """Cached ones included."""
    output: int = 0
    """Reasoning included."""
    cached: int = 0
    reasoning: int = 0

    @staticmethod
    def total(counted: Iterable[Usage]) -> Usage:
        """The tokens of several requests together."""
        sums = Usage()
        for usage in counted:
            sums = Usage(**{name: count + getattr(usage, name) for name, count in dict(sums).items()})
        return sums


class Cost(Record):
    """What the tokens that the endpoint counted cost."""

    usd: float = Field(ge=0)
    """US dollars."""
    source: str
    """Where the prices are from: `genai-prices 0.2.3`, or `--price 2,0.2,10`."""


class EvidenceMessage(Record):
    """One cited message as it is shown to a reader: redacted as sent, long ones as the model saw them."""

    index: int
    role: Role
    time: str | None = None
    """ISO 8601, UTC."""
    text: str


class Essay(Record):
    """The essay in Markdown."""

    written: str
    """As the writer gave it, an outer fence and private thoughts removed."""
    final: str
    """As it is published: after repair."""


class Redone(Record):
    """A section that was written again."""

    section: str
    """Its heading as it was; "" for the introduction, which has none."""
    before: str
    """Its Markdown before, heading included; it stands nowhere else."""
    prompt_sha256: str
    """Of the style's manifest and templates when it was written again."""
    finished: str
    """When that was; ISO 8601, UTC."""


class Times(Record):
    """When it was made; ISO 8601, UTC."""

    started: str
    finished: str


class Draft(Record):
    """One essay and all that it came from."""

    schema_: Literal[2] = Field(default=SCHEMA, alias="schema")
    session: SessionRef
    target: TargetRef
    style: StyleRef
    model: ModelRef | None = None
    """None: written offline, without a model."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What the call set that makes another essay, by the names of its options; only what was set."""
    usage: Usage | None = None
    cost: Cost | None = None
    """None when the price is unknown, or the endpoint counted nothing."""
    findings: tuple[Finding, ...] = ()
    evidence: tuple[EvidenceMessage, ...] = ()
    evidence_sha256: str | None = None
    """Of all that the writer was given and looked up (`fingerprint.fingerprint_context`); None in early drafts."""
    essay: Essay
    check: Check | None = None
    repair: tuple[Repair, ...] = ()
    """In the order in which they were judged."""
    redone: tuple[Redone, ...] = ()
    """Sections that were written again, in order."""
    redacted: dict[str, int] = Field(default_factory=dict)
    """Kind of secret → how many different ones were masked in what was read."""
    times: Times


def identity(
    sha256: str, target: int, style: StyleRef, model: ModelRef | None, settings: Mapping[str, Any] | None = None
) -> str:
    """Hex digest of what makes two drafts the same essay: session, target, style and version, model and settings.

    `settings` are those of the call (`Draft.settings`). What was really sent follows from them and from the endpoint's
    answers; it is no part of this, and neither is the fingerprint of a prompt.
    """
    asked: dict[str, Any] | None = {"settings": dict(settings)} if settings else None
    if model is not None:
        asked = {"name": model.name, "base_url": model.base_url, "settings": dict(settings or {})}
    facts = [sha256, target, style.name, style.version, asked]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def identity_of(draft: Draft) -> str:
    """The identity a saved draft was written under."""
    return identity(draft.session.sha256, draft.target.index, draft.style, draft.model, draft.settings)


def slug(title: str, session_id: str) -> str:
    """Folder name of a session: one component of `[a-z0-9-]`, at most 60 bytes, not a reserved device name.

    The title for people, eight hex digits of the id's hash so that two sessions never share a folder.
    """
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:48].strip("-")
    tail = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    stem = "session" if not words or words.split("-")[0] in _RESERVED else words
    return f"{stem}-{tail}"


def draft_names(index: int, style: str, identity_: str) -> tuple[str, str]:
    """The names that a draft of this identity may have in its session's folder: the plain one, and one of its own.

    The plain name belongs to whichever identity came first; the other has six characters of the identity's hash.
    """
    style = re.sub(r"[^A-Za-z0-9_-]+", "-", style) or "style"
    return f"{index}-{style}.json", f"{index}-{style}-{identity_[:6]}.json"


def draft_path(folder: Path, slug_: str, index: int, style: str, identity_: str) -> Path:
    """Where a draft of this identity is, or would go: its plain name, or the one of its own (`draft_names`)."""
    plain, own = (folder / slug_ / name for name in draft_names(index, style, identity_))
    if not plain.exists():
        # Whoever had the plain name may be gone: what is saved beside it is still the same essay.
        return own if own.exists() and _identity_at(own) == identity_ else plain
    return plain if _identity_at(plain) == identity_ else own


def _identity_at(path: Path) -> str | None:
    try:
        return identity_of(load_draft(path))
    except DraftError:
        return None


def save_draft(draft: Draft, path: Path, *, replace: bool = True) -> Path:
    """Write `draft` to `path` whole or not at all; gives where it went.

    Unless `replace`, a file that another run put there meanwhile stays, and the draft goes beside it under the name
    that has a part of its identity: a paid essay is not lost, and none is overwritten.

    Raises:
        DraftError: the file could not be written; what stood there before is untouched.
    """
    try:
        write_whole(path, dump_draft(draft), replace=replace)
    except ExistsError:
        tail = f"-{identity_of(draft)[:6]}"
        path = path.with_name(f"{path.stem.removesuffix(tail)}{tail}.json")
        write_whole(path, dump_draft(draft))
    return path


def dump_draft(draft: Draft) -> str:
    """The draft as strict JSON (no NaN), indented, keys in the contract's order, one line feed at the end.

    A lone surrogate (a byte of a folder's name that is no UTF-8) becomes U+FFFD: no file can hold it.
    """
    text = json.dumps(draft.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=1, allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") + "\n"


def load_draft(path: Path) -> Draft:
    """Read a draft.

    Raises:
        DraftError: no such file, not a draft, or written by a version whose shape this one does not know.
    """
    try:
        return read_draft(path.read_bytes(), str(path))
    except OSError as error:
        raise DraftError(f"{path}: {reason(error)}") from error


def read_draft(text: str | bytes, name: str) -> Draft:
    """The draft in a text; `name` says in an error where it is from.

    Raises:
        DraftError: not a draft, or written by a version whose shape this one does not know.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DraftError(
            f"{name}: not a draft: it is not JSON; drafts are written by `narrate --msg N SESSION`"
        ) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema is None:
        raise DraftError(f"{name}: not a draft: no `schema` key; drafts are written by `narrate --msg N SESSION`")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise DraftError(f"{name}: draft schema {schema!r}; this version of narrate reads schema {SCHEMA} and earlier")
    try:
        return Draft.model_validate(migrate(data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise DraftError(f"{name}: not a valid draft: {where}: {first['msg']}") from error


def migrate(data: dict[str, Any]) -> dict[str, Any]:
    """A draft of an earlier schema in the shape of this one; its identity stays what it was.

    In schema 1 what was set stood in the model's settings, and a cost, which was never known, was a bare number.
    """
    if data["schema"] == SCHEMA:
        return data
    moved = {**data, "schema": SCHEMA}
    model, cost = data.get("model"), data.get("cost")
    if isinstance(model, dict) and isinstance(settings := model.get("settings"), dict):
        moved["settings"] = {name: value for name, value in settings.items() if name != LOOKED_UP}
        moved["model"] = {**model, "settings": {LOOKED_UP: settings[LOOKED_UP]} if LOOKED_UP in settings else {}}
    if isinstance(cost, int | float):
        moved["cost"] = {"usd": cost, "source": "unknown"}
    return moved
