"""``tt.forget``: the deletion of calls from the store, its journals and its exported files."""

from __future__ import annotations

import os

from tooltrace.maintenance.exported_files import forget_in_exports
from tooltrace.recording import config
from tooltrace.store.base import open_store
from tooltrace.store.files.scratch import sweep_file
from tooltrace.store.upkeep.exclusive import existing
from tooltrace.store.upkeep.exports import exported_files
from tooltrace.store.upkeep.forget import WAIT_SECONDS, ForgetReport, Selection
from tooltrace.store.upkeep.forget import forget as forget_in_store


def forget(
    *,
    conversation_id: str | None = None,
    call_id: str | None = None,
    where: str | None = None,
    whole_traces: bool = False,
    exports: bool = False,
    dry_run: bool = False,
    store: str | os.PathLike[str] | None = None,
    wait: float | None = WAIT_SECONDS,
) -> ForgetReport:
    """Delete the calls that satisfy every given condition, with all that belongs to them, for good.

    ``where``: a condition in SQL on the columns of ``tool_calls``. ``whole_traces``: also the spans of the calls' traces
    that have other calls. Records of these calls that arrive later are left out; calls that begin later are recorded.
    ``exports``: also remove from the exported files and backups, as far as they still exist, what was forgotten now or
    earlier; without a condition only that. ``dry_run``: only count. ``store``: another store than the configured one.
    ``wait``: seconds to wait for readers; None waits without limit.

    ``remaining`` and ``exports`` of the report name the files that may still have the records. Raises ConfigError where
    nothing is to be done, QueryError for a wrong condition, StoreError, and UnsupportedByStore for a store that is not a
    local one.
    """
    config.wait_until_written()
    opened = open_store(config.queried_store(store))
    return forget_calls(
        opened.path,
        None
        if exports and not (conversation_id or call_id or where)
        else Selection(
            conversation_id=conversation_id,
            call_id=None if call_id is None else str(call_id),
            where=where,
            whole_traces=whole_traces,
        ),
        exports=exports,
        dry_run=dry_run,
        wait=wait,
    )


def forget_calls(
    path: str | os.PathLike[str],
    selection: Selection | None,
    *,
    exports: bool = False,
    dry_run: bool = False,
    wait: float | None = WAIT_SECONDS,
) -> ForgetReport:
    """Do as ``forget`` in the store ``path``; without a ``selection`` only in its exported files."""
    report = ForgetReport()
    if selection is not None:
        report = forget_in_store(path, selection, wait=wait, dry_run=dry_run)
    if exports:
        paths = existing(path)
        noted = exported_files(paths, wait=wait)
        running = [path for each in noted for path in sweep_file(each.path)]
        found = [each for each in noted if each.path.exists()]
        if dry_run:
            report.exports = found
            return report
        cleaned = forget_in_exports(paths, found, wait=wait)
        report.exports = []
        report.exports_changed = cleaned.changed
        report.erased.remaining += cleaned.remaining
        report.erased.remaining += [
            f"{path} is of an export that runs: forget once more when it has ended" for path in running
        ]
    return report
