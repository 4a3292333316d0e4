"""Arguments of the constructors of a response and its parts: as other protocols have them, and with values that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from tooltrace.errors import ConfigError

_POSITIONS = ("status", "text", "data", "error_info", "stats", "context")
"""Fields that can be passed by position, as those of HelloAgents' dataclass."""


_ROUNDS = 3
"""Times that values are mended: a mended value may be checked against others, such as an error against the status."""


class Lenient(type(BaseModel)):  # type: ignore[misc]
    """The class of a model whose constructor mends values that do not fit, where a parser of data refuses them."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        if args:
            raise TypeError(f"{cls.__name__}() takes its fields by name, such as {next(iter(cls.model_fields))}=…")
        try:
            return super().__call__(**values)
        except ValidationError as error:
            fault = error
        from tooltrace.core.unfit_values import mended

        values = with_field_names(values)
        for _ in range(_ROUNDS):
            values = mended(cls, values, fault)
            try:
                return super().__call__(**values)
            except ValidationError as error:
                fault = error
        raise fault


class ByPosition(Lenient):
    """The same, of a model that accepts arguments by position."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(_POSITIONS):
            raise TypeError(f"ToolResponse() takes at most {len(_POSITIONS)} arguments by position, got {len(args)}")
        if twice := [name for name in _POSITIONS[: len(args)] if name in kwargs]:
            raise TypeError(f"ToolResponse() got {twice[0]!r} by position and by name")
        return super().__call__(**dict(zip(_POSITIONS, args, strict=False)), **kwargs)


OTHER_NAMES = {"error_info": "error", "source": "sources", "nextAction": "next_action"}
"""Names that the protocols have for arguments of the constructors, with ours."""


def with_field_names(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor under our names. A source may stand alone, and may be a text."""
    named = dict(values)
    for other, name in OTHER_NAMES.items():
        if other not in named:
            continue
        if named.get(name) is not None:
            raise ConfigError(f"{other} and {name} are the same: pass one of them")
        named[name] = named.pop(other)
    if "source" in values:
        sources = named["sources"]
        alone = isinstance(sources, str | Mapping | BaseModel) or not isinstance(sources, Iterable)
        listed = [] if sources is None else [sources] if alone else sources
        named["sources"] = [{"label": each} if isinstance(each, str) else each for each in listed]
    return named
