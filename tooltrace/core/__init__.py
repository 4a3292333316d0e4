"""Data types of a call, a response and a label. Nothing here reads or writes a file."""
