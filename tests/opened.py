"""Sessions for tests, opened from recordings as the product opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recordings import export, write

from narrator.findings import Finding, diagnose
from narrator.formats import open_session
from narrator.session import Session


def opened(folder: Path, document: dict[str, Any] | list[Any], **how: Any) -> Session:
    """The session of an export built in a test."""
    return open_session(write(folder, document), **how)


def last_found(folder: Path, document: dict[str, Any]) -> dict[str, Finding]:
    """What the record knows of a session's last message, by kind."""
    session = opened(folder, document)
    return {finding.kind: finding for finding in diagnose(session, len(session) - 1)}


def table(*rows: tuple[str, Any, set[str]]) -> pytest.MarkDecorator:
    """Rows of (what it is, the messages or a whole export, all kinds that hold for the last message)."""
    return pytest.mark.parametrize(
        ("document", "expected"),
        [
            pytest.param(given if isinstance(given, dict) else export(*given), kinds, id=id_)
            for id_, given, kinds in rows
        ],
    )
