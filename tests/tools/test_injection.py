"""Parameters that are not the model's: hidden, refused from it, and filled in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Optional, TypeVar

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry

if TYPE_CHECKING:
    from framework import RunContext

Calls = Callable[[], list[ToolCall]]
D = TypeVar("D")


class Session:
    def __init__(self, name: str = "s") -> None:
        self.name = name

    def __call__(self) -> str:
        return "a session may be called, and is a value all the same"


class RunContextWrapper(Generic[D]):
    pass


def shown(registry: ToolRegistry) -> list[list[str]]:
    return [list(each["parameters"]["properties"]) for each in registry.schemas("plain")]


def test_by_name() -> None:
    def tool(q: str, agent, team, run_context, session_state, ctx, self=None) -> None: ...

    assert shown(ToolRegistry([tool])) == [["q"]]


def test_a_plain_type_makes_a_real_parameter_of_a_frameworks_name() -> None:
    def tool(
        team: str, cls: str, agent: Optional[list[str]] = None, ctx: dict | None = None, session_state: str = ""
    ) -> None: ...

    assert shown(ToolRegistry([tool])) == [["team", "cls", "agent"]]


def test_context_is_a_real_parameter_unless_its_class_is_a_frameworks() -> None:
    def real(context: str) -> None: ...
    def wrapped(context: RunContextWrapper[int]) -> None: ...
    def unresolved(context: RunContext[Session], q: str) -> None: ...
    def other_name(wrapper: Annotated[Optional[RunContextWrapper], "x"] = None) -> None: ...
    def bare(context) -> None: ...

    assert shown(ToolRegistry([real, wrapped, unresolved, other_name, bare])) == [
        ["context"],
        [],
        ["q"],
        [],
        ["context"],
    ]


def test_filled_in_by_name_and_by_class(calls: Calls) -> None:
    made: list[Session] = []

    def factory() -> Session:
        made.append(Session(f"made {len(made)}"))
        return made[-1]

    def tool(q: str, agent: Any, db: Optional[Session], again: Session) -> str:
        return f"{q} {agent} {db.name} {again.name}"

    by_value = ToolRegistry([tool], inject={"agent": "A", Session: Session("v")})
    by_factory = ToolRegistry([tool], inject={"agent": "A", Session: factory, "again": functools.partial(Session, "p")})
    assert shown(by_value) == [["q"]]
    assert by_value.execute("tool", {"q": "x"}).text == "x A v v"
    assert by_factory.execute("tool", {"q": "x"}).text == "x A made 0 p"
    assert by_factory.execute("tool", {"q": "x"}).text == "x A made 1 p"
    assert {call.arguments for call in calls()} == {'{"q":"x"}'}, "what is injected is not on record"


def test_a_name_passed_to_inject_hides_the_parameter(store: Path) -> None:
    def tool(team: str) -> str:
        return team

    registry = ToolRegistry([tool], inject={"team": "red"})
    assert shown(registry) == [[]]
    assert registry.execute("tool").text == "red"


@pytest.mark.parametrize("extra", [False, True])
def test_the_model_cannot_set_hidden_parameters(calls: Calls, extra: bool) -> None:
    ran: list[Any] = []

    def closed(q: str, agent: Any = "own", secret: str = "s") -> None:
        ran.append(agent)

    def opened(q: str, agent: Any = "own", secret: str = "s", **more: Any) -> None:
        ran.append(agent)

    registry = ToolRegistry()
    registry.register(opened if extra else closed, name="tool", hidden=["secret"])
    for name in ("agent", "secret"):
        response = registry.execute("tool", {"q": "x", name: "the model's"})
        assert response.code == "INVALID_PARAM"
        assert f"unknown parameter '{name}'" in response.error.message
    assert ran == []
    assert registry.execute("tool", {"q": "x"}).ok
    assert ran == ["own"], "its own default"


def test_a_hidden_name_is_refused_even_with_extra_arguments(store: Path) -> None:
    def opened(**more: Any) -> str:
        return str(more)

    registry = ToolRegistry()
    registry.register(opened, hidden="admin")
    assert registry.execute("opened", {"admin": True}).code == "INVALID_PARAM"
    assert registry.execute("opened", {"other": True}).text == "{'other': True}"


def test_a_missing_injected_value_is_an_error_response(calls: Calls) -> None:
    def tool(q: str, agent: Any) -> str:
        return q

    def needs(db: Session) -> str:
        return db.name

    def broken(agent: Any) -> str:
        return agent

    def fails() -> Any:
        raise OSError("no database")

    registry = ToolRegistry([tool, needs])
    response = registry.execute("tool", {"q": "x"})
    assert (response.code, response.error.retryable) == ("INTERNAL_ERROR", False)
    assert "'agent'" in response.error.message
    assert "'db' (Session)" in registry.execute("needs").error.message
    other = ToolRegistry([broken], inject={"agent": fails})
    assert "no database" in other.execute("broken").error.message
    assert [call.code for call in calls()] == ["INTERNAL_ERROR"] * 3


def test_parameters_without_a_json_type_are_not_in_the_schema(store: Path) -> None:
    def tool(q: str, db: Session = Session("default"), done: Callable[[], None] | None = None) -> str:  # noqa: B008
        return db.name

    registry = ToolRegistry([tool])
    assert shown(registry) == [["q"]]
    assert registry.execute("tool", {"q": "x"}).text == "default"


def test_keys_of_inject_are_names_and_classes() -> None:
    with pytest.raises(ConfigError, match="must be parameter names or classes"):
        ToolRegistry(inject={5: "x"})


def test_a_method_has_its_object_and_a_plain_function_named_self_has_none(store: Path) -> None:
    class Kit:
        def tool(self, q: str) -> str:
            return f"{type(self).__name__} {q}"

    registry = ToolRegistry([Kit().tool])
    assert registry.execute("tool", {"q": "x"}).text == "Kit x"
    assert "'self'" in ToolRegistry([Kit.tool]).execute("tool", {"q": "x"}).error.message


def test_meta_does_not_contain_injected_values(store: Path) -> None:
    def tool(agent: Any) -> tt.ToolResponse:
        return tt.ToolResponse.success("x")

    assert "A-SECRET" not in repr(ToolRegistry([tool], inject={"agent": "A-SECRET"}).execute("tool"))
