"""The layers that settings come from, each read into a tree of raw values with the source of every leaf.

Lowest first: `openexecutive.toml`, environment variables, secret files. Reading reports its faults instead of raising
them, so that all are told at once.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from config import keys
from config.faults import Fault, Kind, Source
from config.keys import ENVIRONMENT_PREFIX, KeyPath

FILE_NAME = "openexecutive.toml"
SYSTEM_FILE = Path("/etc/openexecutive") / FILE_NAME
DOCKER_SECRETS = Path("/run/secrets")
CONFIG_VARIABLE = "OPENEXECUTIVE_CONFIG"
CONTAINER_VARIABLE = "OPENEXECUTIVE_IN_CONTAINER"
NOT_SETTINGS = frozenset({CONFIG_VARIABLE, CONTAINER_VARIABLE})
"""Variables of ours that are no settings."""

# Kubernetes and Docker links put these into every process beside a service that is called openexecutive.
_LINKS = re.compile(r"OPENEXECUTIVE_(SERVICE_(HOST|PORT)|PORT|NAME|ENV_.*|(SERVICE_)?PORT_\w+)")
NAMED = (("specialists",), ("people",))
"""Tables of tables whose names are chosen freely."""
_LARGEST_FILE = 1_000_000
_LARGEST_SECRET = 64_000

Tree = dict[str, object]


@dataclass(slots=True)
class Layer:
    """Raw values of one layer (or of several, merged), with the source of each leaf."""

    tree: Tree = field(default_factory=dict)
    sources: dict[KeyPath, Source] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def put(self, path: KeyPath, value: object, source: Source) -> None:
        """Set one leaf; a value that stands where a table is needed gives way."""
        branch = self.tree
        for name in path[:-1]:
            below = branch.get(name)
            if not isinstance(below, dict):
                below = branch[name] = {}
            branch = below
        branch[path[-1]] = value
        self.sources[path] = source

    def lay(self, upper: Layer) -> None:
        """Put everything of `upper` over this layer."""
        self.faults += upper.faults
        for path, value in _leaves(upper.tree, ()):
            if value == {} and len(path) == 2 and isinstance(self.tree.get(path[0], {}), dict):
                self._name(path)
                continue
            self.put(path, value, upper.sources.get(path) or _source_above(upper.sources, path))

    def _name(self, path: KeyPath) -> None:
        """A table of a name that is chosen freely, with nothing in it: it is meant all the same."""
        table = self.tree.setdefault(path[0], {})
        if isinstance(table, dict):
            table.setdefault(path[1], {})


def _source_above(sources: Mapping[KeyPath, Source], path: KeyPath) -> Source:
    return next(sources[path[:n]] for n in range(len(path), -1, -1) if path[:n] in sources)


def _leaves(tree: Mapping[str, object], path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for name, value in tree.items():
        if value == {} and path in NAMED:
            yield (*path, name), value
        elif isinstance(value, dict) and keys.is_table((*path, name)):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def choose_file(environ: Mapping[str, str], file: Path | None, cwd: Path, system_file: Path) -> Path | None:
    """The settings file to read. One that is named (`file`, `OPENEXECUTIVE_CONFIG`) has to exist; the usual ones
    are taken where they do."""
    named = file if file is not None else environ.get(CONFIG_VARIABLE) or None
    if named is not None:
        return cwd / _home(str(named), environ)
    return next((path for path in (cwd / FILE_NAME, system_file) if path.exists()), None)


def read_file(path: Path) -> Layer:
    source = Source(Kind.FILE, str(path))
    layer = Layer(sources={(): source})
    try:
        with path.open("rb") as stream:
            raw = stream.read(_LARGEST_FILE + 1)
        if len(raw) > _LARGEST_FILE:
            layer.faults.append(Fault(str(path), None, "larger than 1 MB", allowed="a settings file"))
            return layer
        layer.tree = tomllib.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        layer.faults.append(Fault(str(path), None, "there is no such file", allowed="`openexecutive init` writes one"))
    except OSError as error:
        layer.faults.append(Fault(str(path), None, f"cannot be read: {error.strerror or 'unknown reason'}"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        layer.faults.append(Fault(f"{path}, line {line}", None, "not UTF-8", allowed="text in UTF-8"))
    except tomllib.TOMLDecodeError as error:
        problem, place = _syntax(str(error))
        layer.faults.append(Fault(f"{path}{place}", None, f"not TOML: {problem}"))
    return layer


def _syntax(message: str) -> tuple[str, str]:
    """tomllib's message without what it quotes of the file, and the place as ", line 3, column 5"."""
    match = re.fullmatch(r"(?P<problem>.*?) \(at (?P<place>line \d+, column \d+|end of document)\)", message, re.DOTALL)
    if match is None:
        return "cannot be read", ""
    return re.sub(r"""(['"]).{8,}\1""", "…", match["problem"]), f", {match['place']}"


def read_environment(environ: Mapping[str, str]) -> Layer:
    """`OPENEXECUTIVE_<SECTION>__<KEY>`; lists and tables as JSON; an empty variable is one that is not set."""
    layer = Layer()
    # Shorter names first: a whole table as JSON is laid before its single keys.
    for name in sorted((n for n in environ if n.startswith(ENVIRONMENT_PREFIX)), key=lambda n: (n.count("__"), n)):
        text = environ[name]
        if name in NOT_SETTINGS or text == "" or _LINKS.fullmatch(name):
            continue
        path = tuple(part.lower() for part in name.removeprefix(ENVIRONMENT_PREFIX).split("__"))
        key = keys.find(path)
        if key is None and not keys.is_table(path):
            near = keys.nearest_variable(name)
            layer.faults.append(
                Fault(
                    f"environment variable {name}",
                    None,
                    "there is no such setting" + (f"; did you mean {near}?" if near else ""),
                )
            )
            continue
        source = Source(Kind.ENVIRONMENT, name)
        if key is not None and key.shape != "list":
            layer.put(path, text, source)
            continue
        needed = list if key is not None else dict
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, needed):
            example = f'{key.allowed}; for example ["a", "b"]' if key else 'a table; for example {"name": "Acme"}'
            layer.faults.append(Fault(str(source), keys.dotted(path), "not the JSON it must be", allowed=example))
            continue
        part = Layer(sources={path: source})
        part.put(path, value, source)
        layer.lay(part)
    return layer


def read_secret_files(environ: Mapping[str, str], docker_secrets: Path) -> Layer:
    """systemd's `$CREDENTIALS_DIRECTORY` over Docker's secrets: files named like the key, with dots or with `__`."""
    layer = Layer()
    folders = [docker_secrets]
    if credentials := environ.get("CREDENTIALS_DIRECTORY"):
        folders.append(Path(credentials))
        layer.faults += _misspelt(Path(credentials))
    for folder in folders:
        for key in keys.secrets():
            for file in (folder / "__".join(key.path), folder / key.dotted):
                _read_secret(layer, key, file)
    return layer


def _read_secret(layer: Layer, key: keys.Key, file: Path) -> None:
    try:
        with file.open("rb") as stream:
            raw = stream.read(_LARGEST_SECRET + 1)
        text = raw.decode().strip()
    except FileNotFoundError:
        return
    except OSError as error:
        layer.faults.append(Fault(str(file), key.dotted, f"cannot be read: {error.strerror or 'unknown reason'}"))
        return
    except UnicodeDecodeError:
        layer.faults.append(Fault(str(file), key.dotted, "not UTF-8", allowed=key.allowed))
        return
    if not text or len(raw) > _LARGEST_SECRET:
        problem = "larger than a secret can be" if text else "empty"
        layer.faults.append(Fault(str(file), key.dotted, problem, allowed=key.allowed))
        return
    layer.put(key.path, text, Source(Kind.SECRET_FILE, str(file)))


def _misspelt(folder: Path) -> Iterator[Fault]:
    """Credentials whose name nearly is a secret's: others may be there for other ends (a certificate's key)."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        yield Fault(str(folder), None, f"cannot be read: {error.strerror or 'unknown reason'}")
        return
    for name in names:
        path = tuple(name.replace("__", ".").split("."))
        key = keys.find(path) if path else None
        if key is not None and key.secret:
            continue
        if key is not None:
            yield Fault(str(folder / name), key.dotted, "not a secret: set it in the settings file or the environment")
        elif len(path) > 1 and (near := keys.nearest_secret(path)) is not None:
            yield Fault(str(folder / name), None, f"there is no such setting; did you mean {near}?")


def resolve_paths(layer: Layer, environ: Mapping[str, str], cwd: Path) -> None:
    """Make every path absolute, in place: `~` is the account's home; a relative path in the settings file starts at
    that file's folder, elsewhere at `cwd`."""
    for path, value in list(_leaves(layer.tree, ())):
        key = keys.find(path)
        if key is None or key.shape != "path" or not isinstance(value, str) or not value:
            continue
        source = _source_above(layer.sources, path)
        base = Path(source.where).parent if source.kind is Kind.FILE else cwd
        layer.put(path, str(cwd / base / _home(value, environ)), source)


def _home(text: str, environ: Mapping[str, str]) -> Path:
    if text == "~" or text.startswith("~/"):
        home = environ.get("HOME")
        return (Path(home) if home else Path.home()) / text[2:]
    return Path(text)
