"""Fields of the profile, their bounds, what a prompt shows of them, and the file that they are kept in. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal, get_args

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

Known = Literal["name", "business", "stage", "goals", "departments", "people", "rules"]
KNOWN: tuple[Known, ...] = get_args(Known)
"""In the order in which they are shown; fields of the company's own follow, by name."""
LABELS: Mapping[str, str] = {"rules": "Working rules"}
MOST_FIELDS = 60
MOST_LINES = 60
LONGEST_LINE = 1_000
MOST_CHARACTERS = 16_000
"""Of the whole profile: it stands in every prompt."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_FILE_HEAD = """\
# The company's profile. `openexecutive company import FILE` takes it over.
# What stands under [public] may be told to people from outside; what stands under [company] to the company's own only.
# A field is a text or a list of texts. Known fields: {known}; any other name is yours.
"""


class Audience(StrEnum):
    """Who may be told a field."""

    PUBLIC = "public"
    COMPANY = "company"


class ProfileError(PermanentError):
    """Says to a person why the profile is not changed like that."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    lines: tuple[str, ...]
    """One, or the items of a list; never none, none of them blank."""
    audience: Audience


@dataclass(frozen=True, slots=True)
class Stored:
    field: Field
    version: int
    """Of the field, from 1."""
    changed_at: datetime
    changed_by: str


def field(name: str, lines: Iterable[str], audience: Audience) -> Field:
    """A field as it may be kept: each line on one line, blank ones left out. Raises `ProfileError`."""
    if not _NAME.fullmatch(name):
        raise ProfileError(f"{name!r} is no name for a field: small letters, digits and _, at most 40 characters")
    each = [_UNSHOWN.sub(" ", part).strip() for line in lines for part in line.splitlines()]
    kept = tuple(line for line in each if line)
    if not kept:
        raise ProfileError(f"{name}: there is no text; `openexecutive company unset {name}` takes a field away")
    if len(kept) > MOST_LINES:
        raise ProfileError(f"{name}: more than {MOST_LINES} lines")
    if any(len(line) > LONGEST_LINE for line in kept):
        raise ProfileError(f"{name}: a line of more than {LONGEST_LINE} characters")
    return Field(name, kept, audience)


def default_audience(name: str) -> Audience:
    return Audience.PUBLIC if name in ("name", "business") else Audience.COMPANY


def in_order(fields: Iterable[Field]) -> list[Field]:
    return sorted(fields, key=lambda each: (_rank(each.name), each.name))


def _rank(name: str) -> int:
    return KNOWN.index(name) if name in KNOWN else len(KNOWN)


def checked(fields: Sequence[Field]) -> None:
    """Raises `ProfileError` for a profile that is too large to stand in every prompt."""
    if len(fields) > MOST_FIELDS:
        raise ProfileError(f"more than {MOST_FIELDS} fields")
    size = sum(len(line) for each in fields for line in each.lines)
    if size > MOST_CHARACTERS:
        raise ProfileError(
            f"the profile would have {size} characters, and it stands in every prompt: {MOST_CHARACTERS} at most. "
            "What is longer belongs into a document."
        )


def block(fields: Iterable[Field], name: str, *, internal: bool) -> str:
    """The block of the prompt: the same bytes for the same fields. `name`: the company's, where no field tells it.
    `internal`: only people of the company read; otherwise it holds what is public."""
    shown = [each for each in in_order(fields) if internal or each.audience is Audience.PUBLIC]
    if all(each.name != "name" for each in shown):
        shown.insert(0, Field("name", (_UNSHOWN.sub(" ", name),), Audience.PUBLIC))
    return "# The company\n\n" + "\n".join(_shown(each) for each in shown) + "\n"


def label(name: str) -> str:
    return LABELS.get(name) or name[:1].upper() + name[1:].replace("_", " ")


def _shown(each: Field) -> str:
    if len(each.lines) == 1:
        return f"{label(each.name)}: {each.lines[0]}"
    return f"{label(each.name)}:\n" + "\n".join(f"- {line}" for line in each.lines)


def to_file(fields: Iterable[Field]) -> str:
    """The profile as TOML, a table for each audience."""
    ordered = in_order(fields)
    lines = [_FILE_HEAD.format(known=", ".join(KNOWN))]
    for audience in Audience:
        lines.append(f"[{audience.value}]")
        lines += [f"{each.name} = {_toml(each.lines)}" for each in ordered if each.audience is audience]
        lines.append("")
    return "\n".join(lines)


def _toml(lines: Sequence[str]) -> str:
    written = [json.dumps(line, ensure_ascii=False) for line in lines]
    return written[0] if len(written) == 1 else "[\n" + "".join(f"    {each},\n" for each in written) + "]"


def from_file(text: str) -> list[Field]:
    """Raises `ProfileError` for anything that is no profile."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"not TOML: {error}") from error
    fields: dict[str, Field] = {}
    for table, below in tree.items():
        if table not in list(Audience) or not isinstance(below, dict):
            raise ProfileError(f"{table}: fields stand under [public] or [company]")
        for name, value in below.items():
            lines = [value] if isinstance(value, str) else value
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise ProfileError(f"{table}.{name}: a text or a list of texts")
            if name in fields:
                raise ProfileError(f"{name} stands under both tables")
            fields[name] = field(name, lines, Audience(table))
    checked(list(fields.values()))
    return in_order(fields.values())
