"""What an output repeats of outputs that are shown already, left out with a counted mark.

A command that is polled ten times prints nearly the same ten times; what differs is what a reader looks for. So of an
output most of whose lines are shown at another message already, those lines are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from narrator.passages import Passage
from narrator.sanitize import left_out_mark

_LINE = 8
"""Characters of a line that is worth remembering."""
_LEAST = 80
"""Characters of repeated lines in a row that are worth a mark."""
_LONGEST = 8000
"""Characters of an output that are compared."""
_PROBES = 4
"""Lines that are looked at before all are."""


def lines_shown(passages: Iterable[Passage], index: int) -> dict[str, int]:
    """Line → `index`, for every line of the outputs in the passages of message `index`."""
    outputs = (passage.text for passage in passages if passage.kind == "output")
    return {line: index for text in outputs for line in text.split("\n") if len(line) >= _LINE}


def leave_out_repeats(
    passages: Iterable[Passage], own: int, shown: Mapping[str, int]
) -> tuple[tuple[Passage, ...], int]:
    """The passages of message `own` without what an output repeats of others, and how many characters that is."""
    kept, omitted = [], 0
    for passage in passages:
        text = passage.text
        if passage.kind == "output" and _LEAST <= len(text) <= _LONGEST and _probe(text, shown):
            lines = text.split("\n")
            known = [None if (at := shown.get(line)) == own else at for line in lines]
            repeated = sum(len(line) for line, index in zip(lines, known, strict=True) if index is not None)
            if 2 * repeated > len(text):
                short, left_out = _thinned(lines, known)
                label = f"{passage.label}, what msg {_most(known)} printed as well left out"
                passage = passage.model_copy(  # noqa: PLW2901  # the same passage, shorter
                    update={"text": short, "omitted": left_out, "label": label} if left_out else {}
                )
                omitted += left_out
        kept.append(passage)
    return tuple(kept), omitted


def _most(known: Iterable[int | None]) -> int:
    """The message that shows most of the lines."""
    return Counter(index for index in known if index is not None).most_common(1)[0][0]


def _probe(text: str, shown: Mapping[str, int]) -> bool:
    """Whether any of a few lines, evenly taken, is shown already."""
    for probe in range(_PROBES):
        at = len(text) * (2 * probe + 1) // (2 * _PROBES)
        end = text.find("\n", at)
        if text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end] in shown:
            return True
    return False


def _thinned(lines: list[str], known: list[int | None]) -> tuple[str, int]:
    """Lines without the long runs of those that are shown already, and how many characters these have."""
    kept: list[str] = []
    run: list[str] = []
    omitted = 0
    for line, index in [*zip(lines, known, strict=True), ("", None)]:
        if index is not None:
            run.append(line)
            continue
        length = sum(map(len, run)) + len(run)
        if length >= _LEAST:
            kept.append(left_out_mark(length))
            omitted += length
        else:
            kept += run
        run = []
        kept.append(line)
    return "\n".join(kept[:-1]), omitted
