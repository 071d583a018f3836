"""What is known of the essays' sessions, and what `narrate show --msg N` prints of it.

A row is a fact or a trap of a session (`FACTS-*.tsv` of ../shared names them), a message, and what has to be printed
of it: the fact has to stand there, or what shows the trap to be false. The session of the example is in the repository.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from console import run
from recordings import EXAMPLE, SHARED

ESSAYS = SHARED / "sessions" / "essays"
ABORT = "MessageAbortedError, no error of the endpoint: “The operation was aborted.”); the record does not say by whom."
NOTHING = "record: this message holds no text, no tool call and no other part\n"
QUEUED = (
    "Message 143, which it answers, was sent while message 142 was still running, during its bash call; message 142 had "
    "ended 54 ms before this one began."
)
UNWRITTEN = "The bash call was interrupted (“Tool execution aborted”) while it was being written, so it never ran."

Rows = list[tuple[str, int, tuple[str, ...]]]
GLM5: Rows = [
    ("F01 T07 T12", 144, ("[msg 144] assistant\n", ABORT, NOTHING)),
    ("F02", 144, ("finish none; no tokens counted, cost 0;",)),
    ("F03", 144, (", took 2.0 s;", "interrupted before it ended, 2.0 s after it began")),
    ("F04", 144, ("; answers msg 143\n",)),
    ("F05 T06", 143, ("[msg 143] user\n", " text]\ndose\n")),
    ("F06 T06", 145, (" text]\ndone\n", "The user's whole text is “done”")),
    ("F07", 143, ("sent while msg 142 was still running, during its bash call\n",)),
    ("F08 T01 T02", 142, ("[msg 142] assistant\n", " bash output, exit 0]\n0, 2634 MiB, 97887 MiB\n")),
    ("F07 T02", 142, ("; meanwhile the user sent msg 143\n",)),
    ("T01 T03", 144, ("Nothing of it is recorded: no text, no reasoning, no call.",)),
    ("F30 T03", 144, ("The next message is the user's, sent 3.6 s after that end.", "the record does not say by whom")),
    ("T04", 144, (QUEUED,)),
    ("T01", 144, ("(the next recorded model call is message 146) opencode leaves out a message without content",)),
]
CT200: Rows = [
    ("F01 T01 T09 T10", 11162, ("[msg 11162] assistant\n", ABORT, NOTHING)),
    ("F02", 11162, ("finish none; no tokens counted, cost 0;",)),
    (
        "F03 T02 T04",
        11161,
        (UNWRITTEN, " bash call, stopped]\n(no arguments)\n", " bash error]\nTool execution aborted\n"),
    ),
    ("F04", 11161, (" reasoning, empty]\n", "reasoning that is empty and a call of bash being written")),
    ("F05", 11161, ("finish none;", "no reason for its end is recorded")),
    ("F06 T08", 11163, (" text]\ncontinue\n", "The answer before it, message 11162, was interrupted")),
    ("F09", 11158, (" bash output, exit 1]\n", "The command ended with exit code 1")),
    ("F28", 11162, ("60 compaction summaries",)),
    ("F29", 11161, ("; answers msg 11136\n",)),
    (
        "F29 T01",
        11162,
        ("; answers msg 11136\n", "directly after message 11161 of the same turn, in which the bash call"),
    ),
    ("F30", 11162, ("The next message is the user's, sent 6.4 s after that end.",)),
]
EAGLE3: Rows = [
    ("F01 T01 T03", 4347, ("a compaction request: its only part is a mark of an automatic compaction.",)),
    ("F02 T04", 4348, ("This is the compaction summary message 4347 asked for", "; answers msg 4347\n")),
    ("F03 T05", 4349, ("No person typed this", "goes on without a turn of the user's")),
    ("F04", 4346, ("finish tool-calls; tokens in 168,430 ",)),
    (
        "F04",
        4347,
        ("message 4346, had 168,430 tokens going in", "no other answer (summaries not counted) had more than 167,697"),
    ),
    ("T02 T06", 4347, ("finished with “tool-calls”: the turn, in answer to message 4339, was not over.",)),
    ("F08", 4334, (" text]\ncrashed\n",)),
    ("F09", 4339, (" text]\ncrashed\n",)),
    ("F10", 4334, ("sent while msg 4333 was still running, during its bash call\n",)),
    ("F10", 4339, ("sent while msg 4338 was still running, during its bash call\n",)),
    ("F28 T13", 4347, ("30 compaction summaries", "4,066 assistant messages")),
]
SESSIONS = {"glm5-144": GLM5, "ct200-11162": CT200, "eagle3-4347": EAGLE3}
TRAPS = {
    "glm5-144": {"T01", "T02", "T03", "T04", "T06", "T07", "T12"},
    "ct200-11162": {"T01", "T02", "T04", "T08", "T09", "T10"},
    "eagle3-4347": {"T01", "T02", "T03", "T04", "T05", "T06", "T13"},
}
"""Traps about what the record knows; the others are about what was said and done."""


@lru_cache(maxsize=4)
def shown(path: Path, index: int) -> str:
    """What is printed of the message itself, from its heading on."""
    ran = run("show", "--msg", str(index), str(path))
    assert ran.code == 0, ran.err
    return ran.out.partition("\n# The target\n")[2]


def rows(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("name", "index", "words"),
        [pytest.param(n, index, words, id=f"{n} {index} {ids}") for n in names for ids, index, words in SESSIONS[n]],
    )


@rows("glm5-144")
def test_the_facts_of_the_example_are_printed(name: str, index: int, words: tuple[str, ...]) -> None:
    assert name == EXAMPLE.stem
    assert [part for part in words if part not in shown(EXAMPLE, index)] == []


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the recorded sessions of ../shared are not here")
@rows("ct200-11162", "eagle3-4347")
def test_the_facts_of_the_essays_sessions_are_printed(name: str, index: int, words: tuple[str, ...]) -> None:
    assert [part for part in words if part not in shown(ESSAYS / f"{name}.json.gz", index)] == []


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the recorded sessions of ../shared are not here")
@pytest.mark.parametrize("name", sorted(SESSIONS))
def test_every_fact_and_trap_about_metadata_has_a_row(name: str) -> None:
    facts = [row.split("\t") for row in (ESSAYS / f"FACTS-{name}.tsv").read_text("utf-8").splitlines()[1:]]
    told = {word for ids, *_ in SESSIONS[name] for word in ids.split()}
    assert {fact[0] for fact in facts if fact[1] == "metadata"} <= told
    assert TRAPS[name] <= told
    assert told <= {fact[0] for fact in facts}
