"""Record structured results as in Eino's proposal: an error is written for the model, and has a code of the tool.

Run: python examples/eino.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import tooltrace as tt
from tooltrace import ToolResponse, toolutil

STOCK = {"A-17": 3, "B-2": 0}


@tt.trace_tool(version="1")
def check_stock(sku: str) -> ToolResponse:
    """Count the articles in stock."""
    if not sku.startswith(("A-", "B-")):
        advice = "Article numbers look like A-17. Ask the user for it."
        return toolutil.Fail("SKU_MALFORMED", f"{sku!r} is not an article number", False, advice)
    if sku == "B-9":
        return toolutil.Fail("TIMEOUT", "the warehouse did not answer", True)
    return toolutil.OK({"sku": sku, "count": STOCK.get(sku, 0)})


def main() -> None:
    """Print the message for the model of each result, and query the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "eino.duckdb")
    for number, sku in enumerate(("A-17", "17", "B-9")):
        call_id = f"call_{number}"
        with tt.context(call_id=call_id):
            answer = check_stock(sku)
        print(answer.to_message(call_id)["content"])
        print(answer.to_message(call_id, "json"), end="\n\n")

    with tt.connect() as db:
        db.sql(
            """
            SELECT call_id, status, code, retryable, suggestion, next_action, rule, seen_error AS model_saw_error
            FROM tool_calls ORDER BY call_id
            """
        ).show(max_width=160)


if __name__ == "__main__":
    main()
