"""Name resolution for the steps of a query (``WITH name AS …``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp


def step_of(table: exp.Table) -> exp.CTE | None:
    """Return the step that ``table`` refers to; None if it refers to a table of the store.

    A step is visible if it precedes the reference, in the same SELECT or one around it; a recursive step is visible in
    itself. A step of the same name elsewhere does not count.
    """
    if table.db or not isinstance(table.this, exp.Identifier):
        return None
    inside: exp.Expr = table
    while (outside := inside.parent) is not None:
        for step in reversed(list(_visible(outside, inside))):
            if step.alias.lower() == table.name.lower():
                return step
        inside = outside
    return None


def _visible(outside: exp.Expr, inside: exp.Expr) -> Iterator[exp.CTE]:
    """Yield the steps of ``outside`` that are visible in its part ``inside``."""
    if isinstance(outside, exp.With):
        steps: list[exp.CTE] = list(outside.expressions)
        for step in steps:
            if step is inside:
                if outside.args.get("recursive") and isinstance(step.this, exp.Union):
                    yield step
                return
            yield step
        return
    with_ = outside.args.get("with_")
    if with_ is not None and with_ is not inside:
        yield from with_.expressions


def rename_steps(tree: exp.Expr, tables: Collection[str]) -> None:
    """Rename steps that have the name of a table or of another step.

    The two engines may resolve such a name differently, which would let a query read a table unnoticed.
    """
    bound = [(table, step) for table in tree.find_all(exp.Table) if (step := step_of(table)) is not None]
    all_names = {name.name for name in tree.find_all(exp.Identifier)} | set(tables)
    used_names = {name.lower() for name in tables}
    for step in list(tree.find_all(exp.CTE)):
        old = new = step.alias
        while old.lower() in used_names and new in all_names:
            new = f"{new}_step"
        used_names.add(old.lower())
        all_names.add(new)
        step.args["alias"].set("this", exp.to_identifier(new, quoted=True) if new != old else step.args["alias"].this)
        for table in (table for table, of in bound if of is step and table.name != new):
            # Columns may be qualified with the old name.
            if not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            table.set("this", exp.to_identifier(new, quoted=True))
