"""Copy what went in and came out of a tool, and remove secrets before it is written."""
