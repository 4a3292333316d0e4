"""Safe evaluation of arithmetic: only numbers and operators are allowed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from tooltrace.demo.python_outline import parse_expression

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST_POWER = 64


def value_of(expression: str) -> Number:
    """Return the value of ``expression``.

    Raises SyntaxError for an invalid expression, ValueError for anything but arithmetic, ZeroDivisionError, and
    OverflowError for a power that would take too long.
    """
    return _value(parse_expression(expression))


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negative(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left), _value(right))
    raise ValueError(f"{ast.unparse(node)!r} is not an arithmetic expression")


def _negative(node: ast.expr) -> Number:
    """Return the negated value, with the demo's known bug.

    The sign binds tighter than the power, as in a spreadsheet, so that ``-2 ** 2`` is 4. Python returns -4. No
    exception is raised: only a label can reveal the bug.
    """
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(-_value(left), _value(right))
    return -_value(node)


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > _LARGEST_POWER:
        raise OverflowError(f"the exponent {exponent} is larger than {_LARGEST_POWER}")
    result: Number = base**exponent
    return result
