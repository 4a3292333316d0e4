"""A result as a table of pandas, Polars or Arrow, with the types of its columns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tooltrace.errors import MissingPackage

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    import polars as pl
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from tooltrace.store.result import QueryResult

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_KINDS: Final = {
    **dict.fromkeys(_INTEGERS, "integer"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "float"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"), "time"),
    **dict.fromkeys(("VARCHAR", "JSON"), "text"),
    "BOOLEAN": "boolean",
    "DATE": "date",
}
"""The kinds of columns whose type a table does not have to find out from the values."""
_PANDAS: Final = {"float": "float64", "time": "datetime64[us]", "date": "datetime64[us]"}
_POLARS: Final = {
    "integer": "Int64",
    "float": "Float64",
    "time": "Datetime",
    "text": "String",
    "boolean": "Boolean",
    "date": "Date",
}
_ARROW: Final = {"integer": "int64", "float": "float64", "text": "string", "boolean": "bool_", "date": "date32"}


def to_pandas(result: QueryResult) -> pd.DataFrame:
    """Return ``result`` as a pandas DataFrame. An integer column with unknown values is ``Int64``, a boolean one ``boolean``."""
    pandas = _module("pandas", "df")
    columns = [pandas.Series(values, dtype=_pandas_type(kind, values)) for kind, values in _columns(result)]
    frame = pandas.concat(columns, axis=1) if columns else pandas.DataFrame()
    frame.columns = result.columns
    return frame


def to_polars(result: QueryResult) -> pl.DataFrame:
    """Return ``result`` as a Polars DataFrame."""
    polars = _module("polars", "pl")
    columns = [
        polars.Series(name, values, dtype=getattr(polars, _POLARS[kind]) if kind in _POLARS else None)
        for name, (kind, values) in zip(_unique(result.columns), _columns(result), strict=True)
    ]
    return polars.DataFrame(columns)  # type: ignore[no-any-return]


def to_arrow(result: QueryResult) -> pa.Table:
    """Return ``result`` as an Arrow table."""
    pyarrow = _module("pyarrow", "arrow")
    columns = [pyarrow.array(values, _arrow_type(pyarrow, kind)) for kind, values in _columns(result)]
    return pyarrow.Table.from_arrays(columns, names=result.columns)


def _columns(result: QueryResult) -> list[tuple[str, list[Any]]]:
    """Return the kind and the values of each column."""
    return [(_KINDS.get(kind, ""), [row[at] for row in result.rows]) for at, kind in enumerate(result.types)]


def _pandas_type(kind: str, values: list[Any]) -> str:
    if kind in ("integer", "boolean"):
        unknown = any(value is None for value in values)
        return {"integer": ("int64", "Int64"), "boolean": ("bool", "boolean")}[kind][unknown]
    return _PANDAS.get(kind, "object")


def _arrow_type(pyarrow: Any, kind: str) -> Any:
    if kind == "time":
        return pyarrow.timestamp("us")
    return getattr(pyarrow, _ARROW[kind])() if kind in _ARROW else None


def _unique(names: list[str]) -> list[str]:
    """Return ``names`` with a number behind the second of two equal ones, which Polars refuses."""
    return [name if name not in names[:at] else f"{name}_{at}" for at, name in enumerate(names)]


def _module(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f".{method}() needs the package {name}, which is not installed: pip install {name}"
        ) from error
