"""The places that drafts may lie in: a folder, memory, and an S3 server on loopback."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Iterator

import pytest

from narrator.batch.store import Store, open_store


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Address of a server that speaks S3, in this process; skips where moto is not installed."""
    server = pytest.importorskip("moto.server", reason="an S3 server on loopback is moto's (extra `dev-many`)")
    pytest.importorskip("s3fs", reason="S3 needs the extra `remote`")
    serving = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    host, port = serving.get_host_and_port()
    yield f"http://{host}:{port}"
    serving.stop()


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of its own, with the variables that lead to it."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"essays-{uuid.uuid4().hex[:12]}"
    importlib.import_module("fsspec").filesystem("s3").mkdir(name)
    return f"s3://{name}"


@pytest.fixture(params=["folder", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Each kind of place in turn."""
    if request.param == "folder":
        return open_store(str(tmp_path_factory.mktemp("drafts")))
    pytest.importorskip("fsspec", reason="an address needs the extra `remote`")
    if request.param == "memory":
        return open_store(f"memory://drafts-{uuid.uuid4().hex}")
    return open_store(f"{request.getfixturevalue('bucket')}/drafts")
