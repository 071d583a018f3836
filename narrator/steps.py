"""Work that stops where it needs an answer: a generator that gives prompts and is sent their replies.

Who asks, in which thread and beside how many others, is the caller's: the same steps serve one essay and a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from narrator.errors import NarratorError
from narrator.prompt import Prompt
from narrator.reply import Reply

Result = TypeVar("Result")
Steps: TypeAlias = Generator[Prompt, Reply, Result]
"""Gives a prompt, is sent its reply, or is thrown the NarratorError that came instead; returns its result."""


def follow(steps: Steps[Result], ask: Callable[[Prompt], Reply]) -> Result:
    """What the steps come to when `ask` answers each of their prompts, one after the other."""
    try:
        prompt = next(steps)
        while True:
            try:
                reply = ask(prompt)
            except NarratorError as error:
                prompt = steps.throw(error)
            else:
                prompt = steps.send(reply)
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        steps.close()
