"""Where `prompts/` and `templates/` are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path


def asset_folder(kind: str) -> Path:
    """Folder of `kind` (`prompts` or `templates`).

    A wheel carries both folders inside the package (hatchling `force-include`); a checkout and an editable install have
    them at the top level. The checkout wins, so that an edit there is seen even if a stale copy lies in the package.
    """
    package = Path(__file__).resolve().parent
    beside = package.parent / kind
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    return package / kind


def folders(kind: str) -> dict[str, Path]:
    """Name → folder of everything of `kind` that ships; a name with a leading `_` is shared, not a choice."""
    root = asset_folder(kind)
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith("_")}
