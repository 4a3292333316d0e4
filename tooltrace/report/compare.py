"""Comparison of two time windows or versions, parsed from a person's text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from tooltrace.errors import BadParameter
from tooltrace.report.time_range import fixed_range, parse_time

_FORMS = (
    "a time (7d, 2026-11-08: since then against an equally long window before), A..B (from A to B against since B), "
    "A/B..C/D (two windows) or version:A..B"
)
_VERSION = "version:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSide:
    """Attempts on one side of a comparison."""

    since: datetime | None = None
    until: datetime | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The two sides of a comparison."""

    before: ComparisonSide
    after: ComparisonSide
    tool: str | None = None

    @classmethod
    def of(cls, before: ComparisonSide, after: ComparisonSide, *, tool: str | None = None) -> Self:
        """Return the comparison of two versions or two windows.

        Raises BadParameter for equal versions, windows that overlap, and windows that end before they begin.
        """
        text = f"{_window_text(before)}..{_window_text(after)}"
        if before.version is None and after.version is None:
            _check(before, after, text)
        elif before.version == after.version:
            raise BadParameter(f"a comparison needs two different versions. Got {before.version!r} twice")
        return cls(before=before, after=after, tool=tool)

    @property
    def params(self) -> dict[str, Any]:
        """The comparison as parameters of the query ``compare``."""
        known = {
            "before_since": self.before.since,
            "before_until": self.before.until,
            "before_version": self.before.version,
            "since": self.after.since,
            "until": self.after.until,
            "version": self.after.version,
            "tool": self.tool,
        }
        return {name: value for name, value in known.items() if value is not None}


def compare(text: str, *, since: str | None = None, until: str | None = None, tool: str | None = None) -> Comparison:
    """Parse ``text`` as a comparison.

    ``7d`` or ``2026-11-08``: since that time against an equally long window before it. ``14d..7d``: from the first time
    to the second against since the second. ``A/B..C/D``: the window from A to B against the one from C to D; an empty A
    is the beginning, an empty D now. ``version:1.2..1.3``: two versions, within ``since`` and ``until``. ``until`` ends
    windows that have no end.
    Raises BadParameter.
    """
    now = datetime.now(UTC)
    if text.startswith(_VERSION):
        return _versions(text, since, until, tool, now)
    if since is not None:
        raise BadParameter(
            "parameter 'since' is only allowed with version:A..B: the windows of 'compare' have their own start"
        )
    end = parse_time("until", until or None, now)
    before, dots, after = text.partition("..")
    if "/" in text:
        first, second = _window(before, end, now), _window(after, end, now)
    elif dots:
        first, second = _adjacent_sides(parse_time("compare", before, now), parse_time("compare", after, now), end)
    else:
        first, second = _halves(parse_time("compare", text, now), end)
    _check(first, second, text)
    return Comparison(before=first, after=second, tool=tool)


def _versions(text: str, since: str | None, until: str | None, tool: str | None, now: datetime) -> Comparison:
    before, dots, after = text.removeprefix(_VERSION).partition("..")
    after = after.removeprefix(_VERSION)
    if not dots or not before or not after or before == after:
        raise BadParameter(f"parameter 'compare' needs two different versions, as version:A..B. Got {text!r}")
    within = fixed_range(since=since, until=until, now=now)
    sides = (ComparisonSide(since=within.since, until=within.until, version=version) for version in (before, after))
    return Comparison(before=next(sides), after=next(sides), tool=tool)


def _window(text: str, end: datetime, now: datetime) -> ComparisonSide:
    first, slash, last = text.partition("/")
    if not slash:
        raise BadParameter(f"parameter 'compare' must be {_FORMS}. {text!r} has no '/'")
    return ComparisonSide(
        since=parse_time("compare", first, now) if first else None,
        until=parse_time("compare", last, now) if last else end,
    )


def _adjacent_sides(start: datetime, middle: datetime, end: datetime) -> tuple[ComparisonSide, ComparisonSide]:
    return ComparisonSide(since=start, until=middle), ComparisonSide(since=middle, until=end)


def _halves(middle: datetime, end: datetime) -> tuple[ComparisonSide, ComparisonSide]:
    try:
        return _adjacent_sides(middle - (end - middle), middle, end)
    except OverflowError:
        raise BadParameter(f"parameter 'compare': no equally long window exists before {middle}") from None


def _check(first: ComparisonSide, second: ComparisonSide, text: str) -> None:
    for side in (first, second):
        if side.since is not None and side.until is not None and side.since >= side.until:
            raise BadParameter(
                f"parameter 'compare': a window of {text!r} ends ({side.until} UTC) before it begins ({side.since} UTC)"
            )
    if not (_ends_by(first, second) or _ends_by(second, first)):
        raise BadParameter(f"parameter 'compare': the windows of {text!r} overlap. Name two separate windows")


def _window_text(side: ComparisonSide) -> str:
    return "/".join("" if end is None else f"{end:%Y-%m-%dT%H:%M:%S}" for end in (side.since, side.until))


def _ends_by(one: ComparisonSide, other: ComparisonSide) -> bool:
    """Whether ``one`` ends before ``other`` begins."""
    return one.until is not None and other.since is not None and one.until <= other.since
