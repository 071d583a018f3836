"""Steps of a session that a reader looks for: a command that succeeds at last, a commit, a list that is done.

Read off the columns of all tool calls in one pass, so that no message is decoded to find them.
"""

from __future__ import annotations

from itertools import compress
from typing import Literal, TypeAlias

from msgspec import Struct

from narrator.session import Calls, Session
from narrator.skims import COMMIT, FAILED, LIST_DONE, OK
from narrator.subjects import call_at, noun_of

Step: TypeAlias = Literal["success", "commit", "list"]

_NAMED = 3
"""Failures that a success is named with; the others are counted."""
_MOST_FAILED = 6
"""Failures beyond which a success weighs no more."""
_FAR = 500
"""Messages between the first failure and the success beyond which it weighs no more."""
_LIST_WEIGHT, _COMMIT_WEIGHT = 250, 150
_SUCCESS_WEIGHT, _FAILURE_WEIGHT = 100, 60
"""Of a success, and of each failure before it."""
_WORDS: dict[str, str] = {"commit": "a commit", "list": "the list of things to do is finished"}


class Milestone(Struct, frozen=True, array_like=True):
    """A message in which something was reached."""

    index: int
    step: Step
    weight: int = 0
    """How much it deserves a place among others."""
    failed: tuple[int, ...] = ()
    """Of a success: messages in which a call with the same command or file had failed, the first and the last ones;"""
    failures: int = 0
    """how many there are."""
    call: int = 0
    """Number of the call in the session."""

    def named(self, session: Session) -> str:
        """What was reached, in the product's words: `first success of a command that failed in msg 4, 9`."""
        if self.step != "success":
            return _WORDS[self.step]
        noun = noun_of(call_at(session, self.call))
        what = "a command that failed" if noun == "command" else "a call on a file that failed"
        more = self.failures - len(self.failed)
        listed = ", ".join(map(str, self.failed))
        return f"first success of {what} in msg {listed}" + (f" and {more} more" if more else "")


def find_milestones(session: Session) -> list[Milestone]:
    """All milestones of a session, in order; one a message, the weightiest."""
    calls = session.calls
    found: dict[int, Milestone] = {}
    for milestone in (*_successes(calls), *_steps(calls)):
        known = found.get(milestone.index)
        if known is None or known.weight < milestone.weight:
            found[milestone.index] = milestone
    return [found[index] for index in sorted(found)]


def _successes(calls: Calls) -> list[Milestone]:
    """The first success after failures with the same command or file."""
    subjects, outcomes = calls.subjects, calls.outcomes
    doubtful = set(compress(subjects, map(FAILED.__eq__, outcomes))) - {0}
    failed: dict[int, list[int]] = {}
    found = []
    for number in compress(range(len(subjects)), map(doubtful.__contains__, subjects)):
        subject, outcome = subjects[number], outcomes[number]
        if outcome == FAILED:
            failed.setdefault(subject, []).append(calls.message_of(number))
        elif outcome == OK and (before := failed.pop(subject, [])):
            index = calls.message_of(number)
            weight = _SUCCESS_WEIGHT + _FAILURE_WEIGHT * min(len(before), _MOST_FAILED)
            listed = tuple(dict.fromkeys([before[0], *before[1:][-_NAMED + 1 :]]))
            found.append(
                Milestone(
                    index=index,
                    step="success",
                    weight=weight + min(index - before[0], _FAR) // 5,
                    failed=listed,
                    failures=len(set(before)),
                    call=number,
                )
            )
    return found


def _steps(calls: Calls) -> list[Milestone]:
    """Commits, and the writing of a list whose things are all done where they were not before."""
    found, open_ = [], True
    for number in compress(range(len(calls)), calls.steps):
        step = calls.steps[number]
        if calls.outcomes[number] != OK:
            continue
        index = calls.message_of(number)
        if step & COMMIT:
            found.append(Milestone(index=index, step="commit", weight=_COMMIT_WEIGHT, call=number))
        else:
            if step & LIST_DONE and open_:
                found.append(Milestone(index=index, step="list", weight=_LIST_WEIGHT, call=number))
            open_ = not step & LIST_DONE
    return found
