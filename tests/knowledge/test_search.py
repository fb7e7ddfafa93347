"""What a reader finds and may read: decided in SQL, by full text and by meaning alike."""

from __future__ import annotations

import asyncio

import pytest

from bot.audit.events import SYSTEM
from bot.kernel.ids import SectionId, SessionId
from bot.kernel.scope import DepartmentScope, PersonScope, Scope, SessionScope
from bot.knowledge.model import Document
from bot.knowledge.search import snippet
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.audience import Audience
from tests.knowledge.desk import ANNA, FIN, GUS, MEL, OPERATOR, Desk, note

ALL = {"public.md", "company.md", "finance.md"}


async def shelf(desk: Desk) -> dict[str, Document]:
    """The same words for three audiences."""
    return {
        name: await desk.bring(f"# {name}\n\nzebra stripes of {name}\n".encode(), f"{name}.md", audience=audience)
        for name, audience in (("public", "public"), ("company", "company"), ("finance", "department:finance"))
    }


@pytest.mark.parametrize("meaning", [False, True], ids=["by words", "by both"])
@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        (OPERATOR, ALL),
        (PersonScope(ANNA.id), {"public.md", "company.md"}),
        (PersonScope(FIN.id), ALL),
        (PersonScope(GUS.id), {"public.md"}),
        (DepartmentScope("finance"), ALL),
        (DepartmentScope("sales"), {"public.md", "company.md"}),
        (SessionScope(SessionId("unheard of")), {"public.md"}),
    ],
    ids=str,
)
async def test_a_reader_finds_what_their_scope_shows(desk: Desk, scope: Scope, seen: set[str], meaning: bool) -> None:
    await shelf(desk)
    if meaning:
        await desk.work()
    answer = await desk.search.search(scope, "zebra stripes", limit=12)
    assert {stub.name for stub in answer.stubs} == seen
    assert answer.vectors is meaning


@pytest.mark.parametrize(
    ("audience", "present", "seen"),
    [
        (Audience.EXTERNAL, [ANNA, FIN], {"public.md"}),
        (Audience.PERSON, [FIN], ALL),
        (Audience.PERSON, [MEL], {"public.md", "company.md"}),
        (Audience.ROOM, [FIN, MEL], {"public.md", "company.md"}),  # who sits beside reads along
        (Audience.COMPANY, [FIN, MEL, ANNA], {"public.md", "company.md"}),
        (Audience.ROOM, [FIN], ALL),
        (Audience.ROOM, [FIN, GUS], {"public.md"}),
        (Audience.COMPANY, [], {"public.md", "company.md"}),
    ],
)
async def test_a_room_sees_what_everyone_in_it_may_see(
    desk: Desk, audience: Audience, present: list[Person], seen: set[str]
) -> None:
    await shelf(desk)
    await desk.work()
    scope = await desk.room("telegram:1", audience, *present)
    assert set(await desk.found("zebra stripes", scope)) == seen


async def test_a_person_who_leaves_the_company_sees_the_public_part_only(desk: Desk) -> None:
    await shelf(desk)
    await desk.database.write(lambda tx: people.deactivate(tx, desk.recorder, FIN.id, SYSTEM, desk.clock.now()))
    assert set(await desk.found("zebra stripes", PersonScope(FIN.id))) == {"public.md"}


async def test_two_scopes_that_search_at_once_do_not_mix(desk: Desk) -> None:
    await shelf(desk)
    await desk.work()
    inside, outside = await desk.room("t:1", Audience.PERSON, FIN), await desk.room("t:2", Audience.EXTERNAL, FIN)
    answers = await asyncio.gather(*(desk.found("zebra stripes", scope) for scope in (inside, outside) * 20))
    assert all(set(answer) == ALL for answer in answers[::2])
    assert all(set(answer) == {"public.md"} for answer in answers[1::2])


async def test_a_section_is_read_by_who_may_see_it_and_withheld_from_others(desk: Desk) -> None:
    await shelf(desk)
    (stub,) = (await desk.search.search(DepartmentScope("finance"), "zebra finance", limit=1)).stubs
    assert stub.name == "finance.md"
    read = await desk.search.read(PersonScope(FIN.id), [stub.section], tokens=100)
    assert [section.text for section in read.sections] == ["zebra stripes of finance"]
    for scope in (PersonScope(MEL.id), PersonScope(GUS.id), SessionScope(SessionId("x"))):
        refused = await desk.search.read(scope, [stub.section, SectionId("nothing there")], tokens=100)
        assert refused.sections == ()
        assert refused.withheld == (stub.section, SectionId("nothing there")), "one looks like the other"


@pytest.mark.parametrize("how", ["taken back", "removed", "replaced"])
async def test_what_is_withdrawn_is_withheld_by_search_and_by_reading(desk: Desk, how: str) -> None:
    document = await desk.bring(b"# Old\n\nzebra stripes\n", "old.md")
    await desk.work()
    await desk.index.warm()
    (stub,) = (await desk.search.search(OPERATOR, "zebra stripes")).stubs
    assert stub.vector_rank == 1
    assert stub.text_rank == 1
    if how == "taken back":
        await desk.library.reject(document.id, None)
    elif how == "removed":
        await desk.library.remove(document.id, None)
    else:
        await desk.bring(b"# New\n\ngiraffe necks\n", "old.md", says_yes=True)
    # The vector may still be there until the index is brought up; what it finds is not shown.
    near = await desk.index.nearest("zebra stripes", ("company",), 5)
    assert [each.item for each in near or ()] == [stub.chunk]
    assert await desk.found("zebra stripes") in ([], ["old.md"] if how == "replaced" else [])
    answer = await desk.search.search(OPERATOR, "zebra stripes")
    assert stub.chunk not in {each.chunk for each in answer.stubs}
    assert (await desk.search.read(OPERATOR, [stub.section], tokens=50)).withheld == (stub.section,)
    await desk.work()
    answer = await desk.search.search(OPERATOR, "zebra stripes")
    assert stub.chunk not in {each.chunk for each in answer.stubs}


async def test_both_rankings_are_told_with_their_scores(desk: Desk) -> None:
    await desk.bring(b"# Runway\n\ncash lasts nine months\n", "runway.md")
    await desk.bring(b"# Hiring\n\ninterview four people\n", "hiring.md")
    await desk.work()
    first, *_ = (await desk.search.search(OPERATOR, "cash months")).stubs
    assert (first.name, first.text_rank, first.vector_rank) == ("runway.md", 1, 1)
    assert first.similarity is not None
    assert 0 < first.similarity <= 1.001
    assert (first.heading, first.title) == ("Runway", "Runway")


async def test_domain_and_department_narrow_the_search_but_not_what_has_none(desk: Desk) -> None:
    note(desk.folder, "finance/cash", "zebra money", departments="finance, leadership")
    note(desk.folder, "people/hiring", "zebra people", departments="people")
    await desk.built_in.load()
    await desk.bring(b"zebra of nobody", "general.txt")
    await desk.bring(b"zebra of product", "product.txt", domain="product", departments=("engineering",))
    for _ in range(2):  # by words, then by both
        assert set(await desk.found("zebra")) == {"finance/cash", "people/hiring", "general.txt", "product.txt"}
        assert set(await desk.found("zebra", domain="finance")) == {"finance/cash", "general.txt"}
        assert set(await desk.found("zebra", department="people")) == {"people/hiring", "general.txt"}
        assert set(await desk.found("zebra", domain="product", department="engineering")) == {
            "general.txt", "product.txt",
        }  # fmt: skip
        await desk.work()


async def test_one_long_document_does_not_push_out_the_others(desk: Desk) -> None:
    text = "\n\n".join(f"# Zebra {n}\n\nzebra zebra zebra {n}" for n in range(20))
    await desk.bring(text.encode(), "long.md")
    await desk.bring(b"a zebra among many other words that say something else", "short.txt")
    names = [stub.name for stub in (await desk.search.search(OPERATOR, "zebra", limit=6)).stubs]
    assert names.count("long.md") == 3
    assert "short.txt" in names


@pytest.mark.parametrize("query", ["", "   ", "?", "the of and", "'; DROP TABLE chunk; --", "\x00", "🙂", "x" * 5_000])
async def test_any_question_has_an_answer(desk: Desk, query: str) -> None:
    await desk.bring(b"zebra stripes", "z.txt")
    await desk.search.search(OPERATOR, query)
    await desk.work()
    await desk.search.search(OPERATOR, query)
    assert await desk.found("zebra") == ["z.txt"]


async def test_reading_stops_at_the_cap_and_says_so(desk: Desk) -> None:
    await desk.bring(("# One\n\n" + "zebra " * 200 + "\n\n# Two\n\n" + "zebra " * 200).encode(), "long.md")
    stubs = (await desk.search.search(OPERATOR, "zebra")).stubs
    reading = await desk.search.read(OPERATOR, [stub.section for stub in stubs], tokens=400)
    assert [section.cut for section in reading.sections] == [False, True]
    assert sum(len(section.text) for section in reading.sections) <= 1_600


def test_a_snippet_shows_where_the_words_stand() -> None:
    text = "nothing here " * 60 + "the zebra crosses the street " + "nothing there " * 60
    shown = snippet(text, ["zebra", "street"], 80)
    assert "zebra crosses the street" in shown
    assert len(shown) <= 84
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert snippet("short", ["x"]) == "short"
