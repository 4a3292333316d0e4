"""Random values whose parts refer to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.redact.hostile_values import Attrs, Model, Node

leaves: st.SearchStrategy[Any] = st.none() | st.floats() | st.integers() | st.text() | st.binary() | st.dates()
KINDS: tuple[Callable[[dict[str, Any]], Any], ...] = (
    dict,
    lambda fields: list(fields.values()),
    lambda fields: tuple(fields.values()),
    lambda fields: Node(list(fields.values())),
    lambda fields: Attrs(dict(fields)),
    lambda fields: Model.model_construct(**fields),
    lambda fields: ValueError(*fields.values()),
)


@st.composite
def graphs(draw: st.DrawFn, leaves: st.SearchStrategy[Any] = leaves) -> Any:
    """Return a value whose parts refer to each other, in any number of places; some refer to what contains them."""
    parts: list[Any] = draw(st.lists(leaves, min_size=1, max_size=4))
    around: list[Any] = []
    parts.append(around)
    for _ in range(draw(st.integers(1, 12))):
        chosen = draw(st.lists(st.sampled_from(range(max(0, len(parts) - 5), len(parts))), min_size=1, max_size=7))
        parts.append(draw(st.sampled_from(KINDS))({f"f{number}": parts[at] for number, at in enumerate(chosen)}))
    if draw(st.booleans()):
        around.append(parts[-1])
    return parts[-1]
