"""Conventions by which other instrumentations describe a tool call in a span: one module for each."""
