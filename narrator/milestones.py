"""Steps of a session that a reader looks for: a command that succeeds at last or again, a commit, a list that is done.

Read off the columns of all tool calls in one pass, so that no message is decoded to find them.
"""

from __future__ import annotations

from itertools import compress
from typing import Literal, TypeAlias

from msgspec import Struct

from narrator.session import Calls, Session
from narrator.skims import COMMIT, FAILED, LIST_DONE, OK, OPEN
from narrator.subjects import call_at, noun_of

Step: TypeAlias = Literal["first", "again", "after", "commit", "list"]
"""`first`: a success where there had only been failures; `again`: one after failures since the last success; `after`:
one after failures and calls without a known end."""

_NAMED = 3
"""Failures that a success is named with; the others are counted."""
_MOST_FAILED = 6
"""Failures beyond which a success weighs no more."""
_FAR = 500
"""Messages between the first failure and the success beyond which it weighs no more."""
_MOST_FLIPS = 2
"""Times that a command fails after it had succeeded beyond which its successes are no news: it asks for a status."""
_LIST_WEIGHT, _COMMIT_WEIGHT = 250, 150
_SUCCESS_WEIGHT, _AGAIN_WEIGHT, _FAILURE_WEIGHT = 100, 40, 60
"""Of a first success, of another one, and of each failure before it."""
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
        """What was reached, in the product's words: `a command works again after failing in msg 4, 9`."""
        if self.step in _WORDS:
            return _WORDS[self.step]
        what = "a command" if noun_of(call_at(session, self.call)) == "command" else "a call on a file"
        more = self.failures - len(self.failed)
        listed = f"msg {', '.join(map(str, self.failed))}" + (f" and {more} more" if more else "")
        if self.step == "first":
            kind = what if what == "a command" else "calls on a file"
            return f"first success of {kind} that had only failed before ({listed})"
        return f"{what} works {'again ' * (self.step == 'again')}after failing in {listed}"


def find_milestones(session: Session) -> list[Milestone]:
    """All milestones of a session, in order; one a message, the weightiest."""
    calls = session.calls
    found: dict[int, Milestone] = {}
    for milestone in (*_successes(calls), *_steps(calls)):
        known = found.get(milestone.index)
        if known is None or known.weight < milestone.weight:
            found[milestone.index] = milestone
    return [found[index] for index in sorted(found)]


class _Course:
    """How the calls with one subject went, as far as they were looked at."""

    def __init__(self) -> None:
        self.failed: list[int] = []
        """Messages with failures since the last success."""
        self.flips, self.seen = 0, set[int]()
        """Failures right after a success, and the outcomes that there were."""

    def add(self, outcome: int, index: int) -> None:
        if outcome == FAILED:
            self.flips += OK in self.seen and not self.failed
            self.failed.append(index)
        elif outcome == OK:
            self.failed = []
        self.seen.add(outcome)

    def step(self) -> Step:
        """What a success now would be."""
        return "again" if OK in self.seen else "after" if OPEN in self.seen else "first"


def _successes(calls: Calls) -> list[Milestone]:
    """Successes after failures with the same command or file, but for what fails and succeeds by turns."""
    subjects, outcomes = calls.subjects, calls.outcomes
    doubtful = set(compress(subjects, map(FAILED.__eq__, outcomes))) - {0}
    courses = {subject: _Course() for subject in doubtful}
    found = []
    for number in compress(range(len(subjects)), map(doubtful.__contains__, subjects)):
        course, index = courses[subjects[number]], calls.message_of(number)
        if outcomes[number] == OK and course.failed:
            found.append(_success(course, index, number))
        course.add(outcomes[number], index)
    return [milestone for milestone in found if courses[subjects[milestone.call]].flips <= _MOST_FLIPS]


def _success(course: _Course, index: int, number: int) -> Milestone:
    before, step = course.failed, course.step()
    weight = (_AGAIN_WEIGHT if step == "again" else _SUCCESS_WEIGHT) + _FAILURE_WEIGHT * min(len(before), _MOST_FAILED)
    return Milestone(
        index=index,
        step=step,
        weight=weight + min(index - before[0], _FAR) // 5,
        failed=tuple(dict.fromkeys([before[0], *before[1:][-_NAMED + 1 :]])),
        failures=len(set(before)),
        call=number,
    )


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
