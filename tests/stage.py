"""A small session, and what a check says of a sentence about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opened import opened
from recordings import assistant, export, reasoning, tool, user

from narrator.report import Report, Statement
from narrator.session import Session
from narrator.verify import evidence_of_session, verify_essay

ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
COPIES = " && ".join(f"scp -r host-7:/opt/lib/{name} /srv/lib/" for name in "abcdef")
LOG = "loaded 1,171 rules\nmemory 34.5 GB of 96 GB, 17.2 s elapsed\nError: cannot open /etc/parser/rules.toml\n"


def recording() -> dict[str, Any]:
    """Twelve messages: a request, a failed look, an abort, a repair, a measurement, a compaction."""
    return export(
        user("Please deploy the parser on host-7. Do not restart the database unless the disk is full."),  # 0
        assistant(
            "I will look at the log first.",
            tool(input={"command": "tail -n 40 /var/log/parser.log"}, output=LOG, metadata={"exit": 1}),
            finish="tool-calls",
        ),
        assistant(
            reasoning("The rules file moved in version 0.5.8."), "The rules file is missing, so I stop here."
        ),  # 2
        user("continue"),
        assistant(error=ABORTED, finish=None, time={"created": 1_760_000_240_000, "completed": 1_760_000_242_000}),  # 4
        user("done"),
        assistant(
            "Installed parser 0.5.9. It is **not** running yet; I've only copied it.",  # 6
            tool(input={"command": COPIES}, output="copied\n"),
            finish="tool-calls",
        ),
        assistant(
            "Both runs are measured:\n\n| depth | tok/s |\n|---|---|\n| 16 | 71.2 |\n| 5 | 92.0 |\n",  # 7
            tool(input={"command": "bench.py"}, output="".join(f"worker-{n} ok\n" for n in range(8))),
            tokens={"input": 10, "output": 640, "reasoning": 0, "cache": {"read": 14_000, "write": 866}},
            finish="tool-calls",
        ),
        user("how fast is it?"),  # 8
        assistant(
            "There are three options:\n\n1. wait\n2. restart\n3. roll back\n\nThe service answers at 36.4 tok/s; "
            "the base was 29.1 tok/s. The outline of the plan is in notes/plan.md.",  # 9
            tokens={"input": 20, "output": 100, "reasoning": 0, "cache": {"read": 15_000, "write": 866}},
        ),
        user({"type": "compaction", "auto": True}),  # 10
        assistant("## Goal\n\nDeploy the parser. It took 15 minutes to start.", summary=True, mode="compaction"),
    )


def staged(folder: Path) -> Session:
    return opened(folder, recording())


def checked(folder: Path, markdown: str, **how: Any) -> Report:
    return verify_essay(markdown, evidence_of_session(staged(folder), **how))


def failed(report: Report) -> list[str]:
    """`kind: text` of every failure, in order."""
    return [f"{failure.kind}: {failure.text}" for failure in report.failures]


def statement(report: Report, text: str) -> Statement:
    """The one statement whose text this is."""
    (found,) = (one for one in report.statements if one.text == text)
    return found
