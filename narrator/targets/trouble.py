"""Setbacks, the matters they belong to, and the detours they caused."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from narrator.findings import mask_of
from narrator.skims import NONE
from narrator.targets.columns import Columns
from narrator.targets.surprise import surprise

SetbackKind: TypeAlias = Literal["turn-failed", "call-stopped", "call-failed", "subagent-failed", "broken-in"]
REACH = 30
"""Messages after a setback in which it is still felt, less with each."""
_LATELY = 3
"""Messages before a go-on word in which something went wrong that it may be about."""
_IN_A_ROW = 10
"""Turns that failed one after the other and are looked past for the one that went on."""
POINTS = 1000
"""A surprise of 1 in whole points; sums of whole numbers are the same on every machine."""
_TURN_FAILED = mask_of("aborted", "empty-completion", "reasoning-only", "provider-error", "cut-off", "unfinished")
_CALL_STOPPED = mask_of("invalid-tool-call", "tool-aborted", "tool-unfinished")
_ODD = _TURN_FAILED | _CALL_STOPPED
_NUDGE = mask_of("user-nudge")


class Detour(NamedTuple):
    """From a setback to where the work went on."""

    begin: int
    end: int
    """Half-open."""
    setbacks: int


class Trouble(NamedTuple):
    """What went wrong in a session."""

    setbacks: Mapping[int, SetbackKind]
    """Message → what went wrong there, in order."""
    places: list[int]
    """The messages of `setbacks`."""
    broke_in: frozenset[int]
    """User's turns that came before the turn was over and are more than go-on words."""
    spared: frozenset[int]
    """Odd messages that changed nothing: they count neither as rare nor as costly."""
    detours: tuple[Detour, ...]
    """At most one for each matter (`_matters`), in order."""
    repeats: Mapping[int, tuple[int, ...]]
    """Message → the run that it is in: two messages or more in which one command failed, and where it worked."""
    felt: list[int]
    """Message → points of the setbacks here and just before; of a setback, those that followed, if they are more."""


def find_trouble(columns: Columns) -> Trouble:
    """The setbacks of a session and what came of them."""
    broke_in = frozenset(_broken_in(columns))
    setbacks: dict[int, SetbackKind] = {}
    for index in _suspects(columns, broke_in):
        if kind := _setback(columns, index, broke_in):
            setbacks[index] = kind
    repeats, settled = _follow_commands(columns)
    detours = tuple(_detours(columns, setbacks, _matters(columns, broke_in), settled))
    return Trouble(
        setbacks=setbacks,
        places=list(setbacks),
        broke_in=broke_in,
        spared=frozenset(_spared(columns, setbacks)),
        detours=detours,
        repeats={index: run for run in repeats for index in run},
        felt=_feel(len(columns.kinds), setbacks, detours),
    )


def _broken_in(columns: Columns) -> Iterator[int]:
    """More than go-on words, typed before the turn was over, as far as the record tells."""
    answers = [index for index, kind in enumerate(columns.kinds) if kind == "answer"]
    for index, words in columns.words.items():
        place = bisect_left(answers, index)
        before, after = answers[max(0, place - 1) : place], answers[place : place + 1]
        if words and before and not columns.marks[index] & _NUDGE and _running(columns, before[0], index, after):
            yield index


def _running(columns: Columns, answer: int, turn: int, after: Sequence[int]) -> bool:
    """Whether an answer had not ended when the user's next turn was sent, or the same turn went on after it."""
    if running(columns, answer, turn):
        return True
    goes_on = columns.goes_on[answer] and not columns.marks[answer] & _ODD
    return bool(goes_on and after and columns.parents[answer] == columns.parents[after[0]] >= 0)


def running(columns: Columns, answer: int, turn: int) -> bool:
    """Whether by the recorded times an answer had begun and not ended when a user's turn was sent."""
    return NONE < columns.created[answer] <= columns.created[turn] < columns.completed[answer]


def _suspects(columns: Columns, broke_in: frozenset[int]) -> list[int]:
    marked = {index for index, mask in enumerate(columns.marks) if mask & _ODD}
    failed = {index for index, flag in enumerate(columns.failed) if flag}
    return sorted(marked | failed | broke_in)


def _setback(columns: Columns, index: int, broke_in: frozenset[int]) -> SetbackKind | None:
    if columns.marks[index] & _TURN_FAILED:
        return None if _passed_over(columns, index) else "turn-failed"
    if columns.marks[index] & _CALL_STOPPED:
        return "call-stopped"
    if index in broke_in:
        return "broken-in"
    return "subagent-failed" if columns.marks[index] & mask_of("subagent") else "call-failed"


def _passed_over(columns: Columns, index: int) -> bool:
    """Whether a turn that failed cost nothing: the same one went on at once, or had ended before."""
    before, after, total = index - 1, index + 1, len(columns.kinds)
    while after < min(total, index + _IN_A_ROW) and columns.marks[after] & _TURN_FAILED:
        after += 1
    if after < total and _same_turn(columns, index, after):
        return True
    return before >= 0 and _same_turn(columns, index, before) and not columns.called[before]


def _same_turn(columns: Columns, index: int, other: int) -> bool:
    """Whether `other` is a sound answer to what `index` answers."""
    same = columns.kinds[other] == "answer" and columns.parents[other] == columns.parents[index]
    return same and not columns.marks[other] & _TURN_FAILED


def _spared(columns: Columns, setbacks: Mapping[int, SetbackKind]) -> Iterator[int]:
    """Odd messages that cost nothing, go-on words when nothing was wrong, compactions between two turns."""
    summaries = mask_of("compaction-summary")
    odd = _TURN_FAILED | _NUDGE | summaries | mask_of("compaction-request")
    for index in (index for index, mask in enumerate(columns.marks) if mask & odd):
        mask = columns.marks[index]
        if mask & _TURN_FAILED:
            quiet = index not in setbacks
        elif mask & _NUDGE:
            quiet = not any(before in setbacks for before in range(index - _LATELY, index))
        else:
            asked = columns.parents[index] if mask & summaries else index
            quiet = not cuts(columns, asked)
        if quiet:
            yield index


def within_detour(trouble: Trouble, begin: int, end: int) -> list[int]:
    """The setbacks from message `begin` up to `end`, that one not included."""
    return trouble.places[bisect_left(trouble.places, begin) : bisect_left(trouble.places, end)]


def cuts(columns: Columns, index: int) -> bool:
    """Whether a compaction was asked for right after an answer that was to go on after its tool calls."""
    return index > 0 and bool(columns.goes_on[index - 1])


def _matters(columns: Columns, broke_in: frozenset[int]) -> tuple[int, ...]:
    """Where the matters of a session begin: a user's turn and those that go on with it.

    Go-on words go on with it, and so does whoever breaks in: what was asked for is not settled yet.
    """
    return (0, *(i for i in columns.words if i and i not in broke_in and not columns.marks[i] & _NUDGE))


def _follow_commands(columns: Columns) -> tuple[tuple[tuple[int, ...], ...], dict[int, int]]:
    """Runs of one command's failures up to its success; failing message → where the same command worked next.

    A command that fails again more than `REACH` messages later does so for another reason: a run of its own.
    """
    failing: dict[int, list[int]] = {}
    repeats, settled = [], {}
    for message, subject, worked in columns.uses:
        run = failing.pop(subject, [])
        near = [] if run and message - run[-1] > REACH else run
        if not worked:
            failing[subject] = [*near, message]
        elif near:
            settled[near[-1]] = message
            if len(set(near)) > 1 and near[-1] < message:
                repeats.append((*dict.fromkeys(near), message))
    return tuple(repeats), settled


def _detours(
    columns: Columns, setbacks: Mapping[int, SetbackKind], matters: tuple[int, ...], settled: Mapping[int, int]
) -> Iterator[Detour]:
    """A matter's detour: from its first setback until the last one's command worked, else to the end of the matter.

    A user who breaks in was not content with what was being done: that detour begins where it had been asked for.
    """
    places, turns = list(setbacks), list(columns.words)
    for begin, end in pairwise((*matters, len(columns.kinds))):
        within = places[bisect_left(places, begin) : bisect_left(places, end)]
        if not within:
            continue
        first = within[0]
        if setbacks[first] == "broken-in":
            place = bisect_left(turns, first)
            first = max(begin, turns[place - 1] if place else 0)
        last = next(index for index in range(end - 1, -1, -1) if index not in columns.hollow)
        yield Detour(first, min(last, settled.get(within[-1], last)) + 1, len(within))


def _feel(total: int, setbacks: Mapping[int, SetbackKind], detours: tuple[Detour, ...]) -> list[int]:
    """Each setback is felt in the `REACH` messages after it, the rarer its kind the more, the nearer the more.

    What set off a detour had none before it: so a setback counts those that followed in its detour, if they are more.
    """
    counts = Counter(setbacks.values())
    points = {kind: round(POINTS * surprise(count, total)) for kind, count in counts.items()}
    felt = [0] * total
    for index, kind in setbacks.items():
        for distance in range(min(REACH + 1, total - index)):
            felt[index + distance] += points[kind] * (REACH + 1 - distance)
    places = list(setbacks)
    for begin, end, _ in detours:
        within = places[bisect_left(places, begin) : bisect_left(places, end)]
        for first, index in enumerate(within):
            following = within[first : bisect_left(within, index + REACH + 1)]
            ahead = sum(points[setbacks[other]] * (REACH + 1 - other + index) for other in following)
            felt[index] = max(felt[index], ahead)
    return felt
