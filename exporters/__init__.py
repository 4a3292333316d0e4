"""Destinations of records beyond the store, one module each."""
