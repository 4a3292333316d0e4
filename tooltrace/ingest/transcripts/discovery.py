"""Where coding agents keep their transcripts, and which of these files are wanted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrace.ingest.transcripts import claude_code, codex

_HEAD_BYTES: Final = 64 * 1024
_FOLDER: Final = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent, as the command line knows it."""

    command: str
    """Name of the command, and of the store."""
    title: str
    service: str
    folders: Callable[[], list[Path]]
    """Return the folders in which it keeps its transcripts, whether they exist or not."""
    variable: str
    """Environment variable that names another folder."""


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript, and its size and the time of its last change when it was found."""

    path: Path
    size: int
    changed_ns: int


def find_transcripts(agent: Agent, since_ns: int | None, project: str | None) -> list[TranscriptFile]:
    """Return the transcripts of ``agent``, the oldest first, so that a session precedes its copies.

    ``since_ns``: only files that were changed at this time or later. ``project``: only those of the project folder of
    this name or path.
    """
    found = {}
    for folder in agent.folders():
        for path in folder.rglob("*.jsonl*"):
            if not path.name.endswith((".jsonl", ".jsonl.zst", ".jsonl.gz")):
                continue
            try:
                stat = path.stat()
            except OSError:  # removed meanwhile
                continue
            if path.is_file() and (since_ns is None or stat.st_mtime_ns >= since_ns):
                found[path.resolve()] = TranscriptFile(path, stat.st_size, stat.st_mtime_ns)
    wanted = [file for file in found.values() if project is None or _is_of(file.path, project)]
    return sorted(wanted, key=lambda file: (file.changed_ns, str(file.path)))


def _is_of(path: Path, project: str) -> bool:
    """Whether the first folder that the transcript names is ``project``, or is called so."""
    try:
        with path.open("rb") as file:
            named = _FOLDER.search(file.read(_HEAD_BYTES))
    except OSError:
        return False
    if named is None:
        return False
    folder = Path(named[1].decode("utf-8", "replace"))
    return project in (folder.name, str(folder)) or Path(project).expanduser().absolute() == folder


def _claude_folders() -> list[Path]:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    homes = named.split(",") if named else ["~/.claude", "~/.config/claude"]
    return [Path(home.strip()).expanduser() / "projects" for home in homes if home.strip()]


def _codex_folders() -> list[Path]:
    home = Path(os.environ.get("CODEX_HOME") or "~/.codex").expanduser()
    return [home / "sessions", home / "archived_sessions"]


CLAUDE: Final = Agent("claude", "Claude Code", claude_code.SERVICE, _claude_folders, "CLAUDE_CONFIG_DIR")
CODEX: Final = Agent("codex", "Codex", codex.SERVICE, _codex_folders, "CODEX_HOME")
AGENTS: Final = (CLAUDE, CODEX)
"""The coding agents whose transcripts are found."""
