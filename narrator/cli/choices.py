"""Options that mean the same for one essay and for each of a batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from narrator.model import Settings
    from narrator.prices import Price as PerToken

REPAIRS, LOOKUPS = 1, 3
"""What the library takes when nothing is said (a test compares them); it is not loaded for a page of help."""

Style = Annotated[
    str, typer.Option(metavar="NAME|FOLDER", help="What is written: one of `narrate styles`, or a folder.")
]
Length = Annotated[
    int | None,
    typer.Option(min=100, max=20_000, metavar="WORDS", help="About how long; else the style's own length."),
]
Language = Annotated[
    str | None, typer.Option(metavar="LANG", help="What it is written in: German, de; quotations stay as recorded.")
]
Model = Annotated[str | None, typer.Option(help="Model name; else NARRATE_MODEL, else gpt-6-sol.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint; else OPENAI_BASE_URL.")]
MaxOutputTokens = Annotated[int | None, typer.Option(min=1, help="Limit of the answer.")]
Timeout = Annotated[float | None, typer.Option(min=1, help="Seconds for the whole of an essay [600].")]
Offline = Annotated[bool, typer.Option("--offline", help="Write without a model.")]
Budget = Annotated[int | None, typer.Option(help="Tokens for target and window, at least 800 [24000].")]
Before = Annotated[int, typer.Option(min=0, help="Show at least N messages before.")]
After = Annotated[int, typer.Option(min=0, help="Show at least N messages after.")]
Lookups = Annotated[
    int, typer.Option(min=0, max=4, help="Rounds in which the model may look things up in the session; 0: none.")
]
Repair = Annotated[
    int, typer.Option("--repair", min=0, metavar="N", help="Rounds that send failing sentences back; 0: none.")
]
Price = Annotated[str | None, typer.Option("--price", metavar="IN,CACHED,OUT", help="US dollars per million tokens.")]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")]
Drafts = Annotated[Path, typer.Option(help="Folder the draft is saved in.")]


def read_settings(
    model: str | None, base_url: str | None, max_output_tokens: int | None, timeout: float | None, *, offline: bool
) -> Settings | None:
    """Who is asked, by the options and the environment; None: the offline writer."""
    from narrator.model import settings_from

    if offline:
        return None
    return settings_from(model, base_url, os.environ, max_output_tokens=max_output_tokens, timeout=timeout)


def read_price(price: str | None) -> PerToken | None:
    """What the caller says tokens cost."""
    from narrator.prices import parse_price

    return parse_price(price) if price is not None else None


def check_budget(budget: int | None) -> int | None:
    """The budget, if a prompt can be made with it; raises UsageError else."""
    from narrator.context import LEAST_BUDGET
    from narrator.errors import UsageError

    if budget is not None and budget < LEAST_BUDGET:
        raise UsageError(f"--budget {budget}: at least {LEAST_BUDGET} tokens are needed")
    return budget


def read_cluster(engine: str, scheduler: str | None) -> str | None:
    """The address of the cluster that `--engine` and `--scheduler` name; None: write on this machine.

    Raises:
        UsageError: they do not go together.
    """
    from narrator.errors import UsageError

    if engine not in {"local", "dask"}:
        raise UsageError(f"--engine {engine!r} is none: local or dask")
    if engine == "dask" and scheduler is None:
        raise UsageError("--engine dask needs --scheduler ADDRESS, like tcp://10.0.0.1:8786")
    if engine == "local" and scheduler is not None:
        raise UsageError("--scheduler goes with --engine dask")
    return scheduler
