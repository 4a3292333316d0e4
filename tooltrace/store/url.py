"""URLs of stores that are not local files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit, urlunsplit

from tooltrace.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
SCHEMES: Final[set[str]] = set()
"""Schemes of the registered stores, see ``tooltrace.store.base.register_store``."""
GROUP: Final = "tooltrace.stores"
"""The entry-point group by which installed packages add stores: the name is the scheme, the object is a factory."""


class Address(str):
    """The URL of a store: ``clickhouse://[user[:password]@]host[:port]/database[?traces=…&logs=…]``.

    ``clickhouses`` is the same over TLS; ``chdb:///folder?database=…`` is ClickHouse's engine in this process.
    ``str()`` and ``repr()`` hide the password.
    """

    __slots__ = ()

    def __new__(cls, url: str) -> Self:
        return super().__new__(cls, str.__str__(url))  # str.__str__ keeps the password of another Address

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
        """The complete URL, with the password."""
        return str.__str__(self)

    @property
    def name(self) -> str:
        """The name for headings: host and path."""
        parts = urlsplit(self.url)
        return f"{parts.hostname or ''}{parts.path}"

    @property
    def scheme(self) -> str:
        """The scheme: the text before ``://``."""
        return self.url.partition("://")[0]


Place = Path | Address
"""The location of a store."""


def address_of(text: str) -> Address | None:
    """Return ``text`` as an address; None where it is a path."""
    scheme, sign, _ = text.partition("://")
    return Address(text) if sign and (scheme in SCHEMES or scheme in installed_stores()) else None


def place_of(text: str) -> Place:
    """Return the location that ``text`` names, as an address or a path.

    Raises ConfigError for a URL of an unknown scheme, such as a misspelled one, which would pass for a relative path.
    """
    address = address_of(text)
    if address is None and _URL.match(text):
        known = ", ".join(f"{scheme}://" for scheme in sorted({*SCHEMES, *installed_stores()}))
        raise ConfigError(
            f"the store {text.partition('://')[0]}://… has an unknown scheme: "
            f"expected the path of a DuckDB file or a URL that begins with {known}"
        )
    return address or Path(text)


@cache
def installed_stores() -> dict[str, EntryPoint]:
    """Return the stores that installed packages add, tooltrace's own among them, by scheme."""
    from tooltrace.core.entry_points import installed

    return installed(GROUP)
