"""One report about the stores of all tests of a run."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from tooltrace.cli import cli
from tooltrace.errors import TooltraceError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.upkeep.merge import merge


def write_report(stores: Iterable[Path], file: Path) -> str:
    """Write the report of ``tooltrace report`` about ``stores`` to ``file``; return what to tell the user."""
    found = [paths for paths in map(StorePaths.of, stores) if paths.database.exists() or paths.journals()]
    if not found:
        return f"no test recorded a call whose store is still there: {file} was not written"
    with tempfile.TemporaryDirectory(prefix="tooltrace_") as folder:
        into = StorePaths.of(Path(folder) / "tests.duckdb")
        into.journal.mkdir(mode=0o700)
        try:
            # a store that nothing queried has no database yet: its journals, whose names are unique, are one fold together
            for paths in found:
                for name in () if paths.database.exists() else paths.journals():
                    shutil.copy(paths.journal / name, into.journal / name)
            merge([paths.database for paths in found if paths.database.exists()], into)
            with contextlib.redirect_stderr(io.StringIO()):  # its progress
                cli.main(["report", "--store", str(into.database), "-o", str(file)], standalone_mode=False)
        except click.ClickException as error:
            return f"{file} was not written: {error.format_message()}"
        except (OSError, TooltraceError) as error:
            return f"{file} was not written: {error}"
    return f"wrote {file}, about the stores of {len(found)} test runs"
