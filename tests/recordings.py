"""Small recordings for tests, built in code: what an opencode export holds, and no more than a test needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BEGIN = 1_760_000_000_000
"""2025-10-09 08:53:20 UTC, in milliseconds; message k begins k minutes later unless it says otherwise."""
SESSION_ID = "ses_4f1c0a7e2ffeTestTestTest01"
SHARED = Path(__file__).resolve().parents[1].parent / "shared"
"""Recorded sessions and hostile inputs that are not part of the repository; tests that need them skip without them."""
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "glm5-144.json"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def reasoning(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "text": words, **more}


def tool(name: str = "bash", *, status: str = "completed", **state: Any) -> dict[str, Any]:
    """A tool part; `exit` and other metadata go under `metadata=`."""
    given: dict[str, Any] = {"status": status, "input": {"command": "ls"}}
    if status == "completed":
        given |= {"output": "ok\n", "title": name, "metadata": {"exit": 0} if name == "bash" else {}}
    return {"type": "tool", "callID": "call_1", "tool": name, "state": given | state}


STEP_START: dict[str, Any] = {"type": "step-start", "snapshot": "a1"}


def step_finish(reason: str = "stop") -> dict[str, Any]:
    return {"type": "step-finish", "reason": reason, "cost": 0.01}


def user(*parts: dict[str, Any] | str, **info: Any) -> dict[str, Any]:
    return {
        "info": {"role": "user", "agent": "build", **info},
        "parts": [text(p) if isinstance(p, str) else p for p in parts],
    }


def assistant(*parts: dict[str, Any] | str, **info: Any) -> dict[str, Any]:
    """An answer that ended normally unless `finish`, `error` or `time` say otherwise; None leaves a key out."""
    given: dict[str, Any] = {
        "role": "assistant",
        "providerID": "acme",
        "modelID": "large",
        "mode": "build",
        "finish": "stop",
        "tokens": {"input": 900, "output": 120, "reasoning": 0, "cache": {"read": 40, "write": 2}},
    }
    given = {key: value for key, value in (given | info).items() if value is not None}
    return {"info": given, "parts": [text(p) if isinstance(p, str) else p for p in parts]}


def export(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    """A whole export: ids, times and parents are filled in where a message gives none.

    An answer that gives no `parentID` answers the nearest user message before it; one that gives no `time` takes 9 s.
    """
    asked: str | None = None
    for index, message in enumerate(messages):
        own = message["info"]
        own.setdefault("id", f"msg_{index:04}")
        own.setdefault("sessionID", SESSION_ID)
        begun = BEGIN + index * 60_000
        if own["role"] == "user":
            asked = own["id"]
            own.setdefault("time", {"created": begun})
        else:
            own.setdefault("time", {"created": begun, "completed": begun + 9_000})
            if asked is not None:
                own.setdefault("parentID", asked)
        for place, part in enumerate(message["parts"] or []):
            if isinstance(part, dict):
                part.setdefault("id", f"prt_{index:04}{place:04}")
    about = {"id": SESSION_ID, "version": "1.18.33", "title": "Fix the flaky test", "time": {"created": BEGIN}}
    return {"info": about | info, "messages": list(messages)}


def write(folder: Path, document: Any, name: str = "session.json") -> str:
    """Write a document (or raw text) into `folder` and give its path."""
    path = folder / name
    if isinstance(document, bytes):
        path.write_bytes(document)
    else:
        body = document if isinstance(document, str) else json.dumps(document, indent=2) + "\n"
        path.write_text(body, "utf-8")
    return str(path)
