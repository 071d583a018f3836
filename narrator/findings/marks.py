"""Which kinds of finding hold for every message of a session, without decoding the messages.

The kinds that `diagnose` gives, from the columns of a session (a test compares the two on every recording there is).
Few combinations of traits, ends and roles stand in a session, so what they mean is worked out once for each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from narrator.findings.endings import NORMAL_ENDS_NOT, records_ends
from narrator.findings.finding import KINDS, Kind
from narrator.findings.sequence import GAP_MS, gap_after
from narrator.findings.turns import nudges
from narrator.session import Session
from narrator.skims import KINDS as TURN_KINDS
from narrator.skims import NONE, ROLES
from narrator.traits import LENGTHS, Trait

_NUDGE = 200
"""Bytes of typed text in which go-on words are looked for."""
_BITS = {kind: 1 << place for place, kind in enumerate(KINDS)}
_FAULTS = Trait.ABORTED | Trait.TOO_LONG | Trait.FAULT
_SAYS = Trait.TEXT | Trait.REASONING | Trait.CALL
_DIRECT: dict[Trait, Kind] = {
    Trait.ABORTED: "aborted",
    Trait.FAULT: "provider-error",
    Trait.INVALID: "invalid-tool-call",
    Trait.ERROR: "tool-error",
    Trait.STOPPED: "tool-aborted",
    Trait.UNENDED: "tool-unfinished",
    Trait.EXIT: "command-failed",
    Trait.SILENT: "empty-output",
    Trait.CUT: "output-truncated",
    Trait.CLEARED: "output-pruned",
    Trait.DELEGATES: "subagent",
    Trait.SUBTASK: "subagent",
    Trait.REPEATED: "repeated-call",
}
"""Traits that are a kind of finding by themselves."""


class _Case(NamedTuple):
    """All that most kinds depend on."""

    traits: int
    finish: int
    kind: int
    role: int
    completed: bool


def mark(session: Session) -> array[int]:
    """`array('I')`: a bit mask a message, bit k for the k-th of `KINDS`."""
    skims = session.skims
    told: dict[_Case, int] = {}
    masks = array("I")
    ended = [time != NONE for time in skims.completed]
    ends = records_ends(session.about)
    for case in zip(session.traits, skims.finishes, skims.kinds, skims.roles, ended, strict=True):
        mask = told.get(case)  # type: ignore[call-overload]  # a plain tuple is as good a key
        if mask is None:
            mask = told[_Case(*case)] = _mask(_Case(*case), skims.words, ends=ends)
        masks.append(mask)
    for index, kind in _apart(session):
        masks[index] |= _BITS[kind]
    return masks


def marked(mask: int) -> tuple[Kind, ...]:
    """The kinds in a mask, in the order of `KINDS`."""
    return tuple(kind for kind, bit in _BITS.items() if mask & bit)


def mask_of(*kinds: Kind) -> int:
    """The mask of several kinds."""
    return sum({_BITS[kind] for kind in kinds})


def _mask(case: _Case, words: tuple[str | None, ...], *, ends: bool) -> int:
    return sum(_BITS[kind] for kind in set(_kinds(case, words[case.finish], ends=ends)))


def _kinds(case: _Case, end: str | None, *, ends: bool) -> Iterator[Kind]:
    traits, role = Trait(case.traits), ROLES[case.role]
    yield from (kind for trait, kind in _DIRECT.items() if traits & trait)
    if traits & (Trait.TOO_LONG | Trait.AT_LIMIT):
        yield "cut-off"
    if role == "user":
        if traits & Trait.COMPACTION:
            yield "compaction-request"
        if traits & Trait.SYNTHETIC:
            yield "synthetic"
    if role == "assistant":
        if TURN_KINDS[case.kind] == "compaction-summary":
            yield "compaction-summary"
        if traits & Trait.REASONING and not traits & (Trait.TEXT | Trait.CALL):
            yield "reasoning-only"
        if not traits & _FAULTS:
            yield from _endings(traits, end, completed=case.completed, ends=ends)


def _endings(traits: Trait, end: str | None, *, completed: bool, ends: bool) -> Iterator[Kind]:
    """Of an answer that did not fail; `end` is the model's reason to stop."""
    dropped = end == "unknown" and not traits & Trait.COUNTED
    if dropped or (ends and traits & Trait.BEGUN and completed and end is None):
        yield "cut-off"
    if not completed and not end:
        yield "unfinished"
    if end and end not in (*LENGTHS, *NORMAL_ENDS_NOT) and not dropped and not traits & _SAYS:
        yield "empty-completion"


def _apart(session: Session) -> Iterator[tuple[int, Kind]]:
    """The kinds that depend on more than the message's own traits: neighbours, words, the session."""
    skims = session.skims
    user = ROLES.index("user")
    for index, (said, role) in enumerate(zip(skims.said, skims.roles, strict=True)):
        if 0 < said <= _NUDGE and role == user and nudges(session.message(index)):
            yield index, "user-nudge"
    for index in range(len(skims) - 1):
        end = skims.completed[index] if skims.completed[index] != NONE else skims.created[index]
        if skims.created[index + 1] - end > GAP_MS and end != NONE and gap_after(skims, index):
            yield index, "gap"
    answers = [index for index in skims.places("answer") if skims.models[index]]
    for before, index in pairwise(answers):
        if skims.words[skims.models[before]] != skims.words[skims.models[index]]:
            yield index, "model-switch"
    if (undone := session.about.revert) and (first := session.positions.get(undone)) is not None:
        yield from ((index, "reverted") for index in range(first, len(skims)))
