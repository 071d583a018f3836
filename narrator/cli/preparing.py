"""A recording opened and a prompt made of it, with a line on stderr for each thing that was stepped over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from narrator.asking import Asked, Manner, Request, Terms
    from narrator.prompt import Prompt
    from narrator.session import Session
    from narrator.style import Style


def open_with_notices(path: str, *, redact: bool) -> Session:
    """Open the recording and say what had to be stepped over."""
    from narrator.cli.output import warn
    from narrator.formats import open_session

    session = open_session(path, redact=redact)
    if not redact:
        warn(["--no-redact: secrets in the recording go into prompt, draft and page as they are"])
    return session


def prepare(
    session: Session, msg: str, style: Style, manner: Manner, terms: Terms, *, budget: int | None, again: bool = False
) -> Request:
    """The request for one message, with a warning for each thing that was stepped over on the way.

    `again`: it was made before with another budget, and what was stepped over has been told.
    """
    from narrator.asking import ask
    from narrator.cli.output import warn
    from narrator.context import find_target

    target = find_target(session, msg)
    request = ask(session, target, style, manner.length, terms.model_copy(update={"budget": budget}))
    context = request.prompt.context
    warn(() if again else context.notices)
    if omitted := context.centre.omitted:
        warn([f"message {target} is long: {omitted:,} characters of it left out; --budget shows more"])
    return request


def print_prompt(prompt: Prompt, asked: Asked) -> None:
    """The exact prompt on stdout, and its tokens with what an essay would cost on stderr."""
    import json

    from narrator.cli.output import complain
    from narrator.model.tools import TOOLS
    from narrator.prices import cost_of, dollars, expected_usage

    for message in prompt.wire(lookups=True):
        typer.echo(f"<!-- {message['role']} -->\n\n{message['content']}")
    if prompt.lookups:
        typer.echo(f"<!-- tools -->\n\n{json.dumps(TOOLS, indent=1)}\n")
    expected = expected_usage(prompt.tokens, prompt.words)
    model = asked.model
    cost = cost_of([expected], model.name, model.base_url, asked.price) if model is not None else None
    told = "price unknown" if cost is None else f"estimated cost {dollars(cost.usd)} by {cost.source}"
    without = "" if cost is None else " (without reasoning, look-ups and repair)"
    complain(
        f"dry run: about {expected.input:,} tokens in the prompt, {expected.output:,} tokens in the essay, "
        f"{told}{without}; nothing was sent"
    )
