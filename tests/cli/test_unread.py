"""``tooltrace unread``: shapes of unread results, and rules that work where they are pasted."""

from __future__ import annotations

import pytest

import tooltrace as tt
from tooltrace.labels.unread import shape_of
from tooltrace.normalize.rule import Rule
from tooltrace.redact.snapshot import Json

BOOKED = '{"state":"denied","seat":"4A"}'


def test_the_printed_rules_read_the_results(run, put, made):
    for number, result in enumerate(
        [BOOKED, BOOKED, BOOKED, '{"state":"granted","seat":"4B"}', '"Slot 17 is taken, sorry"', "[1, 2]", "7"]
    ):
        put(
            made(
                number + 50, tool="book seat", ending="returned", rule="plain", rule_grade="unread", result=Json(result)
            )
        )
    done = run("unread", "book seat")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "# 7 results of book seat are unread." in done.stdout
    assert "# 3 (43%): {state, seat} with state = 'denied'; for example: tooltrace show call_5" in done.stdout
    pasted: dict[str, object] = {}
    exec(done.stdout, pasted)  # noqa: S102 - it is what the command is for
    rules = [each for each in pasted.values() if isinstance(each, Rule)]
    assert len(rules) == 5
    assert rules[0].name == "book_seat_1"
    for value in ({"state": "denied", "seat": "9C"}, "Slot 3 is taken, sorry", [3], 8):
        found = tt.normalize(value, rules=[*rules, *tt.RULES])
        assert (found.status, found.meta.rule_grade) == ("error", "certain"), value
    assert tt.normalize({"state": "waiting"}, rules=[rules[0]]).status == "success"


def test_a_tool_whose_results_are_all_read(run, put, made):
    put(made(50, tool="pay", ending="returned", rule="flags", rule_grade="certain", result=Json('{"ok":true}')))
    assert run("unread", "pay").stdout == "No result of pay is unread.\n"
    assert "did you mean" in run("unread", "pai").stderr


@pytest.mark.parametrize(
    "value",
    ["", "x", " 12", {}, {"a\n'b": 1}, {"status": "\u202e'"}, [], None, True, 1.5, {"type": "a" * 99}, "\x1b[31mred"],
)
def test_every_shape_has_a_condition_that_is_true_of_its_result(value):
    assert eval(shape_of(value).condition, {"value": value})  # noqa: S307
    assert shape_of(value).condition.isprintable()
