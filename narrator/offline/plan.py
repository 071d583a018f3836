"""What an offline essay says, in order: which rules are applied to which fields of the context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from narrator.context import Context
from narrator.excerpt import Excerpt
from narrator.formats import find_formats
from narrator.markdown import fence
from narrator.offline import sentences as say
from narrator.offline.claims import Claim, Field, frame, state
from narrator.offline.lessons import LESSONS, ORDER, Lesson
from narrator.offline.turns import as_claim, first_of, tell_queue, tell_turn
from narrator.outline import OutlineEntry
from narrator.sanitize import shorten

_BEFORE, _AFTER = 6, 6
"""Messages told before and after the target."""
_SHOWN = 900
"""Characters of one part of the target that are reproduced."""
_PARTS = 5
"""Parts of the target that are reproduced."""


def plan_essay(context: Context) -> tuple[tuple[Claim, ...], ...]:
    """The essay as paragraphs of claims, title first."""
    return tuple(tuple(part) for part in _Plan(context).essay())


def _said(entry: OutlineEntry) -> Field:
    """The words of a listed message; "" when it has none, for what it consists of is no quotation."""
    return Field(entry.index, "text", entry.text if entry.spoken else "")


class _Plan:
    """The context and how its format names fields; a paragraph a method."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.target = context.centre
        self.found = context.of(context.target.index)
        self.names: Mapping[str, str] = find_formats()[context.session.format].fields

    def essay(self) -> Iterator[list[Claim]]:
        lesson = self.lesson()
        yield [frame(f"# {lesson.title}")]
        yield [*self.introduction(), frame(lesson.point)]
        yield [frame("*Written offline, without a model: every sentence about the session is read off the record.*")]
        yield [frame("## The Message Itself")]
        yield [frame(self.verbatim())]
        yield self.object()
        yield [frame("## The Session Around It")]
        yield self.purpose()
        yield from self.told("## What Led Here", self.before(), self.nothing_before())
        yield [frame("## What the Record Knows of It")]
        yield [*self.knowledge(), frame(lesson.unknown)]
        yield from self.told("## What Followed", self.after(), self.nothing_after())
        yield [*self.ending()]
        yield [frame("## What It Teaches")]
        yield [frame(lesson.rule)]

    # ---- fields

    def field(self, excerpt: Excerpt, name: str) -> Field:
        """One of the message's own fields, under the format's name for it."""
        return Field(excerpt.index, self.names.get(name, name), getattr(excerpt, name))

    def tokens(self, excerpt: Excerpt) -> tuple[Field, Field, Field]:
        counts = excerpt.tokens
        return (
            Field(excerpt.index, "tokens.input", counts["in"]),
            Field(excerpt.index, "tokens.cache", counts["read from cache"] + counts["written to cache"]),
            Field(excerpt.index, "tokens.output", counts["out"]),
        )

    def text_of(self, index: int) -> Field | None:
        """What a message of the window says first."""
        excerpt = next((e for e in self.context.window if e.index == index), None)
        passage = excerpt and first_of(excerpt, "text", "synthetic")
        return Field(index, passage.at, passage.text) if passage else None

    # ---- parts

    def lesson(self) -> Lesson:
        kinds = {finding.kind for finding in self.found}
        if self.target.kind == "typed":
            kinds.discard("synthetic")  # part of it was typed, and what was typed is what it is about
        if self.target.by_user:
            return LESSONS["by-user"]
        named = next((kind for kind in ORDER if kind in kinds), None)
        if self.target.role != "user":
            return LESSONS[named or "assistant"]
        return LESSONS[named or ("user" if first_of(self.target, "text", "synthetic") else "silent")]

    def introduction(self) -> list[Claim]:
        place = state(
            say.role_and_place,
            self.field(self.target, "role"),
            Field(None, "count(all)", self.context.count),
            Field(self.target.index, "index", self.target.index),
        )
        return [self.opening_request(), place, *(as_claim(finding) for finding in self.found[:2])]

    def opening_request(self) -> Claim:
        first = self.context.outline.entries[0]
        rule = say.session_asked if first.kind == "typed" and first.spoken else say.session_opened
        return state(rule, _said(first))

    def verbatim(self) -> str:
        shown = [passage for passage in self.target.passages if passage.text.strip()]
        if not shown:
            return fence("<conversation_data>\n</conversation_data>")
        lines = []
        for passage in shown[:_PARTS]:
            text, _ = shorten(passage.text.strip("\n"), _SHOWN)
            lines.append(f"‹{passage.label}›\n{text}")
        if len(shown) > _PARTS:
            lines.append(f"‹and {len(shown) - _PARTS} more›")
        return fence("\n".join(lines))

    def object(self) -> list[Claim]:
        target = self.target
        claims = []
        if not target.passages:
            claims.append(state(say.nothing_in_it, cite=(target.index,)))
        claims.append(state(say.began_and_ended, self.field(target, "created"), self.field(target, "completed")))
        if target.role == "assistant":
            claims.append(state(say.finished, self.field(target, "finish")))
        if target.tokens:
            counted = any(target.tokens.values())
            claims.append(state(say.tokens_counted if counted else say.no_tokens, *self.tokens(target)))
        if target.parent is not None:
            claims.append(self.belonging(target, target.parent))
        return claims

    def belonging(self, target: Excerpt, parent: int) -> Claim:
        asked = self.text_of(parent)
        if asked is None:
            return frame("")
        return state(say.answers, Field(target.index, self.names.get("parent", "parent"), parent), asked)

    def purpose(self) -> list[Claim]:
        context = self.context
        first, last = context.outline.entries[0], context.outline.entries[-1]
        claims = [
            state(
                say.session_runs,
                Field(None, "count(all)", context.count),
                Field(0, self.names.get("created", "created"), context.begun),
                Field(context.count - 1, self.names.get("created", "created"), context.ended),
                cite=(first.index, last.index),
            ),
            state(
                say.summaries_before,
                Field(None, "count(compaction-summary)", context.earlier.get("compaction-summary", 0)),
            ),
        ]
        summary = self.nearest("compaction-summary")
        if summary and (text := self.text_of(summary.index)):
            claims.append(state(say.latest_summary, text))
        typed = self.nearest("typed")
        if typed and typed.index != first.index and (text := self.text_of(typed.index)):
            claims.append(state(say.latest_request, text))
        return claims

    def nearest(self, kind: str) -> Excerpt | None:
        """The last message of a kind before the target, if the window has it."""
        index = self.context.latest.get(kind)
        return next((excerpt for excerpt in self.context.window if excerpt.index == index), None)

    def before(self) -> list[Excerpt]:
        return [e for e in self.context.window if self.target.index - _BEFORE <= e.index < self.target.index]

    def after(self) -> list[Excerpt]:
        return [e for e in self.context.window if self.target.index < e.index <= self.target.index + _AFTER]

    def told(self, heading: str, excerpts: list[Excerpt], nothing: list[Claim]) -> Iterator[list[Claim]]:
        yield [frame(heading)]
        if not excerpts:
            yield nothing
        for start in range(0, len(excerpts), 2):
            yield [
                claim
                for excerpt in excerpts[start : start + 2]
                for claim in tell_turn(self.context, self.names, excerpt)
            ]

    def nothing_before(self) -> list[Claim]:
        return [state(say.nothing_before, cite=(self.target.index,))]

    def nothing_after(self) -> list[Claim]:
        rule = say.never_answered if self.target.kind == "typed" else say.nothing_after
        return [state(rule, cite=(self.target.index,))]

    def knowledge(self) -> list[Claim]:
        target = self.target
        claims = [as_claim(finding) for finding in self.found[2:]]
        typed = self.nearest("typed")
        if typed is not None and typed.index < target.index - 1:
            index = Field(typed.index, "index", typed.index)
            since = Field(None, "count(typed since)", 0)
            claims.append(state(say.nothing_typed_since, index, since, cite=(typed.index, target.index)))
        before = next((e for e in self.context.window if e.index == target.index - 1), None)
        parent = self.names.get("parent", "parent")
        if before is not None and before.parent is not None and before.parent == target.parent:
            claims.append(
                state(
                    say.same_turn,
                    Field(before.index, "index", before.index),
                    Field(before.index, parent, before.parent),
                    cite=(before.index, target.index),
                )
            )
        claims += tell_queue(self.context, self.names, target)
        if target.kind == "compaction-request" and before is not None and before.finish and before.tokens:
            new, cached, _ = self.tokens(before)
            index = Field(before.index, "index", before.index)
            claims.append(state(say.loop_was_going_on, index, self.field(before, "finish"), new, cached))
        if not claims and not self.found:
            claims.append(
                frame("The record states no failure, no interruption and no other irregularity for this message.")
            )
        return claims

    def ending(self) -> list[Claim]:
        last = self.context.outline.entries[-1]
        told = [excerpt.index for excerpt in self.after()]
        if last.index in (*told, self.target.index):
            return []
        role = Field(last.index, "role", last.role)
        return [state(say.session_ended, Field(last.index, "index", last.index), role, _said(last))]
