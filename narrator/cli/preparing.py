"""A recording opened and a prompt made of it, with a line on stderr for each thing that was stepped over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from narrator.lookup import Bounds
    from narrator.prompt import Prompt
    from narrator.session import Session


def open_with_notices(path: str, *, redact: bool) -> Session:
    """Open the recording and say what had to be stepped over."""
    from narrator.cli.output import warn
    from narrator.formats import open_session

    session = open_session(path, redact=redact)
    if not redact:
        warn(["--no-redact: secrets in the recording go into prompt, draft and page as they are"])
    return session


def prepare(
    session: Session,
    msg: str,
    *,
    style: str,
    length: int | None,
    budget: int | None,
    before: int,
    after: int,
    lookups: Bounds | None = None,
    again: bool = False,
) -> Prompt:
    """The prompt for one message, with a warning for each thing that was stepped over on the way.

    `again`: it was made before with another budget, and what was stepped over has been told.
    """
    from narrator.cli.output import warn
    from narrator.context import DEFAULT_BUDGET, Reach, find_target, take_context
    from narrator.prompt import build_prompt
    from narrator.style import load_style

    loaded = load_style(style)
    target = find_target(session, msg)
    reach = Reach(budget=DEFAULT_BUDGET if budget is None else budget, before=before, after=after)
    context = take_context(session, target, reach)
    warn(() if again else context.notices)
    if omitted := context.centre.omitted:
        warn([f"message {target} is long: {omitted:,} characters of it left out; --budget shows more"])
    return build_prompt(context, loaded, length=length, lookups=lookups)


def print_prompt(prompt: Prompt) -> None:
    """The exact prompt on stdout, and its tokens on stderr."""
    import json

    from narrator.cli.output import complain
    from narrator.model.tools import TOOLS

    for message in prompt.wire(lookups=True):
        typer.echo(f"<!-- {message['role']} -->\n\n{message['content']}")
    if prompt.lookups:
        typer.echo(f"<!-- tools -->\n\n{json.dumps(TOOLS, indent=1)}\n")
    complain(f"dry run: about {prompt.tokens:,} tokens in the prompt, price unknown; nothing was sent")
