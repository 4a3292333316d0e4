"""A simulated disk: what a loss of power may leave of a folder, computed from the system calls that changed it.

The rules are those of POSIX, stricter than what common file systems do:

- The bytes and the length of a file are on the disk after ``fsync`` of the file. Each write since then is there or not,
  independent of the others; an appended one may be there up to any byte, one into existing bytes in aligned sectors.
- A name in a directory is there or gone after ``fsync`` of the directory. Each change since then is there or not; a
  renaming is one change. ``fsync`` of a file does not keep its name, and that of a directory not the directory's name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.crash.trace import Call

SECTOR = 4096
"""Bytes that a disk writes as a whole, at a multiple of this offset. DuckDB's header of a checkpoint is one sector."""


@dataclass(eq=False, slots=True)
class File:
    """A file: its bytes on the disk, and the changes since its last ``fsync``."""

    synced: bytearray = field(default_factory=bytearray)
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes of each write; offset and None of each truncation."""
    size: int = 0

    def write(self, offset: int, data: bytes) -> None:
        self.changes.append((offset, data))
        self.size = max(self.size, offset + len(data))

    def truncate(self, size: int) -> None:
        self.changes.append((size, None))
        self.size = size

    def sync(self) -> None:
        for offset, data in self.changes:
            _apply(self.synced, offset, data)
        self.changes.clear()


@dataclass(eq=False, slots=True)
class Directory:
    """A directory: its names now and on the disk."""

    names: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


Node = File | Directory
NameChange = list[tuple[Directory, str, Node | None]]
"""Names that one system call changes, and where they lead then."""


@dataclass(slots=True)
class _Open:
    node: Node
    append: bool = False
    offset: int = 0


class Disk:
    """The folder ``root``, whose content is on the disk at the beginning."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._top = _loaded(root)
        self._changes: list[NameChange] = []
        self._open: dict[int, _Open] = {}

    def apply(self, call: Call) -> bool:
        """Apply a system call; return whether it concerned the folder."""
        handler = _HANDLERS.get(call.name)
        return handler is not None and handler(self, call)

    def after_power_cut(self, choose: Random, target: Path, policy: str) -> None:
        """Write to ``target`` what a loss of power may leave now, chosen by ``policy``, one of ``POLICIES``."""
        keep_name, keep_write = POLICIES[policy]
        copies: dict[Directory, dict[str, Node]] = {}

        def names(directory: Directory) -> dict[str, Node]:
            return copies.setdefault(directory, dict(directory.synced))

        cut = choose.randrange(len(self._changes) + 1)
        for index, change in enumerate(self._changes):
            if keep_name(choose, index < cut):
                for directory, name, node in change:
                    _set(names(directory), name, node)

        def write(directory: Directory, path: Path) -> None:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, node in names(directory).items():
                if isinstance(node, Directory):
                    write(node, path / name)
                else:
                    (path / name).write_bytes(_content(node, choose, keep_write))
                    (path / name).chmod(0o600)

        write(self._top, target)

    def _find(self, call: Call, path: int, directory: int | None = None) -> tuple[Directory, str] | None:
        """Return the directory and the name of a path in the folder; None outside of it."""
        text = Path(os.fsdecode(call.data(path)))
        if not text.is_absolute():
            opened = None if directory is None else self._open.get(call.number(directory))
            if opened is None or not isinstance(opened.node, Directory):
                return None
            return opened.node, text.name
        if not text.is_relative_to(self.root) or text == self.root:
            return None
        node: Node | None = self._top
        *parents, name = text.relative_to(self.root).parts
        for part in parents:
            node = node.names.get(part) if isinstance(node, Directory) else None
        return (node, name) if isinstance(node, Directory) else None

    def _change(self, *changes: tuple[Directory, str, Node | None]) -> None:
        for directory, name, node in changes:
            _set(directory.names, name, node)
        self._changes.append(list(changes))

    def _sync_names(self, directory: Directory) -> None:
        """Keep the changes in ``directory``, and earlier ones of the names that these also changed elsewhere."""
        kept: list[NameChange] = []
        wanted: set[tuple[Directory, str]] = set()
        for change in reversed(self._changes):
            if any(where is directory or (where, name) in wanted for where, name, _ in change):
                wanted.update((where, name) for where, name, _ in change)
                kept.append(change)
        for change in reversed(kept):
            self._changes.remove(change)
            for where, name, node in change:
                _set(where.synced, name, node)

    def _opened(self, call: Call) -> bool:
        at = int(call.name == "openat")
        flags = str(call.arguments[1 + at]) if call.name != "creat" else "O_CREAT|O_WRONLY|O_TRUNC"
        self._open.pop(call.result, None)
        if call.data(at) == os.fsencode(self.root):
            self._open[call.result] = _Open(self._top)
            return False
        found = self._find(call, at, 0 if at else None)
        if found is None:
            return False
        directory, name = found
        node = directory.names.get(name)
        is_new = node is None
        if node is None:
            node = File()
            self._change((directory, name, node))
        elif "O_TRUNC" in flags and isinstance(node, File) and node.size:
            node.truncate(0)
        self._open[call.result] = _Open(node, "O_APPEND" in flags)
        return is_new or "O_TRUNC" in flags

    def _written(self, call: Call) -> bool:
        opened = self._open.get(call.number(0))
        if opened is None:
            return False
        assert isinstance(opened.node, File)
        data = call.data(1)[: call.result]
        assert len(data) == call.result, "the log of strace has a part of the bytes"
        if call.name == "pwrite64":
            opened.node.write(call.number(3), data)
            return True
        offset = opened.node.size if opened.append else opened.offset
        opened.node.write(offset, data)
        opened.offset = offset + len(data)
        return True

    def _unknown(self, call: Call) -> bool:
        """Refuse a call on a file of the folder that the simulation does not have."""
        assert self._open.get(call.number(0)) is None, f"{call.name} is not simulated"
        return False

    def _sought(self, call: Call) -> bool:
        if opened := self._open.get(call.number(0)):
            opened.offset = call.result
        return False

    def _truncated(self, call: Call) -> bool:
        opened = self._open.get(call.number(0))
        if opened is None:
            return False
        assert isinstance(opened.node, File)
        opened.node.truncate(call.number(1))
        return True

    def _synced(self, call: Call) -> bool:
        opened = self._open.get(call.number(0))
        if opened is None:
            return False
        if isinstance(opened.node, File):
            opened.node.sync()
        else:
            self._sync_names(opened.node)
        return True

    def _renamed(self, call: Call) -> bool:
        old, new = self._two_paths(call)
        if old is None or new is None:
            assert old is new, f"{call} leaves the folder"
            return False
        self._change((*new, old[0].names[old[1]]), (*old, None))
        return True

    def _linked(self, call: Call) -> bool:
        old, new = self._two_paths(call)
        if old is None or new is None:
            assert old is new, f"{call} leaves the folder"
            return False
        self._change((*new, old[0].names[old[1]]))
        return True

    def _two_paths(self, call: Call) -> tuple[tuple[Directory, str] | None, tuple[Directory, str] | None]:
        if "at" in call.name:
            return self._find(call, 1, 0), self._find(call, 3, 2)
        return self._find(call, 0), self._find(call, 1)

    def _removed(self, call: Call) -> bool:
        found = self._find(call, 1, 0) if call.name == "unlinkat" else self._find(call, 0)
        if found is None:
            return False
        self._change((*found, None))
        return True

    def _made(self, call: Call) -> bool:
        found = self._find(call, 1, 0) if call.name == "mkdirat" else self._find(call, 0)
        if found is None:
            return False
        self._change((*found, Directory()))
        return True

    def _closed(self, call: Call) -> bool:
        self._open.pop(call.number(0), None)
        return False

    def _duplicated(self, call: Call) -> bool:
        if call.name == "fcntl" and "F_DUPFD" not in str(call.arguments[1]):
            return False
        if opened := self._open.get(call.number(0)):
            self._open[call.result] = opened
        return False


_HANDLERS: dict[str, Callable[[Disk, Call], bool]] = {
    **dict.fromkeys(("open", "openat", "creat"), Disk._opened),
    **dict.fromkeys(("write", "pwrite64"), Disk._written),
    **dict.fromkeys(
        ("writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "fallocate", "sync_file_range"), Disk._unknown
    ),
    "lseek": Disk._sought,
    "ftruncate": Disk._truncated,
    **dict.fromkeys(("fsync", "fdatasync"), Disk._synced),
    **dict.fromkeys(("rename", "renameat", "renameat2"), Disk._renamed),
    **dict.fromkeys(("link", "linkat"), Disk._linked),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), Disk._removed),
    **dict.fromkeys(("mkdir", "mkdirat"), Disk._made),
    "close": Disk._closed,
    **dict.fromkeys(("dup", "dup2", "dup3", "fcntl"), Disk._duplicated),
}

Keep = Callable[[Random, bool], bool]
_ALL: Keep = lambda choose, first: True
_NONE: Keep = lambda choose, first: False
_FIRST: Keep = lambda choose, first: first
_LAST: Keep = lambda choose, first: not first
_ANY: Keep = lambda choose, first: choose.random() < 0.5
POLICIES: dict[str, tuple[Keep, Keep]] = {
    "names and bytes kept": (_ALL, _ALL),
    "names and bytes lost": (_NONE, _NONE),
    "bytes lost": (_ALL, _NONE),
    "names lost": (_NONE, _ALL),
    "last bytes lost": (_ALL, _FIRST),
    "last names lost": (_FIRST, _ALL),
    "first names lost": (_LAST, _ALL),
    "first bytes lost": (_ALL, _LAST),
    "any lost": (_ANY, _ANY),
    "any names lost": (_ANY, _ALL),
}
"""Which changes of names and which writes are kept; "first" and "last" are relative to a random one."""


def _content(file: File, choose: Random, keep: Keep) -> bytes:
    """Return the bytes of a file after the loss of power."""
    data = bytearray(file.synced)
    cut = choose.randrange(len(file.changes) + 1)
    for index, (offset, new) in enumerate(file.changes):
        if keep(choose, index < cut):
            _apply(data, offset, new)
        elif new and index == cut and choose.random() < 0.5:  # a part of this write
            length = choose.randrange(len(new))
            if offset < len(file.synced):
                length = max(0, (offset + length) // SECTOR * SECTOR - offset)
            _apply(data, offset, new[:length])
    return bytes(data)


def _apply(data: bytearray, offset: int, new: bytes | None) -> None:
    if new is None:
        del data[offset:]
        data.extend(bytes(offset - len(data)))
    elif new:
        data.extend(bytes(max(0, offset - len(data))))
        data[offset : offset + len(new)] = new


def _set(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _loaded(path: Path) -> Directory:
    """Return a folder as it is, all of it on the disk."""
    found = Directory()
    for entry in path.iterdir():
        if entry.is_dir():
            found.names[entry.name] = _loaded(entry)
        else:
            data = entry.read_bytes()
            found.names[entry.name] = File(bytearray(data), [], len(data))
    found.synced = dict(found.names)
    return found
