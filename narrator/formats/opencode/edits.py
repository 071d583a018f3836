"""What opencode records of changes in files, beside what was asked for.

Seen in files of the official builds 1.1.65 and 1.18.33: `edit` keeps a unified diff, `apply_patch` one for each file,
`write` whether the file was there; a `patch` part names the files that differ after a step; a user's message keeps in
`summary.diffs` what its turn changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from narrator.changes import Change, FileFate
from narrator.formats._lenient import as_dict, as_int, as_str

_FATES: dict[str, FileFate] = {"add": "new", "added": "new", "delete": "deleted", "deleted": "deleted", "move": "moved"}
_MOST = 200
"""Files of one call or message that are read."""


def changes_of_call(meta: dict[str, Any], given: Any, at: str) -> tuple[Change, ...]:
    """What a call changed, from its metadata; `given`: its arguments; `at`: where the metadata stands."""
    files = _listed(meta.get("files"))
    if files:
        return tuple(_of_file(one, f"{at}.files[{place}]") for place, one in files)
    about = as_dict(meta.get("filediff"))
    named = as_str(as_dict(given).get("filePath")) or as_str(meta.get("filepath")) or as_str(about.get("file"))
    if diff := as_str(meta.get("diff")):
        added, removed = as_int(about.get("additions")), as_int(about.get("deletions"))
        return (Change(file=named or "", diff=diff, at=f"{at}.diff", added=added, removed=removed),)
    if isinstance(existed := meta.get("exists"), bool):
        return (Change(file=named or "", fate="existed" if existed else "new"),)
    return ()


def _of_file(one: dict[str, Any], at: str) -> Change:
    key = "patch" if isinstance(one.get("patch"), str) else "diff"
    return Change(
        file=as_str(one.get("relativePath")) or as_str(one.get("filePath")) or "",
        diff=as_str(one.get(key)) or "",
        at=f"{at}.{key}",
        added=as_int(one.get("additions")),
        removed=as_int(one.get("deletions")),
        fate=_FATES.get(str(one.get("type")), ""),
    )


def changes_of_message(info: dict[str, Any], parts: Sequence[Any], called: Sequence[Change]) -> tuple[Change, ...]:
    """What a message's own record says was changed: in its turn, or in its step, without what its calls say."""
    turn = [
        Change(
            file=as_str(one.get("file")) or "",
            added=as_int(one.get("additions")),
            removed=as_int(one.get("deletions")),
            fate=_FATES.get(str(one.get("status")), ""),
        )
        for _, one in _listed(as_dict(info.get("summary")).get("diffs"))
    ]
    patches = [part for part in parts if isinstance(part, dict) and part.get("type") == "patch"]
    files = [part["files"] for part in patches if isinstance(part.get("files"), list)]
    names = dict.fromkeys(name for listed in files for name in listed[:_MOST] if isinstance(name, str))
    known = tuple(change.file for change in called if change.file)
    return (*turn, *(Change(file=name) for name in names if not name.endswith(known)))


def _listed(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a list with their places."""
    listed = value[:_MOST] if isinstance(value, list) else []
    return [(place, one) for place, one in enumerate(listed) if isinstance(one, dict)]
