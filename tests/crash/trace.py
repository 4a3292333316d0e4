"""The system calls by which a process changes files, read from the log of strace while the process runs.

Production code needs no seam for this, and the writes of DuckDB are seen like those of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    "open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,sendfile,copy_file_range,fallocate,lseek,ftruncate,truncate,"
    "fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,"
    "mkdirat,close,dup,dup2,dup3,fcntl"
)
_LINE = re.compile(r"(\d+) +(.*)")
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)", re.DOTALL)
_UNFINISHED = " <unfinished ...>"
_ARGUMENT = re.compile(r'"([^"]*)"|([^,"\[{]+)|(\[[^\]]*\]|\{[^}]*\})')


@dataclass(frozen=True, slots=True)
class Call:
    """One successful system call."""

    name: str
    arguments: tuple[str | bytes, ...]
    """Strings are bytes, everything else is the text that strace prints."""
    result: int

    def number(self, index: int) -> int:
        """Return an argument that is a number; -1 for the working directory."""
        text = self.arguments[index]
        assert isinstance(text, str)
        return -1 if text == "AT_FDCWD" else int(text, 0)

    def data(self, index: int) -> bytes:
        """Return an argument that is a string."""
        value = self.arguments[index]
        assert isinstance(value, bytes), (self.name, index)
        return value


def command(log: Path) -> list[str]:
    """Return the beginning of a command line whose system calls go to ``log``."""
    return [
        "strace",
        "-f",
        "-qq",
        "-xx",
        "-s",
        str(1 << 22),
        "--seccomp-bpf",
        "-e",
        "signal=none",
        "-e",
        f"trace={CALLS}",
        "-o",
        str(log),
    ]


class Log:
    """The log of a running process, of which each line is read once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""
        self._begun: dict[str, str] = {}

    def close(self) -> None:
        self._file.close()

    def calls(self) -> Iterator[Call]:
        """Yield the calls that have succeeded since the last time, in the order in which they ended."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            if (found := _LINE.fullmatch(line.decode("ascii"))) and (call := self._call(found[1], found[2])):
                yield call

    def _call(self, thread: str, text: str) -> Call | None:
        if text.endswith(_UNFINISHED):
            if text.startswith("close("):  # the number is free for other threads before the call has ended
                return Call("close", (text.removeprefix("close(").removesuffix(_UNFINISHED),), 0)
            self._begun[thread] = text.removesuffix(_UNFINISHED)
            return None
        if found := _RESUMED.fullmatch(text):
            text = self._begun.pop(thread, "") + found[1]
        # ``= -1 ENOENT (…)`` does not match to its end
        match = _CALL.match(text)
        if match is None or match[3] in ("?", "-1"):
            return None
        arguments = (
            bytes.fromhex(string.replace("\\x", "")) if quoted else (plain or group).strip()
            for quoted, string, plain, group in (
                (one[0].startswith('"'), one[1] or "", one[2] or "", one[3] or "")
                for one in _ARGUMENT.finditer(match[2])
            )
        )
        return Call(match[1], tuple(one for one in arguments if one != ""), int(match[3]))
