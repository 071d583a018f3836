"""Which messages bear on the target, wherever in the session they lie, and why.

Those that led to it: the turn it serves with what that turn answered, the failures since then, earlier failures with
the same command or file. Those that react to it: turns sent meanwhile, the first answer, the next try. And those that
settle it: the same command or file succeeding, the answers that end this turn and the next ones, the next summary.
All of it is looked for in the session's columns; few messages are decoded, and a bounded number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from msgspec import Struct

from narrator.findings import running_when_sent, sent_meanwhile
from narrator.segments import SHORT
from narrator.session import Session
from narrator.skims import FAILED, KINDS, OK, ROLES
from narrator.subjects import call_at, find_alike, noun_of

TURN, WORDS, CALL, ASIDE, SUMMARY = 900, 600, 700, 250, 4000
"""Tokens that a message is shown with at most: a user's turn, an answer's words, a call, what bears on it only from
afar, a summary."""
_TURNS = 4
"""User turns before the target that are shown, while each leans on what was said before it."""
_FAILURES = 5
"""Failures since the turn that the target serves, and those with the same command or file, that are shown."""
_MATTERS = 3
"""Calls of the target, or near it, that are followed through the session."""
_BACK = 400
"""Calls before the target among which the last failure is looked for."""
_LOOKED_AT = 80
"""Commands that are read in search of one that is much like a failed one."""
_ENDS = 3
"""Ends of turns behind the target that are shown."""
_QUEUE = 6
"""Turns sent meanwhile that are shown."""
_TYPED, _ANSWER = KINDS.index("typed"), KINDS.index("answer")
_ASSISTANT = ROLES.index("assistant")


class Bearing(Struct, frozen=True):
    """A message that bears on the target."""

    index: int
    why: str
    """In the product's words: `the command of msg 123 succeeds here`."""
    most: int
    """Tokens of it that are worth showing."""


def find_bearing(session: Session, target: int) -> tuple[Bearing, ...]:
    """What bears on message `target`, the most telling first; each message once."""
    turns = _turns_before(session, target)
    found: dict[int, Bearing] = {}
    for bearing in (
        *_meanwhile(session, target),
        *_asked(session, target, turns),
        *_summaries(session, target),
        *_matter(session, target, turns),
        *_reactions(session, target),
        *_ends(session, target),
        *_failures(session, target, turns),
    ):
        if bearing.index != target:
            found.setdefault(bearing.index, bearing)
    return tuple(found.values())


def _turns_before(session: Session, target: int) -> list[int]:
    """The last turns typed before the target, the last one first, back to one that says what is wanted."""
    skims, turns = session.skims, list[int]()
    at: int | None = target
    while at is not None and len(turns) < _TURNS and (at := skims.last("typed", at)) is not None:
        turns.append(at)
        if skims.said[at] >= SHORT:
            break
    return turns


def _summaries(session: Session, target: int) -> Iterator[Bearing]:
    """The summary before the target and the one after it; of the latter more, if the target is itself a compaction."""
    skims = session.skims
    before, after = skims.last("compaction-summary", target), skims.first("compaction-summary", target)
    if before is not None:
        yield Bearing(before, f"it is the last compaction summary before msg {target}", SUMMARY)
    if after is not None:
        most = SUMMARY if KINDS[skims.kinds[target]].startswith("compaction") else WORDS
        yield Bearing(after, f"it is the next compaction summary after msg {target}", most)


def _asked(session: Session, target: int, turns: list[int]) -> Iterator[Bearing]:
    """The message it answers, the last turns of the user, and what the short ones among these answered."""
    skims = session.skims
    parent = skims.parents[target]
    if 0 <= parent < target:
        yield Bearing(parent, f"msg {target} answers it", TURN)
        if parent and skims.kinds[parent] == _TYPED and skims.kinds[parent - 1] == _ANSWER:
            yield Bearing(parent - 1, f"msg {parent} answers it", TURN)
    for turn in turns:
        yield Bearing(turn, f"it is one of the last turns typed before msg {target}", TURN)
        if skims.said[turn] < SHORT and turn and skims.kinds[turn - 1] == _ANSWER:
            most = WORDS if turn == turns[0] else ASIDE
            yield Bearing(turn - 1, f"msg {turn} was typed right after it", most)


def _matter(session: Session, target: int, turns: list[int]) -> Iterator[Bearing]:
    """What became of the calls the target is about, before it and after it."""
    calls = session.calls
    for number in _matters(session, target, turns):
        at, noun = calls.message_of(number), noun_of(call_at(session, number))
        same = calls.same(number)
        place = bisect_left(same, number)
        if at != target:
            fate = " that failed" if calls.outcomes[number] == FAILED else ""
            yield Bearing(at, f"it has the last call with a {noun} before msg {target}{fate}", CALL)
        yield from _tried_before(session, same[:place], f"the same {noun} as in msg {at}")
        later = [other for other in same[place + 1 :] if calls.message_of(other) > target]
        yield from _tried_later(session, number, later, f"the {noun} of msg {at}")


def _matters(session: Session, target: int, turns: list[int]) -> list[int]:
    """The target's own calls, the failed ones first; without any, the last failed one before it, and the last one."""
    calls = session.calls
    own = [number for number in calls.of(target) if calls.subjects[number]]
    if own:
        return sorted(own, key=lambda number: calls.outcomes[number] == OK)[:_MATTERS]
    stop = calls.of(target).start
    start = max(calls.of(turns[-1]).start if turns else 0, stop - _BACK)
    before = [number for number in range(stop - 1, start - 1, -1) if calls.subjects[number]]
    failed = [number for number in before if calls.outcomes[number] == FAILED]
    return list(dict.fromkeys([*failed[:1], *before[:1]]))


def _tried_before(session: Session, earlier: list[int], what: str) -> Iterator[Bearing]:
    """Failures with the same command or file since it last succeeded, else its last one; and when it was used last."""
    calls = session.calls
    failed = [number for number in earlier if calls.outcomes[number] == FAILED]
    good = next((number for number in reversed(earlier) if calls.outcomes[number] == OK), -1)
    since = [number for number in failed if number > good]
    for number in dict.fromkeys([*reversed(since[-_FAILURES + 1 :]), *since[:1], *failed[-1:]]):
        yield Bearing(calls.message_of(number), f"{what} failed here", CALL)
    if earlier:
        yield Bearing(calls.message_of(earlier[-1]), f"{what} was used here last before it", WORDS)


def _tried_later(session: Session, number: int, later: list[int], what: str) -> Iterator[Bearing]:
    """The next use of the same command or file, and how a failure was settled: also by a command much like it."""
    calls = session.calls
    if calls.outcomes[number] == OK:
        failed = [other for other in later if calls.outcomes[other] == FAILED]
        yield from (Bearing(calls.message_of(other), f"{what} fails here", CALL) for other in failed[:1])
    else:
        settled = next((other for other in later if calls.outcomes[other] == OK), None)
        if settled is not None:
            yield Bearing(calls.message_of(settled), f"{what} succeeds here", CALL)
        elif (alike := find_alike(session, number, _succeeding(session, number))) is not None:
            yield Bearing(calls.message_of(alike), f"a command much like {what} succeeds here", CALL)
    yield from (Bearing(calls.message_of(other), f"{what} is used here next", WORDS) for other in later[:1])


def _succeeding(session: Session, number: int) -> Iterable[int]:
    """The next calls with a command or file that succeed."""
    calls = session.calls
    following = range(number + 1, min(len(calls), number + 1 + 2 * _LOOKED_AT))
    good = [other for other in following if calls.subjects[other] and calls.outcomes[other] == OK]
    return good[:_LOOKED_AT]


def _meanwhile(session: Session, target: int) -> Iterator[Bearing]:
    """What was running when the target was sent, and the turns sent while it was running: by time, not by place."""
    running = running_when_sent(session, target)
    if running is not None:
        yield Bearing(running, f"it was running when msg {target} was sent", CALL)
    for place in sent_meanwhile(session, target)[:_QUEUE]:
        yield Bearing(place, f"the user sent it while msg {target} was running", TURN)


def _reactions(session: Session, target: int) -> Iterator[Bearing]:
    """The first answer to it, and the next turn."""
    skims = session.skims
    if skims.roles[target] != _ASSISTANT and (answer := _first_answer(session, target)) is not None:
        yield Bearing(answer, f"it is the first answer to msg {target}", WORDS)
    following = skims.first("typed", target)
    if following is not None:
        yield Bearing(following, f"it is the next turn typed after msg {target}", TURN)


def _first_answer(session: Session, target: int) -> int | None:
    try:
        return session.skims.parents.index(target, target + 1)
    except ValueError:
        return None


def _failures(session: Session, target: int, turns: list[int]) -> Iterator[Bearing]:
    """The last failures since the turn that the target serves."""
    calls = session.calls
    stop = calls.of(target).start
    start = max(calls.of(turns[-1]).start if turns else 0, stop - _BACK)
    failed = [number for number in range(stop - 1, start - 1, -1) if calls.outcomes[number] == FAILED]
    for number in failed[:_FAILURES]:
        yield Bearing(calls.message_of(number), f"a call failed here on the way to msg {target}", ASIDE)


def _ends(session: Session, target: int) -> Iterator[Bearing]:
    """With what answer the target's turn and the next ones end."""
    skims, at = session.skims, target
    for number in range(_ENDS):
        following = skims.first("typed", at)
        last = len(skims) - 1 if following is None else following - 1
        if last > target and skims.kinds[last] == _ANSWER:
            whose = f"the turn of msg {target}" if not number else f"the turn after that of msg {at - 1}"
            yield Bearing(last, f"{whose} ends here", WORDS)
        if following is None:
            return
        at = following
