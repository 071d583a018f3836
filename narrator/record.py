"""The frozen base of all values that are written or pass between stages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A value: it never changes, and a field it does not know is an error.

    What a reader takes from an agent's recording is leaner (`session`, msgspec structs: a session holds tens of
    thousands of them); everything from the findings on, and everything that is written to disk, is a `Record`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
