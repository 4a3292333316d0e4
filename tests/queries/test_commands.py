"""Shell commands: which fail, and what worked next."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.queries.answers import run
from tests.queries.conftest import START


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ({"command": "git push --force origin main"}, "git push"),
        ({"command": "cd /srv/shop && CI=1 sudo npm test\necho done"}, "npm test"),
        ({"cmd": "python script.py"}, "python"),
        ({"command": ["bash", "-lc", "pytest -q"]}, "pytest"),
    ],
)
def test_a_command_is_a_program_and_a_plain_word(engine, make, typed, command):
    con = engine(make(status="error", code="EXECUTION_ERROR", arguments=json.dumps(typed)))
    assert run(con, "commands").project("command, attempts, failures").fetchall() == [(command, 1, 1)]


def test_what_worked_next_is_of_the_same_conversation(engine, make):
    def ran(second, command, status="success", conversation="a", **more):
        started = START + timedelta(seconds=second)
        arguments = json.dumps({"command": command})
        return make(started_at=started, arguments=arguments, status=status, conversation_id=conversation, **more)

    con = engine(
        ran(0, "npm test", "error", code="NOT_FOUND", error_message="no package.json", call_id="c1"),
        ran(1, "npm test", conversation="b"),
        ran(2, "cd web && npm test"),
        ran(3, "npm test", "error", code="TIMEOUT", error_message="late", call_id="c2"),
        make(started_at=START + timedelta(seconds=4), conversation_id="a", arguments='{"path": "x"}'),
        ran(5, "make", "error", code="TIMEOUT", call_id="c3"),
    )
    rows = run(con, "commands").project("command, attempts, failures, worked, worked_next, message, last_call_id")
    assert rows.fetchall() == [
        ("npm test", 4, 2, 1, "cd web && npm test", "late", "c2"),
        ("make", 1, 1, 0, None, None, "c3"),
    ]
