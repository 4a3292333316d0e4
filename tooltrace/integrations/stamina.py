"""Retries by stamina, as attempts of one call.

Without the integration, the recorder recognises a retry by stamina's frames, which are on the stack where the tool runs
in the thread and task of the retry. With it, a hook of stamina says which failure it retries, also where the tool runs in
another thread, by ``asyncio.to_thread`` or in a task::

    from tooltrace.integrations import stamina

    stamina.install()

Hooks that the application sets later, by ``stamina.instrumentation.set_on_retry_hooks``, replace this one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from tooltrace.faults import suppress_faults
from tooltrace.recording import retries

__all__ = ["FRAMEWORK", "install", "on_retry", "remove"]

FRAMEWORK = "stamina"


def install() -> None:
    """Link the attempts of retries from now on; a second call has no effect.

    Raises ImportError if stamina is not installed.
    """
    try:
        instrumentation = import_module("stamina.instrumentation")
    except ImportError as error:
        raise ImportError("stamina is not installed: pip install stamina") from error
    hooks = instrumentation.get_on_retry_hooks()
    if on_retry not in hooks:
        instrumentation.set_on_retry_hooks([*hooks, on_retry])
    retries.set_announced_by("stamina", on=True)


def remove() -> None:
    """Stop linking by the integration. The recorder still recognises stamina's frames."""
    if (instrumentation := sys.modules.get("stamina.instrumentation")) is not None:
        others = [hook for hook in instrumentation.get_on_retry_hooks() if hook is not on_retry]
        instrumentation.set_on_retry_hooks(others)
    retries.set_announced_by("stamina", on=False)


def on_retry(details: Any) -> None:
    """Note the failure that stamina is about to retry; a hook for ``set_on_retry_hooks``."""
    with suppress_faults("integrate", lost=0):
        retries.announce("stamina", details.caused_by)
