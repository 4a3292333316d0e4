"""``tooltrace correct``: overrule how the result of a call was read."""

from __future__ import annotations

import click

from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import examples, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.errors import LabelError
from tooltrace.labels.correction import make_correction
from tooltrace.recording.settings import Settings
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import Statement


@click.command(
    short_help="Correct how a result was read.",
    epilog=examples(
        "tooltrace correct call_17 --status error --code TIMEOUT --labeler ann",
        "tooltrace correct call_17 --status recorded",
    ),
)
@click.argument("call_id")
@click.option(
    "--status",
    type=click.Choice(["success", "partial", "error", "recorded"]),
    required=True,
    help="The corrected status; 'recorded' restores the recorded reading.",
)
@click.option("--code", help="Error code, such as TIMEOUT, for an error or a partial result.")
@click.option("--labeler", default="human", show_default=True, help="Name of the person who corrects.")
@click.option("--reason", help="Reason for the correction.")
@click.option("--span", is_flag=True, help="CALL_ID is a span id: correct one attempt instead of the call's last.")
@place_option
def correct(
    *,
    call_id: str,
    status: str,
    code: str | None,
    labeler: str,
    reason: str | None,
    span: bool,
    store: StoreBackend,
) -> None:
    """Correct how the result of a call was read: success, partial or error.

    The last attempt of the call that reported a status has the corrected one from now on, in every query. The recorded
    status stays in the column status_recorded, and the table corrections has every correction. A person's correction
    precedes those of 'tooltrace reread'. A correction is not a label: it states what happened, not whether the result
    was right.
    """
    if not labeler.strip():
        raise UsageError("--labeler must not be blank: pass the name of the person; nothing was recorded")
    of_call, of_span = (None, call_id) if span else (call_id, None)
    try:
        correction = make_correction(
            Settings(store=None),
            call_id=of_call,
            span_id=of_span,
            status=status,
            code=code,
            reason=reason,
            labeler=labeler,
        )
    except LabelError as error:
        raise UsageError(f"{error}; nothing was recorded") from error
    sent = store.write([correction])
    done = "has the recorded reading again" if status == "recorded" else f"is corrected to {status} by {labeler}"
    click.echo(clean(f"{call_id} {done}{f': {sent}' if sent else ''}."))
    column = "span_id" if span else "call_id"
    sql = f"SELECT {column} FROM tool_calls WHERE {column} = $id LIMIT 1"
    if not store.query(Statement(sql=sql, params={"id": call_id}, name="correct")).rows:
        kind = "attempt" if span else "call"
        message = f"No {kind} {call_id} has been recorded in {store}; the correction applies once it is."
        click.echo(clean(message), err=True)
