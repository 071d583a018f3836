"""The rules: pure functions from recorded values to sentences. None of them knows the session.

Text is quoted in typographic marks or as code, Markdown in it escaped, white space run together, and only ever from the
head: the first sentence or line of what was recorded.
"""

from __future__ import annotations

import re

from narrator.clock import span, stamp
from narrator.markdown import code_span, literal
from narrator.sanitize import one_line

_SENTENCE = re.compile(r".{12,}?[.!?](?=\s)")


def opening(text: str, limit: int = 180) -> str:
    """The first sentence of a prose text, or its beginning; headings and list marks of Markdown left out."""
    lines = [line.strip() for line in text.strip().split("\n") if not line.lstrip().startswith("#")]
    line = next((line for line in (line.lstrip(">*- ") for line in lines) if len(line) > 2), one_line(text))
    found = _SENTENCE.match(line[: limit + 60] + " ")
    sentence = found[0] if found and len(found[0]) <= limit else line
    return one_line(sentence, limit)


def _quoted(text: str, limit: int = 180) -> str:
    """The opening of a text in quotation marks; `…` says that it goes on."""
    shown = opening(text, limit)
    return f"“{literal(shown)}{'' if shown == one_line(text) or shown.endswith('…') else ' …'}”"


def _whole(text: str, limit: int = 180) -> str:
    """All of a short text; the quotes that `opencode run` puts round a prompt left out."""
    line = one_line(text)
    if len(line) > 2 and line[0] == line[-1] == '"' and '"' not in line[1:-1]:
        line = line[1:-1]
    return f"“{literal(line)}”" if len(line) <= limit else _quoted(text, limit)


def _command(text: str, limit: int = 110) -> str:
    return code_span(one_line(next((line for line in text.split("\n") if line.strip()), ""), limit))


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


# ------------------------------------------------------------------------------------------------ the session


def session_asked(text: str) -> str:
    """From the first request."""
    return f"The session opens with the user's request: {_quoted(text, 260)}."


def session_opened(text: str) -> str:
    """From the first message, when no person typed it."""
    if not text:
        return "The session opens with a message that holds no text."
    return f"The session opens with {_quoted(text, 200)}."


def session_runs(count: int, begun: int | None, ended: int | None) -> str:
    """From the number of messages and the times of the first and the last."""
    first, last = stamp(begun), stamp(ended)
    if first is None or last is None:
        return f"The session holds {_count(count, 'message', 'messages')}; no usable times are recorded."
    return f"The session holds {_count(count, 'message', 'messages')}, the first of {first}, the last of {last}."


def summaries_before(count: int) -> str:
    """From the number of compaction summaries before the target."""
    if count == 0:
        return "The conversation had not been compacted up to this point."
    return f"Up to this point the conversation had been replaced by a summary {_count(count, 'time', 'times')}."


def latest_summary(text: str) -> str:
    """From the text of the last compaction summary before the target."""
    return f"The last of these summaries begins {_quoted(text)}."


def latest_request(text: str) -> str:
    """From the last turn a person typed before the target."""
    return f"The last thing the user had typed before it was {_whole(text)}."


def session_ended(index: int, role: str, text: str) -> str:
    """From the last message of the session."""
    who = "the user's" if role == "user" else f"the {role}'s"
    said = f", {_quoted(text)}" if text.strip() else ", and it holds no text"
    return f"The session ends with message {index}, {who}{said}."


# ------------------------------------------------------------------------------------------------ one turn


def user_wrote(text: str) -> str:
    """From a turn a person typed."""
    return f"The user wrote {_whole(text)}."


def user_silent() -> str:
    """From a user message without text."""
    return "A user message without text stands here."


def harness_put_in(text: str) -> str:
    """From text no person typed."""
    return f"The harness, not a person, put in {_whole(text)}."


def summary_began(text: str) -> str:
    """From a compaction summary."""
    if not text.strip():
        return "A compaction summary belongs here, and none was written."
    return f"A compaction summary took the place of the conversation so far; it begins {_quoted(text)}."


def assistant_said(text: str) -> str:
    """From an answer's text, when it called nothing."""
    return f"The assistant wrote {_quoted(text)}."


def assistant_did(name: str, subject: str, text: str | None, others: int) -> str:
    """From an answer's first tool call and what it is about, its text, and the number of further calls in it."""
    more = f" (and made {_count(others, 'further call', 'further calls')})" if others else ""
    verb = _ran(subject) if name == "bash" else _used(name, subject)
    return f"The assistant wrote {_quoted(text)} and {verb}{more}." if text else f"The assistant {verb}{more}."


def _ran(command: str) -> str:
    lines = [line for line in command.split("\n") if line.strip()]
    if not lines:
        return "called the shell without a command"
    return f"ran {_command(command)}" if len(lines) == 1 else f"ran {len(lines)} lines that begin {_command(command)}"


def _used(name: str, subject: str) -> str:
    """A tool and what it was called for: a path, a pattern, an address."""
    return f"called the tool {code_span(name)}" + (f" ({_command(subject)})" if subject.strip() else "")


def user_ran(subject: str) -> str:
    """From a command that the user ran inside the session; it is stored like an answer, but no model was asked."""
    return f"The user {_ran(subject)} inside the session."


def assistant_thought(text: str) -> str:
    """From an answer that holds only reasoning."""
    return f"The assistant recorded a thought and no answer: {_quoted(text)}."


def call_printed(output: str, lines: int, code: int | None) -> str:
    """From a call's output, the number of its lines that are not blank, and the exit code where one is recorded."""
    ended = f" and ended with exit code {code}" if code else ""
    first = next((line for line in output.split("\n") if line.strip()), "")
    if not first or output.strip() == "(no output)":
        return f"It printed nothing{ended}."
    shown = code_span(one_line(first, 140))
    return f"It returned {shown if lines == 1 else f'{shown} as the first of {lines} lines'}{ended}."


def call_failed(error: str) -> str:
    """From a call's error."""
    return f"The call failed with {code_span(one_line(error.strip().split(chr(10))[0], 160))}."


# ------------------------------------------------------------------------------------------------ the target


def role_and_place(role: str, count: int, index: int) -> str:
    """From the target's role and place."""
    whose = {"user": "stored as the user's", "assistant": "the assistant's"}.get(role, f"stored with the role {role}")
    return f"Message {index}, counted from 0 in a session of {count:,} messages, is {whose}."


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


def answers(parent: int, text: str) -> str:
    """From the target's parent and that message's text."""
    return f"It was made in answer to message {parent}, {_whole(text)}."


def same_turn(before: int, parent: int) -> str:
    """From the parents of the target and of the message before it."""
    return f"Message {before}, right before it, belongs to the same turn: both answer message {parent}."


def nothing_typed_since(typed: int, count: int) -> str:
    """From the last turn a person typed and the number of such turns between it and the target, which is none."""
    if count:
        raise AssertionError("the last turn is not the last")
    return f"Between message {typed} and this one the user typed no message."


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
