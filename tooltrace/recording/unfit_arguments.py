"""Calls whose arguments do not fit the function's signature: Python raises TypeError, and the function does not run."""

from __future__ import annotations

import re
from typing import Final

_FITS_NOT: Final = re.compile(
    r"\(\) (?:missing \d+ required|got (?:an unexpected|multiple values|some positional)|takes )"
)
"""In the message of Python's error, after the function's name."""
OURS: Final = "tooltrace.recording"
"""The package that calls a decorated function."""


def fails_to_bind(error: BaseException, caller: str) -> bool:
    """Whether ``error`` says that the arguments did not fit, and was raised by a call in the package ``caller``.

    The same error of a call that the function itself makes has a frame of the function. Never raises.
    """
    if type(error) is not TypeError or not error.args or type(error.args[0]) is not str:
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__")
    return type(module) is str and f"{module}.".startswith(f"{caller}.") and bool(_FITS_NOT.search(error.args[0][:500]))
