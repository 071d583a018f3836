"""Oddities that cost nothing, planted into a recorded session: aborts, empty answers, go-on words and compactions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

COUNT = 20
DISTANCE = 5
"""Messages from the one that is looked for within which nothing is planted: there it would not be harmless."""
Stored: TypeAlias = dict[str, Any]


class Planted(NamedTuple):
    """A session with harmless oddities in it."""

    document: Stored
    places: dict[int, str]
    """Index of an oddity → the kind of finding it is."""
    moved: list[int]
    """Index of a message before → its index now."""


def plant(document: Stored, target: int, seed: int) -> Planted:
    """`document` with `COUNT` oddities, as many of each kind, at places that depend on nothing but `seed`.

    An abort and an empty answer stand between two answers of one turn, which goes on as if they were not there; go-on
    words are answered with a word, and compactions asked for, between two turns.
    """
    old = document["messages"]
    chance = random.Random(seed)
    far = [index for index in range(1, len(old)) if abs(index - target) > DISTANCE]
    within = [index for index in far if _answers(old[index - 1]) and _answers(old[index])]
    between = [index for index in far if not _answers(old[index]) and _has_ended(old[index - 1])]
    kinds = list(MAKERS)
    chosen = [(chance.choice(within if kinds[k % 4] in WITHIN else between), kinds[k % 4]) for k in range(COUNT)]
    messages: list[Stored] = []
    places: dict[int, str] = {}
    moved: list[int] = []
    for index, message in enumerate(old):
        for number, kind in enumerate(sorted(kind for place, kind in chosen if place == index)):
            places[len(messages)] = kind
            messages.extend(_named(MAKERS[kind](message), f"{index}_{number}"))
        moved.append(len(messages))
        messages.append(message)
    return Planted(document | {"messages": messages}, places, moved)


def _answers(message: Stored) -> bool:
    return bool(message["info"]["role"] == "assistant")


def _has_ended(message: Stored) -> bool:
    return _answers(message) and message["info"].get("finish") == "stop"


def _named(messages: Iterable[Stored], name: str) -> Iterable[Stored]:
    for number, message in enumerate(messages):
        message["info"]["id"] = f"msg_planted_{name}_{number}"
        yield message


def _answer(follows: Stored, **info: Any) -> Stored:
    begun = follows["info"]["time"]["created"]
    time = {"created": begun - 2000, "completed": begun}
    tokens = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    parent = follows["info"].get("parentID", "msg_planted")
    return {"info": {"role": "assistant", "parentID": parent, "time": time, "tokens": tokens} | info, "parts": []}


def _user(follows: Stored, part: Stored) -> Stored:
    return {"info": {"role": "user", "time": {"created": follows["info"]["time"]["created"] - 3000}}, "parts": [part]}


def _aborted(follows: Stored) -> list[Stored]:
    error = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    return [_answer(follows, error=error)]


def _empty(follows: Stored) -> list[Stored]:
    return [_answer(follows, finish="stop")]


def _nudge(follows: Stored) -> list[Stored]:
    reply = _answer(follows, finish="stop")
    return [_user(follows, {"type": "text", "text": "ok"}), reply | {"parts": [{"type": "text", "text": "Fine."}]}]


def _compaction(follows: Stored) -> list[Stored]:
    summary = _answer(follows, finish="stop", summary=True, mode="compaction", agent="compaction")
    return [
        _user(follows, {"type": "compaction", "auto": True}),
        summary | {"parts": [{"type": "text", "text": "## Goal\nAs before."}]},
    ]


MAKERS: dict[str, Callable[[Stored], list[Stored]]] = {
    "aborted": _aborted,
    "empty-completion": _empty,
    "user-nudge": _nudge,
    "compaction-request": _compaction,
}
WITHIN = ("aborted", "empty-completion")
"""Kinds that stand inside a turn; the others stand between two."""
