"""Retries by tenacity, as attempts of one call.

Without the integration, the recorder recognises a retry by tenacity's frames, which are on the stack where the tool runs
in the thread and task of the retry. With it, tenacity says which failure it retries, also where the tool runs in another
thread, by ``asyncio.to_thread`` or in a task::

    from tooltrace.integrations import tenacity

    tenacity.install()

A tool whose result is retried (``retry_if_result``) is recognised where the result is an error's ToolResponse.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tooltrace.faults import suppress_faults
from tooltrace.integrations.monkeypatch import MonkeyPatcher
from tooltrace.recording import retries

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "tenacity"
_patches = MonkeyPatcher()


def install() -> None:
    """Link the attempts of retries from now on; a second call has no effect.

    Raises ImportError if tenacity is not installed.
    """
    try:
        tenacity = import_module("tenacity")
    except ImportError as error:
        raise ImportError("tenacity is not installed: pip install tenacity") from error
    _patches.make(lambda: _patches.wrap(tenacity.RetryCallState, "prepare_for_next_attempt", _announcing))
    retries.set_announced_by("tenacity", on=True)


def remove() -> None:
    """Stop linking by the integration. The recorder still recognises tenacity's frames."""
    _patches.undo()
    retries.set_announced_by("tenacity", on=False)


def _announcing(original: Callable[..., Any]) -> Callable[..., Any]:
    def prepare_for_next_attempt(state: Any) -> Any:
        with suppress_faults("integrate", lost=0):
            outcome = state.outcome
            if outcome is not None:
                retries.announce("tenacity", outcome.exception() if outcome.failed else None)
        return original(state)

    return prepare_for_next_attempt
