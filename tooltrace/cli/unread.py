"""``tooltrace unread``: the results that no rule can read, and rules for them."""

from __future__ import annotations

import click

from tooltrace.cli.completion import complete_tools
from tooltrace.cli.known_names import require_known
from tooltrace.cli.options import examples, place_option
from tooltrace.cli.reread import since_of
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.store.base import StoreBackend


@click.command(
    short_help="Show what no rule can read, and rules for it.",
    epilog=examples("tooltrace unread fetch", "tooltrace unread fetch --since 7d --limit 3"),
)
@click.argument("tool", shell_complete=complete_tools)
@click.option("--since", help="Attempts that started within this time (7d, 24h) or since this date.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum number of shapes."
)
@place_option
def unread(*, tool: str, since: str | None, limit: int, store: StoreBackend) -> None:
    """Show the most frequent shapes among the unread results of TOOL, each with a rule to paste.

    Nothing states whether such a call worked; it counts as one that did not fail. Paste the rules of those shapes that are
    failures before the definition of the tool, and name them: @tt.trace_tool(rules=[TOOL_1, *tt.RULES]). Calls that are
    recorded from then on are read by them.
    """
    from tooltrace.labels.unread import rules_to_paste, unread_shapes

    require_known(store, tools=[tool])
    report = unread_shapes(store, tool, since=since_of(since), limit=limit)
    if not report.total:
        click.echo(f"No result of {clean(tool)} is unread.")
        return
    left = f"; the content of {report.not_stored:,} was not stored" if report.not_stored else ""
    click.echo(
        f"# {format_count(report.total, 'result')} of {clean(tool)} {'is' if report.total == 1 else 'are'} unread{left}."
    )
    click.echo(
        "# Keep the rules of the shapes that are failures; None in place of True leaves a shape unread, False makes it a success."
    )
    if report.shapes:
        click.echo("import tooltrace as tt")
    for shape, line in zip(report.shapes, rules_to_paste(report), strict=True):
        share = f"{shape.count / report.total:.0%}"
        click.echo(
            f"\n# {shape.count:,} ({share}): {clean(shape.label)}; for example: tooltrace show {clean(shape.call_id or '')}"
        )
        click.echo(line)
