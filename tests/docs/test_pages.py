"""The pages of the documentation: their code runs and prints what they show, their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.model_server import model_server
from tests.programs import start_program
from tooltrace.analysis import catalogue
from tooltrace.cli import cli

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    (*ROOT.glob("*.md"), *(path for folder in ("docs", "queries", "tests") for path in (ROOT / folder).rglob("*.md"))),
    key=lambda path: path.relative_to(ROOT),
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")
"""The first line of a block that a reader saves as a file."""
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
SHOWN = {
    "README.md": 2,
    "docs/tutorial.md": 6,
    "docs/how-to/ci.md": 1,
    "docs/how-to/correct-readings.md": 2,
    "docs/how-to/data-frames.md": 6,
    "docs/how-to/describe-calls.md": 3,
    "docs/how-to/forget.md": 1,
    "docs/how-to/labels.md": 1,
    "docs/how-to/log-lines.md": 2,
    "docs/how-to/mcp.md": 1,
    "docs/how-to/outcomes.md": 1,
    "docs/how-to/findings.md": 0,
    "docs/how-to/own-arrays.md": 1,
    "docs/how-to/model-apis.md": 4,
    "docs/how-to/model-messages.md": 1,
    "docs/how-to/processes.md": 0,
    "docs/how-to/pytest.md": 1,
    "docs/how-to/retention.md": 0,
    "docs/how-to/retries.md": 5,
    "docs/how-to/rules.md": 1,
    "docs/how-to/secrets.md": 1,
    "docs/how-to/stuck-agents.md": 1,
    "docs/how-to/tools.md": 2,
    "docs/how-to/troubleshooting.md": 2,
    "docs/reference/health.md": 0,
    "docs/reference/journal.md": 1,
    "docs/reference/protocols.md": 1,
    "docs/reference/results.md": 1,
}
"""Pages with Python code, each with the number of outputs that it shows."""
IN_INTERPRETERS = {"README.md", "docs/how-to/processes.md"}
"""Pages whose code runs as ``python -c`` runs it: the first one that a reader tries, and the one about processes."""
TRANSLATED = {"README.zh.md": "README.md", "docs/tutorial.zh.md": "docs/tutorial.md"}
"""Chinese pages, each with the English page whose code it has: test_chinese_pages."""
IN_FRAMEWORKS = {"docs/how-to/frameworks.md"}
"""Pages whose code runs in the environments of the frameworks: test_framework_pages."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text("utf-8"))


def prose(page: Path) -> str:
    """The text of a page without its code."""
    return re.sub(r"`[^`\n]*`", "``", BLOCK.sub("", page.read_text("utf-8")))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    found: set[str] = set()
    for heading in HEADING.findall(BLOCK.sub("", page.read_text("utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = (c for c in text if c in "-_ " or unicodedata.category(c)[0] in "LNM")
        slug = "".join(kept).replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


def test_every_page_with_python_code_is_listed() -> None:
    assert {name(page) for page in PAGES if any(kind == "python" for kind, _ in blocks(page))} == {
        *SHOWN,
        *IN_FRAMEWORKS,
        *TRANSLATED,
    }


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, str]]:
    """The environment in which the clients of OpenAI and Anthropic use a server of the tests."""
    with model_server() as environment:
        yield environment


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.end_to_end] if page == "README.md" else []) for page in SHOWN]
)
def test_the_code_of_a_page_runs_and_prints_the_shown_output(page: str, tmp_path: Path, models: dict[str, str]) -> None:
    """A block is a new process: that of a file and of ``IN_INTERPRETERS`` a new interpreter, others are forked from one."""
    environment = os.environ | models
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "tests").mkdir()
    found, shown = blocks(ROOT / page), 0
    for (kind, code), (next_kind, text) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind == "python":
            if file := FILE.match(code):
                (tmp_path / file[1]).write_text(code)
            if file or page in IN_INTERPRETERS:
                program = subprocess.Popen(
                    [sys.executable, *([file[1]] if file else ["-c", code])],
                    cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
            else:
                program = start_program(code, modules=("tooltrace",), environment=environment, directory=tmp_path)
            printed, errors = program.communicate()
            assert program.returncode == 0, errors
            assert not errors
            if next_kind == "text":
                shown += 1
                assert printed == text, code
    assert shown == SHOWN[page]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_and_anchors_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)}: {link} does not exist"
        if anchor:
            assert anchor in anchors(target), (
                f"{name(page)}: {link} names no heading; there are {sorted(anchors(target))}"
            )


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(index))}
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - {index} <= linked


def test_the_readme_is_short_and_shows_the_two_commands_first() -> None:
    readme = ROOT / "README.md"
    assert len(readme.read_text("utf-8").splitlines()) <= 150
    first = blocks(readme)[0][1]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile
    assert "\ntest:" in makefile


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_commands_queries_and_options_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for query in re.findall(r"tooltrace query (?!NAME)(\w+)", text) + re.findall(r'tt\.query\("(\w+)"', text):
        assert query in catalogue(), query
    for command, words in re.findall(r"\btooltrace (\w+)\b([^`#\n|]*)", "\n".join(code(page))):
        found = cli.commands.get(command)
        if found is None:
            continue  # a word of prose, such as a folder's name
        below = getattr(found, "commands", {}).get(words.split()[0] if words.split() else "")
        known = {
            option for each in (found, below) if each is not None for param in each.params for option in param.opts
        }
        assert set(re.findall(r"(?<!\S)--[a-z-]+", words)) <= known | {"--help", "--no-follow"}, (command, words)


def code(page: Path) -> list[str]:
    """The shell code of a page, and what stands between backticks."""
    inline = re.findall(r"`([^`\n]+)`", BLOCK.sub("", page.read_text("utf-8")))
    return [text for kind, text in blocks(page) if kind == "sh"] + inline
