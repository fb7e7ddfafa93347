"""Today: the first page of the morning. What waits for its person, what is due, what is new, what comes next, what may
still be spent and whether all channels hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from zoneinfo import ZoneInfo

from starlette.routing import Route

from bot.kernel.values import dataclass
from bot.ledger.shelves import Shelf
from bot.llm.budget import Limit, dollars, local_day
from bot.llm.metered import Meter
from bot.orchestrator import morning
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.firing.news import MOST_HELD
from bot.orchestrator.morning import Morning, Spent
from bot.scheduler import wording
from bot.scheduler.model import Kind
from bot.storage.database import Database
from bot.web.console.approvals import became, tone
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit

MOST = 5
"""Lines of a part; the page that it leads to has all."""
LIMITS = {
    Limit.COMPANY: "The company, today",
    Limit.COMPANY_MONTH: "The company, this month",
    Limit.PERSON: "You, today",
    Limit.PERSON_MONTH: "You, this month",
    Limit.SESSION: "This conversation, today",
    Limit.SCHEDULED: "Scheduled work, today",
}
UNASKED: Mapping[Kind, tuple[str, str]] = {
    Kind.MORNING_BRIEF: ("Morning brief", "every weekday at 8:30"),
    Kind.EVENING_BRIEF: ("Evening brief", "every weekday at 17:30"),
    Kind.WEEKLY_REVIEW: ("Weekly review", "every Friday at 16:00"),
    Kind.COMMITMENT: ("What you promised", "every weekday at 9:00"),
    Kind.NUDGE: ("What waits for you", "every weekday at 14:00"),
    Kind.CHECK_IN: ("Check-in on a department", "every Monday at 10:00"),
}
"""What may come unasked, in a few words; `bot.orchestrator.today` says it in those that switch it on."""


@dataclass(frozen=True, slots=True)
class Health:
    """Of a channel. `well`: it receives and sends."""

    name: str
    well: bool
    words: str


class TodayPage:
    def __init__(
        self,
        database: Database,
        clerk: Clerk,
        meter: Meter,
        status: Callable[[], Awaitable[Mapping[str, object]]],
    ) -> None:
        self._database = database
        self._clerk = clerk
        self._meter = meter
        self._status = status

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/", self.show)]

    async def show(self, visit: Visit) -> Page:
        person, now = visit.person, visit.now
        found = await self._database.read(lambda c: morning.morning(c, person, now), long=True)
        waiting = await self._clerk.shelf(person, Shelf.MINE)
        today = found.today
        ended = {each.id for each in today.decided}
        decided = await self._clerk.shelf(person, Shelf.DECIDED, None, MOST) if ended else []
        count = len(waiting) + len(found.review) + bool(found.rooms) + bool(found.requests)
        values = {
            "of": found,
            "greeting": _greeting(visit),
            "day": local_day(now, person.time_zone),
            "most": MOST,
            "waiting": waiting,
            "count": count,
            "capped": len(found.review) >= MOST_HELD,
            "due": today.due,
            "late": sum(each.due < local_day(now, person.time_zone) for each in today.due),
            "titled": wording.titled,
            "ran": wording.RUNS,
            "delivered": wording.DELIVERIES,
            "decided": [each for each in decided if each.proposal.id in ended],
            "became": became,
            "tone": tone,
            "kinds": wording.KINDS,
            "initiatives": [(state, each) for state, each in found.initiatives.items() if each],
            "offers": [(kind, *UNASKED[kind]) for kind in today.off if self._offered(kind, found)],
            "budget": morning.budget(self._meter, person),
            "free": self._meter.free,
            "limits": LIMITS,
            "dollars": dollars,
            "share": _share,
            "channels": _channels(await self._status()) if person.internal else [],
        }
        return Page("today/today.html", values, "all")

    @staticmethod
    def _offered(kind: Kind, found: Morning) -> bool:
        return found.today.person.internal and (kind is not Kind.CHECK_IN or bool(found.departments))


def _greeting(visit: Visit) -> str:
    hour = visit.now.astimezone(ZoneInfo(visit.person.time_zone)).hour
    return "Good morning" if 4 <= hour < 12 else "Good afternoon" if 12 <= hour < 18 else "Good evening"


def _share(of: Spent) -> float:
    return min(1.0, of.micros / of.account.most) if of.account.most else 1.0


def _channels(status: Mapping[str, object]) -> list[Health]:
    """As the daemon tells of them; those in trouble first."""
    told = status.get("channels")
    found = []
    for name, each in sorted(told.items()) if isinstance(told, Mapping) else ():
        receives, sends, reason = each["receiving"], each["sending"], each["reason"]
        trouble = [word for word, well in (("does not receive", receives), ("does not send", sends)) if not well]
        words = "receives and sends" if not trouble else f"{' and '.join(trouble)}{f': {reason}' if reason else ''}"
        found.append(Health(name, not trouble, words))
    return sorted(found, key=lambda one: one.well)
