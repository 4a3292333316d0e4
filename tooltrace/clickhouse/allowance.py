"""What is left of the limits of a question: the server keeps them for each statement, and a question may be several."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from tooltrace.errors import QueryError

SECONDS: Final = "max_execution_time"
BYTES: Final = "max_memory_usage"


class Allowance:
    """Of the time and the memory in ``settings``, as far as they say any, from now on."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._begun = time.monotonic()
        self._seconds: float | None = settings.get(SECONDS)
        self._bytes: int | None = settings.get(BYTES)

    @property
    def limits_memory(self) -> bool:
        """Whether it matters what is held."""
        return self._bytes is not None

    def left(self, held: int = 0) -> dict[str, Any]:
        """The settings of the next statement, while ``held`` bytes are kept. Raises QueryError where nothing is left."""
        settings: dict[str, Any] = {}
        if self._seconds is not None:
            settings[SECONDS] = round(self._seconds - (time.monotonic() - self._begun), 3)
            if settings[SECONDS] <= 0:
                raise QueryError("the steps of the question took all of its time (TIMEOUT_EXCEEDED)")
        if self._bytes is not None:
            settings[BYTES] = self._bytes - held
            if settings[BYTES] <= 0:
                raise QueryError("the steps of the question hold all of its memory (MEMORY_LIMIT_EXCEEDED)")
        return settings
