"""When the next request to one endpoint may start: within limits that are known, and near those that are not.

Nothing here waits or knows the time: every call is told it, in seconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from asyncio import CancelledError
from collections import deque
from dataclasses import dataclass, field

from narrator.errors import ModelUnavailableError

MINUTE = 60.5
"""Seconds in which a known limit is kept: a minute, and what requests may be held up on their way."""
_SLACK = 0.1
"""Seconds by which a request may be early: what a busy machine loses between two of them is caught up."""
_FIRST_RATE = 20.0
"""Requests a second that are tried at first, where no rate is known."""
_SEEN = 40
"""Starts from which the rate is measured."""
_KEPT = 5
"""Of these, those that still count once it fell: what came before may have been a burst that a server had saved up."""
_OVERLOADED = {502, 503, 504, 529}
"""Statuses of a server that has too much to do."""
_LONGEST = 3600.0
"""Seconds for which a server may send everybody away."""
_FAULTY = 0.5
"""Share of late requests that may fail in other ways before fewer are sent at a time."""


class Window:
    """A known limit: so much in any minute, and evenly spread over it."""

    def __init__(self, limit: float) -> None:
        """Let `limit` through in any minute."""
        self._limit = limit
        self._past: deque[list[float]] = deque()
        self._sum = 0.0
        self._due = -math.inf

    def delay(self, now: float, amount: float) -> float:
        """Seconds until `amount` may start; one that is beyond the limit by itself may when nothing else has."""
        while self._past and self._past[0][0] <= now - MINUTE:
            self._sum -= self._past.popleft()[1]
        delay, over = max(0.0, self._due - _SLACK - now), self._sum + amount - self._limit
        for begun, taken in self._past:
            if over <= 1e-9:
                break
            delay, over = max(delay, begun + MINUTE - now), over - taken
        return delay

    def start(self, now: float, amount: float) -> list[float]:
        """Count `amount` as started; gives its entry."""
        entry = [now, amount]
        self._past.append(entry)
        self._sum += amount
        self._due = max(now, self._due) + amount * MINUTE / self._limit
        return entry

    def correct(self, entry: list[float], amount: float) -> None:
        """Say how much it was in the end."""
        if self._past and self._past[0][0] <= entry[0]:
            self._sum += amount - entry[1]
        self._due += (amount - entry[1]) * MINUTE / self._limit
        entry[1] = amount


@dataclass
class Climb:
    """A limit that nobody told, looked for: it rises while all goes well, and falls to what was borne.

    The steps become smaller when it was passed again soon, and larger when it was not for long: so about one request
    in a hundred is spent on looking.
    """

    value: float
    least: float
    most: float
    step: float = 0.25
    """Share by which it rises with every success."""
    well: int = 0
    """Successes since it last fell or its step grew."""

    def rise(self, most: float = math.inf) -> None:
        """Something went well; there is no use in rising beyond `most`."""
        self.well += 1
        if self.well >= 150:
            self.step, self.well = min(0.25, self.step * 2), 0
        if self.value < most:
            self.value = min(self.most, most, self.value * (1 + self.step))

    def fall(self, to: float) -> None:
        """It was passed; `to` was borne."""
        if self.well < 75:
            self.step = max(0.002, self.step / 2)
        self.value, self.well = min(self.value, max(self.least, to)), 0


@dataclass
class Ticket:
    """A request on its way."""

    begun: float
    tokens: list[float] | None = None
    """Its entry in the window of tokens."""


@dataclass
class Pace:
    """What is on its way to one endpoint, what may follow, and what was learnt from the answers."""

    jobs: int
    """Requests at once, at most."""
    rpm: float | None = None
    tpm: float | None = None
    paused: float = -math.inf
    """Until then nothing starts."""
    running: int = 0
    _calm: float = -math.inf
    """Until then a further complaint is about the same rush."""
    _silence: float = 0.5
    """Seconds of the next pause that a server does not measure itself."""
    _faults: float = 0.0
    _due: float = -math.inf
    _starts: deque[float] = field(default_factory=lambda: deque(maxlen=_SEEN))
    """When the last requests started that were not sent away."""

    def __post_init__(self) -> None:
        """Begin with what is known."""
        self.limit = Climb(float(self.jobs), 1.0, float(self.jobs))
        known = math.inf if self.rpm is None else self.rpm / 60
        self.rate = Climb(min(_FIRST_RATE, known) if self.rpm is None else known, 0.01, known)
        self._requests = Window(self.rpm) if self.rpm is not None else None
        self._tokens = Window(self.tpm) if self.tpm is not None else None

    def delay(self, now: float, tokens: float) -> float:
        """Seconds until a request of about `tokens` may start; infinite: not before another one has ended."""
        if self.running >= int(self.limit.value):
            return math.inf
        waits = [0.0, self.paused - now, self._due - _SLACK - now]
        if self._requests is not None:
            waits.append(self._requests.delay(now, 1.0))
        if self._tokens is not None:
            waits.append(self._tokens.delay(now, tokens))
        return max(waits)

    def start(self, now: float, tokens: float) -> Ticket:
        """Count a request as on its way."""
        self.running += 1
        self._starts.append(now)
        self._due = max(now, self._due) + 1 / self.rate.value
        if self._requests is not None:
            self._requests.start(now, 1.0)
        return Ticket(now, self._tokens.start(now, tokens) if self._tokens is not None else None)

    def count(self, ticket: Ticket, tokens: float) -> None:
        """Say how many tokens a request took in the end."""
        if self._tokens is not None and ticket.tokens is not None:
            self._tokens.correct(ticket.tokens, tokens)

    def end(self, ticket: Ticket, now: float, error: BaseException | None) -> None:
        """A request is over; learn from how."""
        self.running -= 1
        if isinstance(error, CancelledError):
            # Given up because its time was over; an interrupt, which looks the same, ends the batch anyway.
            self.limit.fall(self.limit.value / 2)
        elif not isinstance(error, ModelUnavailableError) or error.status is None:
            self._fare(now, well=not isinstance(error, ModelUnavailableError), told=error is None)
        elif error.status == 429:
            self._send_away(ticket, now, error.retry_after)
        elif error.status in _OVERLOADED:
            self.limit.fall(self.running)
            if error.retry_after is not None:
                self.paused = max(self.paused, now + min(error.retry_after, _LONGEST))
        else:
            self._fare(now, well=False)

    def _fare(self, now: float, *, well: bool, told: bool = True) -> None:
        """A request went well, or failed in a way that need not have to do with how many there are."""
        self._faults = 0.9 * self._faults + (0.0 if well else 0.1)
        if well and told:
            self._silence = 0.5
            self.limit.rise()
            self.rate.rise(max(_FIRST_RATE, 2 * self._measured(now)))
        elif not well and self._faults > _FAULTY and now >= self._calm:
            self.limit.fall(self.limit.value * 0.7)
            self._calm = now + 1

    def _send_away(self, ticket: Ticket, now: float, asked: float | None) -> None:
        """A request was one too many: nothing starts for a while, and then at the rate that was borne."""
        if ticket.begun in self._starts:
            self._starts.remove(ticket.begun)
        pause = self._silence if asked is None else min(asked, _LONGEST)
        if now >= self._calm:
            self.rate.fall(max(0.97 * self._measured(now + pause), min(self.rate.value, _FIRST_RATE) / 4))
            self._silence = min(30.0, self._silence * 2)
            self._starts = deque(list(self._starts)[-_KEPT:], maxlen=_SEEN)
        self.paused = max(self.paused, now + pause)
        self._calm = max(self._calm, self.paused)

    def _measured(self, now: float) -> float:
        """Requests a second that were started lately and not sent away."""
        if not self._starts:
            return 0.0
        return len(self._starts) / max(now - self._starts[0], 1e-3)
