"""Formats of the transcripts of coding agents: from their lines to records.

Every line is accounted for: it has a part of a call, it is known to have none, it is skipped with a reason, or it counts as a
loss of the kind ``unknown_in_transcript``, with what is not known and the version of the agent. A call without a result is
lost, unless the session may still go on: the file was changed in the last 24 hours, and nothing followed the call.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Final

from tooltrace.core.records import Loss, Record
from tooltrace.ingest.call_builder import ExternalCall, build_call, safe_name
from tooltrace.ingest.files.reader import MALFORMED, Format, TraceFile, parsed
from tooltrace.ingest.transcripts import claude_code, codex
from tooltrace.ingest.transcripts.model_spans import SafeNames, model_span
from tooltrace.ingest.transcripts.session import UNIQUE_ID, Found, TranscriptFormat
from tooltrace.otel.timestamps import EPOCH
from tooltrace.recording.call_numbers import CallNumbers
from tooltrace.recording.settings import Settings

UNKNOWN: Final = "unknown_in_transcript"
"""Reason of the loss of what a reader does not know."""
OPEN_NS: Final = 24 * 3600 * 10**9
"""Time since the last change of a file after which its session is over."""
_MAX_KINDS: Final = 100
"""Kinds of unknown lines of one file that are counted apart: a damaged file has a new one in each line."""
_OTHER: Final = "others"


def _read(agent: TranscriptFormat, source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield the records of the lines beyond ``source.start``."""
    reader, numbers, names = agent.reader(source.path), CallNumbers(), SafeNames(settings.redaction)
    unknown: Counter[tuple[str, str]] = Counter()
    noted: list[str] = []
    may_go_on = time.time_ns() - source.path.stat().st_mtime_ns < OPEN_NS
    for number, line in _objects(source, may_go_on=may_go_on):
        try:
            found = reader.read(line, noted.append)
        except MALFORMED as error:
            found = []
            if source.is_new:
                source.skip(number, f"a member has an unexpected value ({type(error).__name__})")
        if source.is_new:
            yield from _records(found, settings, numbers, names)
            for kind in noted:
                key = (reader.version or "unknown", kind)
                unknown[key if key in unknown or len(unknown) < _MAX_KINDS else (key[0], _OTHER)] += 1
        noted.clear()
    rest, source.waiting = reader.rest(may_go_on=may_go_on)
    yield from _records(rest, settings, numbers, names)
    # of the last line, so that the same file gives the same rows
    at = EPOCH + timedelta(microseconds=reader.last_ns // 1000)
    for (version, kind), count in unknown.items():
        detail = safe_name(f"{agent.service} {version}: {kind}", settings.redaction)
        yield Loss(reason=UNKNOWN, count=count, at=at, detail=detail, service=agent.service)


def _objects(source: TraceFile, *, may_go_on: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of the lines with their numbers. A new line that is none is skipped; a last one may not be written to its end yet."""
    for number, line in source.lines():
        data = parsed(line)
        if isinstance(data, dict):
            yield number, data
        elif may_go_on and not line.endswith(b"\n"):
            source.position -= len(line)
        elif line.strip() and source.is_new:
            source.skip(number, "not a JSON object")


def _records(found: Iterable[Found], settings: Settings, numbers: CallNumbers, names: SafeNames) -> Iterator[Record]:
    for each in found:
        if isinstance(each, ExternalCall):
            # an id that is used once needs no comparison with the calls before
            yield build_call(each, settings, None if each.call_id and len(each.call_id) >= UNIQUE_ID else numbers)
        else:
            yield model_span(each, names)


def _format(agent: TranscriptFormat) -> Format:
    return Format(agent.service, agent.knows, partial(_read, agent))


FORMATS: Final = tuple(map(_format, (claude_code.FORMAT, codex.FORMAT)))
