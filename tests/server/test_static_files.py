"""Files of the dashboards have addresses that change with their content, so that a browser asks for each once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tooltrace import assets
from tooltrace.server import static_files

ADDRESS = re.compile(r'(?:src|href)="(/static/[^"]+)"')
IMPORT = re.compile(r'(?:from |import\()"(\.[^"]+)"')


def every_file(client: httpx.Client, path: str) -> dict[str, httpx.Response]:
    """The files that a page loads, by address: those it names, and what its scripts import."""
    found: dict[str, httpx.Response] = {}
    waiting = ADDRESS.findall(client.get(path).text)
    while waiting:
        address = waiting.pop()
        if address not in found:
            found[address] = client.get(address)
            if address.startswith("/static/scripts/"):
                waiting += [urljoin(address, each) for each in IMPORT.findall(found[address].text)]
    return found


@pytest.mark.parametrize("path", ["/", "/sql", "/paths"])
def test_a_browser_keeps_every_file_of_a_page(demo: str, path: str) -> None:
    with httpx.Client(base_url=demo, verify=False, timeout=None) as client:
        files = every_file(client, path)
    assert {each.partition("?")[0] for each in files} >= {"/static/scripts/main.js", "/static/scripts/zone.js"}
    for address, file in files.items():
        assert file.status_code == 200, address
        assert "?v=" in address
        assert "immutable" in file.headers["cache-control"]


def test_the_page_loads_a_script_once_though_several_import_it(demo: str) -> None:
    with httpx.Client(base_url=demo, verify=False, timeout=None) as client:
        paths = [address.partition("?")[0] for address in every_file(client, "/")]
    assert len(paths) == len(set(paths))


def test_an_address_changes_with_the_content_of_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(assets.path("dashboards") / "scripts", tmp_path / "scripts")
    monkeypatch.setattr(static_files.assets, "path", lambda _folder: tmp_path)
    addresses = []
    for added in ("", "// changed\n"):
        with (tmp_path / "scripts" / "zone.js").open("a", encoding="utf-8") as file:
            file.write(added)
        static_files.asset_url.cache_clear()
        static_files._content.cache_clear()
        addresses.append(
            [static_files.asset_url(f"scripts/{name}.js") for name in ("zone", "numbers", "main", "theme")]
        )
    assert [one == other for one, other in zip(*addresses, strict=True)] == [False, False, False, True]
    static_files.asset_url.cache_clear()
    static_files._content.cache_clear()


def test_a_browser_revalidates_a_plain_address(demo: str) -> None:
    answer = httpx.get(f"{demo}/static/scripts/numbers.js", verify=False, timeout=None)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert httpx.get(f"{demo}/static/scripts/nothing.js", verify=False, timeout=None).status_code == 404
