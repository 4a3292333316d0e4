"""A wrong file cannot be loaded, and the error names the cause, the file and the line."""

from __future__ import annotations

import pytest

from tooltrace.analysis.query import load
from tooltrace.errors import QueryError

RIGHT = """\
-- Which tools are used?
--
-- Prose: as long as it likes to be.
--
-- group: failures (first)
-- by: tool (default), version, attributes
-- parameters:
--   since  timestamp = NULL  from then on
--   name   text = 'x'        a name
--   min_n  integer = 20      so many
-- columns:
--   n    count   attempts
--   low  low(n)  interval
-- source: a book,
--   page 3
SELECT {by}, count(*) AS n, 0 AS low
FROM tool_calls
WHERE started_at >= $since AND tool <> $name AND tool <> '$notone' -- $nortwo
GROUP BY ALL HAVING count(*) > $min_n ORDER BY {by}, n
"""


def loaded(tmp_path, text):
    path = tmp_path / "used.sql"
    path.write_text(text)
    return load(path)


def test_a_valid_heading_is_parsed_completely(tmp_path):
    query = loaded(tmp_path, RIGHT)
    heading = query.header
    assert (query.name, query.question) == ("used", "Which tools are used?")
    assert heading.about == "Prose: as long as it likes to be."
    assert (heading.by, heading.default_by) == (("tool", "version", "attributes"), ("tool",))
    assert [(p.name, p.type, p.default) for p in heading.parameters] == [
        ("since", "timestamp", None), ("name", "text", "x"), ("min_n", "integer", 20),
    ]  # fmt: skip
    assert [(c.name, c.unit, c.end_of) for c in heading.columns] == [
        ("n", "count", None),
        ("low", "low(n)", ("low", "n")),
    ]
    assert heading.source == "a book, page 3"


def test_a_heading_says_what_a_table_shows_and_what_to_read_next(tmp_path):
    more = "-- important: low, n\n-- hidden: n\n-- next: query errors --tool {tool}\n-- source: a book"
    heading = loaded(tmp_path, RIGHT.replace("-- source: a book", more)).header
    assert (heading.important, heading.hidden) == (("low", "n"), ("n",))
    assert (heading.next, heading.source) == ("query errors --tool {tool}", "a book, page 3")
    with pytest.raises(QueryError, match="'hidden:' names m, which the heading does not have"):
        loaded(tmp_path, RIGHT.replace("-- source: a book", "-- hidden: m\n-- source: a book"))


@pytest.mark.parametrize(
    ("old", "new", "cause", "line"),
    [
        ("-- Which tools are used?", "-- Tools", "must be '-- ' and a question", 1),
        ("version, attributes", "versoin", "unknown dimension 'versoin'", 6),
        ("tool (default)", "tool", "mark a dimension other than attributes", 6),
        ("tool (default)", "none (default), tool (default)", "must begin with", 6),
        ("min_n  integer = 20 ", "min_n  whole = 20 ", "unknown type 'whole'", 10),
        ("integer = 20", "integer = 'x'", "the default of 'min_n' must be a whole number, 0 or more; got 'x'", 10),
        ("integer = 20", "number = -2.5", "the default of 'min_n' must be a number, 0 or more; got -2.5", 10),
        ("--   n    count   attempts", "--   n count", "a row of 'columns:' is a name", 12),
        ("n    count", "n    apples", "unknown unit 'apples'", 12),
        ("low(n)", "low(m)", "needs a column 'm' above it", 13),
        ("--   low  low(n)", "--   n    count", "'n' occurs twice", 13),
        ("tool <> $name", "tool <> $nam", r"parameter \$nam is used but not declared", 18),
        ("-- by: tool (default), version, attributes\n", "", "exactly if", 1),
        ("-- columns:", "-- parameters:", "occurs twice", 11),
    ],
)
def test_an_invalid_heading_names_cause_and_line(tmp_path, old, new, cause, line):
    assert old in RIGHT
    with pytest.raises(QueryError, match=rf"^invalid query file .*used\.sql:{line}: .*{cause}"):
        loaded(tmp_path, RIGHT.replace(old, new))


@pytest.mark.parametrize("text", ["", "SELECT 1", "-- Why?\nSELECT 1"])
def test_a_file_with_an_incomplete_heading_is_refused(tmp_path, text):
    with pytest.raises(QueryError, match=r"^invalid query file .*used\.sql:1: "):
        loaded(tmp_path, text)


def test_a_file_with_an_invalid_name_is_refused(tmp_path):
    path = tmp_path / "not-a-name.sql"
    path.write_text(RIGHT)
    with pytest.raises(QueryError, match="is not a valid query name"):
        load(path)


def test_the_group_is_one_of_the_list(tmp_path):
    header = loaded(tmp_path, RIGHT).header
    assert (header.group, header.is_first) == ("failures", True)
    for wrong in ("-- group: fruit\n", ""):
        with pytest.raises(QueryError, match="'?group:'?.* one of failures, changes"):
            loaded(tmp_path, RIGHT.replace("-- group: failures (first)\n", wrong))
