"""How far the token estimator is from the vocabulary it was fitted to, on sessions.

    python benchmarks/tokens.py [SESSION…]

Without arguments: the example, and the recorded sessions beside the repository where they are. Needs the extra
`tokens`. Prints, for every session, the error of the estimator over the texts of its messages (at least 200 characters
each) and over whole contexts, beside that of characters divided by four.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrator.session import Session

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "sessions"
LEAST = 200
"""Characters below which a text's error says nothing."""
CONTEXTS = 12
"""Contexts measured in a session, evenly spread."""


def texts_of(session: Session) -> Iterator[str]:
    """Every stretch of recorded text of a session that is long enough."""
    from narrator.passages import passages_of

    for index in range(len(session)):
        for passage in passages_of(session.message(index), session):
            if len(passage.text) >= LEAST:
                yield passage.text[:20_000]


def contexts_of(session: Session) -> Iterator[str]:
    """What a writer would be sent for messages spread over a session."""
    from narrator.context import take_context
    from narrator.prompt import build_prompt
    from narrator.style import load_style

    style, count = load_style("essay"), len(session)
    for place in range(CONTEXTS):
        context = take_context(session, place * (count - 1) // (CONTEXTS - 1))
        yield build_prompt(context, style).messages[-1].content


def report(name: str, texts: list[str], count: Callable[[str], int], exact: list[int]) -> None:
    """Print a line: mean absolute error, 95th percentile, and that of the sum."""
    errors = [count(text) / true - 1 for text, true in zip(texts, exact, strict=True)]
    total = sum(map(count, texts)) / sum(exact) - 1
    high = quantiles(map(abs, errors), n=20)[-1] if len(errors) > 1 else abs(errors[0])
    print(f"{name:<44} {len(texts):>7,} {mean(map(abs, errors)):>8.1%} {high:>8.1%} {total:>+8.1%}")


def main() -> None:
    """Measure and print."""
    os.environ.pop("NARRATE_TOKENS", None)
    from narrator.formats import open_session
    from narrator.tokens import estimate_tokens, find_vocabulary

    exact = find_vocabulary()
    if exact is None:
        raise SystemExit("toktok-rs is not installed: pip install 'narrate[tokens]'")
    given = [Path(name) for name in sys.argv[1:]]
    found = [
        ROOT / "examples" / "glm5-144.json",
        *sorted(SHARED.glob("essays/*.gz")),
        *sorted(SHARED.glob("opencode/gen*A.json")),
    ]
    print(f"{'':<44} {'texts':>7} {'mean':>8} {'95 %':>8} {'sum':>8}")
    for path in given or found:
        if not path.is_file():
            continue
        session = open_session(str(path))
        for kind, texts in (("messages", list(texts_of(session))), ("contexts", list(contexts_of(session)))):
            true = [exact(text) for text in texts]
            report(f"{path.name}, {kind}", texts, estimate_tokens, true)
            report("  characters / 4", texts, lambda text: max(1, len(text) // 4), true)


if __name__ == "__main__":
    main()
