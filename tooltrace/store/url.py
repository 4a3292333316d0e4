"""A store that is no file here: where it is, as a URL."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SCHEMES: Final[set[str]] = set()
"""Schemes of the stores that are registered, see ``tooltrace.store.base.register_store``."""
GROUP: Final = "tooltrace.stores"
"""The group of entry points by which installed packages add stores: the scheme, and a factory."""


class Address(str):
    """The URL of a store: ``clickhouse://[user[:password]@]host[:port]/database[?traces=…&logs=…]``.

    ``clickhouses`` is the same over TLS; ``chdb:///folder?database=…`` is ClickHouse's engine in this process. Shown, it has no
    password.
    """

    __slots__ = ()

    def __new__(cls, url: str) -> Self:
        return super().__new__(cls, str.__str__(url))  # another address is taken with its password

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        if parts.password is None:
            return self.url
        name = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{parts.username}:…@{name}"))

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @property
    def url(self) -> str:
        """The whole of it, with the password."""
        return str.__str__(self)

    @property
    def name(self) -> str:
        """What it is called in a heading."""
        parts = urlsplit(self.url)
        return f"{parts.hostname or ''}{parts.path}"

    @property
    def scheme(self) -> str:
        """What stands before ``://``."""
        return self.url.partition("://")[0]


Place = Path | Address
"""Where a store is."""


def address_of(text: str) -> Address | None:
    """The address that ``text`` is; None where it is a path."""
    scheme, sign, _ = text.partition("://")
    return Address(text) if sign and (scheme in SCHEMES or scheme in installed_stores()) else None


@cache
def installed_stores() -> dict[str, EntryPoint]:
    """Return the stores that installed packages add, by scheme. Stores of our own are not among them."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}
