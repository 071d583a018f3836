"""Citations, speakers, order, endings, paragraphs without a citation, and words of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from stage import checked, failed

TRUE = [
    ("a single citation", "It stopped [msg 2]."),
    ("a list", "It stopped and went on [msg 2, 6]."),
    ("a range", "It stopped and went on [msg 2–6]."),
    ("a range with a hyphen", "It stopped and went on [msg 2-6]."),
    ("two brackets joined", "It stopped and went on [msg 2]–[msg 6]."),
    ("a native id", "It stopped [msg msg_0002]."),
    ("a beginning of a native id", "It was asked [msg msg_0010…]."),
    ("an escaped bracket is no citation", r"It wrote \[msg 9\] somewhere [msg 2]."),
    ("code is no citation", "Write `[msg 99]` to cite [msg 2]. The code `[msg 99]` is ours."),
    ("the user's words", 'The user wrote "done" [msg 5].'),
    ("the assistant's words", 'The assistant wrote "Installed parser 0.5.9" [msg 6].'),
    ("a tool's words", 'The command reported "loaded 1,171 rules" [msg 1].'),
    ("a thought", 'The assistant reasoned that "The rules file moved" [msg 2].'),
    (
        "the user answered by the assistant",
        'The user asked, and the assistant wrote "There are three options" [msg 8, 9].',
    ),
    ("what the user did", "The user asked how fast it was [msg 8]."),
    ("what somebody's words did", "The user's word set the assistant to work [msg 6]."),
    ("a message by its role", "Message 8 is a user message, and message 9 is the assistant's answer [msg 8, 9]."),
    ("before", "It looked [msg 1] before it installed [msg 6]."),
    ("after", "It installed [msg 6] after it had looked [msg 1]."),
    ("after, at the head", "After it had looked [msg 1], it installed [msg 6]."),
    ("then", "It looked [msg 1], then it installed [msg 6]."),
    ("then, a sentence later", "It looked [msg 1]. Then it installed [msg 6]."),
    ("before it", "Message 7, right before it, was measured [msg 7, 8]."),
    ("before, with a pluperfect", "Before it stopped [msg 2], the log had been opened [msg 4]."),
    ("before, with a time of day", "It ended at 08:57:22 [msg 4], before it was told to go on [msg 3]."),
    ("after, inverted", "After “continue” [msg 3] came “done” [msg 5]."),
    ("the recorded end", "The turn was interrupted; by whom is not known [msg 4]."),
    ("a cause that is only a reading", "One reading is that the turn timed out [msg 4]."),
    ("a cause that is denied", "It was not a provider error that ended the turn [msg 4]."),
    ("a cause that is asked for", "Had the turn crashed? It was aborted [msg 4]."),
    ("a crash of something else", "The turn crashed over a missing file [msg 1]."),
    ("interpretation without a citation", "A rule for a team: write down what has arrived."),
    ("a word of the recording that is ours too", "The outline of the plan was in a file [msg 9]."),
]


@pytest.mark.parametrize("markdown", [pytest.param(row[1], id=row[0]) for row in TRUE])
def test_a_true_claim_is_not_accused(tmp_path: Path, markdown: str) -> None:
    assert failed(checked(tmp_path, markdown)) == []


FALSE = [
    ("a message that is not there", "It stopped [msg 12].", ["no-such-message: [msg 12]"]),
    ("one of a list", "It stopped [msg 2, 40].", ["no-such-message: [msg 2, 40]"]),
    ("an id that is not there", "It stopped [msg msg_9999].", ["no-such-message: [msg msg_9999]"]),
    ("a message named in the text", "It stopped [msg 2], as message 44 says.", ["no-such-message: message 44"]),
    ("the user's words given to the assistant", 'The assistant wrote "done" [msg 5].', ['wrong-role: "done"']),
    (
        "the assistant's words given to the user",
        'The user wrote "Installed parser 0.5.9" [msg 6].',
        ['wrong-role: "Installed parser 0.5.9"'],
    ),
    (
        "a tool's words given to the user",
        'The user said "loaded 1,171 rules" [msg 1].',
        ['wrong-role: "loaded 1,171 rules"'],
    ),
    ("a deed given to the user", "The user installed the parser [msg 6].", ["wrong-role: The user installed"]),
    (
        "a deed given to the assistant",
        "The assistant asked how fast it was [msg 8].",
        ["wrong-role: The assistant asked"],
    ),
    (
        "a message with another role",
        "Message 9 is a user message [msg 9].",
        ["wrong-role: Message 9 is a user message"],
    ),
    (
        "before",
        "It installed [msg 6] before it looked [msg 1].",
        ["wrong-order: It installed [msg 6] before it looked [msg 1]."],
    ),
    (
        "after",
        "It looked [msg 1] after it had installed [msg 6].",
        ["wrong-order: It looked [msg 1] after it had installed [msg 6]."],
    ),
    (
        "after, at the head",
        "After it had installed [msg 6], it looked [msg 1].",
        ["wrong-order: After it had installed [msg 6], it looked [msg 1]."],
    ),
    (
        "then, a sentence later",
        "It installed [msg 6]. Then it looked [msg 1].",
        ["wrong-order: Then it looked [msg 1]."],
    ),
    (
        "earlier, a sentence later",
        "It looked [msg 1]. Earlier it installed [msg 6].",
        ["wrong-order: Earlier it installed [msg 6]."],
    ),
    (
        "after, inverted",
        "After “done” [msg 5] came “continue” [msg 3].",
        ["wrong-order: After “done” [msg 5] came “continue” [msg 3]."],
    ),
    ("a time-out that is not recorded", "The turn timed out [msg 4].", ["wrong-message: timed out"]),
    ("a crash that is not recorded", "The turn crashed [msg 4].", ["wrong-message: turn crashed"]),
    (
        "an error of the endpoint that is not recorded",
        "A provider error ended the turn [msg 4].",
        ["wrong-message: A provider error"],
    ),
    (
        "an interruption by the user",
        "It was interrupted by the user [msg 4].",
        ["wrong-message: interrupted by the user"],
    ),
    ("a normal end", "The turn ended normally [msg 4].", ["wrong-message: turn ended normally"]),
    (
        "a paragraph of events",
        "The user asked for a deployment. The assistant copied the files.",
        ["uncited: The user asked for a deployment. The assistant copied the files."],
    ),
    (
        "a paragraph with a figure",
        "The server was started, and it used 34.5 GB.",
        ["uncited: The server was started, and it used 34.5 GB."],
    ),
    ("the outline", "By the session's outline it stopped there [msg 2].", ["prompt-words: the session's outline"]),
    ("the part shown", "In the part shown it stops [msg 2].", ["prompt-words: the part shown"]),
]


@pytest.mark.parametrize(("markdown", "expected"), [pytest.param(*row[1:], id=row[0]) for row in FALSE])
def test_a_false_claim_is_found(tmp_path: Path, markdown: str, expected: list[str]) -> None:
    assert failed(checked(tmp_path, markdown)) == expected


ORDERS = [
    ("said the user", "“{},” said the user [msg {}]."),
    ("wrote the user, message named", "“{},” wrote the user in message {}."),
    ("the user wrote", "“{},” the user wrote [msg {}]."),
    ("the user answered, comma outside", "“{}”, the user answered [msg {}]."),
    ("as the user put it", "As the user put it, “{}” [msg {}]."),
    ("according to the user", "According to the user, “{}” [msg {}]."),
    ("the user's words", "The user's words were “{}” [msg {}]."),
    ("was what the user said", "“{}” was what the user said [msg {}]."),
    ("a label", "User: “{}” [msg {}]."),
    ("a bold label", "**User:** “{}” [msg {}]."),
    ("a label with its message", "The user (message {1}): “{0}” [msg {1}]."),
    ("a dash", "“{}” — the user [msg {}]."),
    ("the user's message", "The user's message {1} reads “{0}” [msg {1}]."),
    ("a message by the user", "Message {1}, by the user, says “{0}” [msg {1}]."),
]


@pytest.mark.parametrize("order", [pytest.param(row[1], id=row[0]) for row in ORDERS])
def test_a_speaker_is_known_in_every_word_order(tmp_path: Path, order: str) -> None:
    other = order.replace("User", "Assistant").replace("user", "assistant")
    assert failed(checked(tmp_path, order.format("how fast is it", 8))) == []
    assert failed(checked(tmp_path, other.format("I will look at the log first", 1))) == []
    kinds = [
        [one.kind for one in checked(tmp_path, claim).failures]
        for claim in (order.format("I will look at the log first", 1), other.format("how fast is it", 8))
    ]
    assert kinds == [["wrong-role"], ["wrong-role"]]


UNSURE = [
    ("a tool's words", "The tool printed “loaded 1,171 rules” [msg 1]."),
    ("output in the assistant's message", "Message 1, by the assistant, reads “loaded 1,171 rules” [msg 1]."),
    ("words another answers", "After “how fast is it”, the assistant answered [msg 8, 9]."),
    ("two speakers", "“how fast is it,” said the user, and the assistant answered it [msg 8]."),
    ("words that told the assistant", "“continue” told the assistant to go on [msg 3]."),
    ("words that asked the assistant", "“how fast is it” asked the assistant for a figure [msg 8]."),
    ("two quotations", "“continue” and then “done”, the assistant answered [msg 3, 5]."),
    ("words of an answer behind", "“how fast is it” — the assistant measured it [msg 8, 9]."),
]


@pytest.mark.parametrize("markdown", [pytest.param(row[1], id=row[0]) for row in UNSURE])
def test_an_unsure_speaker_is_not_accused(tmp_path: Path, markdown: str) -> None:
    assert failed(checked(tmp_path, markdown)) == []


def test_what_the_user_typed_is_not_what_a_tool_printed(tmp_path: Path) -> None:
    assert [one.kind for one in checked(tmp_path, "The tool printed “how fast is it” [msg 8].").failures] == [
        "wrong-role"
    ]


COLUMNS = [
    ("Message", "2", "message", 1, []),
    ("a bold Msg", "2–4, 6", "**Msg**", 1, []),
    ("a sign", "7", "#", 1, []),
    ("a message that is not there", "144", "Message", 1, ["no-such-message: 144"]),
    ("more digits than a number may have", "9" * 20, "Msg", 1, [f"no-such-message: {'9' * 20}"]),
    ("a sign that counts the rows", "1", "#", 0, []),
    ("messages that are counted", "144", "Messages", 0, ["figure-not-found: 144"]),
    ("words under the head", "the 144th", "Message", 0, []),
]


@pytest.mark.parametrize(
    ("cell", "head", "citations", "expected"), [pytest.param(*row[1:], id=row[0]) for row in COLUMNS]
)
def test_a_column_of_messages_cites_them(
    tmp_path: Path, cell: str, head: str, citations: int, expected: list[str]
) -> None:
    report = checked(tmp_path, f"It stopped [msg 2].\n\n| What | {head} |\n|---|---|\n| it stopped | {cell} |\n")
    assert (failed(report), report.counts.citations - 1) == (expected, citations)


def test_an_essay_without_brackets_cites_by_naming_messages(tmp_path: Path) -> None:
    report = checked(tmp_path, 'In message 5 the user wrote "done", and Msg 7 had 640 tokens coming out.')
    assert failed(report) == []
    assert report.counts.citations == 2


def test_a_citation_beside_what_it_is_about_is_found(tmp_path: Path) -> None:
    claim = "The assistant listed three ways: waiting, a restart, or to roll the service back [msg {}]."
    assert failed(checked(tmp_path, claim.format(9))) == []
    assert failed(checked(tmp_path, claim.format(10))) != []
