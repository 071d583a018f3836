"""What a draft was made from, as hashes: two essays that differ in one of them were not asked the same."""

from __future__ import annotations

import hashlib
import json

from narrator.assets import asset_folder
from narrator.context import Context
from narrator.errors import StyleError, reason
from narrator.style import MANIFEST, Style

_TEMPLATES = "*.j2"


def fingerprint_style(style: Style) -> str:
    """SHA-256 of all that a prompt of the style is made from: its manifest, its templates, and the shared ones.

    A shared template counts unless the style's folder has one of the same name. Names and bytes are hashed, no paths:
    the same style elsewhere has the same fingerprint.

    Raises:
        StyleError: a file cannot be read.
    """
    shared = asset_folder("prompts") / "_shared"
    files = {path.relative_to(shared).as_posix(): path for path in shared.rglob(_TEMPLATES)}
    files |= {path.relative_to(style.folder).as_posix(): path for path in style.folder.rglob(_TEMPLATES)}
    files[MANIFEST] = style.folder / MANIFEST
    facts = []
    for name, path in sorted(files.items()):
        try:
            facts.append([name, hashlib.sha256(path.read_bytes()).hexdigest()])
        except OSError as error:
            raise StyleError(f"{path}: {reason(error)}") from error
    return _digest(facts)


def fingerprint_context(context: Context) -> str:
    """SHA-256 of all that a writer was given of a session.

    That is the outline as printed, each message of the window and the target as printed with what the record states of
    it, the marks of what lies between them, and what is said of the target's place. Of a context to which what was
    looked up was added (`context.add_read`), that too. No key, style, or wording of a prompt is in it.
    """
    window = [excerpt.printed(context.of(excerpt.index), "") for excerpt in context.window]
    return _digest([context.target.index, context.outline.printed(""), window, context.says])


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()
