"""`narrate check DRAFT|ESSAY.md [SESSION]`: what of an essay does not stand in the recording."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from narrator.draft import Draft
    from narrator.report import Failure, Report
    from narrator.session import Session

_TEXT, _SAYS = 120, 300
"""Characters of a failing text and of what is said of it on its line."""


class Checked(NamedTuple):
    """One essay with its report, or with the reason why it could not be checked."""

    file: str
    markdown: str = ""
    report: Report | None = None
    error: str = ""


def check(
    essay: Annotated[str, typer.Argument(metavar="DRAFT|ESSAY.md", help="A draft, a Markdown essay, a folder, or -.")],
    session: Annotated[str | None, typer.Argument(metavar="[SESSION]", help="Recording the essay is about.")] = None,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Do not mask known secrets.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Check every citation, quotation and figure of an essay against the recording; exit code 1 if one failed.

    Example: narrate check essay.md examples/glm5-144.json
    """
    from narrator.cli.output import complain
    from narrator.formats import open_session

    opened = open_session(session, redact=not no_redact) if session is not None else None
    desk = _Desk(opened, redact=not no_redact)
    folder = essay != "-" and Path(essay).is_dir()
    results = list(_check_folder(Path(essay), desk)) if folder else [desk.check(essay, _read(essay))]
    for result in results:
        if result.error:
            complain(result.error)
    if as_json:
        rows = [_row(result) for result in results]
        typer.echo(json.dumps(rows if folder else _without_file(rows[0]), ensure_ascii=False, indent=1))
    else:
        for line in _lines(results, folder=folder):
            typer.echo(line)
    if any(result.report is None or not result.report.clean for result in results):
        raise typer.Exit(2 if all(result.report is None for result in results) else 1)


def _read(essay: str) -> str:
    """The text of a file or of standard input.

    Raises:
        UsageError: there is no such file, it is empty, or it is no text.
    """
    from narrator.errors import UsageError, reason

    try:
        data = sys.stdin.buffer.read() if essay == "-" else Path(essay).read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{essay}: not UTF-8: give a draft (JSON) or an essay (Markdown)") from error
    except OSError as error:
        raise UsageError(f"{essay}: {reason(error)}") from error
    if not text.strip():
        given = "stdin is empty" if essay == "-" else f"{essay}: the file is empty"
        raise UsageError(f"{given}: give a draft (JSON) or an essay (Markdown)")
    return text


def _check_folder(folder: Path, desk: _Desk) -> Iterator[Checked]:
    """Check every draft and every Markdown file in a folder and below; one that cannot be used stops no other."""
    from narrator.errors import NarratorError, UsageError

    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".md") and path.is_file())
    if not files:
        raise UsageError(f"{folder}: no draft (.json) and no essay (.md) in it")
    for path in files:
        try:
            yield desk.check(str(path), _read(str(path)), alone=False)
        except NarratorError as error:
            yield Checked(str(path), error=str(error))


class _Desk:
    """Checks essays one after another, and opens a session no more than once."""

    def __init__(self, session: Session | None, *, redact: bool) -> None:
        self._given = session
        self._redact = redact
        self._found: dict[Path, Session | None] = {}

    def check(self, name: str, text: str, *, alone: bool = True) -> Checked:
        """Check a draft or an essay; `alone`: it is the only one, and a session of another is a mistake.

        Raises:
            UsageError: an essay without a session, a draft of another session, a page that is neither.
            DraftError: JSON that is no draft.
        """
        from narrator.draft import read_draft
        from narrator.errors import UsageError
        from narrator.markdown import FOOTER, without_footer
        from narrator.verify import evidence_of_draft, evidence_of_session, verify_essay

        if text.lstrip().startswith("{") or name.endswith(".json"):
            draft = read_draft(text, name)
            evidence = evidence_of_draft(draft, self._session_of(draft, name, alone=alone))
            return Checked(name, draft.essay.final, verify_essay(draft.essay.final, evidence))
        if text.lstrip()[:15].lower().startswith(("<!doctype", "<html")):
            raise UsageError(f"{name}: an HTML page; give its draft, or the essay as Markdown")
        if self._given is None:
            raise UsageError(f"{name}: an essay needs its recording: narrate check {name} SESSION")
        essay = without_footer(text)
        told = text[len(essay) :].partition(FOOTER)[2].split(" ")[0]
        evidence = evidence_of_session(self._given, int(told) if told.isdecimal() else None)
        return Checked(name, essay, verify_essay(essay, evidence))

    def _session_of(self, draft: Draft, name: str, *, alone: bool) -> Session | None:
        """The session of a draft: the one given, else the file it was written from if it lies near; None without."""
        from narrator.cli.output import warn
        from narrator.errors import UsageError

        if self._given is None:
            return self._beside(draft, Path(name))
        if self._given.about.id != draft.session.id:
            if alone:
                raise UsageError(
                    f"{name}: a draft about session {draft.session.id}, "
                    f"but {self._given.about.file} is {self._given.about.id}"
                )
            return self._beside(draft, Path(name))
        if self._given.sha256 != draft.session.sha256:
            warn([f"{name}: written from another state of the session than {self._given.about.file}"])
        return self._given

    def _beside(self, draft: Draft, path: Path) -> Session | None:
        """The very file a draft was written from, in its folder, in those above it up to three, or in this one."""
        from narrator.errors import SessionError
        from narrator.formats import open_session

        for folder in (*path.absolute().parents[:4], Path()):
            place = folder / draft.session.file
            if place not in self._found and place.is_file():
                try:
                    self._found[place] = open_session(str(place), redact=self._redact)
                except SessionError:
                    self._found[place] = None
            session = self._found.get(place)
            if session is not None and session.sha256 == draft.session.sha256:
                return session
        return None


def _row(result: Checked) -> dict[str, Any]:
    from narrator.report import report_json

    if result.report is None:
        return {"file": result.file, "error": result.error}
    return {"file": result.file, **report_json(result.report)}


def _without_file(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "file"}


def _lines(results: list[Checked], *, folder: bool) -> Iterator[str]:
    """A line a failure, and one on all that was checked."""
    totals = dict.fromkeys(("citations", "quotations", "figures", "derived", "unjudged", "failed"), 0)
    for result in results:
        if result.report is not None:
            yield from (_line(result, failure) for failure in result.report.failures)
            for name, count in result.report.counts.model_dump().items():
                totals[name] += count
    failed = f"{totals['failed']} failed" if totals["failed"] else "nothing failed"
    counts = (
        f"{totals['citations']} citations, {totals['quotations']} quotations, {totals['figures']} figures "
        f"checked ({totals['derived']} derived, {totals['unjudged']} unjudged); {failed}"
    )
    if folder:
        read = sum(result.report is not None for result in results)
        lost = f", {len(results) - read} could not be read" if read < len(results) else ""
        yield f"{read} essay{'' if read == 1 else 's'} checked{lost}{f': {counts}' if read else ''}"
    else:
        yield counts


def _line(result: Checked, failure: Failure) -> str:
    from narrator.sanitize import one_line

    row = result.markdown.count("\n", 0, failure.span[0]) + 1
    nearest = failure.nearest
    near = f"; nearest, message {nearest.index}: {one_line(nearest.text, _TEXT)}" if nearest is not None else ""
    name = one_line(result.file, _SAYS)
    return f"{name}:{row}: {failure.kind}: {one_line(failure.text, _TEXT)} — {one_line(failure.says, _SAYS)}{near}"
