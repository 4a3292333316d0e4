"""The material of the agents: the standard library's source tree, a database about it, and a workspace."""

from __future__ import annotations

import ast
import sqlite3
import sysconfig
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tooltrace.demo.docs import DocIndex, Entry, entries_of
from tooltrace.demo.python_outline import parse

STDLIB = "stdlib"
"""Name of the link, inside the workspace, to the standard library's source tree."""
LOCKED_FILE = "private.txt"
BAD_MODULE = "draft.py"
LIBRARY_DB = "library.sqlite"
NOTES_DB = "notes.sqlite"


class OutsideWorkspace(PermissionError):
    """A path outside the directories that the agent may read."""


class Library:
    """The material, in ``workspace``: an empty directory that the caller removes afterwards."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace.resolve()
        self.source = Path(sysconfig.get_paths()["stdlib"]).resolve()
        self.modules = tuple(sorted(path.name for path in self.source.glob("*.py")))
        self.folders = tuple(sorted(path.parent.name for path in self.source.glob("*/__init__.py")))
        self.binary = self._binary()
        self._create_files()
        self.pages: dict[str, str] = {}
        """Docstrings of the modules, by name."""
        self._entries: list[Entry] = []
        self._sizes: list[tuple[str, int, int]] = []
        for name in self.modules:
            self._read(name)
        self.docs = DocIndex(self._entries)
        self._fill_databases()

    def resolve(self, path: str) -> Path:
        """Return the file that ``path``, relative to the workspace, names. Raises OutsideWorkspace."""
        found = (self.workspace / path).resolve()
        if found.is_relative_to(self.workspace) or found.is_relative_to(self.source):
            return found
        raise OutsideWorkspace(f"{path} is outside the workspace")

    @contextmanager
    def notes_locked(self) -> Iterator[None]:
        """Lock the notes database inside the block, as another writing program would."""
        with closing(sqlite3.connect(self.workspace / NOTES_DB, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            yield

    def _binary(self) -> str:
        """Return the path of a file that is not text: an extension module, if the library has any as files."""
        extensions = sorted(self.source.glob("lib-dynload/*.so"))
        return f"{STDLIB}/lib-dynload/{extensions[0].name}" if extensions else LIBRARY_DB

    def _create_files(self) -> None:
        (self.workspace / STDLIB).symlink_to(self.source)
        (self.workspace / BAD_MODULE).write_text("def half_a_function(:\n", encoding="utf-8")
        locked = self.workspace / LOCKED_FILE
        locked.write_text("not for agents\n", encoding="utf-8")
        locked.chmod(0)

    def _read(self, name: str) -> None:
        """Read the docstrings of a module.

        The syntax tree is dropped, because many trees slow the garbage collector.
        """
        tree = parse((self.source / name).read_bytes())
        module = name.removesuffix(".py")
        entries = list(entries_of(tree, module, f"{STDLIB}/{name}"))
        self._entries += entries
        self._sizes.append((name, len(tree.body), len(entries)))
        self.pages[module] = ast.get_docstring(tree) or ""

    def _fill_databases(self) -> None:
        rows = [(entry.name, Path(entry.path).name, entry.line, entry.doc) for entry in self._entries]
        with closing(sqlite3.connect(self.workspace / LIBRARY_DB)) as db, db:
            db.execute("CREATE TABLE modules (name TEXT, statements INTEGER, documented INTEGER)")
            db.execute("CREATE TABLE functions (name TEXT, module TEXT, line INTEGER, doc TEXT)")
            db.executemany("INSERT INTO modules VALUES (?, ?, ?)", self._sizes)
            db.executemany("INSERT INTO functions VALUES (?, ?, ?, ?)", rows)
        with closing(sqlite3.connect(self.workspace / NOTES_DB)) as db, db:
            db.execute("CREATE TABLE notes (text TEXT)")
