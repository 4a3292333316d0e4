"""Removal of single records from every file of a store, and what keeps them removed."""
