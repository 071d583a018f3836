"""Everything that is raised on purpose.

    NarratorError                      exit
    ├── UsageError                     2   the call names something that is not there
    ├── SessionError                   2   the recording cannot be read
    ├── StyleError                     2   a style or theme folder is wrong
    ├── DraftError                     2   a draft cannot be read or written
    │   └── ExistsError                2   it would replace something
    ├── BudgetError                    1   asking would pass what may be spent
    └── ModelError                     3   the model gave no usable essay
        ├── ModelUnavailableError      3   worth another try: rate limit, server fault, lost connection
        ├── ModelRejectedError         3   the request itself was turned down: key, quota, parameters
        │   └── ModelTooLongError      3   the prompt is too long for the model
        ├── ModelRefusedError          3   the model or a content filter declined
        ├── ModelCutOffError           3   the answer ended before it was whole
        └── ModelNoAnswerError         3   an answer came that is no essay

Each says in one line what happened, where, and what to do next; the command line prints that line and nothing else.
A wrong citation is not here: it is data, and is shown in the essay.
"""

from __future__ import annotations

from typing import ClassVar


class NarratorError(Exception):
    """An expected failure: one line for a person and an exit code for a script."""

    exit_code: ClassVar[int] = 1


def reason(error: OSError | ValueError) -> str:
    """Why a file could not be read or written, in the system's words, fit to follow a colon."""
    return (getattr(error, "strerror", None) or str(error)).lower()


class UsageError(NarratorError):
    """The call names something that does not exist or does not go together."""

    exit_code = 2


class SessionError(NarratorError):
    """The recording cannot be used."""

    exit_code = 2


class StyleError(NarratorError):
    """A style or theme folder is missing or wrong."""

    exit_code = 2


class DraftError(NarratorError):
    """A draft or page cannot be read or written."""

    exit_code = 2


class ExistsError(DraftError):
    """Something stands where the output would go."""


class BudgetError(NarratorError):
    """Asking would pass what may be spent; nothing was sent."""


class ModelError(NarratorError):
    """The model gave no usable essay; nothing was saved as if it were whole."""

    exit_code = 3


class ModelUnavailableError(ModelError):
    """The endpoint could not answer now; another try may succeed."""

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds the server asked us to wait; None when it did not say."""
        self.status = status
        """HTTP status, or what the server's words amount to; None when there was no answer."""


class ModelRejectedError(ModelError):
    """The endpoint turned the request down; the same request would fail again."""

    def __init__(
        self, message: str, *, tools: bool = False, parameters: tuple[str, ...] = (), lasting: bool = False
    ) -> None:
        super().__init__(message)
        self.lasting = lasting
        """It was for the key, its quota, the model's name or the address: every other request would fail like it."""
        self.tools = tools
        """It may have been turned down for its tools: the same request without them may do."""
        self.parameters = parameters
        """What of the request was named as not taken, the likeliest first; "" for something without a name."""


class ModelTooLongError(ModelRejectedError):
    """The prompt does not go into the model's context."""

    def __init__(self, message: str, *, limit: int | None = None, sent: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        """Tokens that the context holds, by the server; None when it did not say."""
        self.sent = sent
        """Tokens that the server counted in the request."""


class ModelRefusedError(ModelError):
    """The model or a content filter declined to write."""


class ModelCutOffError(ModelError):
    """The answer ended before it was whole."""


class ModelNoAnswerError(ModelError):
    """An answer came that is not an essay: empty, a web page, a JSON document, a tool call."""
