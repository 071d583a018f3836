"""An essay without any model: from findings, outline and window, every sentence true by construction.

The same protocol as a model's writer: it takes a prompt (which carries its context) and gives a reply. It obeys the
prompt's style as far as it can; what it cannot do is in the reply's notes. A reading of what may have been is given
only where the record is silent, with a point for it and one against it.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrator.offline.claims import Claim, paragraph
from narrator.offline.plan import plan_essay
from narrator.prompt import Prompt
from narrator.reply import Reply

WRITER = "offline"


class OfflineWriter:
    """Writes from the context a prompt carries."""

    def write(self, prompt: Prompt) -> Reply:
        """The essay; deterministic. The reply's notes say where it does not do what its style asks for."""
        plan = plan_essay(prompt.context, prompt.style)
        return Reply(text=compose(plan.paragraphs), model=WRITER, finish="stop", usage=None, notes=plan.notes)


def compose(parts: Sequence[Sequence[Claim]]) -> str:
    """Paragraphs of claims as Markdown."""
    return "\n\n".join(text for part in parts if (text := paragraph(part))) + "\n"
