"""The Chinese pages have the code of the English ones; comments in code may be Chinese."""

from __future__ import annotations

import io
import re
import tokenize

import pytest

from tests.docs.test_pages import ROOT, TRANSLATED, blocks


def without_comments(kind: str, code: str) -> list[str]:
    """Return the code of a block without its comments; the name of a file in the first line stays."""
    if kind == "python":
        tokens = tokenize.generate_tokens(io.StringIO(code).readline)
        return [each.string for each in tokens if each.type != tokenize.COMMENT or each.start == (1, 0)]
    return [re.sub(r"\s+# .*$", "", line) for line in code.splitlines()] if kind == "sh" else [code]


@pytest.mark.parametrize(("chinese", "english"), TRANSLATED.items())
def test_a_chinese_page_has_the_code_of_the_english_page(chinese: str, english: str) -> None:
    there, here = blocks(ROOT / english), blocks(ROOT / chinese)
    assert [kind for kind, _ in here] == [kind for kind, _ in there]
    for (kind, code), (_, translated) in zip(there, here, strict=True):
        assert without_comments(kind, translated) == without_comments(kind, code), code
