"""Replace functions of a library, and put the very originals back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, NamedTuple

Target = tuple[Any, str, Callable[[Any], Any]]
"""A class or module, the name in it, and what makes the replacement of the original."""


class Switch:
    """Whether the replacements record. One that another library has wrapped meanwhile cannot be taken out: it
    stays, and does nothing."""

    on = False


class _Patch(NamedTuple):
    owner: Any
    name: str
    original: Any
    replacement: Any

    @property
    def on_top(self) -> bool:
        return vars(self.owner).get(self.name) is self.replacement


class Patches:
    """Replacements that are made together and undone together."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._made: list[_Patch] = []
        self._lock = RLock()

    def make(self, targets: Iterable[Target]) -> None:
        """Replace what is not replaced yet."""
        with self._lock:
            known = {(id(patch.owner), patch.name) for patch in self._made}
            for owner, name, maker in targets:
                if (id(owner), name) not in known:
                    self._replace(owner, name, maker)
            self._switch.on = True

    def undo(self) -> None:
        """Put the originals back."""
        with self._lock:
            self._switch.on = False
            for patch in self._made:
                if patch.on_top:
                    setattr(patch.owner, patch.name, patch.original)
            self._made = [patch for patch in self._made if vars(patch.owner).get(patch.name) is not patch.original]

    def _replace(self, owner: Any, name: str, maker: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        replacement = maker(original)
        setattr(owner, name, replacement)
        self._made.append(_Patch(owner, name, original, replacement))


switch = Switch()
patches = Patches(switch)
