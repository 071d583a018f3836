"""What of an essay was borne out so far, and may be said again without its citation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from narrator.verify.told import BORDER
from narrator.verify.wording import find_pieces

_LONG_NUMBER = re.compile(r"(?<![\w.,:-])\d{1,3}(?:,\d{3})+(?![\w.,:-]*\d)|(?<![\w.,:-])\d{3,15}(?![\w.,:-]*\d)")


class Held:
    """Figures by their keys, quotations by their words."""

    def __init__(self) -> None:
        self._keys = set[str]()
        self._quotations = set[tuple[str, ...]]()
        self._words = ""

    def add_figure(self, keys: Iterable[str]) -> None:
        """Keep a figure under the keys by which it is known again."""
        self._keys.update(keys)

    def add_quotation(self, parts: Sequence[str]) -> None:
        """Keep the folded stretches of a quotation, and the long numbers in them as figures."""
        self._quotations.add(tuple(parts))
        words = f" {BORDER} ".join(parts)
        self._words += f" {BORDER} {words}"
        self._keys.update(f"number:{float(found.replace(',', ''))}::" for found in _LONG_NUMBER.findall(words))

    def has(self, key: str) -> bool:
        """Whether such a figure was borne out."""
        return key in self._keys

    def quotes(self, parts: Sequence[str], *, inside: bool) -> bool:
        """Whether these words were quoted as they stand; `inside`: or as a part of a longer quotation."""
        if tuple(parts) in self._quotations:
            return True
        return inside and bool(parts) and find_pieces(parts, self._words) is not None
