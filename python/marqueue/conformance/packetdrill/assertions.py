"""Evaluates the assertions of a script: a small part of Python, by rules of our own.

A script is text from elsewhere. Nothing of it is executed: only assignments, comparisons and
arithmetic of numbers are understood, and whatever else stands in a block is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from marqueue.conformance.packetdrill.script import Assertions, NotModelled, ScriptError

Value = float | int | bool | str | None

CONSTANTS: Mapping[str, Value] = {
    "TCP_CA_Open": 0,
    "TCP_CA_Disorder": 1,
    "TCP_CA_CWR": 2,
    "TCP_CA_Recovery": 3,
    "TCP_CA_Loss": 4,
    "True": True,
    "False": False,
}

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

LARGEST_INTEGER = 1 << 64
"""What assertions compute with stays below it."""


class Failed(Exception):
    """An assertion does not hold: its text and the values of its names."""


class Evaluator:
    """Assertions of one script, whose variables live from block to block."""

    def __init__(self) -> None:
        self.variables: dict[str, Value] = {}
        self.unchecked: dict[str, int] = {}
        """By field that the model has not, the number of assertions that are not checked for it."""
        self.checked = 0

    def run(self, block: Assertions, fields: Mapping[str, Value]) -> None:
        """Evaluates a block with the fields of tcp_info.

        Raises Failed at the first assertion that does not hold, ScriptError for what is no Python,
        NotModelled for what is no arithmetic.
        """
        try:
            body = ast.parse(_dedent(block.source)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:
            raise ScriptError(block.line, f"the assertions cannot be read: {wrong}") from None
        for statement in body:
            try:
                self._statement(statement, fields)
            except _UnknownField as unknown:
                name = str(unknown)
                self.unchecked[name] = self.unchecked.get(name, 0) + 1
            except _Refused as refused:
                line = block.line + statement.lineno - 1
                raise NotModelled(line, f"{refused} in an assertion") from None

    def _statement(self, statement: ast.stmt, fields: Mapping[str, Value]) -> None:
        match statement:
            case ast.Assert(test=test):
                if not self._value(test, fields):
                    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                    shown = {n: fields.get(n, self.variables.get(n)) for n in sorted(names)}
                    values = ", ".join(
                        f"{n} = {value}" for n, value in shown.items() if n not in CONSTANTS
                    )
                    raise Failed(f"{ast.unparse(test)}: {values}")
                self.checked += 1
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.variables[name] = self._value(value, fields)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                change = ast.BinOp(left=ast.Name(id=target.id), op=op, right=value)
                self.variables[name] = self._value(change, fields)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
                pass
            case ast.Expr(value=ast.Constant() | ast.Name()):
                pass
            case _:
                raise _Refused(f"{type(statement).__name__.lower()} statement")

    def _value(self, node: ast.expr, fields: Mapping[str, Value]) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=name):
                if name in fields:
                    return fields[name]
                if name in self.variables:
                    return self.variables[name]
                if name in CONSTANTS:
                    return CONSTANTS[name]
                raise _UnknownField(name)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                values = [self._number(each, fields) for each in (left, *rights)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_known(COMPARE, op)(a, b) for op, a, b in pairs)
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(self._value(part, fields) for part in parts)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return any(self._value(part, fields) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand, fields)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand, fields)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._number(left, fields), self._number(right, fields)
                try:
                    found = _known(BINARY, op)(a, b)
                except ZeroDivisionError:
                    raise _Refused("division by zero") from None
                if abs(found) > LARGEST_INTEGER:
                    raise _Refused("a number beyond 64 bits")
                return found
            case _:
                raise _Refused(type(node).__name__.lower())

    def _number(self, node: ast.expr, fields: Mapping[str, Value]) -> Any:
        value = self._value(node, fields)
        if not isinstance(value, int | float):
            raise _Refused("text as a number")
        return value


class _UnknownField(Exception):
    """A name that neither the model nor the script defines."""


class _Refused(Exception):
    """What is not arithmetic."""


def _known(table: Mapping[Any, Any], op: Any) -> Any:
    if type(op) not in table:
        raise _Refused(type(op).__name__.lower())
    return table[type(op)]


def _dedent(source: str) -> str:
    """The block as Python: its first line may stand right behind the bracket."""
    lines = source.split("\n")
    return "\n".join([lines[0].strip(), *(_without_margin(lines[1:]))])


def _without_margin(lines: list[str]) -> list[str]:
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    return [line[min(margins, default=0) :] for line in lines]
