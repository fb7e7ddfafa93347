"""The tools that look into what the company knows. Who reads comes from the turn, never from the arguments; a
specialist looks into its own domains, and into what belongs to none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from bot.gateway.text_links import addresses
from bot.knowledge import quoting
from bot.knowledge import tools as knowledge
from bot.knowledge.model import SectionText, Stub
from bot.knowledge.search import Search
from bot.orchestrator.tools import Asker, Outcome, Source, Tool


class Looking(BaseModel):
    query: str = Field(
        description="what is asked, in a sentence or a few words, in the words that a document would use",
        min_length=1,
        max_length=knowledge.LONGEST_QUERY,
    )
    limit: int = Field(6, ge=1, le=knowledge.MOST_STUBS, description="passages at most")


class LookingAnywhere(Looking):
    domain: str | None = Field(
        None,
        description="only this domain: strategy, finance, people, legal, operations, marketing, product, board",
        max_length=80,
    )
    department: str | None = Field(None, description="only what concerns this department", max_length=80)


class Reading(BaseModel):
    sections: list[str] = Field(
        description="ids of sections, as a search gives them", min_length=1, max_length=knowledge.MOST_SECTIONS
    )


SEARCH = (
    "Find passages in the company's documents and in built-in notes on management. Gives short excerpts with the ids "
    "of their sections; read the section before you rely on one."
)
READ = "The full text of sections that a search named."


def tools(search: Search) -> list[Tool[Any]]:
    """Those of the orchestrator."""

    async def search_knowledge(asker: Asker, arguments: LookingAnywhere) -> Outcome:
        return _outcome(
            await knowledge.search_knowledge(
                search, asker.scope, arguments.query, arguments.domain, arguments.department, arguments.limit
            )
        )

    return [Tool("search_knowledge", SEARCH, LookingAnywhere, search_knowledge), _read_section(search)]


def within(search: Search, domains: Sequence[str]) -> list[Tool[Any]]:
    """Those of a specialist: none without domains."""
    if not domains:
        return []

    async def search_knowledge(asker: Asker, arguments: Looking) -> Outcome:
        each = await asyncio.gather(
            *(
                knowledge.search_knowledge(search, asker.scope, arguments.query, domain, None, arguments.limit)
                for domain in domains
            )
        )
        return each_in_turn([_outcome(answer) for answer in each])

    return [Tool("search_knowledge", SEARCH, Looking, search_knowledge), _read_section(search)]


def each_in_turn(outcomes: Sequence[Outcome]) -> Outcome:
    """Several outcomes as one."""
    if len(outcomes) == 1:
        return outcomes[0]
    return Outcome(
        "\n".join(dict.fromkeys(outcome.text for outcome in outcomes)),
        untrusted=any(outcome.untrusted for outcome in outcomes),
        sources=tuple(dict.fromkeys(source for outcome in outcomes for source in outcome.sources)),
        records=tuple(record for outcome in outcomes for record in outcome.records),
        links=frozenset[str]().union(*(outcome.links or () for outcome in outcomes)),
    )


def _read_section(search: Search) -> Tool[Any]:
    async def read_section(asker: Asker, arguments: Reading) -> Outcome:
        return _outcome(await knowledge.read_section(search, asker.scope, arguments.sections))

    return Tool("read_section", READ, Reading, read_section)


def _outcome(answer: knowledge.Answer) -> Outcome:
    read = [passage for passage in answer.passages if isinstance(passage, SectionText)]
    return Outcome(
        answer.text,
        untrusted=any(not passage.built_in for passage in answer.passages),
        sources=tuple(_source(passage) for passage in answer.passages),
        records=(answer.audit,),
        links=frozenset[str]().union(*(addresses(passage.text) for passage in read)),
    )


def _source(passage: Stub | SectionText) -> Source:
    (label,) = quoting.source_list([passage])
    return Source(label, label, read=isinstance(passage, SectionText))
