"""The description for the package index: README.md, whose links lead to the repository. All else is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
VERSION = re.findall(
    r'^__version__ = "(.+)"$', (ROOT / "tooltrace" / "version.py").read_text(encoding="utf-8"), re.MULTILINE
)[0]


def absolute(link: re.Match[str]) -> str:
    """Return a Markdown link to a file of the repository as a link to this version of it on the web."""
    kind = "raw" if link["image"] else "blob"
    return f"{link['image']}[{link['text']}]({SOURCE}/{kind}/v{VERSION}/{link['path']})"


README = (ROOT / "README.md").read_text(encoding="utf-8")
setup(
    long_description=re.sub(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)]+)\)", absolute, README),
    long_description_content_type="text/markdown",
)
