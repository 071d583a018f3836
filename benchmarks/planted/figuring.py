"""False figures: digits, units, counts, versions, paths, times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from planted.essay import Essay
from planted.plant import Plant, plant

_VAGUE = re.compile(
    r"(?:\b(?:about|around|roughly|nearly|almost|over|under|than|least|most|some|only|approximately)|~) *$"
)
_NAMED = re.compile(r"(?:\b[Mm]essages?|\b[Mm]sg|#|\brequest|\bversion|\bexit code|\bport|\bstyle essay|PRO) *$")
_NUMBER = re.compile(r"(?<![\w.,/:+=@-])(?:\d[\d,]*\d|\d(?=\.\d))(?:\.\d+)?(?![\w:+-]*[:+-]\d|[/.]\d)(?=[^\w]|[A-Z]|$)")
_UNITS = {
    "ms": "s",
    "s": "ms",
    "seconds": "minutes",
    "second": "minute",
    "minutes": "hours",
    "minute": "hour",
    "hours": "days",
    "GB": "MB",
    "MB": "GB",
    "GiB": "MiB",
    "MiB": "GiB",
    "KB": "MB",
    "TB": "GB",
    "GB/min": "GB/s",
    "MB/s": "MB/min",
    "MiB/s": "GiB/s",
    "tok/s": "tok/min",
    "tokens per second": "tokens per minute",
    "W": "kW",
    "gigabytes": "megabytes",
}
_LONGEST_FIRST = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_UNIT = re.compile(rf"(?<![\w.,/:-])(\d[\d,.]*)( ?)({_LONGEST_FIRST})(?![\w/])")
_WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
)
_COUNT = re.compile(
    rf"(?<![\w.,/:-])(?P<count>\d[\d,]*|{'|'.join(_WORDS[1:])})(?= (?:[\w-]+ ){{0,2}}"
    r"(?:messages|lines|calls?|files|times|ranks|cards|GPUs|shards|streams|packages|requests?|steps|tests|attempts|"
    r"summaries|minutes|seconds|tokens|further|new|cached|output|layers|experts|connections|tools|turns|parts|words|"
    r"characters|processes|answers|items|entries|matches|runs|commands|bytes|keys|prompts|samples|workers|errors|"
    r"failures|versions|nodes|hours|days|checkpoints)\b)"
)
_PATH = re.compile(
    r"(?<![\w.@:/-])(?:~?/|[\w.-]+/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.(?:py|sh|md|json|log|txt|env|toml|cu|so|service|pt)\b"
    r"|(?<![\w.@:/-])/(?:[\w.@+-]+/)+[\w.@+-]+"
)
_VERSION = re.compile(
    r"(?<![\w.@/-])v?\d+\.\d+(?:\.\d+)+|(?<=-)\d+\.\d+\.\d+(?=[+.-])"
    r"|(?<=[Pp]ython )3\.\d+|(?<=python)3\.\d+|(?<=[Uu]buntu )\d+\.\d+|(?<=CUDA )\d+\.\d+"
)
_ADDRESS = re.compile(r"\d+(?:\.\d+){3}$")
_CLOCK = re.compile(r"(?<![\w:.])\d{2}:\d{2}(?::\d{2})?(?![\w:.]\d)")
_STEMS = ("harbour", "velvet", "pigeon", "lantern", "orchard", "granite", "meadow", "copper", "saddle", "thistle")


def altered_digit(essay: Essay, chance: Random) -> Iterator[Plant]:
    """Change one digit of an exact number; the new one must stand in no message near and nowhere else in the essay."""
    for match in _NUMBER.finditer(essay.markdown):
        claim, before = essay.claim_at(match.start()), essay.markdown[max(0, match.start() - 20) : match.start()]
        if claim is None or _VAGUE.search(before) or _NAMED.search(before):
            continue
        places = [at for at, letter in enumerate(match[0]) if letter.isdigit()]
        at = chance.choice(places)
        digit = chance.choice([d for d in "123456789" if d != match[0][at]])
        new = match[0][:at] + digit + match[0][at + 1 :]
        if not _stands(essay, claim.nearby, new) and new not in essay.markdown:
            proof = f"{new} stands in none of {sorted(claim.nearby)}"
            yield plant("altered digit", essay, (*match.span(), new), proof)


def _stands(essay: Essay, indices: frozenset[int], number: str) -> bool:
    plain = number.replace(",", "")
    forms = {number, plain, plain.rstrip("0").rstrip(".") if "." in plain else plain}
    return any(forms & essay.recording.numbers(index) for index in indices)


def swapped_unit(essay: Essay, _: Random) -> Iterator[Plant]:
    """Another unit behind the same number; the pair must stand in no message near."""
    for match in _UNIT.finditer(essay.markdown):
        claim = essay.claim_at(match.start())
        new = _UNITS[match[3]]
        if claim is None:
            continue
        pair = re.compile(rf"(?<![\d.,]){re.escape(match[1])}\s?{re.escape(new)}(?!\w)")
        if not any(pair.search(essay.recording.text(index)) for index in claim.nearby):
            proof = f"the figure is {match[0]!r} and not {match[1]} {new}"
            yield plant("swapped unit", essay, (*match.span(3), new), proof, match.span())


def inflated_count(essay: Essay, chance: Random) -> Iterator[Plant]:
    """More things than were counted; the new count must stand in no message near."""
    for match in _COUNT.finditer(essay.markdown):
        claim, before = essay.claim_at(match.start()), essay.markdown[max(0, match.start() - 20) : match.start()]
        if claim is None or _VAGUE.search(before) or _NAMED.search(before):
            continue
        word = match["count"] in _WORDS
        old = _WORDS.index(match["count"]) + 1 if word else int(match["count"].replace(",", ""))
        value = old + chance.choice([2, 3, 4]) if old < 10 else int(old * chance.choice([1.5, 2.5, 3.1])) + 1
        new = _WORDS[value - 1] if word and value <= len(_WORDS) else f"{value:,}" if value > 9999 else str(value)
        if not _stands(essay, claim.nearby, str(value)) and new not in essay.markdown[slice(*claim.paragraph)]:
            proof = f"counted were {old}; {value} stands in none of {sorted(claim.nearby)}"
            yield plant("inflated count", essay, (*match.span("count"), new), proof)


def invented_path(essay: Essay, chance: Random) -> Iterator[Plant]:
    """A file that the session does not know."""
    for match in _PATH.finditer(essay.markdown):
        if essay.claim_at(match.start()) is None:
            continue
        folder, _, name = match[0].rpartition("/")
        stem, dot, ending = name.rpartition(".")
        new_stem = "_".join(chance.sample(_STEMS, 2))
        new = f"{folder}{'/' if '/' in match[0] else ''}{new_stem}{dot}{ending if stem else ''}"
        if new_stem not in essay.recording.whole:
            yield plant("invented path", essay, (*match.span(), new), f"{new_stem!r} stands nowhere in the session")


def wrong_version(essay: Essay, chance: Random) -> Iterator[Plant]:
    """A version that the session does not know."""
    for match in _VERSION.finditer(essay.markdown):
        if essay.nearby(match.start()) is None or _ADDRESS.match(match[0]):
            continue
        parts = match[0].split(".")
        at = chance.randrange(1, len(parts))
        parts[at] = str(int(parts[at]) + chance.choice([1, 2, 3, 4])).zfill(len(parts[at]))
        new = ".".join(parts)
        if new.lstrip("v") not in essay.recording.versions:
            yield plant("wrong version", essay, (*match.span(), new), f"{new} stands nowhere in the session")


def invented_time(essay: Essay, chance: Random) -> Iterator[Plant]:
    """A time of day at which the session has nothing."""
    for match in _CLOCK.finditer(essay.markdown):
        if essay.claim_at(match.start()) is None:
            continue
        hours, minutes, *seconds = (int(part) for part in match[0].split(":"))
        moved = (hours * 60 + minutes + chance.choice([-37, -23, -11, 13, 29, 41])) % 1440
        new = ":".join(f"{part:02}" for part in (moved // 60, moved % 60, *((second + 7) % 60 for second in seconds)))
        if new not in essay.recording.clocks:
            yield plant("invented time", essay, (*match.span(), new), f"{new} stands nowhere in the session")
