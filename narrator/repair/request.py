"""What a round of repair asks, and what its answer gives for each sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

from narrator.context import Context
from narrator.excerpt import Excerpt, take_excerpt
from narrator.findings import Finding, diagnose
from narrator.prompt import Prompt, PromptMessage, delimiter_key, render_template
from narrator.record import Record
from narrator.repair.failing import Failing
from narrator.report import Failure
from narrator.sanitize import one_line, shorten
from narrator.session import Session
from narrator.tokens import count_tokens

How: TypeAlias = Literal["corrected", "softened", "dropped"]

MOST_SENTENCES = 20
"""Sentences of one round; further ones wait for the next."""
EVIDENCE_TOKENS, LEAST_TOKENS, MOST_TOKENS = 12_000, 300, 2_500
"""Tokens of all evidence of a round, and of one message at least and at most."""
MOST_FINDINGS = 12
"""Findings of one sentence that are told."""
_QUOTED, _NEAREST, _SENTENCE = 200, 800, 3_000
"""Characters of the words that failed, of the nearest true text, of a sentence (a longer one cannot be repaired)."""
_KINDS = {
    "paragraph": "in a paragraph",
    "heading": "a heading",
    "item": "in a list",
    "cell": "a table cell",
    "fence": "a block of code, without its fences",
}

_BLOCK = re.compile(
    r"<sentence\s+(\d{1,3})(?:\s+\d{8})?(?:\s+(corrected|softened|dropped))?(?:\s+\d{8})?\s*/?>"
    r"(.*?)(?:</sentence\b[^>\n]*>|(?=<sentence\s+\d)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LINE = re.compile(
    r"^\s*(?:\*\*)?(\d{1,3})[.):]\s+(?:\*\*\s*)?(?:(corrected|softened|dropped)\b:?\s*)?(.*)$", re.IGNORECASE
)


class Tried(NamedTuple):
    """What an earlier round gave for a sentence, and why it was not taken."""

    text: str
    why: str


class Given(NamedTuple):
    """What came back for one sentence."""

    how: How
    text: str


class Told(Record):
    """A finding as the request tells it."""

    kind: str
    text: str
    says: str
    nearest: int | None
    nearest_text: str


class Item(Record):
    """A sentence as the request shows it."""

    text: str
    kind: str
    heading: str
    findings: tuple[Told, ...]
    tried: str
    refused: str


def choose_failing(found: Sequence[Failing], tried: Container[str]) -> list[Failing]:
    """The sentences of one round, in order: those not tried before come first where there are too many."""
    short = [one for one in found if len(one.text) <= _SENTENCE]
    return sorted(sorted(short, key=lambda one: one.text in tried)[:MOST_SENTENCES], key=lambda one: one.start)


def build_request(
    prompt: Prompt, session: Session, chosen: Sequence[Failing], tried: Mapping[str, Tried]
) -> tuple[Prompt, tuple[int, ...]]:
    """The prompt of one round, and the messages that it shows.

    `prompt` is the one the essay was written from: its style's templates are taken, and its session's key. `tried`:
    sentence → what came of it before.

    Raises:
        StyleError: a template is missing or wrong.
    """
    items = [_item(one, tried.get(one.text)) for one in chosen]
    wanted = list(_wanted(chosen, len(session)))
    most = max(1, EVIDENCE_TOKENS // LEAST_TOKENS)
    limit = min(MOST_TOKENS, EVIDENCE_TOKENS // max(1, min(len(wanted), most)))
    shown = sorted(wanted[:most])
    evidence = [(take_excerpt(session, index, limit=limit), diagnose(session, index)) for index in shown]
    facts = {
        "key": _key(prompt.context, items, evidence),
        "items": items,
        "evidence": evidence,
        "hidden": len(wanted) - len(shown),
    }
    messages = (
        PromptMessage(role="system", content=render_template(prompt.style, "repair.system.md.j2", facts)),
        PromptMessage(role="user", content=render_template(prompt.style, "repair.user.md.j2", facts)),
    )
    tokens = sum(count_tokens(message.content) for message in messages)
    asked = Prompt(messages=messages, tokens=tokens, context=prompt.context, style=prompt.style, words=prompt.words)
    return asked, tuple(shown)


def _item(one: Failing, tried: Tried | None) -> Item:
    return Item(
        text=one.text,
        kind=_KINDS[one.kind],
        heading=one_line(one.heading, _QUOTED) if one.kind != "heading" else "",
        findings=tuple(_told(failure) for failure in one.failures[:MOST_FINDINGS]),
        tried=one_line(tried.text, _NEAREST) if tried is not None else "",
        refused=tried.why if tried is not None else "",
    )


def _told(failure: Failure) -> Told:
    nearest = failure.nearest
    return Told(
        kind=failure.kind,
        text=one_line(failure.text, _QUOTED),
        says=one_line(failure.says, 2 * _QUOTED),
        nearest=nearest.index if nearest is not None else None,
        nearest_text=shorten(nearest.text, _NEAREST)[0] if nearest is not None else "",
    )


def _wanted(chosen: Iterable[Failing], count: int) -> Iterable[int]:
    """Messages the findings bear on: those with the nearest true text first, then those most of them cite."""
    failures = [failure for one in chosen for failure in one.failures]
    near = Counter(failure.nearest.index for failure in failures if failure.nearest is not None)
    cited = Counter(index for failure in failures for index in failure.cites)
    order = dict.fromkeys(index for index, _ in (*near.most_common(), *cited.most_common()))
    return (index for index in order if 0 <= index < count)


def _key(context: Context, items: Sequence[Item], evidence: Sequence[tuple[Excerpt, Sequence[Finding]]]) -> str:
    shown = [excerpt.printed(findings, "") for excerpt, findings in evidence]
    return delimiter_key(context, [*shown, *(item.model_dump_json() for item in items)])


def read_answer(text: str, count: int) -> dict[int, Given]:
    """What an answer gives for each of `count` sentences, by number from 1; one that is given twice is left out.

    The blocks that were asked for, else a numbered list; anything else gives nothing.
    """
    found = _entries(text)
    times = Counter(number for number, _, _ in found)
    given: dict[int, Given] = {}
    for number, how, inside in found:
        if times[number] == 1 and 1 <= number <= count:
            given[number] = Given(cast("How", how.lower() or "corrected"), inside.strip("\n").strip(" "))
    return given


def find_repeated(text: str) -> set[int]:
    """Numbers of the sentences that an answer gives more than once."""
    times = Counter(number for number, _, _ in _entries(text))
    return {number for number, count in times.items() if count > 1}


def _entries(text: str) -> list[tuple[int, str, str]]:
    return [(int(number), how, inside) for number, how, inside in _BLOCK.findall(text)] or _listed(text)


def _listed(text: str) -> list[tuple[int, str, str]]:
    """The entries of a numbered list; a line without a number goes on with the one before."""
    found: list[tuple[int, str, str]] = []
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match is not None and int(match[1]) == len(found) + 1:
            found.append((int(match[1]), match[2] or "", match[3]))
        elif found and line.strip():
            number, how, inside = found[-1]
            found[-1] = number, how, f"{inside}\n{line}"
    return found
