"""Where LangChain is not installed, that is said, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tooltrace.integrations import langchain


@pytest.mark.skipif(find_spec("langchain_core") is not None, reason="langchain-core is installed")
def test_missing_parts_are_named_in_the_error() -> None:
    with pytest.raises(ImportError, match=r"pip install 'tooltrace-recorder\[langchain\]'"):
        langchain.install()
    langchain.remove()
    with pytest.raises(ImportError, match=r"pip install 'tooltrace-recorder\[langchain\]'"):
        _ = langchain.ToolTraceCallbackHandler
