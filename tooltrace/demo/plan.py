"""The plan of the agents' calls, drawn from a seed before the first call is made."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, Literal, NamedTuple

from tooltrace.demo.docs import words
from tooltrace.demo.workspace import BAD_MODULE, LIBRARY_DB, LOCKED_FILE, NOTES_DB, STDLIB, Library

Agent = Literal["reader", "librarian", "scout"]
TASK_LENGTH = 6
IMPATIENT_SECONDS = 0.1
"""Client timeout that is shorter than the delay of a slow page."""
API_KEY = "sk-demo-0123456789abcdefghij"


class Scenario(NamedTuple):
    """Arguments for a tool, and the correct answer if it is known."""

    arguments: dict[str, Any]
    truth: Any = None
    """The correct answer, if it is known."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One call that an agent will make."""

    call_id: str
    tool: str
    wish: Scenario
    manner: str
    """Variation of how the agent makes the call; empty for the normal way."""


@dataclass(frozen=True, slots=True)
class Task:
    """One conversation: errands that an agent does in sequence."""

    conversation_id: str
    agent: Agent
    errands: tuple[Errand, ...]


class Dice:
    """Random draws from the library, from one seed."""

    def __init__(self, library: Library, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - the same seed must give the same plan
        self._library = library
        self._serial = 0

    def module(self) -> str:
        """Return the path of a random module."""
        return f"{STDLIB}/{self.random.choice(self._library.modules)}"

    def folder(self) -> str:
        """Return the path of a random package."""
        return f"{STDLIB}/{self.random.choice(self._library.folders)}"

    def binary(self) -> str:
        """Return the path of a file that is not text."""
        return self._library.binary

    def page(self) -> str:
        """Return a page name that no other call uses."""
        self._serial += 1
        return f"{self.random.choice(self._library.modules).removesuffix('.py')}~{self._serial}"

    def question(self) -> Scenario:
        """Return words from a random docstring, one of them perhaps wrong; the correct answer is its entry's name."""
        entries = self._library.docs.entries
        entry, other = self.random.sample(entries, 2)
        known = sorted(set(words(entry.doc)))
        kept = self.random.sample(known, min(len(known), self.random.randint(2, 6)))
        if self.random.random() < 0.4:
            kept[-1:] = words(other.doc)[:1]
        return Scenario({"question": " ".join(kept)}, truth=entry.name)

    def sum(self) -> Scenario:
        """Return an expression and its value."""
        a, b, c = (self.random.randint(1, 99) for _ in range(3))
        text, truth = self.random.choice(
            [(f"{a} + {b} * {c}", a + b * c), (f"({a} - {b}) / {c}", (a - b) / c), (f"{a} ** 2 % {c}", a**2 % c)]
        )
        return Scenario({"expression": text}, truth=truth)

    def square_of_negative(self) -> Scenario:
        """Return an expression that the evaluator gets wrong."""
        a, b = self.random.randint(2, 20), self.random.randint(1, 99)
        return Scenario({"expression": f"-{a} ** 2 + {b}"}, truth=-(a**2) + b)


class Case(NamedTuple):
    """A kind of errand, with its relative frequency."""

    agent: Agent
    tool: str
    weight: float
    wish: Callable[[Dice], Scenario]
    manner: str = ""


def _path(draw: Callable[[Dice], str]) -> Callable[[Dice], Scenario]:
    return lambda dice: Scenario({"path": draw(dice)})


def _says(expression: str) -> Callable[[Dice], Scenario]:
    return lambda _dice: Scenario({"expression": expression})


def _sql(sql: str, database: str = LIBRARY_DB) -> Callable[[Dice], Scenario]:
    return lambda dice: Scenario({"sql": sql.format(module=dice.module().split("/")[1]), "database": database})


def _page(kind: str, **more: Any) -> Callable[[Dice], Scenario]:
    return lambda dice: Scenario({"path": f"/{kind}/{dice.page()}", **more})


def _fetch(kind: str, **more: Any) -> Callable[[Dice], Scenario]:
    return _page(kind, api_key=API_KEY, **more)


_HURRY = {"patience": IMPATIENT_SECONDS}

CASES: tuple[Case, ...] = (
    Case("reader", "read_file", 11, _path(Dice.module)),
    Case("reader", "read_file", 1.5, _path(lambda dice: f"{dice.module()}.orig")),
    Case("reader", "read_file", 0.8, _path(Dice.folder)),
    Case("reader", "read_file", 0.6, _path(Dice.binary)),
    Case("reader", "read_file", 0.4, _path(lambda _: LOCKED_FILE)),
    Case("reader", "list_directory", 3, _path(Dice.folder)),
    Case("reader", "list_directory", 0.4, _path(lambda dice: f"{dice.folder()}_old")),
    Case("reader", "list_directory", 0.3, _path(Dice.module)),
    Case("reader", "outline", 7, _path(Dice.module)),
    Case("reader", "outline", 0.6, _path(lambda dice: f"{dice.folder()}/nothing.py")),
    Case("reader", "outline", 0.5, _path(lambda _: BAD_MODULE)),
    Case("reader", "outline", 0.3, _path(lambda _: "../../../etc/passwd")),
    Case("reader", "read_lines", 3, _path(Dice.module)),
    Case("reader", "read_lines", 2, _path(Dice.module), "drop"),
    Case("reader", "read_lines", 0.3, _path(Dice.binary)),
    Case("reader", "download", 4, _page("doc")),
    Case("reader", "download", 0.7, _page("down/1")),
    Case("reader", "download", 0.4, _page("missing")),
    Case("reader", "download", 0.4, _page("slow", **_HURRY), "calm down"),
    Case("reader", "download", 0.3, _page("garbled")),
    Case("librarian", "search_docs", 24, Dice.question),
    Case("librarian", "search_docs", 0.4, lambda _: Scenario({"question": "qwertz zzyzx"})),
    Case("librarian", "evaluate", 16, Dice.sum),
    Case("librarian", "evaluate", 1.8, Dice.square_of_negative),
    Case("librarian", "evaluate", 0.5, _says("17 / (4 - 4)")),
    Case("librarian", "evaluate", 0.5, _says("17 +* 4")),
    Case("librarian", "evaluate", 0.3, _says("__import__('os').getcwd()")),
    Case("librarian", "evaluate", 0.2, _says("9 ** 9 ** 9")),
    Case("librarian", "ask_database", 5, _sql("SELECT * FROM functions WHERE module = '{module}' LIMIT 20")),
    Case("librarian", "ask_database", 1, _sql("SELECT name FROM functions ORDER BY name")),
    Case("librarian", "ask_database", 0.6, _sql("SELECT * FROM packages")),
    Case("librarian", "ask_database", 0.4, _sql("SELEKT name FROM modules")),
    Case("librarian", "ask_database", 0.3, _sql("DELETE FROM functions")),
    Case("librarian", "ask_database", 0.4, _sql("INSERT INTO notes VALUES ('{module}')", NOTES_DB), "queue"),
    Case("scout", "fetch", 12, _fetch("doc")),
    Case("scout", "fetch", 1, _fetch("missing")),
    Case("scout", "fetch", 1.2, _fetch("limited/1")),
    Case("scout", "fetch", 0.5, _fetch("limited/2")),
    Case("scout", "fetch", 0.8, _fetch("down/1")),
    Case("scout", "fetch", 0.5, _fetch("down/9")),
    Case("scout", "fetch", 0.8, _fetch("slow", **_HURRY), "calm down"),
    Case("scout", "fetch", 0.4, _fetch("held", **_HURRY)),
    Case("scout", "fetch", 0.5, _fetch("held"), "change of mind"),
    Case("scout", "follow", 2, lambda dice: Scenario({"path": f"/lines/{dice.random.randint(5, 40)}"})),
    Case("scout", "follow", 1, lambda dice: Scenario({"path": f"/lines/{dice.random.randint(5, 40)}"}), "drop"),
    Case("scout", "follow", 0.4, lambda dice: Scenario({"path": f"/cut/{dice.random.randint(2, 9)}"})),
)
"""All kinds of errands, successful and failing ones."""


def plan(library: Library, calls: int, seed: int) -> list[Task]:
    """Return ``calls`` errands as tasks of the three agents.

    Each case occurs once, as far as ``calls`` allows, then cases are drawn by weight. The same library and seed give
    the same errands; the ids are new each time, as a model's are.
    """
    run = secrets.token_hex(3)
    dice = Dice(library, seed)
    drawn = [*CASES, *dice.random.choices(CASES, [case.weight for case in CASES], k=max(0, calls - len(CASES)))]
    todo: dict[Agent, list[Errand]] = {"reader": [], "librarian": [], "scout": []}
    for number, case in enumerate(drawn[:calls], 1):
        errand = Errand(f"call_{run}{number:05}", case.tool, case.wish(dice), case.manner)
        todo[case.agent].append(errand)
    return [task for agent, errands in todo.items() for task in _tasks(run, agent, errands, dice.random)]


def _tasks(run: str, agent: Agent, errands: list[Errand], random: Random) -> Iterator[Task]:
    random.shuffle(errands)
    rest, number = iter(errands), 0
    while some := tuple(islice(rest, TASK_LENGTH)):
        number += 1
        yield Task(f"demo-{run}-{agent}-{number}", agent, some)
