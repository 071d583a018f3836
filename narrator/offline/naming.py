"""What a call did, as a verb and its object: by the call's own description where it has one, else by its command."""

from __future__ import annotations

import re

from narrator.markdown import code_span
from narrator.offline.quoting import code, cut, place, verbatim
from narrator.sanitize import one_line

_DONE = {
    "read": "read",
    "edit": "edited",
    "multiedit": "edited",
    "patch": "patched",
    "write": "wrote the file",
    "grep": "searched",
    "glob": "looked for files in",
    "list": "listed",
    "webfetch": "fetched",
    "websearch": "searched the web for",
}
"""What is done with the subject of a call."""
_NO_PATH = frozenset(["webfetch", "websearch"])
_IMPERATIVES = frozenset(
    [
        "add",
        "apply",
        "benchmark",
        "build",
        "calculate",
        "check",
        "clean",
        "clear",
        "clone",
        "commit",
        "compare",
        "compile",
        "configure",
        "copy",
        "count",
        "create",
        "delete",
        "deploy",
        "disable",
        "display",
        "download",
        "dump",
        "enable",
        "estimate",
        "examine",
        "extract",
        "fetch",
        "find",
        "fix",
        "generate",
        "get",
        "identify",
        "inspect",
        "install",
        "kill",
        "launch",
        "list",
        "locate",
        "look",
        "make",
        "measure",
        "merge",
        "monitor",
        "move",
        "patch",
        "poll",
        "prepare",
        "print",
        "probe",
        "profile",
        "pull",
        "push",
        "query",
        "read",
        "rebuild",
        "record",
        "reinstall",
        "reload",
        "remove",
        "rename",
        "replace",
        "rerun",
        "reset",
        "resolve",
        "restart",
        "restore",
        "resume",
        "retry",
        "run",
        "save",
        "search",
        "send",
        "set",
        "show",
        "start",
        "stop",
        "summarize",
        "sync",
        "tail",
        "test",
        "train",
        "try",
        "uninstall",
        "unpack",
        "update",
        "upgrade",
        "upload",
        "validate",
        "verify",
        "view",
        "wait",
        "watch",
        "write",
    ]
)
"""Verbs with which a call says what it is for."""
_THINGS = frozenset(
    ["log", "logs", "script", "run", "status", "output", "results", "file", "size", "time", "loop", "list", "report"]
)
"""What makes a thing of the verb before it: `Build log`."""
_QUESTIONS = frozenset(
    ["does", "do", "is", "are", "was", "were", "which", "what", "where", "when", "who", "how", "can", "has", "have"]
)
_SHORT = 60
_REMOTE = re.compile(r"(?:(sleep \d+)\s*(?:&&|;)\s*)?ssh (?:-\S+ )*\S+ ['\"](.{8,})")
"""A command for another machine, perhaps after a wait."""


def act(name: str, subject: str, about: str, before: str | None, *, way: int = 0) -> str:
    """What a call did, from its tool, what it is about, its description, and what the call before it was about.

    `way` chooses between words that say the same.
    """
    again = bool(subject.strip()) and subject == before
    if name == "bash":
        return _ran(subject, about, again=again, way=way)
    if name == "todowrite":
        return "updated its list of things to do"
    if name in _DONE and subject.strip():
        what = code(subject) if name in _NO_PATH else place(subject)
        return f"{_DONE[name]} {what}{' again' if again else ''}"
    return f"called the tool {code_span(cut(name, 60))}" + (f" ({code(subject)})" if subject.strip() else "")


def _ran(command: str, about: str, *, again: bool, way: int) -> str:
    lines = [line for line in command.split("\n") if line.strip()]
    if not lines or again:
        return "ran the same command again" if lines else "called the shell without a command"
    if (purpose := purpose_of(about)) is not None:
        return f"{('ran a command to', 'used the shell to', 'ran a command to')[way % 3]} {verbatim(purpose)}"
    if about.strip():
        named = f"“{verbatim(one_line(about, 90))}”"
        if about.split(maxsplit=1)[0].lower() in _QUESTIONS:
            return f"ran a command that asks {named}"
        return (
            f"ran what it called {named}",
            f"ran a command by the name of {named}",
            f"ran a command called {named}",
        )[way % 3]
    if found := _REMOTE.match(lines[0].strip()):
        waited = f"waited ({code_span(found[1])}) and " if found[1] else ""
        return f"{waited}ran {code(_closed(found[2]), _SHORT)} over ssh"
    return f"ran {code(command)}" if len(lines) == 1 else f"ran {len(lines)} lines that begin {code(command)}"


def purpose_of(about: str) -> str | None:
    """A description that begins with a verb, as it stands behind “to”; None for any other."""
    words = one_line(about, 90).rstrip(".").split(" ")
    verb, following = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    if verb not in _IMPERATIVES or not following or following in _THINGS:
        return None
    return " ".join([verb, *words[1:]])


def _closed(inner: str) -> str:
    """A command without the quote that closes it."""
    return inner[:-1] if inner[-1] in "'\"" and inner.count(inner[-1]) % 2 else inner
