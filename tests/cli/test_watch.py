"""``tooltrace watch``: messages to real receivers."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest


class Receiver:
    """A server that keeps the requests it got; it answers with ``status``."""

    def __init__(self) -> None:
        self.status = 200
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


AT = datetime.now(UTC) - timedelta(hours=3)


def calls(made: Any, first: int, n: int, *, failed: bool) -> list[Any]:
    return [
        made(
            number, tool="pay", started_at=AT + timedelta(seconds=20 * number), duration_ms=5.0,
            status="error" if failed else "success", code="EXECUTION_ERROR" if failed else None,
        )
        for number in range(first, first + n)
    ]  # fmt: skip


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    def rules(text: str) -> list[str]:
        path = tmp_path / "alerts.toml"
        path.write_text(text)
        return ["watch", "--once", "--rules", str(path), "--pages", "http://127.0.0.1:8318"]

    return rules


def test_a_finding_opens_and_recovers_in_each_destination_once(
    run: Any, put: Any, made: Any, rules: Any, receiver: Receiver, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "key")
    copy = tmp_path / "command.json"
    program = f"import sys; open({str(copy)!r}, 'a').write(sys.stdin.read() + chr(10))"
    command = rules(
        f"""
        [[send]]
        to = "webhook"
        url = "{receiver.url}/hook"
        secret = "$HOOK_SECRET"
        [[send]]
        to = "slack"
        url = "{receiver.url}/slack"
        [[send]]
        to = "alertmanager"
        url = "{receiver.url}"
        [[send]]
        to = "command"
        run = {json.dumps([sys.executable, "-c", program])}
        """
    )
    put(*calls(made, 100, 60, failed=False), *calls(made, 160, 30, failed=True))
    assert run(*command).exit_code == 3
    by_path = {path: (headers, body) for path, headers, body in receiver.requests}
    headers, body = by_path["/hook"]
    assert headers["X-Tooltrace-Signature"] == f"sha256={hmac.new(b'key', body, hashlib.sha256).hexdigest()}"
    alert = json.loads(body)
    assert (alert["event"], alert["tools"], alert["link"]) == ("opened", ["pay"], "http://127.0.0.1:8318/tool?name=pay")
    assert (alert["n"] >= 30, alert["low"] <= alert["value"] <= alert["high"]) == (True, True)
    assert "pay" in json.loads(by_path["/slack"][1])["text"]
    [posted] = json.loads(by_path["/api/v2/alerts"][1])
    assert (posted["labels"]["tool"], posted["endsAt"] > datetime.now(UTC).isoformat()) == ("pay", True)
    assert json.loads(copy.read_text())["event"] == "opened"

    receiver.requests.clear()
    assert run(*command).exit_code == 0
    assert {path for path, _, _ in receiver.requests} == {"/api/v2/alerts"}, "Alertmanager needs what lasts again"

    receiver.requests.clear()
    put(*calls(made, 200, 200, failed=False))
    assert run(*command).exit_code == 3
    events = [body.get("event") for body in receiver.bodies() if isinstance(body, dict) and "event" in body]
    assert events == ["recovered"]
    assert [json.loads(line)["event"] for line in copy.read_text().splitlines()] == ["opened", "recovered"]


def test_what_could_not_be_sent_comes_at_the_next_look(
    run: Any, put: Any, made: Any, rules: Any, receiver: Receiver
) -> None:
    put(*calls(made, 100, 30, failed=True))
    command = rules(f'[[send]]\nto = "webhook"\nurl = "{receiver.url}/secret-path"\n')
    receiver.status = 503
    done = run(*command)
    assert (done.exit_code, "503" in done.stderr, "secret-path" in done.stderr) == (0, True, False)
    receiver.status = 200
    assert [run(*command).exit_code for _ in range(2)] == [3, 0]
    assert len(receiver.requests) == 2


def test_one_failing_call_of_one_is_no_alert(run: Any, put: Any, made: Any) -> None:
    put(*calls(made, 100, 1, failed=True))
    done = run("watch", "--once")
    assert (done.exit_code, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = []", "did you mean 'kinds'"),
        ("kinds = ['broke']", "did you mean 'broken'"),
        ("tools = 'a'", "must be a list of texts"),
        ("calls = -1", "at least 0"),
        ("quiet = '22'", "two local times"),
        ("[[send]]\nto = 'mail'", "to must be one of stdout, command"),
        ("[[send]]\nto = 'webhook'\nurl = 'ftp://x'", "http:// or https://"),
        ("[[send]]\nto = 'webhook'\nurl = 'http://x'\nsecret = 'plain'", "environment variable"),
        ("[[send]]\nto = 'command'\nrun = 'ls'", "list of the program"),
        ("[[send]]\nto = 'slack'\nurl = 'http://x'\nsecret = '$A'", "unknown key 'secret'"),
    ],
)
def test_wrong_rules_are_refused_with_what_is_wrong(
    run: Any, put: Any, made: Any, rules: Any, text: str, message: str
) -> None:
    put(*calls(made, 100, 1, failed=False))
    done = run(*rules(text))
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
