"""One section of a saved essay written again: every other character of the essay stays as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from narrator.citations import cited_indices
from narrator.context import Context, add_read
from narrator.draft import Draft, Essay, EvidenceMessage, Redone, Times
from narrator.errors import ModelNoAnswerError, UsageError
from narrator.excerpt import Excerpt, take_excerpt
from narrator.findings import Finding
from narrator.fingerprint import fingerprint_style
from narrator.markdown import prose_of
from narrator.pipeline import EVIDENCE_TOKENS, Writer, charge, evidence_of, iso, requests_of
from narrator.prices import Price
from narrator.prompt import Prompt, PromptMessage, delimiter_key, render_template
from narrator.repair import repair_essay
from narrator.report import Check
from narrator.sections import INTRODUCTION, read_headings, read_parts, style_section
from narrator.session import Session
from narrator.style import Section
from narrator.tokens import count_tokens
from narrator.verify import check_essay, evidence_of_context

_WRAPPED = re.compile(r"\A\s*<section\b[^>\n]*>\n(.*?)\n?</section\b[^>\n]*>\s*\Z", re.DOTALL)
_BLANK_LINES = re.compile(r"\A(?:[ \t]*(?:\r\n|\n|\r))*")
_WORDS = (60, 300)
"""Words of a section of which the style does not say how long it is."""


def build_request(prompt: Prompt, session: Session, draft: Draft, at: int) -> Prompt:
    """What a model is asked for section `at` of a draft's essay: all it was asked for the essay, then the essay itself.

    `prompt` is the one of the essay. Nothing can be looked up; what the essay cites and the prompt does not show is
    shown after it.

    Raises:
        StyleError: a template is missing or wrong.
    """
    essay, part = draft.essay.final, read_parts(draft.essay.final)[at]
    known = known_context(prompt.context, session, draft)
    given = {excerpt.index for excerpt in prompt.context.window}
    cited = _cited(essay, session)
    evidence = [
        (excerpt, known.of(excerpt.index))
        for excerpt in known.window
        if excerpt.index in cited and excerpt.index not in given
    ]
    asked = _asked(prompt, at, essay)
    facts = {
        "style": prompt.style,
        "key": _key(known, essay, evidence),
        "essay": essay,
        "evidence": evidence,
        "number": at,
        "level": part.level,
        "section": essay[part.start : part.end].strip(),
        "asked": asked,
    }
    question = render_template(prompt.style, "redo.user.md.j2", facts)
    last = prompt.messages[-1]
    last = PromptMessage(role=last.role, content=f"{last.content}\n{question}")
    messages = (*prompt.messages[:-1], last)
    return Prompt(
        messages=messages,
        tokens=sum(count_tokens(message.content) for message in messages),
        context=known,
        style=prompt.style,
        words=(asked.words.least, asked.words.most) if asked is not None else _WORDS,
    )


def _asked(prompt: Prompt, at: int, essay: str) -> Section | None:
    """What the style asks of a section."""
    return style_section(prompt.style, at, len(read_parts(essay)))


def _key(context: Context, essay: str, evidence: Sequence[tuple[Excerpt, Sequence[Finding]]]) -> str:
    return delimiter_key(context, [essay, *(excerpt.printed(findings, "") for excerpt, findings in evidence)])


def known_context(context: Context, session: Session, draft: Draft) -> Context:
    """The context with what the writer of a draft saw beside it (what it looked up, what a repair showed it) or cites.

    Of a message that the outline names the writer saw a line; it is shown in full where the essay cites it.
    """
    known = draft.check.known if draft.check is not None else None
    seen = set(known.shown) - set(context.shown) if known is not None else set[int]()
    given = {excerpt.index for excerpt in context.window}
    further = sorted(index for index in seen | _cited(draft.essay.final, session) if index not in given)
    excerpts = [take_excerpt(session, index, limit=EVIDENCE_TOKENS) for index in further if index < len(session)]
    return add_read(context, session, excerpts)


def _cited(essay: str, session: Session) -> set[int]:
    return set(cited_indices(prose_of(essay), session.positions, len(session))[0])


def redo_section(
    session: Session,
    request: Prompt,
    writer: Writer,
    draft: Draft,
    at: int,
    *,
    repairs: int = 0,
    price: Price | None = None,
    keep: Callable[[Draft], None] | None = None,
    notice: Callable[[str], None] | None = None,
    now: Callable[[], datetime] | None = None,
) -> Draft:
    """Have section `at` of a draft's essay written again, check the whole, and repair within the section only.

    The arguments are those of `pipeline.narrate`; `request` is from `build_request`.

    Raises:
        ModelError: the writer gave no usable section; the draft is as it was.
    """
    clock = now or (lambda: datetime.now(UTC))
    reply = writer.write(request)
    try:
        essay = put_section(draft.essay.final, at, reply.text)
    except ValueError as error:
        raise ModelNoAnswerError(f"{reply.model} gave no usable section: {error}; the draft stays as it was") from error
    check = check_essay(essay, evidence_of_context(request.context, session))
    done = _with_section(draft, at, essay, check, session, request, iso(clock()))
    done = charge(done, requests_of(reply) or (None,), price)
    start, end = _span(essay, at)
    if not repairs or not any(start <= failure.span[0] < end for failure in check.failures):
        return done
    if keep is not None:
        keep(done)
    repaired = repair_essay(
        essay,
        check,
        session,
        request,
        writer.write,
        rounds=repairs,
        notice=notice or (lambda _line: None),
        within=lambda text: _span(text, at),
    )
    before = max((change.round for change in draft.repair), default=0)
    changes = (change.model_copy(update={"round": before + change.round}) for change in repaired.changes)
    done = done.model_copy(
        update={
            "evidence": _evidence(draft, repaired.essay, session, request.context),
            "essay": Essay(written=draft.essay.written, final=repaired.essay),
            "check": repaired.check,
            "repair": (*draft.repair, *changes),
            "redacted": session.redacted(),
            "times": Times(started=draft.times.started, finished=iso(clock())),
        }
    )
    return charge(done, repaired.usage, price)


def redo_offline(session: Session, prompt: Prompt, text: str, draft: Draft, at: int, *, now: datetime) -> Draft:
    """The draft with its section `at` as it stands in `text`, the whole essay as the offline writer writes it now.

    Raises:
        UsageError: that essay has no section, or several, of the same heading.
    """
    heading = read_parts(draft.essay.final)[at].heading
    found = [part for part in read_parts(text) if part.heading == heading]
    if len(found) != 1 or not text[found[0].start : found[0].end].strip():
        named = f"the heading “{heading}”" if heading else f"an {INTRODUCTION}"
        raise UsageError(
            f"--redo-section: the offline writer gives {len(found) or 'no'} section with {named} for this message, so "
            "it cannot tell what to write again; --force without --redo-section writes the whole essay"
        )
    essay = put_section(draft.essay.final, at, text[found[0].start : found[0].end])
    known = prompt.model_copy(update={"context": known_context(prompt.context, session, draft)})
    check = check_essay(essay, evidence_of_context(known.context, session))
    return _with_section(draft, at, essay, check, session, known, iso(now))


def put_section(essay: str, at: int, answer: str) -> str:
    """The essay with another text for its section `at`, all else to the letter, blank lines round it included.

    An answer without a heading gets the one that stands there; the tags round the section in the request are taken off.

    Raises:
        ValueError: the answer is not one section: a phrase that says why.
    """
    parts = read_parts(essay)
    part = parts[at]
    wrapped = _WRAPPED.match(answer)
    text = (wrapped[1] if wrapped is not None else answer).strip()
    headings = read_headings(text)
    lines = text.split("\n")
    if headings and headings[0].first == 0 and (at or headings[0].text == _title(essay)):
        own = headings.pop(0)
        lines = lines[own.after :]
        head = f"{'#' * part.level} {own.source}\n" if at else ""
    else:
        head = essay[part.start : part.body].rstrip() + "\n" if at else ""
    if any(heading.level <= part.level for heading in headings):
        raise ValueError("it holds other sections too")
    body = "\n".join(lines).strip("\n")
    if not body.strip():
        raise ValueError("nothing stands in it")
    old = essay[part.start : part.end]
    lead = _BLANK_LINES.match(old)[0] if not at else ""  # type: ignore[index]  # it matches nothing too
    tail = old[len(old.rstrip()) :]
    text = f"{head}\n{body}" if head else body
    changed = f"{essay[: part.start]}{lead}{text}{tail}{essay[part.end :]}"
    if not _fits(essay, changed, at):
        raise ValueError("it would change the sections after it, as a block of code without an end does")
    return changed


def _title(essay: str) -> str:
    """The heading an essay begins with."""
    headings = read_headings(essay)
    return headings[0].text if headings else ""


def _fits(essay: str, changed: str, at: int) -> bool:
    """Whether all sections but one have the same text as before."""
    one, other = read_parts(essay), read_parts(changed)
    if len(one) != len(other) or one[at].level != other[at].level:
        return False
    pairs = (pair for number, pair in enumerate(zip(one, other, strict=True)) if number != at)
    return all(essay[old.start : old.end] == changed[new.start : new.end] for old, new in pairs)


def _span(essay: str, at: int) -> tuple[int, int]:
    part = read_parts(essay)[at]
    return part.start, part.end


def _with_section(
    draft: Draft, at: int, essay: str, check: Check, session: Session, prompt: Prompt, finished: str
) -> Draft:
    """The draft with an essay in which a section is another, and a note of what stood there."""
    part = read_parts(draft.essay.final)[at]
    before = draft.essay.final[part.start : part.end].strip("\r\n")
    sha256 = fingerprint_style(prompt.style)
    redone = Redone(section=part.heading, before=before, prompt_sha256=sha256, finished=finished)
    return draft.model_copy(
        update={
            "evidence": _evidence(draft, essay, session, prompt.context),
            "essay": Essay(written=draft.essay.written, final=essay),
            "check": check,
            "redone": (*draft.redone, redone),
            "redacted": session.redacted(),
            "times": Times(started=draft.times.started, finished=finished),
        }
    )


def _evidence(draft: Draft, essay: str, session: Session, context: Context) -> tuple[EvidenceMessage, ...]:
    """What an essay cites: as the draft has it, where it does."""
    kept = {message.index: message for message in draft.evidence}
    return tuple(kept.get(message.index, message) for message in evidence_of(essay, session, context))
