"""Where an exception was raised: the frames, taken in the tool's thread and written out in the recorder's thread.

A frame is its code object and an offset into it. The frame itself would keep the tool's variables alive, and let them
be finalized in another thread. Lines of source are left out: a text can be redacted, a line of source cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import sep
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final, NamedTuple

from tooltrace.normalize.exceptions.reader import plan_of
from tooltrace.redact.texts import fix_unicode

MAX_FRAMES: Final = 20
"""Maximum number of frames of one exception; the innermost are kept."""
MAX_CHAINED: Final = 3
"""Maximum number of exceptions of a chain; the outermost are kept."""
MAX_CHARS: Final = 8 * 1024
"""Maximum length of the text; the end is kept, which is the exception that the caller received."""

# by the descriptors of BaseException: a class may define attributes of these names
_traceback_of: Any = BaseException.__dict__["__traceback__"].__get__
_cause_of: Any = BaseException.__dict__["__cause__"].__get__
_context_of: Any = BaseException.__dict__["__context__"].__get__
_suppresses_context: Any = BaseException.__dict__["__suppress_context__"].__get__

_PACKAGE: Final = Path(__file__).parents[1]
_OWN: Final = tuple(f"{_PACKAGE / name}{sep}" for name in ("recording", "tools", "integrations"))
"""Folders whose frames are those of the recorder, not of the tool."""
_CAUSE: Final = "The above exception was the direct cause of the following exception:"
_CONTEXT: Final = "During handling of the above exception, another exception occurred:"


class RaisedFrom(NamedTuple):
    """One exception of a chain: its class, its innermost frames, and how it led to the next one."""

    name: str
    frames: tuple[tuple[CodeType, int], ...]
    """Code object and offset of the instruction of each frame, the outermost first."""
    depth: int
    """Number of all frames."""
    is_cause: bool
    """Whether the next exception was raised ``from`` this one."""


def take_frames(error: BaseException) -> tuple[RaisedFrom, ...]:
    """Return the frames of ``error`` and of the exceptions that led to it, ``error`` first.

    Runs no code of the exception but that of its metaclass.
    """
    chain: list[RaisedFrom] = []
    seen: set[int] = set()
    following: BaseException | None = error
    is_cause = False
    while following is not None and len(chain) < MAX_CHAINED and id(following) not in seen:
        seen.add(id(following))
        plan = plan_of(type(following))
        cause: BaseException | None
        if plan.has_own_links:
            trace, cause = _traceback_of(following), _cause_of(following)
            next_ = cause if cause is not None or _suppresses_context(following) else _context_of(following)
        else:  # the same in less time; no code of the class runs
            trace, cause = following.__traceback__, following.__cause__
            next_ = cause if cause is not None or following.__suppress_context__ else following.__context__
        frames, depth = _innermost(trace)
        chain.append(tuple.__new__(RaisedFrom, (plan.name, frames, depth, is_cause)))
        following, is_cause = next_, cause is not None
    return tuple(chain)


def _innermost(trace: TracebackType | None) -> tuple[tuple[tuple[CodeType, int], ...], int]:
    """Return the innermost frames of ``trace``, and the number of all."""
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame.f_code, trace.tb_lasti))
        trace = trace.tb_next
    return tuple(frames[-MAX_FRAMES:]), len(frames)


def write_traceback(chain: tuple[RaisedFrom, ...]) -> str | None:
    """Return the frames as text in Python's order: the first exception first, without our own frames.

    None where no frame is known.
    """
    lines: list[str] = []
    for raised in reversed(chain):
        lines += _lines_of(raised)
        if raised is not chain[0]:
            lines += ["", _CAUSE if raised.is_cause else _CONTEXT, ""]
    text = fix_unicode("\n".join(lines))
    if not any(_is_foreign(code) for raised in chain for code, _ in raised.frames):
        return None
    return text if len(text) <= MAX_CHARS else "…" + text[1 - MAX_CHARS :]


def _lines_of(raised: RaisedFrom) -> Iterator[str]:
    yield "Traceback (most recent call last):"
    if raised.depth > len(raised.frames):
        yield f"  … {raised.depth - len(raised.frames)} more frames"
    for code, offset in raised.frames:
        if _is_foreign(code):
            yield f'  File "{code.co_filename}", line {_line_of(code, offset)}, in {code.co_qualname}'
    yield raised.name


def _is_foreign(code: CodeType) -> bool:
    return not code.co_filename.startswith(_OWN)


def _line_of(code: CodeType, offset: int) -> int:
    """Return the line of the instruction at ``offset``."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno
