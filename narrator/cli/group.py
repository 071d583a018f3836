"""`narrate [OPTIONS] SESSION` is `narrate essay [OPTIONS] SESSION`; the help of the one is the help of the other."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from narrator.errors import UsageError

DEFAULT = "essay"


class DefaultGroup(TyperGroup):
    """A group whose first word may be left out: then it is `essay`.

    A subcommand is known only as the first word, so a file named like one is given as `./batch`, or after an option.
    """

    _own = ("--help", "-h", "--version", "--install-completion", "--show-completion")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # the library's own context type
        """Put the default command in front of what is no command and no option of the group itself."""
        first = args[0] if args else None
        if first is None or first in self.commands or first.split("=", 1)[0] in self._own:
            return super().parse_args(ctx, args)
        close = [] if first.startswith("-") else get_close_matches(first, self.commands, n=1, cutoff=0.75)
        if close and not Path(first).exists():
            raise UsageError(f"no command and no file {first!r}; did you mean `narrate {close[0]}`?")
        return super().parse_args(ctx, [DEFAULT, *args])

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401
        """While help is shown, the default command's options stand with the group's own."""
        own = super().get_params(ctx)
        if not getattr(self, "_helping", False):
            return own
        return [param for param in self.commands[DEFAULT].get_params(ctx) if param.name != "help"] + own

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Both ways to call it."""
        return [f"--msg N [OPTIONS] SESSION\n       {ctx.command_path} COMMAND [ARGS]..."]

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Help with the default command's options."""
        self._helping = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._helping = False
