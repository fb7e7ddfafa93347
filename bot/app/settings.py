"""Settings in the rooms' own words."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from bot.kernel.ids import PersonId
from bot.people.model import Handle, Origin, Person, Role
from config.schema import Settings


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


def enabled_channels(settings: Settings) -> list[tuple[str, Any]]:
    """Names and settings of the channels that are on."""
    sections = ((name, getattr(settings.channels, name)) for name in type(settings.channels).model_fields)
    return [(name, section) for name, section in sections if section.enabled]


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for a purpose, from the installation's one key (HKDF-expand, RFC 5869 s2.3, one block)."""
    return hmac.new(key, purpose.encode() + b"\x01", hashlib.sha256).digest()
