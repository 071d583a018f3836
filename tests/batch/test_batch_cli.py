"""`narrate batch` as its users call it: what it chooses, says, writes, leaves alone, and how it ends."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console import GOOD_ESSAY, environment, good_answer, run
from endpoint import Answer, Loopback, completion
from recordings import EXAMPLE, assistant, export, tool, user, write

from narrator.asking import REPAIRS, Manner, Terms
from narrator.batch import run as running
from narrator.batch.choose import Choice, gather
from narrator.batch.job import Limits, Outcome, Plan, State
from narrator.batch.plan import Aim, make_plan
from narrator.batch.report import Tally
from narrator.batch.store import Store, open_store
from narrator.cli import choices, following, gathering
from narrator.cli.planning import span
from narrator.draft import Cost, Usage, load_draft
from narrator.errors import UsageError
from narrator.lookup import Bounds

NOTE = "narrate: written offline, without a model; to have a model write it, set OPENAI_API_KEY"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def session() -> str:
    """`s.json`: four messages, 1 with a failed command."""
    failed = tool(output="1 failed\n", metadata={"exit": 1})
    document = export(
        user("Please fix the test."), assistant(failed, "It fails."), user("continue"), assistant("Done.")
    )
    write(Path(), document, "s.json")
    return "s.json"


def saved() -> list[str]:
    return sorted(path.name for path in Path("drafts").rglob("*.json"))


def at(server: Loopback, *more: str) -> tuple[str, ...]:
    """The endpoint of a test, asked once for an essay."""
    return ("--model", "m", "--base-url", server.url, "--lookups", "0", "--repair", "0", *more)


Told = Callable[[Plan, Limits, Callable[[Outcome], None]], None]


def replaced(monkeypatch: pytest.MonkeyPatch, told: Told) -> None:
    """Put `told` in the place of the run: it is given the plan, and what takes outcomes."""

    def fake(plan: Plan, limits: Limits, _store: Store, tell: Callable[[Outcome], None], **_more: Any) -> None:
        told(plan, limits, tell)

    monkeypatch.setattr(running, "run_batch", fake)


# ---- the whole of it ----------------------------------------------------------------------------------------------


def test_essays_are_written_and_the_second_run_leaves_them_alone(session: str) -> None:
    first = run("batch", session, "--all", "--offline")
    assert (first.code, first.out) == (0, "")
    assert saved() == [f"{index}-essay.json" for index in range(4)]
    lines = first.err.splitlines()
    assert lines[0] == "narrate: plan: 4 essays of 1 session to write offline, without a model; drafts in drafts"
    assert sorted(line.partition("] ")[2] for line in lines[1:5]) == [f"s.json msg {index}: done" for index in range(4)]
    assert [line.partition(" ")[0] for line in lines[1:5]] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    assert lines[5].startswith("narrate: 4 written; took ")
    before = {path: path.read_bytes() for path in Path("drafts").rglob("*.json")}
    second = run("batch", session, "--all", "--offline")
    assert second.code == 0
    assert second.lines[0] == "narrate: plan: 4 written already; drafts in drafts"
    assert second.lines[1].startswith("narrate: 0 written, 4 written before; took")
    assert {path: path.read_bytes() for path in Path("drafts").rglob("*.json")} == before


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="as it is"),
        pytest.param(["--style", "brief", "--length", "150", "--budget", "2000", "--before", "1"], id="with options"),
        pytest.param(["--language", "German"], id="in a language, which the offline writer does not know"),
    ],
)
def test_a_draft_is_the_one_that_a_single_essay_gets(session: str, words: list[str]) -> None:
    run("batch", session, "--msgs", "1", "--offline", *words)
    run("--msg", "1", session, "--offline", "--drafts", "single", *words)
    of_batch, single = (
        next(Path(folder).rglob("*.json")).read_text("utf-8").partition('"times"')[0] for folder in ("drafts", "single")
    )
    assert of_batch == single
    assert "exists" in run("--msg", "1", session, "--offline", *words).err


def test_a_model_is_sent_what_a_single_essay_sends(session: str) -> None:
    with Loopback(good_answer()) as server:
        run("batch", session, "--msgs", "1", *at(server))
        run("--msg", "1", session, "--drafts", "single", *at(server))
    one, other = (request["messages"] for request in server.requests)
    assert one == other


def test_tokens_and_cost_are_summed_and_the_report_has_all(session: str) -> None:
    with Loopback(good_answer()) as server:
        ran = run("batch", session, "--msgs", "0,1", "--report", "r.json", *at(server, "--price", "10,1,100"))
    assert ran.code == 0
    assert ran.err.splitlines()[1].startswith("narrate: plan: about ")
    assert "; estimated cost $" in ran.err
    assert "; tokens: 18 in (22% cached), 8 out; cost $0.0009 by --price 10,1,100" in ran.err
    report = json.loads(Path("r.json").read_text("utf-8"))
    assert report["counts"] == {
        "written": 2,
        "saved_before": 0,
        "failed": 0,
        "skipped": 0,
        "pending": 0,
        "problems": 0,
    }
    assert (report["state"], report["cached_share"], report["cost"]["usd"]) == ("done", 0.2222, pytest.approx(0.000944))
    assert report["model"] == {"name": "m", "base_url": server.url}
    assert sorted((essay["msg"], essay["state"]) for essay in report["essays"]) == [(0, "done"), (1, "done")]
    assert all(load_draft(Path(essay["draft"])).model for essay in report["essays"])


def test_what_fails_is_listed_and_the_rest_is_written(session: str) -> None:
    refusal = completion("I'm sorry, but I can't help with that.", refusal="I can't help with that.")
    with Loopback(good_answer(), refusal) as server:
        ran = run("batch", session, "--msgs", "0-2", "--jobs", "1", *at(server))
    assert ran.code == 1
    assert len(saved()) == 1
    failed = [line for line in ran.err.splitlines() if line.startswith("narrate: failed: s.json msg ")]
    assert len(failed) == 2
    assert "1 written, 2 failed" in ran.err.splitlines()[-1]
    assert len(list(Path("drafts").rglob("*.failed"))) == 2


def test_what_failed_is_tried_again_three_times_and_then_when_it_is_asked_for(session: str) -> None:
    refusal = completion(None, refusal="I can't help with that.")
    with Loopback(refusal) as server:
        for _ in range(3):
            assert run("batch", session, "--msgs", "1", *at(server)).code == 1
        asked = len(server.requests)
        ran = run("batch", session, "--msgs", "1", "--report", "r.json", *at(server))
        assert (ran.code, len(server.requests)) == (1, asked)
        assert "1 left out, which failed in earlier runs" in ran.lines[0]
        assert "narrate: failed: s.json msg 1: failed in 3 runs; --retry-failed tries it again" in ran.err
        assert json.loads(Path("r.json").read_text("utf-8"))["essays"][0]["state"] == "failed"
        server._answers = [good_answer()]
        assert run("batch", session, "--msgs", "1", "--retry-failed", *at(server)).code == 0
    assert saved() == ["1-essay.json"]
    assert list(Path("drafts").rglob("*.failed")) == []


def test_redo_writes_again_what_is_written(session: str) -> None:
    with Loopback(good_answer(), completion(GOOD_ESSAY.replace("A turn", "Another turn"))) as server:
        run("batch", session, "--msgs", "1", *at(server))
        assert run("batch", session, "--msgs", "1", "--redo", *at(server)).code == 0
    assert saved() == ["1-essay.json"]
    draft = load_draft(next(Path("drafts").rglob("*.json")))
    assert draft.essay.final.startswith("# Another turn")


# ---- choosing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["--pick", "command-failed,user-nudge"], ["1-essay.json", "2-essay.json"], id="kinds"),
        pytest.param(["--msgs", "0-1,msg_0001"], ["0-essay.json", "1-essay.json"], id="numbers, ids, no doubles"),
        pytest.param(["--pick", "aborted"], [], id="a kind that does not occur"),
    ],
)
def test_what_is_chosen(session: str, words: list[str], names: list[str]) -> None:
    ran = run("batch", session, "--offline", *words)
    assert (ran.code, saved()) == (0, names)
    if not names:
        assert ran.lines[0] == "narrate: plan: no message is chosen; drafts in drafts"


@pytest.mark.usefixtures("session")
def test_a_list_from_standard_input_with_a_wrong_line() -> None:
    listed = b"session,msg,style,note\ns.json,1,brief,x\ns.json,99,,\n,2,,\n"
    ran = run("batch", "--from", "-", "--offline", stdin=listed)
    assert (ran.code, saved()) == (1, ["1-brief.json"])
    warnings = [line for line in ran.err.splitlines() if "warning" in line]
    assert warnings == [
        "narrate: warning: stdin: not used: 'note'; the columns are session, msg, style, length, language",
        "narrate: warning: stdin, line 4: no session; none is given beside the list",
        "narrate: warning: stdin, line 3: msg 99: out of range; the session has 4 messages, valid is 0..3",
    ]
    assert ran.err.splitlines()[-1].startswith("narrate: 1 written, 2 cannot be used; took ")


def test_paths_of_a_list_begin_where_it_lies(session: str) -> None:
    Path("lists").mkdir()
    Path(session).rename(Path("lists") / session)
    Path("lists/t.jsonl").write_text('{"session": "s.json", "msg": 1}\n')
    assert run("batch", "--from", "lists/t.jsonl", "--offline").code == 0
    assert saved() == ["1-essay.json"]


def test_what_targets_prints_goes_in_as_it_is(session: str) -> None:
    ranked = run("targets", session, "--json", "--limit", "2").out
    ran = run("batch", session, "--from", "-", "--offline", stdin=ranked.encode())
    assert (ran.code, len(saved())) == (0, 2)
    assert "not used" not in ran.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(
            ["s.json"], "no messages are named: --msgs 3,17,100-120, --pick KIND, --all, or --from", id="none"
        ),
        pytest.param(["--all"], "no SESSION: --msgs, --pick and --all choose from the sessions", id="no session"),
        pytest.param(["-", "--all"], "SESSION '-': a batch reads a session more than once", id="standard input"),
        pytest.param(["", "--all"], "SESSION '': an empty name", id="an empty name"),
        pytest.param(["s.json", "--msgs", ","], "--msgs ',': no message", id="no message"),
        pytest.param(["s.json", "--pick", "nope"], "--pick nope: no kind of finding is called 'nope'", id="kind"),
        pytest.param(["s.json", "--from", "no.csv"], "--from no.csv: no such file or directory", id="no list"),
        pytest.param(
            ["s.json", "--msgs", "99"], "nothing to write: s.json: --msgs 99: out of range", id="no such message"
        ),
        pytest.param(
            ["no.json", "x.json", "--all"], "nothing to write: no such file: no.json (and 1 more)", id="no file"
        ),
        pytest.param(["s.json", "--all", "--budget", "9"], "--budget 9: at least 800 tokens are needed", id="budget"),
        pytest.param(["s.json", "--all", "--style", "x"], "no style 'x'", id="style"),
        pytest.param(["s.json", "--all", "--price", "x"], "--price x: three numbers are needed", id="price"),
        pytest.param(
            ["s.json", "--all", "--report", "s.json"], "--report s.json: this is a recording itself", id="report"
        ),
        pytest.param(
            ["s.json", "--all", "--report", "no.json/r"], "cannot write no.json/r", id="no place for the report"
        ),
        pytest.param(["s.json", "--all", "--shard", "3/2"], "--shard '3/2' is no share", id="share"),
        pytest.param(["s.json", "--all", "--jobs", "0"], "Invalid value for '--jobs'", id="jobs"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_2(session: str, words: list[str], says: str) -> None:
    if "no.json/r" in words:
        Path("no.json").touch()
    ran = run("batch", "--offline", *words)
    assert (ran.code, len(ran.lines)) == (2, 1)
    assert says in ran.err
    assert not Path("drafts").exists()
    assert Path(session).read_text("utf-8").startswith("{")


def test_a_list_from_a_closed_standard_input(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="stdin is closed"):
        gathering._read_list("-", (session,), Manner())


def test_a_drafts_folder_that_cannot_be_is_exit_2(session: str) -> None:
    Path("drafts").touch()
    ran = run("batch", session, "--all", "--offline")
    assert (ran.code, len(ran.lines)) == (2, 2)
    assert "drafts" in ran.lines[1]


# ---- the plan -----------------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_plan_and_sends_nothing(session: str) -> None:
    run("batch", session, "--msgs", "0", "--offline")
    with Loopback(good_answer()) as server:
        words = ("--rpm", "30", "--tpm", "1000", "--price", "1,0.1,2", "--dry-run")
        ran = run("batch", session, "--all", *at(server, *words))
        offline = run("batch", session, "--all", "--dry-run")
    assert (ran.code, ran.err, server.requests) == (0, "", [])
    lines = ran.out.splitlines()
    assert lines[0] == "4 essays of 1 session to write by m; drafts in drafts"
    assert lines[1].startswith("about ")
    assert lines[1].endswith("out (without reasoning, look-ups and repair)")
    assert "without the cache, by --price 1,0.1,2" in lines[2]
    assert lines[3].endswith(" at --rpm 30 and --tpm 1000")
    assert lines[4].split() == ["to", "write", "written", "tokens", "in", "session"]
    assert lines[5].split()[:2] == ["4", "0"]
    assert lines[-1] == "nothing was sent"
    assert offline.err.startswith(NOTE)
    assert offline.out.splitlines()[0].endswith(
        "3 essays of 1 session to write offline, without a model, 1 written already; drafts in drafts"
    )
    assert offline.out.splitlines()[2].split() == ["3", "1", "s.json"]


def test_a_dry_run_has_a_report_too_and_alone_on_standard_output(session: str) -> None:
    ran = run("batch", session, "--msgs", "0,99", "--dry-run", "--offline", "--report", "-")
    report = json.loads(ran.out)
    assert ran.code == 1
    assert (report["state"], report["counts"]["pending"], report["counts"]["problems"]) == ("planned", 1, 1)
    assert [essay["state"] for essay in report["essays"]] == ["pending"]
    assert "1 essay of 1 session to write offline" in ran.err


def test_a_price_and_a_time_that_are_not_known_are_called_so(session: str) -> None:
    with Loopback(good_answer()) as server:
        ran = run("batch", session, "--msgs", "0", *at(server, "--dry-run"))
    assert "price unknown: --price names one" in ran.out
    assert "time: as fast as the endpoint bears; --rpm or --tpm names a rate" in ran.out


def test_unmasked_secrets_are_warned_of(session: str) -> None:
    assert "--no-redact: secrets in the recordings" in run("batch", session, "--all", "--dry-run", "--no-redact").err


# ---- ends ---------------------------------------------------------------------------------------------------------


def test_limits_go_to_the_run_as_they_were_given(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Limits] = []
    replaced(monkeypatch, lambda _plan, limits, _tell: seen.append(limits))
    words = ("--jobs", "3", "--rpm", "9", "--tpm", "99", "--max-cost", "1.5", "--max-total-tokens", "7")
    ran = run("batch", session, "--all", "--offline", *words)
    assert seen == [Limits(jobs=3, rpm=9, tpm=99, max_cost=1.5, max_tokens=7)]
    assert "0 written, 4 not begun or dropped" in ran.err


@pytest.mark.parametrize(
    ("elsewhere", "code"),
    [pytest.param(False, 1, id="over the budget"), pytest.param(True, 0, id="in the hands of another run")],
)
def test_what_is_skipped(session: str, monkeypatch: pytest.MonkeyPatch, elsewhere: bool, code: int) -> None:
    def skip(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        for job in plan.jobs:
            tell(Outcome(job=job, state="skipped", why="so it is", elsewhere=elsewhere))

    replaced(monkeypatch, skip)
    ran = run("batch", session, "--msgs", "1", "--offline")
    assert ran.code == code
    assert "[1/1] s.json msg 1: skipped: so it is" in ran.err
    assert "0 written, 1 skipped" in ran.err


def test_an_interrupt_is_130_and_the_report_tells_what_is_left(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        tell(Outcome(job=plan.jobs[0], state="done", path="p"))
        raise KeyboardInterrupt

    replaced(monkeypatch, stop)
    ran = run("batch", session, "--all", "--offline", "--report", "r.json")
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "narrate: interrupted; what was saved before is kept"
    assert "1 written, 3 not begun or dropped" in ran.err
    report = json.loads(Path("r.json").read_text("utf-8"))
    assert (report["state"], report["counts"]["pending"]) == ("interrupted", 3)


def test_a_mark_that_cannot_be_written_is_a_warning(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        Path("drafts").rmdir() if Path("drafts").exists() else None
        Path("drafts").touch()
        tell(Outcome(job=plan.jobs[0], state="failed", why="refused", lasting=True))

    replaced(monkeypatch, fail)
    ran = run("batch", session, "--msgs", "1", "--offline")
    assert ran.code == 1
    assert "narrate: warning: cannot write drafts" in ran.err


@pytest.mark.parametrize(
    ("usage", "cost", "says"),
    [
        pytest.param(None, None, "tokens: not counted by the endpoint; cost unknown", id="not counted"),
        pytest.param(Usage(input=9, output=1), None, "9 in (0% cached), 1 out; cost unknown: no price", id="no price"),
        pytest.param(
            Usage(input=10, output=1, cached=5),
            Cost(usd=12.5, source="x"),
            "10 in (50% cached), 1 out; cost $12.50 by x",
            id="priced",
        ),
    ],
)
def test_what_it_took(
    session: str, monkeypatch: pytest.MonkeyPatch, usage: Usage | None, cost: Cost | None, says: str
) -> None:
    def done(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        tell(Outcome(job=plan.jobs[0], state="done", usage=usage, cost=cost, requests=1))

    replaced(monkeypatch, done)
    words = ("--model", "m", "--base-url", "http://127.0.0.1:1/v1")
    assert says in run("batch", session, "--msgs", "1", *words).err


def test_long_lists_of_failures_and_problems_are_cut(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        for job in plan.jobs:
            tell(Outcome(job=job, state="failed", why="no"))

    replaced(monkeypatch, fail)
    monkeypatch.setattr("narrator.cli.running.MOST_LISTED", 2)
    ran = run("batch", session, "--msgs", "0-3,7,8,9", "--offline")
    assert "narrate: warning: … and 1 more; --report FILE has all" in ran.err
    assert "narrate: failed: 2 more; --report FILE has all" in ran.err


def test_options_that_need_no_library_hold_its_own_defaults() -> None:
    assert (REPAIRS, Bounds().rounds) == (choices.REPAIRS, choices.LOOKUPS)


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_terminal_gets_a_bar_with_pace_tokens_cost_and_failures(
    session: str, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    wanted, _ = gather([session], Choice(everything=True, manner=Manner()), [])
    plan = make_plan(wanted, open_store("drafts"), Aim(terms=Terms()))
    tally, terminal = Tally(plan), Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with following.follow(tally) as (show, notice):
        usage, cost = Usage(input=2_500_000, output=1_200), Cost(usd=2.5, source="x")
        outcome = Outcome(job=plan.jobs[0], state=state, why="no\x1b[31m", usage=usage, cost=cost)
        tally.add(outcome)
        show(outcome)
        notice("a parameter is left out")
    text = terminal.getvalue()
    assert "1/4" in text
    assert "narrate: a parameter is left out" in text
    assert ("narrate: s.json msg 0: failed: no" in text) is (state == "failed")
    assert "\x1b[31mnarrate" not in text
    told = following.told(tally, 30.0)
    failed = " · 1 failed" if state == "failed" else ""
    assert told == f"2.0/min · 90 s left · 2.5M in, 1.2k out · $2.5000{failed}"


def test_what_stands_beside_the_bar_before_and_after(session: str) -> None:
    wanted, _ = gather([session], Choice(msgs=("1",), manner=Manner()), [])
    tally = Tally(make_plan(wanted, open_store("drafts"), Aim(terms=Terms())))
    assert following.told(tally, 0.0) == "0.0/min"
    tally.add(Outcome(job=tally.plan.jobs[0], state="done", usage=Usage(input=9, output=1)))
    assert following.told(tally, 60.0) == "1.0/min · 9 in, 1 out"


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        pytest.param(41, "41 s", id="seconds"),
        pytest.param(720, "12 min", id="minutes"),
        pytest.param(12_600, "3.5 h", id="hours"),
    ],
)
def test_a_time_for_a_person(seconds: float, says: str) -> None:
    assert span(seconds) == says


def test_an_essay_of_another_manner_is_named_with_it(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def done(plan: Plan, _limits: Limits, tell: Callable[[Outcome], None]) -> None:
        tell(Outcome(job=plan.jobs[0], state="done"))

    replaced(monkeypatch, done)
    words = ("--style", "brief", "--length", "150", "--language", "German")
    assert (
        "s.json msg 1 (brief, 150 words, German): done" in run("batch", session, "--msgs", "1", *words, "--offline").err
    )


# ---- processes ----------------------------------------------------------------------------------------------------


def test_the_example_of_the_help_works() -> None:
    help_ = run("batch", "--help").out
    assert "narrate batch examples/glm5-144.json --pick aborted,command-failed" in " ".join(help_.split())
    Path("examples").mkdir()
    Path("examples/glm5-144.json").write_bytes(EXAMPLE.read_bytes())
    assert run("batch", "examples/glm5-144.json", "--pick", "aborted", "--offline").code == 0


def test_ctrl_c_drops_what_is_in_flight_and_loses_nothing(session: str) -> None:
    hanging = Answer(body="", status=0, then="hang")
    with Loopback(good_answer(), hanging) as server:
        words = ["batch", session, "--all", "--jobs", "1", *at(server)]
        command = [sys.executable, "-m", "narrator", *words]
        env = environment(PYTHONPATH=os.pathsep.join(sys.path), HOME=str(Path.cwd()))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
            deadline = time.monotonic() + 30
            while len(server.requests) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            begun = time.monotonic()
            _, err = process.communicate(timeout=30)
        server.closing.set()
    assert process.returncode == 130, err
    assert time.monotonic() - begun < 5
    assert len(saved()) == 1
    assert "1 written, 3 not begun or dropped" in err
    assert list(Path("drafts").rglob("*.claim*")) == []
