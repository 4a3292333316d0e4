"""Patched attributes are restored, whatever happened to the class meanwhile."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from tooltrace.integrations.monkeypatch import MonkeyPatcher


@pytest.fixture
def library() -> Any:
    class Library:
        def run(self) -> str:
            return "ran"

        async def arun(self) -> str:
            return "ran later"

    return Library


def louder(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: original(*args) + "!"


def alouder(original: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any) -> str:
        return f"{await original(*args)}!"

    return wrapper


def hooked(library: Any) -> tuple[MonkeyPatcher, Callable[[], None]]:
    patches = MonkeyPatcher()

    def hook() -> None:
        patches.wrap(library, "run", louder)
        patches.wrap(library, "arun", alouder)
        patches.wrap(library, "missing", louder)
        patches.put(library, "added", lambda: 1)

    return patches, hook


async def test_made_and_undone_any_number_of_times(library: Any) -> None:
    before = dict(vars(library))
    patches, hook = hooked(library)
    patches.undo()
    for _ in range(2):
        patches.make(hook)
        patches.make(hook)
        assert (library().run(), await library().arun(), library.added) == ("ran!", "ran later!", 1)
        assert not hasattr(library, "missing")
        assert inspect.iscoroutinefunction(library.arun)
        patches.undo()
        patches.undo()
        assert dict(vars(library)) == before


def test_where_the_hook_raises_all_is_as_before(library: Any) -> None:
    before = dict(vars(library))
    patches, hook = hooked(library)

    def breaks() -> None:
        hook()
        raise KeyError("unknown version")

    with pytest.raises(KeyError, match="unknown version"):
        patches.make(breaks)
    assert dict(vars(library)) == before
    assert not patches.on


def test_a_patch_wrapped_by_others_stays_and_is_not_repeated(library: Any) -> None:
    original = library.run
    patches, hook = hooked(library)
    patches.make(hook)
    ours = library.run
    library.run = theirs = lambda self: f"<{ours(self)}>"
    patches.undo()
    assert library.run is theirs
    assert library().run() == "<ran>"
    patches.make(hook)
    assert library().run() == "<ran!>"
    library.run = ours
    patches.undo()
    assert library.run is original


@pytest.mark.parametrize("left", ["original", "ours"])
def test_a_patch_that_is_no_longer_wrapped_is_applied_again(library: Any, left: str) -> None:
    original = library.run
    patches, hook = hooked(library)
    patches.make(hook)
    found = {"original": original, "ours": library.run}
    library.run = lambda self: "theirs"
    patches.undo()
    library.run = found[left]
    patches.make(hook)
    assert library().run() == "ran!"
    patches.undo()
    assert library.run is original


def test_a_patched_class_can_be_collected() -> None:
    patches, gone = MonkeyPatcher(), []

    def hook() -> None:
        class Short:
            def run(self) -> str:
                return "ran"

        patches.wrap(Short, "run", louder)
        gone.append(patches._patches[0].owner)

    patches.make(hook)
    gc.collect()
    assert gone[0]() is None
    patches.undo()


class Proxy:
    """Replacement of a method as wrapt makes it: a function to isinstance, which knows its instance only once bound."""

    __class__ = FunctionType  # type: ignore[assignment]
    __name__ = __qualname__ = "run"
    __doc__ = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__code__ = function.__code__

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., Any]:
        return lambda *args: f"<{type(instance).__name__}: {self.function(instance, *args)}>"

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("called without its instance")


def test_a_method_that_another_library_wrapped_is_called_with_its_instance(library: Any) -> None:
    library.run = Proxy(library.run)
    patches, hook = hooked(library)
    patches.make(hook)
    assert library().run() == "<Library: ran>!"
    patches.undo()
    assert library().run() == "<Library: ran>"
