"""What holds for every recorded conversation."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import cassette as tapes
import pytest

from narrator.model import Endpoint, settings_from

FILES = sorted(tapes.FOLDER.rglob("*.yaml"))
TESTS = Path(__file__).parent


def players_in(module: str) -> set[str]:
    """Names of a module's tests that take the fixture."""
    source = TESTS / f"{module}.py"
    tree = ast.parse(source.read_text("utf-8") if source.is_file() else "")
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {function.name for function in functions if "cassette" in {argument.arg for argument in function.args.args}}


def test_there_are_recordings() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recording_belongs_to_a_test_that_plays_it(path: Path) -> None:
    assert path.stem in players_in(path.parent.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recording_says_where_it_is_from_and_tells_no_secrets(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(tapes.HEADER)
    for secret in ("authorization", "cookie", "sk-", "127.0.0.1", "localhost", "x-stainless", "user-agent"):
        assert secret not in text.lower()
    assert len(text) < 50_000


def test_a_request_that_was_not_recorded_is_an_error_at_once(tmp_path: Path) -> None:
    settings = settings_from(None, f"{tapes.HOST}/v1", {})
    assert settings is not None
    notices: list[str] = []
    endpoint = Endpoint(settings, notice=notices.append)
    with tapes.make_vcr("none").use_cassette(str(tmp_path / "empty.yaml")), pytest.raises(tapes.NotRecordedError):
        endpoint.write([{"role": "user", "content": "not recorded"}])
    assert not notices


def test_a_recording_that_is_not_played_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    shutil.copy(FILES[0], path)
    with tapes.make_vcr("none").use_cassette(str(path)) as tape:
        assert not tape.all_played
    with pytest.raises(AssertionError, match="only 0 of"):
        tapes.assert_played(tape)
