"""Every call is paid for by somebody, and nobody spends more than may be spent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.kernel.errors import TransientError
from bot.kernel.ids import PersonId, SessionId, TurnId
from bot.kernel.supervise import cancel, start
from bot.llm import spending
from bot.llm.budget import Limit, Limits, OverBudgetError, Price, Purpose, Spender, refusal
from bot.llm.metered import Meter, Metered
from bot.llm.metered import spending as on_account
from bot.llm.model import Event, Finished, Message, ModelHealth, Request, Restarted, StopReason, Text, TextDelta, Usage
from bot.llm.tables import spend
from bot.storage.database import Database
from tests.clock import START, FakeClock

PRICES = {"m": Price(5.0, 25.0, 0.5, 10.0, 200_000), "small": Price(1.0, 5.0, 0.1, 2.0, 8_000)}
ZONE = "Europe/Berlin"
ANN = Spender("t1", PersonId("ann"), SessionId("s1"), TurnId("t1"))
BOB = Spender("t2", PersonId("bob"), SessionId("s2"), TurnId("t2"))
DOLLAR = 1_000_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Fixed:
    """A model that uses the same every time, or what it is told to."""

    provider = "fixed"

    def __init__(self, usage: Usage = Usage(1_000, 100, 2_000, 300)) -> None:  # noqa: B008 - frozen
        self.usage = usage
        self.asked: list[Request] = []
        self.error: Exception | None = None
        self.restarts = 0
        self.hangs = self.down = False
        self.answers_as: str | None = None
        self.begun = asyncio.Semaphore(0)

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        self.asked.append(request)
        self.begun.release()
        if self.down:
            raise TransientError("overloaded")
        for _ in range(self.restarts):
            yield TextDelta("x" * 40)
            yield Restarted()
        yield TextDelta("four")
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        yield Finished((Text("four"),), StopReason.END_TURN, self.usage, self.answers_as or request.model)

    def health(self) -> ModelHealth:
        return ModelHealth(True)

    async def close(self) -> None: ...


def meter(clock: FakeClock, free: bool = False, **most: float) -> Meter:
    limits = Limits({Limit(name): round(value * DOLLAR) for name, value in most.items()}, 0.8)
    return Meter(clock, ZONE, PRICES, limits, {"m": "small"}, free=free)


def limited(clock: FakeClock, limit: str, dollars: float) -> Meter:
    limits = Limits({Limit(limit): round(dollars * DOLLAR)}, 0.8)
    return Meter(clock, ZONE, PRICES, limits, {"m": "small"}, free=False)


def request(model: str = "m", text: str = "hello") -> Request:
    return Request(model, (Text("persona"),), (Message("user", (Text(text),)),), max_tokens=100)


async def ask(model: Metered, spender: Spender = ANN, asked: Request | None = None) -> None:
    with on_account(spender):
        async with aclosing(model.stream(asked or request())) as events:
            async for _ in events:
                pass


async def rows(database: Database) -> list[sa.Row[tuple[object, ...]]]:
    return await database.read(lambda c: list(c.execute(sa.select(spend).order_by(spend.c.id))))


async def settle(database: Database, recorder: Recorder, open_meter: Meter, bill: str = "t1") -> None:
    await database.write(lambda tx: open_meter.settle(tx, recorder, bill))


async def test_a_call_on_nobodys_account_is_a_bug_and_is_not_made(clock: FakeClock) -> None:
    model = Fixed()
    async with aclosing(Metered(model, meter(clock), Purpose.ANSWER).stream(request())) as events:
        with pytest.raises(RuntimeError, match="nobody's account"):
            await anext(events)
    assert model.asked == []


async def test_what_was_used_is_charged_and_written_once(
    clock: FakeClock, database: Database, recorder: Recorder
) -> None:
    open_meter = meter(clock, person=3)
    await open_meter.open(database)
    await ask(Metered(Fixed(), open_meter, Purpose.CONSULT))
    await settle(database, recorder, open_meter)
    await settle(database, recorder, open_meter)
    (row,) = await rows(database)
    assert row.micros == 1_000 * 5 + 100 * 25 + 1_000 + 300 * 10
    assert (row.person_id, row.session_id, row.turn_id, row.purpose, row.model, row.estimated) == (
        "ann", "s1", "t1", "consult", "m", False,
    )  # fmt: skip
    assert row.day == "2026-03-02"
    assert open_meter.standing(ANN, everybody=True)[0][1] == row.micros


async def test_a_unit_that_fails_keeps_the_bill(clock: FakeClock, database: Database, recorder: Recorder) -> None:
    open_meter = meter(clock, person=3)
    await open_meter.open(database)
    await ask(Metered(Fixed(), open_meter, Purpose.ANSWER))

    def unit(tx: object) -> None:
        open_meter.settle(tx, recorder, "t1")  # type: ignore[arg-type]
        raise ValueError("a bug after it")

    with pytest.raises(ValueError, match="a bug"):
        await database.write(unit)
    assert await rows(database) == []
    await settle(database, recorder, open_meter)
    assert len(await rows(database)) == 1


@pytest.mark.parametrize(
    ("limit", "other_too"),
    [("company", True), ("company_month", True), ("person", False), ("person_month", False), ("session", False)],
)
async def test_over_a_limit_nothing_is_asked_and_others_go_on_unless_it_is_theirs_too(
    clock: FakeClock, database: Database, recorder: Recorder, limit: str, other_too: bool
) -> None:
    model, open_meter = Fixed(Usage(100_000, 10_000)), limited(clock, limit, 0.7)
    await open_meter.open(database)
    metered = Metered(model, open_meter, Purpose.ANSWER)
    await ask(metered)
    with pytest.raises(OverBudgetError) as caught:
        await ask(metered)
    assert caught.value.account.limit == limit
    assert len(model.asked) == 1
    if other_too:
        with pytest.raises(OverBudgetError):
            await ask(metered, BOB)
    else:
        await ask(metered, BOB)
    await settle(database, recorder, open_meter)
    refused = await database.read(lambda c: timeline.newest(c, 10, ("budget_refused",)))
    assert [entry.payload["budget"] for entry in refused] == [limit]
    assert refused[0].turn == "t1"


async def test_what_is_under_way_counts(clock: FakeClock) -> None:
    """Side by side, calls cannot together spend what each of them might."""
    model, open_meter = Fixed(), meter(clock, person=0.006)
    model.hangs = True
    metered = Metered(model, open_meter, Purpose.ANSWER)
    first = start("first", ask(metered))
    second = start("second", ask(metered))
    await model.begun.acquire()
    await model.begun.acquire()
    with pytest.raises(OverBudgetError):
        await ask(metered)
    await cancel(first)
    await cancel(second)
    model.hangs = False
    clock.advance(timedelta(days=1))
    await ask(metered)


async def test_scheduled_work_has_a_limit_of_its_own(clock: FakeClock) -> None:
    metered = Metered(Fixed(Usage(100_000, 4_000)), meter(clock, scheduled=0.6, company=20), Purpose.ANSWER)
    scheduled = replace(ANN, scheduled=True)
    await ask(metered, scheduled)
    with pytest.raises(OverBudgetError):
        await ask(metered, scheduled)
    await ask(metered, ANN)


async def test_a_new_day_of_the_company_begins_anew_and_a_month_goes_on(clock: FakeClock) -> None:
    metered = Metered(Fixed(Usage(100_000, 4_000)), meter(clock, person=0.602, person_month=1.201), Purpose.ANSWER)
    await ask(metered)
    with pytest.raises(OverBudgetError) as caught:
        await ask(metered)
    # 2026-03-02 09:00 UTC is 10:00 in Berlin: midnight there comes at 23:00 UTC.
    assert caught.value.account.resets_at == START + timedelta(hours=14)
    clock.advance(timedelta(hours=14))
    await ask(metered)
    clock.advance(timedelta(days=1))
    with pytest.raises(OverBudgetError) as caught:
        await ask(metered)
    assert caught.value.account.limit is Limit.PERSON_MONTH
    assert "Wednesday 2026-04-01 at 07:00 (Asia/Tokyo)" in refusal(caught.value.account, 1, "Asia/Tokyo", figures=True)


async def test_a_restart_takes_up_what_was_spent(clock: FakeClock, database: Database, recorder: Recorder) -> None:
    first = meter(clock, person=0.602, company=20)
    await first.open(database)
    await ask(Metered(Fixed(Usage(100_000, 4_000)), first, Purpose.ANSWER))
    await settle(database, recorder, first)
    second = meter(clock, person=0.602, company=20)
    await second.open(database)
    with pytest.raises(OverBudgetError):
        await ask(Metered(Fixed(), second, Purpose.ANSWER))


async def test_an_answer_that_is_stopped_is_charged_by_estimate_and_one_that_never_began_is_not(
    clock: FakeClock, database: Database, recorder: Recorder
) -> None:
    model, open_meter = Fixed(), meter(clock, person=3)
    await open_meter.open(database)
    metered = Metered(model, open_meter, Purpose.ANSWER)
    model.hangs = True
    stopped = start("stopped", ask(metered))
    await model.begun.acquire()
    await cancel(stopped)
    model.hangs, model.error = False, TransientError("cut")
    with pytest.raises(TransientError):
        await ask(metered)
    await settle(database, recorder, open_meter)
    assert [row.estimated for row in await rows(database)] == [True, True]

    model.down = True
    with pytest.raises(TransientError):
        await ask(metered)
    await settle(database, recorder, open_meter)
    assert len(await rows(database)) == 2


async def test_tries_that_were_dropped_are_charged_by_estimate(
    clock: FakeClock, database: Database, recorder: Recorder
) -> None:
    model, open_meter = Fixed(), meter(clock, person=3)
    await open_meter.open(database)
    model.restarts = 2
    await ask(Metered(model, open_meter, Purpose.ANSWER))
    await settle(database, recorder, open_meter)
    estimated = [row for row in await rows(database) if row.estimated]
    assert [(row.output, row.input > 0) for row in estimated] == [(20, True)]


async def test_the_fallback_is_paid_at_its_own_price_and_an_unknown_name_at_the_dearest(
    clock: FakeClock, database: Database, recorder: Recorder
) -> None:
    model, open_meter = Fixed(Usage(1_000)), meter(clock, person=3)
    await open_meter.open(database)
    for name in ("small", "small-20260101", "somebody-else"):
        model.answers_as = name
        await ask(Metered(model, open_meter, Purpose.ANSWER))
    await settle(database, recorder, open_meter)
    assert [row.micros for row in await rows(database)] == [1_000, 1_000, 5_000]


async def test_the_offline_model_costs_nothing(clock: FakeClock, database: Database, recorder: Recorder) -> None:
    open_meter = meter(clock, free=True, person=0)
    await open_meter.open(database)
    await ask(Metered(Fixed(), open_meter, Purpose.ANSWER))
    await settle(database, recorder, open_meter)
    assert await rows(database) == []


async def test_a_warning_is_given_once_a_window_and_over_restarts(
    clock: FakeClock, database: Database, recorder: Recorder
) -> None:
    open_meter = meter(clock, person=0.7)
    await open_meter.open(database)
    assert open_meter.warning(ANN) is None
    await ask(Metered(Fixed(Usage(100_000, 4_000)), open_meter, Purpose.ANSWER))
    found = open_meter.warning(ANN)
    assert found is not None
    account, spent = found
    assert spent == 600_000
    await database.write(lambda tx: open_meter.settle(tx, recorder, "t1"))
    await database.write(lambda tx: open_meter.warned(tx, recorder, ANN, account, spent))
    assert open_meter.warning(ANN) is None
    again = meter(clock, person=0.7)
    await again.open(database)
    assert again.warning(ANN) is None
    clock.advance(timedelta(days=1))
    assert again.warning(ANN) is None, "nothing is spent yet"


async def test_every_request_is_made_to_fit_the_smaller_window_of_model_and_fallback(clock: FakeClock) -> None:
    model = Fixed()
    await ask(Metered(model, meter(clock), Purpose.ANSWER), asked=request(text="word " * 100_000))
    (block,) = model.asked[0].messages[0].content
    assert isinstance(block, Text)
    assert "cut here" in block.text
    assert len(block.text) < 2 * 8_000


async def test_of_requests_that_continue_each_other_the_last_is_kept(clock: FakeClock) -> None:
    open_meter = meter(clock)
    metered = Metered(Fixed(), open_meter, Purpose.ANSWER)
    first = request()
    second = replace(first, messages=(*first.messages, Message("assistant", (Text("a"),)), *first.messages))
    await ask(metered, asked=first)
    await ask(metered.to(Purpose.CONSULT), asked=request(text="numbers?"))
    await ask(metered, asked=second)
    assert [(one.purpose, len(one.request.messages)) for one in open_meter.requests("t1")] == [
        (Purpose.CONSULT, 1),
        (Purpose.ANSWER, 3),
    ]


async def test_sums(clock: FakeClock, database: Database, recorder: Recorder) -> None:
    open_meter = meter(clock)
    await open_meter.open(database)
    metered = Metered(Fixed(Usage(1_000, 100)), open_meter, Purpose.ANSWER)
    await ask(metered)
    await ask(metered.to(Purpose.GATE), BOB, request("small"))
    clock.advance(timedelta(days=1))
    await ask(metered, BOB)
    for bill in ("t1", "t2"):
        await settle(database, recorder, open_meter, bill)
    since = START.date()

    async def by(what: spending.By, of: PersonId | None = None) -> list[tuple[str, int, int]]:
        found = await database.read(lambda c: spending.sums(c, what, since, of))
        return [(one.key, one.calls, one.micros) for one in found]

    assert await by("day") == [("2026-03-03", 1, 7_500), ("2026-03-02", 2, 9_000)]
    assert await by("model") == [("m", 2, 15_000), ("small", 1, 1_500)]
    assert await by("person") == [("bob", 2, 9_000), ("ann", 1, 7_500)]
    assert await by("purpose") == [("answer", 2, 15_000), ("gate", 1, 1_500)]
    assert await by("day", PersonId("ann")) == [("2026-03-02", 1, 7_500)]
    assert await by("model", PersonId("nobody")) == []


async def test_years_are_summed_up_from_an_index(database: Database) -> None:
    plans: list[str] = []

    def query(connection: sa.Connection) -> None:
        def explain(_c: object, _cursor: object, text: str, given: tuple[object, ...], *_: object) -> None:
            if text.startswith("SELECT spend"):
                plans.extend(row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given))

        sa.event.listen(connection, "before_cursor_execute", explain)
        for of in (None, PersonId("ann")):
            spending.sums(connection, "day", START.date(), of)
            spending.sums(connection, "model", START.date(), of)
        sa.event.remove(connection, "before_cursor_execute", explain)

    await database.read(query)
    looked = [each for each in plans if "spend" in each]
    assert len(looked) == 4
    assert all(each.startswith("SEARCH spend USING COVERING INDEX ix_spend_day") for each in looked), plans
