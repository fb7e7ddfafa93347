"""Tools that need nothing but the asker: exact arithmetic, dates, the time, and who is who."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, Field

from bot.kernel.errors import PermanentError
from bot.orchestrator.tools import Asker, Outcome, Tool
from bot.people import store as people
from bot.sessions.audience import Audience
from bot.storage.database import Database

DIGITS = 40
LONGEST = 400
MOST_POWER = 1_000


class Calculation(BaseModel):
    expression: str = Field(
        description="numbers, + - * / // % ** and parentheses, and round(x, digits), min, max, sum, abs; for example "
        "round((1200000 - 310000) / 74000, 1)",
        max_length=LONGEST,
    )


class DateSum(BaseModel):
    start: date = Field(description="ISO date")
    add_days: int = Field(0, ge=-100_000, le=100_000)
    add_months: int = Field(0, ge=-2_400, le=2_400, description="a day that the month lacks becomes its last day")
    until: date | None = Field(None, description="count the days from start to this date instead")


class When(BaseModel):
    time_zone: str | None = Field(None, description="IANA name; left out: the asker's own")


class Who(BaseModel):
    department: str | None = Field(None, description="only people of this department")


async def calculate(asker: Asker, arguments: Calculation) -> Outcome:
    return Outcome(f"{arguments.expression} = {evaluate(arguments.expression)}")


def evaluate(expression: str) -> Decimal:
    """Decimal arithmetic with 40 digits: what accountants expect of 0.1 + 0.2. Raises `PermanentError` in words."""
    try:
        tree = ast.parse(expression.replace("_", "").replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PermanentError(f"not an expression: {expression}") from error
    with localcontext() as context:
        context.prec = DIGITS
        try:
            value = _value(tree.body, 0)
        except DivisionByZero as error:
            raise PermanentError("division by zero") from error
        except (InvalidOperation, Overflow) as error:
            raise PermanentError("the result cannot be computed") from error
        return _plain(value)


async def sum_dates(asker: Asker, arguments: DateSum) -> Outcome:
    if arguments.until is not None:
        days = (arguments.until - arguments.start).days
        first, last = arguments.start, arguments.until
        return Outcome(f"From {first} ({first:%A}) to {last} ({last:%A}): {days} days.")
    try:
        moved = _add_months(arguments.start, arguments.add_months) + timedelta(days=arguments.add_days)
    except (OverflowError, ValueError) as error:
        raise PermanentError("that date lies outside of the calendar") from error
    return Outcome(f"{moved} ({moved:%A})")


async def current_time(asker: Asker, arguments: When) -> Outcome:
    zone = arguments.time_zone or asker.time_zone
    if zone not in available_timezones():
        raise PermanentError(f"{zone!r} is no IANA time zone")
    local = asker.now.astimezone(ZoneInfo(zone))
    return Outcome(f"{local:%A %Y-%m-%d %H:%M} in {zone} (UTC{local:%z})")


def arithmetic() -> list[Tool[Any]]:
    """What whoever gives figures needs."""
    return [
        Tool("calculate", "Exact arithmetic. Use it for every calculation that matters.", Calculation, calculate),
        Tool("date_sum", "Add days or months to a date, or count the days between two.", DateSum, sum_dates),
    ]


def tools(database: Database) -> list[Tool[Any]]:
    async def list_people(asker: Asker, arguments: Who) -> Outcome:
        if asker.audience is Audience.EXTERNAL:
            raise PermanentError("people from outside read here, so the roster is not shown")
        everyone = await database.read(people.everyone)
        lines = [
            f"- {person.name}: {', '.join((person.role.value, *person.departments))}"
            for person in everyone
            if person.active and (arguments.department is None or arguments.department in person.departments)
        ]
        return Outcome("\n".join(lines) or "Nobody.")

    return [
        *arithmetic(),
        Tool("current_time", "The time now, in the asker's zone or another.", When, current_time),
        Tool("list_people", "The people of the company, with their roles and departments.", Who, list_people),
    ]


_BINARY: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: _floor(a / b),
    ast.Mod: lambda a, b: a - b * _floor(a / b),
}


def _value(node: ast.expr, depth: int) -> Decimal:
    if depth > 60:
        raise PermanentError("the expression is nested too deeply")
    match node:
        case ast.Constant(value=bool()):
            raise PermanentError("only numbers can be calculated with")
        case ast.Constant(value=int() | float()):
            return Decimal(ast.unparse(node))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, depth + 1)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand, depth + 1)
        case ast.BinOp(op=ast.Pow()):
            return _power(_value(node.left, depth + 1), _value(node.right, depth + 1))
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_value(node.left, depth + 1), _value(node.right, depth + 1))
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return _call(name, [_value(argument, depth + 1) for argument in node.args])
        case _:
            raise PermanentError(f"{ast.unparse(node)} cannot be calculated")


def _floor(value: Decimal) -> Decimal:
    """Towards minus infinity, as in mathematics; `Decimal`'s own `//` goes towards zero."""
    return value.to_integral_value(rounding="ROUND_FLOOR")


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > MOST_POWER:
        raise PermanentError("the exponent is too large")
    return base**exponent


def _call(name: str, values: list[Decimal]) -> Decimal:
    match name, values:
        case "round", [value]:
            return value.quantize(Decimal(1), rounding="ROUND_HALF_UP")
        case "round", [value, digits] if digits == int(digits) and abs(digits) <= 20:
            return value.quantize(Decimal(1).scaleb(-int(digits)), rounding="ROUND_HALF_UP")
        case "abs", [value]:
            return abs(value)
        case "min", [_, *_]:
            return min(values)
        case "max", [_, *_]:
            return max(values)
        case "sum", _:
            return sum(values, Decimal(0))
        case _:
            raise PermanentError(f"{name} with {len(values)} numbers is not known")


def _plain(value: Decimal) -> Decimal:
    """Without an exponent and without the noise of the last digits of a division."""
    rounded = value.quantize(Decimal("1e-12")) if abs(value) < Decimal("1e20") else value
    text = format(rounded.normalize(), "f")
    return Decimal(text)


def _add_months(start: date, months: int) -> date:
    month = start.month - 1 + months
    year, month = start.year + month // 12, month % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, min(start.day, (following - timedelta(days=1)).day))
