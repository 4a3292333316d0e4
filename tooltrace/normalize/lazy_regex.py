"""Patterns that are compiled when they are first used: many, and most programs never need most of them."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("fullmatch", "match", "search", "findall", "finditer", "split", "sub", "subn", "pattern", "groupindex")


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._made_of = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """Asked once, for a name that is not there yet: from then on the methods are the pattern's own."""
        made = re.compile(*self._made_of)
        self.__dict__.update((each, getattr(made, each)) for each in _METHODS)
        return getattr(made, name)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``, later."""
    return cast("re.Pattern[str]", _Lazy(pattern, int(flags)))
