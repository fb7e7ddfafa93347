"""All rooms, wired, and their life from the first start to the last send."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from functools import partial
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any

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
from bot.app.settings import derived_key, enabled_channels, fallbacks, made_meter, specialists
from bot.app.status import describe, in_a_word
from bot.audit.events import SYSTEM, AuthRefused, DaemonStarted, DaemonStopped, Record, SettingChanged
from bot.control import ops, ops_backup, ops_console, ops_export, ops_knowledge, ops_sessions, ops_tasks
from bot.control.server import Server as ControlServer
from bot.erasure.memories import Forgetting
from bot.erasure.service import Erasure
from bot.erasure.work import Beyond, Work
from bot.extraction.tasks import KIND as EXTRACT
from bot.extraction.tasks import Extractions
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.sandbox import Sandbox
from bot.files.service import Files
from bot.gateway.channel import Channel, ChannelContext, LocalHandler
from bot.intake import store as inbox_store
from bot.intake.batch import Rules
from bot.intake.service import Intake
from bot.kernel.errors import PermanentError
from bot.kernel.garbage import set_aside
from bot.kernel.ids import BootId, SessionId, new_id
from bot.kernel.notify import notify, watchdog_interval
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
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
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.people import store as people
from bot.storage.database import Tx
from bot.tasks import store as task_store
from bot.tasks.worker import Done, Failed, Handler, Worker
from config.effective import Effective
from config.persona import persona
from config.rules import local_mail_mode
from config.schema import Settings

log = logging.getLogger(__name__)

UPKEEP = "upkeep"
UPKEEP_EVERY = timedelta(hours=1)
TASKS_END_WITHIN = timedelta(seconds=5)
"""At a stop; what has not ended then runs again after the next start."""
VERSION = installed_version("openexecutive")


@dataclass(slots=True)
class Daemon:
    """All rooms, wired. `live` runs them."""

    store: Store
    settings: Settings
    boot: BootId
    channels: dict[str, Channel]
    model: Model
    outbox: Outbox
    lanes: Lanes
    orchestrator: Orchestrator
    intake: Intake
    receivers: Supervisor
    doors: Supervisor
    work: Supervisor
    introductions: Introductions
    tasks: Worker
    knowledge: rooms_of_knowledge.Knowledge
    remembering: rooms_of_recall.Remembering
    erasure: Erasure
    erasing: Work
    forgetting: Forgetting
    backups: rooms_of_backup.Backups
    ledger: rooms_of_ledger.Room
    scheduling: rooms_of_scheduling.Room
    chain: ChainCheck
    shown: Sequence[Effective]
    """The settings in force, as they may be shown."""
    meter: Meter
    started: float
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    web_port: int | None = None

    @classmethod
    async def build(cls, store: Store, settings: Settings, shown: Sequence[Effective] = ()) -> Daemon:
        boot = BootId(new_id(store.clock.now()))
        receivers, doors, work = Supervisor(), Supervisor(), Supervisor()
        sandbox = Sandbox()
        files = Files(BlobFolder(settings.data_dir / "blobs"), Extractor(sandbox), Shrinker(sandbox))
        channels: dict[str, Channel] = {}
        outbox = Outbox(
            store.database, store.recorder, store.clock, work, channels, boot, may_still_be_sent, Backoff(),
            rooms_of_ledger.buttons(store).dress,
        )  # fmt: skip
        principal = await store.database.read(people.principals)
        for name, section in enabled_channels(settings):
            context = ChannelContext(
                store.clock,
                receivers,
                files,
                settings.data_dir,
                _ready(work, outbox, name),
                VERSION,
                settings.channels.terminal.person or (principal[0].id if principal else ""),
                derived_key(store.audit_key, f"channel:{name}"),
                local_mail_mode(settings, in_container=os.environ.get("OPENEXECUTIVE_IN_CONTAINER") == "1"),
            )
            channels[name] = import_module(f"channels.{name}").build(section, context)
        meter = made_meter(settings, store.clock)
        await meter.open(store.database)
        provided = llm.build(
            provider=settings.llm.provider,
            api_key=settings.llm.api_key.get_secret_value() if settings.llm.api_key else None,
            base_url=settings.llm.base_url,
            fallback=fallbacks(settings.llm.models),
            clock=store.clock,
        )
        model = Metered(provided, meter, Purpose.ANSWER)
        frame = prompt.Frame(
            settings.llm.models.orchestrator,
            settings.llm.models.light,
            persona(),
            settings.llm.max_tokens,
            min(settings.llm.history_tokens, meter.window(settings.llm.models.orchestrator) // 3),
            settings.llm.timeout,
        )
        handlers: dict[str, Handler] = {}
        failed: dict[str, Failed] = {}
        daemon: Daemon
        tasks = Worker(
            store.database, store.recorder, store.clock, work, boot, handlers, Backoff(), failed=failed,
            busy=lambda: daemon.lanes.active > 0,
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
            lambda name: daemon.intake.port(name), wake,
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
            return describe(await daemon.status())

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
        daemon = cls(
            store, settings, boot, channels, model, outbox, lanes, orchestrator, intake, receivers, doors, work,
            introductions, tasks, knowledge, remembering, erasure, erasing, forgetting, backups,
            ledger, scheduling, chain, shown, meter, store.clock.monotonic(),
        )  # fmt: skip
        handlers[UPKEEP] = daemon.upkeep
        return daemon

    async def live(self, greet: Callable[[str], None] | None = None) -> int:
        """Until a signal, or the failure of a service; the exit code. `greet` is told a link that opens the console."""
        gc.freeze()  # what is here now stays for the life of the daemon: no collection looks at it again
        gc.enable()
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
        await self._recover()
        self._open_control()
        self.work.service("outbox", self.outbox.run())
        await self.orchestrator.start()
        for name, channel in self.channels.items():
            self.receivers.service(f"channel:{name}", channel.run(self.intake.port(name)))
        await asyncio.sleep(0)  # they begin to connect while the web server is being imported
        try:
            self._open_web()
        except PermanentError:
            await self._stop()
            raise
        self.work.service("introductions", self.introductions.run())
        self.work.service("tasks", self.tasks.run())
        self.ledger.start(self.work)
        self.scheduling.start(self.work)
        await self.knowledge.worker.start()
        await self.remembering.index.start()
        self.work.service("watchdog", self._watchdog())
        self.work.service("garbage", set_aside(self.store.clock))
        notify(os.environ, "READY=1")
        head = self.store.recorder.head
        log.info("started, version %s, boot %s, audit head %d:%s", VERSION, self.boot, head.id, head.hash)
        log.info("model: %s; channels: %s; talk to it with `openexecutive chat`", self.model.provider, self._named())
        if greet is not None and (link := await self._consoles().first()) is not None:
            greet(link)
        failure = await self._until(stopping)
        drained = await self._stop()
        return 0 if failure is None and drained else 1 if failure is not None else 0

    def _named(self) -> str:
        """The channels, and where each receives as far as it is known already."""
        where = {name: channel.health().where for name, channel in self.channels.items()}
        return ", ".join(f"{name} at {place}" if place else name for name, place in where.items()) or "none"

    async def status(self) -> dict[str, Any]:
        """What the daemon tells about itself. No message's text, no secret."""
        now = self.store.clock.now()
        model, trouble = self.model.health(), self.store.database.trouble
        outbox_counts = await self.store.database.read(outbox_store.counts)
        yesterday = now - timedelta(days=1)
        inbox_counts = await self.store.database.read(lambda c: inbox_store.counts(c, yesterday), long=True)
        uptime = self.store.clock.monotonic() - self.started
        channels = {}
        healths = {name: channel.health() for name, channel in self.channels.items()}
        for name, health in healths.items():
            channels[name] = {
                "receiving": health.receiving,
                "sending": health.sending,
                "reason": health.reason,
                "where": health.where,
            }
        return {
            "status": in_a_word(model.ok and trouble is None, healths.values(), timedelta(seconds=uptime)),
            "version": VERSION,
            "boot": self.boot,
            "uptime_seconds": round(uptime),
            "store": {
                "ok": trouble is None,
                "reason": trouble,
                "audit_rows": self.store.recorder.head.id,
            },
            "model": {"provider": self.model.provider, "ok": model.ok, "reason": model.reason},
            "channels": channels,
            "inbox_last_day": inbox_counts,
            "outbox": outbox_counts,
            "knowledge": await self.knowledge.status(self.store),
            "tasks": await self.store.database.read(task_store.counts),
            "tasks_in_trouble": await self.store.database.read(task_store.trouble),
            "lanes": self.lanes.active,
        }

    # --- start and stop --------------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        """What an earlier process left: its turns wait to be run again, its sends are in doubt."""
        digest = hashlib.sha256(self.settings.model_dump_json().encode()).hexdigest()[:16]

        def unit(tx: Tx) -> None:
            voided, doubtful = self.orchestrator.recover(tx), self.outbox.recover(tx)
            self.tasks.recover(tx)
            task_store.enqueue(tx, UPKEEP, UPKEEP, {}, self.store.clock.now(), lane=UPKEEP)
            self.erasing.start(tx)
            self.ledger.recover(tx)
            rooms_of_extraction.upkeep(self.store, self.settings).start(tx)
            self.remembering.queue_check(tx)
            self.backups.nightly.start(tx)
            self.store.recorder.record(tx, Record(DaemonStarted(self.boot, VERSION, voided, doubtful)))
            self.store.recorder.record(tx, Record(SettingChanged((), digest)))

        await self.store.database.write(unit)

    def _open_control(self) -> None:
        handlers: dict[str, LocalHandler] = dict(
            ops.handlers(
                self.store.database,
                self.store.recorder,
                self.store.clock,
                self.status,
                self.intake.forget_rooms,
                audit_key=self.store.audit_key,
                time_zone=self.settings.company.time_zone,
                company=self.settings.company.name,
                outbox=self.outbox,
                ring=self.tasks.ring,
            )
        )
        for channel in self.channels.values():
            handlers |= channel.local()
        handlers |= ops_tasks.handlers(self.store.database, self.store.recorder, self.store.clock, self.tasks.ring)
        handlers |= ops_sessions.handlers(self.store.database, self.erasure, self.intake.forget_rooms, alone=False)
        handlers |= rooms_of_rights.operations(
            self.store,
            self.forgetting,
            self.tasks.ring,
            self.remembering.reindexed,
            self.remembering.differences,
            local_person=self.settings.channels.terminal.person,
        )
        handlers |= self.ledger.operations(self.settings)
        handlers |= self._consoles().handlers()
        handlers |= self.scheduling.operations(self.settings)
        handlers |= ops_export.Exporting(self.store.database, self.store.recorder).handlers()
        handlers |= ops_backup.Keeping(
            self.store.database, self.store.recorder, self.backups.maker, self.backups.nightly, self._wake, self.boot,
            alone=False,
        ).handlers()  # fmt: skip
        handlers |= ops_knowledge.handlers(
            self.store.database,
            self.knowledge.library,
            self.knowledge.search,
            self.knowledge.index,
            self.knowledge.eraser,
            alone=False,
        )
        control = ControlServer(self.settings.data_dir / "control.sock", handlers, self._refuse("socket"))
        control.listen()
        self.doors.service("control", control.run())

    def _open_web(self) -> None:
        """Its library is loaded only now, while the channels connect. Raises `PermanentError` for a taken port."""
        if self.settings.web.enabled:
            web = self._web(import_module("bot.app.web"))
            web.listen()
            self.web_port = web.port
            self.doors.service("web", web.run())

    def _web(self, rooms_of_web: Any) -> Any:
        refuse, hub = self._refuse("web"), rooms_of_web.Hub()
        visitors = rooms_of_web.visitors(self.store, self.settings)
        routes = [
            *rooms_of_rights.routes(
                self.store, self.forgetting, VERSION, refuse, self.ledger.clerk("api"), self.scheduling.desk, visitors
            )
        ]
        if visitors is not None:
            send = rooms_of_web.sender(self.store, self.settings, self.outbox, self.channels)
            documents = rooms_of_web.documents(self.knowledge, self.settings, self.work)
            linking = rooms_of_web.linking(self.store, self.settings, self.intake, self.outbox, self.tasks.ring)
            routes += rooms_of_web.pages(
                self.store, self.settings, VERSION, self.status, refuse, send, visitors, hub,
                rooms_of_web.remembered(self.remembering, self.forgetting, self.settings), documents,
                linking,
                self.ledger.clerk("web"), self.scheduling.desk, self.chain,
                rooms_of_web.house(self.settings, self.shown, self.backups, self.tasks.ring), self.meter,
                rooms_of_web.chats(self.store, self.settings, self.channels, self.remembering.indexing.bring),
            )  # fmt: skip
        return rooms_of_web.server(self.settings, self.channels, self.status, refuse, routes, hub)

    def _consoles(self) -> ops_console.Consoles:
        person = self.settings.channels.terminal.person
        return ops_console.Consoles(self.store.database, self.store.clock, person, self._console_address)

    def _console_address(self) -> str | None:
        """As it is reached from this machine."""
        if self.web_port is None or not self.settings.web.console:
            return None
        return self.settings.web.public_url or f"http://127.0.0.1:{self.web_port}"

    def _wake(self, sessions: Collection[SessionId]) -> None:
        """Something waits that nobody has rung for."""
        for session in sessions:
            self.lanes.waiting(session)
        for name in self.channels:
            _ready(self.work, self.outbox, name)()

    async def _until(self, stopping: asyncio.Event) -> BaseException | None:
        """Wait for a signal or for the failure of a service."""
        group = (self.receivers, self.doors, self.work)
        waits = [self.work.job("signal", stopping.wait()), *(self.work.job("failure", s.failed()) for s in group)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        return next((s.failure for s in group if s.failure is not None), None)

    async def _stop(self) -> bool:
        """Receive nothing new, let turns and sends end, then close. True if all ended by themselves."""
        notify(os.environ, "STOPPING=1")
        deadline = self.store.clock.monotonic() + self.settings.limits.drain.total_seconds()

        def left() -> timedelta:
            return timedelta(seconds=max(0.1, deadline - self.store.clock.monotonic()))

        await self.receivers.stop()
        drained = await self.lanes.drain(left())
        drained = await self.outbox.drain(left()) and drained
        await self.tasks.drain(min(left(), TASKS_END_WITHIN))
        await self.work.stop()
        await self.scheduling.stop()
        await self.knowledge.index.close()
        await self.remembering.index.close()
        await self.doors.stop()
        for channel in self.channels.values():
            await channel.close()
        await self.model.close()

        def unit(tx: Tx) -> None:
            self._write_refusals(tx, self.refused)
            self.store.recorder.record(tx, Record(DaemonStopped(self.boot, drained)))

        await self.store.database.write(unit)
        head = self.store.recorder.head
        log.info("stopped, drained: %s, audit head %d:%s", drained, head.id, head.hash)
        return drained

    async def upkeep(self, task: task_store.Task) -> Done:
        """Small regular work: refusals of past hours reach the audit, the write-ahead log is folded back."""
        if not self.lanes.active:
            await self.store.database.maintain()

        refused, self.refused = self.refused, {}

        def again(tx: Tx) -> None:
            self._write_refusals(tx, refused)
            now = self.store.clock.now()
            task_store.enqueue(tx, UPKEEP, UPKEEP, {}, now, lane=UPKEEP, run_at=now + UPKEEP_EVERY)

        return Done(again)

    def _write_refusals(self, tx: Tx, refused: Mapping[tuple[str, str], int]) -> None:
        self.intake.report_refusals(tx)
        for (door, reason), count in refused.items():
            self.store.recorder.record(tx, Record(AuthRefused(door, reason, count), SYSTEM))  # type: ignore[arg-type]

    def _refuse(self, door: str) -> Callable[[str], None]:
        def refused(reason: str) -> None:
            kind = reason.partition("_")[0]
            at = kind if kind in ("webhook", "api") else door
            self.refused[at, reason] = self.refused.get((at, reason), 0) + 1

        return refused

    async def _watchdog(self) -> None:
        interval = watchdog_interval(os.environ, os.getpid())
        while interval is not None:
            notify(os.environ, "WATCHDOG=1")
            await self.store.clock.sleep(interval)


def _ready(work: Supervisor, outbox: Outbox, name: str) -> Callable[[], None]:
    def ready() -> None:
        work.job(f"ready:{name}", outbox.channel_ready(name))

    return ready
