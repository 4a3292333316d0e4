"""Trace files of other tools, and exports of our own, read as records: one file here for each format.

A format knows its files by their content and reads one as an iterator of records. What is read goes the way of
every other call: the same rules read the results, and secrets are taken out before anything is written. What tooltrace
itself recorded comes back as it was. Ids are those of the file, or made of what it says, so that a file imported twice
is stored once.
"""

from tooltrace.ingest.files.compression import UnreadableFile
from tooltrace.ingest.files.importer import ImportResult, files_of, import_file
from tooltrace.ingest.files.reader import SkippedLine

__all__ = ["ImportResult", "SkippedLine", "UnreadableFile", "files_of", "import_file"]
