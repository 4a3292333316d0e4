"""Functions that run as soon as a module is imported: a finder on ``sys.meta_path`` that adds them to the import.

The import itself stays what it is: the module has its own loader again before its code runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_waiting: dict[str, tuple[str, Callable[[], None]]] = {}
"""The dotted name of a module and the function that waits for it, by a name of the function."""


def when_imported(module: str, name: str, run: Callable[[], None]) -> None:
    """Call ``run`` once, as soon as ``module`` and the packages that contain it are imported; it must raise nothing.

    ``name``: identifies the function, for ``forget``.
    """
    _waiting[name] = module, run
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(name: str) -> None:
    """Let the function ``name`` wait no more."""
    _waiting.pop(name, None)
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def is_imported(module: str) -> bool:
    """Whether ``module`` and the packages that contain it are imported, and not just being imported."""
    return all(_is_complete(name) for name in _packages(module))


def can_be_imported(module: str) -> bool:
    """Whether there is a ``module`` to import. Imports nothing."""
    places: Sequence[str] | None = None
    for name in _packages(module):
        try:
            spec = PathFinder.find_spec(name, places)
        except (ImportError, ValueError):  # of a finder that another program registered
            return False
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


class _Finder(MetaPathFinder):
    """Finds a module that is waited for as the other finders do, with a loader that runs what waits."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(name in _packages(module) for module, _ in list(_waiting.values())):
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):  # a namespace package runs no code
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(Loader):
    """A loader that runs what waits for the module after ``loader`` has run the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for name, (awaited, run) in list(_waiting.items()):
            packages = [*_packages(awaited)]
            if module.__name__ in packages and all(_is_complete(each) or each == module.__name__ for each in packages):
                forget(name)
                run()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_finder = _Finder()


def _packages(module: str) -> Iterator[str]:
    """Yield the packages that contain ``module``, the outermost first, and itself."""
    parts = module.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _is_complete(name: str) -> bool:
    found = sys.modules.get(name)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)
