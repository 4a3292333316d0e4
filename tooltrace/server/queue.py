"""The queue of calls to label: which calls, how far it is, and which one comes next."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render, url

DEFAULT_LENGTH = 20
MAX_LENGTH = 100
NO_CONFIDENCE = "none"
"""The band of calls without a confidence: their labels teach nothing about calibration."""
_SPAN = re.compile(r"[0-9A-Za-z_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class Queue:
    """Attempts to label, in order: rows of the query ``labelling``. The address of a page carries their span ids."""

    rows: tuple[dict[str, Any], ...]
    here: str
    """Span id of the attempt on the page."""

    @property
    def address(self) -> str:
        """The span ids, separated by commas."""
        return ",".join(row["span_id"] for row in self.rows)

    @property
    def labelled(self) -> int:
        """Number of attempts with a label."""
        return sum(row["correct"] is not None for row in self.rows)

    @property
    def place(self) -> int | None:
        """Position of the page's attempt, from 1; None if it is not in the queue."""
        return next((place for place, row in enumerate(self.rows, 1) if row["span_id"] == self.here), None)

    @property
    def following(self) -> str | None:
        """Span id of the next attempt without a label: after this one, else from the beginning; None if all have one."""
        place = self.place or 0
        ordered = (*self.rows[place:], *self.rows[: max(place - 1, 0)])
        return next((row["span_id"] for row in ordered if row["correct"] is None and row["tool"] is not None), None)


async def queue_of(request: Request, address: Mapping[str, str], here: str | None = None) -> Queue | None:
    """Return the queue of an address or a form; None if it has none. ``here``: span id of the attempt on the page."""
    listed = address.get("queue", "")
    spans = list(dict.fromkeys(span for span in listed.split(",") if _SPAN.fullmatch(span)))[:MAX_LENGTH]
    if not spans:
        return None
    rows = (await app_state(request).cache.query("labelling", spans=",".join(spans))).dicts()
    return Queue(tuple(rows), here or address.get("id", ""))


async def page(request: Request) -> Response:
    """Render the queue: how it is chosen and where to start, or with ``queue`` how far it is."""
    address = request.query_params
    started = await queue_of(request, address)
    if started is not None:
        return render(request, "pages/queue.html", queue=started, chosen=None)
    seed = address.get("seed", "")
    # The seed stands in the address, so that a reload shows the same proposals.
    seed = seed if seed.isascii() and seed.isdecimal() and len(seed) < 10 else str(secrets.randbelow(10_000))
    length = address.get("n", "")
    limit = min(int(length), MAX_LENGTH) if length.isascii() and length.isdecimal() and len(length) < 6 else 0
    tool, others = address.get("tool", "").strip(), "yes" if address.get("without_confidence") == "yes" else "no"
    params = {**time_range(address).params, "tool": tool or None, "seed": int(seed), "limit": limit or DEFAULT_LENGTH}
    rows = await proposals(request, **params, without_confidence=others)
    start = url("/call", id=rows[0]["span_id"], queue=",".join(row["span_id"] for row in rows)) if rows else None
    chosen = {
        "tool": tool,
        "n": limit or DEFAULT_LENGTH,
        "seed": seed,
        "without_confidence": others,
        "rows": rows,
        "teaching": sum(row["band"] != NO_CONFIDENCE for row in rows),
        "start": start,
    }
    return render(request, "pages/queue.html", queue=None, chosen=chosen)


async def proposals(request: Request, **params: Any) -> list[dict[str, Any]]:
    """Return the rows of the query ``to_label``: where no call has a confidence, calls without one."""
    cache = app_state(request).cache
    rows = (await cache.query("to_label", **params)).dicts()
    return rows or (await cache.query("to_label", **{**params, "without_confidence": "yes"})).dicts()


ROUTES = [Route("/label", page, methods=["GET"])]
