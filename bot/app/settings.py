"""Settings in the rooms' own words."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

from bot.kernel.clock import Clock
from bot.kernel.ids import PersonId
from bot.llm.budget import MICROS, Limit, Limits, Price
from bot.llm.metered import Meter
from bot.orchestrator.specialists import Specialist
from bot.people.model import Handle, Origin, Person, Role
from config.charters import charters
from config.persona import consult
from config.schema import Models, Settings
from config.upkeep import Budget


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


def prices(settings: Settings) -> dict[str, Price]:
    """What each known model costs. What is not said of the cache is taken at its dearest."""
    return {
        name: Price(
            price.input,
            price.output,
            price.input if price.cache_read is None else price.cache_read,
            2 * price.input if price.cache_write is None else price.cache_write,
            price.window,
        )
        for name, price in settings.llm.known_prices.items()
    }


def limits(budget: Budget) -> Limits:
    given = {limit: getattr(budget, limit.value) for limit in Limit}
    most = {limit: round(dollars * MICROS) for limit, dollars in given.items() if dollars is not None}
    return Limits(most, budget.warn_percent / 100)


def made_meter(settings: Settings, clock: Clock) -> Meter:
    llm = settings.llm
    zone = settings.company.time_zone
    return Meter(clock, zone, prices(settings), limits(settings.budget), fallbacks(llm.models), free=llm.offline)


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
    """Names and settings of the channels that are on. The console's chat needs the console."""
    sections = ((name, getattr(settings.channels, name)) for name in type(settings.channels).model_fields)
    needs = {"web": settings.web_chat}
    return [(name, section) for name, section in sections if section.enabled and needs.get(name, True)]


def backup_folder(settings: Settings) -> Path:
    return settings.backup.folder or settings.data_dir / "backups"


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for a purpose, from the installation's one key (HKDF-expand, RFC 5869 s2.3, one block)."""
    return hmac.new(key, purpose.encode() + b"\x01", hashlib.sha256).digest()
