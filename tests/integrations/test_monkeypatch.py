"""What is replaced in somebody else's class is put back, whatever happened to it meanwhile."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
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


def test_what_somebody_wrapped_stays_and_is_replaced_once(library: Any) -> None:
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
def test_what_had_to_stay_and_was_let_go_of_is_replaced_anew(library: Any, left: str) -> None:
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


def test_a_class_is_not_kept_alive() -> None:
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
