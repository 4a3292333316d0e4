"""Functions of a foreign class, replaced and put back."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from inspect import iscoroutinefunction
from types import FunctionType
from typing import Any

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes the function that stands in for the one it is given, which it calls."""

_ABSENT: Any = object()


class Patches:
    """What was replaced, in order."""

    def __init__(self) -> None:
        self.on = True
        """False once restored: what a third party wrapped, and so could not be put back, passes calls on."""
        self._done: list[tuple[weakref.ref[type], str, Any, Any]] = []

    def wrap(self, owner: type, name: str, make: Make) -> None:
        """Replace the function that ``owner`` itself defines under ``name``; where it defines none, do nothing."""
        original = vars(owner).get(name)
        if isinstance(original, FunctionType):
            self.put(owner, name, functools.wraps(original)(self._switched(original, make)))

    def put(self, owner: type, name: str, value: Any) -> None:
        """Set the attribute, and remember what was there."""
        self._done.append((weakref.ref(owner), name, vars(owner).get(name, _ABSENT), value))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Put everything back that is still as it was set, the last first."""
        self.on = False
        while self._done:
            reference, name, original, mine = self._done.pop()
            owner = reference()
            if owner is None or vars(owner).get(name) is not mine:
                continue
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

    def _switched(self, original: Callable[..., Any], make: Make) -> Callable[..., Any]:
        made = make(original)

        def switched(*args: Any, **kwargs: Any) -> Any:
            return (made if self.on else original)(*args, **kwargs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await (made if self.on else original)(*args, **kwargs)

        return coroutine if iscoroutinefunction(original) else switched
