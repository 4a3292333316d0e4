"""``tooltrace sql``: read-only queries."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("history")


def rows(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_sql_as_an_argument_and_on_standard_input(run):
    question = "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool ORDER BY tool"
    expected = [{"tool": "fetch", "n": 1}, {"tool": "search", "n": 23}]
    assert rows(run("sql", question, "--format", "json")) == expected
    assert rows(run("sql", "--format", "json", input=question)) == expected
    assert rows(run("sql", "-", "--format", "json", input=question)) == expected


def test_every_kind_of_value_has_a_json_form(run):
    question = """SELECT TIMESTAMP '2026-03-01 12:00:00' AS naive, TIMESTAMPTZ '2026-03-01 12:00:00+02' AS aware, DATE '2026-03-01' AS day,
        1.5::DECIMAL(9, 2) AS exact, 'nan'::DOUBLE AS nan, [1, 2] AS list, {'a': NULL} AS struct, 'x'::BLOB AS raw,
        '{"a": [1]}'::JSON AS json, 'NaN' AS text, INTERVAL 1 HOUR AS span, 170141183460469231731687303715884105727 AS huge"""
    assert rows(run("sql", question, "--format", "json")) == [{
        "naive": "2026-03-01T12:00:00.000000Z", "aware": "2026-03-01T10:00:00.000000Z", "day": "2026-03-01", "exact": 1.5,
        "nan": None, "list": [1, 2], "struct": {"a": None}, "raw": "78", "json": {"a": [1]}, "text": "NaN",
        "span": "1:00:00", "huge": 2**127 - 1,
    }]  # fmt: skip
    for form in ("table", "csv", "markdown"):
        assert run("sql", question, "--format", form).exit_code == 0


def test_a_field_of_csv_is_no_formula(run, tmp_path):
    file = tmp_path / "x.csv"
    run("sql", "SELECT '=1+1' AS \"@a\", -1 AS b, '-2'::ENUM('-2') AS c", "-o", str(file))
    assert file.read_text().splitlines() == ["'@a,b,c", "'=1+1,-1,'-2"]


def test_the_public_tables_are_there(run):
    for table in ("tool_calls", "calls", "outcomes", "gates", "sources", "losses"):
        assert run("sql", f"SELECT count(*) FROM {table}").exit_code == 0


@pytest.mark.parametrize(
    "wrong", ["SELEC 1", "SELECT nothing FROM tool_calls", "SELECT * FROM statement", "SELECT 1/'x'::INT"]
)
def test_wrong_sql_is_explained_without_a_stack_trace(run, wrong):
    done = run("sql", wrong)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("tooltrace: ")
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_store_cannot_be_changed(run):
    assert run("sql", "SELECT 1").exit_code == 0
    assert run("sql", "DELETE FROM store.attempts").exit_code == 1
    assert rows(run("sql", "SELECT count(*) AS n FROM tool_calls", "--format", "json")) == [{"n": 24}]


def test_no_sql_is_wrong_usage(run):
    assert run("sql", input="").exit_code == 2
