"""What every test stands on: a clean environment, no network but loopback, cassettes."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# `--import-mode=importlib` puts nothing on the path, and the tests share two helpers (`endpoint`, `cassette`).
sys.path.insert(0, str(Path(__file__).parent))

import cassette as tapes

from narrator import tokens

pytest_plugins = ["places"]
LOOPBACK = ("127.", "::1", "localhost")
FOREIGN_VARIABLES = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "NARRATE_MODEL", "SSL_CERT_FILE"),
    *(name for proxy in ("HTTP", "HTTPS", "ALL", "NO") for name in (f"{proxy}_PROXY", f"{proxy}_proxy".lower())),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`: write the files in `golden/` again instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden again; read the difference")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, address or proxy of the person who runs the tests."""
    for name in FOREIGN_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket connects to another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != getattr(socket, "AF_UNIX", None) and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test opened a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[tapes.Conversation]:
    """The recorded conversation `cassettes/<module>/<test>.yaml`, which the test has to play whole."""
    mode = tapes.mode()
    path = tapes.FOLDER / request.path.stem / f"{request.node.name}.yaml"
    with tapes.make_vcr(mode).use_cassette(str(path)) as tape:
        yield tapes.Conversation(recording=mode != "none")
    if mode == "none":
        tapes.assert_played(tape)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache folder."""
    monkeypatch.setenv("NARRATE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def estimated_tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is counted is the same whether or not the extra `tokens` is installed."""
    monkeypatch.setenv("NARRATE_TOKENS", "estimate")
    tokens.find_vocabulary.cache_clear()
    tokens._count_again.cache_clear()
    yield
    tokens.find_vocabulary.cache_clear()
    tokens._count_again.cache_clear()
