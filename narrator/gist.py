"""What a message does, on one line, for lists: its words, else its calls, else its reasoning, else that it is empty.

Words of the product stand in square brackets at the beginning (`[aborted, reasoning]`), behind an arrow at the end
(`→ exit 1`), or, for a call, as `name: `. Recorded words that could be taken for one of these stand in quotation marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from narrator.findings import Kind, typed_text
from narrator.passages import subject_of
from narrator.sanitize import one_line
from narrator.session import File, Marker, Message, Reasoning, Text, ToolCall

GIST = 100
"""Characters of a gist where no terminal sets its width."""
_LOOK = 4_000
"""Characters of a text in which its first sentence is looked for."""
_MOST, _SENTENCE, _NAME = 400, 15, 40
"""Characters of words that are kept, that a sentence has at least (“Good.” says nothing alone), of a tool's name."""
_END = re.compile(r"(?<!\s\d)(?<!\s\d\d)[.!?…][\"')\]”’*_`]*(?=\s+[^\sa-z(])|[。！？][」』”’]?|(?<!\n)(?=\n[ \t]*\n)")
"""Where a sentence ends: not before a small letter (`e.g. this`), nor behind the number of a list's item."""
_IDENTIFIER = re.compile(r"[\w.:/-]*\w")
_OPENS, _CLOSES, _ARROWS, _COLONS = r"\[［⟦⁅", r"\]］⟧⁆", "→⟶￫", ":：∶꞉ː"
"""The product's signs, and what looks like them."""
_LIKE_OURS = re.compile(rf"[{_OPENS}]|.*[{_ARROWS}]|.*[{_CLOSES}]\Z")
_LIKE_A_CALL = re.compile(rf"\S+[{_COLONS}] |\d+ calls[{_COLONS}] ")
_DEEPEST = 4
"""Levels of a call's arguments in which something to name is looked for."""
_STATES: dict[Kind, str] = {
    "compaction-request": "compaction request",
    "compaction-summary": "compaction summary",
    "aborted": "aborted",
    "provider-error": "error",
    "cut-off": "cut off",
    "unfinished": "unfinished",
}
"""Findings that a reader must know before the words, and what they are called there."""


class Gist(NamedTuple):
    """What a message does, on one line that can be cut without cutting the product's words away."""

    lead: str
    """The product's words before the recorded ones."""
    words: str
    """Recorded words, on one line."""
    trail: str = ""
    """The product's words after them."""
    quoted: bool = False
    """The recorded words could be taken for the product's and stand in quotation marks."""

    def within(self, limit: int, cut: Callable[[str, int], str] = one_line, width: Callable[[str], int] = len) -> str:
        """The line in at most `limit` places, as `width` counts them; `cut` shortens a text to so many."""
        room = limit - width(self.lead) - width(self.trail) - 2 * self.quoted
        words = cut(self.words, max(1, room))
        if self.quoted:
            words = f"“{words}”"
        whole = f"{self.lead}{words}{self.trail}".strip()
        return whole if width(whole) <= limit else cut(whole, limit)


def take_gist(message: Message, kinds: Sequence[Kind], folder: str | None = None) -> Gist:
    """What `message` does; outputs and errors of its calls are not looked at, so `session.peek` will do.

    Args:
        message: As `session.message` or `session.peek` gives it.
        kinds: The kinds of its findings.
        folder: The session's own, left out of paths below it.
    """
    states = [word for kind, word in _STATES.items() if kind in kinds]
    if message.role == "user":
        return _turn(message, states)
    return _answer(message, kinds, states, (folder or "").rstrip("/"))


def _turn(message: Message, states: list[str]) -> Gist:
    if typed := typed_text(message):
        return _said(states, typed)
    made = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
    if made:
        return _said([*states, "synthetic"], "\n".join(made))
    return _rest(message, states)


def _answer(message: Message, kinds: Sequence[Kind], states: list[str], folder: str) -> Gist:
    text = _joined(block.text for block in message.blocks if isinstance(block, Text))
    if text:
        return _said(states, _first_sentence(text))
    if calls := [block for block in message.blocks if isinstance(block, ToolCall)]:
        return _called(states, calls, folder)
    thoughts = _joined(block.text for block in message.blocks if isinstance(block, Reasoning))
    if thoughts:
        return _said([*states, "reasoning"], _first_sentence(thoughts))
    if "reasoning-only" in kinds:
        return _said([*states, "reasoning", "its text not recorded"], "")
    return _rest(message, states)


def _rest(message: Message, states: list[str]) -> Gist:
    """What is neither text nor call nor reasoning; a compaction's own mark is said by its finding."""
    if files := [one_line(block.name, _MOST) for block in message.blocks if isinstance(block, File)]:
        return _said(
            [*states, "attached file" if len(files) == 1 else f"{len(files)} attached files"], ", ".join(files)
        )
    marks = [block for block in message.blocks if isinstance(block, Marker)]
    if others := [mark.text.strip("[]") for mark in marks if mark.kind != "compaction"]:
        return _said([*states, "mark"], "; ".join(others))
    if marks:
        return _said([*states, "automatic" if "automatic" in marks[0].text else "manual"], "")
    if message.fault is not None and (words := f"{message.fault.name}: {message.fault.message}".strip(": ")):
        return _said([*states, "empty"], words)
    return _said([*states, "empty"], "")


def _said(states: Sequence[str], text: str) -> Gist:
    words = one_line(text[:_LOOK], _MOST)
    lead = f"[{', '.join(states)}] " if states else ""
    return _gist(lead, words, quoted=bool(_LIKE_A_CALL.match(words)))


def _gist(lead: str, words: str, trail: str = "", *, quoted: bool = False) -> Gist:
    quoted = quoted or bool(_LIKE_OURS.match(words))
    return Gist(lead, words.replace("”", '"') if quoted else words, trail, quoted)


def _called(states: Sequence[str], calls: Sequence[ToolCall], folder: str) -> Gist:
    lead = f"[{', '.join(states)}] " if states else ""
    outcomes = [outcome for call in calls if (outcome := _outcome(call))]
    if len(calls) > 1:
        counts = Counter(_name(call) for call in calls)
        names = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
        trail = f" → {'; '.join(f'{n} {what}' for what, n in Counter(outcomes).items())}" if outcomes else ""
        return _gist(f"{lead}{len(calls)} calls: ", names, trail)
    call, trail = calls[0], "".join(f" → {outcome}" for outcome in outcomes)
    about = one_line(_about(call.input).removeprefix(f"{folder}/" if folder else "")[:_LOOK], _MOST)
    if not about:
        return Gist(lead + _name(call), "", trail if call.input else f": [no arguments]{trail}")
    return _gist(f"{lead}{_name(call)}: ", about, trail)


def _name(call: ToolCall) -> str:
    """A tool's name as it may stand before a colon: in quotation marks when it is more than a name."""
    name = one_line(call.name, _NAME)
    return name if _IDENTIFIER.fullmatch(name) else "“{}”".format(name.replace("”", '"'))


def _outcome(call: ToolCall) -> str:
    """How it came out when that was not well; "" when it was."""
    if call.interrupted:
        return "interrupted"
    if call.invalid:
        return "refused"
    if call.status == "error":
        return "error"
    if call.status != "completed":
        return "no end"
    return f"exit {call.exit}" if call.exit else ""


def _about(given: Any) -> str:  # noqa: ANN401  # recorded JSON
    """What a call is about: the argument that says most, else the first text in its arguments."""
    return subject_of(given)[1] or next(_texts(given, _DEEPEST), "")


def _texts(value: Any, levels: int) -> Iterator[str]:  # noqa: ANN401  # recorded JSON
    if isinstance(value, str) and value.strip():
        yield value
    elif levels and isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, levels - 1)


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def _first_sentence(text: str) -> str:
    """The first sentence, with those after it as long as it is short; a heading belongs to what stands under it."""
    text = text[:_LOOK]
    for found in _END.finditer(text, _SENTENCE):
        if text[text.rfind("\n", 0, found.start()) + 1] != "#":
            return text[: found.end()]
    return text
