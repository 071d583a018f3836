"""The rules on what a turn did: pure functions from recorded values to sentences. None of them knows the session.

`form` says how a sentence begins, so that no two in a row are built alike, and how it ends: from `OPEN` on it has no
full stop, since a clause follows. Everything else that varies follows from the values.
"""

from __future__ import annotations

from narrator.clock import stamp
from narrator.markdown import code_span
from narrator.offline.naming import act
from narrator.offline.quoting import code, cut, is_result, listed, place, quoted, whole
from narrator.sanitize import one_line

FORMS = 3
"""Forms of the rules that have several."""
OPEN, CLAUSE, LAST = 10, 20, 30
"""A sentence that goes on; a clause in the middle of one; the clause that ends it."""
_LINE = 150


def user_wrote(text: str, jumped: int | None, *, form: int = 0) -> str:
    """From a turn a person typed, and its number where messages before it were left out."""
    where = "Later the" if jumped is not None else "The"
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
        return f"Later the assistant reported {quoted(text, 240)}."
    return f"The assistant {('answered', 'replied', 'then wrote')[form]} {quoted(text, 240)}."


def assistant_thought(text: str) -> str:
    """From an answer that holds only reasoning."""
    return f"The assistant recorded a thought and no answer: {quoted(text)}."


def user_ran(subject: str) -> str:
    """From a command that the user ran inside the session; it is stored like an answer, but no model was asked."""
    return f"The user {act('bash', subject, '', None)} inside the session."


def assistant_did(  # a step is told whole
    name: str, subject: str, about: str | None, text: str | None, others: int, jumped: int | None,
    before: str | None, *, form: int = 0,
) -> str:  # fmt: skip
    """From an answer's first call.

    Its tool, what it is about, and how the call describes itself; the answer's text, unless it is told elsewhere; the
    number of further calls in it; its own number where messages before it were left out; and what the call before it in
    the essay was about.
    """
    did = act(name, subject, about or "", before, way=form % OPEN)
    did += f", beside {others} more {'call' if others == 1 else 'calls'}" if others else ""
    if form >= CLAUSE:
        return f", then {did}." if form >= LAST else f", {did}"
    return f"{_begun(text, did, form % OPEN, later=jumped is not None)}{'' if form >= OPEN else '.'}"


def _begun(text: str | None, did: str, way: int, *, later: bool) -> str:
    """The sentence as its form begins it."""
    if later:
        return f"Later the assistant {did}" if not text else f"Later the assistant wrote {quoted(text)} and {did}"
    if not text:
        return (f"The assistant {did}", f"Next it {did}", f"After that it {did}")[way]
    return (
        f"The assistant wrote {quoted(text)} and {did}",
        f"{quoted(text)}, it wrote next, and {did}",
        f"It went on with {quoted(text)} and {did}",
    )[way]


def call_printed(  # a result is told whole
    line: str, lines: int, code_: int | None, subject: str, before: str | None, then: int | None, *, form: int = 0
) -> str:
    """From a line of a call's output, the number of those not blank, and its exit code.

    And from what it was about, what the call before it in the essay was about, and that one's exit code.
    """
    said = code_span(cut(line, _LINE)) if line and lines and line != "(no output)" else ""
    if code_:
        return _failed(said, code_, form)
    if then and subject == before:
        return f"This time there was no error{f', and it printed {said}' if said else ''}."
    if lines == 1:
        return (f"It printed {said}.", f"The answer was {said}.", f"Back came {said}.")[form]
    return (
        f"What it printed has {said}.",
        f"In its output stands {said}.",
        f"The output reads, among other things, {said}.",
    )[form]


def is_worth_telling(line: str, lines: int, code_: int | None) -> bool:
    """Whether an output is news: a failure, an answer of one line, or a line that says how the matter came out."""
    said = bool(line and lines) and line != "(no output)"
    return bool(code_) or (said and (is_result(line) or (lines == 1 and len(line) <= _LINE)))


def _failed(said: str, code_: int, form: int) -> str:
    if not said:
        return f"It printed nothing and ended with exit code {code_}."
    return (
        f"That ended with exit code {code_} and {said}.",
        f"It failed: exit code {code_}, {said}.",
        f"The result was exit code {code_} and {said}.",
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
