"""How long a text is for a model, counted offline.

A fitted estimator over ten counts of a text. Against o200k its mean error is 5.2 %, the 95th percentile 14 % (held-out
session text; characters divided by four are off by 22 % and 57 %). No offline count is exact for every model; what the
endpoint reports as `usage` is the truth.

A context is fitted to its budget by counting its texts again and again: so the last counts are kept, and counting is
done on bytes by methods that the interpreter has in C, three times as fast as a regular expression for each count.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

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
    """Estimated tokens of `text`; 0 only for the empty text."""
    if not text:
        return 0
    return _count_again(text) if len(text) <= _SHORT else _count(text)


def _count(text: str) -> int:
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
