"""Recorded text as a person saw it on the terminal, safe to show anywhere, and cut without breaking a character.

What is not emulated, because a reader of a recording does not need it: the width and the colours of the terminal,
cursor movement other than carriage return and backspace, erasing, and the rest of a longer frame that stays on the
screen after a shorter one is written over it. A mark such as `<U+202E>` cannot be told from the same eight characters
typed by someone.
"""

from __future__ import annotations

import re
import unicodedata

_C1_IS_TEXT = r"(?<![\xc2-\xf4].)(?<![\xe0-\xf4][\x80-\xbf].)(?<![\xf0-\xf4][\x80-\xbf]{2}.)"
"""Looks back from behind a C1 character: UTF-8 that was read as Latin-1 has lead and continuation bytes before it.

Without this a mangled quotation mark (â, U+0080, U+009D) would count as an OSC and take the words after it away.
"""

_SEQUENCE = re.compile(
    rf"""
    # CSI: parameters, intermediates, one final; what is there of it when it is torn
    (?:\x1b\[|\x9b{_C1_IS_TEXT})[\x30-\x3f]*+[\x20-\x2f]*+[\x40-\x7e]?
    # OSC, DCS, SOS, PM, APC: payload and terminator (ST or BEL); a picture's payload has line breaks
    | \x1b[\]PX^_][^\x07\x18\x1a\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)
    # the same without a terminator: only to the end of its line, so that a torn one does not take the rest away
    | \x1b[\]PX^_][^\x07\x18\x1a\x1b\x9c\n]*+
    | [\x90\x98\x9d-\x9f]{_C1_IS_TEXT}[^\x07\x18\x1a\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?
    # everything else that ESC begins: character sets, save and restore, reset
    | \x1b[\x20-\x2f]*+[\x30-\x7e]
    """,
    re.VERBOSE | re.DOTALL,
)

_STRUCK_OVER = re.compile(r"[^\x08\n]\x08(?=[^\x08\n])")
"""A character that the next one is written over: most backspaces (spinners, bold of man pages), without a loop."""

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = (
    # C0 but tab and line feed, DEL, C1: VT, FF and NEL too, which some readers of lines take for a line break
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    # soft hyphen: in a path or a command it makes two different names look the same
    "\u00ad"
    # direction: ALM, LRM, RLM, embeddings, overrides, isolates
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
    # line and paragraph separator: a line break to JavaScript and to str.splitlines, to nobody else
    "\u2028\u2029"
    # without width: Mongolian vowel separator, ZWSP, word joiner and invisible operators, BOM, Hangul fillers
    "\u180e\u200b\u2060-\u2065\u3164\ufeff\uffa0"
    # annotation and musical format characters, non-characters (not allowed in XML), tags and their neighbours
    "\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_SURROGATES = "\ud800-\udfff"
_SPECIAL = re.compile(f"[{_HIDDEN}{_SURROGATES}{_JOINERS}\U000e0100-\U000e01ef]|[{_SELECTORS}]{{2}}")
_SPECIAL_ASCII = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile(f"[{_SURROGATES}]")
_MARKED = re.compile(
    # the flag of a part of a country (England, Scotland, Texas) is spelt in tags and is text
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
    # a selector after a selector shapes nothing: it carries hidden data
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]+"
    f"|[{_HIDDEN}]+"
)
_JOINED = re.compile(f"[{_JOINERS}]+")


def plain(text: str) -> str:
    r"""The text as it was seen, with nothing left in it that acts on a terminal, a page or the eye.

    Terminal sequences are removed, also torn ones. CRLF is a line feed. A line with carriage returns is what followed
    the last one that was followed by anything (the last frame of a progress bar). A backspace moves one character back
    on its line and what follows is written over. Other controls (VT and FF too), invisible characters (the soft hyphen
    too), line and paragraph separators and what changes the direction of writing become visible marks: `␀` for C0, `␡`
    for DEL, `<U+202E>` for the rest; a lone surrogate becomes U+FFFD. Letters of every script, emoji sequences and the
    joiners inside words stay. Lines end at `\n` only.

    Returns:
        The same object when there was nothing to do; `plain(plain(x)) == plain(x)`. Time is linear in the length.
    """
    if not (_SPECIAL_ASCII if text.isascii() else _SPECIAL).search(text):
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _SEQUENCE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = "\n".join([_last_frame(line) if "\r" in line else line for line in text.split("\n")])
    if "\b" in text:
        text = _STRUCK_OVER.sub("", text)
        text = "\n".join([_overwritten(line) if "\b" in line else line for line in text.split("\n")])
    return _JOINED.sub(_joined, _MARKED.sub(_marked, text))


def one_line(text: str, limit: int | None = None) -> str:
    """The text on one line: plain, runs of white space as single spaces; at most `limit` characters, `…` included."""
    line = " ".join(plain(text).split())
    if limit is None or len(line) <= limit:
        return line
    return line[: boundary(line, limit - 1)].rstrip() + "…" if limit > 0 else ""


def shorten(text: str, limit: int, *, head: float = 0.6) -> tuple[str, int]:
    """Keep the head and the tail of a long text, with a counted mark on a line of its own between them.

    A cut moves to a line break when one is near (within a fifth of the piece) and never splits a character as people
    see it.

    Args:
        text: Any text; lines end at a line feed.
        limit: Characters of it to keep.
        head: Share of them that comes from the beginning, 0 to 1.

    Returns:
        The shortened text, at most `limit` characters longer than the mark, and the number N of characters left out;
        the text itself and 0 when it fits, or when the mark would be no shorter than what it stands for.
    """
    if len(text) <= limit + len(left_out_mark(1)):
        return text, 0
    room = max(0, limit - 2)  # two for the line feeds around the mark
    before = _head_end(text, round(room * head))
    after = _tail_start(text, room - round(room * head))
    left_out = after - before
    lead = "" if before == 0 or text[before - 1] == "\n" else "\n"
    trail = "" if after == len(text) or text[after] == "\n" else "\n"
    return f"{text[:before]}{lead}{left_out_mark(left_out)}{trail}{text[after:]}", left_out


def left_out_mark(count: int) -> str:
    """What stands in a text where so many characters of it were left out."""
    return f"[… {count} characters left out …]"


def _head_end(text: str, length: int) -> int:
    """Where the head ends: at most `length` characters in, behind a line feed if one is near."""
    line_feed = text.rfind("\n", length - length // 5, length)
    return line_feed + 1 if line_feed >= 0 else boundary(text, length)


def _tail_start(text: str, length: int) -> int:
    """Where the tail starts: at most `length` characters from the end, behind a line feed if one is near."""
    start = len(text) - length
    line_feed = text.find("\n", max(0, start - 1), start + length // 5)
    if line_feed >= 0:
        return line_feed + 1
    while 0 < start < len(text) and _is_inside(text, start):
        start += 1
    return start


def _last_frame(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


def _overwritten(line: str) -> str:
    """A line with its backspaces carried out as the terminal does: the next character stands where the last one stood.

    A code point is one place: a combining mark or a wide character before a backspace is taken for a plain one.
    """
    shown: list[str] = []
    place = 0
    for piece in re.findall("\b+|[^\b]+", line):
        if piece[0] == "\b":
            place = max(0, place - len(piece))
        else:
            shown[place : place + len(piece)] = piece
            place += len(piece)
    return "".join(shown)


class _Marks(dict[int, str]):
    """Code point → visible mark, made when first asked for."""

    def __missing__(self, code: int) -> str:
        mark = chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"<U+{code:04X}>"
        self[code] = mark
        return mark


_MARKS = _Marks()


def _marked(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == "\U0001f3f4" else match[0].translate(_MARKS)


def _joined(match: re.Match[str]) -> str:
    """A joiner or non-joiner as it is where it shapes what is around it: letters that need it, an emoji sequence."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    alone = len(match[0]) == 1
    # behind a virama it chooses a form, also at the end of a word
    if alone and ((_is_shaped(before) and _is_shaped(after)) or (before and unicodedata.combining(before) == 9)):
        return match[0]
    return match[0].translate(_MARKS)


def _is_shaped(character: str) -> bool:
    """Whether a joiner can act on it: a letter, mark or symbol beyond ASCII, an emoji newer than our tables."""
    return character > "\x7f" and (
        unicodedata.category(character)[0] in "LMS" or "\U0001f300" <= character <= "\U0001faff"
    )


def boundary(text: str, at: int) -> int:
    """The last place up to `at` where a cut separates two characters as people see them.

    Follows UAX 29 (extended grapheme clusters) as far as `unicodedata` tells: marks, joiners, selectors, skin tones,
    tags, pairs of regional indicators, Hangul syllables spelt in jamo, and consonants bound by a virama.
    """
    at = max(0, min(at, len(text)))
    while 0 < at < len(text) and _is_inside(text, at):
        at -= 1
    return at


def _is_inside(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    if _extends(after) or (before == "\u200d" and after > "\x7f"):
        return True
    if unicodedata.combining(before) == 9:
        return unicodedata.category(after) == "Lo"
    if _is_indicator(after):
        first = at
        while first > 0 and _is_indicator(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 1
    return "\u1100" <= before <= "\ud7a3" and "\u1160" <= after <= "\u11ff"


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in "\u200c\u200d\u0e33\u0eb3"  # joiners; Thai and Lao AM, letters that hang on the one before
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
