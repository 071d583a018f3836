from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from recordings import assistant, export, reasoning, tool, user, write

from narrator.context import Reach, add_read, take_context
from narrator.draft import Draft, ModelRef, Usage
from narrator.errors import ModelRefusedError
from narrator.excerpt import take_excerpt
from narrator.formats import open_session
from narrator.lookup import Bounds
from narrator.model.rounds import Offer
from narrator.pipeline import EVIDENCE_TOKENS, SHORT_WORDS, ModelWriter, concerns, narrate
from narrator.prompt import Prompt, build_prompt
from narrator.reply import Reply
from narrator.session import Session
from narrator.style import load_style
from narrator.tokens import count_tokens
from narrator.verify import check_essay, evidence_of_context

NOON = datetime(2026, 3, 1, 13, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1)))
TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


class Says:
    """A writer that says what it is told to."""

    def __init__(self, text: str, usage: Usage | None = None) -> None:
        self._reply = Reply(text=text, model="m", finish="stop", usage=usage)
        self.asked: list[Prompt] = []

    def write(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        return self._reply


def recording(folder: Path) -> Session:
    """Two hundred turns, so that message 0 is far from the last ones; a long output and a secret are in message 1."""
    turns: list[dict[str, Any]] = [
        user("Please fix the test."),
        assistant(tool(output=f"token {TOKEN}\n" + "word " * 9000), "It fails."),
    ]
    turns += [message for k in range(100) for message in (user(f"go on {k}"), assistant(reasoning("hm"), f"done {k}"))]
    return open_session(write(folder, export(*turns)))


def prompt_for(session: Session, target: int, budget: int = 4000) -> Prompt:
    return build_prompt(take_context(session, target, Reach(budget=budget)), load_style("essay"))


def drafted(folder: Path, text: str, *, target: int = 201, **how: Any) -> tuple[Draft, Session, Prompt]:
    session = recording(folder)
    prompt = prompt_for(session, target)
    ticks = iter((NOON, NOON + timedelta(seconds=90)))
    draft = narrate(session, prompt, Says(text, how.get("usage")), how.get("model"), now=lambda: next(ticks))
    return draft, session, prompt


def test_a_draft_is_put_together_from_what_went_in_and_what_came_out(tmp_path: Path) -> None:
    model = ModelRef(name="m", settings={"budget": 4000})
    draft, session, prompt = drafted(tmp_path, "# A\n\nB [msg 201].", model=model, usage=Usage(input=9, output=4))
    assert draft.session == prompt.context.session
    assert draft.session.sha256 == session.sha256
    assert draft.target == prompt.context.target
    assert (draft.style.name, draft.style.version) == ("essay", load_style("essay").version)
    assert (draft.model, draft.usage, draft.cost) == (model, Usage(input=9, output=4), None)
    assert draft.findings == prompt.context.findings
    assert draft.essay.written == draft.essay.final == "# A\n\nB [msg 201]."
    assert draft.check == check_essay(draft.essay.final, evidence_of_context(prompt.context, session))
    assert draft.repair == ()


def test_times_are_utc_and_whole_seconds(tmp_path: Path) -> None:
    draft, _, _ = drafted(tmp_path, "A")
    assert (draft.times.started, draft.times.finished) == ("2026-03-01T12:00:00Z", "2026-03-01T12:01:30Z")


def test_the_clock_is_the_world_s_where_none_is_given(tmp_path: Path) -> None:
    session = recording(tmp_path)
    before = datetime.now(UTC).replace(microsecond=0)
    times = narrate(session, prompt_for(session, 3), Says("A"), None).times
    assert before <= datetime.fromisoformat(times.started) <= datetime.fromisoformat(times.finished)
    assert datetime.fromisoformat(times.finished) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        pytest.param("No message is cited.", [], id="nothing cited"),
        pytest.param("B [msg 201]. A [msg 199]. B [msg 201].", [199, 201], id="each once, in the session's order"),
        pytest.param("A [msg 3–5, 9].", [3, 4, 5, 9], id="a range and a list"),
        pytest.param("A [msg msg_0007].", [7], id="by its own id"),
        pytest.param("A [msg 999]. B [msg 4].", [4], id="one that is not there"),
    ],
)
def test_the_evidence_is_what_the_essay_cites_and_nothing_else(text: str, indices: list[int], tmp_path: Path) -> None:
    draft, _, _ = drafted(tmp_path, text)
    assert [message.index for message in draft.evidence] == indices


def test_evidence_is_as_the_writer_saw_it(tmp_path: Path) -> None:
    draft, session, prompt = drafted(tmp_path, "A [msg 1, 3].", target=3)
    seen = {excerpt.index: excerpt for excerpt in prompt.context.window}
    near, target = draft.evidence
    assert seen[1].omitted > 0, "the fixture has to be too long for the window"
    assert (near.text, near.role, near.time) == (seen[1].text, "assistant", seen[1].time)
    assert "characters left out" in near.text
    assert target.text == take_excerpt(session, 3).text


def test_evidence_that_the_writer_saw_a_line_of_is_shown_in_bounds(tmp_path: Path) -> None:
    draft, session, prompt = drafted(tmp_path, "A [msg 1].")
    assert 1 not in {excerpt.index for excerpt in prompt.context.window}
    (far,) = draft.evidence
    assert far.text == take_excerpt(session, 1, limit=EVIDENCE_TOKENS).text
    assert count_tokens(far.text) <= EVIDENCE_TOKENS * 1.2


def test_secrets_that_turn_up_in_the_evidence_are_masked_and_counted(tmp_path: Path) -> None:
    draft, _, _ = drafted(tmp_path, "A [msg 1].")
    assert TOKEN not in draft.model_dump_json()
    assert sum(draft.redacted.values()) == 1


def test_a_writer_that_fails_leaves_no_draft(tmp_path: Path) -> None:
    class Refuses:
        def write(self, prompt: Prompt) -> Reply:
            raise ModelRefusedError(f"not about {prompt.context.target.index}")

    session = recording(tmp_path)
    with pytest.raises(ModelRefusedError, match="not about 3"):
        narrate(session, prompt_for(session, 3), Refuses(), None)


def test_a_model_is_sent_the_prompt_s_messages_and_nothing_else(tmp_path: Path) -> None:
    asked: list[Sequence[Mapping[str, str]]] = []

    class Endpoint:
        def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
            assert offer is None
            asked.append(messages)
            return Reply(text="# A", model="m", finish="stop", usage=None)

    session = recording(tmp_path)
    prompt = prompt_for(session, 3)
    assert ModelWriter(Endpoint(), session, Bounds(rounds=0)).write(prompt).text == "# A"
    assert asked == [prompt.wire()]


SPOILED = "# A\n\nThe user asked for the test to be fixed [msg 0]. It failed 4711 times [msg 1]."
MENDED = "# A\n\nThe user asked for the test to be fixed [msg 0]. It failed [msg 201]."


class Mends(Says):
    """Writes, and then answers what is sent back."""

    def __init__(self, text: str, *answers: str | Exception) -> None:
        super().__init__(text, Usage(input=100, output=10, cached=5, reasoning=1))
        self._answers = list(answers)

    def write(self, prompt: Prompt) -> Reply:
        reply = super().write(prompt)
        if len(self.asked) == 1:
            return reply
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return reply.model_copy(update={"text": answer})


MODEL = ModelRef(name="m")
SOFTENED = "<sentence 1 softened>\nIt failed [msg 201].\n</sentence 1>"


def mended(folder: Path, writer: Mends, model: ModelRef | None = MODEL, **how: Any) -> Draft:
    session = recording(folder)
    return narrate(session, prompt_for(session, 201), writer, model, **how)


def test_what_fails_is_sent_back_and_the_draft_says_what_became_of_it(tmp_path: Path) -> None:
    writer, kept, said = Mends(SPOILED, SOFTENED), list[Draft](), list[str]()
    draft = mended(tmp_path, writer, repairs=1, keep=kept.append, notice=said.append)
    assert (draft.essay.written, draft.essay.final) == (SPOILED, MENDED)
    assert draft.check is not None
    assert draft.check.counts.failed == 0
    assert [(change.accepted, change.how) for change in draft.repair] == [(True, "softened")]
    assert draft.usage == Usage(input=200, output=20, cached=10, reasoning=2)
    assert [message.index for message in draft.evidence] == [0, 201]
    assert [(one.essay.final, one.repair, one.usage) for one in kept] == [
        (SPOILED, (), Usage(input=100, output=10, cached=5, reasoning=1))
    ]
    assert said == []
    assert (len(writer.asked), writer.asked[1].messages == writer.asked[0].messages) == (2, False)


@pytest.mark.parametrize(
    ("text", "model", "rounds"),
    [
        pytest.param(SPOILED, ModelRef(name="m"), 0, id="no round is wanted"),
        pytest.param(SPOILED, None, 3, id="nobody is there to ask"),
        pytest.param("# A\n\nThe user asked for it [msg 0].", ModelRef(name="m"), 3, id="nothing failed"),
    ],
)
def test_nothing_is_sent_back(text: str, model: ModelRef | None, rounds: int, tmp_path: Path) -> None:
    writer, kept = Mends(text), list[Draft]()
    draft = mended(tmp_path, writer, model, repairs=rounds, keep=kept.append)
    assert (len(writer.asked), draft.repair, kept, draft.essay.final) == (1, (), [], text)


def test_a_fault_during_repair_does_not_lose_the_essay(tmp_path: Path) -> None:
    said: list[str] = []
    draft = mended(tmp_path, Mends(SPOILED, ModelRefusedError("no")), repairs=2, notice=said.append)
    assert draft.essay.final == SPOILED
    assert draft.check is not None
    assert not draft.check.clean
    assert draft.usage == Usage(input=100, output=10, cached=5, reasoning=1)
    assert said == ["the essay stays as it was before repair round 1: no"]


def test_a_repair_needs_neither_a_keeper_nor_a_listener(tmp_path: Path) -> None:
    assert mended(tmp_path, Mends(SPOILED, "No."), repairs=1).essay.final == SPOILED


class Looks:
    """An endpoint whose model searches, reads, and then writes."""

    def __init__(self, text: str, *indices: int, words: str = "") -> None:
        self._text, self._indices, self._words = text, indices, words
        self.offer: Offer | None = None

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        assert offer is not None
        assert list(messages) != list(offer.messages)
        self.offer = offer
        if self._words:
            offer.lookups.search_session(self._words)
        if self._indices:
            offer.lookups.read_messages(self._indices)
        return Reply(text=self._text, model="m", finish="stop", usage=None)


def looked_up(folder: Path, endpoint: Looks, target: int = 201) -> tuple[Draft, Prompt]:
    session = recording(folder)
    context = take_context(session, target, Reach(budget=2000))
    prompt = build_prompt(context, load_style("essay"), lookups=Bounds())
    writer = ModelWriter(endpoint, session, Bounds())
    return narrate(session, prompt, writer, ModelRef(name="m", settings={"budget": 2000})), prompt


def test_what_was_read_is_evidence_as_it_was_read(tmp_path: Path) -> None:
    draft, prompt = looked_up(tmp_path, Looks("A [msg 1]. B [msg 20].", 20, words="it fails"))
    assert not {1, 20} & {excerpt.index for excerpt in prompt.context.window}
    hit, read = draft.evidence
    assert (hit.index, hit.text) == (1, "‹text›\nIt fails.\n‹2 other parts of this message not shown here›")
    assert (read.index, read.text) == (20, "‹text›\ngo on 9")
    assert draft.model == ModelRef(name="m", settings={"budget": 2000, "looked_up": 2})


def test_what_the_record_knows_of_what_was_read_is_kept_too(tmp_path: Path) -> None:
    turns = [message for k in range(100) for message in (user(f"go on {k}"), assistant("word " * 50))]
    session = open_session(write(tmp_path, export(user("Go."), assistant(tool(metadata={"exit": 2})), *turns)))
    prompt = build_prompt(take_context(session, 201, Reach(budget=2000)), load_style("essay"), lookups=Bounds())
    assert prompt.context.findings == ()
    writer = ModelWriter(Looks("A [msg 1].", 1), session, Bounds())
    [finding] = narrate(session, prompt, writer, None).findings
    assert (finding.index, finding.kind) == (1, "command-failed")


def test_a_context_with_what_was_read_counts_its_gaps_again(tmp_path: Path) -> None:
    session = recording(tmp_path)
    context = take_context(session, 201, Reach(budget=2000))
    first = context.window[0].index
    more = add_read(context, session, [take_excerpt(session, 20), take_excerpt(session, first)])
    assert [excerpt.index for excerpt in more.window] == [20, *(excerpt.index for excerpt in context.window)]
    assert set(more.gaps) == {20, first}
    assert (more.centre, more.target, more.tokens) == (context.centre, context.target, context.tokens)
    assert add_read(context, session, []) is context


def test_nothing_that_was_given_whole_is_read_again(tmp_path: Path) -> None:
    endpoint = Looks("A.")
    _, prompt = looked_up(tmp_path, endpoint)
    whole = next(excerpt.index for excerpt in prompt.context.window if not excerpt.omitted)
    assert endpoint.offer is not None
    assert endpoint.offer.lookups.read_messages([whole]) == f"record: given to you whole already: msg {whole}\n"


def test_a_model_that_looks_nothing_up_leaves_no_trace(tmp_path: Path) -> None:
    draft, prompt = looked_up(tmp_path, Looks("A."))
    assert draft.model == ModelRef(name="m", settings={"budget": 2000})
    assert draft.findings == prompt.context.findings


LONG = "word " * SHORT_WORDS


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        pytest.param(f"{LONG}[msg 3].", (), id="a good one"),
        pytest.param("word " * (SHORT_WORDS - 2) + "[msg 3].", (), id="just long enough"),
        pytest.param("Yes [msg 3].", ("the essay is short: 3 words",), id="a short one"),
        pytest.param(LONG, ("the essay cites no message of the session",), id="one that cites nothing"),
        pytest.param(
            f"{LONG}[msg 3]. [msg 999]. [msg msg_x]. [msg 999].",
            ("the essay cites what is no message of the session: 999, msg_x",),
            id="one that cites what is not there",
        ),
        pytest.param(
            "[msg 999].",
            (
                "the essay is short: 2 words",
                "the essay cites no message of the session",
                "the essay cites what is no message of the session: 999",
            ),
            id="one with all of it",
        ),
    ],
)
def test_a_reader_is_warned_of(text: str, warnings: tuple[str, ...], tmp_path: Path) -> None:
    draft, session, _ = drafted(tmp_path, text, model=ModelRef(name="m"))
    assert concerns(unchecked(draft), session) == warnings


def unchecked(draft: Draft) -> Draft:
    """The draft as if nothing had failed its check: what the checker finds is not the business of these tests."""
    return draft.model_copy(update={"check": None})


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param("A [msg 999].", "1 statement of the essay failed the check and is marked on its page", id="one"),
        pytest.param(
            "A [msg 999]. B [msg 998].",
            "2 statements of the essay failed the check and are marked on its page",
            id="two",
        ),
    ],
)
def test_a_reader_is_warned_of_what_failed(text: str, warning: str, tmp_path: Path) -> None:
    draft, session, _ = drafted(tmp_path, text)
    assert concerns(draft, session)[-1] == warning


def test_nobody_is_warned_of_what_is_quoted_or_of_an_offline_essay_s_length(tmp_path: Path) -> None:
    text = "Yes [msg 3], `[msg 997]`.\n\n```\n[msg 998]\n```\n"
    draft, session, _ = drafted(tmp_path, text)
    assert concerns(unchecked(draft), session) == ()
    assert [message.index for message in draft.evidence] == [3]


@pytest.mark.parametrize(
    ("least", "words", "short"),
    [(170, 86, False), (170, 80, True), (1100, 299, True), (1100, 300, False), (600, 299, True)],
)
def test_an_essay_is_short_beside_what_was_asked_for(least: int, words: int, short: bool, tmp_path: Path) -> None:
    text = "word " * (words - 2) + "[msg 3]."
    draft, session, _ = drafted(tmp_path, text, model=ModelRef(name="m"))
    assert concerns(unchecked(draft), session, least) == ((f"the essay is short: {words} words",) if short else ())


def test_a_warning_stays_one_line(tmp_path: Path) -> None:
    draft, session, _ = drafted(tmp_path, LONG + " ".join(f"[msg {index}]" for index in range(900, 950)))
    (_, missing) = concerns(unchecked(draft), session)
    assert missing.endswith("900, 901, 902, 903, 904, 905, 906, 907 and 42 more")
