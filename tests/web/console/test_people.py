"""People: the roster, accounts, codes, requests, places and leaving; members look, principals change."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.tables import audit
from bot.gateway.events import PlaceKind
from bot.kernel.ids import PersonId
from bot.memory.model import Kind, Visibility, Work
from bot.people import pairing, store
from bot.people.model import Handle, Origin, Person, Role
from bot.scheduler import store as jobs
from bot.scheduler.model import Cron
from bot.scheduler.model import Kind as JobKind
from bot.scheduler.service import Schedules, Wish
from bot.sessions.audience import Audience
from tests.people.test_model import person
from tests.sessions.rooms import BOSS, CHANNEL
from tests.web.console.site import Site

CLEO = PersonId("cleo")
XSS = "<script>alert('x')</script>\"'<img src=x onerror=alert(1)>"


async def _paired(site: Site, key: str = "cleo", role: Role = Role.MEMBER, address: str = "9") -> Person:
    rooms = site.desk.rooms
    new = person(key, role, Origin.PAIRED, handles=[Handle(CHANNEL, address, Origin.PAIRED)])
    await rooms.write(lambda tx: store.add(tx, rooms.recorder, new, BOSS, rooms.clock.now()))
    return new


async def _known(site: Site, who: str) -> Person:
    found = await site.desk.rooms.database.read(lambda c: store.get(c, PersonId(who)))
    assert found is not None
    return found


async def _asks(site: Site, name: str = "Eve") -> str:
    rooms, account = site.desk.rooms, Handle(CHANNEL, "77", Origin.PAIRED)
    made = await rooms.write(lambda tx: pairing.ask(tx, rooms.recorder, account, name, rooms.clock.now()))
    assert made is not None
    return made


async def _claims(site: Site, words: str, address: str = "99", name: str = "at home") -> None:
    rooms, account = site.desk.rooms, Handle(CHANNEL, address, Origin.PAIRED)
    await rooms.write(
        lambda tx: pairing.claim(tx, rooms.recorder, words, account, name, direct=True, now=rooms.clock.now())
    )


async def _audited(site: Site, kind: str) -> list[tuple[str, dict[str, object]]]:
    query = sa.select(audit.c.actor, audit.c.payload).where(audit.c.type == kind).order_by(audit.c.id)
    rows = await site.desk.rooms.database.read(lambda c: c.execute(query).all())
    return [(row.actor, json.loads(row.payload)) for row in rows]


async def test_a_principal_sees_everybody_and_what_is_read_only(site: Site) -> None:
    await _paired(site)
    boss = await site.enter("boss")
    page = await boss.go("/people")
    names = [each.text_content() for each in page.all("tbody th a")]
    assert names == ["ada", "bob", "boss", "cleo", "guest"]
    assert "stands in the settings" in page.words
    ada = await boss.go("/people/ada")
    assert "the settings: read-only here" in ada.words
    assert "test 2" in ada.words
    assert ada.all("form[action$=edit]") == []
    assert len((await boss.go("/people/cleo")).all("form[action$=edit]")) == 1


async def test_a_member_sees_the_roster_and_only_their_own_accounts(site: Site) -> None:
    await _paired(site, address="cleo-secret-address")
    await _asks(site)
    ada = await site.enter("ada")
    page = await ada.go("/people")
    assert "cleo" in page.words
    assert "Eve" not in page.words
    other = await ada.go("/people/cleo")
    assert "cleo-secret-address" not in other.text
    assert "Accounts" not in other.words
    assert "Time zone" not in other.words
    assert other.all("main form") == []
    own = await ada.go("/people/ada")
    assert "test 2" in own.words
    assert own.all("a[href='/settings']")


async def test_a_guest_sees_themselves_alone(site: Site) -> None:
    guest = await site.enter("guest")
    assert (await guest.go("/people")).url == "/people/guest"
    assert (await guest.go("/people/ada")).status == 404
    assert (await guest.go("/people/nobody")).status == 404
    assert site.refused == ["web_not_found"] * 2


async def test_only_principals_change_anything(site: Site) -> None:
    await _paired(site)
    request = await _asks(site)
    boss, ada = await site.enter("boss"), await site.enter("ada")
    await boss.go("/people/cleo")
    page = await boss.post("/people/cleo/code")
    code = page.all("#claim")[0].get("hx-get").rpartition("/")[2]
    await _claims(site, page.all(".pairing-code code")[0].text_content())
    await ada.go("/people")
    before = await _audited(site, "person_changed")
    for path, fields in (
        ("/people/cleo/edit", {"name": "C", "role": "principal", "departments": ""}),
        ("/people/ada/code", {}),
        ("/people/cleo/habits", {"time_zone": "UTC"}),
        ("/people/cleo/unlink", {"channel": CHANNEL, "address": "9"}),
        ("/people/cleo/leaving", {"then": "hand_over", "to": "ada"}),
        ("/people/cleo/hand-over", {"to": "ada"}),
        ("/people/cleo/readmit", {}),
        (f"/people/requests/{request}", {"role": "principal"}),
        (f"/people/codes/{code}/confirm", {}),
        (f"/people/codes/{code}/refuse", {}),
        ("/people/places", {"key": "test:room", "audience": "company"}),
    ):
        assert (await ada.post(path, fields)).status == 403, path
    assert (await ada.go(f"/people/codes/{code}")).status == 403
    assert (await ada.go("/people/cleo/leaving")).status == 403
    assert site.refused == ["web_not_allowed"] * 13
    assert await _audited(site, "person_changed") == before
    assert "99" not in {each.address for each in (await _known(site, "cleo")).handles}


async def test_forms_want_the_guard_of_their_session(site: Site) -> None:
    await _paired(site)
    boss = await site.enter("boss")
    for path in ("/people/cleo/leaving", "/people/cleo/edit", "/people/cleo/code", "/people/places"):
        assert (await boss.post(path, {"role": "principal"}, csrf="0" * 64)).status == 403
    assert (await _known(site, "cleo")).active
    assert set(site.refused) == {"web_bad_csrf"}


async def test_a_request_is_accepted_or_declined(site: Site) -> None:
    boss = await site.enter("boss")
    request = await _asks(site)
    page = await boss.go("/people")
    assert "Ask to be let in" in page.words
    assert "test: 77" in page.words
    page = await boss.post(f"/people/requests/{request}", {"role": "guest"})
    assert "Eve may speak from now on, as guest" in page.words
    assert ("boss", "accepted") in [(by, each["step"]) for by, each in await _audited(site, "pairing_requested")]
    assert (await boss.post(f"/people/requests/{request}", {"role": "decline"})).status == 404


async def test_a_code_is_shown_once_claimed_and_confirmed(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/people/ada")
    page = await boss.post("/people/ada/code")
    words = page.all(".pairing-code code")[0].text_content()
    path = page.all("#claim")[0].get("hx-get")
    assert "Nobody has sent it yet" in page.words
    again = await boss.go(path)
    assert again.all(".pairing-code") == []
    assert words not in again.text
    await _claims(site, words)
    part = await boss.part(path)
    assert "Is this ada?" in part.words
    assert "99" in part.words
    page = await boss.post(f"{path}/confirm")
    assert "All accounts of ada are told" in page.words
    assert "99" in {each.address for each in (await _known(site, "ada")).handles}
    assert [by for by, _ in await _audited(site, "person_paired")] == ["boss"]
    page = await boss.post("/people/ada/unlink", {"channel": CHANNEL, "address": "99"})
    assert "Unlinked" in page.words
    assert "99" not in {each.address for each in (await _known(site, "ada")).handles}


async def test_an_account_of_somebody_else_is_named_before_it_is_taken(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/people/ada")
    page = await boss.post("/people/ada/code")
    await _claims(site, page.all(".pairing-code code")[0].text_content(), "3")
    path = page.all("#claim")[0].get("hx-get")
    assert "Until now this account is bob's" in (await boss.go(path)).words
    assert "nothing was linked" in (await boss.post(f"{path}/refuse")).words


async def test_a_code_whose_time_is_up_says_so(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/people/ada")
    page = await boss.post("/people/ada/code")
    path = page.all("#claim")[0].get("hx-get")
    site.desk.rooms.clock.advance(timedelta(minutes=11))
    assert "Its time is up" in (await boss.go(path)).words
    assert (await boss.go("/people/codes/nothing")).status == 404


async def test_roles_departments_and_habits_are_changed(site: Site) -> None:
    await _paired(site)
    boss, cleo = await site.enter("boss"), await site.enter("cleo")
    await boss.go("/people/cleo")
    await boss.post("/people/cleo/edit", {"name": "Cleo C.", "role": "principal", "departments": "finance, sales"})
    known = await _known(site, "cleo")
    assert (known.name, known.role, known.departments) == ("Cleo C.", Role.PRINCIPAL, ("finance", "sales"))
    assert {by for by, each in await _audited(site, "person_changed") if each["change"] in ("role", "updated")} == {
        "boss"
    }
    await cleo.go("/people/cleo")
    await cleo.post("/people/cleo/habits", {"time_zone": "Asia/Tokyo", "begin": "22:00", "end": "07:00"})
    known = await _known(site, "cleo")
    assert (known.time_zone, known.quiet_hours) == ("Asia/Tokyo", ("22:00", "07:00"))
    refused = await cleo.post("/people/cleo/habits", {"time_zone": "Mars"})
    assert (refused.status, "no time zone Mars" in refused.words) == (400, True)
    assert (await boss.post("/people/ada/edit", {"name": "A", "role": "guest"})).status == 400
    assert (await boss.post("/people/cleo/edit", {"name": "C", "role": "emperor"})).status == 400
    assert (await boss.post("/people/nobody/edit", {"name": "C", "role": "member"})).status == 404


async def test_leaving_shows_what_ends_and_hands_over_what_is_chosen(site: Site) -> None:
    desk, cleo = site.desk, await _paired(site)
    rooms = desk.rooms
    room = await desk.room("boss", "bob")
    session = {"kind": Kind.INITIATIVE, "work": Work.ACTIVE, "owner": CLEO}
    given = await desk.said(room, "boss", "We open in Graz.", visibility=Visibility.COMPANY, subject="a", **session)
    kept = await desk.said(room, "boss", "We hire a driver.", subject="b", messages=("m2",), **session)
    wish = Wish(JobKind.REMINDER, "water the plants", Cron("0 9 * * *"), "UTC")
    by = Actor("person", "cleo")
    job = await rooms.write(lambda tx: Schedules(rooms.recorder).make(tx, wish, cleo, None, by, desk.now))
    boss, theirs = await site.enter("boss"), await site.enter("cleo")
    page = await boss.go("/people/cleo/leaving")
    assert "1 signed-in browser" in page.words
    assert {each.get("value") for each in page.all("input[name=initiative]")} == {given.id, kept.id}
    chosen = {"then": "hand_over", "to": "bob", "initiative": given.id, "schedule": job.id}
    page = await boss.post("/people/cleo/leaving", chosen)
    assert "cleo has left" in page.words
    assert "bob has 1 initiative and 1 schedule now" in page.words
    assert (await theirs.go("/people", allow_redirects=False)).status == 303
    assert ((await desk.look(given)).owner, (await desk.look(kept)).owner) == ("bob", "cleo")
    moved = await rooms.database.read(lambda c: jobs.get(c, job.id))
    assert moved is not None
    assert moved.owner == "bob"
    (undo,) = page.all(".notice form")
    await boss.post(undo.get("action"))
    assert (await _known(site, "cleo")).active


async def test_whoever_has_left_is_seen_by_principals_only(site: Site) -> None:
    await _paired(site)
    boss, ada = await site.enter("boss"), await site.enter("ada")
    await boss.go("/people/cleo/leaving")
    await boss.post("/people/cleo/leaving", {"then": ""})
    assert (await ada.go("/people/cleo")).status == 404
    assert "cleo" not in (await ada.go("/people")).words
    assert (await ada.go("/people?show=gone")).status == 404
    assert "cleo" in (await boss.go("/people?show=gone")).words
    assert "has left" in (await boss.go("/people/cleo")).words
    page = await boss.go("/people/cleo/leaving")
    assert "What is left of cleo's" in page.words


async def test_people_of_the_settings_do_not_leave_here(site: Site) -> None:
    boss = await site.enter("boss")
    page = await boss.go("/people/ada/leaving")
    assert "Take the entry [people.ada] out" in page.words
    assert (await boss.post("/people/ada/leaving", {"then": ""})).status == 400
    assert (await _known(site, "ada")).active


async def test_places_are_told_with_their_reason_and_declared(site: Site) -> None:
    rooms = site.desk.rooms
    await rooms.see(["1", "2"], 3, title="Board")
    await rooms.see(["2", "55"], 9, key="test:sales", title="Sales")
    await rooms.see(["3"], key="test:dm:3", kind=PlaceKind.DIRECT, title="a private talk")
    await rooms.see(["2"], key="test:mail", kind=PlaceKind.MAIL, title="a subject")
    boss = await site.enter("boss")
    page = await boss.go("/people/places")
    assert "Board" in page.words
    assert "nobody has said yet what this place is" in page.words
    assert "1 account of nobody's" in page.words
    assert "private talk" not in page.words
    assert "subject" not in page.words
    page = await boss.post("/people/places", {"key": "test:room", "audience": "room"})
    assert "It now counts as room" in page.words
    assert await rooms.audience() is Audience.ROOM
    assert ("boss", "room") in [(by, each["after"]) for by, each in await _audited(site, "room_changed")]
    page = await boss.post("/people/places", {"key": "test:sales", "audience": "company"})
    assert "It now counts as external: someone here is not on the roster" in page.words
    assert (await _audited(site, "room_changed"))[-1][0] == "boss", "what changes nothing yet is recorded too"
    for key in ("test:dm:3", "test:mail", "test:nowhere", ""):
        assert (await boss.post("/people/places", {"key": key, "audience": "company"})).status == 404
    assert (await boss.post("/people/places", {"key": "test:room", "audience": "person"})).status == 400


async def test_a_member_sees_the_places_that_they_are_in(site: Site) -> None:
    rooms = site.desk.rooms
    await rooms.see(["1", "2"], 3, title="Board")
    await rooms.see(["1"], 2, key="test:other", title="Secret project")
    await rooms.see(["3"], key="test:dm:3", kind=PlaceKind.DIRECT, title="")
    ada, bob, guest = await site.enter("ada"), await site.enter("bob"), await site.enter("guest")
    page = await ada.go("/people/places")
    assert "Board" in page.words
    assert "Secret project" not in page.words
    assert page.all("main form") == []
    await rooms.leave("2")
    assert "Board" not in (await ada.go("/people/places")).words
    assert "Direct conversation" in (await bob.go("/people/places")).words
    assert "in no place" in (await guest.go("/people/places")).words


async def test_people_and_places_come_in_pages(site: Site) -> None:
    for number in range(55):
        await _paired(site, f"p{number:02}", address=f"a{number}")
        await site.desk.rooms.see([f"a{number}"], 2, key=f"test:g{number:02}", title=f"Group {number:02}")
    boss = await site.enter("boss")
    seen: list[str] = []
    path = "/people"
    while path:
        page = await boss.go(path)
        seen += [each.text_content() for each in page.all("tbody th a")]
        path = next((each.get("href") for each in page.all(".more a")), "")
    assert len(seen) == len(set(seen)) == 59
    assert seen == sorted(seen)
    page = await boss.go("/people/places")
    assert len(page.all("#places > ul > li")) == 50
    assert len((await boss.go(page.all(".more a")[0].get("href"))).all("#places > ul > li")) == 5
    assert [each.text_content() for each in (await boss.part("/people?q=P07")).all("tbody th a")] == ["p07"]


@pytest.mark.parametrize("path", ["/people", "/people/cleo", "/people/cleo/leaving", "/people/places", "CODE"])
async def test_names_from_outside_come_out_as_text(site: Site, path: str) -> None:
    boss, rooms = await site.enter("boss"), site.desk.rooms
    await _paired(site)
    await _asks(site, XSS)
    await boss.go("/people/cleo")
    await boss.post("/people/cleo/edit", {"name": XSS[:70], "role": "member", "departments": XSS})
    await rooms.see(["1", XSS], 3, title=XSS)
    page = await boss.post("/people/cleo/code")
    await _claims(site, page.all(".pairing-code code")[0].text_content(), XSS, XSS)
    page = await boss.go(page.all("#claim")[0].get("hx-get") if path == "CODE" else path)
    assert page.status == 200
    assert "alert(" in page.words
    assert page.all("main script, main img, main [onerror]") == []


async def test_what_is_held_of_whoever_has_left_is_erased_after_a_look(site: Site) -> None:
    await _paired(site)
    session = await site.desk.room("boss", "bob")
    await site.desk.said(session, "cleo", "Cleo has a dog.", subject="dog")
    boss, ada = await site.enter("boss"), await site.enter("ada")
    await boss.go("/people/cleo/leaving")
    assert "That comes first" in (await boss.go("/people/cleo/erase")).words
    assert (await boss.post("/people/cleo/erase")).status == 400
    page = await boss.post("/people/cleo/leaving", {"then": "hand_over", "to": ""})
    assert "cleo has left" in page.words
    page = await boss.go("/people/cleo/erase")
    assert "1 memory of what cleo said that the company was not shown" in page.words
    assert "has a dog" not in page.words
    await ada.go("/people")
    assert (await ada.go("/people/cleo/erase")).status == 403
    assert (await ada.post("/people/cleo/erase")).status == 403
    page = await boss.post("/people/cleo/erase")
    assert "is being erased" in page.words
    assert [(by, each["step"]) for by, each in await _audited(site, "person_erased")] == [("boss", "begun")]


async def test_who_cannot_take_over_is_said_and_leaving_stands(site: Site) -> None:
    await _paired(site)
    boss = await site.enter("boss")
    await boss.go("/people/cleo/leaving")
    page = await boss.post("/people/cleo/leaving", {"then": "hand_over", "to": "guest"})
    assert "cleo has left" in page.words
    assert "Nothing was handed over" in page.words
    assert not (await _known(site, "cleo")).active
