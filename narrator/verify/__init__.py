"""Every citation, quotation and figure of an essay against the evidence."""

from __future__ import annotations

from narrator.report import Check, Counts, Failure, Known, Match, Report, Statement, make_report, report_json
from narrator.verify.evidence import Evidence, evidence_of_context, evidence_of_draft, evidence_of_session
from narrator.verify.judge import check_essay, verify_essay

__all__ = [
    "Check",
    "Counts",
    "Evidence",
    "Failure",
    "Known",
    "Match",
    "Report",
    "Statement",
    "check_essay",
    "evidence_of_context",
    "evidence_of_draft",
    "evidence_of_session",
    "make_report",
    "report_json",
    "verify_essay",
]
