"""A server of FastMCP with another one mounted, traced without a change: a failure that it hides, and a typo.

Client and server run in this process and no network is used.   Run: pip install 'tooltrace-recorder[fastmcp]' && python examples/fastmcp_agent.py
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from pathlib import Path

from fastmcp import Client, FastMCP

import tooltrace as tt
from tooltrace.integrations import fastmcp

STOCK = {"apple": 3}
shop = FastMCP("shop", mask_error_details=True)
mall = FastMCP("mall")
mall.mount(shop, namespace="shop")


@shop.tool
def stock(item: str) -> int:
    """Count an item."""
    return STOCK[item]


@shop.tool
@tt.trace_tool(version="2", confidence=0.9)
def price(item: str) -> str:
    """Look up a price; the decorator adds what FastMCP does not know."""
    return f"1 {item}: 2 €"


async def run() -> None:
    """Call the tools as a model does, which gives each call an id."""
    script = [("shop_stock", "apple"), ("shop_stock", "pear"), ("shop_price", "apple"), ("shop_prise", "apple")]
    async with Client(mall) as client:
        for number, (name, item) in enumerate(script):
            with tt.context(call_id=f"call_{number}", agent="clerk"):
                await client.call_tool(name, {"item": item}, raise_on_error=False)


def main() -> None:
    """Run the script, and ask the history."""
    logging.disable(logging.CRITICAL)
    tt.configure(store=Path(tempfile.mkdtemp()) / "fastmcp.duckdb")
    fastmcp.install()
    asyncio.run(run())
    fastmcp.remove()

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, tool_version, call_id, agent, status, code, error_type, confidence, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
