"""Settings from all their sources: defaults < settings file < environment < secret files.

Reading raises once, with every fault. Nothing is cached and nothing outside the arguments decides, except what the
files hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from config import keys, rules
from config.faults import DEFAULT, Fault, Kind, SettingsError, Source, shown
from config.keys import KeyPath
from config.schema import Settings
from config.sources import (
    DOCKER_SECRETS,
    SYSTEM_FILE,
    Layer,
    Tree,
    choose_file,
    read_environment,
    read_file,
    read_secret_files,
    resolve_paths,
)

__all__ = ["Loaded", "SettingsError", "find_data_dir", "load"]

_DATA_DIR_VARIABLE = keys.environment_name(("data_dir",))
_API_KEY: KeyPath = ("llm", "api_key")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with where they came from. `provenance` has every key that is not a default, dotted."""

    settings: Settings
    file: Path | None
    provenance: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[Fault, ...] = ()

    def source(self, key: str) -> Source:
        """Where the dotted `key` came from."""
        return self.provenance.get(key, DEFAULT)


def load(
    environ: Mapping[str, str],
    file: Path | None,
    cwd: Path,
    *,
    system_file: Path = SYSTEM_FILE,
    docker_secrets: Path = DOCKER_SECRETS,
) -> Loaded:
    """Read everything. `file` is a file named on the command line; without one it is `OPENEXECUTIVE_CONFIG`, else
    `openexecutive.toml` in `cwd`, else `system_file`. Raises `SettingsError` with every fault."""
    chosen = choose_file(environ, file, cwd, system_file)
    merged = _defaults()
    if environ.get("ANTHROPIC_API_KEY", "").strip():
        merged.put(_API_KEY, environ["ANTHROPIC_API_KEY"], Source(Kind.ENVIRONMENT, "ANTHROPIC_API_KEY"))
    readable = True
    if chosen is not None:
        of_file = read_file(chosen)
        readable = not of_file.faults
        merged.lay(of_file)
    merged.lay(read_environment(environ))
    merged.lay(read_secret_files(environ, docker_secrets))
    resolve_paths(merged, environ, cwd)

    settings, faults, dropped = _validate(merged, chosen)
    dropped += [tuple(fault.key.split(".")) for fault in merged.faults if fault.key is not None]
    warnings: list[Fault] = []
    # Of a file that could not be read nothing is known: what it might set must not be called missing.
    for finding in rules.check(settings) if readable else ():
        if any(_touches(key, path) for key in finding.keys for path in dropped):
            continue  # what the rule looks at is itself wrong: one fault, told once
        (faults if finding.level == "fault" else warnings).append(_fault_of(finding, merged, chosen))
    faults = [*merged.faults, *faults]
    if faults:
        raise SettingsError(faults)
    provenance = {keys.dotted(p): s for p, s in merged.sources.items() if p and s.kind is not Kind.DEFAULT}
    return Loaded(settings, chosen, MappingProxyType(provenance), tuple(warnings))


def find_data_dir(environ: Mapping[str, str], file: Path | None, cwd: Path, *, system_file: Path = SYSTEM_FILE) -> Path:
    """The data folder alone, by the same rules as `load`: for commands that only talk to a running daemon. The account
    that says them need not have the daemon's secrets, so faults elsewhere do not count. Raises `SettingsError` if the
    settings file cannot be read or `data_dir` itself is wrong."""
    chosen = choose_file(environ, file, cwd, system_file)
    merged = _defaults()
    if chosen is not None:
        merged.lay(read_file(chosen))
    merged.lay(read_environment({name: text for name, text in environ.items() if name == _DATA_DIR_VARIABLE}))
    resolve_paths(merged, environ, cwd)
    path = merged.tree["data_dir"]
    if not isinstance(path, str):
        key = keys.find(("data_dir",))
        merged.faults.append(
            Fault(
                _where(("data_dir",), merged, chosen), "data_dir", "not allowed", allowed=key.allowed if key else None
            )
        )
    if merged.faults:
        raise SettingsError(merged.faults)
    return Path(str(path))


def _defaults() -> Layer:
    """The defaults that depend on where the process runs; all others stand in the schema."""
    layer = Layer()
    layer.put(("data_dir",), str(Settings.model_fields["data_dir"].default), DEFAULT)
    return layer


def _validate(merged: Layer, file: Path | None) -> tuple[Settings, list[Fault], list[KeyPath]]:
    """Settings of what is right in `merged`, a fault for each thing that is not, and the paths left out for it."""
    faults: list[Fault] = []
    dropped: list[KeyPath] = []
    secrets = [str(v) for key in keys.secrets() if isinstance(v := _get(merged.tree, key.path), str)]
    while True:
        try:
            return Settings.model_validate(merged.tree), faults, dropped
        except ValidationError as error:
            wrong = error.errors(include_url=False)
            faults += [_fault_in(detail, merged, file, secrets) for detail in wrong]
            paths = {_place(detail)[0] for detail in wrong}
            dropped += paths
            if not [path for path in paths if _drop(merged.tree, path)]:
                raise SettingsError(faults) from None  # nothing to leave out: a default of ours is wrong


def _place(detail: ErrorDetails) -> tuple[KeyPath, str]:
    """The path that an error of pydantic concerns and has to go for it, and a remark such as "item 2"."""
    names: list[str] = []
    for part in detail["loc"]:
        if isinstance(part, int):
            return tuple(names), f"item {part + 1}: "
        if part == "[key]":
            return tuple(names), "not an id: "
        names.append(part)
    path = tuple(names)
    key = keys.find(path)
    needed = key is not None and key.default is keys.Required  # without it there is no person
    return (path[:-1] if needed else path), ""


def _fault_in(detail: ErrorDetails, merged: Layer, file: Path | None, secrets: list[str]) -> Fault:
    path, remark = _place(detail)
    if not remark:
        path = tuple(str(part) for part in detail["loc"])
    where = _where(path, merged, file)
    if detail["type"] == "extra_forbidden":
        near = keys.nearest_key(path)
        problem = "there is no such setting" + (f"; did you mean {near}?" if near else "")
        return Fault(where, keys.dotted(path), problem)
    key = keys.find(path)
    if key is None:  # a table, or an id that was chosen freely
        if remark:
            return Fault(where, keys.dotted(path), *_NO_ID[path[:-1]])
        return Fault(where, keys.dotted(path), "not a table", None, f"[{keys.dotted(path)}] with keys below it")
    match detail["type"]:
        case "missing":
            return Fault(where, keys.dotted(path), remark + "missing", None, key.allowed)
        case "value_error":
            problem = detail["msg"].removeprefix("Value error, ")
        case _:
            problem = "not allowed"
    given = None if key.secret else shown(detail.get("input"), secrets)
    return Fault(where, keys.dotted(path), remark + problem, given, key.allowed)


_NO_ID: Mapping[KeyPath, tuple[str, None, str]] = {
    ("people",): ("not an id for a person", None, "small letters, digits, - and _, at most 40 characters"),
    ("specialists",): ("not a name for a specialist", None, "small letters, digits and _, at most 31 characters"),
    ("llm", "prices"): ("not a name for a model", None, "1 to 120 characters"),
}


def _fault_of(finding: rules.Finding, merged: Layer, file: Path | None) -> Fault:
    path = tuple(finding.keys[0].split("."))
    return Fault(_where(path, merged, file), finding.keys[0], finding.problem, None, finding.allowed)


def _where(path: KeyPath, merged: Layer, file: Path | None) -> str:
    """The source of `path`; of something that is not there, where it could be."""
    for n in range(len(path), 0, -1):
        if path[:n] in merged.sources:
            return str(merged.sources[path[:n]])
    for start in (path, path[:-1]):  # a table is where its keys are; a missing key belongs beside its neighbours
        for known, source in merged.sources.items():
            if start and known[: len(start)] == start:
                return str(source)
    return f"{file or 'openexecutive.toml'} or environment variable {keys.environment_name(path)}"


def _touches(key: str, path: KeyPath) -> bool:
    names = tuple(key.split("."))
    shorter = min(len(names), len(path))
    return names[:shorter] == path[:shorter]


def _get(tree: object, path: KeyPath) -> object:
    for name in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(name)
    return tree


def _drop(tree: Tree, path: KeyPath) -> bool:
    parent = _get(tree, path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        return False
    del parent[path[-1]]
    return True
