"""All rooms, wired: what the daemon runs, what its doors open to, and what its status tells of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as installed_version

from bot.app.backups import Backups
from bot.app.knowledge import Knowledge
from bot.app.ledger import Room as Ledger
from bot.app.opening import Store
from bot.app.recall import Remembering
from bot.app.scheduling import Room as Scheduling
from bot.app.upkeep import Refusals, Upkeep
from bot.erasure.memories import Forgetting
from bot.erasure.service import Erasure
from bot.erasure.work import Work
from bot.gateway.channel import Channel
from bot.intake.service import Intake
from bot.kernel.ids import BootId
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.llm.metered import Meter
from bot.llm.model import Model
from bot.orchestrator.chain_check import ChainCheck
from bot.orchestrator.introductions import Introductions
from bot.orchestrator.lanes import Lanes
from bot.orchestrator.service import Orchestrator
from bot.outbox.service import Outbox
from bot.tasks.worker import Worker
from config.effective import Effective
from config.schema import Settings

VERSION = installed_version("openexecutive")


@dataclass(frozen=True, slots=True)
class Rooms:
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
    knowledge: Knowledge
    remembering: Remembering
    erasure: Erasure
    erasing: Work
    forgetting: Forgetting
    backups: Backups
    ledger: Ledger
    scheduling: Scheduling
    chain: ChainCheck
    shown: Sequence[Effective]
    """The settings in force, as they may be shown."""
    meter: Meter
    started: float
    refusals: Refusals
    upkeep: Upkeep
