"""A framework that is not installed is named, with the way to get it."""

from __future__ import annotations

import sys

import pytest


def test_the_error_names_the_missing_package(monkeypatch):
    from tooltrace.integrations import hello_agents

    for name in [name for name in sys.modules if name.partition(".")[0] == "hello_agents"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hello_agents", None)
    with pytest.raises(ImportError, match=r"pip install 'tooltrace-recorder\[hello-agents\]'"):
        hello_agents.install()
    hello_agents.remove()
