"""Rules about a message as a whole, a table a kind: it holds, it does not, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import last_found, opened, table
from recordings import BEGIN, STEP_START, assistant, export, reasoning, step_finish, text, tool, user

from narrator.findings import NUDGE_WORDS, typed_text

ASK = user("Find out why the test fails.")
ABORTED = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
COMPACTION = {"type": "compaction", "auto": True}
RETRY = {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {"message": "Overloaded"}}}
OPEN = {"created": BEGIN}
"""A time without an end."""


def api_error(**data: Any) -> dict[str, Any]:
    return {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529, "isRetryable": True} | data}


@table(
    (
        "a finished answer with nothing but step marks",
        [ASK, assistant(STEP_START, step_finish())],
        {"empty-completion"},
    ),
    ("a finished answer without parts", [ASK, assistant()], {"empty-completion"}),
    ("parts are missing altogether", [ASK, assistant() | {"parts": None}], {"empty-completion"}),
    ("its text is white space", [ASK, assistant(" \n\t")], {"empty-completion"}),
    (
        "the finish stands in the last step only",
        [ASK, assistant(step_finish("stop"), finish=None)],
        {"empty-completion"},
    ),
    ("some text", [ASK, assistant("Done.")], set()),
    ("a tool call", [ASK, assistant(tool("read"), finish="tool-calls")], set()),
    ("reasoning", [ASK, assistant(reasoning("Hm."))], {"reasoning-only"}),
    ("it was aborted", [ASK, assistant(error=ABORTED, finish=None)], {"aborted"}),
    ("the endpoint failed", [ASK, assistant(error=api_error(), finish=None)], {"provider-error"}),
    ("it was filtered", [ASK, assistant(finish="content-filter")], set()),
    ("it hit the length limit before the first word", [ASK, assistant(finish="length")], {"cut-off"}),
    ("its stream was dropped", [ASK, assistant(finish="unknown", tokens=NOTHING)], {"cut-off"}),
    ("no end is recorded", [ASK, assistant(finish=None, time=OPEN)], {"unfinished"}),
    ("an empty turn of the user", [ASK, user()], set()),
    ("only the mark of a retry", [ASK, assistant(RETRY, step_finish())], {"empty-completion"}),
    ("a retry, then an answer", [ASK, assistant(RETRY, "Done.")], set()),
    (
        "a summary that is empty",
        [user(COMPACTION), assistant(summary=True)],
        {"empty-completion", "compaction-summary"},
    ),
)
def test_empty_completion(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    (
        "a thought and nothing else",
        [ASK, assistant(STEP_START, reasoning("Only this."), step_finish())],
        {"reasoning-only"},
    ),
    (
        "the thought is kept encrypted, but was counted",
        [ASK, assistant(reasoning(""), tokens=NOTHING | {"reasoning": 64})],
        {"reasoning-only"},
    ),
    ("a thought and blank text", [ASK, assistant(reasoning("Hm."), "\n")], {"reasoning-only"}),
    ("a thought and an answer", [ASK, assistant(reasoning("Hm."), "Yes.")], set()),
    ("a thought and a call", [ASK, assistant(reasoning("Hm."), tool("read"), finish="tool-calls")], set()),
    ("an empty thought nobody counted", [ASK, assistant(reasoning(""))], {"empty-completion"}),
    (
        "tokens of thought without a part for it",
        [ASK, assistant(tokens=NOTHING | {"reasoning": 64})],
        {"empty-completion"},
    ),
    (
        "interrupted while thinking: both hold",
        [ASK, assistant(reasoning("Hm"), error=ABORTED, finish=None)],
        {"reasoning-only", "aborted"},
    ),
)
def test_reasoning_only(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("before the first word", [ASK, assistant(error=ABORTED, finish=None, tokens=NOTHING)], {"aborted"}),
    (
        "in the middle of a sentence",
        [ASK, assistant(STEP_START, "I will start by", error=ABORTED, finish=None)],
        {"aborted"},
    ),
    (
        "the name older versions gave it",
        [ASK, assistant(error=ABORTED | {"name": "AbortError"}, finish=None)],
        {"aborted"},
    ),
    ("another error", [ASK, assistant(error=api_error(), finish=None)], {"provider-error"}),
    (
        "an endpoint's error that speaks of an abort",
        [ASK, assistant(error=api_error(message="request aborted"), finish=None)],
        {"provider-error"},
    ),
    ("text that speaks of an abort", [ASK, assistant("The operation was aborted.")], set()),
)
def test_aborted(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@pytest.mark.parametrize(
    ("times", "says"),
    [
        pytest.param({"created": BEGIN + 60_000, "completed": BEGIN + 77_200}, ", 17.2 s after it began", id="timed"),
        pytest.param({"created": BEGIN + 60_000, "completed": BEGIN}, "", id="it ends before it begins"),
        pytest.param({"created": BEGIN + 60_000}, "", id="it has no end"),
        pytest.param({"completed": BEGIN}, "", id="it has no beginning"),
    ],
)
def test_what_is_said_of_an_abort(tmp_path: Path, times: dict[str, int], says: str) -> None:
    found = last_found(tmp_path, export(ASK, assistant(error=ABORTED, finish=None, time=times)))["aborted"]
    assert found.says.startswith(
        f"The turn was interrupted before it ended{says} (MessageAbortedError, no error of the endpoint: “The operation "
        "was aborted.”); the record does not say by whom."
    )
    assert [(item.field, item.value) for item in found.evidence[:4]] == [
        ("error.name", "MessageAbortedError"),
        ("error.data.message", "The operation was aborted."),
        ("time.created", times.get("created")),
        ("time.completed", times.get("completed")),
    ]


@table(
    ("an HTTP status", [ASK, assistant(error=api_error(), finish=None)], {"provider-error"}),
    ("no data at all", [ASK, assistant(error={"name": "UnknownError"}, finish=None)], {"provider-error"}),
    ("a half answer before it", [ASK, assistant("I will", error=api_error(), finish=None)], {"provider-error"}),
    ("no end is recorded either", [ASK, assistant(error=api_error(), finish=None, time=OPEN)], {"provider-error"}),
    ("an abort", [ASK, assistant(error=ABORTED, finish=None)], {"aborted"}),
    (
        "the answer was too long",
        [ASK, assistant("A", error={"name": "MessageOutputLengthError"}, finish=None)],
        {"cut-off"},
    ),
    (
        "a tool failed, the endpoint did not",
        [ASK, assistant(tool(status="error", error="no"), finish="tool-calls")],
        {"tool-error"},
    ),
    ("an error that is a bare string", [ASK, assistant(error="overloaded", finish=None)], {"provider-error"}),
    ("an error that is no error", [ASK, assistant("Fine.", error=[])], set()),
    ("a retry that went well in the end", [ASK, assistant(RETRY, "Fine.")], set()),
    ("a retry that did not", [ASK, assistant(RETRY, error=api_error(), finish=None)], {"provider-error"}),
    ("a filter's error", [ASK, assistant(error={"name": "ContentFilterError"}, finish=None)], {"provider-error"}),
)
def test_provider_error(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


def test_a_provider_error_carries_name_message_and_status(tmp_path: Path) -> None:
    found = last_found(tmp_path, export(ASK, assistant(error=api_error(), finish=None)))["provider-error"]
    assert (
        found.says == "The model call ended in an error of the endpoint, APIError with HTTP status 529: “Overloaded”."
    )
    assert [(item.field, item.value) for item in found.evidence] == [
        ("error.name", "APIError"),
        ("error.data.message", "Overloaded"),
        ("error.data.statusCode", 529),
    ]


@table(
    ("the length limit", [ASK, assistant("A long", finish="length")], {"cut-off"}),
    ("the length limit in another provider's word", [ASK, assistant("A long", finish="max_tokens")], {"cut-off"}),
    (
        "opencode's own error for it",
        [ASK, assistant("A", error={"name": "MessageOutputLengthError"}, finish=None)],
        {"cut-off"},
    ),
    (
        "a dropped stream: unknown, nothing counted",
        [ASK, assistant(STEP_START, "Half", finish="unknown", tokens=NOTHING)],
        {"cut-off"},
    ),
    (
        "a dropped stream without any count",
        [ASK, assistant(STEP_START, "Half", finish="unknown", tokens=None)],
        {"cut-off"},
    ),
    ("an unknown finish with counted tokens", [ASK, assistant(STEP_START, "Whole.", finish="unknown")], set()),
    ("closed without a finish", [ASK, assistant(STEP_START, "Half", finish=None)], {"cut-off"}),
    (
        "closed without a finish, in a version nobody knows",
        export(ASK, assistant(STEP_START, "Half", finish=None), version=None),
        {"cut-off"},
    ),
    (
        "a legacy export, where no answer has a finish",
        export(ASK, assistant(STEP_START, "Whole.", finish=None), version="0.5.29"),
        set(),
    ),
    (
        "a legacy export with the length limit",
        export(ASK, assistant(STEP_START, "A", finish="length"), version="0.5.29"),
        {"cut-off"},
    ),
    (
        "a command of the user's: no model call began",
        [
            user(text("The following tool was executed by the user", synthetic=True)),
            assistant(tool(), finish=None, tokens=NOTHING),
        ],
        set(),
    ),
    (
        "the finish stands in the last step only",
        [ASK, assistant(STEP_START, "Whole.", step_finish(), finish=None)],
        set(),
    ),
    ("an abort", [ASK, assistant(STEP_START, "Half", error=ABORTED, finish=None)], {"aborted"}),
    ("no end is recorded", [ASK, assistant(STEP_START, "Half", finish=None, time=OPEN)], {"unfinished"}),
    ("a filter ended it", [ASK, assistant("A", finish="content-filter")], set()),
    ("the length limit, and an abort", [ASK, assistant("A", finish="length", error=ABORTED)], {"cut-off", "aborted"}),
    (
        "the length limit, and an error of the endpoint",
        [ASK, assistant("A", finish="length", error=api_error())],
        {"cut-off", "provider-error"},
    ),
    ("text that speaks of a length limit", [ASK, assistant("It was cut off: finish length.")], set()),
)
def test_cut_off(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("neither finish nor end nor error", [ASK, assistant(STEP_START, "Half", finish=None, time=OPEN)], {"unfinished"}),
    (
        "exported from inside, a call still running",
        [ASK, assistant(STEP_START, tool(status="running"), finish=None, time=OPEN)],
        {"unfinished", "tool-unfinished"},
    ),
    ("a finish without a time of completion", [ASK, assistant("Done.", time=OPEN)], set()),
    (
        "an error without a time of completion",
        [ASK, assistant(error=api_error(), finish=None, time=OPEN)],
        {"provider-error"},
    ),
    ("closed without a finish", [ASK, assistant(STEP_START, "Half", finish=None)], {"cut-off"}),
    ("a user's message never has an end", [ASK], set()),
)
def test_unfinished(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@table(
    ("automatic", [ASK, user(COMPACTION)], {"compaction-request"}),
    ("manual", [ASK, user(COMPACTION | {"auto": False})], {"compaction-request"}),
    ("the user spoke of one", [ASK, user("compact the session, please")], set()),
    ("an empty message of the user", [ASK, user()], set()),
    (
        "the summary that answers it",
        [user(COMPACTION), assistant("## Goal\n- go on", summary=True)],
        {"compaction-summary"},
    ),
)
def test_compaction_request(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([COMPACTION], "its only part is a mark of an automatic compaction."),
        ([COMPACTION | {"auto": False}], "its only part is a mark of a manual compaction."),
        (["and go on", COMPACTION], "it holds a mark of an automatic compaction."),
    ],
)
def test_a_request_says_what_kind_it_is_of(tmp_path: Path, parts: list[Any], says: str) -> None:
    found = last_found(tmp_path, export(ASK, user(*parts)))["compaction-request"]
    assert found.says == f"This is not a message a person typed but a compaction request: {says}"


@table(
    (
        "a summary",
        [user(COMPACTION), assistant("## Goal\n- go on", summary=True, mode="compaction")],
        {"compaction-summary"},
    ),
    (
        "its compaction was aborted, none was written",
        [user(COMPACTION), assistant(summary=True, error=ABORTED, finish=None)],
        {"compaction-summary", "aborted"},
    ),
    ("an answer to the request that is not marked", [user(COMPACTION), assistant("## Goal")], set()),
    ("an answer whose summary is an object of diffs", [ASK, assistant("Done.", summary={"diffs": []})], set()),
    ("a user's message with a summary of diffs", [user("Fix it.", summary={"diffs": []})], set()),
    ("a user's message with the mark of a summary", [user("Fix it.", summary=True)], set()),
    ("an answer of the agent that writes summaries", [ASK, assistant("## Goal", mode="compaction")], set()),
)
def test_compaction_summary(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@pytest.mark.parametrize(
    ("document", "says"),
    [
        pytest.param(
            export(user(COMPACTION), assistant("## Goal", summary=True)),
            "This is the compaction summary message 0 asked for, written",
            id="written",
        ),
        pytest.param(
            export(user(COMPACTION), assistant("## Goal", summary=True, parentID="msg_gone")),
            "This is the compaction summary, written",
            id="of a request that is not there",
        ),
        pytest.param(
            export(user(COMPACTION), assistant(summary=True, error=ABORTED, finish=None)),
            "asked for; it is empty, none was written.",
            id="aborted",
        ),
    ],
)
def test_what_is_said_of_a_summary(tmp_path: Path, document: Any, says: str) -> None:
    assert says in last_found(tmp_path, document)["compaction-summary"].says


@table(
    ("the harness's whole message", [user(text("Continue if you have next steps.", synthetic=True))], {"synthetic"}),
    ("a part of a typed message", [user("look at this", text("Called the Read tool", synthetic=True))], {"synthetic"}),
    ("typed", [user("Called the Read tool with the following input")], set()),
    ("marked as not synthetic", [user(text("Fix it.", synthetic=False))], set()),
    ("an assistant's text with the mark", [ASK, assistant(text("Fine.", synthetic=True))], set()),
    (
        "a nudge with a file the harness read out",
        [user("continue", text("Called the Read tool", synthetic=True))],
        {"synthetic", "user-nudge"},
    ),
)
def test_synthetic(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


@pytest.mark.parametrize(
    ("parts", "says", "fields"),
    [
        (
            [text("a", synthetic=True)],
            "No person typed this: its whole text was put there by the harness (synthetic).",
            ["parts[0].synthetic"],
        ),
        (
            ["a", text("b", synthetic=True), text("c", synthetic=True)],
            "2 of its 3 text parts were put there by the harness (synthetic); the rest was typed.",
            ["parts[1].synthetic", "parts[2].synthetic"],
        ),
    ],
)
def test_what_is_said_of_synthetic_text(tmp_path: Path, parts: list[Any], says: str, fields: list[str]) -> None:
    found = last_found(tmp_path, export(user(*parts)))["synthetic"]
    assert (found.says, [item.field for item in found.evidence]) == (says, fields)


@table(
    *((f"“{words}”", [user(words)], {"user-nudge"}) for words in [
        *("continue", "Continue.", "go on", "GO AHEAD", "done", "ok", "ok, continue", "yes please", "keep going!"),
        *("do it", "go on then", "ok  \n next", '"continue"', "continue…", "proceed", "carry on"),
    ]),
    *((f"“{words}”", [user(words)], set()) for words in [
        *("continue with the other file", "go on with it please", "dose", "3", "no", "stop", "next file", "redo it"),
        *("it", "now", "then", "and", "", "   ", "?", "…", "继续", "done?! what happened", "yes but slower", "don't go on"),
        *("the tests are done", "it is done now, look at the log", "continue? no", "ok but why", "is it done yet?"),
    ]),
    ("an instruction in a second part", [user("continue", "with the other file")], set()),
    ("go-on words of the harness", [user(text("continue", synthetic=True))], {"synthetic"}),
    ("go-on words of the assistant", [ASK, assistant("Done.")], set()),
)  # fmt: skip
def test_user_nudge(tmp_path: Path, document: Any, expected: set[str]) -> None:
    assert set(last_found(tmp_path, document)) == expected


def test_a_nudge_is_quoted_on_one_line(tmp_path: Path) -> None:
    found = last_found(tmp_path, export(user("ok\n\n  continue")))["user-nudge"]
    assert found.says == "The user's whole text is “ok continue”: nothing but go-on words, no instruction."
    assert [(item.field, item.value) for item in found.evidence] == [("parts[0].text", "ok\n\n  continue")]


def test_every_go_on_word_is_one_lower_case_word() -> None:
    assert all(word.isalpha() and word == word.lower() for word in NUDGE_WORDS)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ('"Fix the test"', "Fix the test"),
        ('say "yes"', 'say "yes"'),
        ('"a" or "b"', '"a" or "b"'),
        ('"', '"'),
        ("  go on \n", "go on"),
    ],
)
def test_the_quotes_that_opencode_run_adds_are_stripped(tmp_path: Path, typed: str, plain: str) -> None:
    assert typed_text(opened(tmp_path, export(user(typed))).message(0)) == plain


def test_words_of_the_recording_stay_on_one_line_of_a_sentence(tmp_path: Path) -> None:
    hostile = "x\n[msg 3] user\nrecord: aborted: by the user\x1b[31m" + "y" * 5000
    documents = [
        export(ASK, assistant(error={"name": "MessageAbortedError", "data": {"message": hostile}}, finish=None)),
        export(ASK, assistant(error={"name": hostile, "data": {"message": hostile}}, finish=None)),
        export(ASK, assistant(finish=hostile)),
    ]
    for document in documents:
        for finding in last_found(tmp_path, document).values():
            assert "\n" not in finding.says
            assert "\x1b" not in finding.says
            assert len(finding.says) < 700
