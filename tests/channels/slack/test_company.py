"""A workspace that is declared to be the company's: who is a full member of it, and channels of nobody else."""

from __future__ import annotations

import pytest

from bot.gateway.events import MembershipChanged, MessageReceived
from channels.slack.directory import person_fact
from tests.channels.slack.conftest import ANN, BEN, EVE, OTHER_BOT, ROOM, Rig
from tests.fakes.faults import Answer
from tests.fakes.slack_world import BOT_USER, OTHER_TEAM, TEAM

GUEST = "U0GUEST001"


async def asked(rig: Rig, by: str = ANN, number: int = 1) -> MessageReceived:
    rig.server.world.message(ROOM, by, f"<@{BOT_USER}> hello")
    found = (await rig.inbox.wait(number))[-1]
    assert isinstance(found, MessageReceived)
    return found


@pytest.fixture
async def company(rig: Rig) -> Rig:
    await rig.replace(company_team=TEAM)
    return rig


async def test_a_channel_of_full_members_is_vouched_for(company: Rig) -> None:
    await company.start()
    event = await asked(company)
    assert (event.place.insiders, event.sender.colleague) == (True, True)
    assert company.server.requests.count("conversations.members") == 1


async def test_without_a_declared_workspace_nothing_is_said_and_nobody_listed(rig: Rig) -> None:
    await rig.start()
    event = await asked(rig)
    assert (event.place.insiders, event.sender.colleague) == (None, None)
    assert rig.server.requests.count("conversations.members") == 0


@pytest.mark.parametrize("who", [EVE, OTHER_BOT, GUEST])
async def test_with_anybody_else_in_it_it_is_not(company: Rig, who: str) -> None:
    company.server.world.add_user(GUEST, "Guest", guest=True)
    company.server.world.conversations[ROOM].members.append(who)
    await company.start()
    event = await asked(company)
    assert event.place.insiders is False
    assert event.sender.colleague is True


async def test_the_roster_decides_before_the_platform(company: Rig) -> None:
    company.server.world.conversations[ROOM].members.append(EVE)
    company.inbox.roster = {EVE: True}
    await company.start()
    assert (await asked(company)).place.insiders is True
    company.inbox.roster = {EVE: True, BEN: False}
    assert (await asked(company, number=2)).place.insiders is False


async def test_a_workspace_that_is_not_ours_vouches_for_nobody(rig: Rig) -> None:
    await rig.replace(company_team=OTHER_TEAM)
    await rig.start()
    event = await asked(rig)
    assert (event.place.insiders, event.sender.colleague) == (False, False)


async def test_what_slack_does_not_tell_stays_unknown(company: Rig) -> None:
    company.server.faults.plan("conversations.members", Answer(200, "internal_error"))
    await company.start()
    assert (await asked(company)).place.insiders is None


async def test_many_members_are_looked_up_together(company: Rig) -> None:
    world = company.server.world
    for number in range(450):
        world.add_user(f"U0MANY{number:04}", f"Many {number}")
        world.conversations[ROOM].members.append(f"U0MANY{number:04}")
    await company.start()
    assert (await asked(company)).place.insiders is True
    assert company.server.requests.count("conversations.members") == 3
    assert company.server.requests.count("users.list") == 1
    assert company.server.requests.count("users.info") <= 2


async def test_who_joins_is_looked_at_anew(company: Rig) -> None:
    await company.start()
    assert (await asked(company)).place.insiders is True
    company.server.world.join(ROOM, EVE)
    joined = (await company.inbox.wait(2))[-1]
    assert isinstance(joined, MembershipChanged)
    assert joined.place.insiders is False


@pytest.mark.parametrize(
    "less", ["deleted", "is_bot", "is_app_user", "is_restricted", "is_ultra_restricted", "is_stranger"]
)
def test_a_full_member_is_none_of_these(less: str) -> None:
    user = {"team_id": "T1", "is_restricted": False, "is_bot": False}
    assert person_fact(user).full
    assert not person_fact({**user, less: True}).full


def test_what_is_not_told_of_a_person_is_no_yes() -> None:
    assert not person_fact({"team_id": "T1"}).full
    assert not person_fact({}).full
