"""A small OpenAI-compatible endpoint on loopback: it serves what a test lays out, faults included."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

MODEL = "loopback"
"""The model name in every answer: nobody shall take them for a hosted model's."""
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 1},
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer as it goes over the wire."""

    body: str | bytes
    status: int = 200
    """0 sends nothing at all, not even a head."""
    kind: str | None = "application/json"
    """Content type; None sends none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    then: Literal["end", "reset", "hang", "short"] = "end"
    """What happens after the body: the connection ends well, is reset (which may overtake the body), stays open, or
    ends before the announced length."""
    drip: float = 0.0
    """Seconds between two events of a stream."""


def as_json(value: object, status: int = 200, **headers: str) -> Answer:
    return Answer(body=json.dumps(value), status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})


def completion(content: object = "# Essay\n\nWhole.", *, finish: str | None = "stop", **message: Any) -> Answer:
    """A whole answer in one JSON document, as a server sends it that does not stream."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return as_json({"id": "x", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": USAGE})


def chunk(content: object = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One event's object of a streamed answer."""
    choice = {"index": 0, "delta": {"content": content, **delta}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}


def usage_chunk() -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "model": MODEL, "choices": [], "usage": USAGE}


def stream(*events: dict[str, Any] | str, **how: Any) -> Answer:
    """A stream of server-sent events: objects as data, strings as they are."""
    texts = [event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events]
    return Answer(body="".join(texts), kind="text/event-stream", **how)


def essay_stream(*pieces: str, **how: Any) -> Answer:
    """A good answer in pieces, with its token count and its end mark."""
    parts = pieces or ("# Ess", "ay\n\nWhole.")
    return stream(*(chunk(piece) for piece in parts), chunk(finish="stop"), usage_chunk(), "data: [DONE]\n\n", **how)


class Loopback:
    """Serves `answers` in turn, the last one for ever; remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests, in order."""
        self.headers: list[dict[str, str]] = []
        """Their headers, names in lower case."""
        self.paths: list[str] = []
        """What they asked for."""
        self.asked = threading.Event()
        self.closing = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.desk = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self.asked.set()
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    desk: Loopback


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _answer(self, body: dict[str, Any]) -> None:
        desk = self.server.desk
        desk.paths.append(self.path)
        answer = desk.take(body, {name.lower(): value for name, value in self.headers.items()})
        data = answer.body.encode("utf-8", "surrogatepass") if isinstance(answer.body, str) else answer.body
        try:
            self._send(answer, data)
        except ConnectionError:
            return  # the client had enough, as it does after a deadline
        if answer.then == "hang":
            desk.closing.wait()
        elif answer.then == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _send(self, answer: Answer, data: bytes) -> None:
        if not answer.status:
            return
        self.send_response(answer.status)
        if answer.kind is not None:
            self.send_header("content-type", answer.kind)
        if answer.then == "short" or answer.kind != "text/event-stream":
            self.send_header("content-length", str(len(data) + (99 if answer.then == "short" else 0)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if not answer.drip:
            self.wfile.write(data)
            return
        for event in data.split(b"\n\n")[:-1]:
            self.wfile.write(event + b"\n\n")
            self.server.desk.closing.wait(answer.drip)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's name)
        """Say nothing."""
