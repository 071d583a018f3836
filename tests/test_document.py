"""Where the document stands in a recording: what may stand around it, what is mended, and what each refusal says."""

from __future__ import annotations

import hashlib
import json
import re
import time
from typing import Any

import pytest
from recordings import SESSION_ID, assistant, export, text, tool, user

from narrator.document import PIPE, Document, find_document, keys_of, listed
from narrator.errors import SessionError
from narrator.source import Source

SMALL = export(user("go “on” 🙂"), assistant(text('done\n\t"x"'), tool(), time={"created": 1.5}, cost=0.25))
PRETTY = json.dumps(SMALL, indent=2) + "\n"
COMPACT = json.dumps(SMALL, ensure_ascii=False)
BARE = json.dumps(SMALL["messages"], indent=2)
GLUED = f"Exporting session: {SESSION_ID}"
MIGRATION = "Performing one time database migration, may take a few minutes...\nsqlite-migration:done\nDatabase migration complete.\n"


def find(data: str | bytes, *notices: str) -> Document:
    return find_document(Source("f.json", data.encode() if isinstance(data, str) else data, notices))


def refusal(data: str | bytes) -> str:
    with pytest.raises(SessionError) as caught:
        find(data)
    said = str(caught.value)
    assert said.startswith("f.json: ")
    assert "\n" not in said
    return said.removeprefix("f.json: ")


def whole(document: Document) -> Any:
    return json.loads(bytes(document.text))


# --- what stands around it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(PRETTY, SMALL, id="as opencode prints it"),
        pytest.param(COMPACT, SMALL, id="on one line"),
        pytest.param(BARE, SMALL["messages"], id="the bare list of messages"),
        pytest.param(json.dumps(SMALL, indent=0), SMALL, id="indented by nothing"),
        pytest.param("\r\n  \t" + PRETTY.replace("\n", "\r\n"), SMALL, id="white space before it, CRLF in it"),
        pytest.param('{"messages": [], "info": {}}', {"messages": [], "info": {}}, id="no message at all"),
    ],
)
def test_a_document_alone_is_the_whole_recording(data: str, expected: Any) -> None:
    found = find(data)
    assert whole(found) == expected
    assert found.notices == ()


def test_what_was_undone_before_is_told_first() -> None:
    assert find(f"x\n{PRETTY}", "unpacked").notices[0] == "unpacked"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(f"{GLUED}\n", "", {"before": 1}, id="the header of 1.18.33"),
        pytest.param(GLUED, "", {"before": 1}, id="the header of 1.1.65, glued to the brace"),
        pytest.param(MIGRATION, "", {"before": 3}, id="the banner of 1.2.1"),
        pytest.param(MIGRATION + GLUED, "", {"before": 4}, id="banner and glued header"),
        pytest.param("INFO x=1\n", "\nINFO bye\nWARN no\n", {"before": 1, "after": 2}, id="log lines on both sides"),
        pytest.param("[INFO] a\n[1/3] b\n[12:01:09] c\n", "[INFO] d", {"before": 3, "after": 1}, id="log lines in brackets"),
        pytest.param('{"level": 30, "msg": "up"}\n', '\n{"level": 30}\n', {"before": 1, "after": 1}, id="log lines of JSON"),
        pytest.param('{"info": "up"}\n', '{"info": "down"}', {"before": 1, "after": 1}, id="log lines with a key `info`"),
        pytest.param('{"messages": 3}\n', '{"messages": "0"}', {"before": 1, "after": 1}, id="log lines with a key `messages`"),
        pytest.param("[]\n{}\n[{}]\n", "[1]", {"before": 3, "after": 1}, id="empty values"),
        pytest.param('{"a": {"b":\n', "", {"before": 1}, id="a torn log line of JSON"),
        pytest.param('{"a": NaN, "b": "\\ud83d"}\n', "", {"before": 1}, id="a log line no strict parser reads"),
        pytest.param('{"a": "\\ud83d"}\n{"b": "\\ud83d"}\n', "", {"before": 2}, id="two of them"),
        pytest.param("", "\x00" * 8, {"after": 1}, id="padding"),
    ],
)  # fmt: skip
def test_what_stands_around_it_is_skipped_and_counted(before: str, after: str, told: dict[str, int]) -> None:
    found = find(before + PRETTY + after)
    assert whole(found) == SMALL
    assert set(found.top) == {"info", "messages"}
    sides = {skipped[2]: int(skipped[1]) for notice in find(before + PRETTY + after).notices if (skipped := re.match(r"f\.json: skipped (\d+) log line\(s\) (before|after) the JSON", notice))}  # fmt: skip
    assert sides == told


def test_the_skipped_line_is_quoted_by_its_head() -> None:
    assert find("é" * 100 + "\n" + PRETTY).notices == (
        f"f.json: skipped 1 log line(s) before the JSON, beginning '{'é' * 40}'",
    )


def test_thousands_of_json_log_lines_may_come_first() -> None:
    assert whole(find('{"level": 30}\n' * 9_000 + PRETTY)) == SMALL


def test_the_text_is_the_document_without_what_stood_around_it() -> None:
    assert bytes(find("x\n" + COMPACT + "\nbye").text) == COMPACT.encode() + b"\n"
    assert hashlib.sha256(find(PRETTY).text).digest() == hashlib.sha256(PRETTY.encode()).digest()


@pytest.mark.parametrize(
    ("data", "line"),
    [
        pytest.param(PRETTY + PRETTY, PRETTY.count("\n") + 1, id="one behind the other"),
        pytest.param(COMPACT + COMPACT, 1, id="on one line"),
        pytest.param("x\n" + COMPACT + "\ny\n" + COMPACT, 4, id="log lines between"),
        pytest.param(PRETTY + GLUED + PRETTY, PRETTY.count("\n") + 1, id="the second behind a glued header"),
        pytest.param(BARE + "\n" + BARE, BARE.count("\n") + 2, id="two bare lists"),
        pytest.param(PRETTY + PRETTY[:200], PRETTY.count("\n") + 1, id="the second cut short"),
        pytest.param(PRETTY.replace("0.25", "NaN") + PRETTY, PRETTY.count("\n") + 1, id="the first mended"),
    ],
)
def test_a_second_session_is_an_error_that_gives_its_line(data: str, line: int) -> None:
    assert refusal(data) == f"two documents in one file, the second at line {line}; use a file for each"


# --- no fragment ---------------------------------------------------------------------------------------------------

INNER = export(user("inner"))
NESTED = {**SMALL, "subagents": [INNER, INNER]}


@pytest.mark.parametrize("indent", [None, 0, 1, 2, "\t"])
@pytest.mark.parametrize("damage", ["cut", "a stray bracket", "a stray brace"])
def test_a_session_inside_a_damaged_one_is_never_taken_for_it(indent: int | str | None, damage: str) -> None:
    whole_text = json.dumps(NESTED, indent=indent)
    place = whole_text.index('"messages"') - 1
    damaged = (
        whole_text[:-3]
        if damage == "cut"
        else f"{whole_text[:place]}{']' if 'bracket' in damage else '}'}{whole_text[place:]}"
    )
    with pytest.raises(SessionError):
        find(damaged)


def test_a_session_inside_another_document_is_never_taken_for_the_recording() -> None:
    assert refusal(f'{{"schema_version": "ATIF-v1.6",\n"steps": [\n{COMPACT}\n]}}').startswith("an ATIF trajectory")
    assert refusal(f'{{"level": 30, "seen":\n{COMPACT}\n}}').startswith("no `messages` list at the top level")


def test_an_inner_session_behind_a_glued_header_in_a_string_is_never_taken() -> None:
    inner = json.dumps(INNER)
    with pytest.raises(SessionError):
        find(f'{{"info": {{}}, "messages": [ses_abc{inner}')


def test_a_torn_first_export_is_not_passed_over_for_a_whole_second_one() -> None:
    assert refusal(PRETTY[:300] + "\n" + PRETTY).startswith("not valid JSON at byte ")


CUTS = {"pretty": PRETTY, "compact": COMPACT, "bare": BARE, "behind a header": f"{GLUED}{PRETTY}"}


@pytest.mark.parametrize("shape", CUTS)
def test_a_recording_cut_at_any_byte_names_its_end(shape: str) -> None:
    data = CUTS[shape].encode()
    first = data.index(b"{" if shape == "behind a header" else data.lstrip()[:1])
    for cut in range(first + 1, len(data.rstrip())):
        said = refusal(data[:cut])
        assert re.fullmatch(rf"the file ends (inside a string|before the document does), at byte {cut}(; .*)?; write it with .*", said), (cut, said)  # fmt: skip
    assert find(data.rstrip()).messages


@pytest.mark.parametrize(
    ("tail", "inside"),
    [('"abc', True), ('"ab\\', True), ('"ab\\"', True), ('"ab"', False), ('"ab\\\\"', False), ("tru", False), ("-", False), ("0.", False), ("1e", False)],
)  # fmt: skip
def test_a_cut_says_whether_it_fell_into_a_string(tail: str, inside: bool) -> None:
    data = f'{{"info": {{}}, "messages": [{tail}'
    assert ("inside a string" in refusal(data)) is inside
    assert f"at byte {len(data)}" in refusal(data)


@pytest.mark.parametrize(
    ("blocks", "hint"),
    [(1, "65536 = 1 × 64 KiB"), (2, "131072 = 2 × 64 KiB"), (6, "393216 = 6 × 64 KiB")],
)
def test_a_cut_at_a_multiple_of_a_pipe_says_what_did_it(blocks: int, hint: str) -> None:
    long = json.dumps(export(user("x" * PIPE * 7)))
    said = refusal(long[: PIPE * blocks])
    assert f"{hint}, so probably a piped `opencode export`; write it with `opencode export ID > file`" in said
    assert "64 KiB" not in refusal(long[: PIPE * blocks - 1])


# --- mending -------------------------------------------------------------------------------------------------------


def said_by(document: Document) -> Any:
    return whole(document)["messages"][0]["parts"][0]["text"]


def with_text(raw: str) -> str:
    """A session whose first text is `raw`, as it stands in the JSON, quotes included."""
    return json.dumps(export(user("@@"), assistant("ok"))).replace('"@@"', raw)


@pytest.mark.parametrize(
    ("raw", "read", "mended"),
    [
        pytest.param(r'"a\ud83d\ude42b"', "a🙂b", 0, id="a pair is a character"),
        pytest.param(r'"a\uD83D\uDE42"', "a🙂", 0, id="a pair in capitals"),
        pytest.param(r'"a\ud83d"', "a\ufffd", 1, id="a high half at the end of a string"),
        pytest.param(r'"\ud83d and more"', "\ufffd and more", 1, id="a high half before text"),
        pytest.param(r'"\ud83d\n"', "\ufffd\n", 1, id="a high half before another escape"),
        pytest.param(r'"\ud83d\u0041"', "\ufffdA", 1, id="a high half before a letter's escape"),
        pytest.param(r'"\ude42"', "\ufffd", 1, id="a low half alone"),
        pytest.param(r'"\ud83d\ud83d\ude42\ude42"', "\ufffd🙂\ufffd", 2, id="halves on both sides of a pair"),
        pytest.param(r'"\\ud83d"', "\\ud83d", 0, id="an escaped backslash and text"),
        pytest.param(r'"\\\ud83d"', "\\\ufffd", 1, id="an escaped backslash and a half"),
        pytest.param(r'"\\\\ud83d \ud83d"', "\\\\ud83d \ufffd", 1, id="two escaped backslashes and text, then a half"),
    ],
)
def test_lone_surrogates_are_replaced_and_nothing_else(raw: str, read: str, mended: int) -> None:
    found = find(with_text(raw))
    assert said_by(found) == read
    assert found.notices == ((f"f.json: {mended} lone surrogate(s) read as U+FFFD",) if mended else ())


def test_a_lone_surrogate_in_a_key_is_replaced() -> None:
    assert whole(find('{"info": {}, "messages": [{"info": {}, "a\\ud83d": 1}]}'))["messages"] == [
        {"info": {}, "a\ufffd": 1}
    ]


def test_a_lone_surrogate_in_the_last_string_of_the_document_is_replaced() -> None:
    assert whole(find('{"messages":[],"info":"\\ud83d"}'))["info"] == "\ufffd"


def test_a_file_with_a_lone_surrogate_that_is_cut_is_cut() -> None:
    data = with_text(r'"a\ud83d"')[:-10]
    assert f"at byte {len(data)}" in refusal(data)


@pytest.mark.parametrize(
    ("number", "read"),
    [("NaN", None), ("Infinity", None), ("-Infinity", None), ("[NaN, -Infinity,Infinity]", [None] * 3)],
)
def test_numbers_that_strict_json_lacks_become_null(number: str, read: Any) -> None:
    found = find(f'{{"messages": [{{"info": {{}}, "cost": {number}}}]}}')
    assert whole(found)["messages"][0]["cost"] == read
    assert found.notices == (f"f.json: {1 if read is None else 3} NaN or Infinity read as null",)


def test_their_names_inside_strings_stay() -> None:
    words = r'"NaN \"Infinity\" \\"'
    found = find(with_text(words).replace('"finish": "stop"', '"finish": NaN'))
    assert said_by(found) == 'NaN "Infinity" \\'
    assert found.notices == ("f.json: 1 NaN or Infinity read as null",)


def test_both_kinds_are_mended_in_one_file() -> None:
    found = find(with_text(r'"\ud83d"').replace('"finish": "stop"', '"finish": NaN') + "\nbye")
    assert said_by(found) == "\ufffd"
    assert [notice.split(": ")[1][:8] for notice in found.notices] == ["1 lone s", "1 NaN or", "skipped "]


def test_a_word_that_only_begins_like_a_number_is_no_number() -> None:
    assert refusal('{"messages": [NaNny]}').startswith("not valid JSON at byte 14 (line 1)")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"messages": [], "t\xe9l": 1}', id="in a key"),
        pytest.param(b'{"messages": [], "title": "caf\xe9"}', id="in a string beside the messages"),
        pytest.param(b'{"messages": [], "info": {"t\xe9l": 1}}', id="in a key of the info"),
    ],
)
def test_bytes_that_are_not_utf8_are_replaced_and_told(data: bytes) -> None:
    found = find(data)
    assert "\ufffd" in bytes(found.text).decode()
    assert found.notices == ("f.json: 1 byte(s) that are not UTF-8 read as U+FFFD",)


def test_bytes_that_are_not_utf8_inside_a_message_are_its_readers_matter() -> None:
    data = with_text('"caf@"').encode().replace(b"@", b"\xe9")
    assert find(data).notices == ()
    assert b"caf\xe9" in bytes(find(data).messages[0])


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999", "0." + "9" * 5000, "1" * 400 + ".5"])
@pytest.mark.parametrize("place", ["beside the messages", "in the info", "in a message"])
def test_a_number_that_no_machine_holds_is_no_reason_to_refuse(number: str, place: str) -> None:
    data = {
        "beside the messages": f'{{"messages": [{{"info": {{}}}}], "x": {number}, "y": "z"}}',
        "in the info": f'{{"info": {{"time": {number}}}, "messages": [{{"info": {{}}}}], "y": "z"}}',
        "in a message": f'{{"messages": [{{"info": {{}}, "x": {number}}}], "y": "z"}}',
    }[place]
    found = find(data)
    assert len(found.messages) == 1
    assert found.top["y"] == "z"


def test_malformed_json_behind_such_a_number_is_malformed() -> None:
    assert refusal(f'{{"x": {"9" * 5000}, "messages": [], }}').startswith("not valid JSON at byte 5024 (line 1)")


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param('{"info": {},\n "messages": [1,]}', "not valid JSON at byte 29 (line 2): trailing comma in array", id="a trailing comma"),
        pytest.param("x\n{'info': {}}", "not valid JSON", id="single quotes"),
        pytest.param('{"info": {}, "messages": [undefined]}', "not valid JSON at byte 26 (line 1): invalid character", id="undefined"),
        pytest.param('{"messages": ["a\nb"]}', "not valid JSON at byte 16 (line 1): invalid character", id="a raw line feed in a string"),
        pytest.param('{"messages": ["a\x00b"]}', "not valid JSON at byte 16 (line 1): invalid character", id="a raw NUL in a string"),
        pytest.param('{"messages": [NaN,\nx]}', "not valid JSON in line 2: invalid character", id="malformed behind a NaN that was mended"),
        pytest.param(r'{"messages": ["\x41"]}', "not valid JSON at byte 16 (line 1): invalid escaped character", id="an escape of another language"),
        pytest.param('{"messages": null}', "`messages` at the top level is not a list", id="messages null"),
        pytest.param('{"messages": {"0": {}}}', "`messages` at the top level is not a list", id="messages an object"),
        pytest.param('{"messages": "x", "info": {}}', "`messages` at the top level is not a list", id="messages a string"),
        pytest.param('{"info": {"id": "ses_1"}}', "no `messages` list at the top level; keys seen: info", id="messages missing"),
        pytest.param("{}", "no `messages` list at the top level; keys seen: none", id="an empty object"),
        pytest.param("[]", "a JSON list without messages", id="an empty list"),
        pytest.param("[null, 1]", "a JSON list that is not a list of messages; keys of its first: none", id="a list of nothing"),
        pytest.param('[{"info": {}}]', "a JSON list that is not a list of messages; keys of its first: info", id="half a message"),
        pytest.param('[{"id": "ses_1", "title": "x"}]', "a session list (`opencode session list`)", id="a session list"),
        pytest.param('{"type":"step_start","sessionID":"ses_1","part":{}}\n{"type":"text","sessionID":"ses_1"}', "an event stream of `opencode run`, without the user's messages; use `opencode export ID > file`", id="an event stream"),
        pytest.param("# Session\n\n## User\n\nhello", "a Markdown transcript; narrate needs the JSON", id="Markdown"),
        pytest.param("Title\n## User\n{x", "a Markdown transcript; narrate needs the JSON", id="Markdown with a heading further on"),
        pytest.param("hello", "no JSON document starts at the head of any line", id="prose"),
        pytest.param('say {"messages": []}', "no JSON document starts at the head of any line", id="a brace inside a line"),
        pytest.param("\x00" * 9 + "a", "no JSON document starts at the head of any line", id="NUL bytes"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_the_file_is(data: str, said: str) -> None:
    assert refusal(data).startswith(said)


@pytest.mark.parametrize(
    ("first", "called"),
    [
        ({"schema_version": "ATIF-v1.6", "steps": []}, "an ATIF trajectory"),
        ({"sessionId": "a", "projectHash": "b", "startTime": "c"}, "a Gemini CLI session"),
        ({"environment": "x", "trajectory": [], "history": [], "info": {}}, "a SWE-agent trajectory"),
        ({"history": [{"role": "system"}]}, "a SWE-agent trajectory"),
        ({"version": 2, "eval": {}, "samples": []}, "an Inspect log"),
        ({"timestamp": "x", "type": "session_meta", "payload": {}}, "a Codex rollout"),
        ({"type": "user", "uuid": "x", "sessionId": "y", "message": {}}, "a Claude Code session"),
        ({"type": "summary", "summary": "x", "leafUuid": "y"}, "a Claude Code session whose first line is a summary"),
        ({"role": "user", "content": "hi"}, "a list of chat messages"),
        ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}], "a list of chat messages"),
    ],
)
def test_what_another_tool_writes_is_called_by_its_name(first: Any, called: str) -> None:
    assert refusal(json.dumps(first) + "\n" + json.dumps({"x": 1})) == f"{called}, which this version does not read"


def test_a_name_is_preferred_to_the_keys_of_a_line_before_it() -> None:
    assert refusal('{"type": "x"}\n{"timestamp": 1, "payload": {}}\n').startswith("a Codex rollout")


def test_the_first_name_is_the_one_that_is_said() -> None:
    assert refusal('{"timestamp": 1, "payload": {}}\n{"role": 1, "content": 2}\n').startswith("a Codex rollout")


@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
def test_nesting_without_end_is_refused(opening: str) -> None:
    depth = 100_000
    closing = ("]" if opening == "[" else "}") * depth
    assert refusal(with_text(f"{opening * depth}1{closing}")) == "nested too deeply to read"
    assert refusal(opening * depth) == "nested too deeply to read"


def test_values_are_looked_at_only_so_often() -> None:
    assert refusal('{"level": 30}\n' * 10_001 + PRETTY).startswith("no `messages` list at the top level")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PRETTY[:-3] + "x" * 3_000_000, id="a damaged end"),
        pytest.param('{"a":[1,\n' * 400_000, id="brackets that only open"),
        pytest.param('{"a": NaN}\n' * 300_000, id="log lines no strict parser reads"),
        pytest.param('{"a": "\n' * 400_000, id="strings that do not close"),
        pytest.param("ses_a ses_b " * 300_000, id="session ids without end on one line"),
    ],
)
def test_a_hopeless_recording_is_given_up_in_time(data: str) -> None:
    begun = time.process_time()
    assert refusal(data)
    assert time.process_time() - begun < 5


# --- looking at entries --------------------------------------------------------------------------------------------


def test_a_list_is_judged_by_its_first_entries_not_by_the_first_alone() -> None:
    found = find(f'[null, 7, "x", []{"".join(", " + json.dumps(entry) for entry in SMALL["messages"])}]')
    assert keys_of(found.messages) == {"info", "parts"}
    assert len(found.messages) == 6
    assert found.top == {}


def test_an_entry_that_cannot_be_looked_at_is_passed_over() -> None:
    found = find(b'{"messages": [{"t\xe9l": 1}, {"info": 1}]}')
    assert keys_of(found.messages) == {"info"}


@pytest.mark.parametrize(
    ("words", "shown"),
    [([], "none"), (["b", "a"], "a, b"), (["x\n\x1b[31m"], r"x\n\x1b[31m"), (["k" * 99], "k" * 60)],
)
def test_keys_are_listed_on_one_line(words: list[str], shown: str) -> None:
    assert listed(words) == shown


def test_many_keys_are_counted() -> None:
    assert listed(f"k{number}" for number in range(11)) == "k0, k1, k10, k2, k3, k4, k5, k6 and 3 more"
