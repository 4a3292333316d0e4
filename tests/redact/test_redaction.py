"""No secret reaches a file, an exported span or a log line; what only looks like one is kept."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tests.examples import examples
from tooltrace.core.records import ToolCall
from tooltrace.redact.redaction import MASK, Redaction
from tooltrace.redact.sanitizer import MARGIN

Calls = Callable[[], list[ToolCall]]

ALNUM = string.ascii_letters + string.digits


def random_text(alphabet: str, length: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=length)


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


core = random_text(ALNUM, 40)
"""Texts that no store may contain."""

VALUE_KINDS: dict[str, Callable[[str], str]] = {
    "openai": lambda s: f"sk-{s}",
    "openai project": lambda s: f"sk-proj-{s}",
    "anthropic": lambda s: f"sk-ant-api03-{s}",
    "stripe": lambda s: f"rk_live_{s}",
    "github": lambda s: f"ghp_{s}",
    "github fine": lambda s: f"github_pat_{s}",
    "gitlab": lambda s: f"glpat-{s}",
    "slack": lambda s: f"xoxb-{s}",
    "hugging face": lambda s: f"hf_{s}",
    "npm": lambda s: f"npm_{s}",
    "google": lambda s: f"AIza{s}",
    "google oauth": lambda s: f"ya29.{s}",
    "sendgrid": lambda s: f"SG.{s}",
    "bearer": lambda s: f"Bearer 9{s}",
    "basic": lambda s: "Basic " + base64.b64encode(f"user:{s}".encode()).decode(),
    "jwt": lambda s: f"eyJhbGciOiJIUzI1NiJ9.{b64(s)}.{s}",
    "url": lambda s: f"postgres://user:{s}@db.test:5432/x",
    "url with @": lambda s: f"amqp://user:p@{s}@host/x",
    "pem": lambda s: f"-----BEGIN RSA PRIVATE KEY-----\n{s}\n{s}\n-----END RSA PRIVATE KEY-----",
    "pem cut": lambda s: f"-----BEGIN PRIVATE KEY-----\n{s}",
    "pgp": lambda s: f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{s}\n-----END PGP PRIVATE KEY BLOCK-----",
    "key=value": lambda s: f"password={s}",
    "environment": lambda s: f"export DB_PASS={s}",
    "aws": lambda s: f"aws_secret_access_key = {s}",
    "azure": lambda s: f"AccountKey={s};EndpointSuffix=x",
    "query": lambda s: f"https://x.test/a?api_key={s}&b=1",
    "yaml": lambda s: f"client_secret: {s}",
    "quoted": lambda s: f"PASSWORD='correct horse {s}'",
    "json in text": lambda s: f'request was {{"password": "a\\"b {s}"}} and failed',
    "repr in text": lambda s: f"got {{'api_key': '{s}'}}",
    "json twice": lambda s: json.dumps({"body": json.dumps({"token": s})}),
    "json": lambda s: json.dumps({"deep": [{"credentials": {"user": "u", "value": s}}]}),
    "indented json": lambda s: "\n " + json.dumps({"credentials": {"value": s}}, indent=1),
    "header": lambda s: f"Authorization: Token {s}",
    "cookie": lambda s: f"Cookie: theme=dark; session={s}",
}
"""Ways in which a secret stands in a text."""

KEYS = ("password", "api_key", "apiKey", "X-Api-Key", "client_secret", "access_token", "Authorization", "private_key",
        "ssn", "passphrase", "refreshToken", "AWSSecretAccessKey", "db_pass", "cookie")  # fmt: skip


def aws(s: str) -> str:
    return "AKIA" + (re.sub("[^A-Z0-9]", "", s.upper()) + "Q" * 16)[:16]


def forms(s: str) -> tuple[str, ...]:
    """Forms of a secret that would reveal it: the secret itself and its encodings."""
    return (s, b64(s), base64.b64encode(f"user:{s}".encode()).decode(), aws(s))


PLACES = ("argument", "dict value", "dict deep", "result", "text", "message", "suggestion", "source", "stats", "context",
          "exception", "item", "split item", "attribute", "own attribute", "event", "status", "bytes", "explanation",
          "reason", "decorator source", "failing stream", "long")  # fmt: skip


def use(place: str, planted: str) -> None:  # noqa: C901, PLR0912
    """Put ``planted`` into a call at ``place``."""
    r = tt.ToolResponse
    tool = tt.trace_tool(lambda *a, **k: None)
    if place == "argument":
        tool(planted)
    elif place == "dict value":
        tool({"q": planted})
    elif place == "dict deep":
        tool(q=[{"a": [{"b": planted}]}])
    elif place == "bytes":
        tool(planted.encode())
    elif place == "long":
        tt.trace_tool(lambda: "x " * 40_000 + planted)()
        tt.trace_tool(lambda: ["y" * 60_000, planted, "z" * 60_000])()
        tt.trace_tool(lambda: "x" * (64 * 1024 - 20) + " " + planted + " " + "x" * 10_000)()
    elif place == "result":
        tt.trace_tool(lambda: {"out": planted})()
    elif place == "text":
        tt.trace_tool(lambda: planted)()
        tt.trace_tool(lambda: r.success(planted))()
    elif place == "message":
        tt.trace_tool(lambda: r.error("E", planted, user_message=planted))()
    elif place in ("suggestion", "explanation"):
        tt.trace_tool(lambda: r.error("E", "m", suggestion=planted, explanation=planted))()
    elif place == "reason":
        tt.trace_tool(lambda: r.partial("x", reason=planted))()
    elif place == "source":
        tt.trace_tool(lambda: r.success("x", sources=[tt.Source(url=planted, label=planted)]))()
    elif place == "decorator source":
        tt.trace_tool(sources=[tt.Source(url=planted)])(lambda: 1)()
    elif place in ("stats", "context"):
        tt.trace_tool(lambda: r.success("x", **{place: {"k": [planted]}}))()
    elif place == "exception":
        with pytest.raises(RuntimeError):
            tt.trace_tool(lambda: (_ for _ in ()).throw(RuntimeError(planted)))()
    elif place == "item":
        list(tt.trace_tool(lambda: iter_of("a", planted, {"k": planted}))())
        list(tt.trace_tool(lambda: iter_of("a ", planted, " b"))())
    elif place == "split item":
        list(tt.trace_tool(lambda: iter_of(*[planted[i : i + 3] for i in range(0, len(planted), 3)]))())
    elif place == "failing stream":
        with pytest.raises(RuntimeError):
            list(tt.trace_tool(lambda: failing(planted[:5], planted[5:]))())
    elif place == "attribute":
        with tt.context(attributes={"note": planted}):
            tool()
    elif place in ("own attribute", "event", "status"):
        _on_the_span(place, planted)


def _on_the_span(place: str, planted: str) -> None:
    @tt.trace_tool
    def tool() -> None:
        span = trace.get_current_span()
        if place == "own attribute":
            span.set_attribute("note", planted)
        elif place == "event":
            span.add_event("e", {"note": planted})
            span.record_exception(ValueError(planted))
        else:
            span.set_status(trace.Status(trace.StatusCode.ERROR, planted))

    tool()


def iter_of(*items: Any) -> Any:
    yield from items


def failing(*items: Any) -> Any:
    yield from items
    raise RuntimeError


class Sinks:
    """Everything that leaves the process, as one text."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        tt.configure(store=directory / "t.duckdb", tracer_provider=provider)
        self.lines: list[str] = []

    def log(self, _: Any, __: str, event: dict[str, Any]) -> Any:
        self.lines.append(repr(event))
        raise structlog.DropEvent

    def read(self) -> str:
        assert tt.flush(None)
        files = b"".join(p.read_bytes() for p in self.directory.rglob("*") if p.is_file())
        spans = "".join(s.to_json() for s in self.exporter.get_finished_spans())
        text = files.decode() + spans + "".join(self.lines)
        assert '"kind":"call"' in text and "execute_tool" in spans and self.lines
        return text

    def forget(self) -> None:
        tt.shutdown()
        for file in self.directory.rglob("*.jsonl"):
            file.unlink()
        self.exporter.clear()
        self.lines.clear()


@pytest.fixture
def sinks(store: Path) -> Any:
    made = Sinks(store.parent)
    structlog.configure(processors=[made.log])
    yield made
    tt.flush(None)
    structlog.reset_defaults()


@pytest.mark.long
@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**32))
def test_two_hundred_planted_secrets_are_found_nowhere(sinks: Sinks, seed: int) -> None:
    chance = random.Random(seed)
    planted: list[str] = []
    kinds = list(VALUE_KINDS.items())
    for n in range(200):
        secret = "".join(chance.choices(ALNUM, k=40))
        planted.append(secret)
        name, kind = kinds[n % len(kinds)]
        use(PLACES[(n // len(kinds) * 7 + n) % len(PLACES)], kind(secret))
    text = sinks.read()
    sinks.forget()
    assert [s for s in planted if s in text or b64(s) in text] == []


SECRET = "Zq9Xw8Vu7Ts6Rp5Qo4Nm3Lk2Jh1Gf0EdCbAzYxWv"


@pytest.mark.parametrize("place", PLACES)
def test_every_kind_of_secret_at(sinks: Sinks, place: str) -> None:
    for kind in list(VALUE_KINDS.values())[:: 6 if place == "long" else 1]:
        use(place, kind(SECRET))
    use(place, f"id {aws(SECRET)} end")
    text = sinks.read()
    for form in forms(SECRET):
        where = text.find(form)
        assert where < 0, text[max(0, where - 300) : where + 80]


def test_a_secret_in_the_identity_of_a_tool_or_a_labeler_is_found_nowhere(sinks: Sinks) -> None:
    def tool() -> None: ...

    tool.__doc__ = f"Search with password={SECRET}."
    tt.trace_tool(tool)()
    tt.trace_tool(lambda: 1, name=f"ask sk-{SECRET}", version=f"token={SECRET}", description=f"API key: {SECRET}")()
    tt.trace_tool(lambda: 1, name="own", description=f"patient {SECRET}", redact=tt.Redaction(patterns=[SECRET]))()
    tt.label(span_id="a" * 16, correct=True, labeler=f"bot token={SECRET}")
    tt.correct(span_id="a" * 16, status="success", labeler=f"bot token={SECRET}")
    assert SECRET not in sinks.read()


@pytest.mark.parametrize("key", KEYS)
def test_secrets_by_key(sinks: Sinks, key: str) -> None:
    tool = tt.trace_tool(lambda *a, **k: {"list": [{key: "hunter2-plain"}]})
    tool({key: "hunter2-plain"}, **{key.replace("-", "_"): ["hunter2-plain", {"x": "hunter2-plain"}]})
    tool(json.dumps({"a": {key: "hunter2-plain"}}))
    with tt.context(attributes={key: "hunter2-plain"}):
        tool()
    text = sinks.read()
    assert "hunter2" not in text and MASK in text


HARMLESS = [
    "max_tokens", "max_tokens=100", "token budget", "the token budget is 100", "basic understanding", "Basic Understanding",
    "next_page_token", "next_page_token=abc123def", "/home/u/keys/key_file.txt", "a path with a key: /etc/keyboard",
    "Bearer of bad news arrived", "the secretary: Bob Jones", "passport control", "monkey=banana", "keyboard: qwerty",
    "author: Jane Austen", "authority", "The key to success: work", "https://example.test:8080/path?q=1", "ask-me-anything",
    "secret", "What is a password?", "sk-learn", "user@example.test", "https://x.test/@handle/post", "12:30:45",
    "eyJ", "AKIA", "git@github.com:org/repo.git", "basic JavaScript tutorials", "tokens: 512", "total_tokens: 99",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_resembles_a_secret_is_unchanged(calls: Calls, text: str) -> None:
    tt.trace_tool(lambda x: x)(text)
    tt.trace_tool(lambda x: x)({"q": [text]})
    a, b = calls()
    assert a.text == text and json.loads(b.result or "") == {"q": [text]}
    assert a.redacted is None and b.redacted is None


def test_harmless_keys_keep_their_values(calls: Calls) -> None:
    value = {"max_tokens": 5, "token_budget": 6, "next_page_token": "abc", "nextPageToken": "d", "key": "k", "keys": ["a"],
             "tokens": 7, "primary_key": "id", "author": "J", "total_tokens": 9, "secretary": "Bob"}  # fmt: skip
    tt.trace_tool(lambda x: x)(value)
    (call,) = calls()
    assert json.loads(call.result or "") == value and call.redacted is None


@given(core, st.sampled_from(sorted(VALUE_KINDS)), st.text(max_size=20), st.text(max_size=20))
def test_the_quick_look_misses_nothing_that_the_patterns_find(secret: str, kind: str, before: str, after: str) -> None:
    text = f"{before} {VALUE_KINDS[kind](secret)} {after}"
    redaction = Redaction()
    safe = redaction.redact_text(text)
    assert secret not in safe
    assert not redaction.may_skip(text)
    assert redaction.redact_text(safe) == safe


@given(st.text(max_size=200))
def test_text_that_may_be_skipped_contains_no_secret(text: str) -> None:
    redaction = Redaction()
    if redaction.may_skip(text):
        assert redaction.redact_text(text) == text


def test_emails_are_optional(store: Path, calls: Calls) -> None:
    tool = tt.trace_tool(lambda x: x)
    tool("write to jane.doe@example.test now")
    tt.configure(store=store, redact=tt.Redaction(emails=True))
    tool("write to jane.doe@example.test now")
    assert [c.text for c in calls()] == ["write to jane.doe@example.test now", f"write to {MASK} now"]


def test_a_users_keys_patterns_and_callable(store: Path, calls: Calls) -> None:
    seen: list[str] = []

    def hook(field: str, value: Any) -> Any:
        seen.append(field)
        return value.replace("Rosebud", "R.") if isinstance(value, str) else value

    tt.configure(store=store, redact=tt.Redaction(keys=["Favourite Colour"], patterns=[r"\bX\d{4}\b"], hook=hook))
    tt.trace_tool(lambda x: "Rosebud X1234")({"favouriteColour": "blue", "id": "X1234"})
    tt.trace_tool(redact=["own"])(lambda **k: None)(own=1)
    a, b = calls()
    assert a.text == f"R. {MASK}"
    assert json.loads(a.arguments or "") == {"x": {"favouriteColour": MASK, "id": MASK}}
    assert json.loads(b.arguments or "") == {"own": MASK}
    assert {"arguments", "result", "text"} <= set(seen)


def test_a_change_in_place_by_a_hook_is_recorded(store: Path, calls: Calls) -> None:
    def hook(field: str, value: Any) -> Any:
        if field == "result":
            value["deep"][0] = "changed"
        return value

    tt.configure(store=store, redact=hook)
    tt.trace_tool(lambda: {"deep": ["plain"]})()
    (call,) = calls()
    assert json.loads(call.result or "") == {"deep": ["changed"]} and call.redacted


def bad_hook(field: str, value: Any) -> Any:
    if field in ("arguments", "text", "error_message"):
        raise RuntimeError("cannot")
    return {1, 2} if field == "result" else None


def test_a_field_that_cannot_be_redacted_is_dropped(store: Path, calls: Calls) -> None:
    tt.configure(store=store, redact=bad_hook)
    tt.trace_tool(lambda x: "PRIVATE")("PRIVATE")
    with pytest.raises(ValueError, match="PRIVATE"):
        tt.trace_tool(lambda: (_ for _ in ()).throw(ValueError("PRIVATE")))()
    tt.trace_tool(
        lambda: tt.ToolResponse.error("E", "PRIVATE", suggestion="PRIVATE", data=["PRIVATE"], stats={"p": "PRIVATE"})
    )()
    rows = calls()
    assert len(rows) == 3
    for call in rows:
        assert call.redacted is True
        assert (call.arguments, call.text, call.error_message, call.result, call.suggestion, call.stats) == (None,) * 6
    assert b"PRIVATE" not in b"".join(p.read_bytes() for p in store.parent.rglob("*.jsonl"))


def test_a_secret_at_the_cut_of_a_text_is_redacted(store: Path, calls: Calls) -> None:
    for shift in range(0, 60, 7):
        head = "password=" + "P" * 20_000 + "&" + "x" * (64 * 1024 + MARGIN - 20_010 - shift)
        tt.trace_tool(lambda head=head: head + "&token=" + SECRET * 3)()
    for call in calls():
        assert SECRET[:8] not in (call.text or "") + (call.result or "")
        assert "P" * 8 not in (call.text or "")


def test_long_json_is_redacted_by_its_keys(calls: Calls) -> None:
    tt.trace_tool(lambda: json.dumps({"credentials": {"value": "hunter2-plain"}, "rest": "x" * 100_000}))()
    tt.trace_tool(lambda: {"body": json.dumps({"credentials": {"value": "hunter2-plain"}, "rest": "x" * 100_000})})()
    for call in calls():
        assert call.truncated and "hunter2" not in repr(call)
