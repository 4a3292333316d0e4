"""Python's own parser, limited to one thread at a time."""

from __future__ import annotations

import ast
import warnings
from threading import Lock

_one_at_a_time = Lock()


def parse(source: str | bytes) -> ast.Module:
    """Return the syntax tree of ``source``, without warnings. Raises SyntaxError or ValueError.

    The lock is needed because some versions of CPython add up the nesting depth over all threads, and then raise
    SystemError. ``warnings.catch_warnings`` is not thread-safe either.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """Return the syntax tree of one expression. Raises SyntaxError or ValueError."""
    with _one_at_a_time:
        return ast.parse(source, mode="eval").body
