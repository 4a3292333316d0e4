"""``tooltrace watch``: say when findings open, worsen and recover."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import orjson

from tooltrace.cli.alert_senders import Sender, sender, standard_output
from tooltrace.cli.errors import UsageError, error_message, until_stopped
from tooltrace.cli.options import examples, place_option
from tooltrace.diagnosis.alerts import Alert, AlertRules, Announced, alert_of, key_of
from tooltrace.diagnosis.diagnose import diagnose_store
from tooltrace.diagnosis.finding import KINDS, Finding
from tooltrace.errors import ConfigError, ExportError, StoreError, near_or_all
from tooltrace.redact.plain_data import json_of
from tooltrace.store.base import StoreBackend
from tooltrace.store.files.syncing import replace_file

ANNOUNCED: Final = 3
"""Exit code of ``--once`` if something was announced."""
FILE: Final = ".alerts"
"""Name of the file of the state, among the journals of a local store."""


class Watch(NamedTuple):
    """What is announced, and where."""

    rules: AlertRules
    senders: Sequence[Sender]


@click.command(
    short_help="Say when findings open, worsen and recover.",
    epilog=examples(
        "tooltrace watch",
        "tooltrace watch --rules alerts.toml --pages http://127.0.0.1:8318",
        "tooltrace watch --once --rules alerts.toml",
    ),
)
@click.option(
    "--rules",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="TOML file of what is announced, and where.",
)
@click.option("--once", is_flag=True, help="Look once, as a cron job does.")
@click.option(
    "--every",
    type=click.FloatRange(min=1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two looks.",
)
@click.option("--pages", metavar="URL", help="Address of 'tooltrace serve', for links.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File that remembers what was announced.  [default: beside the journals of the store]",
)
@place_option
def watch(
    *, rules: Path | None, once: bool, every: float, pages: str | None, state: Path | None, store: StoreBackend
) -> None:
    """Say when findings open, worsen and recover: each once, with its numbers and the next step.

    Without --rules, problems are printed as JSON, one object per line. What could not be sent is tried again at the next look.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 --once announced something.
    """
    if state is None:
        if store.files is None:
            raise UsageError("a remote store needs --state FILE, which remembers what was announced")
        state = store.files.journal / FILE
    watched = Watch(AlertRules(), [standard_output()]) if rules is None else read_rules(rules)
    if once:
        if announce(store, watched, state, pages):
            raise click.exceptions.Exit(ANNOUNCED)
        return
    with until_stopped():
        version: str | None = None
        while True:
            now = store.version()
            if now is None or now != version:
                try:
                    announce(store, watched, state, pages)
                    version = now
                except StoreError as error:  # it is locked for a while, or not there yet
                    click.echo(error_message(error), err=True)
            time.sleep(every)


def announce(store: StoreBackend, watched: Watch, state: Path, pages: str | None) -> int:
    """Send what has changed since ``state``, and return the number of messages. Raises StoreError, QueryError."""
    now = datetime.now(UTC)
    if watched.rules.is_quiet(now.astimezone().time()):
        return 0
    findings = diagnose_store(store)
    known = _read(state)
    count = 0
    for to in watched.senders:
        announced = Announced(known.setdefault(to.name, {}))
        for alert in announced.changes(findings, watched.rules, pages, now):
            if _send(to, alert):
                announced.sent(alert)
                count += 1
        if to.repeats:
            _repeat(to, announced, findings, pages)
    state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(state, json_of(known))
    return count


def _repeat(to: Sender, announced: Announced, findings: Sequence[Finding], pages: str | None) -> None:
    """Send again what lasts, where the destination would take it for over otherwise."""
    for one in findings:
        if one.open and key_of(one) in announced.state:
            _send(to, alert_of("opened", one, pages))


def _send(to: Sender, alert: Alert) -> bool:
    try:
        to.send(alert)
    except ExportError as error:
        click.echo(f"tooltrace: {error}; it is tried again at the next look", err=True)
        return False
    return True


def _read(state: Path) -> dict[str, dict[str, Any]]:
    try:
        found = orjson.loads(state.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_rules(path: Path) -> Watch:
    """Return what a TOML file says: which findings, and tables ``[[send]]`` of where. Raises ConfigError."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from None
    known = ("kinds", "tools", "calls", "quiet", "send")
    for name in given:
        if name not in known:
            raise ConfigError(f"{path}: unknown key {name!r}{near_or_all(name, known, 'keys')}")
    tables = given.get("send", [{"to": "stdout"}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: send must be tables [[send]], such as [[send]] with to = 'stdout'")
    senders = [sender(f"{path}, send {number}", table) for number, table in enumerate(tables, 1)]
    return Watch(_rules(path, given), senders)


def _rules(path: Path, given: Mapping[str, Any]) -> AlertRules:
    rules: dict[str, Any] = {}
    for name in ("kinds", "tools"):
        if name in given:
            values = given[name]
            if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
                raise ConfigError(f"{path}: {name} must be a list of texts, got {values!r}")
            rules[name] = frozenset(values) if name == "kinds" else tuple(values)
    for kind in rules.get("kinds", ()):
        if kind not in KINDS:
            raise ConfigError(f"{path}: unknown kind {kind!r}{near_or_all(kind, KINDS, 'kinds')}")
    if "calls" in given:
        if type(given["calls"]) not in (int, float) or given["calls"] < 0:
            raise ConfigError(f"{path}: calls must be a number of at least 0, got {given['calls']!r}")
        rules["calls"] = float(given["calls"])
    if "quiet" in given:
        try:
            start, end = (datetime.strptime(part.strip(), "%H:%M").time() for part in given["quiet"].split("-"))  # noqa: DTZ007 - a time of the local clock
        except (AttributeError, ValueError):
            raise ConfigError(
                f"{path}: quiet must be two local times, such as '22:00-07:00', got {given['quiet']!r}"
            ) from None
        rules["quiet"] = (start, end)
    return AlertRules(**rules)
