"""A message that is edited or deleted reaches the claims that rest on it, at once; what it says now is read again."""

from __future__ import annotations

from bot.extraction.ask import TOOL
from bot.llm.model import Request
from bot.memory.model import Claim, Op, Source, Status
from tests.extraction.reading import Reader, item, remember
from tests.intake.events import delete, edit
from tests.orchestrator.office import Said, whole

RUNWAY = "Our runway is 14 months."
LONGER = "Our runway is 16 months."


def proposes(request: Request) -> Said:
    """What a faithful model would: the statement that stands in the messages."""
    assert request.must_call == TOOL
    said = whole(request).split("<messages>")[1]
    return remember(*(item("fact", each, subject="company/runway") for each in (RUNWAY, LONGER) if each in said))


async def sources(reader: Reader) -> list[tuple[str, Source, Status]]:
    return [(each.statement, each.source, each.status) for each in await reader.claims(*Status)]


async def told(reader: Reader) -> Claim:
    reader.proposer = proposes
    await reader.hears(RUNWAY)
    (claim,) = await reader.claims()
    return claim


async def test_an_edit_marks_at_once_and_is_read_again(reader: Reader) -> None:
    await told(reader)
    office = reader.office
    office.model.gate.clear()
    await office.hear(edit("e1", "1", LONGER, at=office.clock.now()))
    assert await sources(reader) == [(RUNWAY, Source.EDITED, Status.ACTIVE)]
    office.model.gate.set()
    await reader.settled()
    assert await sources(reader) == [(RUNWAY, Source.EDITED, Status.SUPERSEDED), (LONGER, Source.FRESH, Status.ACTIVE)]
    assert [result.source.split(":")[0] for result in await reader.results()][1:] == ["message"]


async def test_what_an_edit_leaves_as_it_was_stands_as_fresh_again(reader: Reader) -> None:
    await told(reader)
    await reader.office.hear(edit("e1", "1", f"{RUNWAY} (typo corrected)", at=reader.office.clock.now()))
    await reader.settled()
    assert await sources(reader) == [(RUNWAY, Source.FRESH, Status.ACTIVE)]


async def test_what_an_edit_takes_out_stays_marked(reader: Reader) -> None:
    await told(reader)
    await reader.office.hear(edit("e1", "1", "I was wrong about that.", at=reader.office.clock.now()))
    await reader.settled()
    assert await sources(reader) == [(RUNWAY, Source.EDITED, Status.ACTIVE)]


async def test_a_deletion_marks_at_once_and_is_audited(reader: Reader) -> None:
    claim = await told(reader)
    await reader.office.hear(delete("d1", "1", at=reader.office.clock.now()))
    assert await sources(reader) == [(RUNWAY, Source.DELETED, Status.ACTIVE)]
    (entry,) = await reader.office.audited("memory_source")
    assert (entry.payload["claim"], entry.payload["source"]) == (claim.id, "deleted")


async def test_what_other_words_carry_too_outlives_the_deletion_of_one_message(reader: Reader) -> None:
    await told(reader)
    await reader.hears(RUNWAY)
    await reader.office.hear(delete("d1", "1", at=reader.office.clock.now()))
    assert await sources(reader) == [(RUNWAY, Source.EDITED, Status.ACTIVE)]
    await reader.office.hear(delete("d2", "2", at=reader.office.clock.now()))
    assert await sources(reader) == [(RUNWAY, Source.DELETED, Status.ACTIVE)]


async def test_what_a_person_put_right_does_not_rest_on_the_message(reader: Reader) -> None:
    from bot.memory import store
    from tests.memory.claims import MARTA

    claim = await told(reader)
    office = reader.office
    await office.database.write(
        lambda tx: store.change(
            tx,
            office.recorder,
            claim,
            Op.EDITED,
            MARTA,
            office.clock.now(),
            "so it is",
            statement=LONGER,
            by_person=True,
        )
    )
    await office.hear(delete("d1", "1", at=office.clock.now()))
    assert await sources(reader) == [(LONGER, Source.FRESH, Status.ACTIVE)]


async def test_a_message_deleted_before_it_was_read_brings_nothing(reader: Reader) -> None:
    reader.proposer = proposes
    office = reader.office
    await reader.says(RUNWAY)
    await office.hear(delete("d1", "1", at=office.clock.now()))
    await reader.settled()
    assert await reader.claims(*Status) == []


async def test_an_edit_that_comes_while_the_turn_is_read_is_what_counts(reader: Reader) -> None:
    reader.proposer = proposes
    office = reader.office
    await reader.says(RUNWAY)
    office.model.gate.clear()
    reader.worker.ring()
    await office.model.until(thinking=1)
    await office.hear(edit("e1", "1", LONGER, at=office.clock.now()))
    office.model.gate.set()
    await reader.settled()
    assert await reader.told() == [LONGER]
    assert [each.statement for each in await reader.claims(*Status)] == [LONGER]
