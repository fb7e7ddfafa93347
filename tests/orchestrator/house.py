"""A company with an approver, a mail channel and a model that wants things done: from the wish to what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import cast

from bot.app import ledger as wiring
from bot.app.opening import Store
from bot.audit.recorder import Recorder
from bot.gateway.events import ButtonPressed, FormSubmitted, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import Ask, Edit, Send
from bot.kernel.ids import BootId
from bot.kernel.retry import Backoff
from bot.ledger import store
from bot.ledger.model import Proposal, State
from bot.llm.model import Request, Text, ToolResult, ToolUse
from bot.memory.service import Eraser
from bot.people.model import Handle, Origin, Person
from bot.storage.database import Database
from bot.tasks.worker import Worker
from config.schema import Settings
from tests.clock import START, FakeClock
from tests.intake import events
from tests.orchestrator.office import Office, Said
from tests.outbox.channel import ScriptedChannel
from tests.sessions.rooms import CHANNEL, PEOPLE, Rooms

BOSS = PEOPLE[0]
KIM = "kim@outside.example"
MAIL = {"to": KIM, "subject": "The fair", "text": "We come to the fair.", "reason": "Ada wants it"}


class MailChannel(ScriptedChannel):
    """One mail whatever its lines; each begins a thread of its own."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, "email")
        self.begun = 0

    def plan(self, reply: object) -> list[Send]:
        path, text = reply.path, reply.markdown  # type: ignore[attr-defined]
        return [Send(path, text, text)]

    async def direct(self, address: str) -> ReplyPath:
        self.begun += 1
        return ReplyPath(f"email:ask{self.begun}", address, subject="A word")


class House:
    def __init__(self, office: Office, mail: MailChannel) -> None:
        self.office, self.mail = office, mail
        self.keys = 0

    def wants(self, name: str, **arguments: object) -> None:
        """The model calls this tool once, then says so."""

        def answer(request: Request) -> Said:
            last = request.messages[-1].content
            if any(isinstance(block, ToolResult) for block in last):
                return "I have put it forward."
            return [Text("One moment."), ToolUse("t1", name, arguments)]

        self.office.model.answer = answer

    async def asks(self, name: str, by: str = "2", **arguments: object) -> str:
        """Somebody asks, the model calls the tool; returns the executive's answer."""
        self.wants(name, **arguments)
        self.keys += 1
        before = len(self.office.channel.tried)
        await self.office.hear(events.message(f"ask{self.keys}", "please", by=by))
        said: list[str] = []

        async def holds() -> bool:
            said[:] = [each.text for each in self.office.channel.tried[before:] if each.thread == f"test:dm:{by}"]
            return bool(said)

        await self.office.until(holds)
        assert await self.office.outbox.drain(timedelta(seconds=20))
        return said[0]

    async def proposal(self) -> Proposal:
        found = await self.office.database.read(lambda c: store.newest(c, 1))
        return found[0]

    async def becomes(self, state: State) -> Proposal:
        async def holds() -> bool:
            if self.office.room is not None:
                self.office.room.ring()  # the clock stands still: nobody looks again by themselves
            return (await self.proposal()).state is state

        await self.office.until(holds)
        return await self.proposal()

    async def shown(self, count: int = 1) -> list[Ask]:
        """The questions with buttons so far, once there are so many."""
        asked: list[Ask] = []

        async def holds() -> bool:
            asked[:] = [op for op in self.office.channel.ops if isinstance(op, Ask)]
            return len(asked) >= count

        await self.office.until(holds)
        return asked

    async def press(self, ask: Ask, label: str, by: str = "1") -> None:
        token = next(each.token for each in ask.choices if each.label.startswith(label))
        self.keys += 1
        event = replace(events.press(f"press{self.keys}", token, by=by, thread=events.dm(by)), response=f"r{self.keys}")
        await self._responded(event)

    async def submit(self, form: Form, text: str, by: str = "1") -> None:
        self.keys += 1
        thread = events.dm(by)
        event = FormSubmitted(
            (f"{CHANNEL}:form{self.keys}",), thread, events.DIRECT_PLACE, events.sender(by), form.token,
            (("text", text),), START, f"r{self.keys}",
        )  # fmt: skip
        await self._responded(event)

    async def _responded(self, event: ButtonPressed | FormSubmitted) -> None:
        self.office.channel.answered.clear()
        await self.office.hear(event)
        async with asyncio.timeout(20):
            await self.office.channel.answered.wait()

    @property
    def answered(self) -> str | Form:
        return self.office.channel.responded[-1]

    async def mails(self, to: str, count: int = 1) -> list[Send]:
        sent: list[Send] = []

        async def holds() -> bool:
            sent[:] = [op for op in self.mail.ops if isinstance(op, Send) and op.path.address == to]
            return len(sent) >= count

        await self.office.until(holds)
        assert await self.office.outbox.drain(timedelta(seconds=20))
        return sent

    async def edited(self, words: str) -> Edit:
        """The message on the platform that says so, once there is one."""
        found: list[Edit] = []

        async def holds() -> bool:
            found[:] = [op for op in self.office.channel.ops if isinstance(op, Edit) and words in op.text]
            return bool(found)

        await self.office.until(holds)
        return found[0]

    async def says(self, name: str, arguments: str, by: str = "1") -> str:
        """Somebody gives a command; what they are answered."""
        self.keys += 1
        before = len(self.office.channel.tried)
        await self.office.hear(events.command(f"cmd{self.keys}", name, arguments, by=by))
        said: list[str] = []

        async def holds() -> bool:
            said[:] = [each.text for each in self.office.channel.tried[before:] if each.thread == f"test:dm:{by}"]
            return any(each != "ask" for each in said)

        await self.office.until(holds)
        assert await self.office.outbox.drain(timedelta(seconds=20))
        return next(each for each in said if each != "ask")

    async def hears(self, by: str, words: str) -> None:
        """Somebody has been told something with these words."""

        async def holds() -> bool:
            return any(each.thread == f"test:dm:{by}" and words in each.text for each in self.office.channel.tried)

        await self.office.until(holds)
        assert await self.office.outbox.drain(timedelta(seconds=20))

    async def do_tasks(self) -> None:
        """Do the ledger's background tasks, once there is one, and send what they say."""
        office, room = self.office, self.office.room
        assert room is not None

        async def there(states: str) -> bool:
            query = f"SELECT count(*) FROM task WHERE kind LIKE 'ledger.%' AND state {states}"
            return bool(await office.database.read(lambda c: c.exec_driver_sql(query).scalar()))

        await office.until(lambda: there("IS NOT NULL"))
        worker = Worker(
            office.database, office.recorder, office.clock, office.supervisor, BootId("boot-1"), room.handlers,
            Backoff(),
        )  # fmt: skip
        office.supervisor.service("tasks", worker.run())

        async def done() -> bool:
            return not await there("NOT IN ('done', 'done_empty')")

        await office.until(done)
        await office.outbox.channel_ready(CHANNEL)
        await office.outbox.channel_ready("email")

        async def sent() -> bool:
            query = "SELECT count(*) FROM outbox WHERE state <> 'sent'"
            return not await office.database.read(lambda c: c.exec_driver_sql(query).scalar())

        await office.until(sent)

    async def refusals(self) -> list[object]:
        return [each.payload["because"] for each in await self.office.audited("proposal_refused")]


async def open_house(
    database: Database, recorder: Recorder, clock: FakeClock, settings: Settings | None = None, *others: Person
) -> House:
    """The boss has mail too. `others`: more people."""
    rooms = Rooms(database, recorder, clock)
    by_mail = replace(BOSS, handles=BOSS.handles | {Handle("email", "boss@acme.example", Origin.SETTINGS)})
    await rooms.add_people(by_mail, *PEOPLE[1:], *others)
    mail = MailChannel(clock)
    built = Store(database, recorder, clock, b"k" * 32)
    office = Office(
        database, recorder, clock, rooms, more={"email": mail}, dress=wiring.buttons(built).dress,
        decides=lambda outbox, channels: wiring.build(
            built, settings or Settings(), outbox, channels, lambda: cast("Eraser", None), lambda: None
        ),
    )  # fmt: skip
    office.channel.buttons, office.channel.forms, office.channel.in_one = True, 5, True
    await office.open()
    return House(office, mail)
