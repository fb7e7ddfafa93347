"""The console, wired: each page is handed what it reads and does. Loaded with the first request for a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from starlette.routing import Route

from bot.app import status
from bot.app.backups import Backups
from bot.app.erasing import of_people
from bot.app.knowledge import Knowledge
from bot.app.ledger import buttons
from bot.app.opening import Store
from bot.app.recall import Remembering
from bot.app.rooms import VERSION, Rooms
from bot.app.settings import backup_folder, specialists
from bot.backup.making import listed
from bot.files.blobs import BlobFolder
from bot.gateway.channel import Channel
from bot.gateway.operations import Reply
from bot.gateway.pages import Pages, last_resort
from bot.intake.service import Intake
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId
from bot.kernel.supervise import Supervisor
from bot.memory.service import Eraser
from bot.orchestrator.linking import Linking
from bot.orchestrator.roster import Roster
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.outbox.store import Origin
from bot.outbox.tables import Policy
from bot.web.console import routes as pages
from bot.web.console.chat_lists import Chats
from bot.web.console.house import Backup, House
from bot.web.console.hub import Hub
from bot.web.console.knowledge import Documents
from bot.web.console.memory_desk import Remembered
from bot.web.console.sign_in import SendLink
from bot.web.console.visits import Refuse, Visitors
from config.effective import Effective
from config.schema import Settings

INVITATION = "To sign in to the console of {company}, open this in the browser in which you asked for it: {link}\n\nIt \
holds once, for ten minutes. If you did not ask, do nothing."

Bring = Callable[[], Awaitable[object]]


def routes(rooms: Rooms, visitors: Visitors, hub: Hub, refuse: Refuse) -> Sequence[Route]:
    """All pages."""
    store, settings = rooms.store, rooms.settings
    ring = rooms.tasks.ring
    made = pages.Rooms(
        store.database,
        store.recorder,
        store.clock,
        hub,
        sender(store, settings, rooms.outbox, rooms.channels),
        partial(status.told, rooms),
        remembered(rooms.remembering, rooms.forgetting, settings),
        documents(rooms.knowledge, settings, rooms.work),
        linking(store, settings, rooms.intake, rooms.outbox, ring),
        of_people(store, ring, rooms.backups.copies),
        rooms.ledger.clerk("web"),
        rooms.scheduling.desk,
        rooms.chain,
        house(settings, rooms.shown, rooms.backups, ring),
        rooms.meter,
        chats(store, settings, rooms.channels, rooms.remembering.indexing.bring),
    )
    return pages.routes(made, visitors, settings.company.name, VERSION, refuse)


def chats(store: Store, settings: Settings, channels: Mapping[str, Channel], bring: Bring) -> Chats:
    """`bring`: what was said lately is found once it returns."""
    name = "web"
    channel: object = channels.get(name)
    return Chats(
        channel if isinstance(channel, Pages) else None,
        name,
        buttons(store).dress,
        BlobFolder(settings.data_dir / "blobs"),
        settings.channels.web.max_upload,
        bring,
    )


def remembered(remembering: Remembering, eraser: Eraser, settings: Settings) -> Remembered:
    return Remembered(remembering.recall, eraser, tuple(sorted(each.name for each in specialists(settings))))


def linking(store: Store, settings: Settings, intake: Intake, outbox: Outbox, ring: Callable[[], None]) -> Linking:
    """`ring` wakes whoever runs tasks."""
    zone = settings.company.time_zone
    return Linking(Roster(store.database, store.recorder, store.clock, zone, intake.forget_rooms, outbox), ring)


def documents(knowledge: Knowledge, settings: Settings, jobs: Supervisor) -> Documents:
    blobs = BlobFolder(settings.data_dir / "blobs")
    limit = settings.knowledge.max_file
    return Documents(knowledge.library, knowledge.search, knowledge.index, blobs, limit, jobs)


def house(settings: Settings, shown: Sequence[Effective], backups: Backups, ring: Callable[[], None]) -> House:
    def kept() -> Sequence[Backup]:
        return listed(backups.maker.folder, backups.maker.keep, backups.nightly.following())

    told = [(each.key, each.value, str(each.source)) for each in shown]
    return House(settings.data_dir, backup_folder(settings), kept, settings.company.time_zone, told, ring)


def sender(store: Store, settings: Settings, outbox: Outbox, channels: Mapping[str, Channel]) -> SendLink | None:
    """Says links at people's own accounts; None where the console has no address that they could open."""
    public = settings.web.public_url
    if public is None:
        return None

    async def send(channel: str, address: str, path: str) -> None:
        if channel not in channels or last_resort(channels[channel]):  # who must sign in cannot look there
            raise PermanentError("this channel is off")
        to = await channels[channel].direct(address)
        text = INVITATION.format(company=settings.company.name, link=f"{public}{path}")
        ops, origin = await outbox.plan(channel, Reply(to, text)), Origin(None, None, None)
        await store.database.write(
            lambda tx: outbox_store.insert(
                tx, channel, ops, origin, Policy.RESEND_ONCE, BootId(""), store.clock.now(), may_leave=False
            )
        )

    return send
