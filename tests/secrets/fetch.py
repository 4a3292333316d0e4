"""Write the samples of gitleaks at a fixed version to ``build/secrets/gitleaks.jsonl``: ``python -m tests.secrets.fetch GO VERSION``.

The module is copied, and its check of the samples replaced by one that writes them. Nothing of it stays in the repository.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "secrets"
SAMPLES = FOLDER / "gitleaks.jsonl"
MODULE = "github.com/zricethezav/gitleaks/v8"


def fetch(go: str, version: str) -> None:
    """Generate the samples with the program ``go``."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    asked = subprocess.run(
        [go, "mod", "download", "-json", f"{MODULE}@{version}"], cwd=FOLDER, check=True, capture_output=True, text=True
    )
    copy = FOLDER / "gitleaks"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(json.loads(asked.stdout)["Dir"], copy, copy_function=shutil.copyfile)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    generate = copy / "cmd" / "generate"
    check = generate / "config" / "utils" / "validate.go"
    check.write_text(re.sub(r"^func Validate", "func unused", check.read_text(), flags=re.MULTILINE))
    shutil.copyfile(HERE / "samples.go.txt", check.with_name("samples.go"))
    shutil.copyfile(HERE / "seeded.go.txt", generate / "secrets" / "regen.go")
    unfinished = SAMPLES.with_suffix(".part")
    with unfinished.open("w") as out:
        subprocess.run([go, "run", ".", str(FOLDER / "rules.toml")], cwd=generate / "config", check=True, stdout=out)
    unfinished.replace(SAMPLES)


if __name__ == "__main__":
    fetch(*sys.argv[1:3])
