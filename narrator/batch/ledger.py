"""What a batch has taken and may still take: tokens and dollars, those of requests on their way included."""

from __future__ import annotations

from collections import deque

from narrator.batch.job import Limits
from narrator.draft import Usage
from narrator.errors import BudgetError, ModelCutOffError, ModelError, UsageError
from narrator.model import Settings
from narrator.prices import Price, cost_of, dollars

_TOKENS_A_CHARACTER = 1 / 3
"""Of a prompt, before the endpoint has counted one; sessions have one in 3.5 characters."""
_ANSWER = 2_500
"""Tokens of an answer, before the endpoint has counted one."""
_SEEN = 50
"""Requests whose largest answer, and densest prompt, the next is expected to have."""


class Ledger:
    """Keeps a batch within its budget."""

    def __init__(self, limits: Limits, settings: Settings, price: Price | None = None) -> None:
        """Nothing is spent yet.

        Raises:
            UsageError: there is a budget in dollars, and no price.
        """
        self._limits, self._settings, self._price = limits, settings, price
        self.spent = Usage()
        """By everything that was asked, what led to no essay included; estimated where the endpoint did not count."""
        self.dollars = 0.0
        """For that; only where there is a budget in dollars."""
        self.full = False
        """Something did not fit any more."""
        self._held: list[Usage] = []
        self._dense: deque[float] = deque(maxlen=_SEEN)
        self._answers: deque[int] = deque(maxlen=_SEEN)
        if limits.max_cost is not None and self._priced(Usage(input=1)) is None:
            told = f"no price of {settings.model} at {settings.address} is known"
            raise UsageError(f"--max-cost {limits.max_cost:g}: {told}; give it with --price IN,CACHED,OUT")

    def expect(self, characters: int) -> Usage:
        """About what a request of so many characters will take: rather too much than too little."""
        answer = self._settings.max_output_tokens or max(self._answers, default=_ANSWER)
        return Usage(input=int(characters * max(self._dense, default=_TOKENS_A_CHARACTER)) + 1, output=answer)

    def learn(self, characters: int, usage: Usage) -> None:
        """A request of so many characters took so much."""
        if characters > 0 and usage.input:
            self._dense.append(usage.input / characters)
            self._answers.append(usage.output)

    def fits(self, expected: Usage) -> bool:
        """Whether it may be asked now; if not, it may be once something that is on its way took less than expected.

        Raises:
            BudgetError: nothing is on its way.
        """
        passed = self._passed(expected)
        if passed and not self._held:
            self.full = True
            raise BudgetError(f"{passed}: the next request would pass it; nothing more is asked")
        return not passed

    def reserve(self, expected: Usage) -> None:
        """Count a request that is on its way now."""
        self._held.append(expected)

    def settle(self, expected: Usage, used: Usage) -> None:
        """A request that was counted as `expected` took `used`."""
        self._held.remove(expected)
        self.spent = Usage.total((self.spent, used))
        if self._limits.max_cost is not None:
            self.dollars += self._priced(used) or 0.0

    def lost(self, expected: Usage, failed: BaseException | None) -> Usage:
        """What a request took that the endpoint did not count: nothing where it sent an error instead of an answer."""
        if isinstance(failed, ModelError) and not isinstance(failed.__cause__, ModelCutOffError):
            return Usage()
        return expected

    def _passed(self, expected: Usage) -> str:
        """The budget that would be passed, as its option is written; "" for none."""
        limits, coming = self._limits, [*self._held, expected]
        tokens = sum(usage.input + usage.output for usage in (self.spent, *coming))
        if limits.max_tokens is not None and tokens > limits.max_tokens:
            return f"--max-total-tokens {limits.max_tokens} ({self.spent.input + self.spent.output:,} are used)"
        if limits.max_cost is None:
            return ""
        cost = self.dollars + sum(self._priced(usage) or 0.0 for usage in coming)
        return f"--max-cost {limits.max_cost:g} ({dollars(self.dollars)} are spent)" if cost > limits.max_cost else ""

    def _priced(self, usage: Usage) -> float | None:
        cost = cost_of([usage], self._settings.model, self._settings.base_url, self._price)
        return None if cost is None else cost.usd
