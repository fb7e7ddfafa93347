"""The charters of the specialists: those that come with the program, and what the settings make of them.

A charter is Markdown under a head of TOML between two lines of `+++`. Its text is the same for every turn, so that the
provider can keep it cached.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, cast

from config.faults import Fault, SettingsError
from config.schema import BUILT_IN_SPECIALISTS, Settings, Specialist

Tier = Literal["light", "standard", "deep"]
_FENCE = "+++"
_LARGEST = 20_000


@dataclass(frozen=True, slots=True)
class Charter:
    name: str
    title: str
    when: str
    """What it is consulted about."""
    tier: Tier
    domains: tuple[str, ...]
    """Of knowledge, that it may look into."""
    departments: tuple[str, ...]
    text: str
    """Markdown."""


@cache
def built_in() -> Mapping[str, Charter]:
    """The charters that come with the program, by name."""
    folder = files("config").joinpath("specialists")
    return {
        name: parse(name, folder.joinpath(f"{name}.md").read_text(encoding="utf-8")) for name in BUILT_IN_SPECIALISTS
    }


def parse(name: str, whole: str) -> Charter:
    """Raises ValueError (KeyError for a missing field) for a charter that is not well formed."""
    before, head, text = whole.split(f"{_FENCE}\n", 2)
    if before:
        raise ValueError(f"charter {name}: text before its head")
    fields = tomllib.loads(head)
    if fields["tier"] not in ("light", "standard", "deep"):
        raise ValueError(f"charter {name}: no tier {fields['tier']!r}")
    return Charter(
        name,
        str(fields["title"]),
        str(fields["when"]),
        cast("Tier", fields["tier"]),
        tuple(fields["domains"]),
        tuple(fields["departments"]),
        text.strip() + "\n",
    )


def charters(settings: Settings) -> tuple[Charter, ...]:
    """Who may be consulted, in the order of their names. `settings` keep the rules of `config.rules`.

    Raises `SettingsError` with a fault for each charter file that cannot be read.
    """
    found = dict(built_in())
    faults: list[Fault] = []
    for name, own in settings.specialists.items():
        if not own.enabled:
            found.pop(name, None)
            continue
        try:
            found[name] = _changed(found.get(name) or Charter(name, "", "", "standard", (), (), ""), own)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            problem = f"cannot be read: {reason}"
            allowed = f"a file in UTF-8 of at most {_LARGEST} bytes"
            faults.append(Fault(str(own.charter_file), f"specialists.{name}.charter_file", problem, allowed=allowed))
    if faults:
        raise SettingsError(faults)
    return tuple(found[name] for name in sorted(found))


def _changed(charter: Charter, own: Specialist) -> Charter:
    text = own.charter if own.charter_file is None else _read(own.charter_file)
    return replace(
        charter,
        title=own.title or charter.title,
        when=own.when or charter.when,
        tier=own.tier or charter.tier,
        domains=charter.domains if own.domains is None else own.domains,
        departments=charter.departments if own.departments is None else own.departments,
        text=charter.text if text is None else text.strip() + "\n",
    )


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        raw = stream.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise ValueError(f"larger than {_LARGEST} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if not text.strip():
        raise ValueError("empty")
    return text
