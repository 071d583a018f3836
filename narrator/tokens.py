"""How long a text is for a model, counted offline.

With toktok-rs installed (`pip install 'narrate[tokens]'`) it is counted with OpenAI's vocabulary o200k. Without it, or
with `NARRATE_TOKENS=estimate`, a fitted estimator over ten counts of a text serves; `docs/tokens.md` has its error. No
offline count is exact for every model; what the endpoint reports as `usage` is the truth.

A context is fitted to its budget by counting its texts again and again: so the last counts are kept, and counting is
done on bytes by methods that the interpreter has in C, three times as fast as a regular expression for each count.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Callable
from functools import cache, lru_cache

VOCABULARY = "o200k_base"
"""The vocabulary of OpenAI's models since GPT-4o."""
_DIGITS = re.compile(r"\d{1,3}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LONG = 6
"""Letters of a word that are free; each further one costs a part of a token."""


def _only(kept: str) -> bytes:
    """A table that makes a space of every byte but those of `kept`."""
    return bytes(byte if chr(byte) in kept else ord(" ") for byte in range(256))


_ONLY_LETTERS = _only(string.ascii_letters)
_ONLY_DIGITS = _only(string.digits)
_ONLY_PUNCTUATION = _only(string.punctuation)
_LAYOUT = bytes(ord({"\n": "n", " ": "b", "\t": "b"}.get(chr(byte), "x")) for byte in range(256))
"""Line feeds as `n`, blanks as `b`, all else as `x`."""
_SHORT = 8192
"""Characters of a text whose count is kept; keeping the count keeps the text."""
_NOT_ASCII = bytes(range(128, 256))


def count_tokens(text: str) -> int:
    """Tokens of `text`, counted or estimated; 0 only for the empty text."""
    if not text:
        return 0
    return _count_again(text) if len(text) <= _SHORT else _count(text)


@cache
def find_vocabulary() -> Callable[[str], int] | None:
    """Counts the tokens of a text exactly; None when toktok-rs is not installed or not wanted.

    The first count reads the vocabulary: 0.3 s and 70 MB.
    """
    if os.environ.get("NARRATE_TOKENS") == "estimate":
        return None
    try:
        from toktok import batch_count
    except ImportError:
        return None
    return lambda text: int(batch_count([text.encode("utf-8", "replace").decode()], VOCABULARY, threads=1)[0])


def _count(text: str) -> int:
    exact = find_vocabulary()
    return estimate_tokens(text) if exact is None else max(1, exact(text))


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, which is not empty, as the estimator has them."""
    data = text.encode("utf-8", "surrogatepass")
    words = data.translate(_ONLY_LETTERS).split()
    long = [length for length in map(len, words) if length > _LONG]
    punctuation = data.translate(_ONLY_PUNCTUATION).split()
    layout = b"x" + data.translate(_LAYOUT)
    cjk = foreign = 0
    if len(data) == len(text):
        digits = sum((len(run) + 2) // 3 for run in data.translate(_ONLY_DIGITS).split())
    else:
        digits = len(_DIGITS.findall(text))
        cjk = len(_CJK.findall(text))
        foreign = len(text) - len(data.translate(None, _NOT_ASCII)) - cjk
    estimate = (
        0.953 * len(words)
        + 0.19 * (sum(long) - _LONG * len(long))
        + 1.70 * digits
        + 0.40 * len(punctuation)
        + 0.127 * (sum(map(len, punctuation)) - len(punctuation))
        + 2.32 * (layout.count(b"xn") + layout.count(b"bn"))  # runs of line feeds
        + 0.56 * (layout.count(b"nb") + layout.count(b"xbb"))  # indents, and runs of two blanks or more elsewhere
        + 0.27 * foreign
        + 0.66 * cjk
    )
    return max(1, round(estimate))


_count_again = lru_cache(maxsize=4096)(_count)
