"""Who is let in, and what is told to who is not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.audit import timeline
from bot.kernel.ids import PersonId
from bot.people import store, tokens
from bot.web.api.auth import FAILURES, WINDOW
from tests.web.api.site import OPERATOR, Site

PATHS = [
    ("GET", "/api/memories"),
    ("GET", "/api/memories/x"),
    ("PATCH", "/api/memories/x"),
    ("DELETE", "/api/memories/x"),
    ("POST", "/api/memories/x/promote"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/nothing"),
    ("PUT", "/api/memories"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_nothing_is_answered_without_a_token(site: Site, method: str, path: str) -> None:
    answer = await site.ask(method, path, by=None)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert set(answer.body) == {"code", "message"}
    assert site.refused == ["api_no_token"]


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic b2U6eA==", "Bearer oe_" + "A" * 43, "Bearer ü", "oe_" + "A" * 43]
)
async def test_what_is_no_token_lets_nobody_in(site: Site, header: str) -> None:
    answer = await site.ask("GET", "/api/memories", by=None, headers={"Authorization": header})
    assert answer.status in (400, 401)


async def test_a_token_in_the_address_is_none(site: Site) -> None:
    assert (await site.ask("GET", f"/api/memories?access_token={site.secrets['ada']}", by=None)).status == 401


async def test_an_expired_a_revoked_and_a_deactivated_persons_token_are_refused(site: Site) -> None:
    rooms = site.desk.rooms
    token, secret = await site.token("ada", days=1)
    bearer = {"Authorization": f"bearer {secret}"}
    assert (await site.ask("GET", "/api/memories", by=None, headers=bearer)).status == 200
    await rooms.write(lambda tx: tokens.revoke(tx, rooms.recorder, token, OPERATOR, site.desk.now))
    assert (await site.ask("GET", "/api/memories", by=None, headers=bearer)).status == 401
    _, short = await site.token("ada", days=1)
    rooms.clock.advance(timedelta(days=1))
    assert (await site.ask("GET", "/api/memories", by=None, headers={"Authorization": f"Bearer {short}"})).status == 401
    await rooms.write(lambda tx: store.deactivate(tx, rooms.recorder, PersonId("bob"), OPERATOR, site.desk.now))
    assert (await site.ask("GET", "/api/memories", by="bob")).status == 401
    assert site.refused == ["api_token_revoked", "api_token_expired", "api_token_deactivated"]


async def test_who_tries_many_tokens_is_told_to_wait_and_who_was_let_in_before_is_not(site: Site) -> None:
    assert (await site.ask("GET", "/api/memories", by="ada")).status == 200
    wrong = {"Authorization": "Bearer oe_" + "A" * 43}
    for _ in range(FAILURES):
        assert (await site.ask("GET", "/api/memories", by=None, headers=wrong)).status == 401
    answer = await site.ask("GET", "/api/memories", by=None, headers=wrong)
    assert answer.status == 429
    assert 0 < int(answer.headers["Retry-After"]) <= WINDOW
    assert (await site.ask("GET", "/api/memories", by="bob")).status == 429
    assert (await site.ask("GET", "/api/memories", by="ada")).status == 200
    site.desk.rooms.clock.advance(timedelta(seconds=WINDOW))
    assert (await site.ask("GET", "/api/memories", by="bob")).status == 200


async def test_a_foreign_page_and_a_foreign_name_are_turned_away_before_the_token(site: Site) -> None:
    answer = await site.ask("GET", "/api/memories", headers={"Origin": "https://evil.example"})
    assert answer.status == 403
    answer = await site.ask("GET", "/api/memories", headers={"Host": "evil.example"})
    assert answer.status == 421
    assert site.refused == ["bad_origin", "bad_host"]


async def test_that_a_token_is_in_use_is_recorded_without_it(site: Site) -> None:
    for _ in range(3):
        await site.ask("GET", "/api/memories")
    entries = await site.desk.rooms.database.read(lambda c: timeline.newest(c, 100, ("auth_login",)))
    assert [(each.actor, each.payload["door"]) for each in entries] == [("ada", "api")]
    assert site.secrets["ada"] not in str(entries)
