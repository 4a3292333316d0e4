"""Connections to ClickHouse over HTTP, and the translation of its errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, TypeVar, get_args
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from tooltrace.clickhouse.attribute_sql import Variant
from tooltrace.clickhouse.sql.functions import SETTINGS
from tooltrace.clickhouse.tables import Tables
from tooltrace.errors import ConfigError, QueryError, StoreError, StoreMissing
from tooltrace.store.url import Address

DATABASE: Final = "otel"
"""Default database of the collector's exporter and of the views, unless the address names another."""
EXTRA: Final = "pip install 'tooltrace-recorder[clickhouse]'"
_OPTIONS: Final = frozenset(("database", "traces", "logs", "variant", "secure", "verify", "folder"))
_NATIVE: Final = {9000: 8123, 9440: 8443}
_MISSING: Final = ("UNKNOWN_TABLE", "UNKNOWN_DATABASE")
_T = TypeVar("_T")


class ClickHouseConnection:
    """A ClickHouse database that has the views, or will have them."""

    def __init__(self, address: Address) -> None:
        """Parse the address. Raises ConfigError if it cannot be used."""
        self.address = address
        parts = _parts(address)
        self._options = dict(parse_qsl(parts.query))
        if unknown := set(self._options) - _OPTIONS:
            raise ConfigError(
                f"{address}: unknown option {', '.join(sorted(unknown))}: the options are {', '.join(sorted(_OPTIONS))}"
            )
        if self._options.get("variant", "map") not in get_args(Variant):
            raise ConfigError(f"{address}: variant must be map or json; got {self._options['variant']}")
        path = "" if address.scheme == "chdb" else unquote(parts.path.strip("/"))
        self.database = path or self._options.get("database", DATABASE)
        # Otherwise the client waits for an HTTP answer that never comes, and reports only a broken connection.
        if parts.port in _NATIVE:
            raise ConfigError(
                f"{address}: port {parts.port} is ClickHouse's native protocol, and tooltrace uses HTTP: "
                f"use port {_NATIVE[parts.port]}"
            )
        self._parts = parts

    @property
    def tables(self) -> Tables:
        """The exporter's tables under the views."""
        variant: Variant = "json" if self._options.get("variant") == "json" else "map"
        traces, logs = self._options.get("traces", "otel_traces"), self._options.get("logs", "otel_logs")
        return Tables(database=self.database, traces=traces, logs=logs, variant=variant)

    @contextmanager
    def client(self, settings: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Open a client for the block; ``settings`` apply to all its statements.

        Raises StoreError if the server does not respond, or the extra is missing.
        """
        client = self._connected(settings or {})
        try:
            yield client
        finally:
            client.close()

    def _connected(self, settings: Mapping[str, Any]) -> Any:
        try:
            from clickhouse_connect import get_client
            from clickhouse_connect.driver.exceptions import ClickHouseError
        except ImportError as error:
            raise StoreError(
                f"the store {self.address} needs a package that is not installed ({error}): {EXTRA}"
            ) from error
        # the raised error has the message; do not log it as well
        logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
        try:
            return get_client(**self._arguments(), settings={**SETTINGS, **settings})
        except (ClickHouseError, OSError) as error:
            raise StoreError(f"cannot connect to the store {self.address}: {first_line(error)}") from error

    def _arguments(self) -> dict[str, Any]:
        if self.address.scheme == "chdb":
            return {"interface": "chdb", "path": unquote(self._parts.path)}
        secure = self.address.scheme == "clickhouses" or self._options.get("secure") == "true"
        return {
            "host": self._parts.hostname or "localhost",
            "port": self._parts.port or (8443 if secure else 8123),
            "username": unquote(self._parts.username) if self._parts.username else None,
            "password": unquote(self._parts.password or ""),
            "secure": secure,
            "verify": self._options.get("verify") != "false",
        }

    def run(self, execute: Callable[[], _T]) -> _T:
        """Return the result of ``execute``.

        Raises StoreMissing if the views are missing, QueryError for any other server error.
        """
        from clickhouse_connect.driver.exceptions import ClickHouseError

        try:
            return execute()
        except ClickHouseError as error:
            text = first_line(error)
            if any(name in str(error) for name in _MISSING):  # the error's name is at the end of its text
                raise StoreMissing(
                    f"the store {self.address} lacks a view: run tooltrace clickhouse init to create the views ({text})"
                ) from error
            raise QueryError(text) from error


def require_driver() -> None:
    """Raise ImportError where the driver is missing: at once, and not as a server that may respond later."""
    import_module("clickhouse_connect")


def _parts(address: Address) -> SplitResult:
    """Parse the URL of the address. Raises ConfigError without showing the address, which may contain a password."""
    try:
        parts = urlsplit(address.url)
        _ = parts.port
    except ValueError:
        raise ConfigError(
            f"the address of the store is not a valid URL: use {address.scheme}://user:password@host:port/database, "
            "with %23, %2F and %40 for #, / and @ in the password"
        ) from None  # its text may contain a part of the password
    if parts.fragment:
        raise ConfigError("the address of the store contains #: write %23 for # in a password")
    return parts


def first_line(error: BaseException) -> str:
    """Return the beginning of the error's message, at most 400 characters, on one line."""
    return " ".join(str(error).split())[:400]
