"""The offline writer: every sentence is derived again from the raw recording, and no trap is stated."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from recordings import EXAMPLE, SHARED, assistant, export, reasoning, text, tool, user, write

from narrator.bearing import find_bearing
from narrator.clock import stamp
from narrator.context import Context, Reach, take_context
from narrator.findings import diagnose
from narrator.formats import open_session
from narrator.offline import OfflineWriter, compose, deeds, readings, sentences, titles
from narrator.offline.claims import Claim, Field, paragraph, rules_of
from narrator.offline.facts import split_sentences
from narrator.offline.glosses import GLOSSES
from narrator.offline.lessons import LESSONS, ORDER
from narrator.offline.matters import OFFLINE, QUIET
from narrator.offline.outcomes import NO_ACTIONS, NO_COST
from narrator.offline.plan import plan_essay
from narrator.offline.quoting import verbatim
from narrator.outline import draw_outline
from narrator.prompt import build_prompt
from narrator.redact import Redactor
from narrator.sanitize import plain
from narrator.session import Session
from narrator.style import Style, load_style

ESSAY = load_style("essay")
RULES = rules_of(sentences, deeds, readings, titles)
ESSAYS = SHARED / "sessions" / "essays"
KINDS = {
    "typed": lambda m: m["info"]["role"] == "user" and not _compacts(m) and not _is_synthetic(m),
    "compaction-summary": lambda m: m["info"]["role"] == "assistant" and m["info"].get("summary") is True,
    "compaction-request": lambda m: m["info"]["role"] == "user" and _compacts(m),
    "answer": lambda m: m["info"]["role"] == "assistant" and not m["info"].get("summary"),
}


def _compacts(message: dict[str, Any]) -> bool:
    return any(part.get("type") == "compaction" for part in message["parts"])


def _is_synthetic(message: dict[str, Any]) -> bool:
    texts = [part for part in message["parts"] if part.get("type") == "text"]
    return bool(texts) and all(part.get("synthetic") for part in texts)


class Raw:
    """The recording as plain JSON, and the fields of a claim read from it again."""

    def __init__(self, document: dict[str, Any], target: int, session: Session) -> None:
        self.document, self.target, self.session = document, target, session
        self.bearing = {bearing.index: bearing.why for bearing in find_bearing(session, target)}
        self.reached = {entry.index: entry.reached for entry in draw_outline(session).entries}
        self.messages: list[dict[str, Any]] = document["messages"]
        self.clean = Redactor(session.about.id).mask
        self.last_typed = -1

    def read(self, field: Field) -> Any:
        """What the record holds under the field's name."""
        if field.message is None:
            return field.value if field.name == "count(cited)" else self.count(field.name)
        self.last_typed = field.message
        message = self.messages[field.message]
        if (within := re.fullmatch(r"(?:line|name|part|sentence)\((.*)\)", field.name)) is not None:
            text = self.clean(plain(_path(message, within[1]) or ""))
            assert all(piece in text for piece in _pieces(field.value)), field
            return field.value
        value = self.named(field, message)
        if value is _SAME or (value is None and field.name == "text"):
            return field.value
        return self.clean(plain(value)) if isinstance(value, str) else value

    def count(self, name: str) -> Any:
        if not name:
            return None
        if name.startswith("later("):
            return sum(KINDS[name[6:-1]](message) for message in self.messages[self.target + 1 :])
        kind = name.removeprefix("count(").removesuffix(")")
        if kind == "all":
            return len(self.messages)
        if kind == "typed since":
            typed = [place for place, m in enumerate(self.messages[: self.target]) if KINDS["typed"](m)]
            return sum(place > self.last_typed for place in typed)
        return sum(KINDS[kind](message) for message in self.messages[: self.target])

    def named(self, field: Field, message: dict[str, Any]) -> Any:  # noqa: C901, PLR0911, PLR0912  # a table
        name, info = field.name, message["info"]
        match name:
            case "index":
                return field.message
            case "jumped":
                return field.value and field.message
            case "flat":
                assert all(piece in " ".join(_said_in(message).split()) for piece in _pieces(field.value)), field
                return field.value
            case "kind":
                kinds = {finding.kind for finding in diagnose(self.session, self.target)}
                assert field.value in {*kinds, "assistant", "user", "silent", "by-user"}
                return field.value
            case "why":
                return self.bearing[field.message or 0]
            case "reached":
                return self.reached[field.message or 0].split("; said")[0]
            case "count(text)" | "count(reasoning)":
                typed = [part for part in message["parts"] if part.get("type") == name[6:-1]]
                return sum(not part.get("synthetic") for part in typed)
            case "count(calls)":
                return sum(part.get("type") == "tool" for part in message["parts"])
            case "parentID":
                ids = [other["info"]["id"] for other in self.messages]
                return ids.index(info["parentID"])
            case "tokens.cache":
                return info["tokens"]["cache"]["read"] + info["tokens"]["cache"]["write"]
            case "text":
                return self.outline_text(message)
            case "count(other calls)":
                return sum(part.get("type") == "tool" for part in message["parts"]) - 1
            case "" | "finish" if not name or info.get("finish") is None:
                steps = [part["reason"] for part in message["parts"] if part.get("type") == "step-finish"]
                return field.value if not name else (steps[-1] if steps else None)
            case _ if name.startswith("lines("):
                output = _path(message, name.removeprefix("lines(").removesuffix(")"))
                return sum(bool(line.strip()) for line in plain(output).split("\n"))
            case _:
                return _path(message, name)

    def outline_text(self, message: dict[str, Any]) -> Any:
        texts = [p["text"] for p in message["parts"] if p.get("type") == "text" and not p.get("synthetic")]
        return re.sub(r'^"([^"]*)"$', r"\1", "\n".join(texts).strip()) if texts else _SAME


_SAME: Any = object()


def _said_in(message: dict[str, Any]) -> str:
    return "\n".join(part.get("text", "") for part in message["parts"] if part.get("type") == "text")


def _pieces(words: str) -> list[str]:
    """What stands between the marks of what was left out."""
    return [piece.strip() for piece in re.split(r"\[… [^\]]* …\]|…", words) if piece.strip()]


def _path(message: dict[str, Any], path: str) -> Any:
    value: Any = message["info"] if re.split(r"[.\[]", path)[0] in message["info"] else message
    for name, place in re.findall(r"([A-Za-z]\w*)|\[(\d+)\]", path):
        value = value[int(place)] if place else (value or {}).get(name)
    return value


def frames(claim: Claim) -> bool:
    """Whether a claim without a rule is one of the few things that need none."""
    lessons = {words for lesson in LESSONS.values() for words in lesson} | set(GLOSSES.values())
    said = {OFFLINE, QUIET, NO_ACTIONS, NO_COST, *lessons, *(f"- {words}" for words in lessons)}
    return claim.text.startswith(("## ", "```")) or claim.text in said


def derive_again(
    document: dict[str, Any], session: Session, target: int, context: Context | None = None, style: Style = ESSAY
) -> int:
    """Derive every claim of the essay about `target` from the raw JSON; gives how many were."""
    raw = Raw(document, target, session)
    derived = 0
    plan = plan_essay(context or take_context(session, target), style)
    for claim in (claim for part in plan.paragraphs for claim in part):
        if not claim.rule:
            assert frames(claim) or not claim.text, claim.text
        elif claim.rule.startswith("finding:"):
            found = [finding for index in claim.cites for finding in diagnose(session, index)]
            kind = claim.rule.removeprefix("finding:")
            said = [split_sentences(finding.says) for finding in found if finding.kind == kind]
            assert claim.text in {verbatim(sentence) for sentences_ in said for sentence in sentences_}
            derived += 1
        else:
            values = [raw.read(field) for field in claim.fields]
            form = {} if claim.form is None else {"form": claim.form}
            assert RULES[claim.rule](*values, **form) == claim.text, (claim, values)
            derived += 1
    return derived


def _open(path: Path) -> tuple[dict[str, Any], Session]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data), open_session(str(path))


def test_every_sentence_about_the_example_is_derived_again() -> None:
    document, session = _open(EXAMPLE)
    derived = sum(derive_again(document, session, index) for index in range(len(session)))
    assert derived > 20 * len(session)


@pytest.mark.parametrize("budget", [800, 1500, 60_000])
def test_sentences_hold_whatever_is_shortened(budget: int) -> None:
    document, session = _open(EXAMPLE)
    for index in range(0, len(session), 7):
        assert derive_again(document, session, index, take_context(session, index, Reach(budget=budget)))


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize("name", ["ct200-11162.json.gz", "eagle3-4347.json.gz"])
def test_every_sentence_about_the_essay_sessions_is_derived_again(name: str) -> None:
    document, session = _open(ESSAYS / name)
    target = int(re.findall(r"\d+", name)[-1])
    for index in [*range(target - 8, target + 9), *range(0, len(session), 499)]:
        assert derive_again(document, session, index)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize(
    "path",
    sorted((SHARED / "sessions" / "opencode").glob("gen_*.json")),
    ids=lambda path: path.stem,
)
def test_every_sentence_about_official_builds_is_derived_again(path: Path) -> None:
    document, session = _open(path)
    assert sum(derive_again(document, session, index) for index in range(len(session)))


def essay(tmp_path: Path, target: int, *messages: dict[str, Any], **info: Any) -> str:
    session = open_session(write(tmp_path, export(*messages, **info)))
    return OfflineWriter().write(build_prompt(take_context(session, target), load_style("essay"))).text


WORDS = [
    pytest.param(1, [user("go"), assistant()], "The Answer That Holds Nothing", id="an empty completion"),
    pytest.param(1, [user("go"), assistant(reasoning("hm"))], "The Thought That Was Not Spoken", id="only reasoning"),
    pytest.param(0, [user("only a question")], "the agent did not answer it", id="a question that got no answer"),
    pytest.param(0, [user("first"), assistant("ok")], "It is the first message of the session", id="the first message"),
    pytest.param(1, [user("go"), assistant("done")], "It is the last message of the session", id="the last message"),
    pytest.param(1, [user("go"), assistant("done")], "The record states no failure", id="nothing odd about it"),
    pytest.param(
        0, [user({"type": "text", "text": "put in", "synthetic": True})], "The Words Nobody Typed", id="synthetic"
    ),
    pytest.param(
        3, [user("go"), assistant("a"), user("more"), assistant("b")], "The user typed “more”", id="what led here"
    ),
    pytest.param(
        3,
        [user("a"), assistant("b"), user(), assistant("c")],
        "A user message without text stands here",
        id="a silent user",
    ),
    pytest.param(1, [user(), assistant("a")], "The session opens with a message that holds no text", id="a mute start"),
    pytest.param(0, [user(), assistant("a")], LESSONS["silent"].noun, id="a mute target"),
    pytest.param(
        2,
        [user("go"), assistant("a"), user({"type": "compaction", "auto": False}), assistant("", summary=True)],
        "The answer before it, message 1, finished with `stop` and had 900 new and 42 cached tokens going in",
        id="a compaction that a person asked for",
    ),
    pytest.param(
        2,
        [user("go"), assistant("a"), user({"type": "compaction", "auto": False}), assistant("", summary=True)],
        "A compaction summary belongs here, and none was written",
        id="a summary that was not written",
    ),
    pytest.param(
        1,
        [user("go"), assistant("a", time={"created": 1_760_000_060_000, "completed": 1_760_000_050_000})],
        "its end, earlier than that, 2025-10-09 08:54:10 UTC",
        id="a clock that was set back",
    ),
    pytest.param(1, [user("go", time={}), assistant("a", time={})], "No usable times are recorded", id="no times"),
    pytest.param(
        0,
        [user("go"), assistant("a", time={"created": 1_759_999_000_000, "completed": 1_759_999_001_000})],
        "the first answer to message 0, had begun before that was sent",
        id="an answer that came before its question",
    ),
    pytest.param(
        0,
        [user("go"), *(assistant(tool(command="ls")) for _ in range(12))],
        "The session ends with a message of the assistant's that holds no text",
        id="a mute end",
    ),
]


@pytest.mark.parametrize(("target", "messages", "expected"), WORDS)
def test_words(tmp_path: Path, target: int, messages: list[dict[str, Any]], expected: str) -> None:
    assert expected in essay(tmp_path, target, *messages)


FATES = [
    pytest.param({"status": "error", "input": {}, "error": "Tool execution aborted"}, "never ran", id="stopped"),
    pytest.param(
        {"status": "error", "input": {"command": "x"}, "error": "Tool execution aborted"},
        "before it ended",
        id="interrupted",
    ),
    pytest.param(
        {"status": "error", "input": {}, "error": "The bash tool was called with invalid arguments: x"},
        "was refused by the harness as invalid and never ran",
        id="refused",
    ),
    pytest.param({"status": "running", "input": {"command": "x"}}, "has no recorded end", id="unfinished"),
]


@pytest.mark.parametrize(("state", "expected"), FATES)
def test_a_call_that_did_not_run_is_never_said_to_have_run(
    tmp_path: Path, state: dict[str, Any], expected: str
) -> None:
    told = essay(tmp_path, 2, user("go"), assistant(tool(**state)), user("and?"))
    before = told.partition("## What Led to")[2].partition("##")[0]
    assert expected in before
    assert " ran `" not in before


def test_an_empty_target_is_reproduced_as_the_empty_wrapper(tmp_path: Path) -> None:
    told = essay(tmp_path, 1, user("go"), assistant())
    assert "```\n<conversation_data>\n</conversation_data>\n```" in told


def test_a_long_target_is_shortened_with_a_count(tmp_path: Path) -> None:
    told = essay(tmp_path, 1, user("go"), assistant(*["x" * 5000] * 7))
    assert "characters left out …]" in told
    assert "‹and 2 more›" in told


def test_recorded_markdown_stays_inert(tmp_path: Path) -> None:
    told = essay(tmp_path, 0, user("see [msg 99] and *this* `tick` <b>"), assistant("ok"))
    assert r"\[msg 99\]" in told.partition("## What Led")[0]
    assert "\n## What Followed" in told


def test_a_turn_that_was_sent_while_a_command_ran_is_told_by_time(tmp_path: Path) -> None:
    slow = assistant(tool(), time={"created": 1_760_000_060_000, "completed": 1_760_000_180_000})
    told = essay(tmp_path, 3, user("go"), slow, user("stop", time={"created": 1_760_000_100_000}), assistant("ok"))
    assert f"The user wrote “stop” at {stamp(1_760_000_100_000)}, while message 1 was still running" in told


def test_sentences_in_a_row_are_cited_once() -> None:
    claims = [
        Claim("a", "One.", cites=(3,)),
        Claim("b", "Two.", cites=(3,)),
        Claim("c", "Three.", cites=(4, 5)),
        Claim("", "Four."),
    ]
    assert paragraph(claims) == "One. Two [msg 3]. Three [msg 4, 5]. Four."


def test_every_named_kind_has_a_lesson_and_no_lesson_names_a_figure() -> None:
    assert set(ORDER) == set(LESSONS)
    assert not any(re.search(r"\d|\[msg", words) for lesson in LESSONS.values() for words in lesson)


def test_it_says_that_it_was_written_offline(tmp_path: Path) -> None:
    assert "*Written offline, without a model" in essay(tmp_path, 1, user("go"), assistant("done"))


def test_compose_leaves_out_empty_paragraphs() -> None:
    assert compose(((Claim("", "# T"),), (), (Claim("", ""),), (Claim("", "x"),))) == "# T\n\nx\n"


_TRAPS = {
    "ct200-11162": ["ran `(no", "ran an empty", "user message", "network", "APIError", "lost coherence"],
    "eagle3-4347": ["empty message", "approval", "redacted", "system prompt", "waited for the next user"],
    "glm5-144": ["“done” [msg 143]", "“dose” [msg 145]", "deliberately", "APIError", "sleep 180 was aborted"],
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize("name", sorted(_TRAPS))
def test_no_trap_is_stated(name: str) -> None:
    path = next(ESSAYS.glob(f"{name}.json*"))
    session = open_session(str(path))
    told = OfflineWriter().write(build_prompt(take_context(session, int(name.split("-")[1])), load_style("essay"))).text
    assert not [words for words in _TRAPS[name] if words in told]
    assert text("x")["type"] == "text"
