"""All pages, over the rooms that each of them reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.routing import Route

from bot.audit.recorder import Recorder
from bot.erasure.people import PersonErasure
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.llm.metered import Meter
from bot.orchestrator.chain_check import ChainCheck
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.leaving import Departures
from bot.orchestrator.linking import Linking
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.storage.database import Database
from bot.web.console import assets, conversation
from bot.web.console.access import AccessPage
from bot.web.console.approvals import ApprovalPages
from bot.web.console.audit import AuditPages
from bot.web.console.chat import ChatPage
from bot.web.console.chat_lists import Chats
from bot.web.console.classes import ClassPages
from bot.web.console.departures import DeparturePages
from bot.web.console.files import Arriving
from bot.web.console.health import HealthPage
from bot.web.console.house import House
from bot.web.console.hub import Hub
from bot.web.console.knowledge import Documents, KnowledgePage
from bot.web.console.live import Live
from bot.web.console.memories import MemoryPages
from bot.web.console.memory_desk import Remembered
from bot.web.console.people import PeoplePages
from bot.web.console.schedule import SchedulePages
from bot.web.console.sign_in import SendLink, SignIn
from bot.web.console.site import Site
from bot.web.console.spending import SpendingPage
from bot.web.console.templating import environment
from bot.web.console.today import TodayPage
from bot.web.console.turn_page import TurnPage
from bot.web.console.visits import Refuse, Visitors


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the pages are made over; each is handed its part."""

    database: Database
    recorder: Recorder
    clock: Clock
    hub: Hub
    send_link: SendLink | None
    """How a sign-in link reaches its person; None where no link may leave (`web.public_url` is not set)."""
    status: Callable[[], Awaitable[Mapping[str, object]]]
    """What the daemon tells of itself."""
    remembered: Remembered
    documents: Documents
    linking: Linking
    """With the roster that it changes."""
    erasing: PersonErasure
    clerk: Clerk
    desk: ScheduleDesk
    chain: ChainCheck
    house: House
    meter: Meter
    chats: Chats


def routes(rooms: Rooms, visitors: Visitors, company: str, version: str, on_refused: Refuse) -> list[Route]:
    """All pages. `on_refused` hears why a request was turned away (`web_…`)."""
    site = Site(visitors, rooms.clock, environment(company, version), on_refused)
    arriving = Arriving()
    rooms.recorder.listen(conversation.written)
    return [
        *assets.routes(),
        *SignIn(rooms.database, rooms.recorder, rooms.clock, site, rooms.send_link).routes(),
        *Live(rooms.hub, visitors, rooms.clock).routes(site),
        *ChatPage(rooms.database, rooms.clock, rooms.hub, visitors, rooms.chats, arriving).routes(site),
        *MemoryPages(rooms.database, rooms.recorder, rooms.clock, rooms.remembered).routes(site),
        *KnowledgePage(rooms.database, rooms.documents, arriving).routes(site),
        *DeparturePages(
            rooms.database, rooms.linking.roster, Departures(rooms.linking.roster, rooms.linking.ring), rooms.erasing
        ).routes(site),
        *PeoplePages(rooms.database, rooms.linking.roster, rooms.linking).routes(site),
        *TodayPage(rooms.database, rooms.clerk, rooms.meter, rooms.status).routes(site),
        *SchedulePages(rooms.desk).routes(site),
        *ClassPages(rooms.clerk).routes(site),
        *ApprovalPages(rooms.clerk).routes(site),
        *AuditPages(rooms.database, rooms.recorder, rooms.chain).routes(site),
        *TurnPage(rooms.database).routes(site),
        *HealthPage(rooms.database, rooms.recorder, rooms.clock, rooms.status, rooms.house).routes(site),
        *SpendingPage(rooms.database, rooms.house).routes(site),
        *AccessPage(rooms.database, rooms.recorder).routes(site),
        site.nothing(),
    ]
