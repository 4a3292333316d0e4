"""The calls that are measured: one tool, with the arguments and results that people have.

Nothing here imports tooltrace, so that the environments of other libraries measure the same calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel

PROSE: Final = (
    "Open the settings page and choose the language of the interface. The change applies at once, and every later visit "
    "uses it. Colleagues who share the account keep their own choice, because it is stored with the person. "
)


class Message(BaseModel):
    """One message of a conversation."""

    role: str = "user"
    content: str = "word " * 30
    tool_call_id: str | None = None


class Part(BaseModel):
    """A part of a nested message."""

    kind: str = "text"
    text: str = "word " * 10


class Nested(BaseModel):
    """A message of parts, with a date."""

    role: str = "user"
    parts: list[Part] = [Part(), Part()]
    at: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    labels: dict[str, str] = {"language": "en"}


@dataclass
class Row:
    """A row of a result, as a dataclass."""

    id: int
    title: str
    score: float
    tag: str | None = None


class Response(BaseModel):
    """The fields of a tooltrace ``ToolResponse``, for environments that do not have tooltrace."""

    status: str = "success"
    text: str
    data: Any = None
    confidence: float | None = None
    sources: list[dict[str, str]] = []
    next_action: str | None = None
    stats: dict[str, Any] | None = None


class SearchError(Exception):
    """The exception that the measured tool raises."""


@dataclass(frozen=True)
class Payload:
    """The arguments and the result of one kind of call."""

    kind: str
    arguments: dict[str, Any]
    result: Any
    in_mean: bool = True
    """Whether the geometric mean has it: arguments and result are at most 6 KB."""

    @property
    def sizes(self) -> str:
        """The bytes of arguments and result, as JSON."""
        return f"{_size(self.arguments)} → {_size(self.result)}"

    def tool(self) -> Callable[..., Any]:
        """Return a tool that returns the result, or raises it where it is an exception."""
        result = self.result

        if isinstance(result, Exception):

            def search(query: str, limit: int = 10) -> Any:
                """Search."""
                raise SearchError(*result.args)

        elif "messages" in self.arguments:

            def search(messages: list[Message], limit: int = 10) -> Any:  # type: ignore[misc]
                """Search."""
                return result

        else:

            def search(query: str, limit: int = 10) -> Any:
                """Search."""
                return result

        return search

    def caller(self, function: Callable[..., Any]) -> Callable[[], Any]:
        """Return ``function`` with the arguments, as an agent calls it: it continues after an exception."""
        arguments = self.arguments
        if not isinstance(self.result, Exception):
            return lambda: function(**arguments)

        def call() -> None:
            with suppress(SearchError):
                function(**arguments)

        return call


def payloads(response: Any = None) -> dict[str, Payload]:
    """Return every kind of call by its name. ``response``: a ``ToolResponse`` where tooltrace is installed."""
    query = {"query": "how to open a file that is not there", "limit": 5}
    messages = {"messages": [Message() for _ in range(200)], "limit": 5}
    found = {"rows": [{"id": 1, "title": "open"}, {"id": 2, "title": "close"}], "total": 2}
    rows = [{"id": n, "title": f"How to change setting {n}", "score": n / 1000, "tags": ["help"]} for n in range(1320)]
    failure = {"code": "NOT_FOUND", "message": "no customer has the number 4711"}
    kinds = (
        Payload("plain dict", query, found),
        Payload("text, 50 B", query, "There are three open tickets for this customer now"),
        Payload("text, 6 KB", query, _prose(6_000)),
        Payload("envelope, success", query, {"status": "ok", "data": {"id": 4711, "name": "Ada", "tickets": 3}}),
        Payload("envelope, failure", query, {"ok": False, "error": failure}),
        Payload("`ToolResponse`", query, response or Response(text="Three open tickets.", data={"tickets": 3})),
        Payload("exception", query, SearchError("no customer has the number 4711")),
        Payload("None inside", query, {"a": None, "b": "x", "c": 1.5}),
        Payload("200 pydantic messages as argument", messages, found, in_mean=False),
        Payload("20 nested pydantic models", query, _nested(20), in_mean=False),
        Payload("200 nested pydantic models", query, _nested(200), in_mean=False),
        Payload("200 dataclasses", query, [Row(n, f"setting {n}", n / 7) for n in range(200)], in_mean=False),
        Payload("rows, 100 KB", query, rows, in_mean=False),
        Payload("rows, 100 KB, with a None", query, [{**row, "next": None} for row in rows], in_mean=False),
        Payload(
            "rows, 100 KB, with a date",
            query,
            [{**row, "at": datetime(2026, 1, 2, tzinfo=UTC)} for row in rows],
            in_mean=False,
        ),
        Payload("text, 1 MB", query, _prose(1_000_000), in_mean=False),
    )
    return {payload.kind: payload for payload in kinds}


def _nested(count: int) -> list[Nested]:
    return [Nested(parts=[Part(), Part()], labels={"language": "en"}) for _ in range(count)]


def _prose(size: int) -> str:
    return (PROSE * (size // len(PROSE) + 1))[:size]


def _size(value: Any) -> str:
    size = len(
        str(value) if isinstance(value, Exception | str) else json.dumps(value, default=_dumped, separators=(",", ":"))
    )
    for unit, bytes_ in (("MB", 1_000_000), ("KB", 1_000)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size} B"


def _dumped(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    return asdict(value) if isinstance(value, Row) else str(value)


def written(value: Any) -> str:
    """Return ``value`` as the JSON of a span that is written by hand."""
    return str(value) if isinstance(value, Exception | str) else json.dumps(value, default=_dumped)
