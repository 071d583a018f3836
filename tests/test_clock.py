"""Times and durations as text: a time in UTC, cut to the second; a duration rounded."""

from __future__ import annotations

import pytest

from narrator.clock import iso, pause, span, stamp


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        pytest.param(0, "1970-01-01T00:00:00Z", id="the beginning"),
        pytest.param(1_779_465_270_000, "2026-05-22T15:54:30Z", id="an ordinary time"),
        pytest.param(1_779_465_270_999, "2026-05-22T15:54:30Z", id="a second that is nearly over"),
        pytest.param(1_709_164_800_000, "2024-02-29T00:00:00Z", id="a leap day"),
        pytest.param(253_402_300_799_000, "9999-12-31T23:59:59Z", id="the last second of the calendar"),
        pytest.param(253_402_300_800_000, None, id="a second later"),
        pytest.param(2**63, None, id="a time no calendar holds"),
        pytest.param(-1, None, id="before the beginning"),
        pytest.param(None, None, id="no time"),
    ],
)
def test_a_time_as_iso_8601(ms: int | None, text: str | None) -> None:
    assert iso(ms) == text


@pytest.mark.parametrize(("ms", "text"), [(1_779_465_270_999, "2026-05-22 15:54:30 UTC"), (-1, None), (None, None)])
def test_a_time_for_people(ms: int | None, text: str | None) -> None:
    assert stamp(ms) == text


def test_the_clock_of_the_machine_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    assert iso(0) == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0.0 s"),
        (49, "0.0 s"),
        (50, "0.1 s"),
        (400, "0.4 s"),
        (449, "0.4 s"),
        (450, "0.5 s"),
        (999, "1.0 s"),
        (3_762, "3.8 s"),
        (17_249, "17.2 s"),
        (59_960, "60.0 s"),
        (79_794, "79.8 s"),
        (119_949, "119.9 s"),
        (119_970, "2 min 0 s"),
        (120_000, "2 min 0 s"),
        (243_499, "4 min 3 s"),
        (243_500, "4 min 4 s"),
        (3_599_600, "60 min 0 s"),
        (7_199_499, "119 min 59 s"),
        (7_199_500, "2 h 0 min"),
        (7_559_999, "2 h 6 min"),
        (172_769_999, "47 h 59 min"),
        (172_770_000, "2 d 0 h"),
        (277_199_999, "3 d 5 h"),
        (-400, "-0.4 s"),
        (-120_000, "-2 min 0 s"),
    ],
)
def test_a_duration_is_rounded_and_carried(ms: int, text: str) -> None:
    assert span(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (11, "11 ms"), (999, "999 ms"), (1_000, "1.0 s"), (240_000, "4 min 0 s"), (-11, "-0.0 s")],
)
def test_a_pause_is_told_to_the_millisecond_while_it_is_short(ms: int, text: str) -> None:
    assert pause(ms) == text
