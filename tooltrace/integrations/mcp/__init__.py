"""Recording of the tool calls that MCP clients and servers of the official SDK make, without changes to either.

::

    from tooltrace.integrations import mcp

    mcp.install()
    ...
    mcp.remove()

After ``install``, every ``tools/call`` is recorded on the side that runs in this process: a server's with its session,
request id and client's name, a client's with the server's name. Where client and server run in the same process, their
call is one row. Trace context goes through ``_meta``, as the SDK does it: the client's call is the parent of the
server's. :func:`record_request` is the same as a middleware, for a single server.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tooltrace.errors import ConfigError
from tooltrace.integrations.mcp.server import record_request
from tooltrace.integrations.mcp.shared import patches

__all__ = ["FRAMEWORK", "install", "record_request", "remove"]

FRAMEWORK: Final = "mcp"
"""Import name of the framework."""


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if mcp is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("mcp")
    except ImportError as error:
        raise ImportError("mcp is not installed: pip install 'tooltrace-recorder[mcp]'") from error
    try:
        patches.acquire(FRAMEWORK)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of mcp is not supported ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore the SDK's own functions."""
    patches.release(FRAMEWORK)
