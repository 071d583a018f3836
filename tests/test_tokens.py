"""The offline token count: the counts it is made of, written again as plainly as can be, and what it has to be."""

from __future__ import annotations

import random
import re
import sys
import time
import types

import pytest

from narrator import tokens
from narrator.tokens import count_tokens, estimate_tokens


def by_the_book(text: str) -> int:
    """The same estimator, one regular expression for each count; what `count_tokens` computes faster."""
    words = re.findall("[A-Za-z]+", text)
    punctuation = re.findall(r"[!-/:-@\[-`{-~]+", text)
    cjk = len(re.findall("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]", text))
    foreign = sum(ord(character) > 127 for character in text) - cjk
    estimate = (
        0.953 * len(words)
        + 0.19 * sum(max(0, len(word) - 6) for word in words)
        + 1.70 * len(re.findall(r"\d{1,3}", text))
        + 0.40 * len(punctuation)
        + 0.127 * sum(len(run) - 1 for run in punctuation)
        + 2.32 * len(re.findall(r"\n+", text))
        + 0.56 * len(re.findall(r"(?<=\n)[ \t]+|[ \t]{2,}", text))
        + 0.27 * foreign
        + 0.66 * cjk
    )
    return max(1, round(estimate)) if text else 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(" ", id="a blank"),
        pytest.param("  ", id="two blanks"),
        pytest.param("\n", id="a line feed"),
        pytest.param("\n\n\n", id="a run of them"),
        pytest.param("\n \n\t\n  x", id="indents"),
        pytest.param("x  y   z", id="blanks inside a line"),
        pytest.param("internationalisation of it", id="a long word"),
        pytest.param("123456789 12 3", id="digits in groups of three"),
        pytest.param("٣٤٥٦", id="digits of another script"),
        pytest.param("{}[]()!!! ---- a_b.c", id="punctuation"),
        pytest.param("naïve – “quoted” 🙂", id="characters beyond ASCII"),
        pytest.param("漢字かな交じり文 한국어", id="Chinese, Japanese, Korean"),
        pytest.param("a\u00a0b\u2028c\x0bd\re", id="other white space"),
        pytest.param("a\ud83d", id="a lone surrogate"),
        pytest.param("<|endoftext|><|im_start|>", id="special tokens"),
    ],
)
def test_a_count_is_the_books(text: str) -> None:
    assert count_tokens(text) == by_the_book(text)


def test_any_text_counts_as_the_book_counts_it() -> None:
    chance = random.Random(20251009)
    characters = "ab Z09!._-\n\n \t  é漢ー가٣\u2028\u00a0\x0b\r🙂"
    for _ in range(5_000):
        text = "".join(
            chance.choice(characters) * chance.choice((1, 1, 1, 2, 3, 9)) for _ in range(chance.randrange(30))
        )
        assert count_tokens(text) == by_the_book(text), repr(text)


@pytest.mark.parametrize("text", [" ", "a", ".", "é"])
def test_no_text_is_free_but_the_empty_one(text: str) -> None:
    assert count_tokens(text) >= 1
    assert count_tokens("") == 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        pytest.param("The quick brown fox jumps over the lazy dog.", 8, 12, id="a sentence is about a token a word"),
        pytest.param("x = {'a': [1, 2, 3]}\n" * 10, 100, 250, id="code"),
        pytest.param("漢字" * 100, 100, 250, id="Chinese is about a token or less a character"),
        pytest.param("a" * 10_000, 1_000, 3_000, id="one endless word"),
    ],
)
def test_a_count_is_of_the_right_size(text: str, low: int, high: int) -> None:
    assert low <= count_tokens(text) <= high


@pytest.mark.parametrize("piece", ["a" * 5_000_000, "a " * 2_500_000, "!\n" * 2_500_000, "é" * 2_500_000])
def test_counting_takes_linear_time(piece: str) -> None:
    begun = time.process_time()
    count_tokens(piece)
    assert time.process_time() - begun < 3


def test_an_installed_vocabulary_counts_and_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = types.SimpleNamespace(
        batch_count=lambda texts, name, threads: [len(texts[0]) + (name == "?") + threads]
    )
    monkeypatch.setitem(sys.modules, "toktok", vocabulary)
    assert count_tokens("abc") == estimate_tokens("abc")
    monkeypatch.delenv("NARRATE_TOKENS")
    tokens.find_vocabulary.cache_clear()
    tokens._count_again.cache_clear()
    assert (count_tokens("abc"), count_tokens("a\ud83d"), count_tokens("")) == (4, 3, 0)
    monkeypatch.setitem(sys.modules, "toktok", None)
    tokens.find_vocabulary.cache_clear()
    tokens._count_again.cache_clear()
    assert count_tokens("abcdefgh ijk") == estimate_tokens("abcdefgh ijk")


def test_the_estimator_is_near_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("toktok", reason="the extra `tokens` is not installed")
    monkeypatch.delenv("NARRATE_TOKENS")
    tokens.find_vocabulary.cache_clear()
    exact = tokens.find_vocabulary()
    text = "The server answers /health with 200; 21 of 83 shards (25 %) are loaded.\n$ nvidia-smi --query-gpu=memory.used\n"
    assert exact is not None
    assert abs(estimate_tokens(text) / exact(text) - 1) < 0.15
