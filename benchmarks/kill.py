"""Kills one batch at random moments and goes on with it, until it is whole; then compares drafts with what was asked.

    python benchmarks/kill.py [--kills 20] [--seed 1] [--essays 120] [--latency 0.4] [--jobs 8] [--drafts PLACE]

An endpoint on loopback (in this process) logs every request and serves an essay that names the message it is about.
`narrate batch` runs in a process of its own and is killed with SIGKILL at a seeded moment; the same command goes on.
Afterwards nothing may be lost (an essay without a draft), torn (a draft that cannot be read), or asked for twice after
it was saved: a request about a message whose draft stood when it came in. Requests beyond one an essay are what the
kills cost: those in flight. Exit code 1 when anything of that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from narrator.batch.store import open_store
from narrator.draft import read_draft
from narrator.errors import DraftError

TARGET = re.compile(r"Step (\d+) of session (\d+)\.")
"""What the target's text says in these sessions; the last in a prompt's target is the message asked about."""


def make_sessions(folder: Path, sessions: int, messages: int) -> list[str]:
    """Recordings whose messages all say which they are."""
    paths = []
    for number in range(sessions):
        said = []
        for k in range(messages):
            about: dict[str, Any] = {"id": f"msg_{number:02}{k:04}", "sessionID": f"ses_kill{number}", "role": "user"}
            when = {"created": 1_760_000_000_000 + k * 60_000}
            part = {"id": f"prt_{number:02}{k:04}", "type": "text", "text": f"Step {k} of session {number}."}
            said.append({"info": about | {"agent": "build", "time": when}, "parts": [part]})
        info = {"id": f"ses_kill{number}", "version": "1.18.33", "title": f"Session {number}", "time": {"created": 1}}
        path = folder / f"{number}.json"
        path.write_text(json.dumps({"info": info, "messages": said}, indent=2) + "\n", "utf-8")
        paths.append(str(path))
    return paths


class Endpoint(ThreadingHTTPServer):
    """Serves one essay after a while, and remembers about which message it was asked, and when."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency = latency
        self.lock = threading.Lock()
        self.asked: list[tuple[tuple[int, int], float]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        """A client that was killed is no news."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with an essay, as a stream."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        about = asked_about("\n".join(str(message["content"]) for message in body["messages"]))
        with self.server.lock:
            self.server.asked.append((about, time.time()))
        time.sleep(self.server.latency * random.uniform(0.5, 1.5))  # noqa: S311 (load, no secret)
        text = f"# Step {about[1]}\n\n" + "The step stands in the record [msg 0].\n\n" * 40
        usage = {"prompt_tokens": 1000, "completion_tokens": 500}
        events: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        head = {"id": "x", "object": "chat.completion.chunk", "model": "loopback"}
        data = "".join(f"data: {json.dumps(head | event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's name)
        """Say nothing."""


def asked_about(prompt: str) -> tuple[int, int]:
    """Session and message that a prompt asks about."""
    step, session = TARGET.findall(prompt)[-1]  # the target stands at the end
    return int(session), int(step)


def main() -> int:
    """Run it; gives the exit code."""
    options = read_options()
    moments = random.Random(options.seed)  # noqa: S311 (seeded moments, no secret)
    with tempfile.TemporaryDirectory() as folder:
        sessions, each = max(1, options.essays // 20), 20
        paths = make_sessions(Path(folder), sessions, each)
        drafts = options.drafts or str(Path(folder) / "drafts")
        endpoint = Endpoint(options.latency)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        command = [sys.executable, "-m", "narrator", "batch", *paths, "--all", "--model", "loopback"]
        command += ["--base-url", endpoint.url, "--jobs", str(options.jobs), "--drafts", drafts]
        command += ["--lookups", "0", "--repair", "0"]
        kills = 0
        while kills < options.kills:
            # Mostly while essays are in flight; some while it starts, plans, or has hardly begun.
            code = run_for(command, folder, moments.uniform(0.3, options.longest))
            if code is not None:
                print(f"the batch was whole after {kills} kills (exit code {code}): take more essays")
                break
            kills += 1
        code = run_for(command, folder, None)
        return judge(endpoint, drafts, sessions * each, kills, code, options.jobs)


def run_for(command: list[str], folder: str, seconds: float | None) -> int | None:
    """Run the batch, for so long; its exit code, None when it was killed."""
    env = {**os.environ, "NARRATE_CACHE_DIR": f"{folder}/cache"}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:  # noqa: S603 (our own)
        try:
            _, told = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.communicate()
            return None
    if running.returncode:
        print(told[-2000:], file=sys.stderr)
    return running.returncode


def judge(endpoint: Endpoint, drafts: str, essays: int, kills: int, code: int | None, jobs: int) -> int:
    """Compare the drafts with the log, and print what came of it."""
    store = open_store(drafts)
    saved: dict[tuple[int, int], float] = {}
    torn, twice, litter = [], [], []
    for folder in store.names(drafts):
        for name in store.names(store.join(drafts, folder)):
            path = store.join(store.join(drafts, folder), name)
            if not name.endswith(".json"):
                litter.append(name)
                continue
            try:
                draft = read_draft(store.read(path) or b"", path)
            except DraftError as error:
                torn.append(str(error))
                continue
            key = int(draft.session.id.removeprefix("ses_kill")), draft.target.index
            if f"# Step {key[1]}\n" not in draft.essay.final:
                torn.append(f"{path}: the essay of another message")
            if key in saved:
                twice.append(path)
            saved[key] = store.written(path) or 0.0
    again = [about for about, when in endpoint.asked if when > saved.get(about, when) + 0.05]
    print(f"essays {essays} · kills {kills} · last exit code {code} · requests {len(endpoint.asked)}")
    print(f"lost {essays - len(saved)} · torn {len(torn)} · two drafts of one essay {len(twice)}")
    print(f"asked for after they were saved {len(again)} · left beside the drafts {len(litter)} {sorted(litter)[:3]}")
    more = len(endpoint.asked) - essays
    print(f"requests beyond one an essay: {more}, {more / max(1, kills):.1f} a kill (in flight at most: {jobs})")
    failed = code != 0 or len(saved) != essays or torn or twice or again or more > kills * jobs
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--essays", type=int, default=400)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--longest", type=float, default=3.5, help="seconds until a kill, at most")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--drafts", help="a folder or an address; else one that is removed at the end")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
