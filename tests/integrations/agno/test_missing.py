"""Where Agno is not installed, that is said, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tooltrace.integrations import agno

HERE = find_spec("agno") is not None


@pytest.mark.skipif(
    not HERE, reason="the tests of the Agno integration need it: pip install 'tooltrace-recorder[agno]'"
)
def test_the_framework_of_the_other_tests_is_installed() -> None:
    assert HERE


@pytest.mark.skipif(HERE, reason="agno is installed")
def test_missing_parts_are_named_in_the_error() -> None:
    with pytest.raises(ImportError, match=r"pip install 'tooltrace-recorder\[agno\]'"):
        agno.install()
    agno.remove()
