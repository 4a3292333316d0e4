"""Configuration of one server: its store, its names and its access token."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from typing import Self

from tooltrace.store.base import Store, StoreBackend, open_store
from tooltrace.store.sandbox import SandboxLimits

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One store and the names under which it is served."""

    store: StoreBackend
    hosts: frozenset[str]
    """Accepted names in the ``Host`` header.

    Any other name may belong to a foreign site that points to this address.
    """
    addresses: bool = False
    """Whether any IP address is accepted as well: a foreign site cannot own one as its name."""
    token: str | None = None
    """Token that a visitor must present once; None where only this machine can reach the server."""
    prefix: str = ""
    """Path below which a reverse proxy serves the pages, such as ``/tooltrace``; "" for none."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    """Limits of one SQL statement that a visitor typed."""

    @classmethod
    def of(
        cls,
        store: Store,
        *,
        host: str,
        names: tuple[str, ...] = (),
        token: str | None = None,
        prefix: str = "",
        limits: SandboxLimits | None = None,
    ) -> Self:
        """Return the site of ``store`` on the interface ``host``.

        Beyond loopback there is always a ``token``; a new one is created if the caller passes none.
        """
        store, limits = open_store(store), limits or SandboxLimits()
        if is_loopback(host):
            hosts = _LOOPBACK | {host.lower(), *map(str.lower, names)}
            return cls(store=store, hosts=hosts, token=token, prefix=prefix, limits=limits)
        known = {host.lower(), socket.gethostname().lower(), *map(str.lower, names)}
        token = token or secrets.token_urlsafe(24)
        return cls(store=store, hosts=_LOOPBACK | known, addresses=True, token=token, prefix=prefix, limits=limits)

    def accepts(self, host: str) -> bool:
        """Whether ``host``, name and port from a request's header, is one of the site's names."""
        name = hostname(host)
        return name in self.hosts or (self.addresses and _is_address(name))


def hostname(host: str) -> str:
    """Return the name in a ``Host`` header: without port and brackets, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
