"""What a message holds as far as a finding depends on it, as bits: cheap to keep for every message of a session."""

from __future__ import annotations

from collections import deque
from enum import IntFlag, auto
from functools import reduce
from operator import or_
from typing import Any

from narrator.session import Fault, File, Marker, Message, Reasoning, Text, ToolCall

RECENT_CALLS = 5
"""How many calls back a repetition counts as one."""
ABORTS = frozenset({"MessageAbortedError", "AbortError"})
"""Names of the error of a turn that was interrupted;"""
LIMITS = frozenset({"MessageOutputLengthError"})
"""and of one that hit an output limit."""
LENGTHS = frozenset({"length", "max_tokens", "max_output_tokens"})
"""Words with which a provider says that an answer hit a length limit."""
NO_OUTPUT = frozenset({"", "(no output)"})
"""What a call returned when it returned nothing; opencode 1.18 writes the second for a silent command."""


class Trait(IntFlag):
    """What a message holds, as far as a finding depends on it; of a call, whether any call of the message is so."""

    TEXT = auto()
    """A text that is more than white space."""
    REASONING = auto()
    """Reasoning, or tokens counted for some that the provider kept."""
    CALL = auto()
    BEGUN = auto()
    """A model call is recorded to have begun."""
    ABORTED = auto()
    """It ended in an interruption;"""
    TOO_LONG = auto()
    """in an output limit;"""
    AT_LIMIT = auto()
    """The model stopped at a length limit, whatever error there was."""
    FAULT = auto()
    """in another error."""
    COUNTED = auto()
    """The provider counted tokens that went in (cached ones apart) or came out."""
    COMPACTION = auto()
    """The mark of a compaction request."""
    SYNTHETIC = auto()
    """A text that the harness put in."""
    SUBTASK = auto()
    INVALID = auto()
    """A call that was never run and not interrupted either;"""
    ERROR = auto()
    """that failed;"""
    STOPPED = auto()
    """that was interrupted;"""
    UNENDED = auto()
    """that has no end;"""
    EXIT = auto()
    """that completed with an exit code other than 0;"""
    SILENT = auto()
    """that completed and returned nothing;"""
    CUT = auto()
    """whose output the harness cut;"""
    CLEARED = auto()
    """whose output was cleared later;"""
    DELEGATES = auto()
    """that handed work to another session;"""
    REPEATED = auto()
    """that is, arguments included, one of the five before it."""


def traits_of(message: Message, recent: deque[tuple[str, Any]]) -> Trait:
    """The traits of one message; `recent` holds name and input of the last calls before it, and gets its own."""
    found = fault_trait(message.fault)
    tokens = message.tokens
    found |= _if(Trait.COUNTED, bool(tokens and (tokens.input or tokens.output)))
    found |= _if(Trait.AT_LIMIT, message.finish in LENGTHS) | _if(Trait.BEGUN, message.called)
    for block in message.blocks:
        match block:
            case Text():
                found |= _if(Trait.TEXT, bool(block.text.strip())) | _if(Trait.SYNTHETIC, block.synthetic)
            case Reasoning():
                found |= _if(Trait.REASONING, bool(block.text.strip() or (tokens and tokens.reasoning)))
            case Marker():
                found |= _MARKS.get(block.kind, Trait(0))
            case ToolCall():
                again = bool(block.input) and (block.name, block.input) in recent
                found |= Trait.CALL | _call_traits(block) | _if(Trait.REPEATED, again)
                recent.append((block.name, block.input))
            case File():
                pass
    return found


def _if(trait: Trait, holds: bool) -> Trait:
    return trait if holds else Trait(0)


_MARKS = {"compaction": Trait.COMPACTION, "subtask": Trait.SUBTASK}


def fault_trait(fault: Fault | None) -> Trait:
    """How a message failed."""
    if fault is None:
        return Trait(0)
    return Trait.ABORTED if fault.name in ABORTS else Trait.TOO_LONG if fault.name in LIMITS else Trait.FAULT


def _call_traits(call: ToolCall) -> Trait:
    output = call.output
    holds = (
        (Trait.INVALID, call.invalid and not call.interrupted),
        (Trait.ERROR, call.status == "error" and not call.invalid and not call.interrupted),
        (Trait.STOPPED, bool(call.interrupted)),
        (Trait.UNENDED, call.status in ("running", "pending", "unknown") and not call.interrupted),
        (Trait.EXIT, call.status == "completed" and bool(call.exit)),
        (Trait.SILENT, call.status == "completed" and output is not None and output.strip() in NO_OUTPUT),
        (Trait.CUT, call.truncated),
        (Trait.CLEARED, call.pruned is not None),
        (Trait.DELEGATES, call.child is not None or delegates(call)),
    )
    return reduce(or_, (_if(trait, is_so) for trait, is_so in holds))


def delegates(call: ToolCall) -> bool:
    """Whether it is a `task` that reached a session, though none is named: one that was refused or failed did not."""
    return call.name == "task" and call.status != "error" and not call.invalid
