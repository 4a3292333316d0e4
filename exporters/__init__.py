"""Destinations of records beyond the store: one file each."""
