"""Removal of records from a store and from the files that were exported from it."""
