"""The site has every page under links that work there, and its build fails at a broken link or a page without a place."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tooltrace as tt
from docs.docstrings import with_fields
from docs.site import build, pages, stage, toctrees


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("site") / "source"
    stage(source)
    return source


def test_every_page_is_in_the_site_and_in_its_sidebar(staged: Path) -> None:
    listed = set(re.findall(r"<(.+)>$|^(\S+)$", "\n".join(toctrees()), re.MULTILINE))
    places = {f"{titled or bare}.md" for titled, bare in listed if not bare.startswith("```")}
    assert set(pages().values()) - {"index.md"} <= places
    assert {path.relative_to(staged).as_posix() for path in staged.rglob("*.md")} == set(pages().values())


def test_the_sidebar_has_groups_that_a_reader_can_scan() -> None:
    captions = [re.search(r":caption: (.+)", part)[1] for part in toctrees()]  # type: ignore[index]
    assert {caption.partition(":")[0] for caption in captions} >= {
        "Tutorial",
        "How-to guides",
        "Reference",
        "Explanation",
    }
    assert "How-to guides: Record calls" in captions
    assert all(len(part.splitlines()) - 5 <= 8 for part in toctrees())


def test_links_lead_to_the_pages_of_the_site(staged: Path) -> None:
    assert "](tutorial.md)" in (staged / "index.md").read_text("utf-8")
    assert "](index.md#install)" in (staged / "tutorial.md").read_text("utf-8")
    assert "](../contributing.md#" in (staged / "explanation" / "architecture.md").read_text("utf-8")


def test_a_linked_file_outside_of_the_pages_becomes_a_download(staged: Path) -> None:
    assert "](../files/dashboards/grafana/tool.json)" in (staged / "how-to" / "grafana.md").read_text("utf-8")
    assert (staged / "files" / "dashboards" / "grafana" / "tool.json").exists()


def test_the_page_of_the_api_describes_every_public_name(staged: Path) -> None:
    text = (staged / "reference" / "api.md").read_text("utf-8")
    described = set(re.findall(r"^\.\. auto\w+:: tooltrace\.(?:errors\.)?(\w+)(?:\(\))?$", text, re.MULTILINE))
    assert set(tt.__all__) - {"__version__"} <= described


def test_the_build_fails_at_a_broken_link_and_at_a_page_without_a_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# Index\n\n[a](nowhere.md) [b](#no-heading)\n")
    (source / "alone.md").write_text("# Alone\n")
    assert build(source, tmp_path / "site") != 0
    errors = capfd.readouterr().err
    assert "nowhere.md" in errors
    assert "no-heading" in errors
    assert "alone.md: WARNING: document isn't included in any toctree" in errors


def test_described_parameters_become_a_list() -> None:
    lines = ["Do it.", "", "``a``: one thing", "that goes on.", "``b``, ``c``: others.", "Raises ConfigError."]
    assert with_fields(lines) == [
        *("Do it.", "", "* **a**: one thing", "  that goes on.", "* **b**, **c**: others.", "", "Raises ConfigError.")
    ]


def test_no_parameter_of_a_public_function_is_lost_in_the_list() -> None:
    for name in tt.__all__:
        lines = (inspect.getdoc(getattr(tt, name)) or "").splitlines()
        made = " ".join(with_fields(lines))
        assert len(made.split()) >= len(" ".join(lines).split()), name
