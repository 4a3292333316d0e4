"""Parsing of DuckDB's SQL with sqlglot, without sqlglot's own translation of the functions that our table translates.

sqlglot's parser and generator are used as they are, not subclassed: the compiled build of sqlglot, ``sqlglot[c]``, refuses
subclasses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError

from tooltrace.clickhouse.sql.functions import TRANSLATED

_MARK: Final = "\0"
"""Added in front of the names of functions, so that sqlglot parses calls of them as unknown functions. No name has this character."""
_NAMES: Final = frozenset(
    (
        TokenType.VAR, TokenType.IDENTIFIER,
        TokenType.LEFT, TokenType.LIST, TokenType.RANGE, TokenType.RIGHT, TokenType.STRUCT,
    )
)  # fmt: skip
"""The tokens that names of functions are. ``unnest`` has a token of its own, because it can stand for a table."""


class _PlainPaths(DuckDB):
    """DuckDB's dialect, which keeps JSON paths as written: after parsing, ``a.b`` and ``$.a.b`` would be equal."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        return path


def parse(sql: str) -> exp.Expr:
    """Return the tree of DuckDB's ``sql``; a call of a function in TRANSLATED is Anonymous. Raises SqlglotError."""
    dialect = _PlainPaths()
    trees = dialect.parser().parse(list(_marked(dialect.tokenize(sql))), sql)
    if not trees or trees[0] is None:
        raise ParseError("it has no statement")
    tree: exp.Expr = exp.Block(expressions=trees) if len(trees) > 1 else trees[0]
    for call in list(tree.find_all(exp.Explode)):
        call.replace(exp.Anonymous(this="unnest", expressions=[call.this]))
    # an identifier: where the parentheses follow the name of a step or of a table
    for part in tree.find_all(exp.Anonymous, exp.Identifier):
        if part.name.startswith(_MARK):
            part.set("this", part.name.removeprefix(_MARK))
    # the places in the text, which nothing here reads: copying them would take most of the time of a translation
    for placed in tree.find_all(exp.Identifier, exp.Literal, exp.Func):
        placed.meta.clear()
    return tree


def _marked(tokens: Sequence[Token]) -> Iterator[Token]:
    for place, token in enumerate(tokens):
        is_call = place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN
        if is_call and token.token_type in _NAMES and token.text.lower() in TRANSLATED:
            text = _MARK + token.text
            yield Token(TokenType.VAR, text, token.line, token.col, token.start, token.end, token.comments)
        else:
            yield token
