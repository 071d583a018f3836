"""A draft as Markdown or as one self-contained page. The same draft gives the same bytes, today and later.

So nothing here asks for a clock, a session, a network or the version of narrate.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from narrator.assets import folders
from narrator.clock import stamp
from narrator.doubts import Doubt
from narrator.draft import Draft
from narrator.errors import StyleError
from narrator.exhibits import find_marks, in_order, show_evidence
from narrator.findings import Evidence
from narrator.language import tag_of
from narrator.markdown import FOOTER, code_span, fence, inert, literal
from narrator.notes import counts_line, find_notes, find_taken, notes_markdown, with_signs
from narrator.sanitize import one_line, plain
from narrator.typeset import typeset

_PAGE = "page.html.j2"
_STYLE = "style.css"
_TITLE = 120
"""Characters of a session's title that are shown beside an essay."""
_ID = re.compile(r"[\w.:@-]{1,120}")
"""What an id looks like; whatever else a recording gives for one (a path, a page of text) is not printed."""


def theme_folder(name_or_path: str) -> Path:
    """Folder of a theme: one that ships, by name, or any folder that holds `page.html.j2` and `style.css`.

    Raises:
        StyleError: there is no such theme, or the folder lacks one of the two files.
    """
    shipped = folders("templates")
    folder = shipped.get(name_or_path, Path(name_or_path))
    if not folder.is_dir():
        raise StyleError(f"no theme {name_or_path!r}: give a folder, or one of: {', '.join(shipped)}")
    lacking = [name for name in (_PAGE, _STYLE) if not (folder / name).is_file()]
    if lacking:
        raise StyleError(f"theme {folder}: no {' and no '.join(lacking)}; themes that ship: {', '.join(shipped)}")
    return folder


def render_markdown(draft: Draft, *, evidence: bool) -> str:
    """The essay, a rule, one line on what it is about and who wrote it, and the messages it rests on.

    Args:
        draft: What to render.
        evidence: Add the cited messages, each in a fence nothing in it can end. For a file, which has to stand
            on its own; not for standard output, where the essay is the product.
    """
    session = draft.session
    by = f"written by {code_span(draft.model.name)}" if draft.model else "written offline by narrate, without a model"
    about = f"{FOOTER}{draft.target.index} of “{literal(one_line(session.title, _TITLE))}”"
    if _ID.fullmatch(session.id):
        about += f" (session {code_span(session.id)})"
    style = literal(f"style {draft.style.name} {draft.style.version}")
    notes = find_notes(draft)
    essay, signed = with_signs(draft.essay.final, notes)
    parts = [inert(essay), "---\n", f"{about} · {by} · {style}*\n", *notes_markdown(draft, notes, signed)]
    if evidence and draft.evidence:
        parts.append("## Evidence\n")
        for message in in_order(draft):
            facts = [f"[msg {message.index}]", message.role, *([literal(message.time)] if message.time else [])]
            parts.append(f"### {' · '.join(facts)}\n")
            parts.append(f"{fence(message.text)}\n" if message.text.strip() else "No text.\n")
    return "\n".join(parts)


def render_html(draft: Draft, theme: Path) -> str:
    """One HTML file that needs nothing else: no script, no request to anywhere.

    A theme's page gets `draft`, `essay` (a `typeset.Article`), `exhibits`, `target` (its exhibit or None), `findings`
    (of the target), `session_title` and `session_id` (fit to print), `value` (makes text of a finding's value),
    `language`, `style` and `policy`; of the check `checked` (a line, "" without one), `notes` (on what failed),
    `nearest` (a note's number → id of the mark on its nearest true text), `untold` (how many failures have no note) and
    `taken` (what the writer took back).

    Raises:
        StyleError: the theme cannot be read, or its template is wrong.
    """
    notes = find_notes(draft)
    marks = find_marks(draft, notes)
    doubts = [Doubt(note.start, note.end, note.number) for note in notes if note.end > note.start]
    article = typeset(draft.essay.final, _names(draft), doubts, marks.quoted)
    exhibits = show_evidence(draft, article.cited, marks.of)
    style = _read_style(theme)
    try:
        template = _environment(theme).get_template(_PAGE)
        return template.render(
            draft=draft,
            essay=article._replace(title=_ours(article.title), body=_ours(article.body)),
            exhibits=exhibits,
            checked=counts_line(draft.check) if draft.check is not None else "",
            notes=notes,
            nearest=marks.nearest,
            untold=len(draft.check.failures) - len(notes) if draft.check is not None else 0,
            taken=find_taken(draft.repair),
            target=next((shown for shown in exhibits if shown.index == draft.target.index), None),
            findings=[finding for finding in draft.findings if finding.index == draft.target.index],
            value=_value,
            session_title=one_line(draft.session.title, _TITLE),
            session_id=draft.session.id if _ID.fullmatch(draft.session.id) else "",
            language=_language(draft),
            style=_ours(style),
            policy=_policy(style),
        )
    except UnicodeDecodeError as error:
        raise StyleError(f"theme {theme}: {_PAGE} is not UTF-8: {error}") from error
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
        # An expression of a theme can fail as any Python expression can; the theme's author is to be told, in one line.
        raise StyleError(f"theme {theme}: {_PAGE}: {one_line(str(error), 200)}") from error


def _ours(text: str) -> Markup:
    """What goes into a page as it is: HTML that `typeset` has cleaned, and the style of a theme, which is trusted."""
    return Markup(text)  # noqa: S704


def _read_style(theme: Path) -> str:
    try:
        return (theme / _STYLE).read_text(encoding="utf-8")
    except OSError as error:
        raise StyleError(f"theme {theme}: cannot read {_STYLE}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StyleError(f"theme {theme}: {_STYLE} is not UTF-8: {error}") from error


def _environment(theme: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(theme),
        autoescape=True,  # whatever a template is called: `select_autoescape` does not know `.html.j2`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_clean,
    )


def _clean(value: Any) -> Any:  # noqa: ANN401 - a template prints values of any type
    """Mark controls in every text that a template prints; what is `Markup` is ours and clean."""
    return plain(value) if type(value) is str else value


def _policy(style: str) -> str:
    """Content security policy that lets a page apply its own style and do nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _names(draft: Draft) -> dict[str, int]:
    """What a citation may name. The evidence keeps no native ids; the target's is known all the same."""
    names = {str(message.index): message.index for message in draft.evidence}
    if str(draft.target.index) in names:
        names[draft.target.id] = draft.target.index
    return names


def _value(evidence: Evidence) -> str:
    """A finding's value as the record has it: `null`, `true`, `0`; a text without quotation marks, a time also read."""
    value = evidence.value
    if isinstance(value, str):
        return value
    read = stamp(value) if "time." in evidence.field and type(value) is int else None
    return json.dumps(value) + (f" ({read})" if read else "")


def _language(draft: Draft) -> str:
    """Tag of the language it was asked for, "" if that has none that is known; English if none was asked for."""
    asked = draft.settings.get("language")
    return tag_of(asked) if isinstance(asked, str) else "en"
