"""Labels that a program can give: by SQL over the store, or by a function that is shown each attempt."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tooltrace.errors import LabelError
from tooltrace.recording import config
from tooltrace.recording.settings import Settings
from tooltrace.store.base import open_store

Judge = Callable[[dict[str, Any]], Any]
"""Given a row of ``tool_calls``, gives what it says of it; None where it cannot tell."""


def outcome_from(
    source: str | Judge, *, labeler: str, store: str | os.PathLike[str] | None = None, again: bool = False
) -> int:
    """Label attempts by what ``source`` says of them; gives the number of labels.

    ``source``: a SELECT over the tables of the store with the columns call_id or span_id, correct and/or score, and
    perhaps reason; or a function that is called with each finished attempt as a dict, a row of ``tool_calls`` whose
    JSON columns are text, and gives True, False, a score in [0, 1], a dict or object with correct, score and
    reason, or None where it cannot tell. What ``labeler`` has judged already is left out, unless ``again``; where call
    ids come again, a span_id says which is meant. ``store``: another store than the configured one.

    A SELECT is labelled whole or not at all. What a function said is kept even where it raises later; its error
    is handed on. Raises LabelError, StoreError.
    """
    if not isinstance(labeler, str) or not labeler:
        raise LabelError(f"labeler takes the name of who says so, got {labeler!r}; nothing was recorded")
    settings = _settings(store)
    config.wait_until_written()
    if isinstance(source, str):
        from tooltrace.labels.from_sql import label_selected

        return label_selected(source, settings, labeler, again=again)
    if not callable(source) or inspect.iscoroutinefunction(source):
        raise LabelError(f"outcome_from takes SQL or a plain function, got {source!r}; nothing was recorded")
    from tooltrace.labels.from_function import label_by

    return label_by(source, settings, labeler, again=again)


def _settings(store: str | os.PathLike[str] | None) -> Settings:
    """As this process records, but into ``store``."""
    settings = config.get_recorder().settings
    if store is not None:
        return replace(settings, store=open_store(store).path)
    if settings.store is None:
        raise LabelError("this process keeps no history, and no store= is given; nothing was recorded")
    return settings
