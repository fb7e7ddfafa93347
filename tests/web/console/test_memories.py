"""Memories on pages: finding them, one with all that stands around it, and what each person may see of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit.tables import audit
from bot.kernel.ids import PersonId, TurnId
from bot.memory import store
from bot.memory.model import Claim, Held, Kind, Status, Work
from bot.memory.tables import claim_shown
from bot.sessions.tables import message
from tests.memory.claims import MODEL, claim, evidence
from tests.memory.desk import Desk
from tests.web.console.site import Answer, Browser, Site

XSS = '<script>alert(1)</script><img src=x onerror="alert(2)">'
COLOUR = "thing/colour"


async def told(desk: Desk, session: Any, who: str, text: str, statement: str, **values: Any) -> tuple[Claim, str]:
    """A turn in which somebody says a text, of which a part is remembered. The claim, and the message's id."""
    said, _ = await desk.spoke(session, who, text, values.pop("answer", "Noted."))
    new = claim(desk.now, session=session, speaker=who, statement=statement, **values)
    words = evidence(statement, desk.now, message=said, speaker=who, start=text.index(statement))
    await desk.write(lambda tx: store.add(tx, desk.rooms.recorder, new, [words], MODEL))
    desk.rooms.clock.advance(timedelta(minutes=1))
    return new, said


async def stood(desk: Desk, of: Claim, said: str, way: str = "block") -> TurnId:
    """It stood before the model in the turn of this message."""
    turn = await desk.rooms.database.read(
        lambda c: c.execute(sa.select(message.c.turn_id).where(message.c.id == said)).scalar_one()
    )
    row = {"turn_id": turn, "claim_id": of.id, "way": way, "version": of.version, "score": 1, "at": desk.now}
    await desk.write(lambda tx: tx.execute(claim_shown.insert(), [row]))
    return TurnId(turn)


def statements(page: Answer) -> list[str]:
    return [each.text_content() for each in page.all("li[data-item] .says a")]


async def audited(site: Site, kind: str) -> list[dict[str, Any]]:
    query = sa.select(audit.c.payload, audit.c.actor).where(audit.c.type == kind).order_by(audit.c.id)
    rows = await site.desk.rooms.database.read(lambda c: c.execute(query).all())
    return [{**json.loads(row.payload), "by": row.actor} for row in rows]


# --- the list --------------------------------------------------------------------------------------------------------


async def test_the_list_shows_what_is_believed_of_what_its_person_may_see(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    await desk.said(room, "ada", "We launch in March.")
    gone = await desk.said(room, "ada", "It is red.", subject=COLOUR, messages=("m2",))
    await desk.do("ada", "retract", gone)
    page = await (await site.enter("ada")).go("/memories")
    assert statements(page) == ["We launch in March."]
    assert page.all("nav#menu a[aria-current=page]")[0].get("href") == "/memories"
    for other in ("bob", "boss", "guest"):
        assert statements(await (await site.enter(other)).go("/memories?status=all")) == []
    assert [each["by"] for each in await audited(site, "memory_viewed")] == ["ada"]


async def test_every_filter_narrows_it(site: Site) -> None:
    desk = site.desk
    room = await desk.room("ada", "bob")
    await desk.said(room, "ada", "Red.", kind=Kind.FACT, subject="a/a", department="sales", domain="finance")
    desk.rooms.clock.advance(timedelta(days=2))
    await desk.said(room, "bob", "Green.", subject="b/b", messages=("m2",))
    await desk.said(room, "bob", "Move.", kind=Kind.INITIATIVE, subject="c/c", work=Work.BLOCKED, messages=("m3",))
    await desk.said(
        room, "ada", "Eve signs.", subject="d/d", messages=("m4",), status=Status.PENDING, held=(Held.AUTHORITY,)
    )
    browser = await site.enter("ada")
    later = (desk.now - timedelta(days=1)).date()
    for query, expected in {
        "": ["Move.", "Green.", "Red."],
        "?kind=fact": ["Red."],
        "?kind=initiative&work=blocked": ["Move."],
        "?kind=initiative&work=active": [],
        "?status=pending": ["Eve signs."],
        "?status=all": ["Eve signs.", "Move.", "Green.", "Red."],
        "?department=sales": ["Red."],
        "?domain=finance": ["Red."],
        "?person=bob": ["Move.", "Green."],
        f"?since={later}": ["Move.", "Green."],
        f"?until={later}": ["Red."],
        "?q=gree&order=newest": ["Green."],
        "?q=nothing+like+it&order=newest": [],
        f"?known={later}": ["Red."],
    }.items():
        assert statements(await browser.go(f"/memories{query}")) == expected, query


async def test_the_best_match_comes_first_and_filters_hold_there_too(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    await desk.said(room, "ada", "The office moves to Rome in May.", subject="a/a")
    await desk.said(room, "ada", "The office has a kitchen.", kind=Kind.FACT, subject="b/b", messages=("m2",))
    browser = await site.enter("ada")
    page = await browser.go("/memories?q=when+does+the+office+move+to+Rome")
    assert statements(page)[0] == "The office moves to Rome in May."
    assert page.all(".rank")[0].text_content() == "1"
    assert statements(await browser.go("/memories?q=office+Rome&kind=fact")) == ["The office has a kitchen."]


async def test_as_of_a_day_it_is_told_as_it_was_known(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada", "In March.")
    day = desk.now.date()
    desk.rooms.clock.advance(timedelta(days=2))
    await desk.do("ada", "correct", said, "In April.")
    browser = await site.enter("ada")
    page = await browser.go(f"/memories?known={day}")
    assert statements(page) == ["In March."]
    assert "in the words of then" in page.words
    assert statements(await browser.go("/memories")) == ["In April."]
    assert statements(await browser.go(f"/memories?known={day - timedelta(days=1)}")) == []


async def test_pages_follow_by_key_and_htmx_gets_the_rows_alone(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    for number in range(53):
        await desk.said(room, "ada", f"Plan {number}.", subject=f"{number}/x", messages=(f"m{number}",))
    browser = await site.enter("ada")
    first = await browser.go("/memories")
    (more,) = [each.get("href") for each in first.all("a.more")]
    second = await browser.go(more)
    assert statements(first) + statements(second) == [f"Plan {number}." for number in reversed(range(53))]
    assert second.all("a.more") == []
    part = await browser.part("/memories?q=Plan+7&order=newest")
    assert "<html" not in part.text
    assert part.text.lstrip().startswith('<section id="rows"')
    assert {"/memories?q=Plan+7&kind=fact&order=newest"} < {each.get("href") for each in part.all(".tabs a")}


@pytest.mark.parametrize(
    "query",
    [
        *("kind=wish", "status=erased", "since=yesterday", "known=2026-13-01", "until=9999-12-31", "before=x"),
        *("before=-1", f"q={'a+' * 20}", f"q={'a' * 300}", "order=worst", "work=asleep"),
    ],
)
async def test_an_unclear_query_is_refused_in_words(site: Site, query: str) -> None:
    page = await (await site.enter("ada")).go(f"/memories?{query}")
    assert page.status == 422
    assert page.all(".trouble")


async def test_an_empty_memory_says_what_to_do(site: Site) -> None:
    browser = await site.enter("ada")
    assert "Tell the executive a decision" in (await browser.go("/memories")).words
    assert "Nothing that you may see is like this" in (await browser.go("/memories?kind=fact")).words
    assert "Nothing waits for a yes or no" in (await browser.go("/memories/review")).words


# --- one -------------------------------------------------------------------------------------------------------------


async def test_a_memory_shows_its_message_with_the_quote_marked(site: Site) -> None:
    desk = site.desk
    room = await desk.room("ada", "bob")
    of, said = await told(
        desk, room, "ada", "I thought about it. We launch in March. More later.", "We launch in March."
    )
    page = await (await site.enter("bob")).go(f"/memories/{of.id}")
    assert page.all("h1")[0].text_content() == "We launch in March."
    (words,) = page.all(".cited blockquote")
    assert words.text_content() == "I thought about it. We launch in March. More later."
    assert [each.text_content() for each in words.cssselect("mark")] == ["We launch in March."]
    assert "in Room (test)" in page.words
    assert f"/memories/from/{said}" in page.text
    by_handle = await (await site.enter("ada")).go(f"/memories/{of.handle}")
    assert by_handle.all("h1")[0].text_content() == "We launch in March."


async def test_a_message_that_was_edited_or_deleted_says_so(site: Site) -> None:
    desk = site.desk
    of, said = await told(desk, await desk.alone("ada"), "ada", "We launch in March.", "We launch in March.")

    def edit(tx: Any) -> None:
        tx.execute(message.update().where(message.c.id == said).values(text="Forget it.", edited_at=desk.now))

    await desk.write(edit)
    page = await (await site.enter("ada")).go(f"/memories/{of.id}")
    assert "edited" in page.all(".cited figcaption")[0].text_content()
    assert "do not stand in the message any more" in page.words
    assert [each.text_content() for each in page.all(".cited mark")] == ["We launch in March."]


async def test_history_is_told_as_differences_with_who_and_why(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.room("boss", "ada"), "ada", "We launch in March.")
    await desk.do("ada", "correct", said, "We launch in April.", reason="Bob was late")
    page = await (await site.enter("boss")).go(f"/memories/{said.id}")
    newest, oldest = page.all(".history > li")
    assert "corrected by ada" in " ".join(newest.text_content().split())
    assert "Bob was late" in newest.text_content()
    assert [each.text_content() for each in newest.cssselect("del")] == ["March"]
    assert [each.text_content() for each in newest.cssselect("ins")] == ["April"]
    assert "written by the executive" in " ".join(oldest.text_content().split())


async def test_what_replaced_what_is_a_chain(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    first = await desk.said(room, "ada", "In March.")
    for number, when in enumerate(("In April.", "In May."), 2):
        new = await desk.said(
            room, "ada", when, status=Status.PENDING, held=(Held.OUTRANKED,), messages=(f"m{number}",)
        )
        await desk.do("ada", "accept", new)
    page = await (await site.enter("ada")).go(f"/memories/{first.id}")
    links = [each.text_content() for each in page.all(".lineage > li > :first-child")]
    assert links == ["In March.", "In April.", "In May."]


async def test_the_answers_that_it_shaped_are_those_of_ones_own_conversations(site: Site) -> None:
    desk = site.desk
    home, room = await desk.alone("ada"), await desk.room("boss", "bob")
    of, _ = await told(desk, home, "ada", "We launch in March.", "We launch in March.")
    await desk.do("ada", "promote", of)
    await desk.do("boss", "accept", of)
    of = await desk.look(of)
    mine, _ = await desk.spoke(home, "ada", "When do we launch?", "In March, Ada.")
    theirs, _ = await desk.spoke(room, "bob", "Bob asks when.", "In March, Bob.")
    turn = await stood(desk, of, mine)
    await stood(desk, of, theirs, "recall")
    page = await (await site.enter("ada")).go(f"/memories/{of.id}")
    assert "When do we launch?" in page.words
    assert "In March, Ada." in page.words
    assert f"/audit/turns/{turn}" in page.text
    assert "And in 1 turn of conversations that you are not in" in page.words
    assert "Bob" not in page.all("#answers")[0].getparent().text_content()
    other = await (await site.enter("bob")).go(f"/memories/{of.id}")
    assert "In March, Bob." in other.words
    assert "Ada." not in other.words


async def test_who_was_not_there_sees_no_words_of_before_and_no_message(site: Site) -> None:
    desk = site.desk
    of, said = await told(desk, await desk.room("boss", "ada"), "ada", "The salaries are 5.", "The salaries are 5.")
    await desk.do("ada", "correct", of, "We launch.")
    await desk.do("boss", "promote", of)
    bob = await site.enter("bob")
    for path in (f"/memories/{of.id}", "/memories", f"/memories?known={desk.now.date()}"):
        page = await bob.go(path)
        assert page.status == 200
        assert "salaries" not in page.text, path
        assert said not in page.text, path
    assert "shown to those who were there" in (await bob.go(f"/memories/{of.id}")).words
    assert "salaries" in (await (await site.enter("ada")).go(f"/memories/{of.id}")).text


async def test_who_came_later_is_shown_the_claim_of_later_words_only(site: Site) -> None:
    """Evidence of a message that came before one was there is a quote at most, never the message."""
    desk = site.desk
    room = await desk.room("boss", "ada")
    _, early = await told(desk, room, "ada", "The salaries are 5. We launch.", "We launch.", subject="x/y")
    await desk.rooms.see(["1", "2", "3"], 4, key="test:group")
    later = claim(desk.now, session=room, speaker="ada", statement="We do launch.")
    rests = [evidence("We launch.", desk.now, message=early, speaker="ada", start=20)]
    await desk.write(lambda tx: store.add(tx, desk.rooms.recorder, later, rests, MODEL))
    page = await (await site.enter("bob")).go(f"/memories/{later.id}")
    assert "We launch." in page.words
    assert "salaries" not in page.text
    assert "The rest of the message is shown to who was there when it came" in page.words


# --- others' ids, hostile words --------------------------------------------------------------------------------------

PAGES = ("", "/changed?version=1", "/forget")
FORMS = {
    "/do": {"act": "retract", "reason": "x", "version": "1"},
    "/correct": {"statement": "No.", "reason": "x", "version": "1"},
    "/plan": {"work": "active", "reason": "x", "version": "1"},
    "/forget": {"reason": "x", "version": "1"},
}


async def _refusals(browser: Browser, of: str) -> list[tuple[int, list[str]]]:
    answers = [await browser.go(f"/memories/{of}{path}") for path in PAGES]
    answers += [await browser.post(f"/memories/{of}{path}", fields) for path, fields in FORMS.items()]
    return [(each.status, [found.text_content() for found in each.all(".trouble")]) for each in answers]


async def test_another_persons_memory_is_none(site: Site) -> None:
    desk = site.desk
    of, said = await told(desk, await desk.alone("ada"), "ada", "We launch in March.", "We launch in March.")
    for who in ("bob", "boss", "guest"):
        browser = await site.enter(who)
        await browser.go("/memories")
        site.refused.clear()
        foreign = await _refusals(browser, of.id)
        unknown = await _refusals(browser, of.id[:-1] + ("0" if of.id[-1] != "0" else "1"))
        assert foreign == unknown == [(404, ["There is no such memory."])] * 7
        assert site.refused == ["web_not_found"] * 14
        for answer in (
            await browser.go(f"/memories/from/{said}"),
            await browser.post(f"/memories/from/{said}", {"reason": "x"}),
        ):
            assert answer.status == 404
        await browser.post("/memories/bulk", {"act": "retract", "memory": f"{of.id}:1", "reason": "x"})
        await browser.post("/memories/review", {"act": "reject", "memory": f"{of.id}:1"})
    assert (await desk.look(of)).version == 1


async def test_words_from_outside_are_text_wherever_they_stand(site: Site) -> None:
    desk = site.desk
    room = await desk.room("ada", "bob", key="test:x")
    await desk.rooms.see(["2", "3"], 3, key="test:x", title=XSS)
    values = {"rationale": XSS, "outcome": XSS, "department": XSS, "domain": XSS, "subject": XSS}
    text = f"Before {XSS} after"
    of, said = await told(desk, room, "ada", text, XSS, answer=XSS, kind=Kind.INITIATIVE, **values)
    await stood(desk, of, said)
    await desk.do("ada", "correct", of, f"{XSS} again", reason=XSS)
    held = await desk.said(
        room, "ada", f"{XSS} held", status=Status.PENDING, held=(Held.AUTHORITY,), subject=XSS, messages=("m9",)
    )
    browser = await site.enter("ada")
    for path in (
        "/memories", "/memories?q=script", f"/memories?q={XSS.replace(' ', '+')}&person=%22%3E%3Cscript%3E",
        f"/memories/{of.id}", f"/memories/{of.id}/forget", f"/memories/from/{said}", "/memories/review",
        f"/memories/{held.id}",
    ):  # fmt: skip
        page = await browser.go(path)
        assert page.status == 200, path
        assert [each for each in page.all("script") if not each.get("src")] == [], path
        assert page.all("img[src=x], [onerror]") == [], path
    wrong = await browser.post(f"/memories/{of.id}/correct", {"statement": XSS, "reason": "", "version": XSS})
    assert wrong.all("img[src=x], [onerror]") == []


@pytest.mark.parametrize("path", ["/memories/bulk", "/memories/undo", "/memories/review", "/memories/x/do"])
async def test_a_forged_form_does_nothing(site: Site, path: str) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    browser = await site.enter("ada")
    answer = await browser.post(
        path.replace("x", of.id), {"act": "retract", "memory": f"{of.id}:1", "reason": "x"}, csrf="0" * 64
    )
    assert answer.status == 403
    assert site.refused == ["web_bad_csrf"]
    assert (await desk.look(of)).version == 1


async def test_a_page_that_is_open_hears_that_its_memory_changed(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    browser = await site.enter("ada")
    path = f"/memories/{of.id}/changed?version=1"
    assert (await browser.part(path)).status == 204
    await desk.do("ada", "correct", of, "In May.")
    assert "changed meanwhile" in (await browser.part(path)).text
    ear = site.hub.listen(PersonId("ada"))
    assert ear is not None
    await browser.go(f"/memories/{of.id}")
    assert await ear.next(timedelta(seconds=0.05)) == set(), "looking changes nothing"
