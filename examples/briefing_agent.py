"""Write what fails now into an agent's system prompt, and count the calls that fail without it and with it.

The model is a script that reads its system prompt: it takes the tool that the briefing says worked. Run:
python examples/briefing_agent.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import tooltrace as tt

PROMPT = "Answer questions about parts. Tools: fetch(site), search(words)."


@tt.trace_tool
def fetch(site: str) -> str:
    """Read a page; one site is down."""
    if site == "b.example":
        raise TimeoutError("no response in 5 s")
    return f"a page of {site}"


@tt.trace_tool
def search(words: str) -> str:
    """Search all pages."""
    return f"pages about {words}"


def model(messages: list[dict[str, str]], site: str) -> list[str]:
    """Return the tools that the model calls for a page of ``site``, in order."""
    system = messages[0]["content"]
    is_down = f'With "site" = "{site}" it failed' in system and '"search" worked' in system
    return ["search"] if is_down else ["fetch", "search"]


def converse(number: int, briefing: str) -> None:
    """Work through one conversation: read a page, and search where that fails."""
    site = "b.example" if number % 2 else "a.example"
    messages = [{"role": "system", "content": f"{PROMPT}\n\n{briefing}"}, {"role": "user", "content": site}]
    with tt.context(conversation_id=f"c{number}", agent="briefed" if briefing else "alone"):
        for tool in model(messages, site):
            try:
                fetch(site) if tool == "fetch" else search(site)
            except TimeoutError:
                continue
            break


def main() -> None:
    """Run conversations without a briefing, then others with it, and compare them."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "briefing.duckdb")
    for number in range(40):
        converse(number, "")
    briefing = tt.briefing(["fetch", "search"])
    print(briefing)
    for number in range(40, 80):
        converse(number, briefing)

    with tt.connect() as db:
        db.sql(
            """
            SELECT agent, count(*) AS calls, count(*) FILTER (WHERE status = 'error') AS failed
            FROM tool_calls GROUP BY agent ORDER BY agent
            """
        ).show()


if __name__ == "__main__":
    main()
