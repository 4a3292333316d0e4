"""The state of a list in its address: the filters and the order. One list has attempts, another has conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self, get_args
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from tooltrace.core.records import ENDINGS
from tooltrace.core.response import Status
from tooltrace.errors import BadParameter, near

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "status": get_args(Status),
    "ending": ENDINGS,
    "label": ("right", "wrong", "any", "none"),
    "model_saw_error": ("yes", "no"),
}
"""The values of the filters that have a fixed set of them."""
FILTERS: Final = (
    *("tool", "version", "status", "code", "ending", "rule", "agent", "conversation", "label", "model_saw_error"),
    *("min_duration_ms", "max_duration_ms", "min_confidence", "max_confidence", "text"),
)
"""The filters, which are parameters of the queries attempts and attempt_counts."""
SORTED_DESCENDING_FIRST: Final = frozenset({"duration_ms", "attempt", "confidence"})
SORTABLE: Final = (
    *(
        "ended_at",
        "tool",
        "tool_version",
        "status",
        "code",
        "duration_ms",
        "attempt",
        "confidence",
        "agent",
        "call_id",
        "message",
    ),
)
"""The columns that the list can be sorted by."""
NEWEST_FIRST: Final = ""
"""The order in which new attempts appear at the top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListState:
    """The filters of the list, by name, and its order: a column, with a minus before it for descending."""

    FILTERS: ClassVar[tuple[str, ...]] = FILTERS
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = CHOICES
    SORTABLE: ClassVar[tuple[str, ...]] = SORTABLE
    DESCENDING_FIRST: ClassVar[frozenset[str]] = SORTED_DESCENDING_FIRST
    NEWEST: ClassVar[str] = "-ended_at"
    """The order of the list if the address has none."""

    filters: Mapping[str, str] = field(default_factory=dict)
    sort: str = NEWEST_FIRST

    @classmethod
    def read(cls, address: QueryParams) -> Self:
        """Return the state in ``address``; other parameters are ignored. Raises BadParameter."""
        filters = {name: value for name in cls.FILTERS if (value := address.get(name, "").strip())}
        for name, choices in cls.CHOICES.items():
            if filters.get(name, choices[0]) not in choices:
                raise BadParameter(
                    f"parameter {name!r} must be one of {', '.join(choices)}; got {filters[name][:80]!r}"
                )
        sort = address.get("sort", "").strip()
        if sort.removeprefix("-") not in (*cls.SORTABLE, ""):
            raise BadParameter(
                f"parameter 'sort' must be a column, with a minus before it for descending: {', '.join(cls.SORTABLE)}; "
                f"got {sort[:80]!r}{near(sort.removeprefix('-'), cls.SORTABLE)}"
            )
        # The default order has one form, so that a list in that order is always live and its address short.
        return cls(filters=filters, sort=NEWEST_FIRST if sort in (cls.NEWEST, "-") else sort)

    @property
    def address(self) -> dict[str, str]:
        """The state as parameters of an address."""
        return {**self.filters, **({"sort": self.sort} if self.sort else {})}

    @property
    def encoded(self) -> str:
        """The state as the query of an address."""
        return urlencode(self.address)

    @property
    def params(self) -> dict[str, Any]:
        """The state as parameters of the query of the list."""
        return dict(self.address)

    @property
    def is_live(self) -> bool:
        """Whether new rows belong at the top."""
        return self.sort == NEWEST_FIRST

    def with_filter(self, name: str, value: str | None) -> dict[str, str]:
        """Return the address with another value of a filter; None removes it."""
        rest = {key: each for key, each in self.address.items() if key != name}
        return rest if value is None else {**rest, name: value}

    def sorted_by(self, column: str) -> dict[str, str]:
        """Return the address after a click on the head of ``column``: sorted by it, or the other way round."""
        first = f"-{column}" if column in self.DESCENDING_FIRST else column
        second = column if first.startswith("-") else f"-{column}"
        sort = second if self.sort == first else first
        return {**self.filters, **({} if sort == self.NEWEST else {"sort": sort})}

    def direction(self, column: str) -> str:
        """Return the value of ``aria-sort`` for ``column``."""
        order = self.sort or self.NEWEST
        if order.removeprefix("-") != column:
            return "none"
        return "descending" if order.startswith("-") else "ascending"


class ConversationListState(ListState):
    """The state of the list of conversations: parameters of the query conversations, and ``loop``, which needs the query loops."""

    __slots__ = ()
    FILTERS = ("agent", "outcome", "loop", "tool", "code", "text")
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "outcome": ("right", "wrong", "none"),
        "loop": ("any", "running"),
    }
    SORTABLE = (
        *("started_at", "conversation", "agent", "calls", "failed", "attempts", "correct", "duration_ms", "tools"),
        "last_error",
    )
    DESCENDING_FIRST = frozenset({"duration_ms", "calls", "failed", "attempts"})
    NEWEST = "-started_at"

    @property
    def params(self) -> dict[str, Any]:
        """The state as parameters of the query of the list, without the filter by loops."""
        return {name: value for name, value in self.address.items() if name != "loop"}

    @property
    def loop(self) -> str | None:
        """The filter by loops: any, running, or None."""
        return self.filters.get("loop")
