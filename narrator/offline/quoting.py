"""How recorded words stand in an offline essay: quoted in typographic marks or as code, Markdown in them escaped.

White space is run together, and what is left out is marked by `…`; words are only ever taken from the head of a text or
as a whole line of it.
"""

from __future__ import annotations

import re

from narrator.markdown import code_span, literal
from narrator.sanitize import one_line

_SENTENCE = re.compile(r".{12,}?[.!?](?=\s)")
_LIST = re.compile(r"\A(?:[>*-]\s+|\d{1,2}[.)]\s+)+")
_TELLING = re.compile(
    r"\b(?:\w*Error|\w*Exception|error|fatal|failed|failure|cannot|denied|not found|No such|refused|killed|panic|"
    r"passed|Traceback|undefined|missing|out of)\b",
)
_RESULT = re.compile(
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|OutOfResources|OutOfMemory)\b(?::|$)|"
    r"\b\d+ (?:passed|failed)\b|\b[\d.]+ ?(?:tok/s|req/s)\b|"
    r"\brel err\b|\bNo such file|command not found|^(?:ok|yes|no|true|false|active|inactive|failed)$",
    re.IGNORECASE,
)
"""Lines of an output that say how it came out: an error by its name, a count of tests, a figure of speed, yes or no."""
_SOURCE = re.compile(r"^(?:raise|def|class|return|if|import|from|#|//)\b|[{;\\]$|f\"")
_SHORT = 110
"""Characters of a text that is quoted whole."""
_MOST_LINE = 150
"""Characters of a line of output that are quoted."""


def opening(text: str, limit: int = 180) -> str:
    """The first sentence of a prose text, or its beginning; headings and list marks of Markdown left out."""
    lines = [line.strip() for line in text.strip().split("\n") if not line.lstrip().startswith("#")]
    line = next((line for line in (_LIST.sub("", line, count=1) for line in lines) if len(line) > 2), one_line(text))
    found = _SENTENCE.match(line[: limit + 60] + " ")
    sentence = found[0] if found and len(found[0]) <= limit else line
    return cut(sentence, limit)


def rest_of(text: str) -> str:
    """What stands in a text of one paragraph behind its first sentence; "" where there is nothing more."""
    line = one_line(text)
    found = _SENTENCE.match(line)
    return line[found.end() :].strip() if found else ""


def cut(text: str, limit: int) -> str:
    """`text` on one line and in at most `limit` characters, cut between words where it can be."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    if head.count("`") % 2 and head.rfind("`") > limit // 3:
        head = head[: head.rfind("`")].rstrip() + " "
    place = head.rfind(" ", limit // 2)
    return f"{head[:place] if place > 0 else head}…"


def verbatim(text: str) -> str:
    """`text` as one line of Markdown that shows these words: what it marks as code is shown as code, the rest as is."""
    line = one_line(text)
    pieces = _CODE.split(line)
    if "`" in "".join(pieces[::2]):
        return literal(line)
    tildes = line.count("~") > 1
    shown = [code_span(piece) if odd % 2 else _escaped(piece, tildes=tildes) for odd, piece in enumerate(pieces)]
    return "".join(shown)


_CODE = re.compile(r"(?<!`)`([^`\[\]“”]+)`(?!`)")
_ACTIVE = re.compile(r"[\\*\[\]<>&|]|(?<!\w)_|_(?!\w)")
"""What acts in Markdown: an underscore within a word does not."""


def _escaped(text: str, *, tildes: bool) -> str:
    shown = _ACTIVE.sub(r"\\\g<0>", text)
    return shown.replace("~", r"\~") if tildes else shown


def quoted(text: str, limit: int = 180) -> str:
    """The opening of a text in quotation marks, or all of a short one; `…` says that it goes on."""
    if len(text) <= min(_SHORT, limit) and "\n" not in text.strip():
        return f"“{verbatim(text)}”"
    shown = opening(text, limit)
    return f"“{verbatim(shown)}{'' if shown == one_line(text) or shown.endswith('…') else ' …'}”"


def whole(text: str, limit: int = 180) -> str:
    """All of a short text; the quotes that `opencode run` puts round a prompt left out."""
    line = one_line(text)
    if len(line) > 2 and line[0] == line[-1] == '"' and '"' not in line[1:-1]:
        line = line[1:-1]
    return f"“{verbatim(line)}”" if len(line) <= limit else quoted(text, limit)


def code(text: str, limit: int = 90) -> str:
    """The first line of a text that is not blank, as code."""
    return code_span(cut(next((line for line in text.split("\n") if line.strip()), ""), limit))


def place(path: str) -> str:
    """A path by its end, which is what tells it from others."""
    return code_span(cut("/".join(one_line(path).rstrip("/").split("/")[-2:]), 90))


def count(number: int, one: str, many: str) -> str:
    """`1 message`, `2,000 messages`."""
    return f"{number:,} {one if number == 1 else many}"


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def telling_line(output: str, *, failed: bool) -> str:
    """The line of an output that says most: the last that names a failure, or the first that tells of a success."""
    lines = _whole_lines(output)
    if failed:
        named = [line for line in lines if _TELLING.search(line)]
        return (named or lines or [""])[-1]
    results = [line for line in lines if is_result(line)]
    if results:
        return results[-1]
    short = [line for line in lines if len(line) <= _MOST_LINE]
    short = [line for line in short if line[0] not in "#{[<"] or short
    good = [line for line in short if " " in line and _TELLING.search(line)]
    return (good or short or lines or [""])[0]


def says_done(text: str) -> bool:
    """Whether words may tell of an end: that something works, passes or is done."""
    return _DONE.search(text) is not None


_DONE = re.compile(
    r"\b(?:works|is up|are up|back up|passes|pass|passed|fixed|solved|done|completed?|ready|in place|finished)\b",
    re.IGNORECASE,
)


def tells_error(line: str) -> bool:
    """Whether a line names an error."""
    return re.search(r"\w*(?:Error|Exception)\b", line) is not None


def is_result(line: str) -> bool:
    """Whether a line of an output says by itself how the matter came out."""
    return len(line) <= _MOST_LINE and _RESULT.search(line) is not None and _SOURCE.search(line) is None


def _whole_lines(output: str) -> list[str]:
    """The lines that are not blank, but for those next to where something was left out: they may not be whole."""
    lines = output.split("\n")
    marks = {number for number, line in enumerate(lines) if "[… " in line and " left out …]" in line}
    torn = marks | {number - 1 for number in marks} | {number + 1 for number in marks}
    return [line.strip() for number, line in enumerate(lines) if number not in torn and line.strip()]
