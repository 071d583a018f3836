"""The shared endpoint that serves faults, loaded from beside this checkout."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from recordings import SHARED

FILE = SHARED / "tools" / "fault_endpoint.py"
needs_the_endpoint = pytest.mark.skipif(not FILE.is_file(), reason="needs ../shared/tools/fault_endpoint.py")


def fault_endpoint() -> Any:
    """The module: `FakeLLM` serves the fault that a request's model names, `KNOWN` are all of them."""
    spec = importlib.util.spec_from_file_location("fault_endpoint", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving_faults() -> Iterator[Any]:
    """The endpoint while it serves; `log` and `hits` are what it was asked. Nothing of it stays open."""
    with fault_endpoint().FakeLLM() as server:
        yield server
    loop = server.loop
    for task in asyncio.all_tasks(loop):
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
