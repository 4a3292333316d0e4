"""Trace files of other tools, read as records: one file here for each format.

A format knows its files by their content and reads one as an iterator of ``ToolCall``. What is read goes the way of
every other call: the same rules read the results, and secrets are taken out before anything is written.
Ids are made of what the file says, so that a file imported twice is stored once.
"""

from tooltrace.importing.run import Imported, import_file
from tooltrace.importing.source import Skipped, UnreadableFile

__all__ = ["Imported", "Skipped", "UnreadableFile", "import_file"]
