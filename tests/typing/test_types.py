"""The decorator keeps a tool's type, for mypy and for pyright, and wrong calls of a traced tool are still found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_the_types_of_traced_tools(checker: str) -> None:
    found = shutil.which(checker, path=str(Path(sys.executable).parent)) or shutil.which(checker)
    if found is None:
        pytest.skip(f"{checker} is not installed")
    options = ["--strict", "--warn-unused-ignores"] if checker == "mypy" else ["--pythonpath", sys.executable]
    done = subprocess.run(
        [found, *options, str(HERE / "api.py")], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
