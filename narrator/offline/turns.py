"""What an offline essay says of one turn: who wrote, what was called, what came back."""

from __future__ import annotations

from collections.abc import Mapping

from narrator.context import Context
from narrator.excerpt import Excerpt
from narrator.findings import Finding
from narrator.markdown import literal
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, state
from narrator.passages import Passage

_HOW_IT_ENDED = ("aborted", "provider-error", "cut-off", "unfinished", "empty-completion", "tool-aborted")
_TELLING = frozenset(
    [*_HOW_IT_ENDED, "compaction-request", "tool-unfinished", "invalid-tool-call", "subagent", "gap", "reverted"]
)
"""Findings that are told of a neighbour; the others are said already by its call's exit code, error or output."""


_PRINTING = frozenset(["bash", "grep", "glob", "task", "webfetch"])
"""Tools whose output is a result to tell; of others it is told when it is one line."""


def tell_turn(context: Context, names: Mapping[str, str], excerpt: Excerpt) -> list[Claim]:
    """What one message did, and what the record knows of it."""
    findings = [as_claim(finding) for finding in context.of(excerpt.index) if finding.kind in _TELLING]
    return [*_spoken(excerpt, names), *findings, *tell_queue(context, names, excerpt)]


def _spoken(excerpt: Excerpt, names: Mapping[str, str]) -> list[Claim]:
    if excerpt.kind == "compaction-request":
        return []
    said = first_of(excerpt, "text", "synthetic")
    words = Field(excerpt.index, said.at, said.text) if said else None
    if excerpt.kind == "compaction-summary":
        return [state(say.summary_began, words)] if words else []
    if excerpt.role == "assistant":
        return _answered(excerpt, words, names)
    if words is None:
        return [state(say.user_silent, cite=(excerpt.index,))]
    return [state(say.harness_put_in if said and said.kind == "synthetic" else say.user_wrote, words)]


def _answered(excerpt: Excerpt, words: Field | None, names: Mapping[str, str]) -> list[Claim]:
    call, thought = first_of(excerpt, "input"), first_of(excerpt, "reasoning")
    if call is not None:
        return _called(excerpt, call, words, names)
    if words is not None:
        return [state(say.assistant_said, words)]
    return [state(say.assistant_thought, Field(excerpt.index, thought.at, thought.text))] if thought else []


def _called(excerpt: Excerpt, call: Passage, words: Field | None, names: Mapping[str, str]) -> list[Claim]:
    """What a call did and brought; of one that did not run to its end, the finding says all there is to say."""
    if call.fate != "ran":
        return [state(say.assistant_said, words)] if words else []
    argument, value = call.subject
    subject = Field(excerpt.index, f"{call.at}.{argument}", value) if argument else Field(excerpt.index, "", "")
    name = Field(excerpt.index, _named(names, call, "name"), call.tool)
    others = Field(excerpt.index, "count(other calls)", excerpt.calls - 1)
    claims = [
        state(say.user_ran, subject)
        if excerpt.by_user
        else state(say.assistant_did, name, subject, words or Field(excerpt.index, "text", None), others)
    ]
    for passage in excerpt.passages:
        if _stem(passage) != _stem(call):
            continue
        if passage.kind == "output" and (passage.tool in _PRINTING or "\n" not in passage.text.strip()):
            output = Field(excerpt.index, passage.at, passage.text)
            lines = Field(excerpt.index, f"lines({passage.at})", passage.lines)
            claims.append(
                state(say.call_printed, output, lines, Field(excerpt.index, _named(names, call, "exit"), passage.exit))
            )
        elif passage.kind == "error":
            claims.append(state(say.call_failed, Field(excerpt.index, passage.at, passage.text)))
    return claims


def _named(names: Mapping[str, str], call: Passage, name: str) -> str:
    """The format's path of a call's field."""
    return f"{_stem(call)}.{names.get('call.' + name, name)}"


def tell_queue(context: Context, names: Mapping[str, str], excerpt: Excerpt) -> list[Claim]:
    """A user turn that was sent while the message before it was still running: by time, not by place."""
    before = next((other for other in context.window if other.index == excerpt.during), None)
    if before is None:
        return []
    created = names.get("created", "created")
    return [
        state(
            say.sent_while_running,
            Field(excerpt.index, created, excerpt.created),
            Field(before.index, "index", before.index),
            Field(before.index, created, before.created),
            Field(before.index, names.get("completed", "completed"), before.completed),
        )
    ]


def as_claim(finding: Finding) -> Claim:
    """A finding as a sentence."""
    fields = tuple(Field(item.index, item.field, item.value) for item in finding.evidence)
    indices = {finding.index, *(item.index for item in finding.evidence)}
    return Claim(f"finding:{finding.kind}", literal(finding.says), fields, tuple(sorted(indices)))


def first_of(excerpt: Excerpt, *kinds: str) -> Passage | None:
    """The first passage of one of the kinds that holds anything."""
    return next((p for p in excerpt.passages if p.kind in kinds and p.text.strip()), None)


def _stem(passage: Passage) -> str:
    """The part a passage was taken from: `parts[2]`."""
    return passage.at.split(".")[0]
