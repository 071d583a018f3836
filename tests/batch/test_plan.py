"""The plan of a batch: what is to be written, what is written, and what it will take."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from recordings import EXAMPLE, SHARED, assistant, export, user, write

from narrator.asking import Manner, Terms, ask, find_place, read_style
from narrator.batch.choose import Choice, Row, gather, parse_msgs
from narrator.batch.job import Limits, Plan, Problem
from narrator.batch.plan import Aim, make_plan
from narrator.batch.saved import MOST_RUNS, Failure, mark_path
from narrator.batch.shard import Shard
from narrator.batch.store import Folder, open_store
from narrator.draft import StyleRef, identity_of, load_draft, save_draft
from narrator.errors import DraftError, StyleError, UsageError
from narrator.formats import open_session
from narrator.model import settings_from
from narrator.offline import OfflineWriter
from narrator.pipeline import narrate
from narrator.prices import Price
from narrator.tokens import count_tokens

MODEL = settings_from("m", "http://127.0.0.1:1/v1", {})
PRICE = Price(input=1, cached=0.1, output=4)


@pytest.fixture
def session(tmp_path: Path) -> str:
    """Six messages."""
    said = [message for n in range(3) for message in (user(f"Step {n}, please."), assistant(f"Step {n} is done."))]
    return write(tmp_path, export(*said))


def plan(
    *sessions: str,
    drafts: Path,
    msgs: str = "0-2",
    manner: Manner | None = None,
    rows: tuple[Row, ...] = (),
    **aim: Any,
) -> Plan:
    choice = Choice(msgs=parse_msgs(msgs) if msgs else (), manner=manner or Manner())
    wanted, problems = gather(sessions, choice, rows)
    told: list[str] = []
    given = Aim(**{"terms": Terms(settings=MODEL), **aim})
    return make_plan(wanted, open_store(str(drafts)), given, problems=problems, notice=told.append)


def save_offline(session: str, index: int, drafts: Path, **terms: Any) -> Path:
    """The essay that `narrate --msg` would write and save."""
    opened, style, given = open_session(session), read_style(Manner()), Terms(**terms)
    request = ask(opened, index, style, None, given)
    draft = narrate(opened, request.prompt, OfflineWriter(), None, settings=request.asked.settings)
    return save_draft(draft, find_place(request, drafts))


def test_jobs_stand_in_groups_of_one_session_and_one_manner_in_order(session: str, tmp_path: Path) -> None:
    rows = tuple(
        Row(where=f"t, line {line}", session=session, msg=msg, manner=manner)
        for line, (msg, manner) in enumerate(
            [("5", Manner(style="brief")), ("3", Manner()), ("4", Manner(style="brief")), ("1", Manner())], 2
        )
    )
    made = plan(session, drafts=tmp_path / "d", rows=rows)
    assert [(group.manner.style, [job.index for job in group.jobs]) for group in made.groups] == [
        ("essay", [0, 1, 2, 3]),
        ("brief", [4, 5]),
    ]
    assert all(job.sha256 == open_session(session).sha256 for job in made.jobs)


def test_what_is_named_twice_is_written_once_even_under_two_names(session: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(Path(session).read_bytes())
    row = Row(where="t", session=session, msg="0", manner=Manner())
    made = plan(session, str(copy), drafts=tmp_path / "d", msgs="0,0-1,msg_0000", rows=(row,))
    assert [job.index for job in made.jobs] == [0, 1]


def test_a_job_names_the_very_draft_that_one_essay_would_get(session: str, tmp_path: Path) -> None:
    drafts = tmp_path / "d"
    manner = Manner(style="brief", length=300)
    made = plan(session, drafts=drafts, msgs="1", manner=manner, terms=Terms(settings=MODEL, budget=2000, before=1))
    request = ask(open_session(session), 1, read_style(manner), 300, made.terms)
    assert made.jobs[0].path == str(find_place(request, drafts))
    style = StyleRef(name="brief", version=read_style(manner).version)
    draft = narrate(open_session(session), request.prompt, OfflineWriter(), None)
    said = draft.model_copy(update={"style": style, "model": request.asked.model, "settings": request.asked.settings})
    assert made.jobs[0].digest == identity_of(said)


def test_what_is_saved_is_done_unless_it_is_to_be_redone(session: str, tmp_path: Path) -> None:
    drafts = tmp_path / "d"
    path = save_offline(session, 1, drafts)
    made = plan(session, drafts=drafts, terms=Terms())
    assert ([job.index for job in made.jobs], [job.path for job in made.done]) == ([0, 2], [str(path)])
    again = plan(session, drafts=drafts, terms=Terms(), redo=True)
    assert ([job.index for job in again.jobs], again.done) == ([0, 1, 2], ())
    assert again.jobs[1].path == str(path)


@pytest.mark.parametrize(
    ("terms", "written"),
    [
        pytest.param({"price": PRICE}, True, id="another price is the same essay"),
        pytest.param({"redact": False}, True, id="unmasked secrets are the same essay"),
        pytest.param({"budget": 900}, False, id="another budget is another essay"),
        pytest.param({"settings": MODEL}, False, id="a model's is another essay"),
    ],
)
def test_what_counts_as_the_same_essay(session: str, tmp_path: Path, terms: dict[str, Any], written: bool) -> None:
    save_offline(session, 1, tmp_path / "d")
    made = plan(session, drafts=tmp_path / "d", msgs="1", terms=Terms(**terms))
    assert bool(made.done) is written
    if not written:
        assert made.jobs[0].path.endswith(f"1-essay-{made.jobs[0].digest[:6]}.json")


def test_a_draft_of_an_earlier_schema_is_done(session: str, tmp_path: Path) -> None:
    path = save_offline(session, 1, tmp_path / "d")
    text = path.read_text("utf-8").replace('"schema": 2', '"schema": 1')
    path.write_text(text, "utf-8")
    assert load_draft(path).schema_ == 2
    assert len(plan(session, drafts=tmp_path / "d", msgs="1", terms=Terms()).done) == 1


def test_what_failed_in_so_many_runs_is_left_out_until_it_is_asked_for(session: str, tmp_path: Path) -> None:
    drafts = tmp_path / "d"
    for index, runs in ((0, MOST_RUNS), (1, MOST_RUNS - 1)):
        job = plan(session, drafts=drafts, msgs=str(index)).jobs[0]
        failure = Failure(digest=job.digest, runs=runs, why="refused", time="2026-11-30T12:00:00Z")
        open_store(str(drafts)).write(mark_path(job.path, job.digest), failure.model_dump_json())
    made = plan(session, drafts=drafts)
    assert [job.index for job in made.jobs] == [1, 2]
    assert [(gone.job.index, gone.state, gone.why) for gone in made.given_up] == [
        (0, "failed", "failed in 3 runs; --retry-failed tries it again; the last time: refused")
    ]
    assert made.marked == {made.jobs[0].digest}
    for again in (plan(session, drafts=drafts, retry=True), plan(session, drafts=drafts, redo=True)):
        assert ([job.index for job in again.jobs], again.given_up, len(again.marked)) == ([0, 1, 2], (), 2)


# ---- problems -----------------------------------------------------------------------------------------------------


def test_a_session_that_cannot_be_read_stops_no_other(session: str, tmp_path: Path) -> None:
    made = plan(str(tmp_path / "none.json"), session, drafts=tmp_path / "d", msgs="1,99")
    assert [job.index for job in made.jobs] == [1]
    assert [problem.why[:12] for problem in made.problems] == ["no such file", "--msgs 99: o"]


def test_in_a_folder_other_json_is_left_aside_and_a_broken_session_is_a_problem(session: str, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.json").write_bytes(Path(session).read_bytes())
    (folder / "package.json").write_text('{"name": "x"}')
    (folder / "cut.json").write_bytes(Path(session).read_bytes()[:400])
    told: list[str] = []
    wanted, _ = gather([str(folder)], Choice(everything=True, manner=Manner()), [])
    made = make_plan(wanted, open_store(str(tmp_path / "d")), Aim(terms=Terms()), notice=told.append)
    assert len(made.jobs) == 6
    assert [Path(problem.where).name for problem in made.problems] == ["cut.json"]
    assert [line.partition(":")[0] for line in told] == ["left aside"]


def test_what_had_to_be_stepped_over_in_a_recording_is_told(session: str, tmp_path: Path) -> None:
    banner = tmp_path / "banner.json"
    banner.write_text("migrating …\n" + Path(session).read_text("utf-8"), "utf-8")
    told: list[str] = []
    wanted, _ = gather([str(banner)], Choice(everything=True, manner=Manner()), [])
    make_plan(wanted, open_store(str(tmp_path / "d")), Aim(terms=Terms()), notice=told.append)
    assert told
    assert told[0].startswith("banner.json: ")


def test_a_manner_that_cannot_be_used_is_a_problem_of_its_lines_but_ends_the_call_when_it_is_its_own(
    session: str, tmp_path: Path
) -> None:
    wrong = (
        Row(where="t, line 2", session=session, msg="4", manner=Manner(style="nothing")),
        Row(where="t, line 3", session=session, msg="5", manner=Manner(language="\n")),
    )
    made = plan(session, drafts=tmp_path / "d", rows=wrong)
    assert len(made.jobs) == 3
    assert [problem.where for problem in made.problems] == ["t, line 2", "t, line 3"]
    with pytest.raises(StyleError, match="no style 'nothing'"):
        plan(session, drafts=tmp_path / "d", manner=Manner(style="nothing"))


def test_a_drafts_folder_that_cannot_be_read_is_a_problem(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, _ = gather([session], Choice(everything=True, manner=Manner()), [])
    monkeypatch.setattr(Folder, "names", _refuse)
    store = open_store(str(tmp_path / "d"))
    made = make_plan(wanted, store, Aim(terms=Terms()))
    assert [problem.why for problem in made.problems] == ["d: input/output error"]


def _refuse(_store: Folder, _folder: str) -> tuple[str, ...]:
    raise DraftError("d: input/output error")


def test_problems_that_were_there_before_come_first(session: str, tmp_path: Path) -> None:
    before = Problem(where="t, line 2", why="no session")
    wanted, _ = gather([session], Choice(msgs=("9",), manner=Manner()), [])
    made = make_plan(wanted, open_store(str(tmp_path)), Aim(terms=Terms()), problems=[before])
    assert made.problems[0] == before
    assert (made.groups, len(made.problems)) == ((), 2)


def test_a_target_that_does_not_go_into_the_budget_spoils_no_plan(tmp_path: Path) -> None:
    long = write(tmp_path, export(*(user(f"Step {n}: " + "and so on, " * 400) for n in range(40))))
    terms = Terms(settings=MODEL, budget=800, before=20)
    with pytest.raises(UsageError, match="too small for --before"):
        ask(open_session(long), 30, read_style(Manner()), None, terms)
    assert [job.index for job in plan(long, drafts=tmp_path / "d", msgs="30,0", terms=terms).jobs] == [0, 30]
    assert len(plan(long, drafts=tmp_path / "d", msgs="30", terms=terms).jobs) == 1


def test_a_share_holds_its_sessions_and_the_shares_hold_all(tmp_path: Path) -> None:
    paths = [write(tmp_path, export(user(f"Do {n}."), title=f"s{n}"), f"{n}.json") for n in range(12)]
    shares = [
        {job.session for job in plan(*paths, drafts=tmp_path / "d", msgs="0", shard=Shard(index=n, of=3)).jobs}
        for n in (1, 2, 3)
    ]
    assert sum(map(len, shares)) == 12
    assert set().union(*shares) == set(paths)
    assert all(shares)


# ---- what it takes ------------------------------------------------------------------------------------------------


def off(path: str, **terms: Any) -> list[float]:
    """How far the plan's tokens are off those of the real prompts, as shares."""
    opened = open_session(path)
    step = max(1, len(opened) // 6)
    wanted, _ = gather([path], Choice(msgs=tuple(map(str, range(0, len(opened), step))), manner=Manner()), [])
    given = Terms(settings=MODEL, **terms)
    made = make_plan(wanted, open_store("nowhere"), Aim(terms=given))
    style = read_style(Manner())
    prompts = {job.index: ask(opened, job.index, style, None, given).prompt for job in made.jobs}
    return [job.tokens / prompts[job.index].tokens - 1 for job in made.jobs]


def test_the_tokens_of_a_prompt_are_estimated_well_where_the_budget_is_filled() -> None:
    assert max(map(abs, off(str(EXAMPLE)))) < 0.005
    assert max(map(abs, off(str(EXAMPLE), budget=4000))) < 0.06


def test_the_tokens_of_small_sessions_are_estimated_from_their_bytes() -> None:
    folder = SHARED / "sessions" / "opencode"
    if not folder.is_dir():
        pytest.skip("the recorded sessions are not here")
    for name in ("gen_1.1.65_scenarioA.json", "gen_1.18.33_scenarioB_abort_compaction.json"):
        assert max(map(abs, off(str(folder / name)))) < 0.1, name


def test_the_first_of_a_group_pays_for_the_prefix_and_the_price_follows(session: str, tmp_path: Path) -> None:
    made = plan(session, drafts=tmp_path / "d", terms=Terms(settings=MODEL, price=PRICE))
    one = made.jobs[0]
    assert made.usage.input == 3 * one.tokens
    assert made.usage.cached == 2 * one.prefix
    assert made.usage.output == 3 * one.output
    fresh = made.usage.input - made.usage.cached
    assert made.cost is not None
    assert made.dearest is not None
    assert made.cost.usd == pytest.approx((fresh + 0.1 * made.usage.cached + 4 * made.usage.output) / 1e6)
    assert made.dearest.usd == pytest.approx((made.usage.input + 4 * made.usage.output) / 1e6)
    half = plan(session, drafts=tmp_path / "d", terms=Terms(settings=MODEL, price=PRICE), discount=0.5)
    assert half.cost is not None
    assert half.cost.usd == pytest.approx(made.cost.usd / 2)


def test_the_prefix_is_what_the_prompts_of_a_session_share(tmp_path: Path) -> None:
    made = plan(str(EXAMPLE), drafts=tmp_path / "d", msgs="20,140")
    opened, style = open_session(str(EXAMPLE)), read_style(Manner())
    texts = [
        "\n".join(message["content"] for message in ask(opened, i, style, None, made.terms).prompt.wire(lookups=True))
        for i in (20, 140)
    ]
    shared = next(at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)
    assert made.jobs[0].prefix == pytest.approx(count_tokens(texts[0][:shared]), rel=0.02)


def test_without_a_price_the_cost_is_unknown_and_offline_nothing_is_sent(session: str, tmp_path: Path) -> None:
    made = plan(session, drafts=tmp_path / "d")
    assert (made.cost, made.dearest) == (None, None)
    assert made.usage.input > 0
    offline = plan(session, drafts=tmp_path / "d", terms=Terms(price=PRICE))
    assert (offline.cost, offline.usage.input, len(offline.jobs)) == (None, 0, 3)
    nothing = plan(session, drafts=tmp_path / "d", msgs="9", terms=Terms(settings=MODEL, price=PRICE))
    assert (nothing.cost, nothing.jobs) == (None, ())


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        pytest.param({}, lambda _made: None, id="no rate"),
        pytest.param({"rpm": 30}, lambda _made: 6.0, id="requests"),
        pytest.param(
            {"tpm": 1000, "rpm": 30},
            lambda made: (made.usage.input + made.usage.output) * 0.06,
            id="the slower of both",
        ),
    ],
)
def test_the_time_at_a_given_rate(session: str, tmp_path: Path, limits: dict[str, float], seconds: Any) -> None:
    made = plan(session, drafts=tmp_path / "d", limits=Limits(**limits))
    assert made.seconds == pytest.approx(seconds(made))


def test_ten_thousand_targets_are_planned_in_two_seconds(tmp_path: Path) -> None:
    path = write(tmp_path, export(*(user(f"Say {n}.") if n % 2 else assistant("It is so.") for n in range(10_000))))
    begun = time.perf_counter()
    made = plan(path, drafts=tmp_path / "d", msgs="0-9999")
    assert len(made.jobs) == 10_000
    assert time.perf_counter() - begun < 2
