"""Record a tool that reports its confidence, and compare the confidence with labels.

The tool returns a ``ToolResult`` of success, data, confidence, source, nextAction, error and meta; an earlier part of it
still returns a dict with a failure inside the data. Run: python examples/confidence.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tooltrace as tt
from tooltrace import ToolResult, ToolSource

BOOKS = {"Dune": "Frank Herbert", "Emma": "Jane Austen", "Ulysses": "James Joyce"}
RULES = tt.ConfidenceRules({"exact_title": 0.3, "only_one_match": 0.1, "guessed": -0.2}, base=0.5)


@tt.trace_tool
def find_author(title: str) -> ToolResult | dict[str, Any]:
    """Find the author of a book."""
    if not title:
        error = {"type": "invalid_input", "message": "title is empty", "retryable": False, "userMessage": "Which book?"}
        return ToolResult(success=False, data=None, error=error, nextAction="ask_user")
    if title == "Slow":
        return {"success": True, "data": "timeout", "confidence": 0.9}  # a failure inside the data of a success
    near = [book for book in BOOKS if book.lower().startswith(title.lower()[:1])]
    signals = {"exact_title": title in BOOKS, "only_one_match": len(near) == 1, "guessed": title not in BOOKS}
    score = RULES.score(signals)
    return ToolResult(
        success=True,
        data={"author": BOOKS.get(title, BOOKS[near[0]] if near else "unknown")},
        confidence=score,
        source=[ToolSource(type="database", id="books", label="Catalogue")],
        nextAction="continue",
        meta={"toolVersion": "2.1", "cached": False},
    )


def main() -> None:
    """Call the tool for some books, label the results, and query both."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "confidence.duckdb")
    right = {"Dune": True, "Emma": True, "Ulysse": True, "Dracula": False, "Slow": None, "": None}
    for number, (title, correct) in enumerate(right.items()):
        with tt.context(call_id=f"call_{number}", conversation_id="chat"):
            answer = tt.normalize(find_author(title))
        print(f"{title or '(empty)':9}", answer.status, answer.code or "-", tt.resolve_next_step(answer))
        if correct is not None:
            tt.label(call_id=f"call_{number}", correct=correct)

    with tt.connect() as db:
        db.sql(
            """
            SELECT c.call_id, status, code, confidence, signals, next_action, correct, rule, rule_grade
            FROM tool_calls AS c LEFT JOIN outcomes AS o USING (call_id)
            ORDER BY c.call_id
            """
        ).show(max_width=160)


if __name__ == "__main__":
    main()
