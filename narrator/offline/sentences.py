"""The rules on the session and on the target: pure functions from recorded values to sentences.

None of them knows the session.
"""

from __future__ import annotations

import re

from narrator.clock import span, stamp
from narrator.markdown import code_span, literal
from narrator.offline.quoting import code, count, listed, place, quoted, whole

_LISTED = re.compile(r" \(msg .*|; said .*|said .*")


# ------------------------------------------------------------------------------------------------ the session


def session_asked(text: str) -> str:
    """From the first request."""
    return f"The session opens with the user's request: {quoted(text, 260)}."


def session_opened(text: str) -> str:
    """From the first message, when no person typed it."""
    if not text:
        return "The session opens with a message that holds no text."
    return f"The session opens with {quoted(text, 200)}."


def session_runs(number: int, begun: int | None, ended: int | None) -> str:
    """From the number of messages and the times of the first and the last."""
    first, last = stamp(begun), stamp(ended)
    if first is None or last is None:
        return f"The session holds {count(number, 'message', 'messages')}; no usable times are recorded."
    return f"The session holds {count(number, 'message', 'messages')}, the first of {first}, the last of {last}."


def summaries_before(number: int) -> str:
    """From the number of compaction summaries before the target."""
    if number == 0:
        return "The conversation had not been compacted up to this point."
    return f"Up to this point the conversation had been replaced by a summary {count(number, 'time', 'times')}."


def latest_summary(text: str) -> str:
    """From the text of the last compaction summary before the target."""
    return f"The last of these summaries begins {quoted(text)}."


def requests_before(*texts: str) -> str:
    """From turns a person typed before the target, in order."""
    said = listed([whole(text, 120) for text in texts])
    if len(texts) == 1:
        return f"The last thing the user had typed before it was {said}."
    return f"The last turns that the user had typed before it were, in this order, {said}."


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


def leaned_on(term: str, index: int, sentence: str, text: str) -> str:
    """From a word of the target, and an earlier message's sentence that has it."""
    _shared(term, sentence, text)
    return f"{code_span(term)} had come up in message {index}: {quoted(sentence, 220)}."


def was_taken_up(term: str, index: int, sentence: str, text: str) -> str:
    """From a word of the target, and a later message's sentence that has it."""
    _shared(term, sentence, text)
    return f"Message {index} comes back to {code_span(term)}: {quoted(sentence, 220)}."


def _shared(term: str, *texts: str) -> None:
    if not all(term in text for text in texts):
        raise AssertionError("not in both")


def session_ended(index: int, role: str, text: str) -> str:
    """From the last message of the session."""
    who = "the user's" if role == "user" else f"the {role}'s"
    said = f", {quoted(text)}" if text.strip() else ", and it holds no text"
    return f"The session ends with message {index}, {who}{said}."


# ------------------------------------------------------------------------------------------------ the target


def role_and_place(role: str, number: int, index: int) -> str:
    """From the target's role and place."""
    whose = {"user": "stored as the user's", "assistant": "the assistant's"}.get(role, f"stored with the role {role}")
    return f"Message {index}, counted from 0 in a session of {number:,} messages, is {whose}."


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


def holds(texts: int, thoughts: int, calls: int) -> str:
    """From the numbers of the target's texts, stretches of reasoning, and calls."""
    parts = [
        f"a {one}" if number == 1 else f"{number} {many}"
        for number, one, many in (
            (texts, "text", "texts"),
            (thoughts, "stretch of reasoning", "stretches of reasoning"),
            (calls, "tool call", "tool calls"),
        )
        if number
    ]
    return f"It holds {listed(parts)}." if parts else "It holds nothing to read."


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
    return f"Between message {typed} and this one the user typed no message."


def told_of_failure(line: str) -> str:
    """From the line of a failed command's output that says most."""
    return f"What the output says of it is {code(line, 150)}."


def reasoned(text: str) -> str:
    """From the target's reasoning."""
    return f"What it gives as its reason stands in its reasoning, which begins {quoted(text, 260)}."


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


def stood(index: int, text: str, *, form: int = 0) -> str:
    """From an earlier answer's words, as far as they are listed."""
    said = quoted(text, 200)
    return (
        f"Message {index} had put it so: {said}.",
        f"In message {index} the state of things was {said}.",
        f"Message {index} then had {said}.",
    )[form]


def has_parts(index: int, text: str) -> str:
    """From a summary's text: its headings."""
    parts = [line.lstrip("# ").strip() for line in text.split("\n") if line.startswith("## ")]
    shown = listed([f"“{literal(part)}”" for part in parts[:8]])
    return f"What message {index} carries on stands under the headings {shown}."


def made(name: str, path: str) -> str:
    """From a call of the target that changed a file."""
    return f"It {'wrote' if name == 'write' else 'edited'} {place(path)}."


def stands_at(index: int, at: int, begun: int, ended: int) -> str:
    """From the target's time, and those of the first and the last message."""
    return f"Message {index} stands {span(at - begun)} into a session that runs for {span(ended - begun)}."


def at_time(begun: int) -> str:
    """From a message's time: the beginning of a line in a list of times."""
    return f"- {stamp(begun)}:"
