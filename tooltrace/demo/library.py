"""What the agents work on: the standard library's source tree, a database about it, and a workspace."""

from __future__ import annotations

import ast
import sqlite3
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tooltrace.demo.docs import DocIndex, Entry, entries_of

STDLIB = "stdlib"
"""Name of the link, inside the workspace, to the standard library's source tree."""
LOCKED_FILE = "private.txt"
BAD_MODULE = "draft.py"
LIBRARY_DB = "library.sqlite"
NOTES_DB = "notes.sqlite"


class OutsideWorkspace(PermissionError):
    """A path that leads out of what the agent may read."""


class Library:
    """A workspace in ``desk``, an empty directory that the caller removes again."""

    def __init__(self, desk: Path) -> None:
        self.desk = desk.resolve()
        self.source = Path(sysconfig.get_paths()["stdlib"]).resolve()
        self.modules = tuple(sorted(path.name for path in self.source.glob("*.py")))
        self.folders = tuple(sorted(path.parent.name for path in self.source.glob("*/__init__.py")))
        self.binary = self._binary()
        self._furnish()
        trees = list(self._trees())
        self.docs = DocIndex(entry for name, tree in trees for entry in _entries(name, tree))
        self.pages = {name.removesuffix(".py"): ast.get_docstring(tree) or "" for name, tree in trees}
        self._fill_database(trees)

    def resolve(self, path: str) -> Path:
        """The file that ``path``, relative to the workspace, names. Raises OutsideWorkspace."""
        found = (self.desk / path).resolve()
        if found.is_relative_to(self.desk) or found.is_relative_to(self.source):
            return found
        raise OutsideWorkspace(f"{path} is outside of the workspace")

    @contextmanager
    def notes_held(self) -> Iterator[None]:
        """Another program writes to the notes, and holds them, inside the block."""
        with closing(sqlite3.connect(self.desk / NOTES_DB, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            yield

    def _binary(self) -> str:
        """A file that is no text: an extension module, where the library has any as files."""
        extensions = sorted(self.source.glob("lib-dynload/*.so"))
        return f"{STDLIB}/lib-dynload/{extensions[0].name}" if extensions else LIBRARY_DB

    def _furnish(self) -> None:
        (self.desk / STDLIB).symlink_to(self.source)
        (self.desk / BAD_MODULE).write_text("def half_a_function(:\n", encoding="utf-8")
        locked = self.desk / LOCKED_FILE
        locked.write_text("not for agents\n", encoding="utf-8")
        locked.chmod(0)

    def _trees(self) -> Iterator[tuple[str, ast.Module]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in self.modules:
                yield name, ast.parse((self.source / name).read_bytes())

    def _fill_database(self, trees: list[tuple[str, ast.Module]]) -> None:
        with closing(sqlite3.connect(self.desk / LIBRARY_DB)) as db, db:
            db.execute("CREATE TABLE modules (name TEXT, statements INTEGER, documented INTEGER)")
            db.execute("CREATE TABLE functions (name TEXT, module TEXT, line INTEGER, doc TEXT)")
            documented = [entry.path for entry in self.docs.entries]
            rows = [(name, len(tree.body), documented.count(f"{STDLIB}/{name}")) for name, tree in trees]
            db.executemany("INSERT INTO modules VALUES (?, ?, ?)", rows)
            db.executemany(
                "INSERT INTO functions VALUES (?, ?, ?, ?)",
                [(entry.name, Path(entry.path).name, entry.line, entry.doc) for entry in self.docs.entries],
            )
        with closing(sqlite3.connect(self.desk / NOTES_DB)) as db, db:
            db.execute("CREATE TABLE notes (text TEXT)")


def _entries(name: str, tree: ast.Module) -> Iterator[Entry]:
    yield from entries_of(tree, name.removesuffix(".py"), f"{STDLIB}/{name}")
