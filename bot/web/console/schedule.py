"""Schedule: what fires when, as a month, a week or a list; what each did; and new ones in plain words, whose next dates
are shown before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Literal

from starlette.routing import Route

from bot.kernel.days import begins
from bot.kernel.errors import PermanentError
from bot.llm.budget import local_day
from bot.orchestrator.schedule_desk import Act, Preview, ScheduleDesk, Told
from bot.orchestrator.today import OFFERS, offer
from bot.people.model import Role
from bot.scheduler import wording
from bot.scheduler.model import Job, JobState, Kind
from bot.scheduler.service import UnknownScheduleError
from bot.web.console.site import Answer, Moved, Page, Site
from bot.web.console.visits import Notice, Undo, Visit

PAGE = 30
"""Schedules, or runs of one, on a page."""
LONGEST_SENTENCE = 500
ACTS: Mapping[Act, str] = {
    "pause": "Paused: it fires no more until you resume it.",
    "resume": "It goes on.",
    "remove": "Removed.",
    "undo": "Taken back.",
    "run": "It fires now.",
}
DAY, WEEK = timedelta(days=1), timedelta(days=7)
FURTHEST = timedelta(days=366 * 5)
"""From today, in which months can be looked at."""


class SchedulePages:
    def __init__(self, desk: ScheduleDesk) -> None:
        self._desk = desk

    def routes(self, site: Site) -> list[Route]:
        one = "/schedule/{id}"
        return [
            site.page("/schedule", self.calendar),
            site.page("/schedule", self.add, method="POST"),
            site.page("/schedule/list", self.listed),
            site.page("/schedule/preview", self.preview, method="POST"),
            site.page("/schedule/offer", self.take_offer, method="POST"),
            site.page("/schedule/stop", self.stop, method="POST"),
            site.page("/schedule/start", self.start, method="POST"),
            site.page(one, self.one),
            site.page(f"{one}/{{act}}", self.act, method="POST"),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def calendar(self, visit: Visit) -> Page:
        """A month for wide windows, a week as a list for narrow ones; the style decides which is seen."""
        return await self._calendar(visit)

    async def _calendar(self, visit: Visit, preview: Preview | None = None, trouble: str | None = None) -> Page:
        today = local_day(visit.now, visit.person.time_zone)
        first = _month(visit.asked("month"), today)
        monday = _day(visit.asked("week"), today)
        monday -= timedelta(days=monday.weekday())
        begin = first - timedelta(days=first.weekday())
        end = _next(first) + timedelta(days=-_next(first).weekday() % 7)
        zone = visit.person.time_zone
        found = await self._desk.days(visit.person, begins(begin, zone), begins(end, zone))
        week = found
        if not begin <= monday < end:
            week = await self._desk.days(visit.person, begins(monday, zone), begins(monday + WEEK, zone))
        values = {
            **await self._common(visit, "calendar", preview, trouble),
            "today": today,
            "first": first,
            "before": _previous(first),
            "after": _next(first),
            "weeks": [
                [(day, found.get(day, ())) for day in (start + n * DAY for n in range(7))]
                for start in (begin + n * WEEK for n in range((end - begin) // WEEK))
            ],
            "monday": monday,
            "last_week": monday - WEEK,
            "next_week": monday + WEEK,
            "week": [(monday + n * DAY, week.get(monday + n * DAY, ())) for n in range(7)],
        }
        return Page("schedule/calendar.html", values, "days", 422 if trouble else 200)

    async def listed(self, visit: Visit) -> Page:
        after, everybody = visit.asked("after"), visit.asked("of") == "everybody"
        found, more = await self._desk.page(visit.person, after or None, PAGE, everybody=everybody)
        values = {
            **await self._common(visit, "list", None, None),
            "found": found,
            "more": more,
            "after": after,
            "everybody": everybody,
            "own": await self._desk.own(visit.person) if everybody and not after else (),
            "described": _described,
            "names": await self._desk.names(each.job.owner for each in found),
        }
        return Page("schedule/list.html", values, "rows")

    async def one(self, visit: Visit) -> Page:
        return await self._one(visit)

    async def _one(self, visit: Visit, trouble: str | None = None) -> Page:
        given = visit.request.path_params["id"]
        told = await self._desk.one(visit.person, given)
        before = _instant(visit.asked("before"))
        runs = await self._desk.history(visit.person, told.job.id, before, PAGE + 1)
        whom = str(told.job.payload.get("for") or told.job.owner or "")
        values = {
            "told": told,
            "job": told.job,
            "title": wording.titled(told.job),
            "described": _described(told.job),
            "text": str(told.job.payload.get("text", "")),
            "whom": (await self._desk.names([whom])).get(whom),
            "runs": runs[:PAGE],
            "more": runs[PAGE - 1].at.isoformat() if len(runs) > PAGE else None,
            "before": before,
            "ran": wording.RUNS,
            "delivered": wording.DELIVERIES,
            "tone": _tone,
            "trouble": trouble,
        }
        return Page("schedule/one.html", values, "runs", 409 if trouble else 200)

    # --- doing -----------------------------------------------------------------------------------------------------

    async def preview(self, visit: Visit) -> Page:
        """What a sentence would come to; nothing is stored."""
        sentence = visit.field("sentence").strip()[:LONGEST_SENTENCE]
        preview, trouble = None, None
        try:
            preview = await self._desk.preview(visit.person, sentence)
        except PermanentError as error:
            trouble = error.message
        if visit.partial:
            values = {"preview": preview, "trouble": trouble, "sentence": sentence, "kinds": wording.KINDS}
            return Page("schedule/preview.html", values, "preview", 422 if trouble else 200)
        return await self._calendar(visit, preview, trouble)

    async def add(self, visit: Visit) -> Answer:
        """What was previewed: the sentence as it was read then."""
        sentence = visit.field("sentence").strip()[:LONGEST_SENTENCE]
        try:
            added = await self._desk.add(visit.person, sentence, _instant(visit.field("said_at")))
        except PermanentError as error:
            return await self._calendar(visit, None, error.message)
        if added.job is None:
            return Moved(f"/approvals/{added.proposal}", Notice("It reaches somebody else, so it waits for a yes."))
        return Moved("/schedule", _made(added.job.job))

    async def take_offer(self, visit: Visit) -> Answer:
        """Something that comes unasked is switched on."""
        kind, department = visit.field("kind"), visit.field("department").strip()
        if kind not in {each.value for each in OFFERS}:
            raise PermanentError("There is no such offer.")
        added = await self._desk.add(visit.person, offer(Kind(kind), department))
        return Moved(
            "/" if visit.field("from") == "today" else "/schedule", _made(added.job.job) if added.job else None
        )

    async def act(self, visit: Visit) -> Answer:
        act, given = visit.request.path_params["act"], visit.request.path_params["id"]
        known: Act | None = next((each for each in ACTS if each == act), None)
        if known is None:
            raise UnknownScheduleError("there is no such thing to do")
        try:
            told = await self._desk.act(visit.person, given, known)
        except UnknownScheduleError:
            raise
        except PermanentError as error:
            return await self._one(visit, f"{error.message[:1].upper()}{error.message[1:]}.")
        undo = Undo(f"/schedule/{told.job.id}/undo") if known == "remove" else None
        gone = told.job.state is JobState.REMOVED
        return Moved("/schedule/list" if gone else f"/schedule/{told.job.id}", Notice(_about(told, known), undo))

    async def stop(self, visit: Visit) -> Answer:
        reason = visit.field("reason").strip()
        if not reason:
            return Moved("/schedule", Notice("Nothing was stopped: say why."))
        await self._desk.stop(visit.person, reason)
        return Moved("/schedule", Notice("Nothing fires any more but upkeep.", Undo("/schedule/start")))

    async def start(self, visit: Visit) -> Answer:
        await self._desk.start(visit.person)
        return Moved("/schedule", Notice("Schedules fire again."))

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _common(
        self, visit: Visit, tab: Literal["calendar", "list"], preview: Preview | None, trouble: str | None
    ) -> dict[str, object]:
        stopped = await self._desk.stopped()
        return {
            "tab": tab,
            "everybody": False,
            "principal": visit.person.role is Role.PRINCIPAL,
            "stopped": stopped,
            "stopped_by": (await self._desk.names([stopped[0]])).get(stopped[0]) if stopped else None,
            "preview": preview,
            "trouble": trouble,
            "sentence": visit.field("sentence"),
            "kinds": wording.KINDS,
            "titled": wording.titled,
            "short": _short,
            "ran": wording.RUNS,
            "delivered": wording.DELIVERIES,
            "tone": _tone,
        }


def _made(job: Job) -> Notice:
    words = f"Scheduled: {wording.titled(job)}, {_described(job)}."
    return Notice(words, Undo(f"/schedule/{job.id}/undo"))


def _about(told: Told, act: Act) -> str:
    return f"{ACTS[act]} {wording.titled(told.job)}."


def _short(job: Job) -> str:
    """In a cell of the calendar."""
    return job.title or wording.KINDS[job.kind]


def _described(job: Job) -> str:
    return wording.described(job.rule, job.zone)


def _tone(value: str) -> str:
    """Of a run or a delivery."""
    return {"failed": "bad", "uncertain": "warn", "skipped": "warn", "sent": "good", "queued": "info"}.get(value, "")


def _month(asked: str, today: date) -> date:
    """The first of a month, `2026-12`; this month without one, or for one that is too far away."""
    try:
        found = date.fromisoformat(f"{asked}-01")
    except ValueError:
        return today.replace(day=1)
    return found if abs(found - today) < FURTHEST else today.replace(day=1)


def _day(asked: str, today: date) -> date:
    try:
        found = date.fromisoformat(asked)
    except ValueError:
        return today
    return found if abs(found - today) < FURTHEST else today


def _next(first: date) -> date:
    return (first + timedelta(days=32)).replace(day=1)


def _previous(first: date) -> date:
    return (first - DAY).replace(day=1)


def _instant(asked: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(asked)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
