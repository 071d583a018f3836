"""A batch on a cluster of two workers, one of which is killed; and how a batch is dealt out."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from endpoint import Loopback, essay_stream
from pydantic import SecretStr
from recordings import assistant, export, user, write

from narrator.asking import Manner, Terms
from narrator.batch.choose import Choice, gather, parse_msgs
from narrator.batch.dask import spread
from narrator.batch.job import Group, Job, Limits, Outcome, Plan
from narrator.batch.order import Order, find_key, find_saved, hide_key
from narrator.batch.plan import Aim, make_plan
from narrator.batch.shares import MOST, Deck, Purse, regroup
from narrator.batch.store import Store, open_store
from narrator.cli.choices import read_cluster
from narrator.draft import Cost, Usage, read_draft
from narrator.errors import UsageError
from narrator.model import Settings, settings_from


def a_plan(folder: Path, drafts: str, url: str, sessions: int = 6, messages: int = 8) -> Plan:
    paths = []
    for number in range(sessions):
        said = [m for k in range(messages // 2) for m in (user(f"Step {k} of {number}."), assistant(f"Done {k}."))]
        paths.append(write(folder, export(*said, id=f"ses_{number}", title=f"Session {number}"), f"{number}.json"))
    terms = Terms(settings=settings_from("m", url, {}), lookups=0, repair=0)
    choice = Choice(msgs=parse_msgs(f"0-{messages - 1}"), manner=Manner())
    wanted, problems = gather(tuple(paths), choice, ())
    return make_plan(wanted, open_store(drafts), Aim(terms=terms), problems=problems, notice=print)


@contextmanager
def a_cluster() -> Iterator[Any]:
    """Two workers, processes with the environment of this moment; one that dies is started again."""
    distributed = pytest.importorskip("distributed", reason="a cluster needs the extra `dask`")
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, **how) as running:
        yield running


def drafts_at(drafts: str, plan: Plan) -> Counter[str]:
    """How many drafts of each session there are; each is whole."""
    store = open_store(drafts)
    found: Counter[str] = Counter()
    for folder in store.names(drafts):
        for name in store.names(store.join(drafts, folder)):
            read_draft(store.read(store.join(store.join(drafts, folder), name)) or b"", name)
            found[folder] += 1
    assert sum(found.values()) == len(plan.jobs)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["folder", "s3"])
def test_a_batch_whose_worker_is_killed_in_the_middle_is_written_once(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    drafts = str(tmp_path / "drafts") if place == "folder" else f"{request.getfixturevalue('bucket')}/drafts"
    outcomes: list[Outcome] = []
    killed = threading.Event()
    with Loopback(essay_stream(drip=0.06)) as desk, a_cluster() as cluster, cluster.get_client() as client:
        plan = a_plan(tmp_path, drafts, desk.url)
        victim = next(iter(client.run(os.getpid).values()))

        def tell(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if len(outcomes) == 6 and not killed.is_set():
                killed.set()
                os.kill(victim, signal.SIGKILL)

        spread(plan, Limits(jobs=4), cluster.scheduler_address, tell)
        asked = len(desk.requests)
    assert killed.is_set()
    assert Counter(outcome.job.digest for outcome in outcomes) == Counter(job.digest for job in plan.jobs)
    assert {(outcome.state, outcome.why) for outcome in outcomes} == {("done", "")}
    drafts_at(drafts, plan)
    assert asked <= len(plan.jobs) + 4, "only what was in flight is asked for again"


@pytest.fixture
def threads() -> Iterator[str]:
    """Address of a cluster of two workers in this process, so that a test can change what they do."""
    distributed = pytest.importorskip("distributed", reason="a cluster needs the extra `dask`")
    how = {"threads_per_worker": 1, "processes": False, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, protocol="tcp", **how) as running:
        yield running.scheduler_address


def spread_with(
    work: Callable[..., None], plan: Plan, limits: Limits, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> Counter[tuple[str, str]]:
    """Spread a plan over workers that do `work` instead of asking anybody."""
    monkeypatch.setattr("narrator.batch.order.run_batch", work)
    outcomes: list[Outcome] = []
    spread(plan, limits, scheduler, outcomes.append)
    assert Counter(one.job.path for one in outcomes) == Counter(job.path for job in plan.jobs)
    return Counter((one.state, one.why) for one in outcomes)


@pytest.mark.filterwarnings("ignore")
def test_what_a_worker_cannot_do_is_the_failure_of_its_essays(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(plan: Plan, _limits: Limits, _store: Store, tell: Callable[[Outcome], None], **_: Any) -> None:
        for job in plan.jobs:
            if job.index == 2:
                raise ZeroDivisionError("a mistake")
            tell(Outcome(job=job, state="done"))

    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://127.0.0.1:1/v1", sessions=2, messages=4)
    became = spread_with(work, plan, Limits(), threads, monkeypatch)
    assert became["done", ""] >= 2
    assert sum(count for (state, why), count in became.items() if "ZeroDivisionError: a mistake" in why) >= 1


@pytest.mark.filterwarnings("ignore")
def test_a_worker_without_a_key_ends_the_batch_with_one_line(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://127.0.0.1:1/v1", sessions=1, messages=2)
    terms = plan.terms.model_copy(update={"settings": settings("sk-verysecret1234")})
    with pytest.raises(UsageError, match=r"worker tcp://.*OPENAI_API_KEY is not set there"):
        spread_with(print, plan.model_copy(update={"terms": terms}), Limits(), threads, monkeypatch)


@pytest.mark.filterwarnings("ignore")
def test_a_budget_is_used_up_by_all_workers_together_and_never_passed(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(plan: Plan, limits: Limits, _store: Store, tell: Callable[[Outcome], None], **_: Any) -> None:
        left = limits.max_tokens or 0
        for job in plan.jobs:
            if left < 100:
                tell(Outcome(job=job, state="skipped", why="over the budget"))
                continue
            left -= 100
            tell(Outcome(job=job, state="done", usage=Usage(input=90, output=10)))

    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://127.0.0.1:1/v1", sessions=4, messages=4)
    became = spread_with(work, plan, Limits(max_tokens=950), threads, monkeypatch)
    assert became["done", ""] == 9
    assert sum(became.values()) == 16


@pytest.mark.filterwarnings("ignore")
def test_an_essay_that_another_run_writes_is_left_to_it(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(plan: Plan, _limits: Limits, _store: Store, tell: Callable[[Outcome], None], **_: Any) -> None:
        for job in plan.jobs:
            claimed = Outcome(job=job, state="skipped", why="another run is writing it", elsewhere=True)
            tell(claimed if job.index == 1 else Outcome(job=job, state="done"))

    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://127.0.0.1:1/v1", sessions=2, messages=4)
    became = spread_with(work, plan, Limits(), threads, monkeypatch)
    assert became == {("done", ""): 6, ("skipped", "another run is writing it"): 2}


# ---- how it is dealt out --------------------------------------------------------------------------------------------


def group(session: str, jobs: int) -> Group:
    made = tuple(
        Job(
            session=session,
            sha256="ab" * 32,
            index=k,
            manner=Manner(),
            path=f"d/{session}/{k}-essay.json",
            digest=f"{session}{k}",
            tokens=1,
            prefix=1,
            output=1,
        )
        for k in range(jobs)
    )
    return Group(session=session, sha256="ab" * 32, manner=Manner(), jobs=made)


@pytest.mark.parametrize(
    ("sizes", "workers", "expected"),
    [
        pytest.param((), 2, [], id="nothing"),
        pytest.param((1,), 2, [1], id="one essay"),
        pytest.param((4, 4, 4, 4), 2, [4, 3, 1, 2], id="whole groups where they fit"),
        pytest.param((2000,), 1, [MOST] * 6, id="never more than a worker is given at once"),
        pytest.param((3, 100), 1, [3, 50], id="a group that does not fit is left for the next"),
    ],
)
def test_what_is_left_is_dealt_out_in_ever_smaller_parts(
    sizes: tuple[int, ...], workers: int, expected: list[int]
) -> None:
    groups = [group(f"s{number}", size) for number, size in enumerate(sizes)]
    deck, dealt, seen = Deck(groups), [], []
    while len(deck):
        part = deck.deal(workers)
        dealt.append(sum(len(one.jobs) for one in part))
        seen += [job.path for one in part for job in one.jobs]
    assert dealt[: len(expected)] == expected
    assert seen == [job.path for one in groups for job in one.jobs]
    assert deck.deal(workers) == ()


def test_what_is_not_dealt_out_is_told_at_the_end() -> None:
    deck = Deck([group("a", 4), group("b", 2)])
    deck.deal(3)
    assert sum(len(one.jobs) for one in deck.deal_rest()) == 5
    assert len(deck) == 0


def test_all_shares_together_are_never_more_than_the_whole() -> None:
    purse = Purse(Limits(jobs=5, rpm=60, tpm=None, max_cost=1.0, max_tokens=1001))
    first, second = purse.give("a", 2), purse.give("b", 1)
    assert first == Limits(jobs=3, rpm=30, max_cost=0.5, max_tokens=501)
    assert second == Limits(jobs=2, rpm=30, max_cost=0.5, max_tokens=500)
    assert purse.give("c", 1) is None, "one that comes later waits until something is free"
    job = group("a", 1).jobs[0]
    spent = Outcome(job=job, state="done", usage=Usage(input=90, output=10), cost=Cost(usd=0.2, source="x"))
    purse.count(spent)
    purse.count(Outcome(job=job, state="failed"))
    purse.take_back("a")
    again = purse.give("a", 2)
    assert again is not None
    assert (again.jobs, again.rpm, again.max_tokens) == (2, 15, 201)
    assert again.max_cost == pytest.approx(0.15)


def test_without_limits_there_is_no_share() -> None:
    assert Purse(Limits()).give("a", 3) == Limits()


def test_a_group_keeps_the_jobs_that_are_wanted() -> None:
    one, two = group("a", 3), group("b", 2)
    assert regroup((one, two), one.jobs[1:2]) == (one.model_copy(update={"jobs": one.jobs[1:2]}),)


# ---- what goes over the network -------------------------------------------------------------------------------------


def settings(key: str) -> Settings:
    return Settings(model="m", base_url="http://127.0.0.1:1/v1", api_key=SecretStr(key))


def test_a_key_stays_here_and_a_worker_takes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = hide_key(Terms(settings=settings("sk-verysecret1234")))
    assert hidden.settings is not None
    assert hidden.settings.api_key.get_secret_value() == ""
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set there"):
        find_key(hidden)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another1234")
    found = find_key(hidden).settings
    assert found is not None
    assert found.api_key.get_secret_value() == "sk-another1234"


@pytest.mark.parametrize("terms", [Terms(), Terms(settings=settings("none"))], ids=["offline", "no key"])
def test_where_no_key_is_used_none_is_needed(terms: Terms) -> None:
    assert find_key(hide_key(terms)) == terms


def test_an_order_shows_nothing_of_what_it_holds(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://u:secret@127.0.0.1:1/v1", sessions=1, messages=4)
    assert repr(Order(plan, Limits(), "t", "n", redo=False)) == "<4 essays>"
    assert find_saved(open_store(plan.drafts), plan) == ()


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="a cluster needs the extra `dask`")
    monkeypatch.setattr("narrator.batch.dask.WAIT_SECONDS", 0.5)
    plan = a_plan(tmp_path, str(tmp_path / "drafts"), "http://127.0.0.1:1/v1", sessions=1, messages=2)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        spread(plan, Limits(), "tcp://127.0.0.1:9", print)


@pytest.mark.parametrize(
    ("engine", "scheduler", "expected"),
    [
        pytest.param("local", None, None, id="here"),
        pytest.param("dask", "tcp://a:1", "tcp://a:1", id="a cluster"),
        pytest.param("dask", None, "needs --scheduler", id="a cluster without an address"),
        pytest.param("local", "tcp://a:1", "goes with --engine dask", id="an address without a cluster"),
        pytest.param("ray", None, "is none: local or dask", id="another engine"),
    ],
)
def test_the_options_of_a_cluster_go_together(engine: str, scheduler: str | None, expected: str | None) -> None:
    if expected is not None and " " in expected:
        with pytest.raises(UsageError, match=expected):
            read_cluster(engine, scheduler)
    else:
        assert read_cluster(engine, scheduler) == expected
