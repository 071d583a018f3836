"""The rules on how a matter was settled, and on what may have been: pure functions from recorded values to sentences.

A reading is given only where the record is silent, and only with a point for it and a point against it from the record.
"""

from __future__ import annotations

import re

from narrator.clock import pause, span
from narrator.markdown import code_span
from narrator.offline.quoting import code, count, place, whole


def bears(why: str, index: int) -> str:
    """From why a message that lies farther off bears on the target."""
    for pattern, words in _BEARING:
        if found := pattern.fullmatch(why):
            said = words.format(*(_NOUNS.get(group, group) for group in found.groups()), index=index)
            return f"{said[0].upper()}{said[1:]}."
    return ""


_NOUNS = {"command": "the command", "file": "a call on the file"}
_BEARING = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"the (command|file) of msg (\d+) succeeds here",
            "{0} of message {1} ends without an error in message {index}",
        ),
        (
            r"a command much like the command of msg (\d+) succeeds here",
            "a command much like that of message {0} ends without an error code in message {index}",
        ),
        (r"the (command|file) of msg (\d+) fails here", "{0} of message {1} fails in message {index}"),
        (r"the (command|file) of msg (\d+) is used here next", "{0} of message {1} comes up again in message {index}"),
        (
            r"the same (command|file) as in msg (\d+) failed here",
            "in message {index} {0} of message {1} had failed before",
        ),
        (
            r"the same (command|file) as in msg (\d+) was used here last before it",
            "{0} of message {1} had last come up in message {index}",
        ),
        (r"a call failed here on the way to msg (\d+)", "on the way a call had failed in message {index}"),
        (r"the turn of msg (\d+) ends here", "the turn ends with message {index}"),
        (r"the turn after that of msg (\d+) ends here", "a later turn ends with message {index}"),
    )
)
"""Why a message is shown (`narrator.bearing`), and the same for a reader."""


def took_up_again(index: int, ended: int, other: int, begun: int) -> str:
    """From the end of the target and the beginning of the next answer that holds anything."""
    passed = pause(begun - ended)
    return (
        f"From the end of message {index} to the beginning of message {other}, the next answer that holds anything, "
        f"{passed} passed."
    )


def was_settled(index: int, begun: int, other: int, later: int) -> str:
    """From the target and the message that settles what failed in it: their numbers and times."""
    lie = f"{count(other - index - 1, 'message', 'messages')}" if other > index + 1 else "no other message"
    apart = span(later - begun)
    return f"Between message {index} and message {other} lie {lie} and, from one beginning to the other, {apart}."


def was_answered(index: int, sent: int, other: int, begun: int) -> str:
    """From a user's turn and the first answer to it: their numbers and times."""
    if begun < sent:
        return f"Message {other}, the first answer to message {index}, had begun before that was sent."
    return f"The first answer to message {index}, message {other}, began {pause(begun - sent)} after it was sent."


def may_have_stopped_it(index: int, sent: int, ended: int, text: str) -> str:
    """From the next turn a person typed after an interruption, and the end of that: a reading, with both sides."""
    if _STOPS.search(text) or sent < ended:
        raise AssertionError("the words speak of it, or came before")
    return (
        f"One reading is that the user may have stopped it in order to type. For it: message {index} is the user's, "
        f"sent {pause(sent - ended)} after the end. Against it: its words, {whole(text)}, say nothing of a stop."
    )


_STOPS = re.compile(r"\b(?:stop|abort|cancel|interrupt|esc|escape|wait|kill|hold)", re.IGNORECASE)


def can_be_about_a_stop(text: str) -> bool:
    """Whether words may speak of a stop; then the reading has nothing against it, and is not given."""
    return bool(_STOPS.search(text))


def may_be_a_slip(index: int, one: str, other: int, two: str, *, form: int = 0) -> str:
    """From two short turns of the user's that differ by a letter or two: a reading, with both sides."""
    if not differ_little(one, two):
        raise AssertionError("not alike")
    return (
        f"{('One', 'Another')[form]} reading is that {whole(one)} may be a slip of the keys for {whole(two)}. "
        f"For it: the words of messages {index} and {other} differ in a letter or two. "
        f"Against it: message {other} does not say that it puts anything right."
    )


def differ_little(one: str, two: str) -> bool:
    """Whether two short words are as long as each other and differ in one or two letters."""
    one, two = one.strip().lower(), two.strip().lower()
    alike = len(one) == len(two) and 3 < len(one) < 20 and one.isalpha() and two.isalpha()
    return alike and 0 < sum(a != b for a, b in zip(one, two, strict=True)) <= max(1, len(one) // 3)


# ------------------------------------------------------------------------------------------------ what was assumed


def assumed_the_step(text: str, code: int) -> str:
    """From the words of a message whose command failed, and the exit code."""
    return (
        f"**That the step would go through.** The words {whole(text, 140)} were written before the result was there, "
        f"which is exit code {code}."
    )


def assumed_the_chain(index: int, command: str, code: int) -> str:
    """From a failed command that has a chain in it, with its exit code."""
    if "&&" not in command or not code:
        raise AssertionError("no chain that failed")
    return (
        f"**That a chain runs to its end.** The command of message {index}, which ended with exit code {code}, joins "
        "its parts by “&&”: behind a part that fails a shell runs nothing of that chain, and the exit code does not "
        "say which part it was."
    )


def assumed_reading(index: int, sent: int, other: int, begun: int) -> str:
    """From a user's turn that waited, and the first answer to it."""
    if begun < sent:
        raise AssertionError("it did not wait")
    return (
        f"**That what is typed is read at once.** Message {index} was sent {pause(begun - sent)} before "
        f"message {other}, the first answer to it, began."
    )


def assumed_to_last(why: str, index: int) -> str:
    """From why a later failure bears on the target."""
    return f"**That what worked would go on working.** {bears(why, index)}"


def assumed_to_be_carried(before: int, name: str, subject: str) -> str:
    """From the last call before a compaction."""
    what = f", of {place(subject)}" if subject.strip() else ""
    return (
        f"**That what was under way would be carried over.** The last call before it, in message {before}, was one of "
        f"{code_span(name)}{what}; what the model knew of it afterwards is what the summary says of it."
    )


# ------------------------------------------------------------------------------------------------ how it was settled


def came_again(why: str, begun: int, later: int, line: str) -> str:
    """From why a message settles the failure, its time and the target's, and an error in its output, if any."""
    if not SETTLES.fullmatch(why):
        raise AssertionError("it settles nothing")
    what = "A command much like it" if why.startswith("a command much like") else "The same call"
    but = f", although its output has {code(line, 150)}" if line else ""
    return f"{what} came to its end without an error code {span(later - begun)} after it{but}."


SETTLES = re.compile(r"(?:the (?:command|file)|a command much like the command) of msg \d+ succeeds here")


# ------------------------------------------------------------------------------------------------ where to go from it


def begin_with_account(line: str, other: int) -> str:
    """From the line of a failure and the number of the answer that gives an account of it."""
    return f"Whoever meets {code(line, 90)} again can begin with message {other}, the assistant's account of it."


def begin_with_success(index: int, other: int) -> str:
    """From the target, whose command failed, and the first one like it that did not."""
    return (
        f"Whoever has to repeat it has two commands to compare: the one in message {index}, and the one in "
        f"message {other} that ended without an error code."
    )


def begin_with_state(other: int) -> str:
    """From the last message before a stopped turn that holds a result."""
    return f"Whoever takes the work up from here finds the last recorded output of a call before it in message {other}."


def compare_summary(summary: int, before: int) -> str:
    """From a compaction's summary and the last answer before it."""
    return (
        f"What the compaction kept can be checked by holding message {summary}, the summary, against message {before}, "
        "the last answer before it."
    )


def judge_by_end(other: int) -> str:
    """From the answer with which a turn ended."""
    return f"What the step was good for is best judged from message {other}, with which its turn ended."


def judge_answer(other: int) -> str:
    """From the answer with which the turn of a user's message ended."""
    return f"Whether the request was met is best judged from message {other}, with which its turn ended."
