"""Tell an exception that a signal raised from one that the code which it met raised.

Code of a recorded object may raise anything, and that is kept from the tool's caller. Ctrl-C, a ``SIGTERM`` handler that
calls ``sys.exit`` and a timeout by ``SIGALRM`` are raised in the main thread wherever it is, perhaps in such code, and have to
reach the application.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal.getsignal() spells the handler by its repr, which may run code of a recorded object
from functools import partial
from opcode import opmap
from threading import get_ident, main_thread
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any

_RAISE = opmap.get("RAISE_VARARGS")
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def pass_on_signal(error: BaseException) -> None:
    """Raise ``error`` again where a signal raised it; return otherwise."""
    if raised_by_signal(error):
        raise error


def raised_by_signal(error: BaseException) -> bool:
    """Return whether a signal raised ``error``: it left a handler that is installed now, or it is the KeyboardInterrupt of
    Python's own handler.

    That handler has no frame: its KeyboardInterrupt is one that the innermost frame did not raise by a ``raise`` statement.
    """
    if get_ident() != main_thread().ident:  # Python runs the handlers of signals in the main thread only
        return False
    handlers = _handlers()
    trace: TracebackType | None = _traceback_of(error)
    innermost = trace
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        innermost, trace = trace, trace.tb_next
    if not issubclass(type(error), KeyboardInterrupt) or innermost is None:
        return False
    return _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler and not _at_raise(innermost)


def _handlers() -> set[CodeType]:
    """Return the code of the handlers that the application installed, of any signal."""
    found = (_code_of(_signal.getsignal(number)) for number in _signal.valid_signals())
    return {code for code in found if code is not None}


def _code_of(handler: Any) -> CodeType | None:
    while type(handler) is partial:
        handler = handler.func
    if type(handler) is MethodType:
        handler = handler.__func__
    return handler.__code__ if type(handler) is FunctionType else None


def _at_raise(trace: TracebackType) -> bool:
    """Return whether the frame was at a ``raise`` statement."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE
