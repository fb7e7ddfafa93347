"""Proposals over the API: a person's own view of them, and their word on exactly what they read."""

from __future__ import annotations

import pytest

from bot.ledger.model import Proposal, State
from tests.ledger.workshop import Workshop, mail
from tests.web.api.site import Site


@pytest.fixture
async def made(site: Site) -> Proposal:
    shop: Workshop = site.shop
    return await shop.propose("send_email", mail())


async def test_an_approver_reads_it_and_says_yes_to_what_they_read(site: Site, made: Proposal) -> None:
    listed = await site.ask("GET", "/api/proposals?state=proposed", by="boss")
    (one,) = listed.body["proposals"]
    assert (one["id"], one["yours"], one["text"]) == (made.id, True, "Hello")
    stale = await site.ask(
        "POST", f"/api/proposals/{made.id}/decision", {"verdict": "approve", "content": "0" * 64}, by="boss"
    )
    assert (stale.status, stale.body["code"]) == (409, "not_done")
    yes = {"verdict": "approve", "content": one["content"]}
    done = await site.ask("POST", f"/api/proposals/{made.id}/decision", yes, by="boss")
    assert (done.status, done.body["proposal"]["state"]) == (200, "approved_unchanged")
    again = await site.ask("POST", f"/api/proposals/{made.id}/decision", yes, by="boss")
    assert again.status == 409
    assert "by boss" in again.body["message"]


async def test_an_edit_is_approved_with_it(site: Site, made: Proposal) -> None:
    edit = {"text": "Good day", "content": made.hash}
    done = await site.ask("POST", f"/api/proposals/{made.id}/edit", edit, by="boss")
    assert done.body["proposal"]["state"] == "approved_with_edit"
    assert done.body["proposal"]["changed"] == "-Hello\n+Good day"


async def test_others_see_nothing_and_decide_nothing(site: Site, made: Proposal) -> None:
    yes = {"verdict": "approve", "content": made.hash}
    hidden = await site.ask("GET", f"/api/proposals/{made.id}", by="bob")
    assert hidden.status == 404
    asker = await site.ask("POST", f"/api/proposals/{made.id}/decision", yes, by="ada")
    assert (asker.status, asker.body["message"]) == (409, "This is not yours to decide.")
    nobody = await site.ask("GET", "/api/proposals", by=None)
    assert nobody.status == 401
    assert (await site.shop.now(made)).state is State.PROPOSED
    withdrawn = await site.ask("POST", f"/api/proposals/{made.id}/withdraw", {}, by="ada")
    assert withdrawn.body["state"] == "withdrawn"


async def test_a_card_is_counted(site: Site, made: Proposal) -> None:
    answer = await site.ask("GET", "/api/action-classes/send_email", by="boss")
    assert (answer.status, answer.body["unchanged"]["of"], answer.body["mode"]) == (200, 0, "propose")
