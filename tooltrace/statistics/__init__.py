"""Statistics over arrays: pure functions that know neither SQL nor a store.

Every function states its shapes, units, formula and source. ``tooltrace.statistics.NAME`` loads numpy when it is first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooltrace.statistics.recalibration import Curve, Fit, beta, out_of_fold, platt, smooth_ece

__all__ = ["Curve", "Fit", "beta", "out_of_fold", "platt", "smooth_ece"]

_MODULES = {"recalibration": ("Curve", "Fit", "beta", "out_of_fold", "platt", "smooth_ece")}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
