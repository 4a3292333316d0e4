"""The integrations with agent frameworks, by name.

An integration is a module with ``install()``, ``remove()`` and ``FRAMEWORK``, the import name of the framework. It is
registered by an entry point in the group ``tooltrace.integrations``, whose name is that of the integration. A package
that adds its own integration declares the same kind of entry point. The module must not import the framework before
``install``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tooltrace.errors import ConfigError, near
from tooltrace.faults import faults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint


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


__all__ = ["install", "uninstall"]

GROUP: Final = "tooltrace.integrations"
"""Group of the entry points."""

_logger = logging.getLogger("tooltrace")


def install(*names: str) -> list[str]:
    """Record the tools of agent frameworks, without changes to a tool. Return the names of their integrations.

    Without ``names``: those of every framework that is imported, and of the others as soon as they are imported; the names
    are those of the frameworks that this environment has, and the log has them too (INFO). An integration that fails is
    logged and skipped. If there is no framework, a warning says so once. With ``names``, such as ``"openai_agents"``:
    exactly these, at once; raises ConfigError for an unknown name or an unsupported version, and ImportError if a framework
    is missing. A repeated call has no effect on what is installed.
    """
    if names:
        for point in [_find(name) for name in names]:
            point.load().install()
        return sorted(set(names))
    return _install_present_and_later()


def uninstall(*names: str) -> None:
    """Stop recording what ``install`` started. Without ``names``: of every integration.

    Raises ConfigError for an unknown name.
    """
    for point in [_find(name) for name in names] if names else _points().values():
        if point.module in sys.modules:
            integration = point.load()
            forget(point.name)
            integration.remove()


def _install_present_and_later() -> list[str]:
    """Install the integrations of imported frameworks, and let the others wait for the import of theirs."""
    installed, awaited = [], []
    for point in _points().values():
        with _logged(point):
            integration: Any = point.load()
            framework = integration.FRAMEWORK
            if is_imported(framework):
                integration.install()
                installed.append(point.name)
            else:
                when_imported(framework, point.name, partial(_install, point))
                awaited += [point.name] if can_be_imported(framework) else []
    if installed or awaited:
        parts = [f"records {', '.join(installed)}"] if installed else []
        parts += [f"will record {', '.join(awaited)} as soon as it is imported"] if awaited else []
        _logger.info("tooltrace %s", "; ".join(parts))
    else:
        faults.warn_once(
            "install",
            f"tt.install() found no agent framework in this environment: it knows {', '.join(_points())}; decorate "
            "functions with tt.trace_tool",
            counted=False,
        )
    return sorted((*installed, *awaited))


def _install(point: EntryPoint) -> None:
    with _logged(point):
        point.load().install()
        _logger.info("tooltrace records %s, which was imported now", point.name)


@contextmanager
def _logged(point: EntryPoint) -> Iterator[None]:
    """Log an error of the integration in place of raising it: an import of the application must not fail."""
    try:
        yield
    except Exception:
        _logger.warning("the integration %r cannot be installed; it records nothing", point.name, exc_info=True)


def _find(name: str) -> EntryPoint:
    known = _points()
    if not isinstance(name, str):
        raise ConfigError(f"an integration is named by a text, such as {next(iter(known))!r}, got {name!r}")
    if name not in known:
        raise ConfigError(f"no integration is called {name!r}; known are {', '.join(known)}{near(name, known)}")
    return known[name]


def _points() -> dict[str, EntryPoint]:
    from tooltrace.core.entry_points import installed

    return installed(GROUP)
