"""Log events that are records: redacted and bounded like all that is written."""

from __future__ import annotations

from typing import Final

from tooltrace.foreign.again import again
from tooltrace.otel import attributes as names
from tooltrace.otel.events import Event, from_log, name_of, why_not
from tooltrace.otel.form import LogForm
from tooltrace.server.receiver.receipt import Receipt
from tooltrace.settings import Settings

NOT_OURS: Final = "a log record that is no evaluation and no event of tooltrace is not kept"


def to_record(form: LogForm, settings: Settings, receipt: Receipt) -> Event | None:
    """The record of ``form``; None where there is none to keep, as ``receipt`` is told where that is a loss."""
    record = from_log(form)
    if record is not None:
        return again(record, settings)
    if name_of(form) == names.EXCEPTION_EVENT:  # its span says the same
        return None
    reason = why_not(form)
    if reason is None:
        receipt.reject(NOT_OURS)
    else:
        receipt.lose(reason)
    return None
