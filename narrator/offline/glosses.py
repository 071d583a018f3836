"""What a reader must know: a sentence on each concept of the recordings that an essay may need, none of any session.

A concept is explained where a finding or a field of the messages told has it, and only then.
"""

from __future__ import annotations

GLOSSES: dict[str, str] = {
    "compaction": (
        "**Compaction.** When a conversation grows too long for the model, the harness asks for a summary and "
        "puts that in the place of what came before; the file keeps the messages that were replaced."
    ),
    "aborted": (
        "**An interrupted turn.** The agent stores a message before the model has said anything; if the turn is "
        "interrupted then, an empty message remains, and the name of the error is all that tells it from an "
        "answer that was given and holds nothing."
    ),
    "finish": (
        "**The finish.** A model's answer is stored with why it ended: “stop” hands the turn back; with “tool-calls” "
        "the loop sends the results and asks again, and no person is needed for it."
    ),
    "exit": (
        "**The exit code.** A shell command ends with a number, zero for success. The tool call around it counts "
        "as completed in either case; in a chain the number is that of the last command that ran."
    ),
    "invalid": (
        "**A refused call.** The harness checks a call before it runs it; one that is malformed, or names a tool "
        "that does not exist, goes back to the model as an error, and nothing is run."
    ),
    "queue": (
        "**A queued turn.** What the user types while a command runs is stored at once and answered later; its "
        "place in the list follows the queue, its time the clock."
    ),
    "synthetic": (
        "**A synthetic text.** The harness can write under the user's role; a mark on the text tells such words "
        "from typed ones."
    ),
    "stream": (
        "**A dropped stream.** An answer arrives piece by piece; when the connection ends early, what had "
        "arrived is stored like a whole answer, without a reason for its end."
    ),
    "subagent": (
        "**A subagent.** A task can be handed to a session of its own; the parent keeps the request and the "
        "result and none of the steps."
    ),
    "cache": (
        "**Cached tokens.** Each request sends the whole conversation again; what the provider had kept of it "
        "from the request before is counted as cached, so that the two counts together say how full the context "
        "was."
    ),
}

OF_KIND: dict[str, tuple[str, ...]] = {
    "aborted": ("aborted",),
    "cut-off": ("stream", "finish"),
    "empty-completion": ("finish",),
    "reasoning-only": ("finish",),
    "compaction-request": ("compaction", "cache"),
    "compaction-summary": ("compaction",),
    "synthetic": ("synthetic",),
    "invalid-tool-call": ("invalid",),
    "tool-aborted": ("aborted",),
    "command-failed": ("exit",),
    "subagent": ("subagent",),
}
"""Which concepts a message of a kind needs."""
