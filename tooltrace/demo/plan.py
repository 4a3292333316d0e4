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
SHORT_TIMEOUT_SECONDS = 0.1
"""Client timeout that is shorter than the delay of a slow page."""
API_KEY = "sk-demo-0123456789abcdefghij"


class Scenario(NamedTuple):
    """Arguments for a tool, and the expected result if it is known."""

    arguments: dict[str, Any]
    expected: Any = None
    """The correct result; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call that an agent will make."""

    call_id: str
    tool: str
    scenario: Scenario
    variation: str
    """How the agent deviates from a normal call; empty for a normal call."""


@dataclass(frozen=True, slots=True)
class Task:
    """One conversation: calls that an agent makes in sequence."""

    conversation_id: str
    agent: Agent
    calls: tuple[PlannedCall, ...]


class Draw:
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
        """Return words from a random docstring, one of them perhaps wrong; the expected result is its entry's name."""
        entries = self._library.docs.entries
        entry, other = self.random.sample(entries, 2)
        known = sorted(set(words(entry.doc)))
        chosen = self.random.sample(known, min(len(known), self.random.randint(2, 6)))
        if self.random.random() < 0.4:
            chosen[-1:] = words(other.doc)[:1]
        return Scenario({"question": " ".join(chosen)}, expected=entry.name)

    def sum(self) -> Scenario:
        """Return an expression and its value."""
        a, b, c = (self.random.randint(1, 99) for _ in range(3))
        text, expected = self.random.choice(
            [(f"{a} + {b} * {c}", a + b * c), (f"({a} - {b}) / {c}", (a - b) / c), (f"{a} ** 2 % {c}", a**2 % c)]
        )
        return Scenario({"expression": text}, expected=expected)

    def square_of_negative(self) -> Scenario:
        """Return an expression that the evaluator gets wrong."""
        a, b = self.random.randint(2, 20), self.random.randint(1, 99)
        return Scenario({"expression": f"-{a} ** 2 + {b}"}, expected=-(a**2) + b)


class Case(NamedTuple):
    """A kind of call, with its relative frequency."""

    agent: Agent
    tool: str
    weight: float
    scenario: Callable[[Draw], Scenario]
    variation: str = ""


def _path(choose: Callable[[Draw], str]) -> Callable[[Draw], Scenario]:
    return lambda draw: Scenario({"path": choose(draw)})


def _expression(expression: str) -> Callable[[Draw], Scenario]:
    return lambda _: Scenario({"expression": expression})


def _sql(sql: str, database: str = LIBRARY_DB) -> Callable[[Draw], Scenario]:
    return lambda draw: Scenario({"sql": sql.format(module=draw.module().split("/")[1]), "database": database})


def _page(kind: str, **more: Any) -> Callable[[Draw], Scenario]:
    return lambda draw: Scenario({"path": f"/{kind}/{draw.page()}", **more})


def _fetch(kind: str, **more: Any) -> Callable[[Draw], Scenario]:
    return _page(kind, api_key=API_KEY, **more)


_SHORT_TIMEOUT = {"timeout_s": SHORT_TIMEOUT_SECONDS}

CASES: tuple[Case, ...] = (
    Case("reader", "read_file", 11, _path(Draw.module)),
    Case("reader", "read_file", 1.5, _path(lambda draw: f"{draw.module()}.orig")),
    Case("reader", "read_file", 0.8, _path(Draw.folder)),
    Case("reader", "read_file", 0.6, _path(Draw.binary)),
    Case("reader", "read_file", 0.4, _path(lambda _: LOCKED_FILE)),
    Case("reader", "list_directory", 3, _path(Draw.folder)),
    Case("reader", "list_directory", 0.4, _path(lambda draw: f"{draw.folder()}_old")),
    Case("reader", "list_directory", 0.3, _path(Draw.module)),
    Case("reader", "outline", 7, _path(Draw.module)),
    Case("reader", "outline", 0.6, _path(lambda draw: f"{draw.folder()}/nothing.py")),
    Case("reader", "outline", 0.5, _path(lambda _: BAD_MODULE)),
    Case("reader", "outline", 0.3, _path(lambda _: "../../../etc/passwd")),
    Case("reader", "read_lines", 3, _path(Draw.module)),
    Case("reader", "read_lines", 2, _path(Draw.module), "abandon"),
    Case("reader", "read_lines", 0.3, _path(Draw.binary)),
    Case("reader", "download", 4, _page("doc")),
    Case("reader", "download", 0.7, _page("down/1")),
    Case("reader", "download", 0.4, _page("missing")),
    Case("reader", "download", 0.4, _page("slow", **_SHORT_TIMEOUT), "longer timeout"),
    Case("reader", "download", 0.3, _page("garbled")),
    Case("librarian", "search_docs", 24, Draw.question),
    Case("librarian", "search_docs", 0.4, lambda _: Scenario({"question": "qwertz zzyzx"})),
    Case("librarian", "evaluate", 16, Draw.sum),
    Case("librarian", "evaluate", 1.8, Draw.square_of_negative),
    Case("librarian", "evaluate", 0.5, _expression("17 / (4 - 4)")),
    Case("librarian", "evaluate", 0.5, _expression("17 +* 4")),
    Case("librarian", "evaluate", 0.3, _expression("__import__('os').getcwd()")),
    Case("librarian", "evaluate", 0.2, _expression("9 ** 9 ** 9")),
    Case("librarian", "ask_database", 5, _sql("SELECT * FROM functions WHERE module = '{module}' LIMIT 20")),
    Case("librarian", "ask_database", 1, _sql("SELECT name FROM functions ORDER BY name")),
    Case("librarian", "ask_database", 0.6, _sql("SELECT * FROM packages")),
    Case("librarian", "ask_database", 0.4, _sql("SELEKT name FROM modules")),
    Case("librarian", "ask_database", 0.3, _sql("DELETE FROM functions")),
    Case("librarian", "ask_database", 0.4, _sql("INSERT INTO notes VALUES ('{module}')", NOTES_DB), "lock"),
    Case("scout", "fetch", 12, _fetch("doc")),
    Case("scout", "fetch", 1, _fetch("missing")),
    Case("scout", "fetch", 1.2, _fetch("limited/1")),
    Case("scout", "fetch", 0.5, _fetch("limited/2")),
    Case("scout", "fetch", 0.8, _fetch("down/1")),
    Case("scout", "fetch", 0.5, _fetch("down/9")),
    Case("scout", "fetch", 0.8, _fetch("slow", **_SHORT_TIMEOUT), "longer timeout"),
    Case("scout", "fetch", 0.4, _fetch("hang", **_SHORT_TIMEOUT)),
    Case("scout", "fetch", 0.5, _fetch("hang"), "cancel"),
    Case("scout", "follow", 2, lambda draw: Scenario({"path": f"/lines/{draw.random.randint(5, 40)}"})),
    Case("scout", "follow", 1, lambda draw: Scenario({"path": f"/lines/{draw.random.randint(5, 40)}"}), "abandon"),
    Case("scout", "follow", 0.4, lambda draw: Scenario({"path": f"/cut/{draw.random.randint(2, 9)}"})),
)
"""All kinds of calls, successful and failing ones."""


def plan(library: Library, calls: int, seed: int) -> list[Task]:
    """Return ``calls`` calls as tasks of the three agents.

    Each case occurs once, as far as ``calls`` allows, then cases are drawn by weight. The same library and seed give
    the same calls; the ids are new each time, as those of a model.
    """
    run = secrets.token_hex(3)
    draw = Draw(library, seed)
    drawn = [*CASES, *draw.random.choices(CASES, [case.weight for case in CASES], k=max(0, calls - len(CASES)))]
    todo: dict[Agent, list[PlannedCall]] = {"reader": [], "librarian": [], "scout": []}
    for number, case in enumerate(drawn[:calls], 1):
        call = PlannedCall(f"call_{run}{number:05}", case.tool, case.scenario(draw), case.variation)
        todo[case.agent].append(call)
    return [task for agent, planned in todo.items() for task in _tasks(run, agent, planned, draw.random)]


def _tasks(run: str, agent: Agent, planned: list[PlannedCall], random: Random) -> Iterator[Task]:
    random.shuffle(planned)
    rest, number = iter(planned), 0
    while calls := tuple(islice(rest, TASK_LENGTH)):
        number += 1
        yield Task(f"demo-{run}-{agent}-{number}", agent, calls)
