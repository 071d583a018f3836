"""A prompt that is too long for the model, asked once more with less of the session in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from narrator.context import LEAST_BUDGET
from narrator.errors import ModelTooLongError, UsageError
from narrator.steps import Steps

if TYPE_CHECKING:
    from narrator.asking import Request
    from narrator.prompt import Prompt

Written = TypeVar("Written")

_ANSWER = 2_500
"""Tokens kept free for an essay whose length nobody limited; never more than half of what the context holds."""
_AT_MOST = 0.75
"""Share of the tokens of target and window that may be left: the estimate was too low, so a hair less is no use."""


def shrink_once(
    write: Callable[[Request], Steps[Written]],
    request: Request,
    smaller: Callable[[int], Request],
    *,
    answer: int | None,
    notice: Callable[[str], None],
) -> Steps[Written]:
    """What `write` makes of the request's prompt, or, if that is too long for the model, of a smaller one.

    Args:
        write: gives the steps that ask the model.
        request: the one that is wanted.
        smaller: makes one with so many tokens for target and window.
        answer: limit of the answer in tokens, if there is one.
        notice: gets a line that says what was found too long, and the budget that is tried.

    Raises:
        ModelTooLongError: the smaller one is too long as well, or none can be made.
        ModelError: the model gave no usable essay.
    """
    try:
        return (yield from write(request))
    except ModelTooLongError as error:
        budget = smaller_budget(error, request.prompt, answer)
        if budget >= request.prompt.context.tokens:
            raise _hopeless(error, request.prompt.context.tokens) from error
        try:
            less = smaller(budget)
        except UsageError as refusal:  # --before and --after promise more than goes in
            raise _hopeless(error, budget) from refusal
        notice(f"{_what(error)}; asked again with --budget {budget}")
    try:
        return (yield from write(less))
    except ModelTooLongError as error:
        raise _hopeless(error, budget) from error


def smaller_budget(error: ModelTooLongError, prompt: Prompt, answer: int | None) -> int:
    """Tokens for target and window with which the prompt should fit, by the server's numbers; half without them."""
    window = prompt.context.tokens
    if error.limit is None:
        return max(LEAST_BUDGET, window // 2)
    # The model's tokens for each of ours: it counts with its own vocabulary.
    counted = error.sent if error.sent is not None else max(prompt.tokens, round(error.limit * 1.1))
    factor = max(counted / prompt.tokens, 0.5)
    room = min(answer or _ANSWER, error.limit // 2)
    fits = int((error.limit - room) / factor) - (prompt.tokens - window)
    return max(LEAST_BUDGET, min(fits, int(window * _AT_MOST)))


def _what(error: ModelTooLongError) -> str:
    return str(error).rpartition("; ")[0]


def _hopeless(error: ModelTooLongError, budget: int) -> ModelTooLongError:
    advice = "use a model, or start the server, with a larger context"
    return ModelTooLongError(
        f"{_what(error)}, also with --budget {budget}; {advice}", limit=error.limit, sent=error.sent
    )
