"""Adapters that register tools of other frameworks."""
