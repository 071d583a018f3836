"""An essay without any model: from findings, outline and window, every sentence true by construction.

The same protocol as a model's writer: it takes a prompt (which carries its context) and gives a reply. What it cannot
do it does not pretend to: it forms no hypothesis and draws no picture; where the record is silent it says so.
"""

from __future__ import annotations

from narrator.offline.claims import Claim, paragraph
from narrator.offline.plan import plan_essay
from narrator.prompt import Prompt
from narrator.reply import Reply

WRITER = "offline"


class OfflineWriter:
    """Writes from the context a prompt carries."""

    def write(self, prompt: Prompt) -> Reply:
        """The essay; deterministic."""
        return Reply(text=compose(plan_essay(prompt.context)), model=WRITER, finish="stop", usage=None)


def compose(parts: tuple[tuple[Claim, ...], ...]) -> str:
    """Paragraphs of claims as Markdown."""
    return "\n\n".join(text for part in parts if (text := paragraph(part))) + "\n"
