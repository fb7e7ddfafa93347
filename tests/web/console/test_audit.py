"""The audit in a browser: in words, filtered, as a graph; and never more than its visitor may see."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from bot.audit.events import Actor, PersonChanged, Record, SpecialistConsulted, ToolCalled, TurnFinished
from bot.audit.events_ledger import ClassModeChanged
from bot.audit.events_memory import ExtractionFinished, ExtractionQueued, MemoryEdited, MemorySnapshot
from bot.audit.vocabulary import VOCABULARY
from bot.kernel.ids import BootId, PersonId, SessionId, TaskId, TurnId
from bot.ledger.model import Mode
from bot.memory import store as memories
from bot.memory.model import Claim
from bot.orchestrator.chain_check import ChainCheck
from bot.sessions import trail
from bot.sessions.tables import message as messages
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.web.console.audit import GROUPS, types_of
from tests.conftest import KEY
from tests.ledger.workshop import mail
from tests.memory.desk import Desk
from tests.web.console.site import Answer, Site

XSS = "<script>alert(1)</script>"
MODEL = Actor("model", "m")


async def _turn(desk: Desk, session: SessionId, who: str, text: str, answer: str = "Noted.") -> tuple[TurnId, str]:
    """A turn with all that is told of one; its id, and that of its message."""
    message, _ = await desk.spoke(session, who, text, answer)
    turn = TurnId(await desk.rooms.database.read(lambda c: _turn_of(c, message)))
    consulted = SpecialistConsulted("finance", "m", 1, 1, 0, 0, 9, "answered")
    ended = TurnFinished("answered", "m", "end_turn", 1, 1, 5, ())
    for payload in (ToolCalled("calculate", "h", replayed=False), consulted, ended, ExtractionQueued(TaskId("x"))):
        record = Record(payload, MODEL, session, turn)
        await desk.write(lambda tx, record=record: desk.rooms.recorder.record(tx, record))  # type: ignore[misc]
    return turn, message


def _turn_of(connection: sa.Connection, message: str) -> str:
    return str(connection.execute(sa.select(messages.c.turn_id).where(messages.c.id == message)).scalar_one())


async def _learned(desk: Desk, session: SessionId, who: str, turn: TurnId, message: str, statement: str) -> Claim:
    made = await desk.said(session, who, statement, turn=turn, messages=(message,))
    told = ExtractionFinished(TaskId("x"), "m", 1, 1, 1, 0, 0, 0)
    await desk.write(lambda tx: desk.rooms.recorder.record(tx, Record(told, MODEL, session, turn)))
    return made


async def _stood(desk: Desk, session: SessionId, turn: TurnId, *claims: Claim) -> None:
    snapshot = MemorySnapshot(
        "recall", tuple(c.id for c in claims), tuple(1 for _ in claims), tuple(9 for _ in claims), (), 0
    )

    def unit(tx: Tx) -> None:
        memories.show(tx, turn, snapshot, desk.now)
        desk.rooms.recorder.record(tx, Record(snapshot, MODEL, session, turn))

    await desk.write(unit)


def _repeat(desk: Desk, record: Record, times: int, tx: Tx) -> None:
    for _ in range(times):
        desk.rooms.recorder.record(tx, record)


async def _check(desk: Desk) -> None:
    """What the runner of tasks does."""
    rooms, boot = desk.rooms, BootId("b")
    chain = ChainCheck(rooms.database, rooms.recorder, rooms.clock, KEY, lambda: None)
    task = await desk.write(lambda tx: tasks.claim_due(tx, boot, desk.now))
    assert task is not None
    done = await chain.handle(task)
    assert done.apply is not None
    await desk.write(done.apply)
    await desk.write(lambda tx: tasks.finish(tx, rooms.recorder, task, boot, desk.now, empty=False))


def _entries(answer: Answer) -> list[str]:
    return [" ".join(each.text_content().split()) for each in answer.all("ol.entries > li")]


def _hrefs(answer: Answer, css: str) -> list[str]:
    return [each.get("href") for each in answer.all(css)]


def test_every_type_belongs_to_one_group() -> None:
    grouped = [each for name in GROUPS for each in types_of(name)]
    assert sorted(grouped) == sorted(VOCABULARY)
    assert types_of("turn_started") == ("turn_started",)
    assert types_of("") == types_of("made_up") == ()


async def test_everybody_sees_their_own_conversations_and_principals_the_company(desk: Desk, site: Site) -> None:
    adas, bobs = await desk.alone("ada"), await desk.alone("bob")
    await _turn(desk, adas, "ada", "words of ada")
    turn, _ = await _turn(desk, bobs, "bob", "words of bob")
    changed = Record(PersonChanged(PersonId("bob"), "role", "command"), Actor("person", "boss"))
    mode = Record(ClassModeChanged("send_email", Mode.PROPOSE), Actor("person", "boss"), text="it went wrong")
    for record in (changed, mode):
        await desk.write(lambda tx, record=record: desk.rooms.recorder.record(tx, record))  # type: ignore[misc]

    ada, boss, bob = [await site.enter(who) for who in ("ada", "boss", "bob")]
    page = await ada.go("/audit")
    assert "model m consulted finance (m): answered" in " ".join(_entries(page))
    assert set(_hrefs(page, "ol.entries a[href^='/audit/sessions/']")) == {f"/audit/sessions/{adas}"}
    assert "bob: role" not in page.words

    page = await boss.go("/audit")
    assert "bob: role (by command)" in page.words
    assert "it went wrong" in page.words
    assert _hrefs(page, "ol.entries a[href^='/audit/sessions/']") == []

    for path in (f"/audit/sessions/{bobs}", f"/audit/turns/{turn}", "/audit/sessions/none", "/audit/turns/none"):
        for browser in (ada, boss):
            assert (await browser.go(path)).status == 404
    assert site.refused == ["web_not_found"] * 8
    assert (await bob.go(f"/audit/sessions/{bobs}")).status == 200
    for query in (f"session={bobs}", "who=bob", "type=turn_finished", f"session={bobs}&type=talk&who=bob"):
        page = await ada.go(f"/audit?{query}")
        assert f"/audit/sessions/{bobs}" not in page.text
        assert turn not in page.text


async def test_filters_by_kind_person_place_and_day(desk: Desk, site: Site) -> None:
    adas, group = await desk.alone("ada"), await desk.room("ada", "bob")
    await _turn(desk, adas, "ada", "alone")
    desk.rooms.clock.advance(timedelta(days=1))
    await _turn(desk, group, "bob", "together")
    day = f"{desk.now:%Y-%m-%d}"
    browser = await site.enter("ada")

    async def kinds(query: str) -> set[tuple[str, str | None]]:
        page = await browser.part(f"/audit?{query}")
        assert "<html" not in page.text, "a part only"
        return {
            (
                each.cssselect(".meta span")[0].text.partition(",")[0],
                (each.cssselect(".meta a") or [each])[0].get("href"),
            )
            for each in page.all("ol.entries > li")
        }

    here, there = f"/audit/sessions/{adas}", f"/audit/sessions/{group}"
    assert await kinds("type=specialist_consulted") == {("specialist consulted", here), ("specialist consulted", there)}
    assert {where for _, where in await kinds(f"session={group}")} == {there}
    assert {where for _, where in await kinds(f"since={day}&type=talk")} == {there}
    assert {where for _, where in await kinds("until=2026-01-01")} == set()
    assert await kinds("who=ada&type=people") == {("auth login", None)}
    assert len(await kinds("type=made_up&since=yesterday&before=x")) > 3, "what cannot be understood filters nothing"


async def test_older_pages_follow_by_key(desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    adas, bobs = await desk.alone("ada"), await desk.alone("bob")
    monkeypatch.setattr(trail, "MOST_LOOKED_AT", 40)
    tool = ToolCalled("calculate", "h", replayed=False)
    for session, times in ((adas, 70), (bobs, 90), (adas, 3)):
        record = Record(tool, MODEL, session)
        await desk.write(partial(_repeat, desk, record, times))

    browser = await site.enter("ada")
    page = await browser.go("/audit?type=tool_called")
    rows, empty = len(_entries(page)), 0
    while older := _hrefs(page, "[data-older] a"):
        page = await browser.part(older[0])
        rows += len(_entries(page))
        if not _entries(page) and _hrefs(page, "[data-older] a"):
            empty += 1
            assert "Looking further back" in page.words
            assert page.all("[data-older]")[0].get("hx-trigger") == "load", "it goes on by itself"
    assert rows == 73
    assert empty, "a stretch without anything to see"


async def test_a_conversation_is_told_in_order(desk: Desk, site: Site) -> None:
    session = await desk.room("ada", "bob")
    turn, _ = await _turn(desk, session, "ada", "hello")
    browser = await site.enter("bob")
    page = await browser.go(f"/audit/sessions/{session}")
    told = _entries(page)
    assert [n for n, each in enumerate(told) if "consulted finance" in each] > [
        n for n, each in enumerate(told) if "used the tool calculate" in each
    ]
    assert _hrefs(page, "li.turn a") == [f"/audit/turns/{turn}"]
    (chat,) = _hrefs(page, "a[href^='/chat/session/']")
    assert "hello" in (await browser.go(chat)).words


async def test_one_turn_is_a_graph_whose_nodes_lead_on(desk: Desk, site: Site) -> None:
    session = await desk.room("ada", "bob")
    first, message = await _turn(desk, session, "ada", f"We launch in May. {XSS}", "Good to know.")
    known = await desk.said(session, "bob", f"The budget is 10. {XSS}")
    await _stood(desk, session, first, known)
    learned = await _learned(desk, session, "ada", first, message, "We launch in May.")
    later, _ = await _turn(desk, session, "bob", "When do we launch?", "In May.")
    await _stood(desk, session, later, learned)

    browser = await site.enter("bob")
    page = await browser.go(f"/audit/turns/{first}")
    links = _hrefs(page, "svg.graph a")
    assert f"#m-{message}" in links
    assert {f"/memories/{known.id}", f"/memories/{learned.id}", f"/audit/turns/{later}"} <= set(links)
    assert page.all(f"article#m-{message}")
    assert "Asked finance" in page.words
    assert "Used a tool" in page.words
    assert page.all(".steps .tag")[0].text == "Message"
    assert XSS not in page.text
    assert "<script>alert" not in page.text
    assert len(page.all("svg.graph rect")) == len(page.all(".steps > li"))
    assert len(page.all("svg.graph path.edge")) >= len(page.all("svg.graph rect")) - 1
    assert (await browser.go(f"/audit/turns/{later}")).status == 200


async def test_a_graph_shows_no_words_of_before_one_was_there_nor_memories_of_others(desk: Desk, site: Site) -> None:
    session = await desk.room("ada", "boss")
    turn, message = await _turn(desk, session, "ada", "a secret word")
    private = await desk.said(await desk.alone("ada"), "ada", "a private thing")
    await _stood(desk, session, turn, private)
    learned = await _learned(desk, session, "ada", turn, message, "a secret memory")
    addresses = ["1", "2", "3"]
    await desk.rooms.see(addresses, 4, key="test:group")
    await desk.write(
        lambda tx: desk.rooms.recorder.record(
            tx, Record(MemoryEdited(learned.id, 2), Actor("person", "ada"), session, turn, "a secret memory -> another")
        )
    )

    bob = await site.enter("bob")
    page = await bob.go(f"/audit/turns/{turn}")
    assert page.status == 200, "a later entry of it is his to read"
    for words in ("secret", "private"):
        assert words not in page.text
    assert page.all("article.said") == []
    boss = await site.enter("boss")
    page = await boss.go(f"/audit/turns/{turn}")
    assert "a secret word" in page.words
    assert "private" not in page.text
    assert "1 that you may not see" in page.words


async def test_entries_lead_to_what_they_are_about_where_one_may_see_it(desk: Desk, site: Site) -> None:
    session = await desk.room("ada", "bob")
    told = await desk.said(session, "ada", "We launch in May.")
    hidden = await desk.said(await desk.alone("bob"), "bob", "A private thing.")
    edited = Record(MemoryEdited(hidden.id, 2), Actor("person", "ada"), session)
    await desk.write(lambda tx: desk.rooms.recorder.record(tx, edited))
    page = await (await site.enter("ada")).go("/audit")
    assert _hrefs(page, "ol.entries a[href^='/memories/']") == [f"/memories/{told.id}"]


async def test_what_was_put_forward_leads_to_its_approval_for_those_who_may_see_it(desk: Desk, site: Site) -> None:
    session = await desk.room("ada", "bob")
    turn, _ = await _turn(desk, session, "ada", "Write to Kim.")
    made = await site.shop.propose("send_email", mail(), session=session, turn=turn)
    ada, bob = await site.enter("ada"), await site.enter("bob")
    for path in (f"/audit/turns/{turn}", "/audit?type=ledger"):
        assert f"/approvals/{made.id}" in _hrefs(await ada.go(path), "a"), "who asked"
        page = await bob.go(path)
        assert f"/approvals/{made.id}" not in page.text, "was in the room, and has no say"
    assert "Put forward send email that you may not see" in " ".join(
        each.text_content() for each in (await bob.go(f"/audit/turns/{turn}")).all("svg title")
    )


async def test_a_guest_is_not_shown_the_roster(desk: Desk, site: Site) -> None:
    guest, ada = await site.enter("guest"), await site.enter("ada")
    who = "select[name=who] option"
    assert [each.get("value") for each in (await guest.go("/audit")).all(who)] == ["", "guest"]
    assert {"boss", "bob"} <= {each.get("value") for each in (await ada.go("/audit")).all(who)}


async def test_a_copy_holds_what_is_seen_and_is_itself_in_the_audit(desk: Desk, site: Site) -> None:
    adas, bobs = await desk.alone("ada"), await desk.alone("bob")
    await _turn(desk, adas, "ada", "words of ada")
    await _turn(desk, bobs, "bob", "words of bob")
    browser = await site.enter("ada")
    answer = await browser.go("/audit/export.jsonl?type=talk")
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert {each["session"] for each in told} == {adas}
    assert {"id", "at", "type", "actor", "session", "turn", "payload", "text", "erased"} == set(told[0])
    assert [each["id"] for each in told] == sorted((each["id"] for each in told), reverse=True)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "took away a copy of the audit" in (await browser.go("/audit")).words


async def test_the_chain_is_checked_for_principals_and_its_result_stays(desk: Desk, site: Site) -> None:
    boss, ada = await site.enter("boss"), await site.enter("ada")
    page = await boss.go("/audit")
    assert "in order" in page.words
    assert "has not been checked as a whole" in page.words
    assert (await ada.go("/audit")).all("form[action='/audit/chain']") == []
    await ada.go("/audit")
    assert (await ada.post("/audit/chain")).status == 403
    await boss.go("/audit")
    page = await boss.post("/audit/chain")
    assert "is being checked" in page.words
    await _check(desk)
    page = await boss.go("/audit")
    assert "Checked as a whole" in page.words
    assert "sound" in page.words


async def test_forms_are_guarded(site: Site) -> None:
    boss = await site.enter("boss")
    assert (await boss.post("/audit/chain", csrf="0" * 64)).status == 403
    assert site.refused == ["web_bad_csrf"]
