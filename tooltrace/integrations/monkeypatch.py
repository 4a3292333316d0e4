"""Replace functions of a library, and restore them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from threading import RLock
from types import FunctionType
from typing import Any, NamedTuple

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Function that returns a replacement for its argument; the replacement calls the original."""

PatchPoint = tuple[Any, str, Make]
"""A class or module, the name of a function in it, and the function that wraps the original."""
_ABSENT: Any = object()


class _Patch(NamedTuple):
    owner: weakref.ref[Any]
    name: str
    original: Any
    replacement: Any

    def put_back(self) -> bool:
        """Restore the original. Return False if other code has wrapped the replacement, which then stays."""
        owner = self.owner()
        if owner is None:
            return True
        if vars(owner).get(self.name) is self.replacement:
            if self.original is _ABSENT:
                delattr(owner, self.name)
            else:
                setattr(owner, self.name, self.original)
        return vars(owner).get(self.name, _ABSENT) is self.original


class MonkeyPatcher:
    """The replacements of one integration in classes and modules."""

    def __init__(self) -> None:
        self.on = False
        """Whether the replacements record.

        A replacement that could not be removed only calls the original while this is false.
        """
        self._patches: list[_Patch] = []
        self._lock = RLock()

    def make(self, hook: Callable[[], None]) -> None:
        """Let ``hook`` replace functions, and start recording; a second call has no effect.

        If ``hook`` raises, the originals are restored.
        """
        with self._lock:
            if self.on:
                return
            self.undo()  # retry to remove replacements that had to stay
            try:
                hook()
            except BaseException:
                self.undo()
                raise
            self.on = True

    def undo(self) -> None:
        """Restore the originals, the last replaced first."""
        with self._lock:
            self.on = False
            # Patches that other code has wrapped stay in the list, for the next attempt to remove them.
            self._patches = [patch for patch in reversed(self._patches) if not patch.put_back()][::-1]

    def wrap(self, owner: Any, name: str, make: Make) -> None:
        """Replace the function that ``owner`` itself defines under ``name``; no effect if it defines none."""
        original = vars(owner).get(name)
        if isinstance(original, FunctionType):
            # isinstance accepts wrapt's proxies, which claim the class of what they wrap; type() shows the proxy
            # itself.
            is_proxy = type(original) is not FunctionType and isinstance(owner, type)
            called = _as_method(original) if is_proxy else original
            self.put(owner, name, lambda: functools.wraps(original)(self._switched(called, make)))

    def wrap_all(self, points: Sequence[PatchPoint]) -> None:
        """Replace the functions of all ``points``. Raises KeyError, and replaces none, if one does not exist."""
        for owner, name, _ in points:
            vars(owner)[name]  # a version of the library without this function
        for owner, name, make in points:
            self.wrap(owner, name, make)

    def put(self, owner: Any, name: str, value: Callable[[], Any]) -> None:
        """Set the attribute to the result of ``value`` and store the original; only once per attribute."""
        if any(patch.owner() is owner and patch.name == name for patch in self._patches):
            return
        original, replacement = vars(owner).get(name, _ABSENT), value()
        setattr(owner, name, replacement)
        self._patches.append(_Patch(weakref.ref(owner), name, original, replacement))

    def _switched(self, original: Callable[..., Any], make: Make) -> Callable[..., Any]:
        patched = make(original)

        def switched(*args: Any, **kwargs: Any) -> Any:
            return (patched if self.on else original)(*args, **kwargs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await (patched if self.on else original)(*args, **kwargs)

        # Libraries ask whether a function is a coroutine function before they call it.
        return coroutine if iscoroutinefunction(original) else switched


def _as_method(proxy: Any) -> Callable[..., Any]:
    """Return ``proxy``, which another library (wrapt) put in place of a method, as a function.

    Called as it is, a proxy would not know its instance.
    """

    def call(instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        return proxy.__get__(instance, type(instance))(*args, **kwargs)

    async def coroutine(instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await proxy.__get__(instance, type(instance))(*args, **kwargs)

    return coroutine if iscoroutinefunction(proxy) else call
