"""An essay against its evidence: what it ties to the record, judged one by one."""

from __future__ import annotations

from narrator.citations import find_citations
from narrator.report import Check, Report, Statement, make_report
from narrator.verify.evidence import Evidence


def verify_essay(markdown: str, evidence: Evidence) -> Report:
    """Judge every citation, quotation and figure of an essay, and who spoke, and what came first.

    `markdown` is the essay as it is published (`Draft.essay.final`); the spans of the report count its code points.
    Nothing raises for what an essay says: what is wrong with it is in the report.
    """
    found = []
    for citation in find_citations(markdown):
        indices = [evidence.resolve(name) for name in citation.targets]
        missing = [name for name, index in zip(citation.targets, indices, strict=True) if index is None]
        found.append(
            Statement(
                span=(citation.start, citation.end),
                sort="citation",
                verdict="failed" if missing else "passed",
                text=citation.text,
                cites=tuple(sorted({index for index in indices if index is not None})),
                kind="no-such-message" if missing else None,
                says=f"there is no message {', '.join(missing)} in the session" if missing else "",
            )
        )
    return make_report(found)


def check_essay(markdown: str, evidence: Evidence) -> Check:
    """The report of an essay that was just written, with what its draft has to keep to be checked again by itself."""
    report = verify_essay(markdown, evidence)
    cited = {index for statement in report.statements for index in statement.cites}
    return Check(**dict(report), known=evidence.known(cited))
