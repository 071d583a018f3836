"""What an essay without a model may say in general, by what the record knows: what it is, one lesson, one rule.

None of these sentences states more of the session than the finding that chose it; they are this project's own reading of what such a message is.
"""

from __future__ import annotations

from typing import NamedTuple


class Lesson(NamedTuple):
    """The frame for a target of one kind."""

    noun: str
    """What the message is, as a title begins."""
    why: str
    """Heading of the part on its cause."""
    point: str
    """The one lesson, a sentence for the introduction."""
    rule: str
    """What a team can do about it; a paragraph."""
    unknown: str
    """What the record does not tell."""


LESSONS: dict[str, Lesson] = {
    "aborted": Lesson(
        "The Turn That Was Stopped",
        "Why It Stops Short: An Interruption on Record",
        "What ends such a turn stands in a field of the record, and not in any text.",
        "An interruption ends a turn, not the work. What counts afterwards is what had already been done: commands that "
        "had run stay run, and what had only been planned is gone. Before going on, check the state of the machine rather "
        "than the last sentence of the conversation.",
        "The record says that the turn was interrupted and when; who or what interrupted it, and why, it does not say.",
    ),
    "provider-error": Lesson(
        "The Call That Failed",
        "Why It Failed: The Endpoint's Own Words",
        "What reads like an answer left out can be an error that stands in another field.",
        "A failed model call leaves a message that reads like an answer left out. Tools that show a session should show the "
        "error beside it, and whoever reads the session should look at it before looking for a reason in the text.",
        "The record carries the endpoint's own words; what happened behind the endpoint it does not tell.",
    ),
    "cut-off": Lesson(
        "The Answer Without an Ending",
        "Why It Breaks Off",
        "The answer stops because it was cut off, not because there was nothing more to say.",
        "A cut answer should never be read as a finished one. Whatever it announced may not have happened; whatever it "
        "called may not have run. The next step has to begin by finding out which.",
        "What the rest of it would have been is not recorded.",
    ),
    "unfinished": Lesson(
        "The Message Without an End",
        "Why It Has No End",
        "A message is stored when it begins, and not only once it has ended.",
        "A message without an end is what a killed process, or an export made while the agent was running, leaves behind. "
        "A call without a recorded end may have run or not: only the machine it ran on can tell.",
        "Whether this turn ever ended is not recorded.",
    ),
    "empty-completion": Lesson(
        "The Answer That Holds Nothing",
        "Why It Is Empty, as Far as the Record Goes",
        "The model ended its turn without a word and without a call, and by the record this was a normal end.",
        "An empty answer is an answer the model gave. Harnesses should detect it, and ask again, instead of waiting for a "
        "user to notice; a reader should look at the message right before it for what the model was answering to.",
        "Why the model gave no word is not recorded.",
    ),
    "reasoning-only": Lesson(
        "The Thought That Was Not Spoken",
        "Why There Is Only a Thought",
        "There is reasoning here and no answer: the model stopped after thinking.",
        "To the user such a turn looks like silence. A harness that knows the difference can show it, or ask for the answer.",
        "Why the reasoning was not followed by an answer is not recorded.",
    ),
    "compaction-request": Lesson(
        "The Request Nobody Typed",
        "Why It Is There: The Mark of a Compaction",
        "What stands under the user's role was not always said by a person.",
        "A compaction is where a session forgets. What is to survive it has to be written down before it, in a file or in a "
        "test, since the only thing that crosses is what the summary happens to say. A reader who counts user turns must "
        "leave such messages out.",
        "What the model would have done next without the compaction is not recorded.",
    ),
    "compaction-summary": Lesson(
        "The Summary in Place of a Conversation",
        "Why It Was Written: A Compaction",
        "What such a text leaves out is gone for the model, though the file still has it.",
        "From here on the model knows of the past only what stands in this text. It is worth reading as what it is, a list of "
        "what will be remembered, and worth checking for what it leaves out.",
        "Which of the things it leaves out would have mattered later cannot be read off the summary itself.",
    ),
    "synthetic": Lesson(
        "The Words Nobody Typed",
        "Why It Is There: The Harness's Own Words",
        "The text stands under the user's role, but the harness put it there.",
        "Synthetic messages steer a model as a person's would. Whoever counts what a user asked for, or blames a user for what "
        "a message says, has to look at the mark first.",
        "What a person would have typed at this point is not recorded.",
    ),
    "invalid-tool-call": Lesson(
        "The Call That Never Ran",
        "Why It Never Ran: A Refusal on Record",
        "The call was refused before it could run, so nothing it asked for was done.",
        "A refused call changes nothing but the conversation. The harness's answer is all the model has to repair it with: the "
        "better that answer names what was wrong, the shorter the detour.",
        "Why the model made this call is not recorded.",
    ),
    "tool-aborted": Lesson(
        "The Call That Was Stopped",
        "Why It Has No Result: An Interruption on Record",
        "A call was interrupted here, so whatever it returned is not the whole of what it was meant to do.",
        "After an interrupted call the state of the machine is an open question. The next step should ask it, instead of taking "
        "either answer for granted.",
        "How far the call would have come is not recorded.",
    ),
    "tool-unfinished": Lesson(
        "The Call Without a Result",
        "Why It Has No Result",
        "A call was made here, and no end of it is recorded.",
        "A call without a recorded end may have run to its end or not. Its effects have to be looked for where it ran.",
        "How it came out is not recorded.",
    ),
    "tool-error": Lesson(
        "The Failed Call",
        "Why It Failed: The Tool's Own Words",
        "A tool failed here, and the record has its error in full.",
        "A tool's error is the cheapest kind of failure: it is stated, it is early, and it names what was wrong. The cost lies in "
        "what is done next, so the turn after it deserves a look.",
        "Whether the error could have been foreseen the record does not say.",
    ),
    "command-failed": Lesson(
        "The Command That Failed",
        "Why It Failed: What the Exit Code Says",
        "A finished call is no proof of a finished command: the record keeps the two apart.",
        "In a chain of commands the exit code says only that one of them failed; "
        "what the others did before it has to be looked up. Steps that can fail on their own are better run on their own.",
        "Which effects the command had before it failed can only be seen where it ran.",
    ),
    "user-nudge": Lesson(
        "The Shortest Turn",
        "Why It Is So Short: What It Answers",
        "What such a turn sets going is read off the answer, not off its words.",
        "A turn without an instruction leaves the choice of the next step to the model. Where the state of the work is clear that is enough; where it "
        "is not, one more sentence about what has been seen would be cheaper than the guess it replaces.",
        "What the user had in mind beyond the words is not recorded.",
    ),
    "subagent": Lesson(
        "The Delegated Task",
        "Why Its Work Is Elsewhere",
        "A part of the work was handed to another session, and only its result is in this one.",
        "What a subagent did cannot be checked from its parent's record. Where it matters, the child session should be kept "
        "beside the parent's.",
        "How the delegated work was done is recorded elsewhere, if at all.",
    ),
    "silent": Lesson(
        "The Turn Without Words",
        "Why It Is Silent, as Far as the Record Goes",
        "The message stands under the user's role and holds no text.",
        "An empty user turn is a fact about the recording first: an attachment, a mark, or nothing at all. What it set going "
        "is found in the turns that follow it.",
        "What a person meant by it, if a person sent it, is not recorded.",
    ),
    "by-user": Lesson(
        "The Command the User Ran",
        "Why No Model Was Asked",
        "The message stands under the assistant's role, but the user ran the command; no model was asked.",
        "What a user runs by hand inside a session becomes part of what the model sees next. It is stored like an answer and "
        "is none.",
        "Why the user ran it is not recorded.",
    ),
    "user": Lesson(
        "The User's Turn",
        "Why It Was Sent: What It Answers",
        "A person speaks here; what it meant for the work shows in what follows.",
        "A request is best judged by what it leaves open. What it does not say, the model decides, and those decisions are found in "
        "the turns that follow it.",
        "What the user had in mind beyond the words is not recorded.",
    ),
    "assistant": Lesson(
        "One Step in the Work",
        "Why This Step: What Its Own Words Say",
        "The meaning of such a step lies in what it answers and in what it led to.",
        "An ordinary step is worth reading for what it took as settled. The result shows what it found; the next steps show whether "
        "what it took for granted held.",
        "Why the model chose this step rather than another is recorded only as far as its own words say so.",
    ),
}

ORDER = tuple(LESSONS)
"""Which finding names the message when it has several: the first of these."""
