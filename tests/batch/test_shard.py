"""Shares of a batch that know nothing of each other."""

from __future__ import annotations

import hashlib

import pytest

from narrator.batch.shard import Shard, parse_shard
from narrator.errors import UsageError

SESSIONS = [hashlib.sha256(str(k).encode()).hexdigest() for k in range(2000)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1/1", (1, 1), id="the only one"),
        pytest.param("2/8", (2, 8), id="the second of eight"),
        pytest.param(" 8/8 ", (8, 8), id="the last, with blanks"),
    ],
)
def test_a_share_is_named_by_its_number_and_how_many_there_are(text: str, expected: tuple[int, int]) -> None:
    shard = parse_shard(text)
    assert (shard.index, shard.of) == expected


@pytest.mark.parametrize(
    "text",
    ["", "2", "0/8", "9/8", "1/0", "0/0", "-1/8", "1/8/2", "a/b", "1.5/8", "١/٨", "2 of 8"],
)
def test_what_names_no_share_says_how_one_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no share; --shard 2/8 is the second of eight"):
        parse_shard(text)


@pytest.mark.parametrize("of", [1, 2, 3, 8, 64])
def test_each_session_is_in_one_share_and_the_shares_are_even(of: int) -> None:
    shards = [Shard(index=k, of=of) for k in range(1, of + 1)]
    held = [[session for session in SESSIONS if shard.holds(session)] for shard in shards]
    assert sorted(session for share in held for session in share) == sorted(SESSIONS)
    even = len(SESSIONS) / of
    assert all(abs(len(share) - even) < 5 * even**0.5 for share in held)


def test_a_share_stays_what_it_is() -> None:
    assert [Shard(index=1, of=8).holds(session) for session in SESSIONS[:8]] == [
        int(session[:16], 16) % 8 == 0 for session in SESSIONS[:8]
    ]
    assert Shard(index=3, of=5).holds("0000000000000002" + "f" * 48)
    assert not Shard(index=3, of=5).holds("0000000000000003" + "f" * 48)
