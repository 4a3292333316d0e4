"""Agent frameworks whose tools are recorded without changing a tool: one module each, imported only when asked for."""
