"""The two tools as Chat Completions offers them, and what a model's call of one comes to.

A model may write anything as a call: whatever cannot be done is answered with one line that says how to ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from narrator.lookup import LONGEST_QUERY, MOST_AT_ONCE, Lookups

_READ, _SEARCH = "read_messages", "search_session"


def _tool(name: str, says: str, argument: str, schema: Mapping[str, Any], **more: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: dict(schema), **more}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": says, "parameters": parameters}}


TOOLS: tuple[Mapping[str, Any], ...] = (
    _tool(
        _READ,
        f"Messages of the session by their numbers, at most {MOST_AT_ONCE} a call, long ones shortened.",
        "indices",
        {"type": "array", "items": {"type": "integer"}, "description": "numbers N of [msg N], from 0"},
        around={"type": "string", "description": "optional: a text in them; of each, the part round it is given"},
    ),
    _tool(
        _SEARCH,
        "Where a text, or else all of its words, stands in the whole session: the lines round it, whatever the case.",
        "text",
        {"type": "string", "description": f"literal text or words, at most {LONGEST_QUERY} characters"},
    ),
)
"""Plain JSON Schema that every server takes: no `strict`, which some refuse."""
_USAGE = f'call {_READ} with {{"indices": [12, 13]}} or {_SEARCH} with {{"text": "words"}}'
_RANGE = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?")
_LONGEST_ARGUMENTS = 10_000
"""Characters."""


def answer_call(name: str, arguments: str, lookups: Lookups) -> str:
    """What is sent back for a call."""
    called = re.split(r"[.:/]", name.strip())[-1]
    if called not in {_READ, _SEARCH}:
        return f"error: there is no such tool; {_USAGE}"
    if lookups.spent:
        return "error: the bound of what can be looked up is reached; write the essay from what you have"
    value = _argument(arguments, "indices" if called == _READ else "text")
    if called == _SEARCH:
        text = value if isinstance(value, str) else ""
        return lookups.search_session(text) if text.strip() else f"error: no text to search for; {_USAGE}"
    indices, around = _indices(value), _argument(arguments, "around", only=False)
    around = around.strip() if isinstance(around, str) else ""
    return lookups.read_messages(indices, around) if indices else f"error: no numbers of messages; {_USAGE}"


def _argument(arguments: str, name: str, *, only: bool = True) -> Any:  # noqa: ANN401  # whatever JSON the model wrote
    """The argument called `name`, or (`only`) the only one there is; None when the arguments cannot be read."""
    if len(arguments) > _LONGEST_ARGUMENTS:
        return None
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return value if only else None
    return value.get(name, next(iter(value.values())) if only and len(value) == 1 else None)


def _indices(value: Any) -> list[int]:  # noqa: ANN401  # whatever JSON the model wrote
    """Numbers of messages from a list, a number, or a text such as `12, 15-17`; no more than could be read at once."""
    found: list[int] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, int | str) and not isinstance(item, bool):
            for match in _RANGE.finditer(str(item)):
                first = int(match[1])
                last = min(int(match[2] or first), first + MOST_AT_ONCE)
                found += range(first, last + 1)
        if len(found) > 4 * MOST_AT_ONCE:
            break
    return found
