"""Check that TAG can be released from REPOSITORY, and print its part of the changelog.

Run by the release workflow: python .github/release.py v0.2.0 owner/name > notes.md
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(tag: str, repository: str) -> str:
    """Return the notes of the release. Exits where the tag, the repository or the changelog do not fit."""
    found = re.search(
        r'^__version__ = "(.+)"$', (ROOT / "tooltrace" / "version.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    version = found[1] if found else None
    if tag != f"v{version}":
        sys.exit(
            f"the tag is {tag}, and tooltrace/version.py has {version}: tag the commit as v{version}, or change the version"
        )
    source = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    if source != f"https://github.com/{repository}":
        sys.exit(f"project.urls in pyproject.toml lead to {source}, and this is {repository}: correct pyproject.toml")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## \[{re.escape(str(version))}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if section is None:
        sys.exit(f"CHANGELOG.md has no section [{version}]: give the section [Unreleased] that name, and a date")
    return section[1].strip()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(notes(*sys.argv[1:]))
