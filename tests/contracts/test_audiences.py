"""Who reads along decides what the model is shown, on every channel: read from the bytes that reached its server."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.contracts.bench import Talk, Who
from tests.contracts.benches.slack import IDS, ROOM, SlackEnd
from tests.contracts.core import Core, living
from tests.contracts.those import those
from tests.fakes.slack_world import TEAM

RUNWAY = "Our runway is 14 months."
QUESTION = "How long is our runway?"
OUTSIDERS = b"people from outside may read this"


def epochs(core: Core) -> dict[str, int]:
    return {row["id"]: row["audience_epoch"] for row in core.rows("SELECT id, audience_epoch FROM session")}


async def trusted_room(core: Core) -> Who:
    """A room of which it is known who reads: the principal has said what it is, everybody in it has spoken. Returns who
    asks there from now on: in mail, each writer's thread with the executive is their own, with the others reading."""
    if core.far.channel == "email":
        await core.turn(Who.ANN, "Good morning.", Talk.GROUP)
        return Who.ANN
    await core.turn(Who.BEN, "Good morning.", Talk.GROUP)
    await core.command(Who.ANN, "/room room", "This place counts as room", Talk.GROUP)
    return Who.BEN


@pytest.mark.parametrize("newcomer", [Who.GIL, Who.EVE], ids=["guest", "outsider"])
@those(lambda can: can.groups)
async def test_when_somebody_from_outside_appears_what_was_said_before_is_not_shown_any_more(
    core: Core, newcomer: Who
) -> None:
    asker = await trusted_room(core)
    await core.turn(Who.ANN, RUNWAY, Talk.GROUP)
    before = await core.turn(asker, QUESTION, Talk.GROUP)
    assert b"14 months" in before
    assert OUTSIDERS not in before
    (session,) = {row["session_id"] for row in core.rows("SELECT session_id FROM inbox WHERE event LIKE '%14 months%'")}
    epoch = epochs(core)[session]

    await core.far.joins(newcomer, Talk.GROUP)
    if core.far.channel != "email":
        told = await core.shows("I treat this place as", Talk.GROUP)
        assert "external" in told
    after = await core.turn(asker, QUESTION, Talk.GROUP)
    assert b"14 months" not in after
    assert b"Answer 1." not in after
    assert OUTSIDERS in after
    assert epochs(core)[session] == epoch + 1

    # What is said from now on is shown: the thread was not simply forgotten.
    await core.turn(asker, "The rent is 900 a month.", Talk.GROUP)
    assert b"900 a month" in await core.turn(asker, "What is the rent?", Talk.GROUP)


async def test_the_words_of_one_thread_are_never_in_the_prompt_of_another(core: Core) -> None:
    first = Talk.GROUP if core.far.can.groups else Talk.DIRECT
    await core.turn(Who.ANN, "Our runway is 14 months.", first)
    await core.turn(Who.ANN, "The rent is 900 a month.", Talk.OTHER)
    in_first = await core.turn(Who.ANN, "What do we know?", first)
    in_other = await core.turn(Who.ANN, "What do we know?", Talk.OTHER)
    assert (b"14 months" in in_first, b"900 a month" in in_first) == (True, False)
    assert (b"14 months" in in_other, b"900 a month" in in_other) == (False, True)
    if core.far.can.groups:
        alone = await core.turn(Who.ANN, "What do we know?", Talk.DIRECT)
        assert (b"14 months" in alone, b"900 a month" in alone) == (False, False)


@those(lambda can: can.groups)
async def test_what_two_people_say_in_private_stays_with_each(core: Core) -> None:
    await core.turn(Who.ANN, "Our runway is 14 months.")
    assert b"14 months" in await core.turn(Who.ANN, QUESTION)
    assert b"14 months" not in await core.turn(Who.BEN, QUESTION)


async def test_full_members_of_the_companys_workspace_write_and_count_as_the_company_without_an_entry() -> None:
    with TemporaryDirectory(prefix="oe-") as folder:
        far = SlackEnd()
        far.more = {"company_team": TEAM}
        async with far, living(far, Path(folder)) as core:
            await core.turn(Who.EVE, "Hello, we have not met.")
            world = far.fake.world
            world.join(ROOM, IDS[Who.EVE])
            await core.turn(Who.EVE, "And here?", Talk.GROUP)
            await core.command(Who.EVE, "/room company", "Only a principal can say", Talk.GROUP)
            # Ben is in it, too, and has never said a word.
            await core.command(Who.ANN, "/room company", "This place counts as company", Talk.GROUP)
            world.add_user("U0GUEST001", "Guest", guest=True)
            world.join(ROOM, "U0GUEST001")
            await core.shows("From now on I treat this place as external", Talk.GROUP)
            await core.settled()
            (row,) = core.rows("SELECT audience, because FROM place WHERE key LIKE ?", f"%{ROOM}")
            assert row["audience"] == "external"
            assert "full member of our workspace" in row["because"]
