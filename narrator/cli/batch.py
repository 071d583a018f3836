"""`narrate batch SESSION…`: the essays about many messages."""

from __future__ import annotations

from typing import Annotated

import typer

from narrator.cli import choices


def batch(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION", help="Recordings: files, .gz, folders of them.", show_default=False),
    ] = None,
    msgs: Annotated[
        str | None, typer.Option(metavar="N,N-N,…", help="These messages of each session: 3,17,100-120; ids too.")
    ] = None,
    pick: Annotated[
        str | None, typer.Option(metavar="KIND[,KIND]", help="All messages with a finding of these kinds.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All messages.")] = False,
    listed: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE|-",
            help="A list of targets: CSV or JSON Lines with session, msg and, if need be, style, length, language.",
        ),
    ] = None,
    style: choices.Style = "essay",
    length: choices.Length = None,
    language: choices.Language = None,
    model: choices.Model = None,
    base_url: choices.BaseUrl = None,
    max_output_tokens: choices.MaxOutputTokens = None,
    timeout: choices.Timeout = None,
    offline: choices.Offline = False,
    budget: choices.Budget = None,
    before: choices.Before = 0,
    after: choices.After = 0,
    lookups: choices.Lookups = choices.LOOKUPS,
    repair: choices.Repair = choices.REPAIRS,
    no_redact: choices.NoRedact = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Essays at once at most; else what the endpoint bears.")
    ] = None,
    rpm: Annotated[float | None, typer.Option(min=0.001, metavar="N", help="Requests a minute at most.")] = None,
    tpm: Annotated[float | None, typer.Option(min=1, metavar="N", help="Tokens a minute at most, in and out.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before this is passed, what is in flight counted.")
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The same for tokens, in and out.")
    ] = None,
    price: choices.Price = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try what failed in three runs again, too.")
    ] = False,
    redo: Annotated[bool, typer.Option("--redo", help="Write again what is written.")] = False,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only the sessions of share I of N, for N machines.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="local|dask", help="Write here, or with the workers of a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of the Dask cluster: tcp://10.0.0.1:8786.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write what became of each essay there, as JSON.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan; send nothing.")] = False,
    drafts: Annotated[
        str, typer.Option(metavar="DIR|ADDRESS", help="Folder the drafts are saved in, or s3://… and the like.")
    ] = "drafts",
) -> None:
    """Write the essays about many messages, each a draft in drafts/; what is written already is left alone.

    Run the same command again to go on where it stopped.

    Example: narrate batch examples/glm5-144.json --pick aborted,command-failed --offline
    """
    from narrator.asking import Manner, Terms
    from narrator.batch.job import Limits
    from narrator.batch.plan import Aim
    from narrator.batch.shard import parse_shard
    from narrator.cli.gathering import Asked, gather_targets
    from narrator.cli.running import Desk, carry_out

    terms = Terms(
        settings=choices.read_settings(model, base_url, max_output_tokens, timeout, offline=offline),
        budget=choices.check_budget(budget),
        before=before,
        after=after,
        lookups=lookups,
        repair=repair,
        price=choices.read_price(price),
        redact=not no_redact,
    )
    manner = Manner(style=style, length=length, language=language)
    limits = Limits(jobs=jobs, rpm=rpm, tpm=tpm, max_cost=max_cost, max_tokens=max_total_tokens)
    cluster = choices.read_cluster(engine, scheduler)
    part = None if shard is None else parse_shard(shard)
    aim = Aim(terms=terms, limits=limits, redo=redo, retry=retry_failed, shard=part)
    wanted = gather_targets(tuple(sessions or ()), Asked(msgs, pick, everything, listed), manner)
    carry_out(wanted, aim, Desk(drafts, report, dry_run, offline, cluster))
