"""Approvals: the whole of what would be done before the buttons, a word on exactly that, and nothing for others."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit.tables import audit
from bot.kernel.ids import PersonId
from bot.ledger.model import Proposal, State
from bot.ledger.rules import Rules
from bot.ledger.service import Ledger
from tests.ledger.workshop import mail, message
from tests.web.console.site import Browser, Site

XSS = "<img src=x onerror=alert(1)>"


@pytest.fixture
async def made(site: Site) -> Proposal:
    return await site.shop.propose("send_email", mail())


async def votes(site: Site) -> list[dict[str, Any]]:
    query = sa.select(audit.c.payload).where(audit.c.type == "proposal_voted").order_by(audit.c.id)
    return [
        json.loads(each) for each in await site.desk.rooms.database.read(lambda c: c.execute(query).scalars().all())
    ]


async def decide(browser: Browser, of: Proposal, verdict: str = "approve", **more: str) -> Any:
    fields = {"verdict": verdict, "content": of.hash, **more}
    return await browser.post(f"/approvals/{of.id}/decision", fields)


async def test_the_whole_of_it_stands_before_the_buttons(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    listed = await boss.go("/approvals")
    assert [each.get("href") for each in listed.all("main h3 a")] == [f"/approvals/{made.id}"]
    page = await boss.go(f"/approvals/{made.id}")
    for words in ("kim@outside.example", "The fair", "Hello", "asked", "email:t1"):
        assert words in page.words
        assert page.text.index(words) < page.text.index('value="approve"')
    assert [each.get("value") for each in page.all("input[name=content]")] == [made.hash] * 2


async def test_a_yes_counts_for_what_was_shown_and_says_that_it_came_by_the_web(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    await boss.go(f"/approvals/{made.id}")
    page = await decide(boss, made)
    assert page.url == f"/approvals/{made.id}"
    assert "Approved: it is being done." in page.words
    assert (await site.shop.now(made)).state is State.APPROVED_UNCHANGED
    assert [(each["verdict"], each["channel"]) for each in await votes(site)] == [("approve", "web")]


async def test_a_second_press_is_told_who_was_quicker(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    await boss.go(f"/approvals/{made.id}")
    await decide(boss, made)
    late = await decide(boss, made, "reject")
    assert late.status == 409
    assert "settled already: approved, by boss" in late.words
    assert (await site.shop.now(made)).state is State.APPROVED_UNCHANGED


async def test_a_yes_to_what_was_edited_meanwhile_does_not_count(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    await boss.go(f"/approvals/{made.id}")
    refused = await boss.post(f"/approvals/{made.id}/decision", {"verdict": "approve", "content": "0" * 64})
    assert refused.status == 409
    assert "edited since you were shown it" in refused.words
    assert (await site.shop.now(made)).state is State.PROPOSED


async def test_an_edit_is_shown_as_it_is_written_and_approved_with_it(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    await boss.go(f"/approvals/{made.id}")
    live = await boss.part(f"/approvals/{made.id}/difference", method="POST", data={"text": "Hello Kim"})
    assert ([each.text for each in live.all("ins")], live.all("del")) == ([" Kim"], [])
    page = await boss.post(f"/approvals/{made.id}/edit", {"content": made.hash, "text": "Good day"})
    assert "Approved with your edit" in page.words
    assert [(each.tag, each.text) for each in page.all(".difference del, .difference ins")] == [
        ("del", "Hello"), ("ins", "Good day")
    ]  # fmt: skip
    after = await site.shop.now(made)
    assert (after.state, after.final["text"]) == (State.APPROVED_WITH_EDIT, "Good day")


async def test_what_would_hide_is_named(site: Site) -> None:
    trick = await site.shop.propose("send_email", mail("pay \u202eeerht\u200b to p\u0430ul", subject="Fair"), key="k2")
    boss = await site.enter("boss")
    page = await boss.go(f"/approvals/{trick.id}")
    assert [each.text for each in page.all("mark.hides")] == [
        "[RIGHT-TO-LEFT OVERRIDE]", "[ZERO WIDTH SPACE]", "\u0430[cyrillic]"
    ]  # fmt: skip
    assert "easily misread" in page.words
    (draft,) = [each.text for each in page.all("textarea[name=text]")]
    assert draft.lstrip("\n") == trick.final["text"]


async def test_words_from_outside_are_text(site: Site) -> None:
    nasty = mail(f"{XSS}</textarea>{XSS}", to="kim@outside.example", subject=f"x {XSS}")
    made = await site.shop.propose("send_email", nasty, key="k3", reason=XSS)
    boss = await site.enter("boss")
    for page in (await boss.go("/approvals"), await boss.go(f"/approvals/{made.id}")):
        assert page.all("img[src=x]") == []
        assert XSS in page.words
    live = await boss.part(f"/approvals/{made.id}/difference", method="POST", data={"text": XSS})
    assert live.all("img") == []


async def test_others_see_nothing_and_decide_nothing(site: Site, made: Proposal) -> None:
    bob = await site.enter("bob")
    assert made.id not in (await bob.go("/approvals")).text
    assert made.id not in (await bob.go("/approvals?shelf=decided")).text
    assert (await bob.go(f"/approvals/{made.id}")).status == 404
    for act in ("decision", "edit", "withdraw", "resolve", "reverse", "difference"):
        fields = {"verdict": "approve", "content": made.hash, "text": "x", "happened": "yes"}
        fields |= {"severity": "minor", "reason": "x"}
        assert (await bob.post(f"/approvals/{made.id}/{act}", fields)).status == 404, act
    assert site.refused == ["web_not_found"] * 7
    assert (await site.shop.now(made)).state is State.PROPOSED


async def test_who_asked_sees_it_and_may_only_take_it_back(site: Site, made: Proposal) -> None:
    ada = await site.enter("ada")
    assert "For somebody else's word" in (await ada.go("/approvals")).words
    assert made.id in (await ada.go("/approvals?shelf=asked")).text
    page = await ada.go(f"/approvals/{made.id}")
    assert page.all("button[name=verdict]") == []
    assert "boss can decide this" in page.words
    refused = await decide(ada, made)
    assert (refused.status, "not yours to decide" in refused.words) == (409, True)
    page = await ada.post(f"/approvals/{made.id}/withdraw")
    assert "Withdrawn" in page.words
    assert (await site.shop.now(made)).state is State.WITHDRAWN


async def test_a_forged_form_decides_nothing(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    refused = await boss.post(
        f"/approvals/{made.id}/decision", {"verdict": "approve", "content": made.hash}, csrf="0" * 64
    )
    assert (refused.status, site.refused) == (403, ["web_bad_csrf"])
    assert (await site.shop.now(made)).state is State.PROPOSED


async def test_how_long_is_left_stands_there_and_what_is_over_cannot_be_decided(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    page = await boss.go(f"/approvals/{made.id}")
    (left,) = page.all("[data-until]")
    assert (left.text, left.get("data-until")) == ("2 days 0 h left", made.expires_at.isoformat(timespec="seconds"))
    site.desk.rooms.clock.advance(timedelta(days=2))
    boss = await site.enter("boss")
    late = await boss.go(f"/approvals/{made.id}")
    assert late.all("button[name=verdict]") == []
    refused = await decide(boss, made)
    assert (refused.status, "time to decide this is over" in refused.words) == (409, True)


async def test_two_people_are_wanted_for_what_needs_two(site: Site) -> None:
    shop = site.shop
    rules = Rules(two_persons=frozenset({"send_email"}), by_class={"send_email": (PersonId("boss"), PersonId("bob"))})
    shop.ledger._rules = rules
    of = await shop.propose("send_email", mail(), key="k4")
    boss, bob = await site.enter("boss"), await site.enter("bob")
    for browser in (boss, bob):
        await browser.go(f"/approvals/{of.id}")
    page = await decide(boss, of)
    assert "One more person has to say yes" in page.words
    assert "1 yes so far, yours among them" in page.words
    await decide(bob, of)
    assert (await shop.now(of)).state is State.APPROVED_UNCHANGED


async def test_what_was_done_is_taken_back_with_a_reason_and_counted(site: Site) -> None:
    sent = await site.shop.approved("send_message", message())
    await site.shop.settle()
    boss = await site.enter("boss")
    page = await boss.go(f"/approvals/{sent.id}")
    assert "Take it back" in page.words
    refused = await boss.post(f"/approvals/{sent.id}/reverse", {"severity": "grave", "reason": " "})
    assert (refused.status, "Say why" in refused.words) == (409, True)
    page = await boss.post(f"/approvals/{sent.id}/reverse", {"severity": "grave", "reason": "wrong person"})
    assert "Noted" in page.words or "Taken back" in page.words
    card = await boss.go("/approvals/classes/send_message")
    assert "1 of 1" in card.words
    assert "the worst as grave" in card.words


async def test_what_was_decided_is_paged_by_key(site: Site) -> None:
    for number in range(30):
        await site.shop.approved("send_email", mail(f"Mail {number}"), key=f"p{number}")
    boss = await site.enter("boss")
    first = await boss.go("/approvals?shelf=decided")
    (more,) = [each.get("href") for each in first.all("a.more")]
    rest = await boss.go(more)
    found = [each.text for page in (first, rest) for each in page.all(".excerpt")]
    assert found == [f"Mail {number}" for number in reversed(range(30))]
    assert rest.all("a.more") == []


async def test_a_class_shows_its_rates_and_only_a_principal_changes_its_mode(site: Site) -> None:
    await site.shop.approved("send_email", mail())
    boss, bob, guest = await site.enter("boss"), await site.enter("bob"), await site.enter("guest")
    page = await bob.go("/approvals/classes/send_email")
    assert len(page.all("svg.rates circle")) == 4
    assert page.all("form[action$='/mode']") == []
    assert "Send email" in (await bob.go("/approvals/classes")).words
    for path in ("/approvals/classes", "/approvals/classes/send_email"):
        assert (await guest.go(path)).status == 404
    assert (await boss.go("/approvals/classes/nothing")).status == 404
    change = {"mode": "auto_execute", "reason": "it was right each time"}
    assert (await bob.post("/approvals/classes/send_email/mode", change)).status == 403
    await boss.go("/approvals/classes/send_email")
    refused = await boss.post("/approvals/classes/send_email/mode", {**change, "reason": ""})
    assert (refused.status, "Say why" in refused.words) == (409, True)
    page = await boss.post("/approvals/classes/send_email/mode", change)
    assert "acts by itself" in page.words
    assert "says boss: it was right each time" in page.words


async def test_a_class_that_always_needs_a_yes_says_so(site: Site) -> None:
    boss = await site.enter("boss")
    page = await boss.go("/approvals/classes/change_company_profile")
    assert "can never act by itself" in page.words
    refused = await boss.post("/approvals/classes/change_company_profile/mode", {"mode": "auto_execute", "reason": "x"})
    assert refused.status == 409


async def test_an_uncertain_one_is_settled_by_whoever_looked(site: Site) -> None:
    of = await site.shop.approved("send_email", mail())
    rooms = site.desk.rooms
    ledger: Ledger = site.shop.ledger

    async def lose() -> None:
        begun = await rooms.write(lambda tx: ledger.execute(tx, of, rooms.clock.now()).proposal)
        await rooms.write(lambda tx: ledger.lost(tx, begun, rooms.clock.now(), "no answer", uncertain=True))

    await lose()
    boss = await site.enter("boss")
    page = await boss.go(f"/approvals/{of.id}")
    assert "Did it take effect?" in page.words
    page = await boss.post(f"/approvals/{of.id}/resolve", {"happened": "no"})
    assert "it was not done" in page.words
    assert (await site.shop.now(of)).state is State.FAILED


async def test_a_page_that_stands_open_is_drawn_anew_once_it_is_decided(site: Site, made: Proposal) -> None:
    boss = await site.enter("boss")
    page = await boss.go(f"/approvals/{made.id}")
    live = page.all("#state")[0].get("hx-get")
    assert "HX-Refresh" not in (await boss.part(live)).headers
    await boss.post(f"/approvals/{made.id}/decision", {"content": made.hash, "verdict": "reject"})
    assert (await boss.part(live)).headers["HX-Refresh"] == "true"
    again = await boss.go(f"/approvals/{made.id}")
    assert "HX-Refresh" not in (await boss.part(again.all("#state")[0].get("hx-get"))).headers
