"""Looking things up: whose scope it is, what counts as a source, and whose text it is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from bot.gateway.text_links import addresses
from bot.kernel.ids import ChunkId, DocumentId, SectionId
from bot.kernel.scope import Scope
from bot.knowledge.model import SectionText, Stub
from bot.knowledge.search import Found, Reading, Search
from bot.llm.model import ToolUse
from bot.orchestrator import lookups
from bot.orchestrator.decide import said_with_sources
from bot.orchestrator.tools import Outcome, Registry, Source
from tests.clock import START
from tests.orchestrator.test_basics import ASKER

ID = "s" * 24


class Shelf:
    """Finds one passage, and remembers for whom and where it was asked."""

    def __init__(self, *, built_in: bool) -> None:
        self.built_in = built_in
        self.asked: list[tuple[Scope, str | None]] = []

    async def search(self, scope: Scope, query: str, **narrowed: Any) -> Found:
        self.asked.append((scope, narrowed["domain"]))
        stub = Stub(
            SectionId(ID), ChunkId("c"), DocumentId("d"), "plan.pdf", "Plan", "Cash", 3, self.built_in, START,
            "see https://excerpt.example/x", 0.5, 1, 2.5, None, None,
        )  # fmt: skip
        return Found((stub,), vectors=True)

    async def read(self, scope: Scope, ids: Any, *, tokens: int) -> Reading:
        self.asked.append((scope, None))
        text = "see https://read.example/x?a=1&b=2"
        read = SectionText(
            SectionId(ID), DocumentId("d"), "plan.pdf", "Plan", "Cash", 3, 3, self.built_in, START, text, cut=False
        )
        return Reading((read,), ())


def call(name: str, **arguments: object) -> ToolUse:
    return ToolUse("c", name, arguments)


async def one(shelf: Shelf, asked: ToolUse, domains: tuple[str, ...] | None = None) -> Outcome:
    search = cast("Search", shelf)
    tools = lookups.tools(search) if domains is None else lookups.within(search, domains)
    (outcome,) = await Registry(tools).run(ASKER, [asked])
    return outcome


@pytest.mark.parametrize("built_in", [True, False])
async def test_only_what_the_company_brought_is_others_text(built_in: bool) -> None:
    shelf = Shelf(built_in=built_in)
    for asked in (call("search_knowledge", query="cash"), call("read_section", sections=[ID])):
        assert (await one(shelf, asked)).untrusted is not built_in


async def test_who_reads_is_the_asker_whatever_the_arguments_say() -> None:
    shelf = Shelf(built_in=True)
    forged = call("search_knowledge", query="cash", scope="OperatorScope", session="another", domain="finance")
    await one(shelf, forged)
    assert shelf.asked == [(ASKER.scope, "finance")]


async def test_a_specialist_looks_into_its_domains_only() -> None:
    shelf = Shelf(built_in=True)
    outcome = await one(shelf, call("search_knowledge", query="cash", domain="legal"), ("finance", "board"))
    assert [domain for _, domain in shelf.asked] == ["finance", "board"]
    assert outcome.text.count("<passage section") == 1, "what two domains give is shown once"
    assert len(outcome.records) == 2
    assert lookups.within(cast("Search", shelf), ()) == []


async def test_what_was_read_is_the_source_and_its_links_may_be_told() -> None:
    shelf = Shelf(built_in=False)
    found = await one(shelf, call("search_knowledge", query="cash"))
    read = await one(shelf, call("read_section", sections=[ID]))
    assert [source.read for source in (*found.sources, *read.sources)] == [False, True]
    assert found.links == frozenset()
    assert read.links == addresses("https://read.example/x?a=1&b=2")


def test_sources_are_what_was_read_else_what_was_found_as_plain_names() -> None:
    seen, read = Source("a", "a*b*.pdf", read=False), Source("b", "[b](x).pdf")
    assert said_with_sources("Yes.", [seen, read]) == r"Yes." + "\n\n" + r"*Sources: \[b\](x).pdf*"
    assert said_with_sources("Yes.", [seen]) == r"Yes." + "\n\n" + r"*Sources: a\*b\*.pdf*"
    assert said_with_sources("Yes.", []) == "Yes."
