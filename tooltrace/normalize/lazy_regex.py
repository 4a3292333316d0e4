"""Regular expressions that are compiled on first use.

There are many, and most programs never need most of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

_METHODS = ("fullmatch", "match", "search", "findall", "finditer", "split", "sub", "subn", "pattern", "groupindex")


class _Lazy:
    def __init__(self, pattern: str | Callable[[], str], flags: int) -> None:
        self._made_of = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern and return its attribute ``name``.

        Python calls this only for a missing attribute: the first call stores the compiled pattern's methods on this
        object.
        """
        pattern, flags = self._made_of
        made = re.compile(pattern if isinstance(pattern, str) else pattern(), flags)
        self.__dict__.update((each, getattr(made, each)) for each in _METHODS)
        return getattr(made, name)


def lazy(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern like ``re.compile`` does, compiled on first use; a function gives the pattern then."""
    return cast("re.Pattern[str]", _Lazy(pattern, int(flags)))
