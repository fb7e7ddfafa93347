"""Conversations of other channels in the console, where nothing is said: read and found, as far as one was there."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import SessionId
from bot.retrieval.recall import store as recall
from bot.retrieval.recall.model import Entry, Kind
from bot.sessions import places
from bot.sessions.tables import message
from tests.memory.desk import Desk
from tests.web.console.site import Site

XSS = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


async def index(desk: Desk) -> None:
    def rows(connection: sa.Connection) -> list[Entry]:
        return [
            Entry(Kind.TURN, row.id, row.session_id, 0, 0, row.speaker, row.sent_at, row.text)
            for row in connection.execute(sa.select(message))
        ]

    entries = await desk.rooms.database.read(rows)
    await desk.write(lambda tx: recall.put(tx, Kind.TURN, entries, ()))


async def group(desk: Desk) -> SessionId:
    """Ada and the boss speak; then Bob joins, and leaves again."""
    session = await desk.room("ada", "boss")
    clock = desk.rooms.clock
    clock.advance(timedelta(minutes=5))
    await desk.spoke(session, "ada", "The PAPAYA plan.", "Noted before Bob.")
    clock.advance(timedelta(minutes=5))
    await desk.rooms.see(["1", "2", "3"], 4, key="test:group", title=XSS)
    await desk.spoke(session, "ada", "The KIWI plan, with Bob.", "**Noted** with Bob.")
    clock.advance(timedelta(minutes=5))
    await desk.write(lambda tx: places.leave(tx, desk.rooms.recorder, "test:group", "3", desk.now))
    clock.advance(timedelta(minutes=5))
    await desk.spoke(session, "ada", "The MANGO plan, without Bob.", "Noted without Bob.")
    await index(desk)
    return session


async def test_a_room_s_conversation_is_read_for_the_time_one_was_in_it(site: Site) -> None:
    session = await group(site.desk)
    ada, bob, guest = await site.enter("ada"), await site.enter("bob"), await site.enter("guest")
    path = f"/chat/session/{session}"
    whole = (await ada.go(path)).words
    assert all(word in whole for word in ("PAPAYA", "KIWI", "MANGO"))
    his = await bob.go(path)
    assert "KIWI" in his.words
    assert "PAPAYA" not in his.text
    assert "MANGO" not in his.text
    assert [each.text_content() for each in his.all(".words strong")] == ["Noted"]
    assert (await guest.go(path)).status == 404
    assert site.refused[-1] == "web_not_found"


async def test_it_is_listed_and_found_by_who_was_there(site: Site) -> None:
    session = await group(site.desk)
    ada, bob, guest = await site.enter("ada"), await site.enter("bob"), await site.enter("guest")
    listed = await bob.go("/chat")
    assert [each.get("href") for each in listed.all(".talks a")] == [f"/chat/session/{session}"]
    assert listed.all("main script, main img") == []
    found = await bob.go("/chat/all?q=plan")
    assert [each.text_content().strip() for each in found.all(".found")] == ["The KIWI plan, with Bob."]
    assert len((await ada.go("/chat/all?q=plan")).all(".found")) == 3
    for page in ("/chat/all", "/chat/all?q=plan"):
        assert "KIWI" not in (await guest.go(page)).text
    assert (await bob.go("/chat/all?q=plan&before=nonsense")).status == 200


async def test_where_the_chat_is_off_nothing_can_be_said(site: Site) -> None:
    await group(site.desk)
    browser = await site.enter("ada")
    page = await browser.go("/chat")
    assert page.all("#composer, a[href='/chat/new']") == []
    for path in ("/chat/new", f"/chat/{'0' * 32}"):
        assert (await browser.go(path)).status == 404
    assert (await browser.post(f"/chat/{'0' * 32}/say", {"id": "message-1", "text": "hello"})).status in (404, 405)


async def test_long_ones_are_read_in_pages(site: Site) -> None:
    session = await site.desk.alone("ada")
    site.desk.rooms.clock.advance(timedelta(minutes=1))
    for number in range(25):
        await site.desk.spoke(session, "ada", f"word {number}", f"answer {number}")
        site.desk.rooms.clock.advance(timedelta(seconds=1))
    browser = await site.enter("ada")
    newest = await browser.go(f"/chat/session/{session}")
    earlier = await browser.go(newest.all("p.more a")[0].get("href"))
    said = [each.text_content() for page in (earlier, newest) for each in page.all("li.mine .words")]
    assert said == [f"word {number}" for number in range(25)]


@pytest.mark.parametrize("text", [XSS, "[x](javascript:alert(1))", "<b>bold</b>"])
async def test_what_was_said_is_shown_as_text(site: Site, text: str) -> None:
    session = await site.desk.alone("ada")
    site.desk.rooms.clock.advance(timedelta(minutes=1))
    await site.desk.rooms.see(["2"], key="test:dm:2", kind=PlaceKind.DIRECT, title=XSS)
    await site.desk.spoke(session, "ada", text, text)
    await index(site.desk)
    browser = await site.enter("ada")
    for path in (f"/chat/session/{session}", "/chat/all", "/chat/all?q=alert", "/chat/all?q=bold"):
        page = await browser.go(path)
        assert page.status == 200
        assert page.all("main script, main img, main b, a[href^='javascript']") == [], path
    shown = (await browser.go(f"/chat/session/{session}")).all("li.mine .words")
    assert shown[0].text_content() == text
