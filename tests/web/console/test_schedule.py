"""Schedule: new ones in plain words with their dates first, a month and a list of one's own, and what each one did."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.kernel.ids import PersonId
from bot.ledger import store as proposals
from bot.ledger.acting.handed import CreateSchedule
from bot.scheduler import gate, store
from bot.scheduler.acting import Proposed
from bot.scheduler.catching_up import due
from bot.scheduler.model import Delivery, Job, Run
from bot.scheduler.service import LIVE, Schedules
from bot.scheduler.store import Outcome
from bot.storage.database import Tx
from tests.ledger.workshop import mail
from tests.web.console.site import Browser, Site

XSS = "<img src=x onerror=alert(1)>"
SENTENCE = "remind me every weekday at 8:30 to stand up"


async def made(site: Site, browser: Browser, sentence: str = SENTENCE, who: str = "ada") -> Job:
    """By way of the preview, as a person does it."""
    await browser.go("/schedule")
    shown = await browser.post("/schedule/preview", {"sentence": sentence})
    fields = {each.get("name"): each.get("value") for each in shown.all(".previewed input")}
    await browser.post("/schedule", {**fields})
    return (await jobs(site, who))[-1]


async def jobs(site: Site, who: str) -> list[Job]:
    found = await site.desk.rooms.database.read(lambda c: store.of_owner(c, PersonId(who), LIVE))
    return sorted(found, key=lambda each: each.id)


async def fired(site: Site, job: Job, outcome: Outcome) -> None:
    """As the scheduler does it, at the job's next instant."""
    rooms = site.desk.rooms
    assert job.next_at is not None
    rooms.clock.advance(job.next_at - rooms.clock.now())

    def unit(tx: Tx) -> None:
        now = rooms.clock.now()
        held, found = gate.hold(tx, rooms.recorder, "boot", now), due(job, now)
        assert held is not None
        assert found is not None
        claimed = store.claim(tx, rooms.recorder, job, found, held.fence, now)
        assert claimed is not None
        assert store.end(tx, rooms.recorder, claimed, outcome, now)

    await rooms.write(unit)


async def test_the_next_dates_are_shown_before_anything_is_stored(site: Site) -> None:
    ada = await site.enter("ada")
    await ada.go("/schedule")
    shown = await ada.part("/schedule/preview", method="POST", data={"sentence": SENTENCE})
    assert [each.get("datetime")[:16] for each in shown.all(".dates time")] == [
        "2026-03-03T08:30", "2026-03-04T08:30", "2026-03-05T08:30"
    ]  # fmt: skip
    assert "stand up" in shown.words
    assert await jobs(site, "ada") == []


async def test_it_is_stored_as_it_was_read(site: Site) -> None:
    ada = await site.enter("ada")
    await ada.go("/schedule")
    shown = await ada.post("/schedule/preview", {"sentence": "remind me in two hours to call Ben"})
    fields = {each.get("name"): each.get("value") for each in shown.all(".previewed input")}
    read_at = site.desk.now
    site.desk.rooms.clock.advance(timedelta(minutes=7))
    page = await ada.post("/schedule", fields)
    assert "Scheduled: reminder: call Ben" in page.words
    (job,) = await jobs(site, "ada")
    assert job.next_at == read_at + timedelta(hours=2)
    undo = [each for each in page.all(".notice form") if each.get("action") == f"/schedule/{job.id}/undo"]
    assert len(undo) == 1
    await ada.post(f"/schedule/{job.id}/undo")
    assert await jobs(site, "ada") == []


@pytest.mark.parametrize("sentence", [SENTENCE, "remind bob on Friday at 9:00 to sign"])
async def test_a_form_that_is_sent_twice_schedules_once(site: Site, sentence: str) -> None:
    rooms = site.desk.rooms
    action = CreateSchedule(Proposed(Schedules(rooms.recorder), rooms.clock.now))
    site.shop.ledger._actions = {**site.shop.ledger._actions, action.name: action}
    ada = await site.enter("ada")
    await ada.go("/schedule")
    shown = await ada.post("/schedule/preview", {"sentence": sentence})
    fields = {each.get("name"): each.get("value") for each in shown.all(".previewed input")}
    site.desk.rooms.clock.advance(timedelta(seconds=2))
    twice = await asyncio.gather(*(ada.post("/schedule", fields, allow_redirects=False) for _ in range(2)))
    assert [each.status for each in twice] == [303, 303]
    assert twice[0].headers["Location"] == twice[1].headers["Location"]
    proposed = await site.desk.rooms.database.read(lambda c: proposals.newest(c, 10))
    assert len(await jobs(site, "ada")) + len(proposed) == 1
    site.desk.rooms.clock.advance(timedelta(seconds=2))
    # Said anew it is meant.
    shown = await ada.post("/schedule/preview", {"sentence": sentence})
    await ada.post("/schedule", {each.get("name"): each.get("value") for each in shown.all(".previewed input")})
    proposed = await site.desk.rooms.database.read(lambda c: proposals.newest(c, 10))
    assert len(await jobs(site, "ada")) + len(proposed) == 2


async def test_what_was_read_long_ago_is_read_anew(site: Site) -> None:
    ada = await site.enter("ada")
    await ada.go("/schedule")
    fields = {"sentence": SENTENCE, "said_at": (site.desk.now - timedelta(hours=1)).isoformat()}
    page = await ada.post("/schedule", fields)
    assert (page.status, "look at the dates again" in page.words) == (422, True)
    assert await jobs(site, "ada") == []


async def test_what_is_unclear_is_asked_back(site: Site) -> None:
    ada = await site.enter("ada")
    await ada.go("/schedule")
    shown = await ada.part("/schedule/preview", method="POST", data={"sentence": "remind me at 3 to eat"})
    assert (shown.status, "03:00 or 15:00" in shown.words) == (422, True)


async def test_the_month_shows_what_comes_and_what_came(site: Site) -> None:
    ada = await site.enter("ada")
    job = await made(site, ada)
    await fired(site, job, Outcome(Run.DONE, Delivery.FAILED, "nobody there"))
    page = await ada.go("/schedule?month=2026-03")
    entries = page.all("table.calendar li.entry")
    assert len(entries) == 22 - 1 + 3  # weekdays of March from the 3rd on, and of the grid's days of April
    assert "not delivered" in entries[0].text_content()
    assert next(each.get("datetime")[:10] for each in page.all("section.week time")) == "2026-03-03"
    assert (await ada.go("/schedule?month=9999-99&week=nonsense")).status == 200


async def test_what_fires_often_does_not_fill_the_month(site: Site) -> None:
    ada = await site.enter("ada")
    await made(site, ada, "remind me every 15 minutes to breathe")
    page = await ada.go("/schedule?month=2026-03")
    a_day = page.all("table.calendar td")[10].cssselect("li.entry")
    assert len(a_day) == 1
    assert "again and again" in a_day[-1].text_content()


async def test_run_and_delivery_stand_apart_and_older_ones_are_paged(site: Site) -> None:
    ada = await site.enter("ada")
    job = await made(site, ada)
    for number in range(32):
        (job,) = await jobs(site, "ada")
        await fired(site, job, Outcome(Run.DONE, Delivery.UNCERTAIN, f"note {number}"))
    ada = await site.enter("ada")
    page = await ada.go(f"/schedule/{job.id}")
    first = page.all("tbody tr")[0].text_content()
    assert ("done" in first, "may have been delivered" in first, "note 31" in first) == (True, True, True)
    (more,) = [each.get("href") for each in page.all("a.more")]
    rest = await ada.go(more)
    assert [each.text for each in rest.all("tbody td.small")] == ["note 1", "note 0"]


async def test_the_list_is_paged_by_key_paused_ones_last(site: Site) -> None:
    ada = await site.enter("ada")
    for number in range(34):
        await made(site, ada, f"remind me every day at {number % 12 + 7}:{number:02} to do {number}")
    for each in (await jobs(site, "ada"))[:2]:
        await ada.post(f"/schedule/{each.id}/pause")
    first = await ada.go("/schedule/list")
    (more,) = [each.get("href") for each in first.all("a.more")]
    rest = await ada.go(more)
    found = [each.get("href").rpartition("/")[2] for page in (first, rest) for each in page.all("h3 a")]
    paused = [each.id for each in await jobs(site, "ada")][:2]
    assert len(set(found)) == len(found) == 34
    assert found[-2:] == paused
    assert rest.all("a.more") == []


async def test_pause_resume_run_remove_and_undo(site: Site) -> None:
    ada = await site.enter("ada")
    job = await made(site, ada)
    said = []
    for act in ("pause", "resume", "run", "remove", "undo"):
        page = await ada.post(f"/schedule/{job.id}/{act}")
        assert page.status == 200, page.words
        said.append(page.all(".notice p")[0].text)
    assert [each.split(".")[0].split(":")[0] for each in said] == [
        "Paused", "It goes on", "It fires now", "Removed", "Taken back"
    ]  # fmt: skip
    again = await ada.post(f"/schedule/{job.id}/resume")
    assert (again.status, "not paused" in again.words) == (409, True)
    assert (await ada.post(f"/schedule/{job.id}/explode")).status == 404


async def test_others_see_and_change_nothing_of_it_and_a_principal_sees_all(site: Site) -> None:
    ada, bob, boss = await site.enter("ada"), await site.enter("bob"), await site.enter("boss")
    job = await made(site, ada)
    for path in ("/schedule", "/schedule/list"):
        assert job.id not in (await bob.go(path)).text
        assert job.id not in (await boss.go(path)).text
    assert (await bob.go("/schedule/list?of=everybody")).status == 403
    assert job.id in (await boss.go("/schedule/list?of=everybody")).text
    assert (await bob.go(f"/schedule/list?after={job.id}")).status == 404
    assert (await bob.go(f"/schedule/{job.id}")).status == 404
    for act in ("pause", "remove", "run", "undo"):
        assert (await bob.post(f"/schedule/{job.id}/{act}")).status == 404
    assert [each.id for each in await jobs(site, "ada")] == [job.id]
    assert site.refused.count("web_not_found") == 6


async def test_what_reaches_another_is_put_before_who_may_say_yes(site: Site) -> None:
    rooms = site.desk.rooms
    action = CreateSchedule(Proposed(Schedules(rooms.recorder), rooms.clock.now))
    site.shop.ledger._actions = {**site.shop.ledger._actions, action.name: action}
    ada = await site.enter("ada")
    await ada.go("/schedule")
    shown = await ada.post("/schedule/preview", {"sentence": "remind bob on Friday at 9:00 to sign"})
    assert "It reaches somebody else" in shown.words
    fields = {each.get("name"): each.get("value") for each in shown.all(".previewed input")}
    page = await ada.post("/schedule", fields)
    assert page.url.startswith("/approvals/")
    assert "it waits for a yes" in page.words
    assert await jobs(site, "bob") == []


async def test_only_a_principal_stops_everything(site: Site) -> None:
    ada, boss = await site.enter("ada"), await site.enter("boss")
    await ada.go("/schedule")
    assert (await ada.post("/schedule/stop", {"reason": "holidays"})).status == 403
    await boss.go("/schedule")
    page = await boss.post("/schedule/stop", {"reason": f"holidays {XSS}"})
    assert "boss stopped it" in page.words
    page = await ada.go("/schedule/list")
    assert f"holidays {XSS}" in page.words
    assert page.all("img[src=x]") == []
    assert page.all("form[action='/schedule/start']") == []
    page = await boss.post("/schedule/start")
    assert "fire again" in page.words


async def test_principals_see_what_the_executive_does_for_itself(site: Site) -> None:
    await site.shop.propose("send_email", mail())
    boss, ada = await site.enter("boss"), await site.enter("ada")
    page = await boss.go("/schedule/list?of=everybody")
    assert "The next approval ends as not answered" in page.words
    assert "for itself" not in (await boss.go("/schedule/list")).words
    assert "for itself" not in (await ada.go("/schedule/list")).words


async def test_words_of_people_are_text(site: Site) -> None:
    ada = await site.enter("ada")
    job = await made(site, ada, f"remind me tomorrow at 9:00 to {XSS}")
    for path in ("/schedule", "/schedule/list", f"/schedule/{job.id}"):
        page = await ada.go(path)
        assert XSS in page.words
        assert page.all("img[src=x]") == []
    shown = await ada.post("/schedule/preview", {"sentence": f"remind me tomorrow at 9:00 to {XSS}"})
    assert shown.all("img[src=x]") == []


async def test_a_forged_form_makes_nothing(site: Site) -> None:
    ada = await site.enter("ada")
    refused = await ada.post("/schedule", {"sentence": SENTENCE}, csrf="0" * 64)
    assert (refused.status, await jobs(site, "ada")) == (403, [])


@pytest.mark.parametrize("kind", ["morning_brief", "nudge", "commitment"])
async def test_an_offer_is_switched_on_by_one_button(site: Site, kind: str) -> None:
    ada = await site.enter("ada")
    await ada.go("/schedule")
    page = await ada.post("/schedule/offer", {"kind": kind})
    assert "Scheduled:" in page.words
    assert [each.kind.value for each in await jobs(site, "ada")] == [kind]


async def test_a_guest_schedules_nothing(site: Site) -> None:
    guest = await site.enter("guest")
    await guest.go("/schedule")
    shown = await guest.post("/schedule/preview", {"sentence": SENTENCE})
    assert shown.all(".previewed") == []
    assert "only people of the company" in shown.words
    names = await guest.post("/schedule/preview", {"sentence": "remind bob on Friday at 9:00 to sign"})
    assert "only people of the company" in names.words
