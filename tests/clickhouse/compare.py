"""A named query put to both engines, cell by cell."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.queries.answers import run
from tooltrace.analysis import find, query_store
from tooltrace.store.url import Address

Row = tuple[Any, ...]


def both(con: Any, engine: Any, database: str, name: str, by: Any = None, **given: Any) -> tuple[list[Row], list[Row]]:
    """The answer of DuckDB, and of ClickHouse. Columns have the same names and types in both."""
    duck = run(con, name, by=by, **given)
    house = query_store(address(engine, database), name, by=by, **given)
    assert house.columns == duck.columns
    kinds = [
        (column, kind(mine), kind(other))
        for column, mine, other in zip(duck.columns, duck.types, house.types, strict=True)
    ]
    assert not [found for found in kinds if found[1] != found[2]]
    return duck.fetchall(), house.rows


def address(engine: Any, database: str) -> Address:
    """The store in ``database``, as a user names it."""
    return Address(f"chdb://{engine.path}?database={database}")


def kind(type_: Any) -> str:
    """Return the kind of a type; integers of any size are one kind, and so are floats."""
    name = str(type_).partition("(")[0]
    whole, figure = ("TINYINT", "SMALLINT", "INTEGER", "HUGEINT"), ("FLOAT", "DECIMAL")
    return "BIGINT" if name in whole else "DOUBLE" if name in figure else "VARCHAR" if name == "JSON" else name


def differences(duck: list[Row], house: list[Row]) -> list[Any]:
    """Where they differ: counts and text exactly, figures beyond a part in 1e9."""
    found: list[Any] = [] if len(duck) == len(house) else [("rows", len(duck), len(house))]
    for number, (mine, other) in enumerate(zip(duck, house, strict=False)):
        found += [(number, at, a, b) for at, (a, b) in enumerate(zip(mine, other, strict=True)) if not same(a, b)]
    return found


def nearly(a: str, b: str) -> bool:
    """The same words, and figures of two places that differ by one in the last: what lies between was rounded."""
    words, others = re.split(r"(\d+\.\d{1,2}\b)", a), re.split(r"(\d+\.\d{1,2}\b)", b)
    if words[::2] != others[::2]:
        return False
    return all(abs(float(x) - float(y)) < 0.011 for x, y in zip(words[1::2], others[1::2], strict=True))


def same(a: Any, b: Any) -> bool:
    a, b = (float(value) if isinstance(value, Decimal) else value for value in (a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, str) and a[:1] in "[{" and a != b:
        try:
            return bool(json.loads(a) == json.loads(b))
        except ValueError:
            return False
    if isinstance(a, str):
        return a == b or nearly(a, b)
    if isinstance(a, datetime):
        return a == b and a.tzinfo == b.tzinfo
    return bool(a == b)


def columns(name: str, by: Any = None) -> tuple[str, ...]:
    return find(name).columns(by)
