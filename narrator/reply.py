"""What a model's answer holds: the essay, freed of its wrappings, and a server's words, made fit to print."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any
from urllib.parse import quote

from pydantic import Field

from narrator.draft import Usage
from narrator.excerpt import Excerpt
from narrator.record import Record

LONGEST_WORDS = 300
"""Characters of a server's text that an error repeats."""

LONGEST_READ = 20_000
"""Characters of it that are looked at."""
_PART = 8
"""Characters of a key that must not be read together."""
_SHORTEST = 5
"""Characters of what is a secret at all: a shorter one is a word like any other."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KEYS = re.compile(
    r"\b(?:sk|rk|pk|gsk|xai)[-_][\w.*…-]+|[\w-]*\*{3,}[\w*-]*|(?<=Bearer )\S+|(?<=Basic )\S+|(?<=://)[^/\s@]+(?=@)"
    r"|(?<=[?&])[\w-]*(?:key|token|secret|sig|password)=[^&\s\"']+"
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_HTML = re.compile(r"\s*<(?:!doctype html|html|\?xml)\b", re.IGNORECASE)
_THOUGHT = re.compile(r"\s*<(think|thinking)>(?:.*?</\1>|.*\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"^[ \t]*</think(?:ing)?>[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*?)[ \t]*")


class Reply(Record):
    """A whole answer that may be an essay."""

    text: str
    """Markdown, cleaned; no blank lines before or after it."""
    model: str
    """The model's name as the endpoint reported it."""
    finish: str | None
    """Why the model stopped, in the endpoint's word; None when it gave none."""
    usage: Usage | None
    """Of all requests together; None when the endpoint did not count."""
    requests: tuple[Usage, ...] = ()
    """Of each request by itself, where there were several."""
    sent: dict[str, Any] = Field(default_factory=dict)
    """What was sent beside the messages in the request that brought the text, by its names on the wire."""
    notes: tuple[str, ...] = ()
    """What was removed from the text, one phrase each: `an outer code fence`."""
    read: tuple[Excerpt, ...] = ()
    """What the writer looked up of messages, in the session's order."""
    lookups: int = 0
    """How many times it looked something up."""


def plain_text(text: str) -> str:
    """`text` with line feeds as its only line ends, no control characters but tabs, and no half characters.

    A character beyond U+FFFF may come as two escapes, even in two chunks of a stream: the halves are joined,
    and one that stands alone becomes U+FFFD, because it can be neither printed nor saved.
    """
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_essay(text: str) -> tuple[str, tuple[str, ...]]:
    """The essay in a model's answer, and what was taken off it, one phrase each."""
    notes: list[str] = []
    text = plain_text(text)
    thoughtless = _without_thoughts(text)
    if thoughtless != text:
        notes.append("a <think> block")
    essay = thoughtless.strip()
    language, inside = _unfence(essay)
    if language in {"", "markdown", "md"}:
        notes.append("an outer code fence")
        essay = inside.strip()
    return essay, tuple(notes)


def _without_thoughts(text: str) -> str:
    """`text` after the model's thoughts, where its server left them in front of the answer.

    Only what leads is taken: a tag in the body, or inside a code block, is something the essay writes about.
    A chat template that opens the block itself leaves only the closing tag, on a line of its own; a block
    that never closes is all there is.
    """
    text = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    end = _THOUGHT_END.search(text)
    if end is None:
        return text
    before = text[: end.start()]
    in_code_block = sum(1 for line in before.split("\n") if _FENCE.fullmatch(line)) % 2
    return text if "<think" in before or in_code_block else text[end.end() :]


def _unfence(text: str) -> tuple[str | None, str]:
    """Language and inside of a code fence round the whole of `text`; (None, `text`) when there is none.

    A fence marked as Markdown holds the essay and its code blocks; when they take the last closing fence, the
    model forgot its own. An unmarked one is only a wrapping when no bare fence closes it before the end: an
    essay may begin with one code block and end with another.
    """
    lines = text.split("\n")
    opening = _FENCE.fullmatch(lines[0])
    if opening is None:
        return None, text
    language = opening[2].lower()
    marks = [(number, mark[2]) for number, line in enumerate(lines) if (mark := _FENCE.fullmatch(line))]
    closed = len(marks) > 1 and marks[-1] == (len(lines) - 1, "")
    if language in {"markdown", "md"}:
        whole = closed and len(marks) % 2 == 0
        return language, "\n".join(lines[1:-1] if whole else lines[1:])
    depth = 1
    for number, info in marks[1:]:
        depth += 1 if info else -1
        if depth == 0:
            return (language, "\n".join(lines[1:-1])) if closed and number == len(lines) - 1 else (None, text)
    return None, text


def document_kind(essay: str) -> str | None:
    """`HTML` or `JSON` when the essay as a whole is such a document and not Markdown; else None."""
    _, inside = _unfence(essay)
    if _HTML.match(inside):
        return "HTML"
    if not inside.lstrip().startswith(("{", "[")):
        return None
    try:
        json.loads(inside)
    except (ValueError, RecursionError):
        return None
    return "JSON"


def server_words(text: str, *secrets: str) -> str:
    """A server's text as an error may repeat it: one short line, no control characters, no key.

    Args:
        text: what the server sent; of an HTML page only the title is kept.
        secrets: masked like all that looks like a key: servers echo the one in use, whole or in part.
    """
    if _HTML.match(text):
        title = _TITLE.search(text)
        text = title[1] if title else re.sub(r"<[^>]*>", " ", text)
    text = mask(plain_text(text[:LONGEST_READ]), *secrets)
    text = " ".join(_KEYS.sub("[key]", text).split()).rstrip(" .")
    return text if len(text) <= LONGEST_WORDS else text[: LONGEST_WORDS - 1] + "…"


def holds_key(text: str, *secrets: str) -> bool:
    """Whether something in `text` is a secret, or looks like a key."""
    return mask(text, *secrets) != text or _KEYS.search(text) is not None


def mask(text: str, *secrets: str) -> str:
    """`text` with `[key]` in place of each secret, of a long part of one, and of one in another spelling.

    Whoever echoes a key may cut it, change its case, or write it as a URL, as JSON, as HTML or in Base64 would.
    """
    spellings = sorted({form for secret in secrets for form in _spellings(secret)}, key=len, reverse=True)
    for form in spellings:
        text = _mask_parts(text, form) if len(form) >= _PART else _mask_word(text, form)
    return text


def _spellings(secret: str) -> set[str]:
    if not secret:
        return set()
    coded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1], html.escape(secret), coded}


def _mask_word(text: str, short: str) -> str:
    """A key of a few characters; one that is a mere word only where it stands alone, so that no other word is torn."""
    if len(short) < _SHORTEST:
        return text
    alone = (r"(?<![\w-])", r"(?![\w-])") if short.isalpha() else ("", "")
    return re.sub(re.escape(short).join(alone), "[key]", text, flags=re.IGNORECASE)


def _mask_parts(text: str, secret: str) -> str:
    """Every stretch of `_PART` or more characters that is also one of the secret's, whatever the case."""
    lowered, hidden = text.lower(), secret.lower()
    if len(lowered) != len(text):  # a letter whose small form is longer: places would not fit
        lowered, hidden = text, secret
    parts = {hidden[at : at + _PART] for at in range(len(hidden) - _PART + 1)}
    pieces, kept, at = [], 0, 0
    while at <= len(lowered) - _PART:
        if lowered[at : at + _PART] not in parts:
            at += 1
            continue
        end = at + _PART
        while end < len(lowered) and lowered[end - _PART + 1 : end + 1] in parts:
            end += 1
        pieces += [text[kept:at], "[key]"]
        kept = at = end
    return "".join([*pieces, text[kept:]])
