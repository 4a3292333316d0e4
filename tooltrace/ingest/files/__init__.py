"""Import of other tools' trace files and of tooltrace's own exports as records: one module for each format.

A format recognises its files by their content and reads a file as an iterator of records. Imported calls are treated
like all calls: the same rules interpret the results, and secrets are redacted before anything is written. Records that
tooltrace itself made are restored unchanged, except that they are redacted again. Ids are those of the file or derived
from its content, so that a file imported twice is stored once.
"""

from tooltrace.errors import UnreadableFile
from tooltrace.ingest.files.importer import ImportResult, files_of, import_file
from tooltrace.ingest.files.reader import SkippedLine

__all__ = ["ImportResult", "SkippedLine", "UnreadableFile", "files_of", "import_file"]
