"""Snapshots of tool arguments and results, and removal of secrets before they are written."""
