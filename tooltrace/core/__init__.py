"""Data types of a call, a response and a label. This package reads and writes no files."""
