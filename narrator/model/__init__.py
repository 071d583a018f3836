"""The writer that asks a model, over any OpenAI-compatible endpoint.

The only place that knows the SDK, and the only retry. `settings` decides who is asked, `endpoint` asks until
there is a whole answer (`retry`), `wire` makes one request, `answer` judges what came, `faults` turns what a
server says into our errors. Importing this package loads no SDK: that happens at the first request.
"""

from __future__ import annotations

from narrator.model.endpoint import Call, Endpoint
from narrator.model.settings import DEFAULT_MODEL, Settings, settings_from

__all__ = ["DEFAULT_MODEL", "Call", "Endpoint", "Settings", "settings_from"]
