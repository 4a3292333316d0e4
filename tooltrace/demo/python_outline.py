"""Python's own parser, one text at a time."""

from __future__ import annotations

import ast
import warnings
from threading import Lock

_one_at_a_time = Lock()


def parse(source: str | bytes) -> ast.Module:
    """The tree of ``source``, without the parser's remarks on its style. Raises SyntaxError, ValueError.

    Some versions of CPython count the depth of all threads' trees together, and then raise SystemError.
    ``warnings.catch_warnings`` is for one thread at a time as well.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression. Raises SyntaxError, ValueError."""
    with _one_at_a_time:
        return ast.parse(source, mode="eval").body
