"""How recorded conversations with an endpoint are kept: readable, without secrets, each played whole.

To record one: delete its file and run its test with VCR_MODE=once. Nothing records where CI is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import vcr  # type: ignore[import-untyped]  # it ships no types, nor do its parts below
import vcr.errors  # type: ignore[import-untyped]
import vcr.persisters.filesystem  # type: ignore[import-untyped]
import vcr.serialize  # type: ignore[import-untyped]
import vcr.serializers.yamlserializer  # type: ignore[import-untyped]
import yaml
from endpoint import Answer, Loopback

FOLDER = Path(__file__).resolve().parents[1] / "cassettes"
HEADER = "# Recorded from a loopback endpoint (tests/endpoint.py), not from a hosted model.\n"
HOST = "http://llm.test"
NotRecordedError = vcr.errors.CannotOverwriteExistingCassetteException
"""A request that the cassette does not hold."""

_KEPT_OF_REQUESTS = {"content-type"}
_KEPT_OF_RESPONSES = {"content-type", "retry-after", "retry-after-ms", "x-should-retry"}


def mode() -> str:
    return "none" if os.environ.get("CI") else os.environ.get("VCR_MODE") or "none"


class Conversation:
    """What a test that uses a cassette gets."""

    def __init__(self, *, recording: bool) -> None:
        self.recording = recording

    @contextmanager
    def serve(self, *answers: Answer) -> Iterator[str]:
        """Base URL to ask: a loopback endpoint with these answers when recording, else one that does not exist."""
        if not self.recording:
            yield f"{HOST}/v1"
            return
        with Loopback(*answers) as server:
            yield server.url


def make_vcr(record_mode: str) -> vcr.VCR:
    recorder = vcr.VCR(
        record_mode=record_mode,
        # Not the host: whichever address recorded it, any address replays it.
        match_on=("method", "path", "json"),
        before_record_request=_scrub_request,
        before_record_response=_scrub_response,
        decode_compressed_response=True,
        record_on_exception=False,
        serializer="readable",
    )
    recorder.register_matcher("json", _same_json)
    recorder.register_serializer("readable", _Readable)
    recorder.register_persister(_Utf8)
    return recorder


def assert_played(tape: Any) -> None:
    assert tape.all_played, f"only {tape.play_count} of {len(tape)} recorded answers were played"


def _scrub_request(request: Any) -> Any:
    path = urlsplit(request.uri).path
    request.uri = HOST + path[path.index("/v1/") :]
    # A list of what stays: what goes would grow with every release of the SDK.
    request.headers = {name: value for name, value in request.headers.items() if name.lower() in _KEPT_OF_REQUESTS}
    return request


def _scrub_response(response: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in response["headers"].items() if name.lower() in _KEPT_OF_RESPONSES}
    return response | {"headers": kept}


def _same_json(first: Any, second: Any) -> None:
    assert json.loads(first.body) == json.loads(second.body), "the bodies differ"


class _Dumper(yaml.SafeDumper):
    """Multi-line text as it reads; nothing by reference."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (the base class's signature)
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


class _Readable:
    """JSON bodies as YAML, the rest as text."""

    @staticmethod
    def serialize(cassette: dict[str, Any]) -> str:
        for talk in cassette["interactions"]:
            talk["request"]["body"] = _unpacked(talk["request"]["body"])
            talk["response"]["body"] = _unpacked(talk["response"]["body"]["string"])
        return HEADER + yaml.dump(cassette, Dumper=_Dumper, allow_unicode=True, width=10_000, sort_keys=False)

    @staticmethod
    def deserialize(text: str) -> dict[str, Any]:
        cassette: dict[str, Any] = vcr.serializers.yamlserializer.deserialize(text)
        for talk in cassette["interactions"]:
            talk["request"]["body"] = _packed(talk["request"]["body"])
            talk["response"]["body"] = {"string": _packed(talk["response"]["body"])}
        return cassette


def _unpacked(body: str) -> dict[str, Any]:
    try:
        return {"json": json.loads(body)}
    except ValueError:
        return {"text": body}


def _packed(body: dict[str, Any]) -> str:
    text: str = body["text"] if "text" in body else json.dumps(body["json"], ensure_ascii=False)
    return text


class _Utf8:
    """UTF-8 whatever the locale; a broken file is an error, not a missing one."""

    @staticmethod
    def load_cassette(cassette_path: str, serializer: Any) -> Any:
        path = Path(cassette_path)
        if not path.is_file():
            raise vcr.persisters.filesystem.CassetteNotFoundError
        return vcr.serialize.deserialize(path.read_text("utf-8"), serializer)

    @staticmethod
    def save_cassette(cassette_path: str, cassette_dict: dict[str, Any], serializer: Any) -> None:
        path = Path(cassette_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(vcr.serialize.serialize(cassette_dict, serializer), "utf-8", newline="\n")
