"""Codes that claim an account, and requests to be let in."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import ALPHABET
from bot.people import pairing, store
from bot.people.model import Handle, Origin, Person, Role
from bot.people.pairing import Claim
from bot.people.tables import pairing_code
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.people.test_model import BOSS
from tests.people.test_store import follow

OPERATOR = Actor("system", "operator")
PRINCIPAL = Actor("person", "boss")
ACCOUNT = Handle("chat", "4711", Origin.PAIRED)


class Desk:
    """One terminal and one chat, by hand."""

    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock) -> None:
        self.database, self.recorder, self.clock = database, recorder, clock

    async def make(self) -> tuple[str, str]:
        now = self.clock.now()
        return await self.database.write(lambda tx: pairing.make(tx, self.recorder, BOSS.id, OPERATOR, now))

    async def claim(self, code: str, account: Handle = ACCOUNT, *, direct: bool = True) -> Claim:
        now = self.clock.now()
        return await self.database.write(
            lambda tx: pairing.claim(tx, self.recorder, code, account, "Shown Name", direct=direct, now=now)
        )

    async def confirm(self, code_id: str) -> Person | None:
        now = self.clock.now()
        return await self.database.write(lambda tx: pairing.confirm(tx, self.recorder, code_id, OPERATOR, now))

    async def refuse(self, code_id: str) -> None:
        await self.database.write(lambda tx: pairing.refuse(tx, self.recorder, code_id))

    async def state(self, code_id: str) -> str:
        found = await self.database.read(lambda c: pairing.state(c, code_id))
        assert found is not None
        return found.state

    async def owner(self, account: Handle = ACCOUNT) -> str | None:
        found = await self.database.read(lambda c: store.by_handle(c, account.channel, [account.address]))
        return found[account.address].id if found else None

    async def ask(self, account: Handle = ACCOUNT) -> str | None:
        now = self.clock.now()
        return await self.database.write(lambda tx: pairing.ask(tx, self.recorder, account, "Shown Name", now))

    async def decide(self, request: str, role: Role | None) -> Person | None:
        now = self.clock.now()
        return await self.database.write(
            lambda tx: pairing.decide(tx, self.recorder, request, role, "UTC", PRINCIPAL, now)
        )


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    await follow(database, recorder, clock, BOSS)
    return Desk(database, recorder, clock)


async def test_a_code_has_sixty_random_bits_and_is_stored_as_a_digest_only(desk: Desk) -> None:
    codes = {(await desk.make())[1] for _ in range(20)}
    assert len(codes) == 20
    for code in codes:
        digits = code.replace("-", "")
        assert len(digits) * 5 == 60
        assert set(digits) <= set(ALPHABET)
        assert len(ALPHABET) == 32
    stored = repr(await desk.database.read(lambda c: c.execute(sa.select(pairing_code)).all()))
    audited = repr(await desk.database.read(lambda c: timeline.newest(c, 100)))
    for code in codes:
        assert code not in stored + audited
        assert code.replace("-", "") not in stored + audited


async def test_a_claimed_and_confirmed_code_gives_the_account_to_the_person(desk: Desk) -> None:
    code_id, code = await desk.make()
    assert await desk.claim(code) is Claim.CLAIMED
    assert await desk.owner() is None, "claiming alone links nothing"
    found = await desk.database.read(lambda c: pairing.state(c, code_id))
    assert found is not None
    assert (found.state, found.channel, found.address, found.shown_name) == ("claimed", "chat", "4711", "Shown Name")
    confirmed = await desk.confirm(code_id)
    assert confirmed is not None
    assert confirmed.id == BOSS.id
    assert ACCOUNT in confirmed.handles
    assert await desk.owner() == BOSS.id


@pytest.mark.parametrize("written", ["{}", " {}\n", "{upper}", "{bare}"])
async def test_case_dashes_and_blanks_do_not_matter(desk: Desk, written: str) -> None:
    _, code = await desk.make()
    sent = written.replace("{upper}", code.upper()).replace("{bare}", code.replace("-", "")).replace("{}", code)
    assert await desk.claim(sent) is Claim.CLAIMED


async def test_a_code_works_once(desk: Desk) -> None:
    code_id, code = await desk.make()
    other = Handle("chat", "666", Origin.PAIRED)
    assert await desk.claim(code) is Claim.CLAIMED
    assert await desk.claim(code, other) is Claim.UNKNOWN, "the account that came first stays"
    await desk.confirm(code_id)
    assert await desk.claim(code, other) is Claim.UNKNOWN
    assert await desk.confirm(code_id) is None
    assert await desk.owner(other) is None


async def test_a_code_lives_ten_minutes(desk: Desk) -> None:
    _, code = await desk.make()
    desk.clock.advance(timedelta(minutes=10) - timedelta(microseconds=1))
    assert await desk.claim(code) is Claim.CLAIMED
    code_id, code = await desk.make()
    desk.clock.advance(timedelta(minutes=10))
    assert await desk.claim(code) is Claim.UNKNOWN
    assert await desk.state(code_id) == "expired"


async def test_a_claim_that_is_confirmed_too_late_links_nothing(desk: Desk) -> None:
    code_id, code = await desk.make()
    await desk.claim(code)
    desk.clock.advance(timedelta(minutes=10))
    assert await desk.confirm(code_id) is None
    assert await desk.owner() is None
    assert await desk.state(code_id) == "expired"


async def test_a_code_that_others_can_read_is_burned(desk: Desk) -> None:
    code_id, code = await desk.make()
    assert await desk.claim(code, direct=False) is Claim.BURNED
    assert await desk.state(code_id) == "burned"
    assert await desk.claim(code) is Claim.UNKNOWN
    assert await desk.confirm(code_id) is None


async def test_a_refused_code_links_nothing_and_cannot_be_claimed_again(desk: Desk) -> None:
    code_id, code = await desk.make()
    await desk.claim(code)
    await desk.refuse(code_id)
    assert await desk.state(code_id) == "refused"
    assert await desk.confirm(code_id) is None
    assert await desk.claim(code) is Claim.UNKNOWN
    assert await desk.owner() is None


async def test_refusing_after_the_end_changes_nothing(desk: Desk) -> None:
    code_id, code = await desk.make()
    await desk.claim(code)
    await desk.confirm(code_id)
    await desk.refuse(code_id)
    assert await desk.state(code_id) == "confirmed"
    burned_id, burned = await desk.make()
    await desk.claim(burned, direct=False)
    await desk.refuse(burned_id)
    assert await desk.state(burned_id) == "burned"


async def test_a_guessed_code_is_unknown(desk: Desk) -> None:
    await desk.make()
    assert await desk.claim("0000-0000-0000") is Claim.UNKNOWN


async def test_every_step_of_a_code_is_recorded(desk: Desk) -> None:
    code_id, code = await desk.make()
    await desk.claim(code)
    await desk.confirm(code_id)
    entries = await desk.database.read(lambda c: timeline.newest(c, 10, ("pairing_code", "person_paired")))
    assert [entry.payload.get("step", entry.type) for entry in entries] == [
        "made", "claimed", "confirmed", "person_paired",
    ]  # fmt: skip


async def test_a_strangers_request_is_asked_once_and_accepted_under_a_role(desk: Desk) -> None:
    request = await desk.ask()
    assert request is not None
    assert await desk.ask() is None
    assert [r.address for r in await desk.database.read(pairing.open_requests)] == ["4711"]
    accepted = await desk.decide(request, Role.MEMBER)
    assert accepted is not None
    assert (accepted.role, accepted.origin, accepted.handles) == (Role.MEMBER, Origin.PAIRED, frozenset({ACCOUNT}))
    assert await desk.owner() == accepted.id
    assert await desk.database.read(pairing.open_requests) == []
    assert await desk.decide(request, Role.PRINCIPAL) is None, "decided once"
    assert await desk.database.read(lambda c: store.get(c, accepted.id)) == accepted


async def test_who_was_declined_cannot_ask_again(desk: Desk) -> None:
    request = await desk.ask()
    assert request is not None
    assert await desk.decide(request, None) is None
    assert await desk.owner() is None
    assert await desk.ask() is None
    assert await desk.ask(Handle("mail", "4711", Origin.PAIRED)) is not None, "another channel is another account"


async def test_a_request_that_is_gone_decides_nothing(desk: Desk) -> None:
    assert await desk.decide("unknown", Role.MEMBER) is None
    assert len(await desk.database.read(store.everyone)) == 1


async def test_an_account_that_found_its_owner_meanwhile_is_not_given_away_by_its_old_request(desk: Desk) -> None:
    request = await desk.ask()
    assert request is not None
    code_id, code = await desk.make()
    await desk.claim(code)
    await desk.confirm(code_id)
    assert await desk.database.read(pairing.open_requests) == []
    assert await desk.decide(request, Role.MEMBER) is None
    assert await desk.owner() == BOSS.id
