"""From gathered rows to answers: what the heading asks for and no row has, follows from the sums, or is an error."""

from __future__ import annotations

from tooltrace.analysis import catalogue, find
from tooltrace.analysis.reasoning import describe, reasoner_of


def test_the_sql_that_a_person_copies_names_what_python_makes_of_its_rows() -> None:
    for query in (one for one in catalogue().values() if one.gathers):
        heading = [line for line in query.render_with_values().splitlines() if line.startswith("--")]
        assert heading[0] == f"-- {query.question}"
        assert heading.count(f"-- {describe(query)}") == 1, query.name
        assert (query.header.reasoner or "ClusterSums") in describe(query)
        if query.header.reasoner:
            assert reasoner_of(query.header.reasoner).__doc__


def test_rows_that_are_the_answer_need_no_python() -> None:
    assert describe(find("attempts")) == ""
