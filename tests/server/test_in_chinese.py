"""``?lang=zh``: texts of the queries and the server are Chinese, text from a trace is unchanged."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from tooltrace import assets
from tooltrace.analysis import catalogue
from tooltrace.report.i18n import Translations

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


def panels(client) -> list[str]:
    """Addresses of what the pages ask for, with the columns that they show."""
    found = []
    for page in ("/?since=all", "/tool?name=search&since=all", "/tool/more?name=search&since=all", "/call?id=c1"):
        found += re.findall(r'hx-get="(/(?:panel|tiles|tools)[^"]*)"', client.get(page).text)
    return [path.replace("&amp;", "&") for path in dict.fromkeys(found)]


def test_translated_pages_have_no_english_sentence(client):
    """Three English words in a row are a sentence."""
    sentence = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+")
    paths = [
        "/",
        "/tool?name=search",
        "/tool/more?name=search",
        "/verdict?since=all",
        "/compare?since=7d",
        "/compare?by=version",
        "/compare/result?since=7d",
        "/calls",
        "/sql",
        "/call?id=bad",
        "/label",
        "/conversation/session",
        *panels(client),
    ]
    assert any(path.startswith("/panel/audit") for path in paths)
    for path in paths:
        left = [text for text in Texts(client.get(path).text).found if sentence.search(text)]
        # an error's message is the trace's; the rest of a message of ours stands behind its Chinese
        assert [text for text in left if "gone for good today" not in text] == [], path
    assert "4 次尝试中有 0 次建议下一步操作" in client.get("/panel/audit?since=all").text
    assert "4 of 4" not in client.get("/panel/audit?since=all").text
    assert "of 4 attempts recommend" in client.get("/panel/audit?since=all&lang=en").text


def test_the_catalogue_describes_each_query(client):
    page = client.get("/sql").text
    for name, query in catalogue().items():
        asked = "&".join(f"{p.name}=x" for p in query.header.parameters if p.required)
        text = client.get(f"/question/{name}?{asked}").text
        assert ("说明</summary>" in text) == bool(query.header.about), name
        assert text.count("-- ") > 1, "the SQL is as it is, with its comments"
    assert page.count("说明</summary>") == sum(bool(query.header.about) for query in catalogue().values())
    assert "<summary>" not in client.get("/question/ranking?lang=en").text


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


def test_every_text_that_a_template_names_has_a_translation():
    folder = assets.path("dashboards")
    templates = "\n".join(
        file.read_text() for part in ("parts", "pages", "report") for file in (folder / part).glob("*.html")
    )
    named = set(re.findall(r"\bt\('([\w.]*\w)'[,)]", templates))
    assert len(named) > 200
    chinese = Translations("zh")
    assert not sorted(key for key in named if not chinese.exact(key))
