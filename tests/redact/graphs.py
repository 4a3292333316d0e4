"""Random values whose parts refer to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.redact.hostile_values import VALUES, Attrs, Model, Node

KINDS: tuple[Callable[[dict[str, Any]], Any], ...] = (
    dict,
    lambda fields: list(fields.values()),
    lambda fields: tuple(fields.values()),
    lambda fields: Node(list(fields.values())),
    lambda fields: Attrs(dict(fields)),
    lambda fields: Model.model_construct(**fields),
    lambda fields: ValueError(*fields.values()),
)
leaves: st.SearchStrategy[Any] = st.none() | st.floats() | st.integers() | st.text() | st.binary() | st.dates()


@dataclass(frozen=True)
class Plan:
    """How a value is made: Hypothesis looks at what it draws, and hostile values bear no look."""

    leaves: list[Any]
    hostile: list[str]
    """Names of hostile values that are further leaves."""
    parts: list[tuple[int, list[int]]]
    """Kind of each container, and how many places before it each of its members stands."""
    is_circular: bool

    def build(self) -> Any:
        """Return the value: the last container. It is a member of the first one where the plan is circular."""
        around: list[Any] = []
        made = [*self.leaves, *(VALUES[name]() for name in self.hostile), around]
        for kind, places in self.parts:
            members = [made[-1 - place % len(made)] for place in places]
            made.append(KINDS[kind]({f"f{number}": member for number, member in enumerate(members)}))
        if self.is_circular:
            around.append(made[-1])
        return made[-1]


def plans(most_hostile: int = 0) -> st.SearchStrategy[Plan]:
    """Return a strategy for values whose parts stand in any number of places."""
    return st.builds(
        Plan,
        leaves=st.lists(leaves, max_size=4),
        hostile=st.lists(st.sampled_from(sorted(VALUES)), max_size=most_hostile),
        parts=st.lists(
            st.tuples(st.integers(0, len(KINDS) - 1), st.lists(st.integers(0, 5), min_size=1, max_size=7)),
            min_size=1,
            max_size=12,
        ),
        is_circular=st.booleans(),
    )
