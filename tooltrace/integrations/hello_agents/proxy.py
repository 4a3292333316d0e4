"""Proxy that a method of the package gets as ``self``, so that one function it calls can be watched."""

from __future__ import annotations

from typing import Any


class AgentProxy:
    """Proxy of ``target`` with some attributes replaced; attributes that are set go to ``target``."""

    def __init__(self, target: Any, **replacements: Any) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_own", replacements)

    def __getattribute__(self, name: str) -> Any:
        replacements = object.__getattribute__(self, "_own")
        return replacements[name] if name in replacements else getattr(object.__getattribute__(self, "_target"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_target"), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_target"), name)


def accepts_proxy(method: Any) -> bool:
    """Whether the function ``method`` accepts any object as ``self``; with ``super()`` inside it does not."""
    # ``super()`` without arguments reads the cell ``__class__`` and checks that ``self`` is an instance of it.
    return "__class__" not in method.__code__.co_freevars
