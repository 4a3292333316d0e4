"""The pages of invariants name files and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("package", ["store", "recording"])
def test_the_files_and_tests_of_the_invariants_exist(package: str) -> None:
    folder = ROOT / "tooltrace" / package
    page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    tests = re.findall(r"``(tests/\S+\.py)::(test_\w+)``", page)
    files = re.findall(r"``([\w/]+\.py)``", page)
    assert len(tests) >= 10
    assert not [file for file in files if not (folder / file).exists()]
    assert not [name for file, name in tests if f"\ndef {name}(" not in (ROOT / file).read_text()]
