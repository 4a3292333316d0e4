"""Record results as in Magic: the error must reach the model, and an empty message is never sent.

The history holds what the tool reported and what the model received. The agent's loop here drops an error once, and a
query finds that call. Run: python examples/magic.py
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import tooltrace as tt
from tooltrace import ToolResponse, ToolResult


@tt.trace_tool
def shell(command: str, tool_call_id: str) -> ToolResult:
    """Return what a command would print."""
    if command == "cat report":
        return ToolResult(error="cat: report: Permission denied", tool_call_id=tool_call_id, name="shell")
    if command == "true":
        return ToolResult(tool_call_id=tool_call_id, name="shell")
    return ToolResult(
        output="a.txt  b.txt",
        system="2 files",
        tool_call_id=tool_call_id,
        name="shell",
        execution_time=0.02,
        explanation="look around",
    )


def main() -> None:
    """Run an agent's loop that drops an error, and query for it."""
    logging.basicConfig(format="log: %(message)s")
    tt.configure(store=Path(tempfile.mkdtemp()) / "magic.duckdb")
    for number, command in enumerate(("ls", "true", "cat report", "cat report")):
        call_id = f"call_{number}"
        with tt.context(call_id=call_id):
            answer: ToolResponse = shell(command, call_id)
        if number == 3:  # the fault: the model receives only the output, which is empty
            answer = ToolResponse.success(answer.text if answer.ok else "")
        print(f"{command:12} -> {answer.to_message(call_id)['content']!r}")

    try:
        ToolResponse.success("4").to_message("")
    except ValueError as error:
        print("refused:", error)

    tt.flush()
    with tt.connect() as db:
        db.sql(
            """
            SELECT call_id, status, code, error_message, seen_text, seen_error,
                status = 'error' AND NOT seen_error AS error_never_reached_model
            FROM tool_calls ORDER BY call_id
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
