"""The whole of it: a recording in, an essay with its evidence out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypedDict, Unpack

from narrator.citations import cited_indices
from narrator.context import Context, add_read
from narrator.draft import LOOKED_UP, Draft, Essay, EvidenceMessage, ModelRef, StyleRef, Times, Usage
from narrator.excerpt import take_excerpt
from narrator.fingerprint import fingerprint_context, fingerprint_style
from narrator.lookup import Bounds, Lookups
from narrator.markdown import prose_of
from narrator.model.rounds import Offer
from narrator.prices import Price, add_costs, cost_of
from narrator.prompt import Prompt, delimiter_key
from narrator.repair import repair_steps
from narrator.reply import Reply
from narrator.session import Session
from narrator.steps import Steps, follow
from narrator.style import Style
from narrator.verify import check_essay, evidence_of_context

EVIDENCE_TOKENS = 1000
"""Most tokens of a cited message that was not in the window."""
SHORT_WORDS = 300
"""An essay of fewer words is saved and warned about, if twice as many were asked for."""


class Writer(Protocol):
    """Whoever turns a prompt into an essay: an endpoint's model, or the offline writer."""

    def write(self, prompt: Prompt) -> Reply:
        """Write the essay; raises ModelError when there is none."""
        ...


class Asked(Protocol):
    """An endpoint that takes chat messages (`model.Endpoint`)."""

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """Ask, and judge the answer."""
        ...


class ModelWriter:
    """Has an endpoint's model write."""

    def __init__(self, endpoint: Asked, session: Session, bounds: Bounds) -> None:
        """Write with `endpoint`; a prompt that tells of look-ups has them made in `session`, within `bounds`."""
        self._endpoint = endpoint
        self._session = session
        self._bounds = bounds

    def write(self, prompt: Prompt) -> Reply:
        """Send the prompt's messages; what the model looked up comes with its reply."""
        offer = make_offer(prompt, self._session, self._bounds)
        return told_lookups(self._endpoint.write(prompt.wire(), offer), offer)


def make_offer(prompt: Prompt, session: Session, bounds: Bounds) -> Offer | None:
    """The tools that a prompt tells of, over its session; None for a prompt that tells of none."""
    if not prompt.lookups:
        return None
    whole = {excerpt.index for excerpt in prompt.context.window if not excerpt.omitted}
    lookups = Lookups(session, delimiter_key(prompt.context), bounds, given=whole)
    return Offer(prompt.wire(lookups=True), lookups)


def told_lookups(reply: Reply, offer: Offer | None) -> Reply:
    """The reply with what was looked up for it."""
    if offer is None:
        return reply
    return reply.model_copy(update={"read": offer.lookups.read, "lookups": offer.lookups.made})


def narrate(session: Session, prompt: Prompt, writer: Writer, model: ModelRef | None, **how: Unpack[How]) -> Draft:
    """The draft that `essay_steps` come to when `writer` answers them.

    Raises:
        ModelError: the writer gave no usable essay.
    """
    return follow(essay_steps(session, prompt, model, **how), writer.write)


class How(TypedDict, total=False):
    """What may be said of an essay beside its prompt (`essay_steps`)."""

    repairs: int
    settings: Mapping[str, Any] | None
    price: Price | None
    keep: Callable[[Draft], None] | None
    notice: Callable[[str], None] | None
    now: Callable[[], datetime] | None


def essay_steps(
    session: Session,
    prompt: Prompt,
    model: ModelRef | None,
    *,
    repairs: int = 0,
    settings: Mapping[str, Any] | None = None,
    price: Price | None = None,
    keep: Callable[[Draft], None] | None = None,
    notice: Callable[[str], None] | None = None,
    now: Callable[[], datetime] | None = None,
) -> Steps[Draft]:
    """Have the essay written, check it, have what failed repaired, and put it together with its evidence.

    Args:
        session: The recording.
        prompt: What is asked.
        model: How the draft names the writer; None for the offline one, which nothing is sent back to.
        repairs: At most so many rounds that send failing sentences back.
        settings: What the call set that makes another essay.
        price: What the caller says tokens cost; None: what the data says.
        keep: Given the draft as it is before a repair, so that what happens meanwhile cannot lose it.
        notice: Given a line on each thing that went wrong in a repair, and on what the offline writer could not do.
        now: Tells the time; the world's by default.
    """
    clock = now or (lambda: datetime.now(UTC))
    started = clock()
    reply, say = (yield prompt), notice or (lambda _line: None)
    for note in reply.notes if model is None else ():
        say(note)
    context = add_read(prompt.context, session, reply.read)
    check = check_essay(reply.text, evidence_of_context(context, session))
    draft = Draft(
        session=context.session,
        target=context.target,
        style=style_ref(prompt.style),
        model=_told(model, reply),
        settings=dict(settings or {}),
        usage=reply.usage,
        cost=cost_of(requests_of(reply), model.name, model.base_url, price) if model is not None else None,
        findings=context.findings,
        evidence=evidence_of(reply.text, session, context),
        evidence_sha256=fingerprint_context(context),
        essay=Essay(written=reply.text, final=reply.text),
        check=check,
        redacted=session.redacted(),
        times=Times(started=iso(started), finished=iso(clock())),
    )
    if not repairs or model is None or check.clean:
        return draft
    if keep is not None:
        keep(draft)
    known = prompt.model_copy(update={"context": context})
    repaired = yield from repair_steps(reply.text, check, session, known, rounds=repairs, notice=say)
    mended = draft.model_copy(
        update={
            "evidence": evidence_of(repaired.essay, session, context),
            "essay": Essay(written=draft.essay.written, final=repaired.essay),
            "check": repaired.check,
            "repair": repaired.changes,
            "redacted": session.redacted(),
            "times": Times(started=draft.times.started, finished=iso(clock())),
        }
    )
    return charge(mended, repaired.usage, price)


def charge(draft: Draft, requests: Sequence[Usage | None], price: Price | None) -> Draft:
    """The draft with what further requests took added to its usage and its cost.

    None is a request that the endpoint did not count: then the cost is unknown, as where that of those before is.
    """
    if not requests or draft.model is None:
        return draft
    counted = [usage for usage in requests if usage is not None]
    more = cost_of(counted, draft.model.name, draft.model.base_url, price) if None not in requests else None
    total = Usage.total([*((draft.usage,) if draft.usage is not None else ()), *counted])
    usage = total if counted else draft.usage
    return draft.model_copy(update={"usage": usage, "cost": add_costs(draft.cost, more)})


def requests_of(reply: Reply) -> tuple[Usage, ...]:
    """Tokens of each request that brought a reply; none where the endpoint did not count."""
    return reply.requests or ((reply.usage,) if reply.usage is not None else ())


def style_ref(style: Style) -> StyleRef:
    """How a draft names its style, with the fingerprint of its prompt."""
    return StyleRef(name=style.name, version=style.version, prompt_sha256=fingerprint_style(style))


def evidence_of(essay: str, session: Session, context: Context) -> tuple[EvidenceMessage, ...]:
    """The messages an essay cites, each as its writer saw it."""
    cited, _ = cited_indices(prose_of(essay), session.positions, len(session))
    return tuple(_evidence(session, context, index) for index in cited)


def _told(model: ModelRef | None, reply: Reply) -> ModelRef | None:
    """The model, with what was really sent to it, and how many times it looked something up, if it did."""
    if model is None:
        return None
    looked = {LOOKED_UP: reply.lookups} if reply.lookups else {}
    return model.model_copy(update={"settings": {**reply.sent, **looked}})


def _evidence(session: Session, context: Context, index: int) -> EvidenceMessage:
    """A cited message as the writer saw it, or, if it saw only a line of it, its own excerpt."""
    seen = next((excerpt for excerpt in context.window if excerpt.index == index), None)
    excerpt = seen or take_excerpt(session, index, limit=EVIDENCE_TOKENS)
    return EvidenceMessage(index=index, role=excerpt.role, time=excerpt.time, text=excerpt.text)


def concerns(draft: Draft, session: Session, least: int = 2 * SHORT_WORDS) -> tuple[str, ...]:
    """What a reader of a saved essay should be warned of, one sentence each; `least` words were asked for."""
    text = draft.essay.final
    words = len(text.split())
    cited, missing = cited_indices(prose_of(text), session.positions, len(session))
    found = []
    if words < min(SHORT_WORDS, least // 2) and draft.model is not None:
        found.append(f"the essay is short: {words} words")
    if not cited:
        found.append("the essay cites no message of the session")
    if missing:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        found.append(f"the essay cites what is no message of the session: {', '.join(missing[:8])}{more}")
    if draft.check is not None and (failed := draft.check.counts.failed):
        found.append(
            f"{failed} {'statement' if failed == 1 else 'statements'} of the essay failed the check and "
            f"{'is' if failed == 1 else 'are'} marked on its page"
        )
    return tuple(found)


def iso(time: datetime) -> str:
    """A time as a draft keeps it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
