"""A turn is read once, in order, whatever happens; failing, finding nothing and waiting are three facts."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.extraction.ask import LEFT_OUT, PROMPT
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import TurnId
from bot.llm.budget import Limit, Limits
from bot.llm.model import Request
from bot.memory.model import Held, Kind, Status, Trust, Visibility
from bot.memory.moves import HELD
from bot.orchestrator.decide import SILENCE
from bot.sessions import taint
from bot.tasks.tables import task
from tests.extraction.reading import Reader, item, remember
from tests.intake.events import GROUP, sender
from tests.orchestrator.office import Said, whole

RUNWAY = "Our runway is 14 months."


async def test_a_turn_is_read_and_what_it_brings_stands_with_its_words(reader: Reader) -> None:
    reader.proposer = lambda request: remember(item("fact", RUNWAY, subject="company/runway"))
    await reader.hears(f"Hello. {RUNWAY}")
    (claim,) = await reader.claims()
    assert (claim.kind, claim.statement, claim.speaker, claim.trust) == (Kind.FACT, RUNWAY, "boss", Trust.PROVEN)
    assert claim.author.name == f"m/{PROMPT}"
    (result,) = await reader.results()
    assert (result.proposed, result.written, result.held, result.refused) == (1, 1, 0, 0)
    types = [entry.type for entry in await reader.office.audited()]
    for event in ("extraction_queued", "memory_written", "extraction_finished"):
        assert types.count(event) == 1


async def test_the_model_is_shown_peoples_own_words_the_known_subjects_and_the_roster(reader: Reader) -> None:
    reader.proposer = lambda request: remember(item("fact", RUNWAY, subject="company/runway"))
    await reader.hears(RUNWAY)
    reader.proposer = lambda request: remember()
    await reader.hears("And what about the <b>budget</b> for next year?")
    shown = whole(reader.asked[-1])
    assert "- company/runway (fact, boss): Our runway is 14 months." in shown
    assert "<b>" not in shown
    assert reader.asked[-1].model == "light"


async def test_whose_own_words_wait_hears_of_it_once_a_turn(reader: Reader) -> None:
    pay, account = "We pay Hetzner 400 euros.", "Our payee is Acme."
    reader.proposer = lambda request: remember(
        item("fact", pay, subject="hetzner/price"), item("fact", account, subject="company/payee")
    )
    await reader.hears(f"{pay} {account}")
    pending = await reader.pending()
    assert len(pending) == 2
    reader.proposer = lambda request: remember(item("fact", RUNWAY, subject="company/runway"))
    await reader.hears(RUNWAY)
    of_notes = sa.select(task.c.payload).where(task.c.kind == HELD)
    (payload,) = await reader.office.database.read(lambda c: c.execute(of_notes).scalars().all())
    assert (payload["person"], set(payload["claims"])) == ("boss", {each.id for each in pending})


async def test_nothing_to_remember_is_not_a_failure(reader: Reader) -> None:
    await reader.hears("What do you think of it all?")
    assert await reader.claims() == []
    (result,) = await reader.results()
    assert (result.proposed, result.written) == (0, 0)
    (finished,) = await reader.office.audited("extraction_finished")
    assert finished.payload["proposed"] == 0


async def test_a_thank_you_costs_no_call(reader: Reader) -> None:
    await reader.hears("Thanks!")
    assert reader.asked == []
    assert len(await reader.results()) == 1


async def test_proposals_that_cannot_be_read_may_be_repaired_once(reader: Reader) -> None:
    answers: list[Said] = [
        remember({"kind": "fact", "statement": RUNWAY, "quotes": []}),
        remember(item("fact", RUNWAY)),
    ]
    reader.proposer = lambda request: answers.pop(0)
    await reader.hears(RUNWAY)
    assert await reader.told() == [RUNWAY]
    assert len(reader.asked) == 2
    assert "quotes" in whole(reader.asked[-1])


async def test_a_server_that_cannot_be_made_to_call_a_tool_may_answer_in_json(reader: Reader) -> None:
    reader.proposer = lambda request: (
        'Here: {"items": [{"kind": "fact", "statement": "Our runway is 14 months.", '
        '"quotes": [{"message": "m1", "text": "Our runway is 14 months."}], "subject": "company/runway"}]}'
    )
    await reader.hears(RUNWAY)
    assert await reader.told() == [RUNWAY]


async def test_what_fails_is_tried_again_and_parked_with_its_error(reader: Reader) -> None:
    reader.proposer = lambda request: "no idea"
    await reader.says(RUNWAY)
    for number in range(1, 6):
        await reader.failed(number)
        reader.office.clock.advance(timedelta(hours=2))
    await reader.settled("dead")
    ((state, error),) = await reader.waiting()
    assert state == "dead"
    assert "cannot be read" in str(error)
    failures = [entry.payload for entry in await reader.office.audited("extraction_failed")]
    assert [(each["attempt"], each["final"]) for each in failures] == [
        (1, False), (2, False), (3, False), (4, False), (5, True),
    ]  # fmt: skip
    assert await reader.results() == []


async def test_a_provider_that_is_down_is_waited_for(reader: Reader) -> None:
    answers: list[Said] = [TransientError("overloaded"), remember(item("fact", RUNWAY))]
    reader.proposer = lambda request: answers.pop(0)
    await reader.says(RUNWAY)
    await reader.settled("failed")
    reader.office.clock.advance(timedelta(minutes=5))
    await reader.settled()
    assert await reader.told() == [RUNWAY]


async def test_over_budget_a_turn_waits_and_is_no_failure(reader: Reader) -> None:
    await reader.says(RUNWAY)
    reader.office.meter._limits = Limits({Limit.COMPANY: 1}, 0.8)  # the day's money is spent
    reader.worker.ring()

    async def waits() -> bool:
        return await reader.waiting() == [("queued", "over budget")]

    await reader.office.until(waits)
    assert await reader.office.audited("extraction_failed") == []
    reader.office.meter._limits = Limits({}, 0.8)  # and there is new
    reader.proposer = lambda request: remember(item("fact", RUNWAY))
    reader.office.clock.advance(timedelta(days=1))
    await reader.settled()
    assert await reader.told() == [RUNWAY]


async def test_what_it_cost_is_written_down_for_what_it_was(reader: Reader) -> None:
    await reader.hears(RUNWAY)
    from bot.llm.tables import spend

    rows = await reader.office.database.read(lambda c: c.execute(spend.select()).all())
    assert sorted(row.purpose for row in rows) == ["answer", "extraction"]


async def test_turns_of_a_session_are_read_in_their_order(reader: Reader) -> None:
    def propose(request: Request) -> Said:
        said = whole(request)
        statement = "Our runway is 16 months." if "16 months" in said.split("<messages>")[1] else RUNWAY
        return remember(item("fact", statement, subject="company/runway"))

    reader.proposer = propose
    await reader.says(RUNWAY)
    await reader.says("Our runway is 16 months.")
    await reader.settled()
    assert await reader.told() == ["Our runway is 16 months."]
    assert [each.statement for each in await reader.claims(Status.SUPERSEDED)] == [RUNWAY]


async def test_quoted_words_are_shown_to_no_model_and_count_for_nobody(reader: Reader) -> None:
    from bot.gateway.events import Body, Span, SpanKind

    text = "> Our runway is 2 months.\nThat is not what I hear from finance."
    body = Body(text, (Span(0, 26, SpanKind.QUOTED), Span(26, len(text), SpanKind.OWN)))
    reader.proposer = lambda request: remember(item("fact", "Our runway is 2 months."))
    await reader.hears(text, body=body)
    assert LEFT_OUT in whole(reader.asked[-1])
    assert "2 months" not in whole(reader.asked[-1])
    assert await reader.claims() == await reader.pending() == []
    (finished,) = await reader.office.audited("extraction_finished")
    assert finished.payload["refused"] == 1


@pytest.mark.parametrize("kind", ["fact", "decision", "initiative", "preference", "advice"])
async def test_what_a_guest_says_waits(reader: Reader, kind: str) -> None:
    reader.proposer = lambda request: remember(item(kind, "The Contoso launch is in May."))
    await reader.hears("The Contoso launch is in May.", by="4", thread=None)
    assert await reader.claims() == []
    assert all(Held.UNTRUSTED in each.held for each in await reader.pending())


async def test_a_guest_hears_the_first_time_that_their_words_wait(reader: Reader) -> None:
    for month in ("May", "June"):
        text = f"The Contoso launch is in {month}."
        reader.proposer = lambda request, text=text: remember(item("fact", text))  # type: ignore[misc]
        await reader.hears(text, by="4", thread=None)
    assert len(await reader.pending()) == 2
    of_notes = sa.select(task.c.payload).where(task.c.kind == HELD)
    (payload,) = await reader.office.database.read(lambda c: c.execute(of_notes).scalars().all())
    assert payload["person"] == "guest"


async def test_what_holds_until_something_else_begins_has_its_end_and_its_event(reader: Reader) -> None:
    now, then = "Our price is 49 euros.", "Our price is 59 euros from 1 March 2199."
    for text in (now, then):
        reader.proposer = lambda request, text=text: remember(item("fact", text, subject="company/price"))  # type: ignore[misc]
        await reader.hears(text)
    first, second = sorted(await reader.claims(), key=lambda each: each.said_at)
    assert (first.statement, second.statement) == (now, then)
    assert first.valid_to == second.valid_from is not None
    (edited,) = await reader.office.audited("memory_edited")
    assert edited.payload["claim"] == first.id
    assert edited.actor != "boss"


async def test_an_initiative_told_where_the_company_reads_is_the_companys(reader: Reader) -> None:
    from bot.sessions.audience import Audience

    rooms = reader.office.rooms
    await rooms.see(["1", "2"], 3)
    await rooms.declare(Audience.COMPANY)
    text = "We are starting a referral programme."
    reader.proposer = lambda request: remember(item("initiative", text, subject="company/referral programme"))
    await reader.hears(text, thread=GROUP, by=sender("1"))
    (claim,) = await reader.claims()
    assert claim.visibility is Visibility.COMPANY


async def test_a_turn_that_the_model_refuses_to_read_is_parked_at_once(reader: Reader) -> None:
    reader.proposer = lambda request: PermanentError("refused")
    await reader.says(RUNWAY)
    await reader.settled("dead")
    assert await reader.results() == []


async def test_a_bug_in_reading_never_touches_the_answer(reader: Reader) -> None:
    def bug(request: Request) -> Said:
        raise KeyError("oops")

    reader.proposer = bug
    await reader.says(RUNWAY)
    await reader.settled("failed")
    assert reader.office.channel.texts


async def test_a_process_that_dies_while_reading_leaves_one_result(reader: Reader) -> None:
    office = reader.office
    await reader.says(RUNWAY)
    office.model.gate.clear()
    reader.proposer = lambda request: remember(item("fact", RUNWAY))
    reader.worker.ring()
    await office.model.until(thinking=1)
    await office.kill()
    office.model.gate.set()
    await office.open()
    reader.start()
    await office.database.write(reader.worker.recover)
    await reader.settled()
    assert await reader.told() == [RUNWAY]
    assert len(await reader.results()) == 1


async def test_a_silent_turn_is_read_too(reader: Reader) -> None:
    reader.reply = SILENCE
    reader.proposer = lambda request: remember(item("fact", RUNWAY))
    await reader.says(RUNWAY, ends="silent")
    await reader.settled()
    assert await reader.told() == [RUNWAY]


async def test_rules_read_where_there_is_no_model_and_quotations_are_no_advice(reader: Reader) -> None:
    reader.office.model.provider = "offline"
    reader.reply = "I recommend to close Linz."
    await reader.hears(f"{RUNWAY} Should we close Linz?")
    assert await reader.told() == [RUNWAY]
    assert reader.asked == []
    (claim,) = await reader.claims()
    assert (claim.author.name, claim.domain) == ("rules/1", "finance")


async def test_after_others_text_was_read_advice_waits_and_people_s_own_words_do_not(reader: Reader) -> None:
    await reader.hears(RUNWAY)
    (result,) = await reader.results()
    await reader.office.database.write(lambda tx: taint.mark(tx, TurnId(result.turn_id)))
    reader.reply = "I recommend to close Linz."
    reader.proposer = lambda request: remember(
        item("fact", "Our headcount is 34."), item("advice", "I recommend to close Linz.", message="m2")
    )
    await reader.hears("Our headcount is 34.")
    assert "Our headcount is 34." in await reader.told()
    (claim,) = await reader.pending()
    assert (claim.statement, claim.held) == ("I recommend to close Linz.", (Held.TAINTED,))


async def test_what_stands_in_a_turn_that_read_others_text_waits(reader: Reader) -> None:
    await reader.says("Our headcount is 34.")
    (row,) = await reader.office.database.read(lambda c: c.execute(sa.text("SELECT id FROM turn")).all())
    await reader.office.database.write(lambda tx: taint.mark(tx, TurnId(row.id)))
    reader.proposer = lambda request: remember(item("fact", "Our headcount is 34."))
    await reader.settled()
    (claim,) = await reader.pending()
    assert claim.held == (Held.TAINTED,)
