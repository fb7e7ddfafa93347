"""Today: what waits, what is due, what is new, what comes next and what is spent, and nothing of anybody else's."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import pytest

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.ids import BootId, PersonId
from bot.llm.budget import MICROS, Purpose, Spender
from bot.llm.model import Usage
from bot.memory.model import Held, Kind, Status, Work
from bot.orchestrator import morning
from bot.outbox import store as outbox
from bot.outbox.store import Origin
from bot.outbox.tables import Policy
from bot.people import store as people
from bot.people.model import Change
from bot.scheduler import store
from bot.scheduler.model import Delivery, Run
from bot.scheduler.service import LIVE
from bot.scheduler.store import Outcome
from tests.ledger.workshop import mail
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE
from tests.web.console.site import Site, serving
from tests.web.console.test_schedule import fired, jobs

BY_ID = {str(each.id): each for each in PEOPLE}
XSS = "<img src=x onerror=alert(1)>"


async def test_the_first_page_greets_with_an_empty_day(site: Site) -> None:
    browser = await site.enter("ada")
    page = await browser.go("/")
    assert page.status == 200
    assert "Nothing waits for you" in page.words
    assert "Good morning, ada" in page.words
    assert [each.get("href") for each in page.all("nav [aria-current]")] == ["/"]


async def test_an_approval_waits_for_who_decides_and_for_nobody_else(site: Site) -> None:
    of = await site.shop.propose("send_email", mail())
    boss, ada, bob = [await site.enter(each) for each in ("boss", "ada", "bob")]
    page = await boss.go("/")
    assert [each.get("href") for each in page.all(".my-word h3 a")] == [f"/approvals/{of.id}"]
    assert [each.text_content() for each in page.all(".my-word p.to")] == [
        "To: kim@outside.example",
        "Subject: The fair",
    ]
    assert page.all("[data-until]")[0].text == "2 days 0 h left"
    for other in (ada, bob):
        assert of.id not in (await other.go("/")).text


async def test_memories_to_review_commitments_and_initiatives_are_ones_own(site: Site) -> None:
    desk = site.desk
    alone = await desk.alone("ada")
    held = {"status": Status.PENDING, "held": (Held.UNSUPPORTED,), "kind": Kind.FACT}
    waits = await desk.said(alone, "ada", "The key is under the mat.", subject="key", **held)
    due: dict[str, Any] = {"kind": Kind.INITIATIVE, "work": Work.ACTIVE, "owner": PersonId("ada"), "subject": "board"}
    promised = await desk.said(alone, "ada", "Write to the board.", due=date(2026, 3, 1), **due)
    blocked = await desk.said(
        alone, "ada", "Move to Rotterdam.", kind=Kind.INITIATIVE, work=Work.BLOCKED, subject="rotterdam"
    )
    ada, bob = await site.enter("ada"), await site.enter("bob")
    page = await ada.go("/")
    assert "today, 09:0" in page.words
    assert f"/memories/{waits.id}" in [each.get("href") for each in page.all(".my-word a")]
    assert f"/memories/{promised.id}" in [each.get("href") for each in page.all("section[aria-labelledby=due] a")]
    assert "overdue" in page.words
    boards = {
        each.cssselect(".tag")[0].text: [link.text for link in each.cssselect("li a")]
        for each in page.all(".board section")
    }
    assert boards == {"active": ["Write to the board."], "blocked": ["Move to Rotterdam."]}
    other = await bob.go("/")
    for each in (waits, promised, blocked):
        assert each.id not in other.text
        assert each.statement not in other.words


async def test_more_to_review_than_is_looked_at_is_said_to_be_more(site: Site) -> None:
    alone = await site.desk.alone("boss")
    held: dict[str, Any] = {"status": Status.PENDING, "held": (Held.UNSUPPORTED,), "kind": Kind.FACT}
    for number in range(22):
        await site.desk.said(alone, "boss", f"Fact {number}.", subject=f"fact {number}", **held)
    page = await (await site.enter("boss")).go("/")
    assert page.all(".glance b")[0].text == "20+"
    assert len(page.all(".my-word li")) == 6
    assert "More memories to review" in page.words


async def test_the_newest_brief_that_arrived_is_shown_as_it_was_said(site: Site, desk: Desk) -> None:
    rooms = desk.rooms
    ada = await site.enter("ada")
    await ada.go("/schedule")
    await ada.post("/schedule/offer", {"kind": "morning_brief"})
    (job,) = await jobs(site, "ada")
    path = ReplyPath("test:dm:2", "2")
    ops = [Send(path, f"*{each}*", each) for each in (f"Good morning. {XSS}", "Two promises are due.")]
    origin, now = Origin(None, None, None), rooms.clock.now()
    ids, _ = await rooms.write(
        lambda tx: outbox.insert(tx, "test", ops, origin, Policy.RESEND_ONCE, BootId("b"), now, may_leave=False)
    )
    await fired(site, job, Outcome(Run.DONE, Delivery.QUEUED, None, ids[0]))
    page = await (await site.enter("ada")).go("/")
    (said,) = page.all(".brief-text")
    assert said.text == f"Good morning. {XSS}\nTwo promises are due."
    assert page.all("img[src=x]") == []
    assert "Two promises" not in (await (await site.enter("bob")).go("/")).words


async def test_what_is_new_and_what_came_of_things_stands_there(site: Site) -> None:
    alone = await site.desk.alone("ada")
    new = await site.desk.said(alone, "ada", f"We launch in March {XSS}")
    await site.shop.approved("send_email", mail(subject="The fair"))
    page = await (await site.enter("ada")).go("/")
    section = page.all("section[aria-labelledby=new]")[0]
    assert next(each.get("href") for each in section.cssselect("a")) == f"/memories/{new.id}"
    assert "Send a mail: kim@outside.example" in section.text_content()
    assert page.all("img[src=x]") == []


async def test_the_budget_of_everybody_is_the_principals(site: Site) -> None:
    site.meter.charge(Spender("t", PersonId("ada"), None), Purpose.ANSWER, "m", Usage())
    boss, ada, guest = [await (await site.enter(each)).go("/") for each in ("boss", "ada", "guest")]
    assert "of 10.00 USD" in boss.words
    assert ("of 10.00 USD" in ada.words, "of 2.00 USD" in ada.words) == (False, True)
    assert "USD" not in guest.words
    assert morning.budget(site.meter, BY_ID["boss"])[0].account.most == 10 * MICROS


async def test_channels_in_trouble_come_first_with_why(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def status() -> Mapping[str, object]:
        well = {"receiving": True, "sending": True, "reason": None, "where": None}
        return {"channels": {"email": well, "slack": {**well, "receiving": False, "reason": "the token was refused"}}}

    monkeypatch.setattr("tests.web.console.site.healthy", status)
    async with serving(desk) as site:
        page = await (await site.enter("ada")).go("/")
        rows = [" ".join(each.text_content().split()) for each in page.all("section[aria-labelledby=channels] li")]
        assert rows == ["trouble Slack does not receive: the token was refused", "well Email"]
        assert "1 channel in trouble" in page.words
        assert "slack" not in (await (await site.enter("guest")).go("/")).words.lower()


async def test_what_comes_unasked_is_offered_and_switched_on_by_one_button(site: Site) -> None:
    ada = await site.enter("ada")
    page = await ada.go("/")
    kinds = [each.get("value") for each in page.all(".offers input[name=kind]")]
    assert kinds == ["morning_brief", "evening_brief", "weekly_review", "commitment", "nudge"]
    page = await ada.post("/schedule/offer", {"kind": "nudge", "from": "today"})
    assert page.url == "/"
    assert "Scheduled: nudge" in page.words
    assert "nudge" not in [each.get("value") for each in page.all(".offers input[name=kind]")]
    assert [each.kind.value for each in await site.desk.rooms.database.read(
        lambda c: store.of_owner(c, PersonId("ada"), LIVE)
    )] == ["nudge"]  # fmt: skip
    guest = await (await site.enter("guest")).go("/")
    assert guest.all(".offers") == []


async def test_a_check_in_is_on_a_department_of_theirs(site: Site) -> None:
    rooms = site.desk.rooms
    changed = dataclasses.replace(BY_ID["ada"], departments=("finance",))
    await rooms.write(lambda tx: people.apply(tx, rooms.recorder, [Change(changed, "updated")], rooms.clock.now()))
    ada = await site.enter("ada")
    page = await ada.go("/")
    assert [each.text for each in page.all(".offers option")] == ["finance"]
    await ada.post("/schedule/offer", {"kind": "check_in", "department": "finance", "from": "today"})
    (job,) = await jobs(site, "ada")
    assert job.payload["department"] == "finance"
    refused = await ada.post("/schedule/offer", {"kind": "check_in", "department": "sales"})
    assert refused.status == 400


async def test_parts_are_asked_for_again_when_something_changes(site: Site) -> None:
    ada = await site.enter("ada")
    page = await ada.go("/")
    (live,) = page.all("#all")
    assert {"live:ledger", "live:memory", "live:schedule"} <= set(live.get("hx-trigger").split())
    site.desk.rooms.clock.advance(timedelta(minutes=1))
    await site.desk.said(await site.desk.alone("ada"), "ada", "We launch in March.")
    part = await ada.part(live.get("hx-get"))
    assert "We launch in March." in part.words
    assert part.all("nav") == []
