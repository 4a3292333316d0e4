"""Recording of the tool calls that FastMCP's servers and clients make, without changes to either.

::

    from tooltrace.integrations import fastmcp

    fastmcp.install()
    ...
    fastmcp.remove()

FastMCP is built on the SDK of :mod:`tooltrace.integrations.mcp`, which this integration includes. In addition it records
the exception that a tool raised where the server masks it, and calls that FastMCP's own middleware refuses.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tooltrace.errors import ConfigError
from tooltrace.integrations.fastmcp.server import patches
from tooltrace.integrations.mcp.shared import patches as sdk_patches

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK: Final = "fastmcp"
"""Import name of the framework."""


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if fastmcp is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("fastmcp")
    except ImportError as error:
        raise ImportError("fastmcp is not installed: pip install 'tooltrace-recorder[fastmcp]'") from error
    try:
        sdk_patches.acquire(FRAMEWORK)
        patches.acquire(FRAMEWORK)
    except (ImportError, AttributeError, KeyError) as error:
        remove()
        raise ConfigError(f"this version of fastmcp is not supported ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore the functions of FastMCP and of the SDK."""
    patches.release(FRAMEWORK)
    sdk_patches.release(FRAMEWORK)
