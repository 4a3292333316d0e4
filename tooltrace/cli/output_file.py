"""The option ``--output``: what a command prints goes to a file, which appears when it is complete."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import UsageError
from tooltrace.cli.sanitize import clean

if TYPE_CHECKING:
    from tooltrace.exporters.atomic_file import AtomicFile

STANDARD = Path("-")
"""The path that means standard output."""
_EXTENSIONS = {".json": "json", ".csv": "csv", ".md": "markdown", ".markdown": "markdown", ".txt": "table"}


def form_of(path: Path | None, formats: Sequence[str]) -> str:
    """Return the format of ``formats`` that the name of the file stands for; the first one for standard output.

    Raises UsageError for another name.
    """
    if path is None or path == STANDARD:
        return formats[0]
    form = _EXTENSIONS.get(path.suffix.lower(), "")
    if form not in formats:
        known = ", ".join(extension for extension, each in _EXTENSIONS.items() if each in formats)
        raise UsageError(
            f"the format of {path} is unknown: pass --format {'|'.join(formats)}, or a name that ends in {known}"
        )
    return form


@contextmanager
def output_to(path: Path | None) -> Iterator[None]:
    """Write what the block prints on standard output to the file ``path``; None or ``-`` changes nothing.

    An exception other than SystemExit leaves the file as it was. Raises Refused where it cannot be written.
    """
    if path is None or path == STANDARD:
        yield
        return
    from tooltrace.exporters.atomic_file import AtomicFile

    # The file is opened first, so that a path that cannot be written fails before the work is done.
    file, text = AtomicFile(path), io.StringIO()
    complete = False
    try:
        with redirect_stdout(text):
            yield
        complete = True
    except (SystemExit, click.exceptions.Exit):  # an exit code is a result too
        complete = True
        raise
    finally:
        if complete:
            _publish(file, text.getvalue())
        else:
            file.discard()


def _publish(file: AtomicFile, text: str) -> None:
    data = text.encode("utf-8", "replace")
    file.write(data)
    file.publish()
    click.echo(clean(f"Wrote {file.path} ({len(data) / 1024:,.0f} KiB)."), err=True)
