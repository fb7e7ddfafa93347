"""The model as everybody is handed it: every call is on somebody's account, within the budget and within the window.

Who spends is said once, around the work (`spending`), and holds for all that the work does, its specialists and gates
too; a call outside of it is a bug and raises. What a call may cost is reserved in memory before it is made; what it did
cost stands in memory as soon as it ends, and is written by `settle` in the transaction that ends the work. A process
that dies in between forgets at most what was in flight. Tries within one call that the provider answered with an error
tell no usage and are not counted; an answer that was broken off or stopped is counted by estimate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from datetime import datetime

from bot.audit.events import Actor, BudgetRefused, BudgetWarned, Record
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import new_id
from bot.kernel.values import dataclass
from bot.llm import spending as store
from bot.llm import tokens, window
from bot.llm.budget import (
    Account,
    Limit,
    Limits,
    OverBudgetError,
    Price,
    Purpose,
    Spender,
    accounts,
    local_day,
)
from bot.llm.model import Event, Finished, Model, ModelHealth, Request, Restarted, TextDelta, Usage
from bot.llm.spending import Line
from bot.storage.database import Database, Tx

_SPENDER: ContextVar[Spender | None] = ContextVar("spender", default=None)
_ACTOR = Actor("system", "budget")
DEFAULT_WINDOW = 200_000


@contextmanager
def spending(spender: Spender) -> Iterator[None]:
    """Calls made within this block, and in tasks started in it, go on this account."""
    token = _SPENDER.set(spender)
    try:
        yield
    finally:
        _SPENDER.reset(token)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it was sent."""

    purpose: Purpose
    request: Request
    at: datetime


@dataclass(slots=True)
class Bill:
    """What one piece of work has spent and asked since it was last written down."""

    lines: list[Line] = field(default_factory=list)
    refused: list[tuple[Spender, Purpose, Account]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Settled:
    bill: str
    lines: int
    refused: int


class Meter:
    """Implements `storage.database.CommitHook`: what was settled leaves memory when it is committed."""

    def __init__(
        self,
        clock: Clock,
        zone: str,
        prices: Mapping[str, Price],
        limits: Limits,
        fallback: Mapping[str, str | None],
        *,
        free: bool,
    ) -> None:
        """`zone`: the company's. `free`: calls cost nothing and are not counted (the offline model)."""
        self.free = free
        self.zone = zone
        self._clock = clock
        self._prices = prices
        self._limits = limits
        self._fallback = fallback
        self._spent: defaultdict[store.Key, int] = defaultdict(int)
        self._reserved: defaultdict[store.Key, int] = defaultdict(int)
        self._warned: set[store.Key] = set()
        self._bills: dict[str, Bill] = {}
        self._noted: list[_Settled] = []

    async def open(self, database: Database) -> None:
        """Take up what was spent in the windows that have begun."""
        database.add_hook(self)
        today = local_day(self._clock.now(), self.zone)
        self._spent |= await database.read(lambda c: store.totals(c, today), long=True)
        self._warned |= await database.read(store.warned)

    # --- before and after a call ---------------------------------------------------------------------------------

    def window(self, model: str) -> int:
        """Of the model, or of its fallback if that is smaller."""
        names = (model, self._fallback.get(model))
        return min(self._prices[n].window if n in self._prices else DEFAULT_WINDOW for n in names if n is not None)

    def reserve(self, spender: Spender, purpose: Purpose, request: Request) -> int:
        """Set aside what the call may cost. Raises `OverBudgetError`. Returns the amount."""
        if self.free:
            return 0
        amount = self._estimate(request)
        now = self._clock.now()
        held = list(accounts(self._limits, spender, now, self.zone))
        for account in held:
            spent = self._spent[account.key]
            if spent + self._reserved[account.key] + amount > account.most:
                self._bill(spender).refused.append((spender, purpose, account))
                raise OverBudgetError(account, spent)
        for account in held:
            self._reserved[account.key] += amount
        return amount

    def asked(self, spender: Spender, purpose: Purpose, request: Request) -> None:
        """Keep the request as it is sent; one that continues an earlier one stands for both."""
        kept = self._bill(spender).asked
        for number, earlier in enumerate(kept):
            before = earlier.request.messages
            if earlier.purpose is purpose and before == request.messages[: len(before)]:
                del kept[number]
                break
        kept.append(Asked(purpose, request, self._clock.now()))

    def release(self, spender: Spender, amount: int, reserved_at: datetime) -> None:
        for account in accounts(self._limits, spender, reserved_at, self.zone) if amount else ():
            self._reserved[account.key] -= amount

    def charge(self, spender: Spender, purpose: Purpose, model: str, usage: Usage, *, estimated: bool = False) -> None:
        if self.free or usage == Usage():
            return
        now = self._clock.now()
        micros = self._price(model).of(usage)
        for account in accounts(self._limits, spender, now, self.zone):
            self._spent[account.key] += micros
        day = local_day(now, self.zone)
        line = Line(new_id(now), now, day, spender, purpose, model, usage, micros, estimated)
        self._bill(spender).lines.append(line)

    # --- the end of a piece of work ------------------------------------------------------------------------------

    def requests(self, bill: str) -> Sequence[Asked]:
        """What was asked for this bill since it was settled."""
        return tuple(self._bills[bill].asked) if bill in self._bills else ()

    def warning(self, spender: Spender) -> tuple[Account, int] | None:
        """The limit whose share for a warning this spender has reached, if nobody was warned of it yet."""
        if self.free:
            return None
        for account in accounts(self._limits, spender, self._clock.now(), self.zone):
            spent = self._spent[account.key]
            if spent >= account.most * self._limits.warn and spent > 0 and account.key not in self._warned:
                return account, spent
        return None

    def warned(self, tx: Tx, recorder: Recorder, spender: Spender, account: Account, spent: int) -> None:
        store.note_warning(tx, account.key)
        payload = BudgetWarned(account.limit.value, account.subject, account.most, spent)
        recorder.record(tx, Record(payload, _ACTOR, spender.session, spender.turn))
        self._warned.add(account.key)  # should the commit fail, the warning is not said again until the next start

    def settle(self, tx: Tx, recorder: Recorder, bill: str) -> None:
        """Write the bill in the transaction that ends the work (or gives it back)."""
        open_bill = self._bills.get(bill)
        if open_bill is None:
            return
        for line in open_bill.lines:
            store.add(tx, line)
        for spender, purpose, account in open_bill.refused:
            payload = BudgetRefused(account.limit.value, account.subject, purpose.value, account.most)
            recorder.record(tx, Record(payload, _ACTOR, spender.session, spender.turn))
        tx.defer(self, _Settled(bill, len(open_bill.lines), len(open_bill.refused)))

    def standing(self, spender: Spender, *, everybody: bool) -> list[tuple[Account, int]]:
        """The spender's limits and what is spent of each; those of everybody only if asked for."""
        found = accounts(self._limits, spender, self._clock.now(), self.zone)
        shared = (Limit.COMPANY, Limit.COMPANY_MONTH)
        return [(each, self._spent[each.key]) for each in found if everybody or each.limit not in shared]

    def flush(self, tx: Tx, items: Sequence[_Settled]) -> None:
        self._noted = list(items)

    def committed(self) -> None:
        for settled in self._noted:
            bill = self._bills.get(settled.bill)
            if bill is None:
                continue
            del bill.lines[: settled.lines], bill.refused[: settled.refused]
            bill.asked.clear()
            if not bill.lines and not bill.refused:
                del self._bills[settled.bill]
        self._noted = []

    def rolled_back(self) -> None:
        self._noted = []

    def _bill(self, spender: Spender) -> Bill:
        return self._bills.setdefault(spender.bill, Bill())

    def _estimate(self, request: Request) -> int:
        """The dearer of the model and its fallback."""
        usage = Usage(input=tokens.of_request(request), output=request.max_tokens)
        names = (request.model, self._fallback.get(request.model))
        return max(self._price(name).of(usage) for name in names if name is not None)

    def _price(self, model: str) -> Price:
        """A name that the provider spells otherwise (with a date) costs what the dearest model costs."""
        known = self._prices.get(model) or next(
            (price for name, price in self._prices.items() if model.startswith(f"{name}-")), None
        )
        return known or max(self._prices.values(), key=lambda price: price.output)


class Metered:
    """A `Model` whose calls are for one purpose. Hand this to rooms, never the model itself."""

    def __init__(self, model: Model, meter: Meter, purpose: Purpose) -> None:
        self._model = model
        self._meter = meter
        self._purpose = purpose

    def to(self, purpose: Purpose) -> Metered:
        """The same model for another purpose."""
        return Metered(self._model, self._meter, purpose)

    @property
    def provider(self) -> str:
        return self._model.provider

    def health(self) -> ModelHealth:
        return self._model.health()

    async def close(self) -> None:
        await self._model.close()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """Raises `OverBudgetError` besides what `Model.stream` raises."""
        spender = _SPENDER.get()
        if spender is None:
            raise RuntimeError("a call of the model that is on nobody's account")
        request = window.fit(request, self._meter.window(request.model))
        reserved_at = self._meter._clock.now()  # noqa: SLF001 - one module
        amount = self._meter.reserve(spender, self._purpose, request)
        self._meter.asked(spender, self._purpose, request)
        said, wasted, failed, finished = 0, Usage(), False, False
        read = Usage(input=tokens.of_request(request))
        events: AsyncIterator[Event] = self._model.stream(request)
        try:
            async for event in events:
                match event:
                    case TextDelta(text):
                        said += len(text)
                    case Restarted():
                        wasted += read + Usage(output=said // tokens.CHARACTERS)
                        said = 0
                    case Finished():
                        finished = True
                        self._meter.charge(spender, self._purpose, event.model, event.usage)
                yield event
        except OpenExecutiveError:
            failed = True
            raise
        finally:
            self._meter.release(spender, amount, reserved_at)
            if not finished and (said or not failed):
                wasted += read + Usage(output=said // tokens.CHARACTERS)
            self._meter.charge(spender, self._purpose, request.model, wasted, estimated=True)
            if isinstance(events, AsyncGenerator):
                await events.aclose()
