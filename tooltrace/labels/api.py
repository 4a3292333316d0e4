"""Labelling of many attempts by SQL over the store, or by a function called with each attempt."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tooltrace.errors import LabelError
from tooltrace.labels.label import LabelerKind
from tooltrace.recording import config
from tooltrace.recording.settings import Settings
from tooltrace.store.base import open_store

Judge = Callable[[dict[str, Any]], Any]
"""Function that accepts a row of ``tool_calls`` and returns its judgement; None when it cannot judge."""


def outcome_from(
    source: str | Judge,
    *,
    labeler: str,
    labeler_kind: LabelerKind = "rule",
    store: str | os.PathLike[str] | None = None,
    again: bool = False,
) -> int:
    """Label attempts with the judgements of ``source``; return the number of labels.

    ``source`` is a SELECT over the tables of the store with the columns call_id, span_id or conversation_id, correct
    and/or score, and optionally reason. Or it is a function, which is called with each finished attempt as a dict: a row of
    ``tool_calls`` whose JSON columns are text. The function returns True, False, a score in [0, 1], a dict or object
    with correct, score and reason, or None when it cannot judge.

    Attempts that ``labeler`` has already judged are left out, unless ``again`` is true. Where several attempts share a
    call id, a span_id names the attempt. ``labeler_kind`` is ``agent`` for
    a model. ``store`` replaces the configured store.

    The labels of a SELECT are recorded all or none. The labels of a function are recorded even when it raises later;
    its exception propagates. Raises LabelError, StoreError.
    """
    if not isinstance(labeler, str) or not labeler:
        raise LabelError(
            f"labeler must be the name of the person or program that labels; got {labeler!r}; nothing was recorded"
        )
    settings = _settings(store)
    config.wait_until_written()
    if isinstance(source, str):
        from tooltrace.labels.from_sql import label_selected

        return label_selected(source, settings, labeler, kind=labeler_kind, again=again)
    if not callable(source) or inspect.iscoroutinefunction(source):
        raise LabelError(
            f"outcome_from accepts SQL or a function that is not async; got {source!r}; nothing was recorded"
        )
    from tooltrace.labels.from_function import label_by

    return label_by(source, settings, labeler, kind=labeler_kind, again=again)


def _settings(store: str | os.PathLike[str] | None) -> Settings:
    """Return the settings of this process, with ``store`` in place of its own if passed. Raises LabelError."""
    settings = config.get_recorder().settings
    if store is not None:
        return replace(settings, store=open_store(store).path)
    if settings.store is None:
        raise LabelError("this process has no store: pass store=; nothing was recorded")
    return settings
