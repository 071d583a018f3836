"""The rules on what a turn did: pure functions from recorded values to sentences. None of them knows the session.

`form` chooses between sentences that say the same: who writes the paragraph picks the next one where two of a kind
stand in a row. Everything else that varies follows from the values.
"""

from __future__ import annotations

import re

from narrator.clock import stamp
from narrator.markdown import code_span, literal
from narrator.offline.quoting import code, count, cut, listed, place, quoted, whole
from narrator.sanitize import one_line

FORMS = 3
"""Forms of the rules that have several."""


def user_wrote(text: str, jumped: int | None, *, form: int = 0) -> str:
    """From a turn a person typed, and its number where messages before it were left out."""
    where = f"In message {jumped} the" if jumped is not None else "The"
    return f"{where} user {('wrote', 'typed', 'answered')[form]} {whole(text)}."


def user_wrote_meanwhile(text: str, sent: int, running: int, begun: int, ended: int) -> str:
    """From a turn a person typed while another message was running, and that message's number and times."""
    return (
        f"The user wrote {whole(text)} at {stamp(sent)}, while message {running} was still running: that one had begun "
        f"at {stamp(begun)} and ended at {stamp(ended)}."
    )


def user_silent() -> str:
    """From a user message without text."""
    return "A user message without text stands here."


def harness_put_in(text: str) -> str:
    """From text no person typed."""
    return f"The harness, not a person, put in {whole(text)}."


def summary_began(text: str) -> str:
    """From a compaction summary."""
    if not text.strip():
        return "A compaction summary belongs here, and none was written."
    return f"A compaction summary took the place of the conversation so far; it begins {quoted(text)}."


def assistant_said(text: str, jumped: int | None, *, form: int = 0) -> str:
    """From an answer's text, when it called nothing, and its number where messages before it were left out."""
    if jumped is not None:
        return f"In message {jumped} the assistant wrote {quoted(text, 240)}."
    return f"The assistant {('wrote', 'answered:', 'then wrote')[form]} {quoted(text, 240)}."


def assistant_thought(text: str) -> str:
    """From an answer that holds only reasoning."""
    return f"The assistant recorded a thought and no answer: {quoted(text)}."


def user_ran(subject: str) -> str:
    """From a command that the user ran inside the session; it is stored like an answer, but no model was asked."""
    return f"The user {_act('bash', subject, '', None)} inside the session."


def assistant_did(  # a step is told whole
    name: str, subject: str, about: str | None, text: str | None, others: int, jumped: int | None,
    before: str | None, *, form: int = 0,
) -> str:  # fmt: skip
    """From an answer's first call.

    Its tool, what it is about, and how the call describes itself; the answer's text; the number of further calls in it;
    its own number where messages before it were left out; and what the call before it in the essay was about.
    """
    act = _act(name, subject, about or "", before)
    act += f", beside {count(others, 'further call', 'further calls')}" if others else ""
    where = "" if jumped is None else f"in message {jumped} "
    if not text:
        if jumped is not None:
            return (
                f"In message {jumped} the assistant {act}." if form != 1 else f"Message {jumped}: the assistant {act}."
            )
        return (f"The assistant {act}.", f"Next it {act}.", f"Then the assistant {act}.")[form]
    if form == 0:
        return f"{where.capitalize()}{'the' if where else 'The'} assistant wrote {quoted(text)} and {act}."
    if form == 1:
        return f"{'The' if where else 'Next the'} assistant wrote {where}{quoted(text)} and {act}."
    if where:
        return f"Message {jumped} has {quoted(text)}; with these words the assistant {act}."
    return f"With the words {quoted(text)} it {act}."


_DONE = {
    "read": "read",
    "edit": "edited",
    "multiedit": "edited",
    "patch": "patched",
    "write": "wrote the file",
    "grep": "searched",
    "glob": "looked for files in",
    "list": "listed",
    "webfetch": "fetched",
    "websearch": "searched the web for",
}
"""What is done with the subject of a call."""
_NO_PATH = frozenset(["webfetch", "websearch"])


def _act(name: str, subject: str, about: str, before: str | None) -> str:
    """What the call did, as a verb and its object."""
    again = bool(subject.strip()) and subject == before
    if name == "bash":
        return _ran(subject, about, again=again)
    if name == "todowrite":
        return "updated its list of things to do"
    if name in _DONE and subject.strip():
        what = code(subject) if name in _NO_PATH else place(subject)
        return f"{_DONE[name]} {'the same file, ' if again else ''}{what}{', again' if again else ''}"
    return f"called the tool {code_span(cut(name, 60))}" + (f" ({code(subject)})" if subject.strip() else "")


def _ran(command: str, about: str, *, again: bool) -> str:
    lines = [line for line in command.split("\n") if line.strip()]
    if not lines:
        return "called the shell without a command"
    gloss = f" (“{literal(one_line(about))}”)" if about.strip() else ""
    if again:
        return f"ran the same command again{gloss}"
    limit = 60 if gloss else 90
    if found := _REMOTE.match(lines[0].strip()):
        waited = f"waited ({code_span(found[1])}) and " if found[1] else ""
        return f"{waited}ran {code(_closed(found[2]), limit)} over ssh{gloss}"
    head = code(command, limit)
    return f"ran {head}{gloss}" if len(lines) == 1 else f"ran {len(lines)} lines that begin {head}{gloss}"


_REMOTE = re.compile(r"(?:(sleep \d+)\s*(?:&&|;)\s*)?ssh (?:-\S+ )*\S+ ['\"](.{8,})")
"""A command for another machine, perhaps after a wait."""


def _closed(inner: str) -> str:
    """A command without the quote that closes it."""
    return inner[:-1] if inner[-1] in "'\"" and inner.count(inner[-1]) % 2 else inner


def call_printed(  # a result is told whole
    line: str, lines: int, code_: int | None, subject: str, before: str | None, then: int | None, *, form: int = 0
) -> str:
    """From a line of a call's output, the number of those not blank, and its exit code.

    And from what it was about, what the call before it in the essay was about, and that one's exit code.
    """
    said = code_span(cut(line, 150)) if line and lines and line != "(no output)" else ""
    if code_:
        return _failed(said, code_, form)
    if not said:
        return "It printed nothing."
    if then and subject == before:
        return f"This time it succeeded, and printed {said}."
    if lines == 1:
        return (f"It printed {said}.", f"Back came {said}.", f"The output was {said}.")[form]
    return (
        f"It printed {lines} lines, among them {said}.",
        f"Back came {lines} lines, {said} among them.",
        f"One of the {lines} lines of its output reads {said}.",
    )[form]


def _failed(said: str, code_: int, form: int) -> str:
    if not said:
        return f"It printed nothing and ended with exit code {code_}."
    return (
        f"It ended with exit code {code_}; the line that tells of it is {said}.",
        f"That failed: exit code {code_}, {said}.",
        f"The exit code was {code_}, and the output has {said}.",
    )[form]


def call_failed(error: str) -> str:
    """From a call's error."""
    return f"The call failed with {code(error.strip(), 160)}."


def looked_at(name: str, *subjects: str) -> str:
    """From calls in a row that only look, one an answer: their tool, and what they looked at."""
    verb = {
        "read": "reads in a row went to",
        "grep": "searches in a row went through",
        "glob": "looks for files went into",
    }
    number = _spelled(len(subjects)).capitalize()
    places = list(dict.fromkeys(place(subject) for subject in subjects))
    return f"{number} {verb[name]} {listed(places[:4])}{' and others' if len(places) > 4 else ''}."


def changed(number: int, *subjects: str) -> str:
    """From successful edits of one file in a row, one an answer: the number of them and, of each, the path."""
    if len(set(subjects)) != 1 or number != len(subjects):
        raise AssertionError("not one file")
    return f"{_spelled(number).capitalize()} edits in a row went into {place(subjects[0])}."


def waited_on(*commands: str) -> str:
    """From commands in a row that all begin with `sleep`, one an answer."""
    heads = [one_line(command).split()[:2] for command in commands]
    if any(len(head) < 2 or head[0] != "sleep" for head in heads):
        raise AssertionError("not a wait")
    pauses = [code_span(" ".join(head).rstrip(";")) for head in heads]
    return f"Then the assistant waited and looked, {_spelled(len(commands))} times in a row: {listed(pauses)}."


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _spelled(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
