"""What is done to memories in the browser: who may, what comes of it, what is told, and taking it back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.memory.model import Claim, Held, Kind, Status, Visibility, Work
from bot.web.console import conversation
from tests.memory.desk import Desk, person
from tests.web.console.site import Answer, Browser, Site
from tests.web.console.test_memories import COLOUR, audited, statements, told

WHY = "Bob was late"


async def act(browser: Browser, of: Claim, name: str, **more: Any) -> Answer:
    """As the page's form does it: whatever version stands there."""
    page = await browser.go(f"/memories/{of.id}")
    (version, *_) = [each.get("value") for each in page.all("input[name=version]")]
    fields = {"reason": WHY, "version": version, **more}
    path = name if name in ("correct", "plan", "forget") else "do"
    return await browser.post(f"/memories/{of.id}/{path}", fields if path != "do" else {"act": name, **fields})


async def undo(browser: Browser, page: Answer) -> Answer:
    """Press the button beside the notice."""
    (form,) = page.all(".notice form")
    fields = {each.get("name"): each.get("value") for each in form.cssselect("input") if each.get("name") != "csrf"}
    return await browser.post(form.get("action"), fields)


def notice(page: Answer) -> str:
    return " ".join(page.all(".notice p")[0].text_content().split())


def offered(page: Answer) -> set[str]:
    return {each.text_content() for each in page.all("button[name=act]")}


async def waits(desk: Desk, session: Any, who: str, statement: str, **more: Any) -> Claim:
    values = {"status": Status.PENDING, "held": (Held.UNSUPPORTED,), "subject": f"{statement}/x", **more}
    return await desk.said(session, who, statement, messages=(statement,), **values)


# --- one -------------------------------------------------------------------------------------------------------------


async def test_ones_own_words_are_put_right_with_a_reason_and_taken_back(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada", "We launch in March.")
    browser = await site.enter("ada")
    page = await act(browser, of, "correct", statement="We launch in April.")
    assert (page.url, notice(page)) == (f"/memories/{of.id}", "Put right.")
    assert page.all("h1")[0].text_content() == "We launch in April."
    assert WHY in page.words
    page = await undo(browser, page)
    assert notice(page) == "Undone: 1 memory is as before."
    assert page.all("h1")[0].text_content() == "We launch in March."
    again = await browser.post("/memories/undo", {"first": "1", "last": "1"})
    assert again.status == 409


@pytest.mark.parametrize("name", ["retract", "dispute", "promote"])
async def test_a_principal_decides_at_once_and_undoes_it(site: Site, name: str) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("boss", "ada"), "ada")
    browser = await site.enter("boss")
    page = await act(browser, of, name)
    changed = await desk.look(of)
    assert (changed.status, changed.visibility) != (Status.ACTIVE, Visibility.SESSION)
    await undo(browser, page)
    after = await desk.look(of)
    assert (after.status, after.visibility, after.version) == (Status.ACTIVE, Visibility.SESSION, 3)
    (event,) = [each for each in await desk.history(of, person("boss")) if each.reason == "undone"]
    assert event.actor == "boss"


async def test_what_is_offered_is_what_may_be_done(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("boss", "ada", "bob"), "ada", kind=Kind.INITIATIVE)
    pages = {who: await (await site.enter(who)).go(f"/memories/{of.id}") for who in ("boss", "ada", "bob")}
    assert offered(pages["boss"]) == {"Show it to the company", "Retract", "Dispute"}
    assert offered(pages["ada"]) == {"Ask that the company may see it", "Retract"}
    assert offered(pages["bob"]) == {"Dispute"}
    assert {who: len(page.all("form[action$='/plan']")) for who, page in pages.items()} == {
        "boss": 1,
        "ada": 1,
        "bob": 0,
    }
    assert {who: len(page.all("a[href$='/forget']")) for who, page in pages.items()} == {"boss": 1, "ada": 1, "bob": 0}
    assert [each.text_content() for each in pages["bob"].all("form[action$='/correct'] h2")] == ["Say otherwise"]
    await desk.do("ada", "promote", of)
    assert offered(await (await site.enter("ada")).go(f"/memories/{of.id}")) == {"Do not show it", "Retract"}
    assert "Show it to the company" in offered(await (await site.enter("boss")).go(f"/memories/{of.id}"))


async def test_what_a_person_may_not_do_is_refused_whatever_they_post(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("boss", "ada", "bob"), "ada", kind=Kind.INITIATIVE)
    browser = await site.enter("bob")
    await browser.go("/memories")
    for path, fields in (
        ("do", {"act": "promote"}),
        ("do", {"act": "restore"}),
        ("plan", {"work": "active"}),
        ("forget", {}),
    ):
        answer = await browser.post(f"/memories/{of.id}/{path}", {"reason": WHY, "version": "1", **fields})
        assert answer.status == 403, path
    assert (await browser.go(f"/memories/{of.id}/forget")).status == 403
    assert site.refused == ["web_not_allowed"] * 5
    assert (await desk.look(of)).version == 1


async def test_other_words_for_what_another_said_stand_beside_it(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("ada", "bob"), "ada", "In March.")
    browser = await site.enter("bob")
    page = await act(browser, of, "correct", statement="In May.")
    assert "marked as disputed" in notice(page)
    assert page.all("h1")[0].text_content() == "In May."
    assert "In March." in page.all("#against")[0].getparent().text_content()
    await undo(browser, page)
    assert (await desk.look(of)).status is Status.ACTIVE


async def test_a_wish_is_put_before_the_principals(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    page = await act(await site.enter("ada"), of, "promote")
    assert notice(page) == "Put before the principals: one of them decides."
    boss = await site.enter("boss")
    review = await boss.go("/memories/review")
    assert statements(review) == ["We launch in March."]
    await boss.post("/memories/review", {"act": "accept", "memory": f"{of.id}:2"})
    assert statements(await (await site.enter("bob")).go("/memories")) == ["We launch in March."]


async def test_an_initiative_shows_its_plan_and_has_it_changed(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada", "Move.", kind=Kind.INITIATIVE)
    browser = await site.enter("ada")
    page = await act(browser, of, "plan", work="blocked", owner="bob", due="2026-05-01")
    assert "blocked" in page.all("h1 + .meta")[0].text_content()
    assert "owner bob" in page.all("h1 + .meta")[0].text_content()
    stood = await desk.look(of)
    assert (stood.work, stood.owner, str(stood.due)) == (Work.BLOCKED, "bob", "2026-05-01")
    await undo(browser, page)
    assert (await desk.look(of)).work is Work.PROPOSED
    for wrong in ({"work": "asleep"}, {"due": "soon"}, {"owner": "guest"}):
        values = {"work": "active", "owner": "", "due": "", **wrong}
        assert (await act(browser, of, "plan", **values)).status == 422, wrong


async def test_what_was_changed_meanwhile_is_shown_as_it_is_with_what_was_written(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("boss", "ada"), "ada", "In March.")
    browser = await site.enter("ada")
    await browser.go(f"/memories/{of.id}")
    await desk.do("boss", "correct", of, "In April.")
    fields = {"reason": WHY, "version": "1", "statement": "In May."}
    page = await browser.post(f"/memories/{of.id}/correct", fields)
    assert page.status == 409
    assert "was changed meanwhile" in page.all(".trouble")[0].text_content()
    assert page.all("h1")[0].text_content() == "In April."
    assert page.all("textarea")[0].text_content() == "In May."
    assert {each.get("value") for each in page.all("input[name=version]")} == {"2"}
    missing = await act(browser, of, "correct", statement="In May.", reason=" ")
    assert missing.status == 422
    assert missing.all("textarea")[0].text_content() == "In May."
    assert (await desk.look(of)).statement == "In April."


# --- forgetting ------------------------------------------------------------------------------------------------------


async def test_what_would_vanish_is_shown_before_and_then_it_is_gone(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    text = "The zebra code is 9417. Lunch was fine."
    of, said = await told(desk, room, "ada", text, "The zebra code is 9417.", answer="Noted, bon appetit.")
    along, _ = await told(
        desk, room, "ada", "The zebra code is 9417, as said.", "The zebra code is 9417", subject="c/d"
    )
    browser = await site.enter("ada")
    conversation.formatted(text)
    conversation.without_marks(text)
    page = await browser.go(f"/memories/{of.id}/forget")
    assert "2 memories" in page.words
    assert [each.get("href") for each in page.all(".list a")] == [f"/memories/{along.id}"]
    assert "2 messages lose words" in page.words
    first = next(each for each in page.all(".message") if "Lunch" in each.text_content())
    assert "9417" in "".join(each.text_content() for each in first.cssselect("del"))
    assert "1 backup holds it still" in page.words
    assert (await desk.look(of)).version == 1

    done = await browser.post(f"/memories/{of.id}/forget", {"reason": WHY, "version": "1"})
    assert done.url == "/memories"
    assert notice(done).startswith("Forgotten: 2 memories, with the words of 2 messages.")
    kept = (conversation.formatted, conversation.without_marks)
    assert [each.cache_info().currsize for each in kept] == [0, 0]  # nor is it held in memory as it was drawn
    assert done.all(".notice form") == []
    for path in ("/memories?status=all", f"/memories/from/{said}", f"/memories/{of.id}"):
        assert "9417" not in (await browser.go(path)).text
    assert (await browser.go(f"/memories/{of.id}")).status == 404


async def test_forgetting_what_was_changed_meanwhile_is_refused(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    browser = await site.enter("ada")
    await browser.go(f"/memories/{of.id}/forget")
    await desk.do("ada", "correct", of, "In May.")
    page = await browser.post(f"/memories/{of.id}/forget", {"reason": WHY, "version": "1"})
    assert page.status == 409
    assert page.all("blockquote")[0].text_content() == "In May."
    assert "changed meanwhile" in page.all(".trouble")[0].text_content()
    assert (await browser.post(f"/memories/{of.id}/forget", {"reason": " ", "version": "2"})).status == 422
    assert (await desk.look(of)).statement == "In May."


# --- what a message brought ------------------------------------------------------------------------------------------


async def test_all_that_a_message_brought_is_taken_back_and_had_again(site: Site) -> None:
    desk = site.desk
    room = await desk.room("boss", "ada", "bob")
    one, said = await told(desk, room, "ada", "In March. It is red.", "In March.")
    two = await desk.said(room, "ada", "It is red.", subject=COLOUR, messages=(said,))
    both = await desk.said(room, "ada", "Buy it.", subject="buy/it", messages=(said, "other"))
    page = await (await site.enter("ada")).go(f"/memories/from/{said}")
    assert [each.text_content() for each in page.all(".list .says")] == ["In March.", "It is red.", "Buy it."]
    assert page.words.count("would be retracted") == 2
    assert "would be marked" in page.words
    bob = await site.enter("bob")
    await bob.go("/memories")
    assert (await bob.post(f"/memories/from/{said}", {"reason": WHY})).status == 403
    browser = await site.enter("ada")
    await browser.go(f"/memories/from/{said}")
    assert (await browser.post(f"/memories/from/{said}", {"reason": ""})).status == 422
    page = await browser.post(f"/memories/from/{said}", {"reason": WHY})
    assert "Taken back: 2 memories, 1 other marked" in notice(page)
    assert [(await desk.look(each)).status for each in (one, two, both)] == [
        Status.RETRACTED, Status.RETRACTED, Status.ACTIVE,
    ]  # fmt: skip
    assert notice(await undo(browser, page)) == "Undone: 3 memories are as before."
    assert {(await desk.look(each)).status for each in (one, two, both)} == {Status.ACTIVE}


# --- the review ------------------------------------------------------------------------------------------------------


async def test_the_review_holds_what_waits_with_why_and_what_a_yes_does(site: Site) -> None:
    desk = site.desk
    room = await desk.room("boss", "ada", "bob")
    mine = await waits(desk, room, "ada", "Eve may sign.", held=(Held.AUTHORITY,))
    await waits(desk, room, "ada", "It is red.")
    await desk.said(room, "ada", "In March.", subject="d/d", status=Status.DISPUTED, messages=("m1",))
    await desk.said(room, "bob", "In May.", subject="d/d", status=Status.DISPUTED, messages=("m2",))
    boss = await (await site.enter("boss")).go("/memories/review")
    assert statements(boss) == ["In May.", "In March.", "It is red.", "Eve may sign."]
    assert [each.text_content() for each in boss.all("[data-item]:first-child .bare-list a")] == ["In March."]
    assert boss.all("[data-item].chosen .says")[0].text_content() == "In May."
    keys = {each.get("data-key") for each in boss.all("[data-key]")}
    assert keys == {"a", "r", "o", "x"}
    assert keys | {"j", "k"} == {each.text_content() for each in boss.all(".keys kbd")}
    ada = await (await site.enter("ada")).go("/memories/review")
    assert statements(ada) == ["It is red.", "Eve may sign."]
    assert "it is about who may decide" in ada.words
    assert [each.text_content().split(" a")[0] for each in ada.all("button[data-key=a]")] == [
        "Accept", "Put it before the principals",
    ]  # fmt: skip
    bob = await (await site.enter("bob")).go("/memories/review")
    assert bob.all("button[data-key=a]") == []
    assert "Only who said it can do that, or a principal." in bob.words
    assert mine.handle not in statements(await (await site.enter("guest")).go("/memories/review"))


async def test_a_yes_by_key_leaves_the_rest_with_the_next_one_chosen(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    claims = [await waits(desk, room, "ada", f"Plan {number}.") for number in range(3)]
    browser = await site.enter("ada")
    await browser.go("/memories/review")
    fields = {"act": "accept", "memory": f"{claims[1].id}:1", "at": "1", "reason": ""}
    part = await browser.part("/memories/review", method="POST", data=fields)
    assert part.text.lstrip().startswith('<div id="queue"')
    assert statements(part) == ["Plan 2.", "Plan 0."]
    assert part.all("[data-item].chosen .says")[0].text_content() == "Plan 0."
    assert notice(part) == "1 accepted."
    assert (await desk.look(claims[1])).status is Status.ACTIVE
    page = await undo(browser, part)
    assert page.url == "/memories/review"
    assert statements(page) == ["Plan 2.", "Plan 1.", "Plan 0."]
    plain = await browser.post("/memories/review", {"act": "reject", "memory": f"{claims[0].id}:1", "reason": WHY})
    assert (plain.url, notice(plain)) == ("/memories/review", "1 rejected.")
    events = await desk.history(claims[0], person("ada"))
    assert events[-1].reason == WHY


async def test_several_are_decided_with_one_reason_and_undone_at_once(site: Site) -> None:
    desk = site.desk
    room = await desk.room("ada", "bob")
    yes = [await waits(desk, room, "ada", f"Plan {number}.") for number in range(3)]
    bobs = await waits(desk, room, "bob", "It is red.")
    stale = await waits(desk, room, "ada", "It is old.")
    await desk.do("ada", "correct", stale, "It is new.")
    browser = await site.enter("ada")
    await browser.go("/memories/review")
    chosen = [f"{each.id}:1" for each in (*yes, bobs, stale)]
    fields = {"act": "accept", "reason": WHY, "memory": chosen, "back": "/memories/review"}
    page = await browser.post("/memories/bulk", fields)
    assert notice(page) == "3 accepted; 2 left: changed meanwhile, or not yours to decide."
    assert {(await desk.look(each)).status for each in yes} == {Status.ACTIVE}
    assert {(await desk.look(each)).status for each in (bobs, stale)} == {Status.PENDING}
    assert notice(await undo(browser, page)) == "Undone: 3 memories are as before."
    assert {(await desk.look(each)).status for each in yes} == {Status.PENDING}

    await browser.go("/memories")
    standing = [
        await desk.said(room, who, f"{who} says.", subject=f"{who}/x", messages=(who,)) for who in ("ada", "bob")
    ]
    fields = {"act": "retract", "reason": WHY, "memory": [f"{each.id}:1" for each in standing]}
    page = await browser.post("/memories/bulk", fields)
    assert notice(page) == "1 retracted; 1 disputed, for others said them."
    await undo(browser, page)
    assert {(await desk.look(each)).status for each in standing} == {Status.ACTIVE}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"act": "retract"},
        {"act": "forget", "memory": "x:1", "reason": "x"},
        {"act": "retract", "memory": "x", "reason": "x"},
        {"act": "retract", "memory": "x:1x", "reason": "x"},
        {"act": "retract", "memory": ["x:1"] * 101, "reason": "x"},
        {"act": "retract", "memory": "x:1", "reason": " "},
    ],
)
async def test_an_unclear_choice_is_refused_in_words(site: Site, fields: dict[str, Any]) -> None:
    browser = await site.enter("ada")
    await browser.go("/memories")
    assert (await browser.post("/memories/bulk", fields)).status == 422


async def test_undo_is_for_who_did_it_and_not_for_long(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.room("boss", "ada"), "ada")
    ada, boss = await site.enter("ada"), await site.enter("boss")
    page = await act(ada, of, "retract")
    await boss.go("/memories")
    assert (await undo(boss, page)).status == 409
    desk.rooms.clock.advance(timedelta(days=1, seconds=1))
    late = await undo(ada, page)
    assert late.status == 409
    assert "cannot be undone any more" in late.words
    assert (await desk.look(of)).status is Status.RETRACTED


async def test_undo_leads_to_no_other_site(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    browser = await site.enter("ada")
    await browser.go("/memories")
    for wanted in ("https://evil.example", "//evil.example"):
        fields = {"act": "retract", "reason": WHY, "memory": f"{of.id}:1", "back": wanted}
        answer = await browser.post("/memories/bulk", fields, allow_redirects=False)
        assert answer.headers["Location"] == "/"


async def test_what_was_done_is_audited_as_the_persons(site: Site) -> None:
    desk = site.desk
    of = await desk.said(await desk.alone("ada"), "ada")
    await act(await site.enter("ada"), of, "retract")
    assert [each["by"] for each in await audited(site, "memory_retracted")] == ["ada"]
    assert {tuple(each["claims"]) for each in await audited(site, "memory_viewed")} == {(of.id,)}
    assert {each["door"] for each in await audited(site, "memory_viewed")} == {"web"}
