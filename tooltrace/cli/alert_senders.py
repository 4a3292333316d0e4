"""Where ``tooltrace watch`` sends its messages: standard output, a command, a webhook, Slack, Alertmanager."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from tooltrace.diagnosis.alerts import Alert
from tooltrace.errors import ConfigError, ExportError, near

TIMEOUT_SECONDS: Final = 10.0
SIGNATURE: Final = "X-Tooltrace-Signature"
"""Header of a webhook with a secret: ``sha256=`` and the HMAC of the body in hexadecimal digits, as GitHub's webhooks have it."""
EXPIRY: Final = timedelta(minutes=30)
"""How long an alert of Alertmanager lasts that is not sent again: it must outlive a watcher that is restarted."""

Post = Callable[[Alert], None]


class Sender(NamedTuple):
    """A destination of messages."""

    name: str
    """What tells destinations apart in the state: without secrets."""
    send: Post
    """Sends one message. Raises ExportError where that fails: it is tried again at the next look."""
    repeats: bool = False
    """Whether every open finding is sent at each look, as Alertmanager needs it."""


def standard_output() -> Sender:
    """Return the sender that prints a JSON object on a line for each message."""
    return Sender("stdout", lambda alert: click.echo(json.dumps(alert.as_dict(), ensure_ascii=False)))


def sender(where: str, given: Mapping[str, Any]) -> Sender:
    """Return the sender of a table ``[[send]]``. Raises ConfigError, which begins with ``where``."""
    kind = given.get("to")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ConfigError(f"{where}: to must be one of {', '.join(_KINDS)}, got {kind!r}")
    needed, allowed = _KINDS[kind]
    for name in given:
        if name not in ("to", needed, *allowed):
            raise ConfigError(f"{where}: unknown key {name!r} of {kind}{near(name, (needed, *allowed))}")
    if kind == "stdout":
        return standard_output()
    value = given.get(needed)
    if kind == "command":
        if not (isinstance(value, list) and value and all(isinstance(part, str) for part in value)):
            raise ConfigError(
                f"{where}: run must be a list of the program and its arguments, such as ['notify-send', 'tooltrace'], got {value!r}"
            )
        return Sender(f"command {value[0]}", lambda alert: _run(value, alert))
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https"):
        raise ConfigError(f"{where}: url must be an address with http:// or https://, got {value!r}")
    name = f"{kind} {urlsplit(value).hostname} {hashlib.sha256(value.encode()).hexdigest()[:12]}"
    if kind == "slack":
        return Sender(name, lambda alert: _post(value, {"text": _line(alert)}))
    if kind == "alertmanager":
        url = f"{value.rstrip('/')}/api/v2/alerts"
        return Sender(name, lambda alert: _post(url, [_alertmanager(alert)]), repeats=True)
    secret = _secret(where, given.get("secret"))
    return Sender(name, lambda alert: _post(value, alert.as_dict(), secret))


_KINDS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "stdout": ("", ()),
    "command": ("run", ()),
    "webhook": ("url", ("secret",)),
    "slack": ("url", ()),
    "alertmanager": ("url", ()),
}
"""The key that each kind of destination needs, and those that it may have."""


def _secret(where: str, given: Any) -> bytes | None:
    """Return the key of the signature: the value of the environment variable that ``$NAME`` names."""
    if given is None:
        return None
    value = os.environ.get(given[1:]) if isinstance(given, str) and given.startswith("$") else None
    if not value:
        raise ConfigError(
            f"{where}: secret must name an environment variable that is set, such as '$TOOLTRACE_SECRET': it does not belong in a file"
        )
    return value.encode()


def _line(alert: Alert) -> str:
    parts = [f"{alert.event} ({alert.kind}): {alert.sentence}", alert.next_step, f"`{alert.query}`", alert.link or ""]
    return "\n".join(part for part in parts if part)


def _alertmanager(alert: Alert) -> dict[str, Any]:
    """Return the message as an alert of Alertmanager's API v2, which ends by itself where it is not sent again."""
    end = alert.until if alert.event == "recovered" else (datetime.now(UTC) + EXPIRY).isoformat()
    labels = {"alertname": "tooltrace", "finding": alert.key, "kind": alert.kind, "severity": alert.severity}
    if alert.tools:
        labels["tool"] = alert.tools[0]
    notes = {"summary": alert.sentence, "description": alert.next_step, "query": alert.query}
    found: dict[str, Any] = {"labels": labels, "annotations": notes, "endsAt": end}
    if alert.since:
        found["startsAt"] = alert.since
    if alert.link:
        found["generatorURL"] = alert.link
    return found


def _run(command: Sequence[str], alert: Alert) -> None:
    """Run ``command`` with the message as JSON on its standard input: a text of a trace is never an argument."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, of the file of rules
            command,
            input=json.dumps(alert.as_dict()).encode(),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(f"the command {command[0]} failed: {error}") from None
    if done.returncode:
        raise ExportError(f"the command {command[0]} failed with exit code {done.returncode}")


def _post(url: str, body: Any, secret: bytes | None = None) -> None:
    """Post ``body`` as JSON. Raises ExportError without the address, which may hold a token."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "tooltrace"}
    if secret is not None:
        headers[SIGNATURE] = f"sha256={hmac.new(secret, data, hashlib.sha256).hexdigest()}"
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310 - http and https only, see sender
    host = urlsplit(url).hostname
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310
            pass
    except urllib.error.HTTPError as error:
        raise ExportError(f"{host} answered {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ExportError(f"{host} could not be reached: {reason}") from None
