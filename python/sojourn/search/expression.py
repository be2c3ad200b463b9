"""Expressions over the results of a run: `p99(bneck.delay) + 2 * drops`, and constraints such as `util > 0.95`.

Python's parser reads them; what is not in the few node types below is refused, and nothing is ever evaluated by
Python itself.
"""

from __future__ import annotations

import ast
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

#: Characters of an expression, and how deep its parts may be nested.
LONGEST, DEEPEST = 1000, 50
#: Numbers with a unit, which an expression has not.
UNIT = re.compile(r"(?<![\w.])\d[\d.]*\s*(?:[kMGT]?(?:bit|bps)|[nmu]?s|%)(?![\w.])", re.IGNORECASE)
PERCENTILE = re.compile(r"p(?!100)(\d{1,3})", re.ASCII)
NAMED_STATISTICS = ("mean", "min", "max")
FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "log": math.log,
    "log10": math.log10,
    "min": min,
    "max": max,
}
SEVERAL = ("min", "max")
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: float(a**b) if not isinstance(a**b, complex) else math.nan,
}
EXAMPLE = "such as 'p99(bneck.delay)' or 'util'"


class ExpressionError(ValueError):
    """An expression that is none, or that names what there is not: one line for the user."""


class AbsentError(Exception):
    """A run does not have the quantity, as the RTT of a flow that sent nothing."""


class Quantities(Protocol):
    """What expressions are about: one run."""

    def number(self, name: str) -> float:
        """One number of the run; raises `AbsentError` or `ExpressionError`."""
        ...

    def statistic(self, share: float | str, series: str) -> float:
        """Of a series the percentile (a share such as 0.99), or `mean`, `min`, `max`; raises the same."""
        ...


class Node(Protocol):
    """A part of an expression."""

    def value(self, of: Quantities) -> float:
        """Its value for one run."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    number: float

    def value(self, of: Quantities) -> float:
        del of
        return self.number


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the run by its name."""

    name: str

    def value(self, of: Quantities) -> float:
        return of.number(self.name)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of a series."""

    share: float | str
    series: str

    def value(self, of: Quantities) -> float:
        return of.statistic(self.share, self.series)


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of other parts."""

    function: Callable[..., float]
    parts: tuple[Node, ...]

    def value(self, of: Quantities) -> float:
        return float(self.function(*(part.value(of) for part in self.parts)))


@dataclass(frozen=True, slots=True)
class Expression:
    """A number to be made of each run."""

    text: str
    root: Node

    def value(self, of: Quantities) -> float | None:
        """Finite, or None where the run does not have it; raises `ExpressionError` for a name that there is not."""
        try:
            found = self.root.value(of)
        except (AbsentError, ArithmeticError, ValueError) as error:
            if isinstance(error, ExpressionError):
                raise
            return None
        return found if math.isfinite(found) else None


@dataclass(frozen=True, slots=True)
class Constraint:
    """One side is to be below the other."""

    text: str
    low: Expression
    high: Expression
    strict: bool

    @property
    def shown(self) -> Expression:
        """The side that is no constant, which tables show."""
        return self.high if isinstance(self.low.root, Number) else self.low

    @property
    def scale(self) -> float:
        """The size of the bound, so that violations of several constraints weigh alike; 1 without a constant."""
        bounds = [abs(side.root.number) for side in (self.low, self.high) if isinstance(side.root, Number)]
        return next((bound for bound in bounds if bound), 1.0)

    def violation(self, low: float, high: float) -> float:
        """By how much it is violated, as a share of its bound; it holds at 0 and below."""
        beyond = (low - high) / self.scale
        return sys.float_info.min if self.strict and beyond == 0 else beyond


def expression(text: str, option: str = "expression") -> Expression:
    """Reads one; raises `ExpressionError`."""
    tree = _parsed(text, option)
    if isinstance(tree, ast.Compare | ast.BoolOp):
        raise ExpressionError(f"{option} {text}: expected a number, {EXAMPLE}; --subject-to takes comparisons")
    return Expression(text.strip(), _node(tree, f"{option} {text}"))


def constraints(text: str, option: str = "--subject-to") -> list[Constraint]:
    """Reads one comparison, or several in a chain (`1 < a < 2`) or joined by `and`."""
    return list(_compared(_parsed(text, option), text, f"{option} {text}"))


def _compared(tree: ast.expr, text: str, where: str) -> Iterator[Constraint]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _compared(part, text, where)
        return
    if not isinstance(tree, ast.Compare):
        raise ExpressionError(f"{where}: expected a comparison such as 'util > 0.95'")
    sides = [tree.left, *tree.comparators]
    for left, operator, right in zip(sides, tree.ops, sides[1:], strict=False):
        if not isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            raise ExpressionError(f"{where}: expected <, <=, > or >=")
        low, high = (left, right) if isinstance(operator, ast.Lt | ast.LtE) else (right, left)
        shown = ast.unparse(ast.Compare(left, [operator], [right]))
        below, above = (Expression(ast.unparse(side), _node(side, where)) for side in (low, high))
        yield Constraint(shown, below, above, isinstance(operator, ast.Lt | ast.Gt))


def nearest(name: str, known: Sequence[str]) -> str:
    """What to say of a name that there is not."""
    near = get_close_matches(name, known, n=1) or [one for one in known if name and name in one][:1]
    return f"; nearest is {near[0]}" if near else ""


def _parsed(text: str, option: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ExpressionError(f"{option}: expected at most {LONGEST} characters")
    if found := UNIT.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", text)):
        raise ExpressionError(
            f"{option} {text}: {found[0]}: expected a number without unit: delays are in ms, rates in Mbit/s, "
            "shares from 0 to 1"
        )
    try:
        with warnings.catch_warnings(action="ignore"):  # of backslashes in names
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{option} {text}: expected an expression, {EXAMPLE}") from None
    if _depth(tree) > DEEPEST:
        raise ExpressionError(f"{option}: expected at most {DEEPEST} levels of parts")
    return tree


def _depth(tree: ast.AST) -> int:
    deepest, layer = 0, [tree]
    while layer and deepest <= DEEPEST:
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]
        deepest += 1
    return deepest


def _node(tree: ast.expr, where: str) -> Node:
    match tree:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            if abs(number) <= sys.float_info.max:
                return Number(float(number))
        case ast.Name() | ast.Attribute() | ast.Constant(value=str()):
            return Quantity(_name(tree, where))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            part = _node(inner, where)
            return Number(-part.number) if isinstance(part, Number) else Applied(lambda a: -a, (part,))
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _node(inner, where)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            return Applied(OPERATORS[type(operator)], (_node(left, where), _node(right, where)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if args:
            return _call(name, args, where)
    raise ExpressionError(
        f"{where}: {ast.unparse(tree)}: expected numbers, quantities, + - * / **, and functions, {EXAMPLE}"
    )


def _call(name: str, args: Sequence[ast.expr], where: str) -> Node:
    percentile = PERCENTILE.fullmatch(name)
    if percentile or (name in NAMED_STATISTICS and len(args) == 1):
        if len(args) > 1 or not isinstance(args[0], ast.Name | ast.Attribute | ast.Constant):
            raise ExpressionError(f"{where}: {name}: expected one series, such as {name}(bneck.delay)")
        # p99 is 0.99, p999 is 0.999, p5 and p05 are 0.05.
        share = float(f"0.{percentile[1].zfill(2)}") if percentile else name
        return Statistic(share, _name(args[0], where))
    if name not in FUNCTIONS:
        known = [*NAMED_STATISTICS, "p50", "p95", "p99", *FUNCTIONS]
        listed = ", ".join(dict.fromkeys(known))
        raise ExpressionError(f"{where}: {name}: expected a function of {listed}{nearest(name, known)}")
    if name not in SEVERAL and len(args) != 1:
        raise ExpressionError(f"{where}: {name}: expected one argument")
    return Applied(FUNCTIONS[name], tuple(_node(arg, where) for arg in args))


def _name(tree: ast.expr, where: str) -> str:
    """A dotted name; in quotes one with a dash, which would else be a difference."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name):
            return f"{_name(inner, where)}.{name}"
        case ast.Constant(value=str(name)) if name.isprintable():
            return name
    raise ExpressionError(
        f"{where}: {ast.unparse(tree)}: expected a name such as bneck.delay, or 'l4s-1.rtt' in quotes"
    )
