"""One run for each essay: at a folder, in memory and at an S3 server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from narrator.asking import Manner, Terms
from narrator.batch import claims as module
from narrator.batch import process
from narrator.batch.claims import Claim, Claims, claim_path
from narrator.batch.job import Group, Job, Plan
from narrator.batch.process import Process, is_gone, this_process
from narrator.batch.store import Folder, Store
from narrator.errors import DraftError

DIGEST = "abcdef0123" * 6
FOLDER = "fix-it-1"


def draft(store: Store, name: str = "3-essay.json") -> str:
    return store.join(store.join(store.place, FOLDER), name)


def names(store: Store) -> tuple[str, ...]:
    return store.names(store.join(store.place, FOLDER))


def a_claim(**changes: Any) -> str:
    """The claim of a process of this machine that is there (this one), unless it says otherwise."""
    whose = this_process().model_copy(update=changes)
    return Claim(key=uuid.uuid4().hex, run="other", process=whose, since="2026-01-01T00:00:00Z").model_dump_json()


ELSEWHERE = {"host": "far", "machine": "another boot"}
DEAD = {"pid": 2**22 + 1}  # above the largest number that Linux gives
AGAIN = {"started": "1"}  # the number is in use again


# ---- one run holds --------------------------------------------------------------------------------------------------


def test_one_of_two_runs_gets_the_claim_and_the_other_when_it_is_given_free(store: Store) -> None:
    with Claims(store, run="one") as one, Claims(store, run="two") as two:
        held = one.take(draft(store), DIGEST)
        assert held is not None
        assert names(store) == ("3-essay-abcdef.claim",)
        assert two.take(draft(store), DIGEST) is None
        assert one.take(draft(store), DIGEST) is None
        held.release()
        assert names(store) == ()
        with two.take(draft(store), DIGEST) as taken:  # type: ignore[union-attr]
            assert taken.path == draft(store, "3-essay-abcdef.claim")
        assert names(store) == ()


def test_a_claim_says_who_holds_it(store: Store) -> None:
    with Claims(store, run="one") as claims, claims.take(draft(store), DIGEST) as held:  # type: ignore[union-attr]
        told = json.loads(store.read(held.path) or b"")
    assert told["run"] == "one"
    assert told["process"]["pid"] == os.getpid()
    assert told["process"]["host"]
    assert told["since"].endswith("Z")


def test_it_is_removed_after_a_failure_too(store: Store) -> None:
    claims = Claims(store)
    with pytest.raises(ZeroDivisionError), claims, claims.take(draft(store), DIGEST):  # type: ignore[union-attr]
        _ = 1 // 0
    assert names(store) == ()


def test_closing_a_run_gives_up_what_is_in_flight(store: Store) -> None:
    claims = Claims(store)
    assert claims.take(draft(store), DIGEST)
    assert claims.take(draft(store, "4-essay.json"), DIGEST)
    claims.close()
    assert names(store) == ()


def test_essays_that_differ_in_their_settings_do_not_keep_each_other_waiting(store: Store) -> None:
    with Claims(store) as one, Claims(store) as two:
        assert one.take(draft(store), DIGEST)
        assert two.take(draft(store), "123456" * 10)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("d/3-essay.json", "d/3-essay-abcdef.claim", id="the plain name"),
        pytest.param("d/3-essay-abcdef.json", "d/3-essay-abcdef.claim", id="the name with a part of the identity"),
        pytest.param("s3://b/d/3-essay.json", "s3://b/d/3-essay-abcdef.claim", id="an address"),
        pytest.param("d/3-essay-fedcba.json", "d/3-essay-fedcba-abcdef.claim", id="a style that is called so"),
    ],
)
def test_a_claim_stands_beside_the_draft(path: str, expected: str) -> None:
    assert claim_path(path, DIGEST) == expected


def test_of_many_that_claim_one_essay_at_once_one_gets_it(store: Store) -> None:
    runs, start = [Claims(store) for _ in range(8)], threading.Barrier(8)

    def take(run: Claims) -> bool:
        start.wait()
        return run.take(draft(store), DIGEST) is not None

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(take, runs)).count(True) == 1
    for run in runs:
        run.close()
    assert names(store) == ()


# ---- what is left behind --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(a_claim(), False, id="of a process that is there"),
        pytest.param(a_claim(**DEAD), True, id="of one that is gone"),
        pytest.param(a_claim(**AGAIN), True, id="of one that is gone, whose number is another's now"),
        pytest.param(a_claim(**ELSEWHERE), False, id="of another machine"),
        pytest.param(a_claim(**ELSEWHERE, **DEAD), False, id="of another machine, whose number is nobody's here"),
        pytest.param("", False, id="empty after a power failure"),
        pytest.param('{"key": "x"}', False, id="of a version that says less"),
    ],
)
def test_a_claim_is_taken_over_at_once_where_its_process_is_gone(text: str, expected: bool, store: Store) -> None:
    store.create(draft(store, "3-essay-abcdef.claim"), text)
    with Claims(store) as claims:
        held = claims.take(draft(store), DIGEST)
        assert (held is not None) is expected
        assert len(names(store)) == 1 + expected
    assert len(names(store)) == 1 - expected


@pytest.mark.parametrize("text", [a_claim(**ELSEWHERE), ""], ids=["of another machine", "empty"])
def test_a_claim_that_nobody_renews_is_taken_over_after_a_while(text: str, store: Store) -> None:
    store.create(draft(store, "3-essay-abcdef.claim"), text)
    with Claims(store, stale=1.0) as claims:
        deadline = time.monotonic() + 10
        while (held := claims.take(draft(store), DIGEST)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        held.release()
        assert names(store) == ()


def test_a_claim_is_renewed_while_the_essay_is_in_flight(store: Store) -> None:
    stale = 2.5 if store.place.startswith("s3:") else 0.5  # S3 tells whole seconds
    with Claims(store, stale=stale) as one, Claims(store, stale=stale) as two:
        held = one.take(draft(store), DIGEST)
        assert held is not None
        until = time.monotonic() + 2 * stale
        while time.monotonic() < until:
            assert two.take(draft(store), DIGEST) is None
            assert two._age(held.path) < stale
            time.sleep(stale / 8)


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["an hour behind", "an hour ahead"])
def test_a_machine_whose_clock_is_wrong_takes_over_nothing(
    ahead: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create(draft(store, "3-essay-abcdef.claim"), a_claim(**ELSEWHERE))
    now = time.time
    monkeypatch.setattr("narrator.batch.claims.time.time", lambda: now() + ahead)
    with Claims(store, stale=60) as claims:
        assert claims.take(draft(store), DIGEST) is None
        assert abs(claims._age(draft(store, "3-essay-abcdef.claim"))) < 30


def test_what_was_left_behind_goes_to_one_of_many_that_ask_at_once(store: Store) -> None:
    for turn in range(5):
        path = draft(store, f"{turn}-essay.json")
        store.create(claim_path(path, DIGEST), a_claim(**DEAD))
        runs, start = [Claims(store) for _ in range(8)], threading.Barrier(8)

        def take(run: Claims, path: str = path, start: threading.Barrier = start) -> bool:
            start.wait()
            return run.take(path, DIGEST) is not None

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(take, runs)).count(True) == 1
        for run in runs:
            run.close()
        assert names(store) == ()


def test_the_heir_of_an_heir_holds(store: Store) -> None:
    first = draft(store, "3-essay-abcdef.claim")
    store.create(first, a_claim(**DEAD))
    with Claims(store) as claims:
        held = claims.take(draft(store), DIGEST)
        assert held is not None
        heir = held.path
    store.create(first, dead := a_claim(**DEAD))
    assert not store.exists(heir)
    second = module._Seen(first, dead.encode()).heir
    store.create(second, a_claim(**DEAD))
    with Claims(store) as claims:
        held = claims.take(draft(store), DIGEST)
        assert held is not None
        assert len(names(store)) == 3
        assert held.path not in {first, second}
    assert names(store) == ()


# ---- what could go wrong at the worst moment ------------------------------------------------------------------------


class Meddling(Folder):
    """A folder in which something happens directly before a call."""

    def __init__(self, place: str, call: str, act: Callable[[], None]) -> None:
        super().__init__(place)
        self._call, self._act = call, act

    def _meddle(self, call: str) -> None:
        if call == self._call:
            self._call = ""
            self._act()

    def create(self, path: str, text: str, *, flush: bool = True) -> bool:
        if "claim." in path:
            self._meddle("inherit")
        return super().create(path, text, flush=flush)

    def read(self, path: str) -> bytes | None:
        self._meddle("read")
        return super().read(path)

    def exists(self, path: str) -> bool:
        self._meddle("exists")
        return super().exists(path)

    def written(self, path: str) -> float | None:
        self._meddle("written")
        return super().written(path)


def test_a_claim_that_was_followed_and_given_free_since_it_was_looked_at_is_claimed_anew(tmp_path: Path) -> None:
    plain = Folder(str(tmp_path))
    first = draft(plain, "3-essay-abcdef.claim")
    plain.create(first, a_claim(**DEAD))

    def another_run() -> None:
        with Claims(plain) as other:
            assert other.take(draft(plain), DIGEST) is not None

    with Claims(Meddling(str(tmp_path), "inherit", another_run)) as claims:
        held = claims.take(draft(plain), DIGEST)
        assert held is not None
        assert held.path == first
    assert names(plain) == ()


def test_a_claim_that_was_followed_given_free_and_claimed_again_is_left_alone(tmp_path: Path) -> None:
    plain = Folder(str(tmp_path))
    first = draft(plain, "3-essay-abcdef.claim")
    plain.create(first, a_claim(**DEAD))
    other = Claims(plain)

    def another_run() -> None:
        followed = other.take(draft(plain), DIGEST)
        assert followed is not None
        followed.release()
        assert other.take(draft(plain), DIGEST) is not None

    with Claims(Meddling(str(tmp_path), "inherit", another_run)) as claims:
        assert claims.take(draft(plain), DIGEST) is None
        assert names(plain) == ("3-essay-abcdef.claim",)
    other.close()


def test_a_claim_that_is_given_free_while_it_is_looked_at_is_claimed(tmp_path: Path) -> None:
    plain = Folder(str(tmp_path))
    other = Claims(plain)
    assert other.take(draft(plain), DIGEST)
    with Claims(Meddling(str(tmp_path), "read", other.close)) as claims:
        assert claims.take(draft(plain), DIGEST)


def test_a_claim_that_vanishes_while_its_age_is_asked_for_is_not_stale(tmp_path: Path) -> None:
    plain = Folder(str(tmp_path))
    first = draft(plain, "3-essay-abcdef.claim")
    plain.create(first, a_claim(**ELSEWHERE))
    with Claims(Meddling(str(tmp_path), "written", lambda: plain.remove(first)), stale=0) as claims:
        assert claims.take(draft(plain), DIGEST)


def test_a_run_gives_up_an_essay_that_is_always_given_free_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Folder(str(tmp_path))
    monkeypatch.setattr(store, "create", lambda *_, **__: False)
    with Claims(store) as claims:
        assert claims.take(draft(store), DIGEST) is None


def test_a_put_that_was_repeated_because_its_answer_was_lost_is_ours(tmp_path: Path) -> None:
    class Forgetful(Folder):
        def create(self, path: str, text: str, *, flush: bool = True) -> bool:
            super().create(path, text, flush=flush)
            return False

    store = Forgetful(str(tmp_path))
    with Claims(store) as claims:
        assert claims.take(draft(store), DIGEST)
    assert names(store) == ()


def test_a_run_that_wakes_up_late_leaves_its_heir_alone(tmp_path: Path) -> None:
    store = Folder(str(tmp_path))
    sleeper, heir = Claims(store), Claims(store, stale=-1)
    late = sleeper.take(draft(store), DIGEST)
    assert late is not None
    held = heir.take(draft(store), DIGEST)
    assert held is not None
    late.release()
    assert len(names(store)) == 2
    assert Claims(store).take(draft(store), DIGEST) is None
    held.release()
    sleeper.close()
    assert names(store) == ()


def test_a_claim_is_not_renewed_once_it_is_given_free(store: Store) -> None:
    with Claims(store) as claims:
        held = claims.take(draft(store), DIGEST)
        assert held is not None
        held.release()
        held.renew()
        held.release()
    assert names(store) == ()


def test_a_place_that_fails_for_a_while_costs_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Folder(str(tmp_path))
    renewals: list[str] = []

    def fail(path: str, _text: str) -> bool:
        renewals.append(path)
        raise DraftError("no such host")

    monkeypatch.setattr(store, "renew", fail)
    claims = Claims(store, stale=0.2)
    held = claims.take(draft(store), DIGEST)
    deadline = time.monotonic() + 10
    while len(renewals) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert held is not None
    assert held.open
    monkeypatch.setattr(store, "remove", lambda _path: fail("", ""))
    claims.close()
    assert names(store) == ("3-essay-abcdef.claim",)


# ---- what was left is swept -----------------------------------------------------------------------------------------


def test_what_runs_that_are_gone_left_is_removed_and_the_rest_stays(store: Store) -> None:
    kept = draft(store, "5-essay-abcdef.claim"), draft(store, "6-essay-abcdef.claim"), draft(store)
    store.create(kept[0], a_claim())
    store.create(kept[1], a_claim(**ELSEWHERE))
    store.create(kept[2], "a draft")
    store.create(dead := draft(store, "7-essay-abcdef.claim"), text := a_claim(**DEAD))
    store.create(module._Seen(dead, text.encode()).heir, a_claim(**DEAD))
    store.create(orphan := draft(store, "8-essay-abcdef.claim.0123456789ab"), a_claim(**DEAD))
    store.create(torn := draft(store, ".narrate-a1b2c3"), '{"schema":')
    with Claims(store, stale=60) as claims:
        assert claims.sweep(store.join(store.place, FOLDER)) == 1
    assert set(names(store)) == {path.rpartition("/")[2] for path in (*kept, orphan, torn)}
    with Claims(store, stale=-60) as claims:
        claims.sweep(store.join(store.place, FOLDER))
    assert names(store) == ("3-essay.json",)


def test_a_claim_that_is_gone_before_it_is_looked_at_is_no_trouble(tmp_path: Path) -> None:
    plain = Folder(str(tmp_path))
    plain.create(first := draft(plain, "3-essay-abcdef.claim"), a_claim())
    with Claims(Meddling(str(tmp_path), "read", lambda: plain.remove(first))) as claims:
        assert claims.sweep(plain.join(plain.place, FOLDER)) == 0


def test_all_folders_of_a_plan_are_swept(tmp_path: Path) -> None:
    store = Folder(str(tmp_path))
    for folder in ("a", "b", "c"):
        store.create(str(tmp_path / folder / "3-essay-abcdef.claim"), a_claim(**DEAD))
    job = Job(
        session="s.json",
        sha256="ab" * 32,
        index=3,
        manner=Manner(),
        path=str(tmp_path / "a" / "3-essay.json"),
        digest=DIGEST,
        tokens=1,
        prefix=1,
        output=1,
    )
    written = job.model_copy(update={"path": str(tmp_path / "b" / "3-essay.json")})
    group = Group(session="s.json", sha256=job.sha256, manner=Manner(), jobs=(job,))
    module.sweep(store, Plan(terms=Terms(), drafts=store.place, groups=(group,), done=(written,)))
    assert [path.parent.name for path in tmp_path.rglob("*.claim")] == ["c"]


# ---- processes ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as running:
        yield running
        running.kill()


def test_a_process_is_gone_when_it_has_ended_and_also_while_nobody_asked_for_its_end(
    sleeper: subprocess.Popen[bytes],
) -> None:
    whose = this_process().model_copy(update={"pid": sleeper.pid})
    state = process._state(sleeper.pid)
    if state is None:
        pytest.skip("the kernel does not say when a process began")
    whose = whose.model_copy(update={"started": state[1]})
    assert not is_gone(whose)
    assert is_gone(whose.model_copy(update={"started": "1"}))
    sleeper.kill()
    deadline = time.monotonic() + 10
    while not is_gone(whose):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sleeper.wait()
    assert is_gone(whose)


@pytest.mark.parametrize(
    ("changes", "raised", "expected"),
    [
        pytest.param({}, None, False, id="there, with no word of when it began"),
        pytest.param({"started": "7"}, None, False, id="there, when the kernel says nothing now"),
        pytest.param({}, ProcessLookupError(), True, id="nobody has the number"),
        pytest.param({}, PermissionError(), False, id="another user's"),
        pytest.param({"machine": "another"}, ProcessLookupError(), False, id="another machine's"),
    ],
)
def test_without_a_proc_folder_a_number_that_is_in_use_may_be_the_process(
    changes: dict[str, str], raised: OSError | None, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_pid: int, signal: int) -> None:
        assert signal == 0
        if raised is not None:
            raise raised

    monkeypatch.setattr(process, "PROC", tmp_path)
    monkeypatch.setattr("narrator.batch.process.os.kill", kill)
    process._machine.cache_clear()
    try:
        whose = this_process()
        assert whose.started is None
        assert is_gone(whose.model_copy(update=changes)) is expected
    finally:
        process._machine.cache_clear()


def test_where_a_signal_is_no_question_nothing_is_taken_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("narrator.batch.process.sys.platform", "win32")
    assert not is_gone(this_process().model_copy(update=DEAD))


def test_a_process_is_told_from_one_of_another_container() -> None:
    own = this_process()
    assert is_gone(Process(host=own.host, machine=own.machine, pid=2**22 + 1))
    assert not is_gone(Process(host=own.host, machine=f"{own.machine}, another", pid=2**22 + 1))
