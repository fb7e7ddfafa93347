"""The schema as a list of tables and keys: what the loader, the documents and the masked view walk along.

A path is a tuple of names, `("channels", "telegram", "token")`; written down it is joined by dots. The id of a person
and the name of a specialist or a model are names in it; in the list of keys they stand as `<id>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from config.near import nearest
from config.schema import Settings
from config.section import Section
from config.types import Allowed, duration_text

KeyPath = tuple[str, ...]
ANY = "<id>"
ENVIRONMENT_PREFIX = "OPENEXECUTIVE_"


class Required:
    """The default of a key that has none."""


@dataclass(frozen=True, slots=True)
class Key:
    path: KeyPath
    description: str
    default: object
    """`Required` (the class) if the key must be given."""
    allowed: str
    secret: bool
    shape: Literal["scalar", "list", "path"]
    numeric: bool = False

    @property
    def dotted(self) -> str:
        return dotted(self.path)


@dataclass(frozen=True, slots=True)
class Table:
    path: KeyPath
    description: str
    keys: tuple[Key, ...]


def dotted(path: Sequence[str]) -> str:
    return ".".join(path)


def environment_name(path: Sequence[str]) -> str:
    """`OPENEXECUTIVE_CHANNELS__TELEGRAM__TOKEN` for channels.telegram.token."""
    return ENVIRONMENT_PREFIX + "__".join(path).upper()


@cache
def tables() -> tuple[Table, ...]:
    """Every table in the order of the schema, the top level first (its path is empty)."""
    return tuple(_tables(Settings, ()))


@cache
def _by_path() -> dict[KeyPath, Key]:
    return {key.path: key for table in tables() for key in table.keys}


@cache
def _table_paths() -> frozenset[KeyPath]:
    paths = {table.path for table in tables()}
    return frozenset(paths | {path[:-1] for path in paths if path and path[-1] == ANY})


@cache
def named() -> frozenset[KeyPath]:
    """Tables that hold one table for each id that is chosen freely: `people`, `specialists`, `llm.prices`."""
    return frozenset(table.path[: table.path.index(ANY)] for table in tables() if ANY in table.path)


def _general(path: Sequence[str]) -> KeyPath:
    return tuple(ANY if tuple(path[:n]) in named() else name for n, name in enumerate(path))


def find(path: Sequence[str]) -> Key | None:
    """The key at `path`, an id that was chosen freely taken for `<id>`."""
    return _by_path().get(_general(path))


def is_table(path: Sequence[str]) -> bool:
    """Whether `path` names a table: `llm`, `people`, `people.anna`."""
    return _general(path) in _table_paths()


def secrets() -> tuple[Key, ...]:
    return tuple(key for key in _by_path().values() if key.secret)


def leaves(settings: Settings) -> Iterator[tuple[KeyPath, Key, object]]:
    """Every key with its value in `settings`, people and specialists one by one."""
    for table in tables():
        ids: Iterable[KeyPath] = [table.path]
        if ANY in table.path:
            parent = table.path[: table.path.index(ANY)]
            ids = [(*parent, each) for each in _at(settings, parent)]  # type: ignore[attr-defined]
        for path in ids:
            section = _at(settings, path)
            for key in table.keys:
                yield (*path, key.path[-1]), key, getattr(section, key.path[-1])


def _at(settings: Settings, path: KeyPath) -> object:
    section: object = settings
    for name in path:
        section = section[name] if isinstance(section, dict) else getattr(section, name)
    return section


def secret_values(settings: Settings) -> tuple[str, ...]:
    """The secrets that `settings` hold, for masking them wherever text leaves the process."""
    return tuple(value.get_secret_value() for _, _, value in leaves(settings) if isinstance(value, SecretStr))


def nearest_key(path: Sequence[str]) -> str | None:
    """The valid key or table that `path` most likely means, written with dots; None if none is near."""
    parent, name = tuple(path[:-1]), path[-1]
    everything = [*_by_path(), *(table.path for table in tables() if table.path)]
    siblings = {p[-1]: p for p in everything if p[:-1] == _general(parent) and p[-1] != ANY}
    if near := nearest(name.lower(), siblings):
        return dotted((*parent, near))
    if elsewhere := [p for p in everything if p[-1] == name.lower()]:
        return dotted(min(elsewhere, key=lambda p: (-_common(p, path), len(p), p in _by_path())))
    written = [dotted(p) for p in everything if ANY not in p]
    return nearest(dotted(path).lower(), written, 0.75)


def nearest_variable(name: str) -> str | None:
    """The environment variable of a setting that `name` most likely means."""
    names = [environment_name(key.path) for key in _by_path().values() if ANY not in key.path]
    return nearest(name.upper(), names, 0.7)


def nearest_secret(path: Sequence[str]) -> str | None:
    """The secret that a file of the name `path` most likely means."""
    return nearest(dotted(path).lower(), [key.dotted for key in secrets()], 0.8)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return len(set(a) & set(b))


# --- reading the schema ---------------------------------------------------------------------------------------------


def _tables(model: type[BaseModel], path: KeyPath) -> Iterator[Table]:
    keys: list[Key] = []
    below: list[tuple[type[BaseModel], KeyPath]] = []
    for name, info in model.model_fields.items():
        section, each = _section(info.annotation), _section_of_dict(info.annotation)
        if section is not None:
            below.append((section, (*path, name)))
        elif each is not None:
            below.append((each, (*path, name, ANY)))
        else:
            keys.append(_key((*path, name), info))
    yield Table(path, " ".join((model.__doc__ or "").split()), tuple(keys))
    for child, child_path in below:
        yield from _tables(child, child_path)


def _section(annotation: object) -> type[Section] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None


def _section_of_dict(annotation: object) -> type[Section] | None:
    return _section(get_args(annotation)[1]) if get_origin(annotation) is dict else None


def _key(path: KeyPath, info: FieldInfo) -> Key:
    kind = _plain(info.annotation)
    shape: Literal["scalar", "list", "path"] = "scalar"
    if get_origin(kind) is tuple:
        shape = "list"
    elif kind is Path:
        shape = "path"
    return Key(
        path=path,
        description=info.description or "",
        default=Required if info.is_required() else info.get_default(call_default_factory=False),
        allowed=_allowed(info.annotation, info.metadata),
        secret=kind is SecretStr,
        shape=shape,
        numeric=kind in (int, float),
    )


def _plain(annotation: object) -> object:
    """The type inside `Annotated[...]` and `... | None`."""
    inner, _ = _unwrap(annotation, ())
    return inner


def _unwrap(annotation: object, metadata: Iterable[object]) -> tuple[object, list[object]]:
    found = list(metadata)
    while True:
        arguments = get_args(annotation)
        if get_origin(annotation) is Annotated:
            annotation, extra = arguments[0], arguments[1:]
            for item in extra:
                found.extend(item.metadata if isinstance(item, FieldInfo) else [item])
        elif get_origin(annotation) in (Union, UnionType) and NoneType in arguments:
            annotation = next(argument for argument in arguments if argument is not NoneType)
        else:
            return annotation, found


def _allowed(annotation: object, metadata: Iterable[object]) -> str:
    kind, found = _unwrap(annotation, metadata)
    for item in found:
        if isinstance(item, Allowed):
            return item.text
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return " or ".join(f'"{choice}"' for choice in arguments)
    if get_origin(kind) is tuple:
        if arguments[-1] is Ellipsis:
            return f"a list, each item {_allowed(arguments[0], ())}"
        return f"a list of {len(arguments)}, each item {_allowed(arguments[0], ())}"
    if kind is bool:
        return "true or false"
    if kind is int:
        return _range(found)
    if kind is float:
        return "a number, 0 or more"
    if kind is str:
        longest = [item.max_length for item in found if isinstance(item, annotated_types.MaxLen)]
        return f"text of 1 to {longest[0]} characters" if longest else "text"
    raise TypeError(f"say what is allowed for {kind}")  # a new kind of value in the schema


def _range(metadata: Iterable[object]) -> str:
    low: Any = None
    high: Any = None
    for item in metadata:
        match item:
            case annotated_types.Ge(ge=bound):
                low = bound
            case annotated_types.Gt(gt=int(bound)):
                low = bound + 1
            case annotated_types.Le(le=bound):
                high = bound
    if low is not None and high is not None:
        return f"a whole number from {low} to {high}"
    return "a whole number" if low is None else f"a whole number, at least {low}"


def plain_value(value: object) -> object:
    """`value` of a setting as TOML and JSON have it: durations as "2h", paths as text, tuples as lists."""
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return value
