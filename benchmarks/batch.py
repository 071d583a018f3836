"""What a batch costs beside its requests, at endpoints on loopback: time, processor, memory, wasted requests, cache.

    python benchmarks/batch.py --tools FOLDER [NAME…]

FOLDER holds `fault_endpoint.py` and `rate_limited_endpoint.py`; each is started in a process of its own. Every line is
a ratio to what cannot be beaten: the requests' own time at that many at once, or at that rate. `bare` sends the same
number of bytes with nothing but asyncio, in the same run: what the machine and the endpoint allow. NAMEs:

- `bare`, `many`: 1,000 essays, 64 at once, 2 s each; prompts of 90,000 characters, which take the endpoint, comparing
  each with 400 others for its cache, longer than 2 s.
- `bare-short`, `short`: the same with `--budget 2000`; at most 1.25 times the ideal.
- `memory`: the peak after 100 and after 1,000 essays.
- `known`, `found`: 400 essays at 40 requests a second, with `--rpm` and without; at most 1.12 and 1.3 times the
  ideal, at most 5 % of the requests sent away.
- `faults`: 60 essays each with faults mixed in; every one written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "glm5-144.json"
MESSAGES = 100
"""Essays of each session: the shorter a group, the more of it goes ahead."""
NAMES = ["bare", "many", "bare-short", "short", "memory", "known", "found", "faults"]
FAULTS = (
    "429x6",
    "429-msx6",
    "429-nonex3",
    "500x3",
    "502htmlx3",
    "503x3",
    "close-beforex3",
    "close-midx3",
    "badjsonx1",
)


class Ran(NamedTuple):
    """One batch."""

    wall: float
    cpu: float
    peak: float
    """Megabytes."""
    report: dict[str, Any]


@contextmanager
def served(tools: Path, *command: str) -> Iterator[str]:
    """An endpoint in a process of its own; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = [sys.executable, str(tools / command[0]), *(port if word == "PORT" else word for word in command[1:])]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # our own command
    try:
        url = f"http://127.0.0.1:{port}/v1"
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{url}/models").close()  # noqa: S310  # loopback
                break
            except OSError:
                time.sleep(0.05)
        yield url
    finally:
        child.terminate()
        child.wait()


def sessions(folder: Path, number: int) -> list[str]:
    """Copies of the example, each a session of its own."""
    recorded = json.loads(EXAMPLE.read_bytes())
    paths = []
    for copy in range(number):
        recorded["info"]["id"] = f"ses_copy{copy:04}"
        recorded["info"]["title"] = f"Copy {copy}"
        paths.append(folder / f"copy-{copy}.json")
        paths[-1].write_text(json.dumps(recorded), "utf-8")
    return [str(path) for path in paths]


def batch(url: str, essays: int, *options: str, model: str = "ok") -> Ran:
    """Have so many essays written by the command, in a folder that is new."""
    with tempfile.TemporaryDirectory() as place:
        folder, report = Path(place), Path(place) / "report.json"
        each = min(essays, MESSAGES)
        named = sessions(folder, -(-essays // each))
        command = [sys.executable, "-m", "narrator", "batch", *named, "--msgs", f"0-{each - 1}"]
        command += ["--base-url", url, "--model", model, "--drafts", str(folder / "drafts"), "--report", str(report)]
        begun = time.monotonic()
        with (folder / "lines").open("w") as lines:
            child = subprocess.Popen([*command, *options], stdout=lines, stderr=lines)  # noqa: S603  # our own command
            _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - begun
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            raise SystemExit((folder / "lines").read_text("utf-8")[-2000:])
        told = json.loads(report.read_bytes())
        return Ran(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, told)


def stats(url: str, model: str = "stats") -> dict[str, int]:
    """What a rate-limited endpoint counted."""
    body = json.dumps({"model": model, "messages": []}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310  # loopback
        content = json.load(answer)["choices"][0]["message"]["content"]
    return dict(json.loads(content)) if model == "stats" else {}


async def bare(url: str, essays: int, at_once: int, characters: int) -> float:
    """Seconds for the same requests, with nothing round them."""
    host, port = url.split("/")[2].split(":")
    text = json.dumps(
        {"model": "ok", "stream": True, "messages": [{"role": "user", "content": "a" * characters}]}
    ).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    left = iter(range(essays))

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in left:
            writer.write(head + text)
            await writer.drain()
            await reader.readuntil(b"\r\n0\r\n\r\n")
        writer.close()

    begun = time.monotonic()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.monotonic() - begun


def say(name: str, ran: Ran, ideal: float, essays: int, more: str = "") -> None:
    """One line of what was measured."""
    told = f"{ran.wall:.1f} s, {ran.wall / ideal:.2f} x ideal; {1000 * ran.cpu / essays:.1f} ms CPU an essay"
    share = ran.report["cached_share"]
    counts = ran.report["counts"]
    print(f"{name}: {counts['written']} of {essays} written; {told}; peak {ran.peak:.0f} MB; cached {share}{more}")


def main() -> None:
    """Measure what was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("names", nargs="*", default=NAMES)
    given = parser.parse_args()
    tools, names = given.tools, set(given.names)
    ideal = 2.0 * 1000 / 64
    for name, characters in (("bare", 90_000), ("bare-short", 33_000)):
        if name in names:
            with served(tools, "fault_endpoint.py", "PORT", "2") as url:
                seconds = asyncio.run(bare(url, 1000, 64, characters))
            print(f"{name}: {seconds:.1f} s, {seconds / ideal:.2f} x ideal")
    short = ("--budget", "2000")
    for name, essays, options in (("many", 1000, ()), ("short", 1000, short), ("memory", 100, short)):
        if name in names:
            with served(tools, "fault_endpoint.py", "PORT", "2") as url:
                ran = batch(url, essays, "--jobs", "64", "--repair", "0", *options)
                say(name, ran, ideal * essays / 1000, essays)
    for name, options in (("known", ("--rpm", "2400")), ("found", ())):
        if name in names:
            with served(tools, "rate_limited_endpoint.py", "40", "10", "64", "0.5", "PORT") as url:
                ran = batch(url, 400, "--repair", "0", *options)
                counted = stats(url)
            wasted = counted["429"] + counted["503"]
            say(name, ran, 9.8, 400, f"; wasted {wasted}, {100 * wasted / (400 + wasted):.1f} %")
    if "faults" in names:
        for model in FAULTS:
            with served(tools, "fault_endpoint.py", "PORT", "0.2") as url:
                say(model, batch(url, 60, "--jobs", "16", "--repair", "0", model=model), 0.2 * 60 / 16, 60)


if __name__ == "__main__":
    main()
