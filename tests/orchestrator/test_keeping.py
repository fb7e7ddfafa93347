"""Documents handed over in a conversation: who may, who decides, who is told what, and that it survives the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.sandbox import Sandbox
from bot.files.service import Files
from bot.gateway.events import Addressed, Attachment, InboundEvent, Place, PlaceKind, Proof
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor
from bot.knowledge import store as documents
from bot.knowledge.model import Document, Origin, Status
from bot.orchestrator.bringing import Bringer
from bot.orchestrator.keeping import GUESTS, NOT_HERE, ONLY_PRINCIPALS, OUTSIDERS, WHICH, proven
from bot.outbox.tables import outbox
from bot.sessions.audience import Audience
from bot.storage.database import Database
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.tables import task as task_table
from bot.tasks.worker import Worker as TaskRunner
from tests.clock import FakeClock
from tests.files import samples
from tests.intake.events import GROUP, delete, message, sender
from tests.knowledge.desk import OPERATOR, Desk, build
from tests.orchestrator.office import Office
from tests.orchestrator.test_lanes import greeted
from tests.sessions.rooms import Rooms

POLICY = b"# Travel policy\n\n## Hotels\n\nA hotel may cost 180 EUR a night.\n"
NEWER = b"# Travel policy\n\n## Hotels\n\nA hotel may cost 220 EUR a night.\n"
BOSS, ADA, BOB, GUEST = "1", "2", "3", "4"


@dataclass
class Scene:
    office: Office
    desk: Desk

    async def open(self) -> None:
        """A process starts."""
        await self.office.open()
        bringer = Bringer(
            self.office.database, self.office.clock, self.desk.library, self.office.outbox,
            {"test": self.office.channel},
        )  # fmt: skip
        handlers = {**self.desk.worker.handlers(), **bringer.handlers()}
        self.desk.runner = TaskRunner(
            self.office.database, self.office.recorder, self.office.clock, self.desk.supervisor,
            self.desk.runner._boot, handlers, Backoff(),
        )  # fmt: skip

    async def attachment(self, data: bytes, name: str) -> Attachment:
        return Attachment(name, "", len(data), blob=await self.desk.store(data))

    async def sends(self, key: str, by: str, text: str, *files: tuple[bytes, str], **more: object) -> None:
        """Somebody writes, and the turn ends."""
        attached = tuple([await self.attachment(*file) for file in files])
        await self.hear(message(key, text, by=by, attachments=attached, **more))  # type: ignore[arg-type]

    async def hear(self, event: InboundEvent) -> None:
        states = [state for _, state in await self.office.rows()]
        self.office.clock.advance(timedelta(seconds=1))
        await self.office.hear(event)
        await self.office.ended(*states, "answered")
        await self.delivered()

    async def works(self) -> None:
        """What is to be read is read, what is to be told is told."""
        await self.desk.work()
        await self.delivered()

    async def delivered(self) -> None:
        """All that is to be said has been said, if the platform is there."""
        waiting = sa.select(sa.func.count()).select_from(outbox).where(outbox.c.state.in_(["queued", "claimed"]))

        async def holds() -> bool:
            return not await self.office.database.read(lambda c: c.execute(waiting).scalar_one())

        if self.office.channel.connected:
            await self.office.until(holds)

    def told(self, by: str) -> list[str]:
        return [sent.text for sent in self.office.channel.tried if sent.thread == f"test:dm:{by}" and sent.text]

    def said_in(self, thread: str) -> list[str]:
        return [sent.text for sent in self.office.channel.tried if sent.thread == thread and sent.text]

    async def kept(self) -> list[Document]:
        return await self.desk.library.listed(OPERATOR, statuses=list(Status))

    async def statuses(self) -> list[tuple[str, int, str]]:
        """Oldest first."""
        return [(each.name, each.version, each.status.value) for each in reversed(await self.kept())]


@pytest.fixture
async def scene(
    rooms: Rooms, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor, tmp_path: Path
) -> AsyncIterator[Scene]:
    desk = await build(tmp_path, database, recorder, clock, supervisor)
    desk.built_in.there.set()
    sandbox = Sandbox()
    files = Files(BlobFolder(tmp_path / "blobs"), Extractor(sandbox), Shrinker(sandbox))
    office = Office(database, recorder, clock, rooms, library=desk.library, files=files)
    scene = Scene(office, desk)
    await scene.open()
    await greeted(office, BOSS, ADA, BOB, GUEST)
    yield scene
    await office.close()
    await supervisor.stop()
    await desk.index.close()


async def test_a_principals_new_document_is_kept_at_once_without_a_model(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "Please add this to our knowledge.", (POLICY, "policy.md"))
    assert await scene.statuses() == [], "reading is not what the turn waits for"
    await scene.works()
    assert scene.told(BOSS) == [
        "I have **policy.md** and am reading it, to keep it; I say here when that is done.",
        "**policy.md** is kept for the company (1 passage): I can answer from it now.",
    ]
    assert await scene.statuses() == [("policy.md", 1, "approved")]
    assert scene.office.model.asked == []
    (document,) = await scene.kept()
    assert (document.uploader, document.audience, document.origin.value) == ("boss", "company", "sent")
    assert document.session is not None


async def test_a_members_document_waits_for_the_principal_who_is_asked_alone_and_both_hear_the_end(
    scene: Scene,
) -> None:
    await scene.sends("m1", ADA, "keep this document", (POLICY, "policy.md"))
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "pending")]
    (document,) = await scene.kept()
    (question,) = scene.told(BOSS)
    assert question == (
        f"ada sent me **policy.md** (1 passage), to be kept for the company. Answer `yes` or `no` here, or run "
        f"`openexecutive knowledge approve {document.id}` (or `reject`)."
    )
    assert scene.told(ADA)[1:] == [
        "**policy.md** is read (1 passage). To be kept for the company it needs a principal's yes: I have asked boss."
    ]
    await scene.sends("m2", BOSS, "Yes.")
    await scene.works()
    assert scene.told(BOSS)[1:] == ["**policy.md** is kept; I can answer from it from now on."]
    assert scene.told(ADA)[2:] == ["**policy.md**: boss said yes: it is kept; I can answer from it from now on."]
    assert await scene.statuses() == [("policy.md", 1, "approved")]
    assert await scene.desk.found("hotel night") == ["policy.md"]
    assert scene.office.model.asked == []


async def test_a_replacement_of_the_principals_own_waits_for_a_yes_and_the_old_one_serves(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"))
    await scene.works()
    await scene.sends("m2", BOSS, "/keep", (NEWER, "policy.md"))
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "approved"), ("policy.md", 2, "pending")]
    assert "There is one of this name already (version 1 of " in scene.told(BOSS)[-1]
    assert "Answer `yes` or `no`." in scene.told(BOSS)[-1]
    await scene.sends("m3", BOSS, "yes")
    assert await scene.statuses() == [("policy.md", 1, "withdrawn"), ("policy.md", 2, "approved")]


async def test_a_no_is_a_no(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"))
    await scene.works()
    await scene.sends("m2", BOSS, "no")
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "rejected")]
    assert scene.told(BOSS)[-1] == "I do not keep **policy.md**."
    assert scene.told(ADA)[-1] == "**policy.md**: boss said no: I do not keep it."


async def test_a_decision_at_the_command_line_is_told_to_the_sender(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"))
    await scene.works()
    (document,) = await scene.kept()
    await scene.desk.library.approve(document.id, None)
    await scene.works()
    assert scene.told(ADA)[-1].startswith("**policy.md**: whoever runs me said yes")
    await scene.sends("m2", BOSS, "yes")
    assert len(scene.office.model.asked) == 1, "nothing waits any more: an ordinary word"


async def test_a_yes_counts_for_the_last_thing_that_was_said_or_with_the_name(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"))
    await scene.works()
    await scene.sends("m2", BOSS, "Shall I fly on Monday?")
    await scene.sends("m3", BOSS, "yes")
    assert await scene.statuses() == [("policy.md", 1, "pending")]
    assert len(scene.office.model.asked) == 2
    await scene.sends("m4", BOSS, "yes other.md")
    assert await scene.statuses() == [("policy.md", 1, "pending")]
    await scene.sends("m5", BOSS, "yes Policy.md")
    assert await scene.statuses() == [("policy.md", 1, "approved")]


async def test_a_yes_that_was_written_before_the_question_arrived_is_no_answer_to_it(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"))
    scene.office.channel.connected = False
    await scene.desk.work()
    await scene.sends("m2", BOSS, "yes")
    assert await scene.statuses() == [("policy.md", 1, "pending")]


async def test_of_several_that_wait_the_rest_is_named(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "a.md"), (NEWER, "b.md"))
    await scene.works()
    await scene.sends("m2", BOSS, "yes")
    assert scene.told(BOSS)[-1] == "**b.md** is kept; I can answer from it from now on. Still waiting: `yes a.md`."
    assert await scene.statuses() == [("a.md", 1, "pending"), ("b.md", 1, "approved")]


async def team(scene: Scene, audience: Audience = Audience.ROOM) -> None:
    await scene.office.rooms.see([BOSS, ADA], 3)
    await scene.office.rooms.declare(audience)


def here(**more: object) -> dict[str, object]:
    place = Place(PlaceKind.GROUP, "Room", 3)
    return {"thread": GROUP, "place": place, "addressed": Addressed.MENTION, **more}


async def test_where_a_principal_reads_along_the_thread_is_asked_and_only_the_principal_decides(scene: Scene) -> None:
    await team(scene)
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"), **here())
    await scene.works()
    assert scene.told(BOSS) == []
    question = scene.said_in(GROUP.key)[-1]
    assert question.endswith("it needs a principal's word: boss, answer `yes` or `no`.")
    await scene.sends("m2", ADA, "yes", **here())
    assert scene.said_in(GROUP.key)[-1] == ONLY_PRINCIPALS
    assert await scene.statuses() == [("policy.md", 1, "pending")]
    await scene.sends("m3", BOSS, "yes policy.md", **here())
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "approved")]
    assert scene.said_in(GROUP.key)[-1].startswith("**policy.md** is kept"), "who was there is not told twice"


async def test_where_outsiders_read_nothing_is_taken_in(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"), **here())
    await scene.sends("m2", GUEST, "keep this document", (POLICY, "policy.md"))
    await scene.works()
    assert scene.said_in(GROUP.key)[-1] == OUTSIDERS
    assert scene.told(GUEST) == [GUESTS]
    assert await scene.statuses() == []


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (samples.locked_pdf("secret"), "locked.pdf", "password"),
        (samples.pdf(b""), "scan.pdf", "text"),
        (b"\x00\x01\x02" * 400, "thing.bin", ""),
    ],
)
async def test_what_cannot_be_read_is_named_with_its_reason(scene: Scene, data: bytes, name: str, reason: str) -> None:
    await scene.sends("m1", BOSS, "/keep", (data, name))
    await scene.works()
    said = scene.told(BOSS)[-1]
    assert said.startswith(f"I cannot keep **{name}**: ")
    assert reason in said
    assert await scene.desk.found("hotel night") == []


async def test_a_process_that_dies_after_the_turn_leaves_the_reading_to_the_next_and_each_thing_is_said_once(
    scene: Scene,
) -> None:
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"))
    await scene.office.kill()
    await scene.open()
    await scene.works()
    (task,) = [t for t in await tasks_of(scene) if t.kind == "knowledge.bring"]
    for _ in range(2):  # its outcome was not written: it is done again
        await scene.desk.runner._handlers[task.kind](task)
    await scene.works()
    assert scene.told(BOSS)[1:] == ["**policy.md** is kept for the company (1 passage): I can answer from it now."]
    assert await scene.statuses() == [("policy.md", 1, "approved")]


async def test_a_document_that_a_dead_process_was_reading_is_read_again_with_the_askers_word(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"))
    (task,) = [t for t in await tasks_of(scene) if t.kind == "knowledge.bring"]
    blob = await scene.desk.store(POLICY)
    new = documents.New(
        "policy.md", Origin.SENT, "company", "policy.md", "text/markdown", blob, blob,
        scene.office.clock.now(), wider=True,
    )  # fmt: skip
    await scene.office.database.write(lambda tx: documents.add(tx, new, scene.office.clock.now()))
    await scene.desk.runner._handlers[task.kind](task)
    assert await scene.statuses() == [("policy.md", 1, "approved")]


async def tasks_of(scene: Scene) -> list[Task]:
    ids = await scene.office.database.read(
        lambda c: c.execute(sa.select(task_table.c.id).order_by(task_table.c.seq)).scalars().all()
    )
    found = [await scene.office.database.read(lambda c, i=i: tasks.get(c, i)) for i in ids]  # type: ignore[misc]
    return [each for each in found if each is not None]


async def test_what_is_said_besides_is_answered_by_the_model(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "Please add this to our knowledge. What may a hotel cost?", (POLICY, "policy.md"))
    await scene.works()
    assert len(scene.office.model.asked) == 1
    assert "180 EUR" in scene.office.prompted(0)
    assert scene.told(BOSS)[0] == "Answer 1."
    assert scene.told(BOSS)[1].startswith("*I have **policy.md** and am reading it")
    assert await scene.statuses() == [("policy.md", 1, "approved")]


async def test_a_file_that_was_sent_before_is_kept_afterwards_by_its_name_or_as_the_last_one(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "What is this?", (POLICY, "policy.md"))
    await scene.sends("m2", BOSS, "And this?", (NEWER, "newer.md"))
    await scene.sends("m3", BOSS, "/keep company policy.md")
    await scene.sends("m4", BOSS, "/keep")
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "approved"), ("newer.md", 1, "approved")]
    await scene.sends("m5", BOSS, "/keep nothing.md")
    assert scene.told(BOSS)[-1] == WHICH


async def test_an_answer_to_a_message_means_the_file_of_that_message_and_no_other(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "What is this?", (POLICY, "policy.md"))
    await scene.sends("m2", BOSS, "And this?", (NEWER, "newer.md"))
    await scene.hear(replace(message("m3", "/keep"), answers="test:m1"))
    await scene.hear(replace(message("m4", "/keep"), answers="test:unheard"))
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "approved")]
    assert WHICH in scene.told(BOSS)


async def test_whom_it_is_for_can_be_said(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "/keep department:Finance", (POLICY, "policy.md"))
    await scene.works()
    (document,) = await scene.kept()
    assert (document.audience, document.status) == ("department:Finance", Status.APPROVED)
    assert "is kept for the department Finance" in scene.told(BOSS)[-1]


async def test_a_message_that_its_writer_deletes_before_it_is_read_is_not_kept(scene: Scene) -> None:
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"))
    await scene.office.hear(delete("d1", "m1"))
    await scene.works()
    assert await scene.statuses() == []
    assert len(scene.told(BOSS)) == 1


async def test_the_same_file_again_is_there_already(scene: Scene) -> None:
    for number in (1, 2):
        await scene.sends(f"m{number}", BOSS, "/keep", (POLICY, "policy.md"))
        await scene.works()
    assert scene.told(BOSS)[-1] == "**policy.md** is there already, word for word (version 1): I answer from it."


async def test_what_a_member_sent_is_kept_by_a_principal_who_asks_for_the_same(scene: Scene) -> None:
    await scene.sends("m1", ADA, "/keep", (POLICY, "policy.md"))
    await scene.works()
    await scene.sends("m2", BOSS, "/keep", (POLICY, "policy.md"))
    await scene.works()
    assert await scene.statuses() == [("policy.md", 1, "approved")]


async def test_mail_of_this_machine_proves_nobody(scene: Scene) -> None:
    local = sender(BOSS, proof=Proof.LOCAL)
    mail = replace(message("m", "yes", by=local), place=Place(PlaceKind.MAIL, "Subject"))
    assert not proven(mail)
    assert proven(message("m", "yes", by=local))
    assert proven(replace(mail, sender=sender(BOSS, proof=Proof.TOKEN)))
    await scene.sends("m1", BOSS, "/keep", (POLICY, "policy.md"), place=mail.place)
    await scene.works()
    await scene.sends("m2", ADA, "/keep", (NEWER, "newer.md"))
    await scene.works()
    await scene.hear(replace(mail, keys=("test:m3",), ref="test:m3"))
    (document, _) = await scene.kept()
    assert scene.told(BOSS)[-1] == NOT_HERE.format(id=document.id)
