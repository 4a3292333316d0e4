"""Conventions in which other instrumentations describe a tool call in a span: one file for each."""
