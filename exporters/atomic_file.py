"""A file that appears under its name only when complete: a killed export leaves no partial file there."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from pathlib import Path
from typing import IO, Final, cast

from tooltrace.errors import ConfigError
from tooltrace.exporters.protocol import Refused
from tooltrace.store.files.scratch import PrivateFolder, sweep_file
from tooltrace.store.files.syncing import sync_directory

STANDARD: Final = Path("-")
"""The path that means standard output."""


def require_path(path: Path | None, name: str) -> Path:
    """Return ``path``, which the destination ``name`` requires. Raises ConfigError if it is None."""
    if path is None:
        raise ConfigError(f"the destination {name!r} requires a path to write to: pass one (--output, path=)")
    return path


class AtomicFile:
    """Output for the file at ``path``, which ``publish`` puts in place, replacing any earlier file.

    Only the owner may read the file, as with the store. A name that ends in ``.gz`` is compressed. Raises Refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder: PrivateFolder | None = None
        self._file: IO[bytes] | None = None
        self._stream = self._open()

    def write(self, data: bytes) -> None:
        """Append ``data``. On failure the whole file is discarded."""
        if self._file is None:
            raise Refused(f"{self.path} is closed", whole=True)
        try:
            self._stream.write(data)
        except OSError as error:
            self.discard()
            raise self._refused(error) from error

    def publish(self) -> None:
        """Move the complete file to its final name."""
        if self._file is None:
            return
        try:
            self._finish(self._file)
        except OSError as error:
            self.discard()
            raise self._refused(error) from error
        self._file = None

    def discard(self) -> None:
        """Remove the temporary file."""
        file, self._file = self._file, None
        if file is not None and self._folder is not None:
            # the compression first: where Python collects it later, it would write its end into a closed file
            for stream in (self._stream, file):
                with contextlib.suppress(OSError):
                    stream.close()
        self._remove_folder()

    def _open(self) -> IO[bytes]:
        if self.path == STANDARD:
            self._file = sys.stdout.buffer
            return self._file
        try:
            if self.path.is_dir():
                raise Refused(f"{self.path} is a directory: pass the path of a file", whole=True)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            sweep_file(self.path)
            self._folder = PrivateFolder(self.path.parent, self.path.name)
            self._file = open(self._folder.path / self.path.name, "wb", opener=_private)  # noqa: SIM115
        except OSError as error:
            raise self._refused(error) from error
        if self.path.suffix != ".gz":
            return self._file
        # without name and time: equal records give equal files
        return cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", fileobj=self._file, mtime=0))

    def _finish(self, file: IO[bytes]) -> None:
        # closing the compression writes its end into the file, which stays open
        if self._stream is not file:
            self._stream.close()
        file.flush()
        # on the disk before the renaming: after a power cut, the name must not lead to a file without content
        if self._folder is not None:
            os.fsync(file.fileno())
            file.close()
            (self._folder.path / self.path.name).replace(self.path)
            sync_directory(self.path.parent)
            self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _refused(self, error: OSError) -> Refused:
        return Refused(f"{self.path} cannot be written: {error.strerror or error}; no file was created", whole=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
