"""Checks: whether the calls of tools succeed as often as is wanted, or no less often than those of a baseline."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from tooltrace.analysis.run import query_store
from tooltrace.analysis.sides import Comparison, Side
from tooltrace.errors import BadParameter, ConfigError, near_or_all
from tooltrace.statistics.shares import MIN_N, interval
from tooltrace.statistics.verdicts import holm, p_at_least, p_below, p_difference
from tooltrace.store.base import StoreBackend, open_store

Verdict = Literal["broken", "undecided", "holds"]
VERDICTS: Final = get_args(Verdict)

RISK: Final = 0.05
MARGIN: Final = 0.05
_SHARES: Final = ("success", "risk", "margin")
_TEXTS: Final = ("tool", "baseline", "candidate", "since", "until")
_EXAMPLE: Final = 'such as:\n[[check]]\ntool = "search"\nsuccess = 0.9'


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that is wanted of the calls of a tool, or of each tool."""

    tool: str | None = None
    success: float | None = None
    """The least share of calls that succeed; None where the calls are compared with a baseline."""
    baseline: str | None = None
    """What the calls are compared with: the path of another store, or a side of a comparison, such as ``version:main``."""
    candidate: str | None = None
    """The side that is judged; None where the baseline is another store."""
    margin: float = MARGIN
    """By how much the share of the candidate may be lower."""
    risk: float = RISK
    """The probability of a wrong verdict ``holds``; and of any wrong verdict ``broken`` among the checks of one risk."""
    since: str | None = None
    until: str | None = None

    @property
    def wanted(self) -> str:
        """What is wanted, in words."""
        if self.success is not None:
            return f"success at least {100 * self.success:g} %"
        return f"success at most {100 * self.margin:g} points below {self.baseline}"


class Seen(NamedTuple):
    """Calls, those that succeeded, and how many independent calls they are worth."""

    calls: int = 0
    succeeded: int = 0
    infrastructure: int = 0
    """Calls that the infrastructure failed, which are not among ``calls``."""
    design_effect: float = 1.0

    @property
    def independent(self) -> tuple[float, float]:
        """The succeeded and all calls, as numbers of independent ones."""
        return self.succeeded / self.design_effect, self.calls / self.design_effect

    @property
    def share(self) -> float:
        """The share of the calls that succeeded; 0 without calls."""
        return self.succeeded / self.calls if self.calls else 0.0

    @property
    def limits(self) -> tuple[float, float]:
        """The 95 % interval of the share that succeeded; 0 to 1 without calls."""
        return interval(self.succeeded, self.calls, self.calls / self.design_effect) if self.calls else (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A check with its verdict."""

    check: Check
    seen: Seen
    base: Seen | None
    """The calls of the baseline; None where there is none."""
    verdict: Verdict = "undecided"

    @property
    def has_enough(self) -> bool:
        """Whether there are calls to judge; MIN_N on each side of a comparison, whose limits are not exact."""
        return self.seen.calls > 0 if self.base is None else min(self.seen.calls, self.base.calls) >= MIN_N

    @property
    def words(self) -> str:
        """The verdict and what was seen, in a sentence."""
        if not self.seen.calls:
            return f"{self.verdict}: no finished call"
        low, high = (f"{100 * limit:.1f} %" for limit in self.seen.limits)
        against = "" if self.base is None else f", {100 * self.base.share:.1f} % of {self.base.calls} in the baseline"
        return f"{self.verdict}: {100 * self.seen.share:.1f} % of {self.seen.calls} calls succeeded ({low} to {high}){against}"


def read_checks(path: Path) -> list[Check]:
    """Return the checks of a TOML file with a table ``[[check]]`` for each. Raises ConfigError."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from None
    tables = found.get("check")
    if not isinstance(tables, list) or not tables or found.keys() != {"check"}:
        raise ConfigError(f"{path} must have tables [[check]] and nothing else, {_EXAMPLE}")
    return [_check(f"{path}, check {number}", table) for number, table in enumerate(tables, 1)]


def _check(where: str, table: Any) -> Check:
    known = Check.__dataclass_fields__
    for name, value in table.items() if isinstance(table, dict) else ():
        if name not in known:
            raise ConfigError(f"{where}: unknown key {name!r}{near_or_all(name, known, 'keys')}")
        if name in _SHARES and not (type(value) in (int, float) and 0 < value < 1):
            raise ConfigError(f"{where}: {name} must be a number between 0 and 1, got {value!r}")
        if name in _TEXTS and not isinstance(value, str):
            raise ConfigError(f"{where}: {name} must be a text, got {value!r}")
    check = Check(**table)
    if (check.success is None) == (check.baseline is None):
        raise ConfigError(f"{where} must have either success or baseline, {_EXAMPLE}")
    if check.candidate is not None and check.baseline is None:
        raise ConfigError(f"{where}: a candidate needs a baseline to be compared with")
    return check


def run_checks(store: StoreBackend, checks: Sequence[Check]) -> list[Checked]:
    """Return ``checks`` with their verdicts, the broken ones first; one without a tool once for each tool. Raises BadParameter for a wrong side or time, StoreError, QueryError.

    ``holds``: the calls show it, with the check's risk. ``broken``: they show the contrary; of the checks of one risk, any is
    called broken wrongly with a probability of at most the risk (Holm). A candidate is broken where it succeeds less often than its
    baseline, and is not shown to be within the margin. ``undecided``: too few calls for either.
    """
    return judge([one for check in checks for one in _found(store, check)])


def judge(found: Sequence[Checked]) -> list[Checked]:
    """Return ``found`` with the verdicts, the broken ones first."""
    broken = [False] * len(found)
    for risk in {one.check.risk for one in found}:
        places = [place for place, one in enumerate(found) if one.check.risk == risk]
        rejected = holm([_p_broken(found[place]) for place in places], risk)
        for place, is_broken in zip(places, rejected, strict=True):
            broken[place] = is_broken
    judged = [replace(one, verdict=_verdict(one, is_broken)) for one, is_broken in zip(found, broken, strict=True)]
    return sorted(judged, key=lambda one: VERDICTS.index(one.verdict))


def _verdict(one: Checked, is_broken: bool) -> Verdict:
    if _p_holds(one) <= one.check.risk:
        return "holds"
    return "broken" if is_broken else "undecided"


def _p_holds(one: Checked) -> float:
    if not one.has_enough:
        return 1.0
    if one.base is None:
        return p_at_least(*one.seen.independent, one.check.success or 0.0)
    return p_difference(*one.seen.independent, *one.base.independent, -one.check.margin, above=True)


def _p_broken(one: Checked) -> float:
    if not one.has_enough:
        return 1.0
    if one.base is None:
        return p_below(*one.seen.independent, one.check.success or 0.0)
    return p_difference(*one.seen.independent, *one.base.independent, 0.0, above=False)


def _found(store: StoreBackend, check: Check) -> list[Checked]:
    """Return the check of each of its tools, without a verdict."""
    window: dict[str, Any] = {"since": check.since, "until": check.until, "tool": check.tool}
    if check.baseline is None:
        now, before = _calls(store, window), None
    elif check.candidate is None:
        if not Path(check.baseline).exists():
            raise BadParameter(
                f"the baseline {check.baseline!r} is no store: pass the path of one, or a candidate beside it, such as "
                'baseline = "version:main" and candidate = "version:change"'
            )
        now, before = _calls(store, window), _calls(open_store(check.baseline), {"tool": check.tool})
    else:
        sides = Comparison.parse(check.baseline, check.candidate, **window)
        now, before = (
            _calls(store, {"since": side.since, "until": side.until, "tool": check.tool}, side)
            for side in (sides.after, sides.before)
        )
    tools = [check.tool] if check.tool is not None else sorted(now.keys() | (before or {}).keys())
    return [
        Checked(
            check=replace(check, tool=tool),
            seen=now.get(tool, Seen()),
            base=None if before is None else before.get(tool, Seen()),
        )
        for tool in tools
    ]


def _calls(store: StoreBackend, window: Mapping[str, Any], side: Side | None = None) -> dict[str, Seen]:
    """Return the calls of each tool, those with the value of ``side`` where it is one of a dimension."""
    dimension = None if side is None else side.dimension
    rows = query_store(
        store, "success", by=["tool", dimension] if dimension else "tool", missing_ok=True, **window
    ).dicts()
    return {
        str(row["tool"]): Seen(row["calls"], row["succeeded"], row["infrastructure"], row["design_effect"] or 1.0)
        for row in rows
        if side is None or dimension is None or str(row[dimension]) == side.value
    }


def within(checks: Sequence[Check], since: str | None, until: str | None) -> list[Check]:
    """Return ``checks``, with this time range where they have none."""
    return [replace(check, since=check.since or since, until=check.until or until) for check in checks]
