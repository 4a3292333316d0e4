"""Classes that override the functions which run a tool: recorded once, whichever way they go on."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")


def double(parameters):
    return parameters["n"] * 2


@pytest.fixture(params=["before", "after"])
def defined(request, make_tool):
    """A class with these methods, defined before or after the hooks are installed; they are installed then."""
    from tooltrace.integrations import hello_agents

    def define(**methods):
        def make():
            return type("Own", (make_tool.Made,), methods)

        if request.param == "before":
            kind = make()
            hello_agents.install()
        else:
            hello_agents.install()
            kind = make()
        return make_tool("own", double, kind)

    yield define
    hello_agents.remove()


def on_top(self, parameters):
    from hello_agents.tools import Tool

    response = Tool.run_with_timing(self, parameters)
    response.text = f"<{response.text}>"
    return response


def changed(self, parameters):
    from hello_agents.tools import Tool

    return Tool.run_with_timing(self, {**parameters, "n": 10})


def thrice(self, parameters):
    from hello_agents.tools import Tool

    return [Tool.run_with_timing(self, parameters) for _ in range(3)][-1]


def alone(self, parameters):
    return self.run(parameters)


@pytest.mark.parametrize(
    ("override", "text"),
    [(on_top, "<2>"), (changed, "20"), (thrice, "2"), (alone, "2")],
    ids=lambda value: str(value)[:14],
)
def test_an_override_is_recorded_once(defined, registry, calls, store, override, text):
    tool = defined(run_with_timing=override)
    registry.register_tool(tool)
    assert tool.run_with_timing({"n": 1}).text == text
    assert registry.execute_tool("own", {"n": 1}).text == text
    found = calls()
    assert [(call.tool, call.text) for call in found] == [("own", text)] * 2
    assert [json.loads(call.arguments) for call in found] == [{"n": 1}] * 2


def test_an_override_that_raises_is_recorded(defined, registry, calls, store):
    error = ValueError("own")

    def fail(self, parameters):
        raise error

    tool = defined(run_with_timing=fail)
    with pytest.raises(ValueError, match="own") as caught:
        tool.run_with_timing({"n": 1})
    assert caught.value is error
    registry.register_tool(tool)
    registry.execute_tool("own", {"n": 1})
    raised, answered = calls()
    assert (raised.ending, raised.error_type) == ("raised", "ValueError")
    assert (answered.ending, answered.status, answered.code) == ("returned", "error", "EXECUTION_ERROR")


async def in_a_thread(self, parameters):
    return await asyncio.get_running_loop().run_in_executor(None, self.run_with_timing, parameters)


async def in_a_thread_with_context(self, parameters):
    return await asyncio.to_thread(self.run_with_timing, parameters)


async def at_once(self, parameters):
    return self.run_with_timing(parameters)


async def on_top_later(self, parameters):
    from hello_agents.tools import Tool

    response = await Tool.arun_with_timing(self, parameters)
    response.text = f"<{response.text}>"
    return response


@pytest.mark.parametrize("name", ["arun", "arun_with_timing"])
@pytest.mark.parametrize("override", [in_a_thread, in_a_thread_with_context, at_once])
async def test_an_async_override_that_calls_the_sync_one_is_recorded_once(defined, calls, store, name, override):
    tool = defined(**{name: override})
    assert (await tool.arun_with_timing({"n": 4})).text == "8"
    (call,) = calls()
    assert (call.tool, call.text, json.loads(call.arguments)) == ("own", "8", {"n": 4})


async def test_an_asynchronous_override_on_top_is_recorded_once(defined, calls, store):
    tool = defined(arun_with_timing=on_top_later)
    assert (await tool.arun_with_timing({"n": 4})).text == "<8>"
    assert [call.text for call in calls()] == ["<8>"]


def test_a_class_with_hooks_of_its_own_is_made_as_before(make_tool, installed):
    made = []

    class Base(make_tool.Made):
        def __init_subclass__(cls, *, word, **options):
            super().__init_subclass__(**options)
            made.append((cls.__name__, word))

    class Sub(Base, word="hello"):
        def run_with_timing(self, parameters):
            return super().run_with_timing(parameters)

    assert made == [("Sub", "hello")]
    assert make_tool("sub", double, Sub).run_with_timing({"n": 1}).text == "2"


def test_an_abstract_override_stays_abstract(make_tool, installed):
    class Abstract(make_tool.Made, ABC):
        @abstractmethod
        def run_with_timing(self, parameters): ...

    with pytest.raises(TypeError, match="abstract"):
        Abstract("a", double, {})
