"""The reading of what was said and the upkeep of memories, from settings."""

from __future__ import annotations

from bot.app.erasing import tombstone_key
from bot.app.opening import Store
from bot.extraction.work import Extractor
from bot.llm.budget import Purpose
from bot.llm.metered import Meter, Metered
from bot.memory.upkeep import Upkeep
from bot.orchestrator.specialists import Specialist
from config.schema import Settings


def extractor(
    store: Store, settings: Settings, model: Metered, meter: Meter, specialists: list[Specialist]
) -> Extractor:
    return Extractor(
        store.database,
        store.recorder,
        store.clock,
        model.to(Purpose.EXTRACTION),
        meter,
        settings.llm.models.light,
        tombstone_key(store.audit_key),
        settings.company.time_zone,
        frozenset(each.name for each in specialists),
    )


def upkeep(store: Store, settings: Settings) -> Upkeep:
    return Upkeep(store.database, store.recorder, store.clock, settings.company.time_zone)
