"""`narrate show SESSION`: what is in a session, and what a model would see of it."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from narrator.cli.listing import Row
    from narrator.prompt import Prompt
    from narrator.session import Session

_AROUND = 10
"""Messages before and after the one that `--around` names."""


class _Part(NamedTuple):
    """Which of a session's messages are listed."""

    around: str | None
    before: int | None
    after: int | None
    only: str | None


def show(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Recording: a file, a .gz, or - for stdin.")],
    msg: Annotated[str | None, typer.Option("--msg", metavar="N", help="Show the context of this message.")] = None,
    around: Annotated[str | None, typer.Option(metavar="N", help="List the messages round this one.")] = None,
    only: Annotated[
        str | None, typer.Option(metavar="ROLE|KIND[,…]", help="List messages of these roles or kinds only.")
    ] = None,
    before: Annotated[
        int | None, typer.Option(min=0, help="With --around: N before it [10]; with --msg: at least N [0].")
    ] = None,
    after: Annotated[int | None, typer.Option(min=0, help="The same for those after it.")] = None,
    budget: Annotated[int | None, typer.Option(help="With --msg: tokens for target and window [24000].")] = None,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """List a session's messages; with --msg, show the context of one as a model would see it.

    Example: narrate show examples/glm5-144.json --around 144
    """
    _check(msg, _Part(around, before, after, only), budget)
    from narrator.cli.preparing import open_with_notices

    if msg is None:
        _list(session, _Part(around, before, after, only), redact=not no_redact, as_json=as_json)
        return
    opened = open_with_notices(session, redact=not no_redact)
    if as_json:
        _print_context(opened, msg, budget, before or 0, after or 0)
    else:
        _print_prompt(opened, msg, budget, before or 0, after or 0)


def _check(msg: str | None, part: _Part, budget: int | None) -> None:
    """Refuse options that say nothing together, before a large file is read."""
    from narrator.errors import UsageError

    for name, value in (("--around", part.around), ("--only", part.only)):
        if msg is not None and value is not None:
            raise UsageError(
                f"{name} {value}: chooses from the list of messages, but --msg {msg} shows one; give one of them"
            )
    for name, number in (("--before", part.before), ("--after", part.after)):
        if msg is None and part.around is None and number is not None:
            raise UsageError(f"{name} {number}: needs --around or --msg, the message it counts from")
    if msg is None and budget is not None:
        raise UsageError(f"--budget {budget}: needs --msg, the message whose context it limits")


def _print_context(session: Session, msg: str, budget: int | None, before: int, after: int) -> None:
    from narrator.cli.output import warn
    from narrator.context import DEFAULT_BUDGET, Reach, as_json, find_target, take_context

    reach = Reach(budget=DEFAULT_BUDGET if budget is None else budget, before=before, after=after)
    context = take_context(session, find_target(session, msg), reach, hashed=False)
    warn(context.notices)
    typer.echo(json.dumps(as_json(context, session), ensure_ascii=False, indent=1))


def _print_prompt(session: Session, msg: str, budget: int | None, before: int, after: int) -> None:
    from narrator.asking import Manner, Terms, read_style
    from narrator.cli.output import complain
    from narrator.cli.pager import find_pager, print_lines
    from narrator.cli.preparing import prepare

    manner, terms = Manner(), Terms(before=before, after=after)
    prompt = prepare(session, msg, read_style(manner), manner, terms, budget=budget).prompt
    pager = find_pager()
    print_lines(_context_lines(prompt, pager), pager)
    complain(_told(prompt, session))


def _context_lines(prompt: Prompt, pager: list[str] | None) -> Iterable[str]:
    text = prompt.messages[-1].content.removesuffix("\n")
    if (columns := _columns()) is None:
        return text.split("\n")
    from narrator.cli.pager import shows_colours
    from narrator.cli.screen import Screen, context_lines
    from narrator.prompt import delimiter_key

    return context_lines(text, delimiter_key(prompt.context), Screen(columns, shows_colours(pager)))


def _told(prompt: Prompt, session: Session) -> str:
    """How long the context is, and what of the session is not in it."""
    from narrator.outline import in_words
    from narrator.skims import KINDS

    context, omitted = prompt.context, prompt.context.omitted
    shown = {excerpt.index for excerpt in context.window} | set(context.outline.indices)
    hidden = Counter(session.skims.tally()) - Counter(KINDS[session.skims.kinds[index]] for index in shown)
    counted = f" ({in_words(hidden)})" if hidden else ""
    return (
        f"{context.tokens:,} tokens of target and window, {context.outline.length:,} of outline; "
        f"not shown: {omitted.messages:,} messages{counted}, {omitted.characters:,} characters"
    )


def _list(path: str, part: _Part, *, redact: bool, as_json: bool) -> None:
    from narrator.cli.listing import choose_rows, json_lines, parse_only
    from narrator.cli.output import complain, warn
    from narrator.cli.pager import find_pager, print_lines
    from narrator.cli.preparing import open_with_notices
    from narrator.context import find_target

    only = None if part.only is None else parse_only(part.only)
    session = open_with_notices(path, redact=redact)
    target = None if part.around is None else find_target(session, part.around, "--around")
    warn(session.notices)
    rows = choose_rows(session, _range(target, part, len(session)), only)
    first = next(rows, None)
    found = iter(()) if first is None else chain([first], rows)
    if as_json:
        print_lines(json_lines(found))
    elif first is not None:
        pager = find_pager()
        print_lines(_lines(found, session, target, pager), pager)
    if first is None:
        complain(f"--only {part.only}: no message{'' if target is None else f' round {target}'} is one of these")


def _range(target: int | None, part: _Part, count: int) -> range:
    if target is None:
        return range(count)
    before, after = (_AROUND if given is None else given for given in (part.before, part.after))
    return range(max(0, target - before), min(count, target + after + 1))


def _lines(rows: Iterable[Row], session: Session, target: int | None, pager: list[str] | None) -> Iterator[str]:
    from narrator.cli.listing import plain_lines

    if (columns := _columns()) is None:
        return plain_lines(rows, len(session) - 1, target)
    from narrator.cli.pager import shows_colours
    from narrator.cli.screen import Screen, screen_lines

    return screen_lines(rows, session, Screen(columns, shows_colours(pager)), target)


def _columns() -> int | None:
    """Width of the terminal a list is printed on; None for a pipe or a file, which get whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
