"""Structural rewrites of queries for ClickHouse, where translated functions are not enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp

from tooltrace.clickhouse.sql.parser import parse
from tooltrace.store.database.schema import ATTEMPTS, RECORDS, REPEATED_CALLS
from tooltrace.store.database.views import TOOL_CALLS, VIEWS

Columns = dict[str, tuple[str, ...]]
"""Known column names of each table in scope."""

Node = exp.Expr
"""A node of parsed SQL."""
ENGINE: Final = "clickhouse"
_MESSAGE_COLUMNS: Final = frozenset(TOOL_CALLS.columns) - frozenset(ATTEMPTS.names) | {"seen_text", "result_tokens"}


HASHES: Final = {
    "call_hash": "text_key(call_key({0}tool, {0}call_id, {0}first_span_id, {0}conversation_id, {0}host, {0}pid))",
    "cluster_hash": "text_key(draw_key({0}conversation_id, {0}trace_id))",
}
"""SQL of the columns that only a local store has, with the name of the table in front of each column."""


def find_repeated_calls(tree: Node) -> None:
    """Let a query find the calls with several attempts, which a local store keeps in the table ``repeated_calls``.

    ``… IN (SELECT call_hash FROM repeated_calls)`` only spares a query calls with one attempt, and changes no answer.
    Where the rows are of a step of the query, the calls are those with several rows in it. Where they are of a table,
    whose other conditions are unknown here, the condition is true.
    """
    steps = {step.alias for step in tree.find_all(exp.CTE)}
    for found in list(tree.find_all(exp.In)):
        query = found.args.get("query")
        if query is None or not any(table.name == REPEATED_CALLS.name for table in query.find_all(exp.Table)):
            continue
        source = found.find_ancestor(exp.Select)
        rows = source.args["from_"].this if source is not None else None
        if isinstance(rows, exp.Table) and rows.name in steps:
            call = exp.column(found.this.name)
            calls = exp.select(call).from_(rows.name).group_by(call.copy()).having("count(*) > 1")
            found.set("query", exp.Subquery(this=calls))
        else:
            found.replace(exp.true())


def compute_hashes(tree: Node) -> Node:
    """Replace the stored numbers of calls and clusters by the macros that compute them, and return the tree.

    A query renames these columns where it reads attempts, so that their names mean the columns of attempts alone.
    """
    for column in list(tree.find_all(exp.Column)):
        if column.name in HASHES and not _is_of_subquery(column):
            table = f'"{column.table}".' if column.table else ""
            made = parse(HASHES[column.name].format(table))
            is_item = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
            column.replace(exp.alias_(made, column.name) if is_item else made)
    return tree


def _is_of_subquery(column: exp.Column) -> bool:
    select = column.find_ancestor(exp.Select)
    sources = [] if select is None else [select.args["from_"], *(select.args.get("joins") or ())]
    return any(isinstance(one.this, exp.Subquery) and one.this.alias == column.table for one in sources)


def alias_joined_columns(tree: Node) -> None:
    """Alias columns of joined tables explicitly; ClickHouse would otherwise name a column of both tables ``t.name``.

    ``t.*`` is expanded to the columns that the query names somewhere.
    """
    is_used = _usage_test(tree)
    for select, known in _selects(tree, dict(_tables())):
        if not select.args.get("joins"):
            continue
        items: list[Node] = []
        for item in select.expressions:
            names = {made.alias_or_name for made in items}
            aliased = _aliased(item, select, known, is_used)
            items += [made for made in aliased if made.alias_or_name not in names]
        select.set("expressions", items)


def resolve_order_by_aliases(tree: Node) -> None:
    """Make ``SELECT -a AS a … ORDER BY a`` sort by the result's ``a``.

    With the settings that the other rewrites need, ClickHouse would sort by the table's ``a``.
    """
    for select in tree.find_all(exp.Select):
        made = {item.alias: item.this for item in select.expressions if isinstance(item, exp.Alias)}
        order = select.args.get("order")
        for term in order.expressions if order else ():
            if isinstance(term.this, exp.Column) and not term.this.table and term.this.name in made:
                expression = made[term.this.name]
                if not (isinstance(expression, exp.Column) and expression.name == term.this.name):
                    term.set("this", expression.copy())


def escape_like_backslashes(tree: Node) -> None:
    """Escape backslashes in LIKE patterns, where DuckDB has no escape character.

    Without ESCAPE, DuckDB treats a backslash as an ordinary character; ClickHouse treats it as the escape character.
    """
    for like in tree.find_all(exp.Like, exp.ILike):
        pattern = like.expression
        if pattern.is_string and not isinstance(like.parent, exp.Escape):
            pattern.replace(exp.Literal.string(pattern.name.replace("\\", "\\\\")))


def _usage_test(tree: Node) -> Callable[[str], bool]:
    """Return the test whether a column is used: it is named somewhere, or the result has a star."""
    if any(item.is_star for item in _result_items(tree)):
        return lambda _name: True
    named = frozenset(found.name for found in tree.find_all(exp.Identifier))
    return named.__contains__


def _aliased(item: Node, select: exp.Select, known: Columns, is_used: Callable[[str], bool]) -> list[Node]:
    if not isinstance(item, exp.Column) or not item.table:
        return [item]
    if not isinstance(item.this, exp.Star):
        return [exp.alias_(item.copy(), item.name, quoted=True)]
    replaced = {made.alias: made.this for made in item.this.args.get("replace") or ()}
    if not _sources(select, known).get(item.table):
        return [item]  # a table that is not ours: its columns are unknown here
    names = filter(is_used, _starred(item.this, _sources(select, known)[item.table]))
    made = ((name, replaced.get(name) or exp.column(name, item.table, quoted=True)) for name in names)
    return [exp.alias_(value, name, quoted=True) for name, value in made]


def drop_unused_messages_join(tree: Node) -> None:
    """Replace ``tool_calls`` by ``attempts`` if no column of model messages is used.

    ClickHouse would execute the join even so.
    """
    if any(item.is_star for item in _result_items(tree)):
        return
    if any(name.name in _MESSAGE_COLUMNS for name in tree.find_all(exp.Identifier)):
        return
    for table in tree.find_all(exp.Table):
        if table.name == TOOL_CALLS.name:
            named = table.alias_or_name
            table.set("this", exp.to_identifier(ATTEMPTS.name))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(named)))


def _result_items(query: Node) -> Iterator[Node]:
    """Yield the items of the select lists that form the result."""
    if isinstance(query, exp.SetOperation):
        yield from _result_items(query.left)
        yield from _result_items(query.right)
    elif isinstance(query, exp.Subquery):
        yield from _result_items(query.this)
    else:
        yield from query.expressions


def _selects(tree: Node, known: Columns) -> Iterator[tuple[exp.Select, Columns]]:
    """Yield every SELECT with the tables in its scope."""
    known = dict(known)
    for cte in _ctes(tree):
        # The names of a recursive step are those of its first part, which its second part already uses.
        if is_recursive(cte):
            known[cte.alias] = _columns(_first(cte.this), known)
        yield from _selects(cte.this, known)
        known[cte.alias] = _columns(cte.this, known)
    if isinstance(tree, exp.Select):
        yield tree, known
    for child in tree.iter_expressions():
        if not isinstance(child, exp.With):
            yield from _selects(child, known)


def _ctes(tree: Node) -> list[exp.CTE]:
    found = tree.args.get("with_") or tree.args.get("with")
    return list(found.expressions) if found else []


def is_recursive(cte: exp.CTE) -> bool:
    """Whether the CTE is recursive."""
    return any(table.name == cte.alias for table in cte.this.find_all(exp.Table))


def _first(query: Node) -> Node:
    while isinstance(query, exp.SetOperation):
        query = query.this
    return query


def _columns(query: Node, known: Columns) -> tuple[str, ...]:
    """Return the column names of the result of ``query``."""
    query = _first(query.this if isinstance(query, exp.Subquery) else query)
    inner = dict(known)
    for cte in _ctes(query):
        inner[cte.alias] = _columns(_first(cte.this) if is_recursive(cte) else cte.this, inner)
    names: list[str] = []
    sources = _sources(query, inner)
    for item in query.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            chosen = [item.table] if isinstance(item, exp.Column) else list(sources)
            if not all(sources.get(source) for source in chosen):
                return ()  # unknown
            names += [name for source in chosen for name in _starred(star, sources[source])]
        else:
            names.append(item.alias_or_name)
    return tuple(names)


def _starred(star: exp.Star, names: tuple[str, ...]) -> list[str]:
    left_out = {found.name for found in star.args.get("except_") or star.args.get("except") or ()}
    return [name for name in names if name not in left_out]


def _sources(select: Node, known: Columns) -> Columns:
    """Return the tables and subqueries in FROM and the JOINs, with their columns."""
    first = select.args.get("from_") or select.args.get("from")
    tables = [join.this for join in select.args.get("joins") or ()]
    if first is not None:
        tables.insert(0, first.this)
    found: Columns = {}
    for table in tables:
        if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier):
            found[table.alias_or_name] = known.get(table.name, ())
        elif isinstance(table, exp.Subquery):
            found[table.alias] = _columns(table, known)
    return found


@cache
def _tables() -> tuple[tuple[str, tuple[str, ...]], ...]:
    base = {table.name: table.names for table in RECORDS.values()}
    return tuple({**base, **{view.name: tuple(view.columns) for view in VIEWS}}.items())


def known_tables() -> frozenset[str]:
    """Return the names of a store's tables."""
    return frozenset(dict(_tables()))


@dataclass(frozen=True, slots=True)
class TempTable:
    """A step of a query that is used several times, in ClickHouse's SQL."""

    name: str
    sql: str


def extract_temp_tables(tree: Node, write: Callable[[Node], str]) -> tuple[TempTable, ...]:
    """Remove the steps from ``tree`` that need temporary tables; return them in order, with the SQL by ``write``.

    ClickHouse inserts a CTE's text at each use, and executes it as often: a chain of CTEs runs thousands of times.
    Therefore each CTE with two or more uses becomes a temporary table. This also gives all its readers the same row
    numbers, where a CTE numbers its rows in order of arrival.
    """
    ctes = {cte.alias: cte for cte in _ctes(tree)}
    uses = dict.fromkeys(ctes, 0)
    for table in tree.find_all(exp.Table):
        holder = table.find_ancestor(exp.CTE)
        if table.name in uses and (holder is None or holder.alias != table.name):
            uses[table.name] += 1
    for cte in ctes.values():
        cte.set("materialized", None)  # ClickHouse refuses NOT MATERIALIZED, and MATERIALIZED is not needed here
        if is_recursive(cte):
            cte.set("this", _with_own_names(cte))
    materialized = {name for name, count in uses.items() if count > 1}
    # Before the steps leave the tree: the columns that are used are looked up in all of it.
    narrow = _narrowed(tree, ctes)
    inline = {name: cte for name, cte in ctes.items() if name not in materialized}
    tree.set("with_", None)
    extracted = [(name, narrow(name, _with(ctes[name].this, inline))) for name in ctes if name in materialized]
    _with(tree, inline)
    return tuple(TempTable(name, write(body)) for name, body in extracted)


def _narrowed(tree: Node, ctes: dict[str, exp.CTE]) -> Callable[[str, Node], Node]:
    """Return the function that drops unused columns from a temporary table.

    ``SELECT *`` would store the texts of each call.
    """
    is_used = _usage_test(tree)
    known = dict(_tables())
    columns: Columns = {}
    for name, cte in ctes.items():
        columns[name] = known[name] = _columns(cte.this, known)

    def narrow(name: str, body: Node) -> Node:
        some = tuple(filter(is_used, columns[name]))
        if not some or len(some) == len(columns[name]):
            return body
        inner = exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier("step")))
        return exp.select(*(exp.column(column, quoted=True) for column in some)).from_(inner)

    return narrow


def _with_own_names(cte: exp.CTE) -> Node:
    """Wrap a recursive CTE in a WITH of its own: other CTEs beside it in one WITH would behave differently."""
    inner = exp.CTE(this=cte.this, alias=exp.TableAlias(this=exp.to_identifier(cte.alias)))
    body = exp.select("*").from_(exp.Table(this=exp.to_identifier(cte.alias)))
    body.set("with_", exp.With(expressions=[inner], recursive=True))
    return body


def _with(body: Node, inline: dict[str, exp.CTE]) -> Node:
    """Return ``body`` with the steps of ``inline`` that it needs; each of them is used once."""
    needed = _needed(body, inline)
    if needed:
        existing = body.args.get("with_")
        if existing is not None:
            body = exp.select("*").from_(exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier("body"))))
        body.set("with_", exp.With(expressions=needed))
    return body


def _needed(body: Node, inline: dict[str, exp.CTE]) -> list[exp.CTE]:
    """Return the steps of ``inline`` that ``body`` reads, each after those that it reads itself."""
    found: dict[str, exp.CTE] = {}
    for table in body.find_all(exp.Table):
        cte = inline.get(table.name)
        if cte is not None and table.name not in found:
            others = {name: other for name, other in inline.items() if other is not cte}
            found |= {one.alias: one for one in _needed(cte.this, others) if one.alias not in found}
            found[table.name] = cte
    return list(found.values())


def qualify_tables(tree: Node, database: str) -> None:
    """Qualify every table that is not a CTE with ``database``."""
    steps = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name not in steps and isinstance(table.this, exp.Identifier):
            table.set("db", exp.to_identifier(database, quoted=True))


def unnest_to_array_join(tree: Node, write: Callable[[Node], str]) -> None:
    """Translate ``FROM t, json_each(object) AS e``: each member, as ``e.key``, ``e.value`` and ``e.type``."""
    # A list, because the loop changes the tree.
    for call in [found for found in tree.find_all(exp.Anonymous) if str(found.this).lower() == "json_each"]:
        join, select = call.find_ancestor(exp.Join), call.find_ancestor(exp.Select)
        assert join is not None
        assert select is not None
        alias = join.this.alias
        pairs = sqlglot.parse_one(
            f"JSONExtractKeysAndValuesRaw(ifNull({write(call.expressions[0].copy())}, '{{}}'))", read=ENGINE
        )
        for column in list(select.find_all(exp.Column)):
            if column.table == alias:
                column.replace(_member(alias, column.name))
        join.replace(exp.Join(this=exp.alias_(pairs, alias), kind="ARRAY"))


def _member(alias: str, part: str) -> Node:
    pair = exp.to_identifier(alias, quoted=True).sql(ENGINE)
    raw = f"tupleElement({pair}, 2)"
    texts = {"key": f"tupleElement({pair}, 1)", "value": raw, "type": f"if(JSONType({raw}) = 'String', 'VARCHAR', '')"}
    return sqlglot.parse_one(texts[part], read=ENGINE)
