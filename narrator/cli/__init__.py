"""The command line: the only place that prints or exits. It calls the library, and nothing calls it.

Modules are loaded inside the commands: `narrate --help` must not wait for an SDK.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer
from typer.main import get_command

from narrator.cli import batch, check, diff, essay, lists, models, render, show, targets
from narrator.cli.group import DEFAULT, DefaultGroup
from narrator.errors import NarratorError

INTERRUPTED, UNREAD = 130, 141
"""Exit codes as shells give them: 128 and the number of SIGINT, of SIGPIPE."""
_COMPLETION = "_NARRATE_COMPLETE"
"""Set by the scripts of `--install-completion` when they ask what may come next."""

app = typer.Typer(
    cls=DefaultGroup,
    add_completion=True,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Write a checked essay about one message of a recorded AI-coding session.\n\n"
    "Example: narrate --msg 144 examples/glm5-144.json",
    epilog="Every command has --help with an example. --debug shows where an error came from.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from narrator import __version__

        typer.echo(f"narrate {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


app.command(DEFAULT)(essay.essay)
app.command("show")(show.show)
app.command("check")(check.check)
app.command("targets")(targets.targets)
app.command("batch")(batch.batch)
app.command("diff")(diff.diff)
app.command("render")(render.render)
app.command("styles")(lists.styles)
app.command("themes")(lists.themes)
app.command("formats")(lists.formats)
app.command("models")(models.models)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an expected error is one line on stderr and an exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in own
    kept = [word for word in own if word != "--debug"] + words[len(own) :]
    raise SystemExit(_run(kept, debug=debug))


def _run(words: list[str], *, debug: bool) -> int:
    """Run the command, whatever becomes of the standard streams."""
    from narrator.cli.output import ClosedOutput, abandon, complain, speak_utf8
    from narrator.errors import reason

    speak_utf8()
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    try:
        return _answer(words, debug=debug)
    except BrokenPipeError:
        abandon()
        return UNREAD
    except OSError as error:
        # Wherever a file is read or written its own error says so; what is left is what is printed.
        complain(f"cannot write to standard output: {reason(error)}", error if debug else None)
        abandon()
        return 2


def _answer(words: list[str], *, debug: bool) -> int:
    """Run the command and say what went wrong."""
    from narrator.cli.output import complain

    try:
        return _call(words)
    except typer.Exit as leaving:
        return leaving.exit_code
    except NarratorError as error:
        complain(str(error), error if debug else None)
        return error.exit_code
    except typer.TyperException as error:
        complain(_usage(error), error if debug else None)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted; what was saved before is kept")
        return INTERRUPTED


def _call(words: list[str]) -> int:
    """Run the command that `words` name.

    Not by the library's own `main`: that one ends with exit code 1 when the reader of a pipe is gone.
    """
    command = get_command(app)
    if _COMPLETION in os.environ:
        command.main([], prog_name="narrate")
    if not words:
        with suppress(typer.Exit):
            command.make_context("narrate", ["--help"])
        return 2
    with command.make_context("narrate", words) as context:
        command.invoke(context)
    return 0


def _usage(error: typer.TyperException) -> str:
    """One line for a usage error of the library: the option, the value, and whose help tells more."""
    text = error.format_message().rstrip(".")
    judged = getattr(error.__cause__, "errors", None)
    if judged is not None:
        text += f", not {judged()[0]['input']!r}"
    context = getattr(error, "ctx", None)
    command = context.command_path.removesuffix(f" {DEFAULT}") if context is not None else "narrate"
    return f"{text}; see `{command} --help`"
