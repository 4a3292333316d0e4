"""A redaction that holds the recorder's thread up until it is released."""

from __future__ import annotations

import threading
from typing import Any


class StalledRedaction:
    """For ``redact=``: does not return before ``release`` is set. ``began`` is set when the thread has called it."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()

    def __call__(self, _field: str, value: Any) -> Any:
        self.began.set()
        self.release.wait()
        return value
