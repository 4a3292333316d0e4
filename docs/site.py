"""Build the documentation as HTML: ``python -m docs.site``, or ``make site``.

The pages stay plain Markdown that reads well in a repository browser. They are copied to ``build/site-source``, with links
that work in the site: the README becomes the first page, the lists in ``docs/README.md`` become the sidebar, and a linked
file outside of ``docs`` becomes a download. Sphinx then builds ``build/site`` and fails on every warning: a broken
link, a missing reference, a page that the sidebar does not have.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from docs.api_page import api_page

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
SOURCE: Final = ROOT / "build" / "site-source"
SITE: Final = ROOT / "build" / "site"

ROOT_PAGES: Final = {
    "README.md": "index.md",
    "README.zh.md": "index.zh.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/README.md": "contents.md",
}
"""Pages whose name in the site differs from that in the repository; those that do not exist are left out."""
PROJECT: Final = ("contents.md", "changelog.md", "contributing.md", "security.md")
"""Pages at the end of the sidebar, after those that ``docs/README.md`` lists."""

LINK: Final = re.compile(r"(?<!`)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Build the site; return the exit code of Sphinx."""
    index = SOURCE / "index.md"
    before = index.read_text("utf-8") if index.exists() else ""
    stage(SOURCE)
    code = build(SOURCE, SITE, every_page=index.read_text("utf-8") != before)
    if code == 0:
        print(f"{SITE.relative_to(ROOT)}/index.html")  # noqa: T201 - a command
    return code


def build(source: Path, site: Path, *, every_page: bool = False) -> int:
    """Build the pages in ``source`` into ``site``; return the exit code of Sphinx, which fails at every warning.

    ``every_page``: write the unchanged pages too, because the sidebar changed, which each of them has.
    """
    arguments = ["--builder", "html", "--conf-dir", str(DOCS), "--doctree-dir", str(site.with_name("site-doctrees"))]
    strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--jobs", "auto"]
    strict += ["--write-all"] if every_page else []
    command = [sys.executable, "-m", "sphinx", *arguments, *strict, str(source), str(site)]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - a fixed command


def stage(source: Path) -> None:
    """Write the pages of the site to ``source``, and remove what is no longer a page there."""
    texts: dict[Path, str] = {}
    for page, place in pages().items():
        texts[source / place] = with_site_links(page, place, source)
    index = source / "index.md"
    texts[index] += "\n" + "\n\n".join(toctrees()) + "\n"
    api = DOCS / "reference" / "api.md"
    texts[source / "reference" / "api.md"] = with_site_links(api, "reference/api.md", source, api_page(signatures=True))
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:  # an unchanged page is not built again
            path.write_text(text, "utf-8")
    for path in source.rglob("*.md"):
        if path not in texts:
            path.unlink()


def pages() -> dict[Path, str]:
    """Return the Markdown pages, each with its place in the site."""
    found = {ROOT / name: place for name, place in ROOT_PAGES.items() if (ROOT / name).exists()}
    for page in sorted(DOCS.rglob("*.md")):
        found.setdefault(page, page.relative_to(DOCS).as_posix())
    return found


def with_site_links(page: Path, place: str, source: Path, text: str | None = None) -> str:
    """Return ``text``, by default that of ``page``, with its links as seen from ``place``; copy linked files there."""
    places = pages()
    here = (source / place).parent

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path, sign, anchor = target.partition("#")
        if not path or re.match(r"\w+:", path):
            return found[0]
        linked = (page.parent / path).resolve()
        if linked in places:
            to = source / places[linked]
        elif linked.is_dir() or linked.suffix == ".md":
            return str(words)  # a folder of the repository, or a page of one, is not in the site
        elif linked.is_file():
            to = source / "files" / linked.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, to)
        else:
            return found[0]  # Sphinx reports it
        return f"{image}[{words}]({Path(os.path.relpath(to, here)).as_posix()}{sign}{anchor})"

    return _outside_code(page.read_text("utf-8") if text is None else text, lambda part: LINK.sub(link, part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with ``change`` applied to it, where code stays as it is."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    changed = change(CODE.sub(keep, text))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], changed)


def toctrees() -> Iterator[str]:
    """Yield the parts of the sidebar: each group of ``docs/README.md`` with the pages that it links, in order."""
    index = DOCS / "README.md"
    places = pages()
    for section in re.split(r"^## ", index.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, *groups = re.split(r"^### ", section, flags=re.MULTILINE)
        for part in groups or [section]:
            caption, _, body = part.partition("\n")
            linked = [
                (text, (index.parent / target.partition("#")[0]).resolve()) for _, text, target in LINK.findall(body)
            ]
            entries = [f"{text} <{places[page].removesuffix('.md')}>" for text, page in linked]
            yield _toctree(f"{name.strip()}: {caption}" if groups else caption, entries)
    yield _toctree("Project", [place.removesuffix(".md") for place in PROJECT if place in places.values()])


def _toctree(caption: str, entries: list[str]) -> str:
    return "\n".join(("```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"))


if __name__ == "__main__":
    sys.exit(main())
