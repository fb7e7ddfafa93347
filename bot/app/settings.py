"""Settings in the rooms' own words."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from bot.kernel.ids import PersonId
from bot.orchestrator.specialists import Specialist
from bot.people.model import Handle, Origin, Person, Role
from config.charters import charters
from config.persona import consult
from config.schema import Models, Settings


def roster(settings: Settings) -> dict[PersonId, Person]:
    """The people that settings name, as the people room knows them."""
    return {
        PersonId(key): Person(
            PersonId(key),
            entry.name,
            Role(entry.role),
            entry.departments,
            entry.time_zone,
            entry.quiet_hours,
            Origin.SETTINGS,
            active=True,
            handles=frozenset(
                Handle(channel, address, Origin.SETTINGS)
                for channel, addresses in entry.handles(key).items()
                for address in addresses
            ),
        )
        for key, entry in settings.roster.items()
    }


def fallbacks(models: Models) -> dict[str, str | None]:
    """Which model is asked when another is unavailable. Of one that has several parts, the first part that names a
    fallback decides."""
    found: dict[str, str | None] = {}
    for part in ("orchestrator", "deep", "standard", "light"):
        name, fallback = getattr(models, part), getattr(models, f"{part}_fallback")
        found[name] = found.get(name) or (fallback if fallback != name else None)
    return found


def specialists(settings: Settings) -> list[Specialist]:
    """Who may be consulted. Raises `SettingsError` for a charter file that cannot be read."""
    models = settings.llm.models
    names = {"light": models.light, "standard": models.standard, "deep": models.deep}
    return [
        Specialist(
            charter.name,
            charter.title,
            charter.when,
            names[charter.tier],
            charter.tier == "deep",
            charter.domains,
            f"{consult()}\n# Your field: {charter.title}\n\n{charter.text}",
        )
        for charter in charters(settings)
    ]


def enabled_channels(settings: Settings) -> list[tuple[str, Any]]:
    """Names and settings of the channels that are on."""
    sections = ((name, getattr(settings.channels, name)) for name in type(settings.channels).model_fields)
    return [(name, section) for name, section in sections if section.enabled]


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for a purpose, from the installation's one key (HKDF-expand, RFC 5869 s2.3, one block)."""
    return hmac.new(key, purpose.encode() + b"\x01", hashlib.sha256).digest()
