"""One call to install, one to remove, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from agno.agent import _tools
from agno.models.base import Model
from agno.tools.function import FunctionCall

from tooltrace.integrations import agno
from tooltrace.integrations.agno.patch_points import targets

OWNERS = (FunctionCall, Model, _tools)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before = [dict(vars(owner)) for owner in OWNERS]
    yield
    agno.remove()
    after = [dict(vars(owner)) for owner in OWNERS]
    assert all(set(old) == set(new) and all(old[key] is new[key] for key in old) for old, new in zip(before, after))


def add(a: int, b: int) -> int:
    return a + b


def test_install_and_remove(agent_of: Callable, calls: Callable) -> None:
    turns = [[("add", {"a": 1, "b": 1}, "call_1")], "done", [("add", {"a": 2, "b": 2}, "call_2")], "done"]
    turns += [[("add", {"a": 3, "b": 3}, "call_3")]]
    agent = agent_of([add], *turns)
    agno.install()
    agno.install()
    agent.run("made before, run after")
    agno.remove()
    agent.run("not recorded")
    agno.remove()
    agno.install()
    agent.run("recorded again")
    assert [call.call_id for call in calls()] == ["call_1", "call_3"]


def test_every_target_is_replaced_by_one_of_the_same_kind() -> None:
    import inspect

    def kinds() -> list[tuple[bool, ...]]:
        asks = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        return [tuple(ask(vars(owner)[name]) for ask in asks) for owner, name, _ in targets()]

    before = [vars(owner)[name] for owner, name, _ in targets()], kinds()
    agno.install()
    assert not any(vars(owner)[name] is old for (owner, name, _), old in zip(targets(), before[0]))
    assert kinds() == before[1]


def test_another_librarys_wrapper_is_not_lost(agent_of: Callable, calls: Callable) -> None:
    ran: list[str] = []
    original = FunctionCall.execute
    agno.install()
    ours = FunctionCall.execute

    def theirs(self: Any) -> Any:
        ran.append(self.call_id)
        return ours(self)

    FunctionCall.execute = theirs
    try:
        agno.remove()
        assert FunctionCall.execute is theirs
        turns = [[("add", {"a": n, "b": n}, f"call_{n}")] for n in range(2)]
        agent = agent_of([add], turns[0], "done", turns[1])
        agent.run("not recorded")
        assert calls() == []
        agno.install()
        agent.run("recorded once")
        assert [call.call_id for call in calls()] == ["call_1"]
        assert ran == ["call_0", "call_1"]
    finally:
        FunctionCall.execute = ours
        agno.remove()
        assert FunctionCall.execute is original


def test_a_restored_original_is_wrapped_again(agent_of: Callable, calls: Callable) -> None:
    original = FunctionCall.execute
    agno.install()
    FunctionCall.execute = lambda self: original(self)
    agno.remove()
    FunctionCall.execute = original
    agno.install()
    agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")]).run("go")
    assert [call.call_id for call in calls()] == ["call_1"]


@pytest.mark.processes
def test_importing_it_does_not_import_agno() -> None:
    import subprocess
    import sys

    code = "import sys; import tooltrace.integrations.agno; print('agno' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tooltrace.errors import ConfigError

    before = dict(vars(FunctionCall))
    with monkeypatch.context() as patch:
        patch.delattr(Model, "create_tool_call_limit_error_result")
        with pytest.raises(ConfigError, match="version of agno"):
            agno.install()
        assert dict(vars(FunctionCall)) == before


def test_a_wrapper_that_was_there_before_knows_its_instance(agent_of: Callable, calls: Callable) -> None:
    """Some libraries wrap with an object that asks the descriptor protocol for the instance."""
    original, ran = FunctionCall.execute, []

    class Bound:
        def __init__(self, instance: Any = None) -> None:
            self.instance = instance

        def __get__(self, instance: Any, owner: Any) -> Any:
            return Bound(instance)

        def __call__(self) -> Any:
            ran.append(self.instance.function.name)
            return original(self.instance)

    FunctionCall.execute = Bound()
    try:
        agno.install()
        agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")]).run("go")
        assert ran == ["add"]
        assert [call.result for call in calls()] == ["3"]
        agno.remove()
    finally:
        FunctionCall.execute = original
