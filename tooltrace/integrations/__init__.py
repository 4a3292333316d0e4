"""Integrations that record the tools of agent frameworks without changing a tool.

Each framework has one module, imported only when needed.
"""
