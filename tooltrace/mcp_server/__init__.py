"""An MCP server over a store: an agent asks the history of its own tools.

``tooltrace mcp`` runs it over stdio or HTTP, and ``tooltrace serve`` has it at ``/mcp``. The SDK (extra ``mcp``) is imported
by the modules ``server`` and ``http`` only. See ``docs/how-to/mcp.md``.
"""
