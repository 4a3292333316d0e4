"""``?lang=zh``: texts of the queries and the server are Chinese, text from a trace is unchanged."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from .conftest import call


class Texts(HTMLParser):
    """Texts and titles of a page, but of code and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag in ("script", "style", "code")
        self.found += [value or "" for name, value in attrs if name in ("title", "aria-label", "placeholder")]

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in ("script", "style", "code")

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.found.append(data.strip())


@pytest.fixture
def client(shown):
    client = shown(
        *(call(call_id=f"c{n}", confidence=0.9, rule="plain", rule_grade="heuristic") for n in range(3)),
        call(call_id="bad", status="error", code="GONE", error_message="gone for good today"),
    )
    client.headers["accept-language"] = "zh"
    return client


def test_pages_and_panels_are_chinese(client):
    for path in ("/", "/tool?name=search", "/calls", "/sql", "/label", "/panel/audit?since=all"):
        assert re.search(r"[\u4e00-\u9fff]{4}", " ".join(Texts(client.get(path).text).found)), path
    assert "4 次尝试中有 0 次建议下一步操作" in client.get("/panel/audit?since=all").text
    assert "of 4 attempts recommend" in client.get("/panel/audit?since=all&lang=en").text


@pytest.mark.parametrize(
    ("path", "lead", "text"),
    [
        ("/panel/ranking?min_n=x", "参数错误", "parameter 'min_n' must be a whole number"),
        ("/panel/nothing", "没有这个查询", "no query"),
        ("/call?id=none", "没有找到", "no call or span has an id"),
    ],
)
def test_an_error_has_a_chinese_introduction_and_the_original_message(client, path, lead, text):
    page = client.get(path).text
    assert lead in page
    assert f'<p lang="en">{text}' in html.unescape(page)
    assert lead not in client.get(f"{path}&lang=en" if "?" in path else f"{path}?lang=en").text


def test_an_invalid_label_is_reported_in_chinese(client):
    answer = client.post("/label", data={"verdict": "maybe", "span_id": "1"}, headers={"origin": str(client.base_url)})
    assert answer.status_code == 400
    assert "标签错误，没有记录" in answer.text
