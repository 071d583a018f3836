"""Figures in running text: what of an essay is a number, a time, a version, a path, a name with digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

FigureSort: TypeAlias = Literal[
    "number", "span", "word", "instant", "day", "month", "weekday", "clock", "name", "path", "version", "digits"
]

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
MONTH = {name.lower(): number for number, name in enumerate(_MONTHS.split("|"), 1)}
WORDS = {
    word: number
    for number, word in enumerate(
        [
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ],
        2,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "dozen": 12}
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"

_UNITS: dict[str, tuple[str, ...]] = {
    "ms": ("ms", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes", "m"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "B": ("byte", "bytes", "b"),
    "kB": ("kb", "kib", "k", "kilobytes", "ki"),
    "MB": ("mb", "mib", "m", "megabytes", "mi"),
    "GB": ("gb", "gib", "g", "gigabytes", "gi"),
    "TB": ("tb", "tib", "t", "terabytes", "ti"),
    "%": ("%", "percent", "per cent", "percentage"),
    "tok/s": (
        "tok/s",
        "tokens/s",
        "token/s",
        "t/s",
        "tps",
        "tokens per second",
        "tok/sec",
        "toks/s",
        "token per second",
    ),
    "W": ("w", "watt", "watts"),
    "GHz": ("ghz",),
    "MHz": ("mhz",),
    "°C": ("°c", "c"),
    "x": ("x", "×", "-fold"),
    "TFLOPS": ("tflops", "tflop/s"),
    "µs": ("µs", "us", "microseconds", "microsecond"),
}
UNIT = {written: unit for unit, forms in reversed(_UNITS.items()) for written in forms}
"""Unit as written, in small letters → unit; of those that one letter may mean, the one that stands first."""
FORMS = {unit: frozenset(forms) for unit, forms in _UNITS.items()}
SCALE: dict[str, tuple[str, float]] = {
    "µs": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "d": ("time", 86400.0),
    "B": ("size", 1.0),
    "kB": ("size", 1024.0),
    "MB": ("size", 1024.0**2),
    "GB": ("size", 1024.0**3),
    "TB": ("size", 1024.0**4),
    "MHz": ("rate", 1e6),
    "GHz": ("rate", 1e9),
}
"""Unit → what it measures and how much of that one is."""
_UNIT = "|".join(re.escape(form) for form in sorted(UNIT, key=len, reverse=True) if len(form) > 1 or form in "%x×")
_RATE = r"[A-Za-z]{1,8}/(?:s|sec|min|h|hour|day)"
_LETTER = "[sSmMhHdDkKgGtTBWC]"
_N = r"(?:\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})+(?!\d)|\d{1,3}\ \d{3}(?![\w.,:-]*\d)|\d+)(?:\.\d+)?"
_BETWEEN = re.compile(r"[,\s]")
"""What may stand between the thousands of a number."""
_FILE = (
    r"py|md|json|jsonl|sh|txt|log|toml|ya?ml|rs|go|c|h|cc|cpp|cu|js|ts|tsx|html|css|ini|cfg|conf|lock|so|whl|gz|db|"
    r"service"
)

_FIGURE = re.compile(
    rf"""
    (?<![A-Za-z0-9_])(?=[\w~./+\#≈−-])(?:    # every figure begins where a word does
    (?P<instant>(?<![\w.-])\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[ ]UTC)?(?!\w))
  | (?P<clock>(?<![\w.:])\d{{1,2}}:\d\d(?::\d\d)?(?:\.\d+)?(?![\w:]))
  | (?P<day>(?:\d{{1,2}}(?:st|nd|rd|th)?\ (?:{_MONTHS})|(?:{_MONTHS})\ \d{{1,2}}(?:st|nd|rd|th)?)\b
      (?:,?\ \d{{4}}\b)?)
  | (?P<month>(?:{_MONTHS}),?\ \d{{4}}\b)
  | (?P<weekday>(?<=\bon\ )(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b)
  | (?P<path>https?://[^\s<>()"'“”]+[^\s<>()"'“”.,;:!?]
      | (?<![\w.@/-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?::[~\w./-]*[\w/])?
      | (?<![\w.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?(?![\w.])
      | (?<![\w/.~])(?:~|\.{{1,2}})?/[\w.@+-]+(?:/[\w.@+*-]+)*/?(?<![.,])
      | (?<![\w/.-])[\w.+-]+/(?:[\w.+-]+/)*[\w+-]+\.(?:{_FILE})\b
      | (?<![\w/.-])[\w-]+(?:\.[\w-]+)*\.(?:{_FILE})(?![\w-]))
  | (?P<version>(?<![\w.])v?\d+(?:\.\d+)+(?:\.?(?:post|dev|rc|alpha|beta|a|b)\d+|\+[\w.]+|-[a-z]+\.?\d*)+(?!\w)
      | (?<![\w.])v?\d+\.\d+(?:\.\d+)+(?![\w.]*\w) | (?<![\w.])v\d+(?:\.\d+)*(?![\w.]*\w) | (?<!\w)\+[a-z]+\d[\w.]*)
  | (?P<span>(?<![\w.,/-]){_N}\s?(?:d|h|min)\s{_N}\s?(?:h|min|s)(?!\w))
  | (?P<number>(?<![\w.,/#+-])[-−+~≈]?(?:{_N})
      (?:(?P<range>\s?[–-]\s?|\ to\ )(?={_N}\s?(?:{_UNIT})))?
      (?:[ \u00a0\u202f-]?(?P<unit>(?:{_RATE}|{_UNIT})(?![\w/]))|(?P<letter>[ ]?{_LETTER}(?![\w'’/])))?(?!\w))
  | (?P<name>(?<![\w/.-])(?:[A-Za-z][\w-]*_[\w-]*\w|\#\d+|--[a-z][\w-]+|[A-Za-z]\w*(?:Error|Exception)\b
      |(?=[\w.+-]*\d)[A-Za-z][\w]*(?:[.+-]\w+)*)(?![\w]))
  | (?P<word>(?<!-)(?<!\bor\ )
      (?:(?:{_TENS})-(?:one|two|three|four|five|six|seven|eight|nine)|{"|".join(WORDS)})(?![\w-])))
    """,
    re.VERBOSE | re.IGNORECASE,
)

_LONG = re.compile(r"\d[\d.]{15,}")
"""A number that no float holds as it is written: it is compared as text."""


class Figure(NamedTuple):
    """One figure of an essay."""

    start: int
    """Half-open span in the block's text."""
    end: int
    text: str
    sort: FigureSort
    value: float = 0.0
    """Of a number or a number word."""
    digits: int = 0
    """Digits behind the point."""
    unit: str = ""
    """A key of `SCALE` or another unit; "" where none was given."""
    step: float = 1.0
    """How exact it is: one in its last digit, in its unit."""


def find_figures(text: str, taken: Sequence[tuple[int, int]]) -> list[Figure]:
    """Every figure of a text outside the spans in `taken` (citations, quotations)."""
    parts, position = [], 0
    for start, end in sorted(taken):
        if end > position:
            parts += [text[position : max(position, start)], "\ufffc" * (end - max(position, start))]
            position = end
    masked = "".join([*parts, text[position:]])
    return [figure for match in _FIGURE.finditer(masked) if (figure := _figure(match)) is not None]


def _figure(match: re.Match[str]) -> Figure | None:
    sort = match.lastgroup if match.lastgroup not in ("range", "unit", "letter") else "number"
    text = match[0].strip()
    start = match.start()
    if sort in ("span", "number") and (long := _LONG.search(text.replace(",", ""))) is not None:
        return Figure(start, match.end(), long[0], "digits")
    match sort:
        case "word":
            return Figure(start, match.end(), text, "word", value=_worded(text.lower()))
        case "span":
            value, step = _spanned(text)
            return Figure(start, match.end(), text, "span", value=value, unit="s", step=step)
        case "number":
            return _number(match)
        case "instant" | "clock" | "day" | "month" | "weekday" | "path" | "version" | "name":
            return None if sort == "name" and _is_word(text) else Figure(start, start + len(text), text, sort)
        case _:
            return None


def _is_word(text: str) -> bool:
    """An ordinal, a decade, a plural: `31st`, `GPUs`; what has a digit only at its end; the name of a time zone."""
    return re.fullmatch(r"(?:UTC|GMT)\W\d+", text) is not None or not re.search(r"\d|_|--|Error$|Exception$", text)


def _number(match: re.Match[str]) -> Figure:
    written = re.search(_N, match[0])
    digits = written[0] if written is not None else "0"
    unit = unit_of(match["unit"] or match["letter"] or "")
    start = match.start() + (written.start() if written is not None else 0)
    return Figure(
        start,
        match.end() if match["range"] is None else start + len(digits),
        match.string[start : match.end()].strip() if match["range"] is None else digits,
        "number",
        value=float(_BETWEEN.sub("", digits)),
        digits=len(digits.partition(".")[2]),
        unit=unit,
        step=10.0 ** -len(digits.partition(".")[2]),
    )


def _worded(word: str) -> float:
    if word in WORDS:
        return float(WORDS[word])
    tens, _, ones = word.partition("-")
    value = {name: 10.0 * at for at, name in enumerate(_TENS.split("|"), 2)}
    return value.get(tens, 0.0) + (1.0 if ones == "one" else WORDS.get(ones, 0))


def _spanned(text: str) -> tuple[float, float]:
    """Seconds of `4 min 3 s`, and of the smallest unit in it."""
    total, step = 0.0, 1.0
    for number, unit in re.findall(rf"({_N})\s?([a-z]+)", text):
        step = SCALE[UNIT.get(unit, "s")][1]
        total += float(_BETWEEN.sub("", number)) * step
    return total, step


def unit_of(written: str) -> str:
    """The unit that is written so, in whatever form; "" when it is none."""
    written = written.strip().lower()
    if written in UNIT:
        return UNIT[written]
    above, _, below = written.partition("/")
    if below and (time := UNIT.get(below, "")) and SCALE.get(time, ("",))[0] == "time":
        return f"{UNIT.get(above, above.removesuffix('s'))}/{time}"
    return ""
