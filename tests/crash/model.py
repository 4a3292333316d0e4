"""What a store must have after steps of the program, some of which a loss of power interrupts."""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tooltrace as tt
from tests.crash.program import Reporting, deliver
from tooltrace.store.database.connection import opened
from tooltrace.store.database.schema import STORE
from tooltrace.store.duckdb_store import DuckDBStore
from tooltrace.store.files.paths import StorePaths

STORE_NAME = "store.duckdb"
BACKUP_NAME = "backup.duckdb"
ROWS = "SELECT call_id, count(*), count(arguments) FROM {table} GROUP BY 1"


@dataclass
class Content:
    """The calls of a database. Every call has the name of its conversation."""

    required: set[str] = field(default_factory=set)
    """Calls that are stored once."""
    possible: set[str] = field(default_factory=set)
    """Calls that may be stored once: they were not acknowledged, or a restored backup lacks them."""
    emptied: set[str] = field(default_factory=set)
    """Calls whose content was removed."""
    conversations: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    """Conversations of which nothing is stored."""
    losses: int = 0
    """Maximum number of lost records: those that a loss of power tore."""


@dataclass
class Model:
    """The store and its backup."""

    store: Content = field(default_factory=Content)
    backups: list[Content] = field(default_factory=list)
    """What the backup may have."""
    has_backup: bool = False
    """Whether a backup has ended, so that there must be one."""
    in_journals: set[str] = field(default_factory=set)
    """Calls in journals, which a restored backup gets too."""
    in_ended: set[str] = field(default_factory=set)
    """Those in journals that the next fold removes."""
    gone: set[str] = field(default_factory=set)
    """Calls that the restoration in progress removes."""
    delivers: bool = False
    """Whether a destination gets the calls."""
    sent: set[str] = field(default_factory=set)
    """Part and id of each call that the destination has taken."""

    def begin(self, name: str, arguments: dict[str, object]) -> Model:
        """Return what is allowed while a step runs."""
        model = copy.deepcopy(self)
        store = model.store
        if name == "record":
            ids = set(map(str, arguments["ids"]))  # type: ignore[call-overload]
            store.possible |= ids
            store.conversations |= dict.fromkeys(ids, str(arguments["conversation"]))
            store.losses += len(ids)
        elif name == "forget":
            gone = {call for call, one in store.conversations.items() if one == arguments["conversation"]}
            store.losses += len(gone & (store.required | store.possible))  # lines that were overwritten in part
            store.possible |= store.required & gone
            store.required -= gone
        elif name == "restore":
            backup = model.backups[-1]
            model.gone = store.required - backup.required - model.in_journals
            store.possible |= model.gone
            store.required -= model.gone
            store.emptied &= backup.emptied
        elif name == "backup":
            model.backups = [*model.backups, copy.deepcopy(store)]
        return model

    def acknowledge(self, call: str) -> None:
        """Note that a call has returned."""
        self.store.possible.discard(call)
        self.store.required.add(call)
        self.in_journals.add(call)
        self.store.losses -= 1

    def end(self, name: str, arguments: dict[str, object]) -> None:
        """Note that the step that ``begin`` was called for has ended."""
        store = self.store
        if name == "forget":
            gone = {call for call, one in store.conversations.items() if one == arguments["conversation"]}
            store.possible -= gone
            store.emptied -= gone
            store.forgotten.add(str(arguments["conversation"]))
            store.losses -= len(gone)
        elif name == "prune":
            store.emptied |= store.required | store.possible
        elif name == "backup":
            self.backups, self.has_backup = [copy.deepcopy(store)], True
        elif name == "restore":
            store.possible -= self.gone
            self.gone = set()
        if name == "end":
            self.in_ended |= self.in_journals
        elif name not in ("record", "deliver"):  # every other step folds
            self.in_journals -= self.in_ended
            self.in_ended = set()


@dataclass
class Found:
    """The content of a database."""

    rows: Counter[str]
    with_content: set[str]
    losses: Counter[str]

    @classmethod
    def in_store(cls, store: Path) -> Found:
        if not DuckDBStore(store).exists():  # nothing was recorded, or its names are lost
            return cls(Counter(), set(), Counter())
        with tt.connect(store) as db:
            rows = db.execute(ROWS.format(table="tool_calls")).fetchall()
            losses = db.execute("SELECT reason, sum(count)::BIGINT FROM losses GROUP BY 1").fetchall()
        return cls.of(rows, Counter(dict(losses)))

    @classmethod
    def in_database(cls, file: Path) -> Found:
        with opened(StorePaths.of(file), read_only=True) as con:
            return cls.of(con.execute(ROWS.format(table=f"{STORE}.attempts")).fetchall(), Counter())

    @classmethod
    def of(cls, rows: list[tuple[str, int, int]], losses: Counter[str]) -> Found:
        return cls(Counter({call: count for call, count, _ in rows}), {call for call, _, full in rows if full}, losses)


def problems(expected: Content, found: Found) -> list[str]:
    """Return what is wrong with a database, in words."""
    rows, stored = found.rows, set(found.rows)
    sentences = {
        "doubled": {call for call, count in rows.items() if count > 1},
        "invented": stored - expected.required - expected.possible,
        "lost": expected.required - stored,
        "stored with content although it was removed": found.with_content & expected.emptied,
    }
    found_problems = [f"{sorted(calls)[:5]} are {what}" for what, calls in sentences.items() if calls]
    if found.losses.total() > max(0, expected.losses):
        found_problems.append(f"the losses {dict(found.losses)} are more than {expected.losses}")
    return found_problems


def check(model: Model, folder: Path) -> list[str]:
    """Open what a loss of power left in ``folder``; return what is wrong, in words."""
    wrong = _forgotten_bytes(model.store, folder)
    wrong += problems(model.store, Found.in_store(folder / STORE_NAME))
    wrong += [f"{problem} after the store was opened" for problem in _forgotten_bytes(model.store, folder)]
    if model.backups:
        backup = folder / BACKUP_NAME
        if not backup.exists():
            return wrong + ["the backup is missing"] * model.has_backup
        in_backup = Found.in_database(backup)
        each = [problems(content, in_backup) for content in model.backups]
        if all(each):
            wrong += [f"the backup: {problem}" for problem in each[-1]]
    return wrong


def check_delivery(model: Model, as_left: Path, folder: Path) -> list[str]:
    """Deliver what waits after a loss of power, in a copy of ``as_left``; return what is wrong, in words.

    What was sent before the loss need not be sent again: a call that is missing was passed by the cursor.
    """
    shutil.copytree(as_left, folder)
    taken: set[str] = set()
    deliver(folder / STORE_NAME, lambda line: taken.add(line.removeprefix("sent ")))
    stored = set(Found.in_store(folder / STORE_NAME).rows)
    shutil.rmtree(folder)
    known = model.store.required | model.store.possible
    missing = {f"{part} {call}" for part in Reporting.parts for call in model.store.required | stored}
    missing -= taken | model.sent
    invented = {one for one in taken if one.split()[1] not in known}
    sentences = {"stored and never delivered": missing, "delivered and were never made": invented}
    return [f"{sorted(calls)[:5]} are {what}" for what, calls in sentences.items() if calls]


def settle(model: Model, folder: Path) -> None:
    """Make what was found after a loss of power the only possible content."""
    found = Found.in_store(folder / STORE_NAME)
    store, model.in_journals, model.in_ended = model.store, set(), set()  # the reader has folded them
    store.required |= store.possible & set(found.rows)
    store.possible = set()
    store.losses = max(store.losses, found.losses.total())


def _forgotten_bytes(store: Content, folder: Path) -> list[str]:
    """Return a sentence for each file but the backup that has the name of a forgotten conversation."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(BACKUP_NAME)]
    return [
        f"{path.relative_to(folder)} has bytes of {conversation}"
        for conversation in sorted(store.forgotten)
        for path in files
        if conversation.encode() in path.read_bytes()
    ]
