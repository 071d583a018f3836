"""An event loop for one call, which leaves at once when it is over or interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Given = ParamSpec("Given")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """What `main` gives, like `asyncio.run`, but without waiting for a name that is still being looked up."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Unawaited())
        return runner.run(main)


class _Unawaited(ThreadPoolExecutor):
    """Runs each thing in a thread that the end of the loop, and of the program, does not wait for.

    A name server that does not answer holds its thread for half a minute, and nothing can interrupt that.
    """

    def submit(self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Future[Result]:
        """Begin at once."""
        future: Future[Result] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except (OSError, ValueError) as error:  # what looking up a name raises
                future.set_exception(error)

        Thread(target=work, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nobody."""
