"""The rules on the session and on the target: pure functions from recorded values to sentences.

None of them knows the session.
"""

from __future__ import annotations

import re

from narrator.clock import span, stamp
from narrator.markdown import code_span, literal
from narrator.offline.naming import purpose_of
from narrator.offline.quoting import code, listed, place, quoted, rest_of, verbatim, whole
from narrator.sanitize import one_line

_A_SECOND = 1000
_LISTED = re.compile(r" \(msg .*|; said .*|said .*")


# ------------------------------------------------------------------------------------------------ the session


def session_asked(text: str) -> str:
    """From the first request."""
    return f"The session began with the request {quoted(text, 200)}."


def asked_further(text: str) -> str:
    """From the first request, where an introduction quotes only its beginning: what it says next."""
    return f"Beyond its first sentence the request says {quoted(rest_of(text), 220)}."


def session_opened(text: str) -> str:
    """From the first message, when no person typed it."""
    if not text:
        return "The session opens with a message that holds no text."
    return f"The session opens with {quoted(text, 200)}."


def session_runs(index: int, at: int | None, begun: int | None, ended: int | None) -> str:
    """From the number and time of the target and the times of the first and the last message."""
    first, last = stamp(begun), stamp(ended)
    if first is None or last is None or begun is None or ended is None:
        return "No usable times are recorded for the session."
    if at is None or not begun <= at <= ended:
        return f"The messages of the session are stamped from {first} to {last}."
    if ended - begun < _A_SECOND:
        return f"The session begins at {first}."
    if at == ended:
        return f"The session began at {first} and had run for {span(at - begun)} when message {index}, its last, began."
    if at - begun < _A_SECOND:
        return f"The session begins at {first} and runs for {span(ended - begun)}."
    passed = f"{span(at - begun)} of its {span(ended - begun)} had passed when message {index} began"
    return f"The session began at {first}; {passed}."


def summaries_before(number: int) -> str:
    """From the number of compaction summaries before the target, where there are any."""
    times = "once" if number == 1 else f"{number:,} times"
    return f"By then the conversation had been replaced by a summary {times}."


def latest_summary(text: str) -> str:
    """From the text of the last compaction summary before the target."""
    return f"The goal, in the words with which the last of these summaries begins, was {quoted(text)}."


def requests_before(*texts: str) -> str:
    """From turns a person typed before the target, in order."""
    said = listed([whole(text, 120) for text in texts])
    if len(texts) == 1:
        return f"Before that the user had typed {said}."
    return f"Before that the user had typed, in this order, {said}."


def served(text: str) -> str:
    """From the turn that the target answers."""
    return f"The last thing the user had typed, and what this turn answers, was {whole(text)}."


def had_reported(*texts: str) -> str:
    """From earlier answers' words, as far as they are listed, in order."""
    said = listed([quoted(text, 170) for text in texts])
    return f"On how things stood, the assistant had written {said}."


def came_to(text: str) -> str:
    """From the words of a later answer that ended its turn."""
    return f"In a later answer the assistant reported {quoted(text, 110)}."


def turn_came_to(text: str) -> str:
    """From the words of the answer with which the target's turn ended."""
    return f"The turn ended with {quoted(text, 110)}."


def account_of_it(text: str) -> str:
    """From the words of the answer right after a failure."""
    return f"The assistant's own account came in its next message: {quoted(text, 260)}."


def was_reached(index: int, reached: str, text: str) -> str:
    """From a message in which something was reached, what, and the message's words."""
    done = {
        "a commit": "a commit was made",
        "the list of things to do is finished": "the list of things to do was finished",
    }
    step = _LISTED.sub("", reached)
    if step.startswith("first success of"):
        return f"Message {index} has the {step}{f', with the words {quoted(text)}' if text else ''}."
    again = re.sub(r" works (again )?after failing.*", " worked again after failing", step)
    return f"In message {index} {done.get(step, again)}."


def leaned_on(term: str, sentence: str, text: str) -> str:
    """From a word of the target, and an earlier message's sentence that has it."""
    _shared(term, sentence, text)
    return f"The name {code_span(term)} had come up before: {quoted(sentence, 220)}."


def was_taken_up(term: str, sentence: str, text: str) -> str:
    """From a word of the target, and a later message's sentence that has it."""
    _shared(term, sentence, text)
    return f"Later {code_span(term)} comes up again: {quoted(sentence, 220)}."


def _shared(term: str, *texts: str) -> None:
    if not all(term in text for text in texts):
        raise AssertionError("not in both")


def session_ended(role: str, text: str) -> str:
    """From the last message of the session."""
    who = "the user" if role == "user" else f"the {role}"
    if not text.strip():
        return f"The session ends with a message of {who}'s that holds no text."
    return f"The last word of the session is {who}'s: {quoted(text)}."


# ------------------------------------------------------------------------------------------------ the target


def role_and_place(role: str, number: int, index: int) -> str:
    """From the target's role and place."""
    whose = {"user": "stored as the user's", "assistant": "the assistant's"}.get(role, f"stored with the role {role}")
    return f"Message {index}, counted from 0 in a session of {number:,} messages, is {whose}."


def failed_here(role: str, number: int, index: int, about: str | None, code_: int, line: str) -> str:
    """From the target's role and place, and the description, the exit code and the most telling line of its command."""
    if role != "assistant" or not code_:
        raise AssertionError("no failed command of the assistant's")
    purpose = purpose_of(about or "")
    named = f" called “{verbatim(one_line(about or '', 90))}”" if (about or "").strip() else ""
    what = f"a command to {verbatim(purpose)}" if purpose else f"a command{named}"
    said = f", and its output says {code(line, 150)}" if line else ""
    return (
        f"In message {index}, counted from 0 in a session of {number:,} messages, the assistant ran {what}; "
        f"it ended with exit code {code_}{said}."
    )


def nothing_in_it() -> str:
    """From a message whose parts hold nothing to read."""
    return "It holds no text, no reasoning and no tool call."


def began_and_ended(begun: int | None, ended: int | None) -> str:
    """From the target's times."""
    first, last = stamp(begun), stamp(ended)
    if first is None or begun is None:
        return "No usable time is recorded for it."
    if last is None or ended is None:
        return f"It is stamped {first}."
    if ended < begun:
        return f"Its beginning is stamped {first}, its end, earlier than that, {last}."
    return f"It began at {first} and was closed {span(ended - begun)} later."


def finished(finish: str | None) -> str:
    """From the target's finish."""
    if finish is None:
        return "No finish is recorded for it."
    meaning = {
        "stop": ", which means that the model ended its answer by itself",
        "tool-calls": ", which means that the loop goes on by itself as soon as the tools have answered",
        "length": ", which means that it was cut off at a limit",
    }.get(finish, "")
    return f"Its finish is recorded as {code_span(finish)}{meaning}."


def tokens_counted(new: int, cached: int, out: int) -> str:
    """From the target's token counts."""
    return f"The provider counted {new:,} new and {cached:,} cached tokens going in, and {out:,} coming out."


def no_tokens(new: int, cached: int, out: int) -> str:
    """From token counts that are all zero."""
    return f"The provider counted no tokens for it, neither in ({new + cached}) nor out ({out})."


def answers_to(parent: int) -> str:
    """From the target's parent, where that message is told of elsewhere."""
    return f"It was made in answer to message {parent}."


def answers(parent: int, text: str) -> str:
    """From the target's parent and that message's text."""
    return f"It was made in answer to message {parent}, {whole(text)}."


def same_turn(before: int, parent: int) -> str:
    """From the parents of the target and of the message before it."""
    return f"Message {before}, right before it, belongs to the same turn: both answer message {parent}."


def nothing_typed_since(typed: int, number: int) -> str:
    """From the last turn a person typed and the number of such turns between it and the target, which is none."""
    if number:
        raise AssertionError("the last turn is not the last")
    return f"Between message {typed} and this one the user typed nothing."


def reasoned(text: str) -> str:
    """From the target's reasoning."""
    return f"Its reasoning says what it was after: {quoted(text, 260)}."


def sent_while_running(sent: int, index: int, begun: int, ended: int) -> str:
    """From the time of a user message and the times of the message before it."""
    return (
        f"It was sent at {stamp(sent)}, while message {index} was still running: "
        f"that one had begun at {stamp(begun)} and ended at {stamp(ended)}."
    )


def loop_was_going_on(index: int, finish: str, new: int, cached: int) -> str:
    """From the finish and the tokens of the answer before a compaction request."""
    return (
        f"The answer before it, message {index}, finished with {code_span(finish)} and had {new:,} new and {cached:,} "
        f"cached tokens going in."
    )


def nothing_before() -> str:
    """From the target's place."""
    return "It is the first message of the session; nothing in the file comes before it."


def nothing_after() -> str:
    """From the target's place."""
    return "It is the last message of the session; nothing in the file follows it."


def never_answered() -> str:
    """From a user turn that is the last message."""
    return "It is the last message of the session: the agent did not answer it."


def only_the_request_before(index: int) -> str:
    """From the place of the one message before the target, the first."""
    return f"Nothing but message {index}, the request itself, comes before it."


def has_parts(index: int, text: str) -> str:
    """From a summary's text: its headings."""
    parts = [line.lstrip("# ").strip() for line in text.split("\n") if line.startswith("## ")]
    shown = listed([f"“{literal(part)}”" for part in parts[:8]])
    return f"What message {index} carries on stands under the headings {shown}."


def made(name: str, path: str) -> str:
    """From a call of the target that changed a file."""
    return f"It {'wrote' if name == 'write' else 'edited'} {place(path)}."


def at_time(begun: int) -> str:
    """From a message's time: the beginning of a line in a list of times."""
    return f"- {stamp(begun)}:"
