"""`--redo-section NAME`: one section of a saved draft written again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from narrator.asking import Asked, Request
    from narrator.cli.writing import Repairs
    from narrator.draft import Draft
    from narrator.lookup import Bounds
    from narrator.model import Settings
    from narrator.prompt import Prompt
    from narrator.session import Session


class Redoing(NamedTuple):
    """A section of a draft that is to be written again."""

    path: Path
    draft: Draft
    at: int
    request: Prompt
    """What a model is asked for it."""


def find_redoing(session: Session, request: Request, drafts: Path, name: str) -> Redoing:
    """The draft of this essay, and its section of that name.

    Raises:
        DraftError: there is no such draft, or it cannot be read; says what there is instead.
        UsageError: it has no such section; all are listed.
    """
    from narrator.asking import find_place
    from narrator.draft import load_draft
    from narrator.errors import DraftError, UsageError
    from narrator.redo import build_request
    from narrator.sections import find_part, read_parts

    prompt, asked = request
    path = find_place(request, drafts)
    if not path.exists():
        instead = _what_there_is(prompt, asked, drafts, path)
        raise DraftError(f"--redo-section {name}: no draft of this essay; {instead}")
    draft = load_draft(path)
    parts = read_parts(draft.essay.final)
    at = find_part(parts, name, prompt.style)
    if not draft.essay.final[parts[at].start : parts[at].end].strip():
        raise UsageError(f"--redo-section {name}: the essay has no introduction")
    return Redoing(path, draft, at, build_request(prompt, session, draft, at))


def _what_there_is(prompt: Prompt, asked: Asked, drafts: Path, path: Path) -> str:
    """What is known of the other drafts about this message in this style."""
    from narrator.draft import load_draft
    from narrator.errors import DraftError

    stem = f"{prompt.context.target.index}-{prompt.style.name}"
    for other in sorted(path.parent.glob(f"{stem}*.json")):
        try:
            draft = load_draft(other)
        except DraftError as error:
            return f"{error}"
        return f"{other} is another one: {', '.join(_differences(prompt, asked, draft))}"
    return f"nothing is saved in {drafts} about message {prompt.context.target.index}; write it first"


def _differences(prompt: Prompt, asked: Asked, draft: Draft) -> Iterator[str]:
    """What keeps a draft from being the one that is asked for."""
    if draft.session.sha256 != prompt.context.session.sha256:
        yield "written from another state of the session"
    if draft.style.version != prompt.style.version:
        yield f"in version {draft.style.version} of the style, which now is {prompt.style.version}"
    one, other = draft.model, asked.model
    if (one and (one.name, one.base_url)) != (other and (other.name, other.base_url)):
        yield f"written by {one.name if one else 'the offline writer'}"
    if draft.settings != asked.settings:
        named = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in draft.settings.items())
        yield f"written with {named or 'no option'}"


def write(
    session: Session,
    request: Request,
    settings: Settings | None,
    bounds: Bounds | None,
    repairs: Repairs,
    how: Redoing | Callable[[int], Request],
) -> Draft:
    """Have the essay written (`how` then asks with another budget), or the section that is to be written again."""
    from narrator.cli.writing import write_draft

    if isinstance(how, Redoing):
        return _write_section(session, request, settings, repairs, how)
    return write_draft(session, request, settings, bounds, repairs, how)


def _write_section(
    session: Session, request: Request, settings: Settings | None, repairs: Repairs, redoing: Redoing
) -> Draft:
    """Have the section written again, by the endpoint's model or offline."""
    from datetime import UTC, datetime

    from narrator.redo import redo_offline, redo_section

    if settings is None:
        from narrator.offline import OfflineWriter

        whole = OfflineWriter().write(request.prompt).text
        return redo_offline(session, request.prompt, whole, redoing.draft, redoing.at, now=datetime.now(UTC))
    from narrator.cli.output import progress_line
    from narrator.lookup import Bounds
    from narrator.model import Endpoint
    from narrator.pipeline import ModelWriter

    with progress_line(settings.model) as (progress, notice):
        writer = ModelWriter(Endpoint(settings, progress=progress, notice=notice).begin(), session, Bounds(rounds=0))
        return redo_section(
            session,
            redoing.request,
            writer,
            redoing.draft,
            redoing.at,
            repairs=repairs.rounds,
            price=request.asked.price,
            keep=repairs.keep,
            notice=notice,
        )
