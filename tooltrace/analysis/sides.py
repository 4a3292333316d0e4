"""The two sides of a comparison: two values of one dimension, or two windows of time."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from tooltrace.analysis.dimensions import ATTRIBUTES, DIMENSIONS, Dimension, attribute
from tooltrace.analysis.parameters import QueryParameter, Time
from tooltrace.errors import BadParameter, near

FORMS: Final = (
    "two values of one dimension (version:1.2 version:2.0, agent:a agent:b, attributes.NAME:x attributes.NAME:y), or two "
    "windows of time (14d..7d 7d); 7d alone is compared with the 7 days before"
)
"""What a comparison accepts, in words."""
SIDES: Final = ("before", "after")
"""Names of the parameters."""
WINDOW: Final = ("since", "until")
"""Names of the parameters that are the window of two values."""
BOUND: Final = frozenset(f"{side}_{part}" for side in ("before", "after") for part in ("since", "until", "value"))
"""Names of the values that are bound in the SQL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Attempts on one side of a comparison: those of a window, and with one value of a dimension if it has one."""

    since: datetime | None = None
    until: datetime | None = None
    dimension: str | None = None
    """Name of the dimension, such as ``version`` or ``attributes.region``; None for a window of time."""
    value: str | None = None

    @property
    def text(self) -> str:
        """The side as a parameter, with fixed times."""
        if self.dimension is not None:
            return f"{self.dimension}:{self.value}"
        return "..".join("" if end is None else end.isoformat() for end in (self.since, self.until))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The two sides of a comparison."""

    before: Side
    after: Side
    tool: str | None = None

    @classmethod
    def parse(
        cls,
        before: str | None,
        after: str | None,
        *,
        since: Time | None = None,
        until: Time | None = None,
        tool: str | None = None,
        now: datetime | None = None,
    ) -> Self:
        """Return the comparison of ``before`` with ``after``, in one of FORMS. Raises BadParameter.

        Without ``before``, ``after`` is compared with the equally long window before it. ``since`` and ``until`` are the window
        of two values; ``until`` ends a window of time that has no end.
        """
        now = now or datetime.now(UTC)
        if after is None:
            raise BadParameter(f"a comparison needs two sides: {FORMS}")
        second = _parsed("after", after, now)
        first = None if before is None else _parsed("before", before, now)
        if first is None and second.dimension is not None:
            raise BadParameter(f"{after!r} needs a value to be compared with, as {second.dimension}:OTHER {after}")
        if first is None or (first.dimension is None and second.dimension is None):
            return cls(**_windows(first, second, since, until, now), tool=tool)
        if first.dimension != second.dimension:
            raise BadParameter(f"the sides {before!r} and {after!r} are not values of one dimension: pass {FORMS}")
        if first.value == second.value:
            raise BadParameter(f"a comparison needs two different values; got {after!r} twice")
        start, end = _time("since", since, now), _time("until", until, now)
        before_, after_ = (replace(side, since=start, until=end) for side in (first, second))
        return cls(before=before_, after=after_, tool=tool)

    @property
    def dimension(self) -> Dimension | None:
        """The dimension whose values are compared; None for two windows."""
        return None if self.after.dimension is None else _dimension(self.after.dimension)

    @property
    def params(self) -> dict[str, Any]:
        """The comparison as parameters of the query ``compare``, with fixed times."""
        known: dict[str, Any] = {"before": self.before.text, "after": self.after.text, "tool": self.tool}
        if self.after.dimension is not None:
            known |= {"since": self.after.since, "until": self.after.until}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def bound(self) -> dict[str, Any]:
        """The values to bind in the SQL of a comparison."""
        sides = {"before": self.before, "after": self.after}
        return {
            f"{name}_{part}": getattr(side, part)
            for name, side in sides.items()
            for part in ("since", "until", "value")
        }


def is_window(text: str | None) -> bool:
    """Whether ``text`` is a window of time rather than a value of a dimension."""
    return text is not None and is_side(text) and _parsed("after", text, datetime.now(UTC)).dimension is None


def parse_words(text: str) -> tuple[str | None, str]:
    """Return the two sides in one text: words as of a shell, ``version:1.2 version:2.0`` or ``7d``. Raises BadParameter."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if len(words) not in (1, 2):
        raise BadParameter(f"a comparison is one or two sides, separated by a blank: {FORMS}; got {text[:80]!r}")
    return (None, words[0]) if len(words) == 1 else (words[0], words[1])


def is_side(text: str) -> bool:
    """Whether ``text`` has the form of a side."""
    try:
        _parsed("after", text, datetime.now(UTC))
    except BadParameter:
        return False
    return True


def _parsed(name: str, text: object, now: datetime) -> Side:
    if not isinstance(text, str):
        raise BadParameter(f"parameter {name!r} must be a text: {FORMS}; got {text!r}")
    dimension, colon, value = text.partition(":")
    if colon and (dimension in DIMENSIONS or dimension.startswith(f"{ATTRIBUTES}.")):
        if not value:
            raise BadParameter(f"parameter {name!r} needs a value behind the colon, as {dimension}:VALUE; got {text!r}")
        _dimension(dimension)
        return Side(dimension=dimension, value=value)
    start, dots, end = text.partition("..")
    try:
        return Side(since=_time(name, start or None, now), until=_time(name, (end if dots else None) or None, now))
    except BadParameter:
        hint = near(dimension, [*DIMENSIONS, ATTRIBUTES]) if colon else ""
        raise BadParameter(f"parameter {name!r} must be one of {FORMS}; got {text[:80]!r}{hint}") from None


def _windows(
    first: Side | None, second: Side, since: Time | None, until: Time | None, now: datetime
) -> dict[str, Side]:
    if since is not None:
        raise BadParameter("parameter 'since' is for two values of a dimension: windows of time have their own start")
    end = _time("until", until, now) or now.astimezone(UTC).replace(tzinfo=None)
    second = replace(second, until=second.until or end)
    if first is None:
        first = _equal_window_before(second)
    elif first.until is None:  # as in "14d 7d"
        first = replace(first, until=second.since)
    for side in (first, second):
        if side.since is not None and side.until is not None and side.since >= side.until:
            raise BadParameter(f"the window {side.text!r} ends before it begins")
    if not (_ends_by(first, second) or _ends_by(second, first)):
        raise BadParameter(f"the windows {first.text!r} and {second.text!r} overlap: pass two separate windows")
    return {"before": first, "after": second}


def _equal_window_before(side: Side) -> Side:
    if side.since is None or side.until is None or side.since >= side.until:
        raise BadParameter(f"the window {side.text!r} has no length: pass a start before its end, such as 7d")
    try:
        return Side(since=side.since - (side.until - side.since), until=side.since)
    except OverflowError:
        raise BadParameter(f"no equally long window exists before {side.since}") from None


def _ends_by(one: Side, other: Side) -> bool:
    """Whether ``one`` ends before ``other`` begins."""
    return one.until is not None and other.since is not None and one.until <= other.since


def _dimension(name: str) -> Dimension:
    return DIMENSIONS[name] if name in DIMENSIONS else attribute(name.removeprefix(f"{ATTRIBUTES}."))


def _time(name: str, value: Time | None, now: datetime) -> datetime | None:
    bound = QueryParameter(name=name, type="timestamp", meaning="").bind(value, now)
    assert bound is None or isinstance(bound, datetime)
    return bound


def example(by: Iterable[str]) -> str:
    """Return an example of two sides, for the dimensions that somebody grouped by."""
    name = next((name for name in by if name in DIMENSIONS and name != "tool"), "version")
    return f"before='{name}:A', after='{name}:B'"
