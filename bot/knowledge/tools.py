"""What the model may call to look things up. Nothing here changes anything; the scope is the caller's, never the
model's. Each answer brings the payload that the caller audits in the transaction that ends the turn."""

from __future__ import annotations

from collections.abc import Sequence

from bot.audit.events import KnowledgeRetrieved
from bot.kernel.ids import SectionId
from bot.kernel.scope import Scope
from bot.kernel.values import dataclass
from bot.knowledge import quoting
from bot.knowledge.model import SectionText, Stub
from bot.knowledge.search import Search

MOST_STUBS = 12
MOST_SECTIONS = 8
READ_TOKENS = 4_000
"""Of one call of `read_section`."""
LONGEST_QUERY = 500
_ID = 24
_MILLION, _THOUSAND = 1_000_000, 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    """For the model."""
    audit: KnowledgeRetrieved
    sources: tuple[str, ...]
    """For the person, each once."""
    passages: tuple[Stub | SectionText, ...]
    """The same as values, for an adapter that writes answers by rules."""


async def search_knowledge(
    search: Search,
    scope: Scope,
    query: str,
    domain: str | None = None,
    department: str | None = None,
    limit: int = 6,
) -> Answer:
    """Stubs of the sections that fit a question best, from the built-in notes and the company's documents."""
    found = await search.search(
        scope,
        query[:LONGEST_QUERY],
        domain=domain or None,
        department=department or None,
        limit=max(1, min(limit, MOST_STUBS)),
    )
    audit = KnowledgeRetrieved(
        "search",
        tuple(stub.section for stub in found.stubs),
        tuple(stub.chunk for stub in found.stubs),
        tuple(round(stub.score * _MILLION) for stub in found.stubs),
        tuple(None if stub.similarity is None else round(stub.similarity * _THOUSAND) for stub in found.stubs),
        found.vectors,
        0,
    )
    text = f"{quoting.NOTE}\n{quoting.stubs(found.stubs)}" if found.stubs else "Nothing was found."
    return Answer(text, audit, quoting.source_list(found.stubs), found.stubs)


async def read_section(search: Search, scope: Scope, ids: Sequence[str], tokens: int = READ_TOKENS) -> Answer:
    """The text of sections that a search named, together at most `tokens`."""
    wanted = [SectionId(each) for each in dict.fromkeys(ids) if len(each) == _ID and each.isalnum()][:MOST_SECTIONS]
    reading = await search.read(scope, wanted, tokens=max(1, min(tokens, READ_TOKENS)))
    missing = len(dict.fromkeys(ids)) - len(reading.sections)
    audit = KnowledgeRetrieved(
        "read", tuple(each.section for each in reading.sections), (), (), (), vectors=False, withheld=missing
    )
    parts = []
    if reading.sections:
        parts += [quoting.NOTE, quoting.sections(reading.sections)]
    if missing:
        parts.append(f"{missing} of the sections asked for cannot be shown: they are not there, or not any more.")
    return Answer("\n".join(parts), audit, quoting.source_list(reading.sections), reading.sections)
