"""The same calls in tooltrace and in other libraries, each in an environment of its own: ``make bench-peers``.

Each library records the arguments and the result of a traced function as its documentation shows first. Nothing leaves the
machine: exporters discard spans, or write to a file in a temporary folder.
"""
