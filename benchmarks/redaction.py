"""Measure redaction by payload: mebibytes of text per second of CPU, on text as tools return it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import orjson

from tooltrace.redact.redaction import Redaction

AIM_WITH_WORD, AIM_WITHOUT = 20, 50
SIZES = {"200 B": 200, "6 KB": 6_000, "60 KB": 60_000, "1 MB": 1_000_000}
GROWTH = 8
LINEAR = 16
"""Maximum ratio of the times for a text and for one of ``GROWTH`` times its length; quadratic time would give 64."""

_TRIGGERS = re.compile("pass|pwd|secret|token|key|credential|authori|cookie|bearer|basic|://", re.IGNORECASE)


class Speed(NamedTuple):
    payload: str
    mebibytes: float
    aim: int


def speeds(_folder: Path, rounds: int) -> list[Speed]:
    """Best of ``rounds``, for each kind of page and for source code in each size."""
    found = []
    pages = _pages()
    code = _TRIGGERS.sub("zz", pages.pop("source code"))
    for kind, page in pages.items():
        plain = _TRIGGERS.sub("zz", page)
        found.append(Speed(f"60 KB of {kind}, no trigger word", _speed(_of(plain, 60_000), rounds), AIM_WITHOUT))
        word = _with_word(plain)
        found.append(
            Speed(
                f"60 KB of {kind}, four trigger words in every line", _speed(_of(word, 60_000), rounds), AIM_WITH_WORD
            )
        )
    logs = "\n".join(f"{line} password=hunter2" for line in pages["logs"].split("\n"))
    for size, length in SIZES.items():
        found.append(
            Speed(f"{size} of logs, a password in every line", _speed(_of(logs, length), rounds), AIM_WITH_WORD)
        )
    assigned = "\n".join(f"{line} token = read_token(line)" for line in code.split("\n"))
    for size, length in SIZES.items():
        found.append(
            Speed(
                f"{size} of source code, `token =` in every line", _speed(_of(assigned, length), rounds), AIM_WITH_WORD
            )
        )
    for size, length in SIZES.items():
        found.append(Speed(f"{size} of source code, no trigger word", _speed(_of(code, length), rounds), AIM_WITHOUT))
        word = _of(_with_word(code), length)
        found.append(
            Speed(f"{size} of source code, four trigger words in every line", _speed(word, rounds), AIM_WITH_WORD)
        )
    calls = [{"id": f"call_{n:06d}", "usage": {"token_count": n, "total_tokens": 3 * n}, "text": "the token budget is fine", "ok": True}
             for n in range(650)]  # fmt: skip
    found.append(Speed("60 KB of JSON with `token_count`", _speed(calls, rounds), AIM_WITH_WORD))
    secret = [*calls, {"password": "hunter2"}]
    return [*found, Speed("60 KB of JSON with `token_count` and one password", _speed(secret, rounds), AIM_WITH_WORD)]


def growth(_folder: Path, rounds: int) -> tuple[float, str]:
    """The worst ratio of the CPU for ``GROWTH`` times a text to that for the text, and what was repeated in it."""
    units = ["token=", 'token="', "secret-", "://a:", "eyJa-", "eyJa.", "basic ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-u=", '"""', "\\",
             "authorization:", "sk-", "AKIA", "[", '{"a":', "token "]  # fmt: skip
    return max((_cpu(unit * (GROWTH * 60_000), rounds) / _cpu(unit * 60_000, rounds), unit) for unit in units)


def _speed(value: Any, rounds: int) -> float:
    size = len(value.encode() if isinstance(value, str) else orjson.dumps(value))
    return size / _cpu(value, rounds) / 2**20


def _cpu(value: Any, rounds: int) -> float:
    """Seconds of CPU that one redaction takes."""
    redact = partial(Redaction().redact_value, value)
    redact()
    many = max(1, 200_000 // len(str(value)))
    return min(_seconds(redact, many) for _ in range(rounds))


def _seconds(run: Callable[[], Any], many: int) -> float:
    before = process_time()
    for _ in range(many):
        run()
    return (process_time() - before) / many


def _pages() -> dict[str, str]:
    """A long page of each kind; source code and Markdown are those of pydantic, as installed."""
    spec = importlib.util.find_spec("pydantic")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    code = "\n".join(path.read_text() for path in sorted(folder.glob("*.py")))
    (paper,) = folder.parent.glob("pydantic-*.dist-info/METADATA")
    markdown = paper.read_text()
    return {
        "source code": code,
        "Markdown": markdown,
        "HTML": "\n".join(_as_html(markdown)),
        "logs": "\n".join(f"2026-01-02 03:04:{n % 60:02d},{n % 1000:03d} INFO app.worker[{n}] GET /v1/items/{n}?page=2 200 in {n % 97} ms" for n in range(900)),
        "Chinese prose": "\n".join("系统在处理请求时会先检查输入，然后调用工具并返回结果。如果失败，则重试三次，并记录原因。" for _ in range(450)),
    }  # fmt: skip


def _as_html(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f'<li class="entry"><a href="/page/{len(line)}.html">{line.replace("<", "&lt;")}</a></li>'


def _with_word(page: str) -> str:
    return "\n".join(f"{line} the basic secret token, no password" for line in page.split("\n"))


def _of(page: str, size: int) -> str:
    """``size`` bytes of ``page``, repeated if it is shorter."""
    data = page.encode()
    return (data * (size // len(data) + 1))[:size].decode(errors="ignore")
