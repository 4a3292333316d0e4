"""Values from a person are bound as intended, or refused with the parameter's name and the accepted form."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis import find
from tooltrace.errors import BadParameter

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def bound(**given):
    return find("failure_rate").bind(now=NOW, **given)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7d", datetime(2026, 3, 1, 12)),
        ("24h", datetime(2026, 3, 7, 12)),
        (" 30 M ", datetime(2026, 3, 8, 11, 30)),
        ("2w", datetime(2026, 2, 22, 12)),
        ("2026-03-01", datetime(2026, 3, 1)),
        ("2026-03-01T10:00:00Z", datetime(2026, 3, 1, 10)),
        ("2026-03-01 10:00+02:00", datetime(2026, 3, 1, 8)),
        (date(2026, 3, 1), datetime(2026, 3, 1)),
        (datetime(2026, 3, 1, 10), datetime(2026, 3, 1, 10)),
        (datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 3, 1, 8)),
        (timedelta(hours=1), datetime(2026, 3, 8, 11)),
    ],
)
def test_a_time_is_bound_as_naive_utc(written, meant):
    assert bound(since=written)["since"] == bound(until=written)["until"] == meant


def test_a_missing_parameter_has_its_default():
    assert bound() == {"since": None, "until": None, "tool": None, "min_n": 20, "rules": "all"}
    assert bound(min_n=None) == bound()


@pytest.mark.parametrize(
    "wrong", ["", "7", "7y", "-1d", "yesterday", "9" * 30 + "d", 7, timedelta(days=-1), True, b"7d"]
)
def test_an_invalid_time_names_the_parameter_and_the_accepted_form(wrong):
    with pytest.raises(
        BadParameter, match=r"^parameter 'since' must be a time span back from now \(30m, 24h, 7d, 2w\)"
    ):
        bound(since=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "many", 2**63, float("nan")])
def test_an_invalid_number_names_the_parameter_and_the_accepted_form(wrong):
    with pytest.raises(BadParameter, match="^parameter 'min_n' must be a whole number, 0 or more"):
        bound(min_n=wrong)


@pytest.mark.parametrize("wrong", [1, ["search"], "\ud800"])
def test_a_wrong_text_names_the_parameter(wrong):
    with pytest.raises(BadParameter, match="^parameter 'tool' must be text"):
        bound(tool=wrong)


@pytest.mark.parametrize(("written", "meant"), [("0.5", 0.5), (0, 0.0), (2.5, 2.5), (" 1e-3 ", 0.001)])
def test_a_number_may_be_a_fraction(written, meant):
    assert find("retries").bind(base_s=written)["base_s"] == meant
    assert find("retries").bind()["base_s"] == 1.0


@pytest.mark.parametrize("wrong", [-0.5, "-1", True, "many", "nan", float("inf"), 10**400, [1]])
def test_text_for_a_number_names_the_parameter(wrong):
    with pytest.raises(BadParameter, match="^parameter 'base_s' must be a number, 0 or more; got "):
        find("retries").bind(base_s=wrong)


@given(
    st.text() | st.integers() | st.floats() | st.none() | st.binary() | st.dates() | st.datetimes() | st.timedeltas()
)
def test_any_value_is_bound_or_refused(value):
    for name in ("since", "tool", "min_n"):
        try:
            bound(**{name: value})
        except BadParameter as error:
            assert str(error).startswith(f"parameter '{name}' ")


@pytest.mark.parametrize("objective", [0, 1, 100, 1000, "none", -0.5])
def test_an_objective_without_a_budget_is_refused(objective):
    with pytest.raises(
        BadParameter, match="^parameter 'objective' must be a share between 0 and 1, or a percentage below 100"
    ):
        find("burn_rate").bind(objective=objective)


@pytest.mark.parametrize("wrong", [0, -1, "0", 1.5, True])
def test_a_positive_parameter_refuses_zero(wrong):
    with pytest.raises(BadParameter, match="^parameter 'failing' must be a whole number, 1 or more; got "):
        find("incidents").bind(failing=wrong)
    assert find("incidents").bind(failing="2")["failing"] == 2


@pytest.mark.parametrize("wrong", [1.01, 90, "90", -0.1, float("nan"), "90%"])
def test_a_share_refuses_values_out_of_range(wrong):
    with pytest.raises(BadParameter, match="^parameter 'good_share' must be a number from 0 to 1; got "):
        find("audit").bind(good_share=wrong)
    assert find("audit").bind(good_share=" 1 ")["good_share"] == 1.0
