"""What is wrong with a request, for who made it: the details of a validation (pydantic's) in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST = 20
"""Faults that are told."""
A_DAY = "a day like 2026-03-01"
AN_INSTANT = "an instant with its zone like 2026-03-01T12:00:00Z"
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "has to be a text",
    "int_type": "has to be a whole number",
    "int_parsing": "has to be a whole number",
    "int_from_float": "has to be a whole number",
    "int_parsing_size": "is too large a number",
    "bool_type": "has to be true or false",
    "bool_parsing": "has to be true or false",
    "model_type": "has to be an object",
    "model_attributes_type": "has to be an object",
    "dict_type": "has to be an object",
    "tuple_type": "has to be a list",
    "list_type": "has to be a list",
    "json_invalid": "is no JSON",
    "none_required": "may be left out",
}
_DAYS = ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact")
_INSTANTS = ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware")
_KINDS = frozenset({"date", "datetime", "str", "int", "bool", "none"})
"""Names of the forms that a field may have, in the place of an error: of no use to who asked."""


def in_words(details: Sequence[Mapping[str, Any]]) -> str:
    """``due: has to be a day like 2026-03-01 or empty; reason: is missing``"""
    found: dict[str, list[str]] = {}
    for each in details[:MOST]:
        told = found.setdefault(_place(each["loc"]), [])
        words = _words(each["type"], each.get("ctx") or {}, each["msg"])
        if words not in told:
            told.append(words)
    return "; ".join(f"{place}: {_either(told)}" for place, told in found.items())


def _place(loc: Iterable[object]) -> str:
    parts = [part for part in loc if isinstance(part, str)]
    names = parts[:1] + [part for part in parts[1:] if "[" not in part and part not in _KINDS]
    return ".".join(names) or "body"


def _words(kind: str, told: Mapping[str, Any], otherwise: str) -> str:
    match kind:
        case "enum" | "literal_error":
            expected = str(told["expected"]).replace("''", "empty").replace("'", "")
            return f"has to be {expected}"
        case "string_too_long" | "too_long":
            return f"is too long: {told['max_length']} at most"
        case "string_too_short" | "too_short":
            return f"is too short: {told['min_length']} at least"
        case "greater_than_equal":
            return f"has to be {told['ge']} or more"
        case "less_than_equal":
            return f"has to be {told['le']} or less"
        case "value_error":
            return str(told["error"])
        case _ if kind in _DAYS:
            return f"has to be {A_DAY}"
        case _ if kind in _INSTANTS:
            return f"has to be {AN_INSTANT}"
        case _:
            return _WORDS.get(kind, otherwise)


def _either(told: Sequence[str]) -> str:
    """A field that may have several forms has a fault for each."""
    first, *others = told
    return " or ".join([first, *(each.removeprefix("has to be ") for each in others)])
