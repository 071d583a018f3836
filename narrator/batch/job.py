"""What a batch passes from one of its parts to the next: jobs in groups, the plan of them, and what became of each."""

from __future__ import annotations

from typing import Literal

from narrator.asking import Manner, Terms
from narrator.draft import Cost, Usage
from narrator.record import Record

State = Literal["done", "failed", "skipped"]
"""`skipped`: nothing was sent: another run has it, or the budget is used up."""


class Job(Record):
    """One essay that is to be written."""

    session: str
    """The recording, as it was given: a path."""
    sha256: str
    """Of the recording, as in its draft."""
    index: int
    """The message."""
    manner: Manner
    path: str
    """Where its draft goes: a file, or an address."""
    digest: str
    """The draft's identity (`draft.identity`)."""
    tokens: int
    """Of the prompt, estimated."""
    prefix: int
    """Of these, those at the prompt's beginning that all essays of its group share."""
    output: int
    """Tokens of the essay, estimated; neither reasoning nor repair."""


class Group(Record):
    """Jobs whose prompts begin alike: of one session, in one manner."""

    session: str
    """The recording, as it was given: a path."""
    sha256: str
    manner: Manner
    jobs: tuple[Job, ...]
    """In the order in which they are run."""


class Problem(Record):
    """Something that was asked for and cannot be used; the rest of the batch goes on."""

    where: str
    """A path, a line of a file, or a session with a message."""
    why: str
    """One line."""


class Outcome(Record):
    """What became of one job."""

    job: Job
    state: State
    why: str = ""
    """One line, unless it is done."""
    path: str | None = None
    """Where its draft was saved."""
    usage: Usage | None = None
    cost: Cost | None = None
    seconds: float = 0.0
    """From its first request to its draft."""
    requests: int = 0
    warnings: tuple[str, ...] = ()
    """What a reader of the essay should know (`pipeline.concerns`), or what went wrong on the way."""
    lasting: bool = False
    """It failed by the model's own answer or by the prompt: another run would likely pay for the same again."""
    elsewhere: bool = False
    """It was skipped because another run is writing it."""


class Plan(Record):
    """What a batch will do."""

    terms: Terms
    drafts: str
    """The folder of the drafts, or its address."""
    groups: tuple[Group, ...]
    """What is to be written; groups of one session follow each other."""
    done: tuple[Job, ...] = ()
    """What is written already."""
    marked: frozenset[str] = frozenset()
    """Identities of those to be written that failed in earlier runs by the model's own answer."""
    given_up: tuple[Outcome, ...] = ()
    """What failed in so many runs that it is tried again only when that is asked for."""
    problems: tuple[Problem, ...] = ()
    usage: Usage = Usage()
    """Of all that is to be written, estimated; what the endpoint's prompt cache is expected to hold is in `cached`."""
    cost: Cost | None = None
    """Of that; None when the price is unknown, or no model is asked."""
    dearest: Cost | None = None
    """The same at an endpoint without a prompt cache."""
    seconds: float | None = None
    """The least that the given rate allows; None when none was given."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All that is to be written, in order."""
        return tuple(job for group in self.groups for job in group.jobs)


class Limits(Record):
    """How fast, and how much at most."""

    jobs: int | None = None
    """Requests in flight at most; None: what the endpoint bears is found out."""
    rpm: float | None = None
    """Requests a minute."""
    tpm: float | None = None
    """Tokens a minute, in and out."""
    max_cost: float | None = None
    """US dollars."""
    max_tokens: int | None = None
    """In and out, of all requests together."""
