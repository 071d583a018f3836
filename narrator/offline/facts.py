"""The context of an essay as fields: what the record holds, under the names that its format gives it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from narrator.context import Context
from narrator.excerpt import Excerpt
from narrator.findings import Finding
from narrator.formats import find_formats
from narrator.offline.claims import Claim, Field
from narrator.offline.quoting import telling_line, verbatim
from narrator.outline import OutlineEntry
from narrator.passages import Passage

_NAMED = re.compile(r"\bmessages? (\d+)")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_ARGUMENT = re.compile(r"(?m)^(\w+): (.+)$")


class Facts:
    """A context, and how its format names fields."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.target = context.centre
        self.found = context.of(context.target.index)
        self.kinds = frozenset(finding.kind for finding in self.found)
        self.names: Mapping[str, str] = find_formats()[context.session.format].fields
        self.shown = frozenset(context.shown)
        """Messages that an essay may name."""
        self.window: dict[int, Excerpt] = {excerpt.index: excerpt for excerpt in context.window}

    def at(self, index: int | None) -> Excerpt | None:
        """A message of the window."""
        return None if index is None else self.window.get(index)

    def latest(self, kind: str) -> Excerpt | None:
        """The last message of a kind before the target, if the window has it."""
        return self.at(self.context.latest.get(kind))

    # ---- fields

    def field(self, excerpt: Excerpt, name: str) -> Field:
        """One of the message's own fields, under the format's name for it."""
        return Field(excerpt.index, self.names.get(name, name), getattr(excerpt, name))

    def count(self, kind: str) -> Field:
        """How many messages of a kind come before the target."""
        return Field(None, f"count({kind})", self.context.earlier.get(kind, 0))

    def number(self, index: int) -> Field:
        """A message's number."""
        return Field(index, "index", index)

    def tokens(self, excerpt: Excerpt) -> tuple[Field, Field, Field]:
        """What went in anew, what was read from or written to the cache, and what came out."""
        counts = excerpt.tokens
        return (
            Field(excerpt.index, "tokens.input", counts["in"]),
            Field(excerpt.index, "tokens.cache", counts["read from cache"] + counts["written to cache"]),
            Field(excerpt.index, "tokens.output", counts["out"]),
        )

    def words(self, excerpt: Excerpt | None) -> Field | None:
        """What a message says first."""
        passage = excerpt and first_of(excerpt, "text", "synthetic")
        return Field(excerpt.index, passage.at, passage.text) if excerpt and passage else None

    def said(self, entry: OutlineEntry) -> Field:
        """The words of a listed message; "" when it has none, for what it consists of is no quotation."""
        return Field(entry.index, "text", entry.text if entry.spoken else "")

    def flat(self, entry: OutlineEntry) -> Field:
        """The same on one line, as far as it is listed."""
        return Field(entry.index, "flat", entry.text if entry.spoken else "")

    def subject(self, excerpt: Excerpt, call: Passage) -> Field:
        """What a call is about."""
        argument, value = call.subject
        return Field(excerpt.index, f"{call.at}.{argument}" if argument else "", value)

    def argument(self, excerpt: Excerpt, call: Passage, name: str) -> Field:
        """Another argument of a call, of one line, where all of it is shown; None otherwise."""
        lines = call.text.split("\n")
        last = lines[-1] if call.omitted else None
        found = next((m[2] for line in lines if line is not last and (m := _ARGUMENT.match(line)) and m[1] == name), "")
        value = found if found and not call.omitted and not found.startswith(("{", "[", '"')) else None
        return Field(excerpt.index, f"{call.at}.{name}" if value else "", value)

    def named(self, excerpt: Excerpt, call: Passage, name: str, value: object) -> Field:
        """A field of a call, under the format's name for it."""
        return Field(excerpt.index, f"{stem(call)}.{self.names.get('call.' + name, name)}", value)

    def line(self, excerpt: Excerpt, output: Passage) -> Field:
        """The line of an output that says most."""
        return Field(excerpt.index, f"line({output.at})", telling_line(output.text, failed=bool(output.exit)))

    def lines(self, excerpt: Excerpt, output: Passage) -> Field:
        """How many lines of an output are not blank."""
        return Field(excerpt.index, f"lines({output.at})", output.lines)


def first_of(excerpt: Excerpt, *kinds: str) -> Passage | None:
    """The first passage of one of the kinds that holds anything."""
    return next((p for p in excerpt.passages if p.kind in kinds and p.text.strip()), None)


def stem(passage: Passage) -> str:
    """The part a passage was taken from: `parts[2]`."""
    return passage.at.split(".")[0]


def find_failed(excerpt: Excerpt) -> tuple[Passage, Passage] | None:
    """The first command of a message that ended with an exit code other than zero: its call and its output."""
    for output in excerpt.passages:
        call = next((p for p in excerpt.passages if p.kind == "input" and stem(p) == stem(output)), None)
        if output.kind == "output" and output.exit and call is not None:
            return call, output
    return None


def sentences_of(finding: Finding) -> list[Claim]:
    """A finding sentence by sentence; each rests on the message it is about and on those it names."""
    fields = tuple(Field(item.index, item.field, item.value) for item in finding.evidence)
    others = {item.index for item in finding.evidence} - {int(name) for name in _NAMED.findall(finding.says)}
    claims = []
    for sentence in split_sentences(finding.says):
        named = {int(name) for name in _NAMED.findall(sentence)}
        rests = {finding.index, *(named or others)}
        claims.append(Claim(f"finding:{finding.kind}", verbatim(sentence), fields, tuple(sorted(rests))))
    return claims


def split_sentences(says: str) -> list[str]:
    """The sentences of a finding; recorded words in marks may hold the ends of others, and are not cut."""
    if says.count("“") != says.count("”"):
        return [says]
    pieces, held = [], ""
    for piece in _END.split(says):
        held = f"{held} {piece}".strip()
        if held.count("“") == held.count("”") and held.count("(") == held.count(")"):
            pieces.append(held)
            held = ""
    return [*pieces, held] if held else pieces
