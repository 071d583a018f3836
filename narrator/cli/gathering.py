"""Which sessions and messages a batch was asked for, by its options and its list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from narrator.asking import Manner
    from narrator.batch.choose import Choice, Wanted
    from narrator.batch.job import Problem
    from narrator.batch.rows import Rows


class Asked(NamedTuple):
    """The options that name messages, as they were given."""

    msgs: str | None
    pick: str | None
    everything: bool
    listed: str | None


class Gathered(NamedTuple):
    """What is wanted, session by session."""

    wanted: list[Wanted]
    problems: list[Problem]


def gather_targets(sessions: tuple[str, ...], asked: Asked, manner: Manner) -> Gathered:
    """What the options and the list name.

    Raises:
        UsageError: they name nothing, or cannot be read.
    """
    from narrator.batch.choose import gather
    from narrator.cli.output import warn
    from narrator.errors import UsageError

    choice = _choice(asked, manner)
    if not choice.names_any and asked.listed is None:
        raise UsageError(
            "no messages are named: --msgs 3,17,100-120, --pick KIND, --all, or --from FILE; "
            "`narrate targets SESSION` lists those worth an essay"
        )
    if choice.names_any and not sessions:
        raise UsageError("no SESSION: --msgs, --pick and --all choose from the sessions that are named")
    for session in sessions:
        if session in ("", "-"):
            raise UsageError(
                f"SESSION {session!r}: a batch reads a session more than once; give a file or a folder"
                if session
                else "SESSION '': an empty name; give recordings: files, .gz, or folders of them"
            )
    rows = _read_list(asked.listed, sessions, manner) if asked.listed is not None else None
    warn(rows.notices if rows else ())
    wanted, problems = gather(sessions, choice, rows.rows if rows else ())
    return Gathered(wanted, [*(rows.problems if rows else ()), *problems])


def _choice(asked: Asked, manner: Manner) -> Choice:
    from narrator.batch.choose import Choice, parse_msgs
    from narrator.findings import parse_kinds

    return Choice(
        msgs=() if asked.msgs is None else parse_msgs(asked.msgs),
        kinds=() if asked.pick is None else parse_kinds(asked.pick, "--pick"),
        everything=asked.everything,
        manner=manner,
    )


def _read_list(listed: str, sessions: tuple[str, ...], manner: Manner) -> Rows:
    from narrator.batch.rows import read_rows
    from narrator.errors import UsageError, reason

    if listed == "-" and sys.stdin is None:  # closed by the caller: `narrate … <&-`
        raise UsageError("--from -: stdin is closed; pipe a list in, or name a file")
    try:
        data = sys.stdin.buffer.read() if listed == "-" else Path(listed).read_bytes()
    except OSError as error:
        raise UsageError(f"--from {listed}: {reason(error)}") from error
    name, folder = ("stdin", Path()) if listed == "-" else (listed, Path(listed).parent)
    return read_rows(data, name, folder, sessions, manner)
