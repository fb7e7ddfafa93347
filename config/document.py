"""The settings as documents, made from the schema: the commented file that `openexecutive init` writes, and
`docs/settings.md` (`python -m config.document` writes it anew)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from config import keys
from config.keys import ANY, Key, Required, Table, dotted, environment_name, plain_value

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
_WIDTH = 100


def toml_value(value: object) -> str:
    """`value` as TOML 1.0 writes it: text, numbers, true and false, lists."""
    match plain_value(value):
        case bool(flag):
            return "true" if flag else "false"
        case int() | float() as number:
            return str(number)
        case str(text):
            return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list(items):
            return "[" + ", ".join(toml_value(item) for item in items) + "]"
        case other:
            raise TypeError(f"no setting has a value of {type(other)}")


def render_toml(choices: Mapping[str, object]) -> str:
    """The whole settings file as text: every key with description, default and what is allowed, commented out, but
    those of `choices` (dotted key, with its id: `people.anna.name`) set. Tables in which something is set come first,
    and in them what is set. KeyError for a key that is none."""
    chosen = {tuple(name.split(".")): value for name, value in choices.items()}
    for path in chosen:
        if keys.find(path) is None:
            raise KeyError(dotted(path))
    lines = [
        "# Settings of OpenExecutive. What is set stands first, in its table; every other key stands here with its",
        "# default: remove the # before it to set it. Each can also be given as an environment variable, for example",
        "# OPENEXECUTIVE_LOG_LEVEL, and secrets as files (systemd credentials, Docker secrets) named like the key.",
        "# `openexecutive doctor` checks them all.",
    ]
    # TOML knows keys of no table only at the top of a file.
    for table in sorted(keys.tables(), key=lambda table: (bool(table.path), not _has_choice(table, chosen))):
        lines += _toml_table(table, chosen)
    return "\n".join(lines) + "\n"


def _has_choice(table: Table, chosen: Mapping[keys.KeyPath, object]) -> bool:
    return any(keys.find(path) in table.keys for path in chosen)


def _set_first(table: Table, values: Mapping[Key, object]) -> Iterator[str]:
    """The keys of a table, those with a value first."""
    for key in table.keys:
        if key in values:
            yield from _toml_key(key, values[key])
    if values and len(values) < len(table.keys):
        yield "#"
    for key in table.keys:
        if key not in values:
            yield from _toml_key(key, None)


def _toml_table(table: Table, chosen: Mapping[keys.KeyPath, object]) -> Iterator[str]:
    values = {key: chosen[key.path] for key in table.keys if key.path in chosen}
    if not table.path:
        yield from ("", *_set_first(table, values))
        return
    if ANY in table.path:
        yield from ("", *_comment(table.description))
        yield from _toml_named(table, chosen)
        return
    yield from ("", *_comment(table.description), f"[{dotted(table.path)}]", *_set_first(table, values))


_EXAMPLES = {
    ("people",): "anna",
    ("specialists",): "finance",
    ("llm", "prices"): "some-model",
    ("ledger", "classes"): "send_email",
    ("ledger", "departments"): "finance",
    ("ledger", "deputies"): "anna",
}


def _toml_named(table: Table, chosen: Mapping[keys.KeyPath, object]) -> Iterator[str]:
    """A table for each id among the choices; without one, an example in comments."""
    parent = table.path[: table.path.index(ANY)]
    depth = len(parent)
    ids = dict.fromkeys(path[depth] for path in chosen if path[:depth] == parent)
    for each in ids:
        yield from ("", f"[{dotted(parent)}.{each}]")
        here = {key: (*parent, each, key.path[-1]) for key in table.keys}
        yield from _set_first(table, {key: chosen[path] for key, path in here.items() if path in chosen})
    if ids:
        return
    example = _EXAMPLES[parent]
    yield f"# [{dotted(parent)}.{example}]"
    for key in table.keys:
        if key.default is Required and key.numeric:
            yield from (*_comment(f"{key.description}. Allowed: {key.allowed}."), f"# {key.path[-1]} = 1.0")
        elif key.default is Required:
            yield f"# {key.path[-1]} = {toml_value(example.title())}"
        else:
            yield from _toml_key(key, None)


def _toml_key(key: Key, value: object) -> Iterator[str]:
    yield from _comment(f"{key.description}. Allowed: {key.allowed}.")
    name = key.path[-1]
    if value is not None:
        yield f"{name} = {toml_value(value)}"
    elif key.default is None or key.default is Required:
        yield f"# {name} ="
    else:
        yield f"# {name} = {toml_value(key.default)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def render_markdown() -> str:
    """`docs/settings.md` as text."""
    lines = [
        "# Settings",
        "",
        "<!-- Made from config/schema.py by `python -m config.document`. Change it there. -->",
        "",
        *_MARKDOWN_HEAD.strip().splitlines(),
    ]
    for table in keys.tables():
        if table.keys:
            lines += ["", f"## `[{dotted(table.path)}]`" if table.path else "## Top level", ""]
            lines += [table.description, ""] if table.path else []
            lines += ["| Key | Default | Allowed | |", "|---|---|---|---|"]
            lines += [_row(key) for key in table.keys]
    return "\n".join(lines) + "\n"


_MARKDOWN_HEAD = f"""
Settings are read once, at the start. Later sources win over earlier ones:

1. defaults;
2. the settings file: the one that `OPENEXECUTIVE_CONFIG` names, else `./openexecutive.toml`, else
   `/etc/openexecutive/openexecutive.toml`;
3. environment variables: `OPENEXECUTIVE_`, then the key's path in capitals joined by two underscores, for example
   `{environment_name(("channels", "telegram", "token"))}` for `channels.telegram.token`. Lists and tables are given as
   JSON; an empty variable counts as not set. `ANTHROPIC_API_KEY` is taken where `llm.api_key` is not set otherwise;
4. secret files, for the keys marked *secret*: systemd credentials (`$CREDENTIALS_DIRECTORY`) and Docker secrets
   (`/run/secrets`), named like the key, with dots or with two underscores: `channels.telegram.token`,
   `channels__telegram__token`.

All faults are told at once, with file and key; an unknown key is a fault. Secrets are never printed.
`openexecutive init` writes a commented file, `openexecutive doctor` checks every part that is configured.
Durations are written like `"90s"`, `"20m"`, `"2h"`, as a number of seconds, or as ISO 8601. `~` is understood in
paths; a relative path starts at the settings file's folder (in the environment: at the working directory).
"""


def _row(key: Key) -> str:
    if key.default is Required:
        default = "(must be given)"
    elif key.default is None:
        default = ""
    else:
        default = f"`{toml_value(key.default)}`"
    notes = ("*Secret.* " if key.secret else "") + key.description
    cells = (f"`{key.path[-1]}`", default, key.allowed, notes)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    DOCUMENT.write_text(render_markdown(), encoding="utf-8")
