"""`narrate models`: what an endpoint offers."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer


def models(
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint; else OPENAI_BASE_URL.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for the whole call.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """List the models that an endpoint offers, one a line, with the tokens a model takes where that is told.

    Example: narrate models --base-url http://localhost:8080/v1
    """
    from narrator.cli.output import complain
    from narrator.errors import UsageError
    from narrator.model import settings_from
    from narrator.model.listing import list_models

    settings = settings_from(None, base_url, os.environ, timeout=timeout)
    if settings is None:
        raise UsageError("no endpoint to ask; set OPENAI_API_KEY, or give --base-url for a local server")
    offered = list_models(settings, notice=complain)
    if as_json:
        rows = [{"id": one.id, "owner": one.owner or None, "context": one.context} for one in offered]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        for one in offered:
            typer.echo(one.id if one.context is None else f"{one.id}\t{one.context:,} tokens")
    if not offered:
        complain(f"{settings.address} offers no model; a local server may need one to be loaded first")
