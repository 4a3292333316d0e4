"""Tables leave out rows and columns that say nothing, and columns that do not fit."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

import pytest

from tooltrace.analysis import catalogue, find
from tooltrace.cli.next_command import next_of, program, store_words
from tooltrace.cli.table_layout import choose, format_cells
from tooltrace.store.result import QueryResult, ResultColumn


def column(name: str, unit: str = "count") -> ResultColumn:
    return ResultColumn(name=name, unit=unit, meaning="a meaning")


def result(columns: list[ResultColumn], *rows: tuple[object, ...]) -> QueryResult:
    return QueryResult((ResultColumn(name="tool", unit="text", meaning=""), *columns), ["VARCHAR"] * 9, rows, groups=1)


def names(of: QueryResult, layout) -> list[str]:
    return [of.columns[at] for at in layout.positions]


def test_columns_without_values_are_hidden_and_named():
    found = result(
        [column("n"), column("cached", "aside"), column("rate", "share"), column("too_few", "mark")],
        ("a", 0, 0, None, False), ("b", 0, 0, None, False),
    )  # fmt: skip
    layout = choose(found, width=80)
    assert names(found, layout) == ["tool", "n"], "a count of 0 says something"
    assert layout.empty == ("cached", "rate", "too_few")
    assert layout.note() == "Hidden: columns without values (cached, rate, too_few). Show everything: --all"


def test_rows_without_data_are_hidden_unless_all_are():
    found = result([column("n")], ("a", 0), ("b", 3), ("c", None))
    layout = choose(found, hidden=("n",), width=80)
    assert (layout.rows, layout.left_out) == ((("b", 3),), 2)
    assert "2 rows without n" in layout.note()
    nothing = result([column("n")], ("a", 0), ("b", 0))
    assert choose(nothing, hidden=("n",), width=80).left_out == 0


def test_important_columns_come_first_and_keep_their_places():
    found = result([column("first"), column("second"), column("third")], ("a" * 10, 1, 2, 3), ("b", 1, 2, 3))
    narrow = choose(found, important=("third",), width=25)
    assert names(found, narrow) == ["tool", "third"]
    assert narrow.narrow == ("first", "second")
    assert names(found, choose(found, width=80)) == ["tool", "first", "second", "third"]


def test_a_limit_counts_the_rows_that_say_something():
    found = result([column("n")], ("a", 0), ("b", 1), ("c", 2), ("d", 3))
    layout = choose(found, hidden=("n",), limit=2, width=80)
    assert [row[0] for row in layout.rows] == ["b", "c"]
    assert layout.note().startswith("2 of 3 rows (--limit). Hidden: 1 row without n")


@pytest.mark.parametrize("name", catalogue())
def test_rows_of_every_query_stay_rows_at_80_columns(name):
    query = find(name)
    found = QueryResult(
        (*(ResultColumn(name=group, unit="text", meaning="") for group in query.groups()), *query.value_columns()),
        ["VARCHAR"] * 99,
        [
            tuple(
                _example(each.unit)
                for each in (*(column("tool", "text") for _ in query.groups()), *query.value_columns())
            )
        ]
        * 2,
        groups=len(query.groups()),
    )
    layout = choose(found, important=query.header.important, hidden=query.header.hidden, width=80)
    shown = names(found, layout)
    assert len(shown) > len(query.groups()) + 1
    assert set(query.header.important[:2]) <= set(shown) | {"unit"}


def _example(unit: str) -> object:
    return {"text": "some_tool", "json": "{}", "time": "2026-03-01 12:00:00", "flag": True, "mark": True}.get(unit, 0.5)


@pytest.mark.usefixtures("history")
def test_all_shows_what_a_table_hides(run):
    few, every = run("query", "failure_rate"), run("query", "failure_rate", "--all")
    assert "Hidden: columns without values (cut_off, cached, " in few.stderr
    assert "Hidden" not in every.stderr
    assert "heuristic" not in few.stdout
    assert "heuristic" in every.stdout


@pytest.mark.usefixtures("history")
def test_a_narrow_terminal_drops_columns_and_names_them(run):
    done = run("query", "failure_rate", env={"COLUMNS": "60"})
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert "columns for a wider terminal (" in done.stderr
    assert done.stdout.count("search") == 1


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_formats_for_programs_have_everything_and_no_hints(run, form):
    done = run("query", "failure_rate", "--format", form, env={"COLUMNS": "40"})
    assert done.stderr.startswith("Since the first record: ")
    assert done.stderr.count("\n") == 1
    assert "heuristic" in done.stdout


@pytest.mark.usefixtures("history")
def test_a_table_ends_with_the_next_command(run, history):
    done = run("query", "failure_rate", "--since", "7d")
    assert done.stderr.splitlines()[-1] == "Next: tooltrace query errors --tool search --since 7d"
    assert "Next" not in done.stdout
    done = run("query", "errors", "--store", str(history), env={"TOOLTRACE_STORE": "other.duckdb"})
    assert done.stderr.splitlines()[-1] == f"Next: tooltrace show call_1 --store {history}"


def test_every_query_leads_on_to_a_command_that_exists():
    for name, query in catalogue().items():
        words = query.header.next.split()
        if words[0] == "query":
            assert find(words[1]).name != name
            assert set(words[2:]) <= {"--tool", "{tool}"}, name
            assert len(words) == 2 or "tool" in [each.name for each in find(words[1]).header.parameters], name
        else:
            assert words[0] in ("show", "tail"), name


def test_the_next_command_takes_its_values_from_the_rows_and_quotes_them():
    query = find("failure_rate")
    assert next_of(query, ["tool"], [("a tool; rm",)], {}) == "query errors --tool 'a tool; rm'"
    assert next_of(query, ["code"], [("X",)], {}) == "query errors", "grouped by another dimension"
    assert next_of(query, ["tool"], [("x" * 10_000,)], {}) == "query overview"
    assert next_of(find("errors"), ["example_call_id"], [(None,), ("c1",)], {}) == "show c1"
    assert next_of(find("errors"), ["example_call_id"], [(None,)], {}) == "query overview"


def test_commands_name_the_program_and_the_store_as_they_can_be_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program.cache_clear()
    script = tmp_path / "a folder" / "tooltrace"
    script.parent.mkdir()
    script.touch(0o755)
    monkeypatch.setattr("sys.argv", [str(script)])
    assert program() == "'a folder/tooltrace'"
    program.cache_clear()
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == "tooltrace"
    program.cache_clear()
    assert shlex.split(store_words(str(tmp_path / "my store.duckdb"))) == ["--store", "my store.duckdb"]
    monkeypatch.setenv("TOOLTRACE_STORE", str(tmp_path / "my store.duckdb"))
    assert store_words(str(tmp_path / "my store.duckdb")) == ""


@pytest.mark.usefixtures("history")
def test_figures_of_a_comparison_have_their_own_units(run, put, made):
    put(*(made(40 + n, tool="fetch", tool_version="1.0") for n in range(3)))
    put(*(made(50 + n, tool="fetch", tool_version="2.0", status="error") for n in range(3)))
    text = run("compare", "version:1.0", "version:2.0").stdout
    assert "100.0 %" in text
    assert "+100.0 pp" in text
    row = next(
        row
        for row in json.loads(run("compare", "version:1.0", "version:2.0", "-f", "json").stdout)
        if row["measure"] == "failure_rate"
    )
    assert (row["unit"], row["before"], row["after"]) == ("share", 0.0, 1.0)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("tool", ["fetch", "a_tool_of_thirty_six_characters_long"])
def test_a_comparison_in_80_columns_has_the_value_after(run, put, made, monkeypatch, tool):
    monkeypatch.setenv("COLUMNS", "80")
    put(*(made(40 + n, tool=tool, tool_version="1.0") for n in range(30)))
    put(*(made(80 + n, tool=tool, tool_version="2.0", status="error" if n % 2 else "success") for n in range(30)))
    done = run("compare", "version:1.0", "version:2.0")
    heading, line = (
        next(line for line in done.stdout.splitlines() if word in line) for word in ("measure", " failure_rate")
    )
    assert heading.split()[:4] == ["tool", "measure", "before", "after"]
    assert "verdict" in heading
    assert "0.0 %" in line
    assert "50.0 %" in line
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "failure_rate was 0.0 % and is 50.0 %" in done.stderr


def test_all_columns_of_all_tables_are_readable_in_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("columns").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count(" column ") == shown.count("meaning") >= 10
    assert "\ntool_calls: One row per attempt" in f"\n{shown}"


@pytest.mark.processes
@pytest.mark.parametrize(
    "tool", ["\u202eevil\u202c 'tool'", "a\x1b[31m\\b", "x\ny\u200b", "zal" + "\u0301" * 5, "\U000e0041?"]
)
def test_the_next_command_names_a_tool_with_hidden_characters_as_a_shell_reads_it(tool):
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    command = next_of(find("failure_rate"), ["tool"], [(tool,)], {})
    assert command.isascii()
    assert command.isprintable()
    script = f"printf '%s\\0' {command}"
    done = subprocess.run([shell, "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode().split("\0")[:-1] == ["query", "errors", "--tool", tool]


def test_the_ends_of_an_interval_have_as_many_digits_as_the_figure():
    found = result(
        [column("excess", "number"), column("low", "low(excess)"), column("high", "high(excess)")],
        ("a", 6.85, -0.398507, 24.6246), ("b", 1234.5, 1000.25, 2000.75),
    )  # fmt: skip
    assert format_cells(found, found.rows, (1,)) == [["6.85 [-0.399, 24.6]"], ["1,234 [1,000, 2,001]"]]


def test_the_next_command_is_about_the_tool_that_the_verdict_names(run, put, where, made):
    """Attempts of ``fetch`` fail more often, but all its calls end well."""
    attempts = []
    for n in range(80):
        status = "success" if n % 2 else "error"
        attempts.append(made(n + 1, tool="fetch", call_id=f"f{n // 2}", attempt=n % 2 + 1, status=status))
        attempts.append(made(n + 101, tool="lookup", call_id=f"l{n}", status="success" if n % 4 else "error"))
    put(*attempts)
    done = run("query", "failure_rate")
    assert done.stdout.index("fetch") < done.stdout.index("lookup")
    assert done.stderr.splitlines()[1].startswith("lookup fails most")
    assert done.stderr.splitlines()[-1] == "Next: tooltrace query errors --tool lookup"
