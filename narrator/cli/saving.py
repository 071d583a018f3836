"""A draft on its way to the disk: before its repair, and after it."""

from __future__ import annotations

from pathlib import Path

from narrator.cli.output import complain, warn
from narrator.draft import Draft, save_draft
from narrator.errors import DraftError


class Saver:
    """Saves a draft, before its repair and after it, in one place that no other run has taken meanwhile."""

    def __init__(self, path: Path | None, *, force: bool) -> None:
        """`path` None: nowhere; `force`: whatever stands there may be replaced."""
        self._path = path
        self._replace = force

    @property
    def saves(self) -> bool:
        """Whether anything is saved at all."""
        return self._path is not None

    def move(self, path: Path) -> None:
        """Save in another place, where nothing is saved yet."""
        self._path = path

    def keep(self, draft: Draft) -> None:
        """Save what is about to be repaired: it is paid for, and a repair can be interrupted."""
        if self._path is None:
            return
        try:
            self._path, self._replace = save_draft(draft, self._path, replace=self._replace), True
        except DraftError as error:
            warn([f"{error}; it is tried again after the repair"])

    def save(self, draft: Draft) -> None:
        """Save the finished draft."""
        if self._path is not None:
            complain(f"saved {save_draft(draft, self._path, replace=self._replace)}")
