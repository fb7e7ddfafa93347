"""What was taken back, replaced or corrected goes on standing in the history, and the prompt says that it does not
hold: from the telling over the reading to the answer of the offline mode, over its real path."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.llm import offline
from bot.memory.model import Status
from bot.memory.recall import Recall
from tests.extraction.reading import Reader
from tests.intake.events import command
from tests.memory.ranker import Words
from tests.orchestrator.office import Office
from tests.orchestrator.test_lanes import greeted

KROLL = "Our auditor is Kroll."
WHO = "Who is our auditor?"


class Offline(Reader):
    """Everything as the offline mode does it: the answers and the reading."""

    async def gives(self, name: str, arguments: str = "") -> None:
        self.ends.append("answered")
        self.said += 1
        self.office.clock.advance(timedelta(minutes=1))
        await self.office.hear(command(str(self.said), name, arguments, at=self.office.clock.now()))
        await self.office.ended(*self.ends)

    async def answers(self, question: str) -> str:
        await self.says(question)
        return offline.answer(self.office.model.asked[-1])

    def no_longer(self) -> list[str]:
        """The lines of the last prompt on what does not hold."""
        text = self.office.prompted()
        if "<no_longer_true" not in text:
            return []
        inner = text.partition("<no_longer_true")[2].partition("</no_longer_true>")[0]
        return inner.splitlines()[1:]

    async def handle(self, statement: str) -> str:
        (found,) = [each for each in await self.claims() if each.statement == statement]
        return found.handle


@pytest.fixture
async def talk(office: Office) -> Offline:
    await office.close()
    office.recall = Recall(office.database, Words(office.database), 1_200)
    office.model.provider = "offline"
    talk = Offline(office)
    await talk.open()
    office.model.answer = offline.answer
    await greeted(office, "1", "2", "3", "4")
    return talk


async def test_what_holds_is_told_and_nothing_is_said_to_be_untrue(talk: Offline) -> None:
    await talk.hears(KROLL)
    assert "Kroll" in await talk.answers(WHO)
    assert talk.no_longer() == []


async def test_what_was_retracted_is_told_by_no_reader_though_the_history_has_it(talk: Offline) -> None:
    await talk.hears(KROLL)
    handle = await talk.handle(KROLL)
    await talk.gives("retract", f"{handle} because wrong")
    said = await talk.answers(WHO)
    assert KROLL in talk.office.prompted()
    (line,) = talk.no_longer()
    assert f"“{KROLL}” (taken back " in line
    assert said == offline.NOTHING

    # Restored, it holds again.
    await talk.gives("restore", f"{handle} because it was right")
    assert "Kroll" in await talk.answers(WHO)
    assert talk.no_longer() == []


async def test_what_is_said_anew_after_it_was_taken_back_is_told(talk: Offline) -> None:
    await talk.hears(KROLL)
    await talk.gives("retract", f"{await talk.handle(KROLL)} because wrong")
    await talk.says(f"I was right before. {KROLL}")
    assert "Kroll" in await talk.answers(WHO)


async def test_what_a_person_corrected_is_not_told_in_its_old_words(talk: Offline) -> None:
    await talk.hears(KROLL)
    handle = await talk.handle(KROLL)
    await talk.gives("correct", f"{handle} Our auditor is Mazars.")
    said = await talk.answers(WHO)
    assert "Mazars" in said
    assert "Kroll" not in said
    (line,) = talk.no_longer()
    assert "(corrected " in line
    assert f"see {handle}" in line


async def test_what_was_superseded_is_not_told_as_current(talk: Offline) -> None:
    await talk.hears("We decided to launch Atlas on 14 March.")
    await talk.hears("Change of plan: Atlas launches on 2 April.")
    assert [each.statement for each in await talk.claims(Status.SUPERSEDED)] == [
        "We decided to launch Atlas on 14 March."
    ]
    said = await talk.answers("When does Atlas launch?")
    assert "2 April" in said
    assert "14 March" not in said
    (line,) = talk.no_longer()
    assert "(replaced " in line


async def test_after_new_neither_the_words_nor_their_end_stand_in_the_prompt(talk: Offline) -> None:
    await talk.hears(KROLL)
    await talk.gives("retract", f"{await talk.handle(KROLL)} because wrong")
    await talk.gives("new")
    await talk.answers(WHO)
    assert "Kroll" not in talk.office.prompted()


@pytest.mark.parametrize(
    ("told", "then", "question", "new", "old"),
    [
        ("Our hotline is 111.", "No, our hotline is 222.", "What is our hotline?", "222", "111"),
        (
            "Our warehouse is in Kiel.",
            "Correction: our warehouse is in Lübeck.",
            "Where is our warehouse?",
            "Lü",
            "Kiel",
        ),
        ("Our ticket price is 10 euros.", "Actually, it is 12 euros.", "What is our ticket price?", "12", "10 euros"),
        ("Our COO is Peter.", "Our COO is no longer Peter, it is Petra.", "Who is our COO?", "Petra", "COO is Peter"),
    ],
)
async def test_a_correction_in_plain_words_holds_before_it_is_read(
    talk: Offline, told: str, then: str, question: str, new: str, old: str
) -> None:
    await talk.hears(told)
    assert await talk.told() == [told]
    await talk.worker.drain(timedelta())
    await talk.says(then)
    assert await talk.told() == [told]
    said = await talk.answers(question)
    assert f"fact, active] {told}" in talk.office.prompted()
    assert new in said
    assert old not in said
