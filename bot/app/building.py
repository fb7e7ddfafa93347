"""From settings and an open store to all rooms, wired."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

from bot.app import backups as rooms_of_backup
from bot.app import erasing as rooms_of_erasure
from bot.app import extraction as rooms_of_extraction
from bot.app import knowledge as rooms_of_knowledge
from bot.app import ledger as rooms_of_ledger
from bot.app import recall as rooms_of_recall
from bot.app import rights as rooms_of_rights
from bot.app import scheduling as rooms_of_scheduling
from bot.app.guard import may_still_be_sent
from bot.app.opening import Store
from bot.app.rooms import VERSION, Rooms
from bot.app.settings import derived_key, enabled_channels, fallbacks, made_meter, specialists
from bot.app.status import describe, told
from bot.app.upkeep import Refusals, Upkeep
from bot.erasure.memories import Forgetting
from bot.erasure.work import Beyond
from bot.extraction.tasks import KIND as EXTRACT
from bot.extraction.tasks import Extractions
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.sandbox import Sandbox
from bot.files.service import Files
from bot.gateway.channel import Channel, ChannelContext
from bot.intake.batch import Rules
from bot.intake.service import Intake
from bot.kernel.ids import BootId, new_id
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor
from bot.llm import service as llm
from bot.llm.budget import Purpose
from bot.llm.metered import Meter, Metered
from bot.llm.model import Model
from bot.orchestrator import basics, compactions, history, lookups, prompt, recollection
from bot.orchestrator.bringing import Bringer
from bot.orchestrator.chain_check import ChainCheck
from bot.orchestrator.compactions import Compactions, Compactor
from bot.orchestrator.ends import Ends
from bot.orchestrator.immediate import Immediate
from bot.orchestrator.introductions import Introductions
from bot.orchestrator.keeping import Keeping
from bot.orchestrator.lanes import Lanes
from bot.orchestrator.linking import Telling
from bot.orchestrator.placeholder import Placeholders
from bot.orchestrator.service import Orchestrator
from bot.orchestrator.specialists import Specialists
from bot.orchestrator.steps import Steps
from bot.orchestrator.tools import Registry
from bot.orchestrator.values import Parts
from bot.outbox.service import Outbox
from bot.people import store as people
from bot.tasks.worker import Failed, Handler, Worker
from config.effective import Effective
from config.persona import persona
from config.rules import local_mail_mode
from config.schema import Settings


async def build(store: Store, settings: Settings, shown: Sequence[Effective] = ()) -> Rooms:
    """`shown`: the settings in force, as they may be shown."""
    boot = BootId(new_id(store.clock.now()))
    receivers, doors, work = Supervisor(), Supervisor(), Supervisor()
    sandbox = Sandbox()
    files = Files(BlobFolder(settings.data_dir / "blobs"), Extractor(sandbox), Shrinker(sandbox))
    channels: dict[str, Channel] = {}
    outbox = Outbox(
        store.database, store.recorder, store.clock, work, channels, boot, may_still_be_sent, Backoff(),
        rooms_of_ledger.buttons(store).dress,
    )  # fmt: skip
    channels |= await _channels(store, settings, receivers, files, work, outbox)
    meter = made_meter(settings, store.clock)
    await meter.open(store.database)
    model = Metered(_provided(store, settings), meter, Purpose.ANSWER)
    frame = _frame(settings, meter)
    handlers: dict[str, Handler] = {}
    failed: dict[str, Failed] = {}
    lanes: Lanes
    intake: Intake
    tasks = Worker(
        store.database, store.recorder, store.clock, work, boot, handlers, Backoff(), failed=failed,
        busy=lambda: lanes.active > 0,
    )  # fmt: skip
    knowledge = rooms_of_knowledge.build(store, settings, work, tasks.ring)
    handlers |= knowledge.worker.handlers()
    remembering = rooms_of_recall.build(store, settings, work, knowledge.embedder, tasks.ring)
    handlers |= remembering.handlers
    team = Specialists(
        model.to(Purpose.CONSULT),
        store.clock,
        specialists(settings),
        basics.arithmetic(),
        partial(lookups.within, knowledge.search),
        settings.llm.consult_timeout,
        settings.llm.max_tokens,
    )
    forgetting: Forgetting
    scheduled = rooms_of_scheduling.actions(store)
    ledger = rooms_of_ledger.build(store, settings, outbox, channels, lambda: forgetting, tasks.ring, scheduled)
    handlers |= ledger.handlers

    def wake() -> None:
        tasks.ring()
        ledger.ring()

    scheduling = rooms_of_scheduling.build(
        store, settings, outbox, channels, work, boot, ledger.ledger, model, meter,
        lambda name: intake.port(name), wake,
    )  # fmt: skip
    handlers |= scheduling.handlers
    registry = Registry(
        [
            *basics.tools(store.database),
            *history.tools(store.database),
            *recollection.tools(store.database, remembering.recall),
            *lookups.tools(knowledge.search),
            *team.tools(),
            *ledger.tools,
            *scheduling.tools,
        ]
    )
    compact = Compactions(tasks.ring)
    compactor = Compactor(
        store.database, store.recorder, store.clock, model.to(Purpose.COMPACTION), meter, settings.llm.models.light,
        compact,
    )  # fmt: skip
    handlers[compactions.KIND] = compactor.handle
    extract = Extractions(store.recorder, tasks.ring, settings.memory.settle)
    extractor = rooms_of_extraction.extractor(store, settings, model, meter, specialists(settings))
    handlers[EXTRACT], failed[EXTRACT] = extractor.handle, extractor.failed
    handlers |= rooms_of_extraction.upkeep(store, settings).handlers()
    erasure = rooms_of_erasure.erasure(store, tasks.ring)
    backups = rooms_of_backup.backups(store, settings, VERSION)
    handlers |= backups.nightly.handlers()
    chain = ChainCheck(store.database, store.recorder, store.clock, store.audit_key, tasks.ring)
    handlers |= chain.handlers()
    tell = rooms_of_erasure.teller(store, outbox, channels)
    beyond = Beyond(
        (knowledge.index.purge, remembering.index.purge),
        backups.copies,
        rooms_of_backup.journal_of(settings),
        tell,
    )
    forgetting = rooms_of_erasure.forgetting(store, tasks.ring, backups.copies)
    handlers |= rooms_of_erasure.of_people(store, tasks.ring, backups.copies).handlers()
    handlers |= rooms_of_rights.handlers(store, tell)
    erasing = rooms_of_erasure.work(store, settings, erasure, channels, beyond)
    handlers |= erasing.handlers()
    parts = Parts(
        store.database, store.recorder, store.clock, outbox, files, model, frame, registry, channels, boot,
        settings.company.time_zone, settings.company.name, meter, model.to(Purpose.GATE), compact,
        remembering.recall,
        eraser=forgetting,
        extract=extract,
        verdicts=ledger.verdicts,
    )  # fmt: skip
    placeholders = Placeholders(parts)
    handlers |= Telling(store.database, store.clock, outbox, channels).handlers()
    handlers |= Bringer(store.database, store.clock, knowledge.library, outbox, channels).handlers()
    lanes = Lanes(
        Steps(parts, placeholders, Keeping(store.database, knowledge.library), ledger.verdicts),
        Ends(parts, placeholders),
        store.clock,
        work,
        Backoff(),
        at_once=settings.limits.turns,
        per_person=settings.limits.turns_per_person,
        max_attempts=settings.intake.max_attempts,
    )

    async def status_text() -> str:
        return describe(await told(rooms))

    introductions = Introductions(store.database, store.recorder, store.clock, outbox, channels)
    immediate = Immediate(
        store.database, store.clock, outbox, work, lanes, channels, introductions, status_text, ledger.verdicts
    )
    orchestrator = Orchestrator(store.database, lanes, immediate, boot)
    rules = Rules(
        settings.intake.stale_after,
        settings.intake.album_wait,
        settings.intake.max_text,
        settings.access.pairing_requests,
        settings.company.time_zone,
    )
    intake = Intake(
        store.database, store.recorder, store.clock, outbox, boot, rules, orchestrator, extract, ledger.bounces,
        scheduling.departed,
    )  # fmt: skip
    refusals = Refusals()
    upkeep = Upkeep(store.database, store.recorder, store.clock, intake, lanes, refusals)
    handlers |= upkeep.handlers()
    rooms = Rooms(
        store, settings, boot, channels, model, outbox, lanes, orchestrator, intake, receivers, doors, work,
        introductions, tasks, knowledge, remembering, erasure, erasing, forgetting, backups,
        ledger, scheduling, chain, shown, meter, store.clock.monotonic(), refusals,
        upkeep,
    )  # fmt: skip
    return rooms


async def _channels(
    store: Store, settings: Settings, receivers: Supervisor, files: Files, work: Supervisor, outbox: Outbox
) -> Mapping[str, Channel]:
    """Those that are on. Only their libraries are imported."""
    principals = await store.database.read(people.principals)
    channels: dict[str, Channel] = {}
    for name, section in enabled_channels(settings):
        context = ChannelContext(
            store.clock,
            receivers,
            files,
            settings.data_dir,
            ready(work, outbox, name),
            VERSION,
            settings.channels.terminal.person or (principals[0].id if principals else ""),
            derived_key(store.audit_key, f"channel:{name}"),
            local_mail_mode(settings, in_container=os.environ.get("OPENEXECUTIVE_IN_CONTAINER") == "1"),
        )
        channels[name] = import_module(f"channels.{name}").build(section, context)
    return channels


def ready(work: Supervisor, outbox: Outbox, name: str) -> Callable[[], None]:
    """What a channel calls when it can send again."""

    def ring() -> None:
        work.job(f"ready:{name}", outbox.channel_ready(name))

    return ring


def _provided(store: Store, settings: Settings) -> Model:
    return llm.build(
        provider=settings.llm.provider,
        api_key=settings.llm.api_key.get_secret_value() if settings.llm.api_key else None,
        base_url=settings.llm.base_url,
        fallback=fallbacks(settings.llm.models),
        clock=store.clock,
    )


def _frame(settings: Settings, meter: Meter) -> prompt.Frame:
    return prompt.Frame(
        settings.llm.models.orchestrator,
        settings.llm.models.light,
        persona(),
        settings.llm.max_tokens,
        min(settings.llm.history_tokens, meter.window(settings.llm.models.orchestrator) // 3),
        settings.llm.timeout,
    )
