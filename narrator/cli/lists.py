"""`narrate styles | themes | formats`: what there is to choose from."""

from __future__ import annotations

import typer


def styles() -> None:
    """List the styles an essay can be written in: name, what it is, and how many words.

    Example: narrate styles
    """
    from narrator.style import list_styles

    for style in list_styles():
        typer.echo(f"{style.name}\t{style.says}\t{style.words.least} to {style.words.most} words")


def themes() -> None:
    """List the looks a page can have.

    Example: narrate themes
    """
    from narrator.assets import folders

    for name in folders("templates"):
        typer.echo(name)


def formats() -> None:
    """List the session formats that can be read.

    Example: narrate formats
    """
    from narrator.formats import find_formats

    for found in find_formats().values():
        typer.echo(f"{found.name}\t{found.says}")
