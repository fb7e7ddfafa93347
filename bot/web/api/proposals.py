"""Proposals over the API: what waits for a person, and their word on it. Each word names the content that it is about:
its `content` as it was read, so that nothing else is approved."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, Field

from bot.kernel.values import dataclass
from bot.ledger.acting.payload import LONGEST_TEXT
from bot.ledger.model import Failure, Mode, Severity, State
from bot.ledger.reliability import Rate
from bot.orchestrator.clerk import VERDICTS, Clerk, Told
from bot.web.api.model import Model
from bot.web.api.routing import Call, Operation

M = TypeVar("M", bound=Model)


class ProposalQuery(Model):
    state: tuple[State, ...] = ()
    limit: int = Field(50, ge=1, le=200)


class Decision(Model):
    verdict: Literal["approve", "reject"]
    content: str = Field(min_length=6, max_length=64, description="`content` of what was read, six digits at least")


class ProposalEdit(Model):
    text: str = Field(min_length=1, max_length=LONGEST_TEXT, description="the whole new text; it is approved with it")
    content: str = Field(min_length=6, max_length=64, description="`content` of what was read")


class Nothing(Model):
    """No fields."""


class Resolution(Model):
    happened: bool = Field(description="whether it took effect, after somebody looked")


class Reversal(Model):
    severity: Severity
    reason: str = Field(min_length=1, max_length=500)


class Labelled(Model):
    label: str
    value: str


class Proposal(Model):
    id: str
    action: str
    state: State
    what: str
    fields: tuple[Labelled, ...]
    text: str
    """Hidden characters are shown by their names."""
    changed: str
    reason: str
    memories: tuple[str, ...]
    hidden_memories: int
    asked_by: str | None
    approvers: tuple[str, ...]
    decided_by: str | None
    yours: bool
    two_persons: bool
    tainted: bool
    failure: Failure | None
    came_back: bool
    """It was sent, and did not arrive."""
    severity: Severity | None
    content: str
    made_at: AwareDatetime
    expires_at: AwareDatetime
    decided_at: AwareDatetime | None


class ProposalPage(Model):
    proposals: tuple[Proposal, ...]


class Said(Model):
    message: str
    proposal: Proposal


class Share(Model):
    count: int
    of: int
    low: float
    high: float


class ReliabilityCard(Model):
    action: str
    mode: Mode
    recommended: str | None
    """Why it could act by itself; null: nothing speaks for it."""
    unchanged: Share
    edited: Share
    rejected: Share
    no_response: Share
    reversed: Share
    failed: Share
    undelivered: Share
    """Executed, and what was sent came back."""
    automatic: int


@dataclass(frozen=True, slots=True)
class Proposals:
    clerk: Clerk

    def operations(self) -> list[Operation]:
        one = "/proposals/{id}"
        return [
            Operation(
                "GET", "/proposals", "listProposals", "What this person may see, the newest first", self.listed,
                ProposalPage, query=ProposalQuery,
            ),
            Operation("GET", one, "getProposal", "One, whole", self.one, Proposal),
            Operation("POST", f"{one}/decision", "decideProposal", "Say yes or no to it", self.decide, Said,
                      body=Decision),
            Operation("POST", f"{one}/edit", "editProposal", "Have it done with another text", self.edit, Said,
                      body=ProposalEdit),
            Operation("POST", f"{one}/withdraw", "withdrawProposal", "It is no longer wanted", self.withdraw, Proposal,
                      body=Nothing),
            Operation("POST", f"{one}/resolution", "resolveProposal", "Say what became of an uncertain one",
                      self.resolve, Proposal, body=Resolution),
            Operation("POST", f"{one}/reversal", "reverseProposal", "Take it back", self.reverse, Said, body=Reversal),
            Operation("GET", "/action-classes/{id}", "getReliability", "How reliable a class was", self.card,
                      ReliabilityCard),
        ]  # fmt: skip

    async def listed(self, call: Call) -> ProposalPage:
        wanted = _of(call.query, ProposalQuery)
        found = await self.clerk.listed(call.person, wanted.state, wanted.limit)
        return ProposalPage(proposals=tuple(_told(each) for each in found))

    async def one(self, call: Call) -> Proposal:
        return _told(await self.clerk.one(call.person, call.path["id"]))

    async def decide(self, call: Call) -> Said:
        wanted = _of(call.body, Decision)
        told = await self.clerk.vote(call.person, call.path["id"], wanted.content, VERDICTS[wanted.verdict])
        return Said(message=told, proposal=await self.one(call))

    async def edit(self, call: Call) -> Said:
        wanted = _of(call.body, ProposalEdit)
        told = await self.clerk.edit(call.person, call.path["id"], wanted.content, wanted.text)
        return Said(message=told, proposal=await self.one(call))

    async def withdraw(self, call: Call) -> Proposal:
        await self.clerk.withdraw(call.person, call.path["id"])
        return await self.one(call)

    async def resolve(self, call: Call) -> Proposal:
        await self.clerk.resolve(call.person, call.path["id"], happened=_of(call.body, Resolution).happened)
        return await self.one(call)

    async def reverse(self, call: Call) -> Said:
        wanted = _of(call.body, Reversal)
        refusal = await self.clerk.reverse(call.person, call.path["id"], wanted.severity, wanted.reason)
        said = "Taken back." if refusal is None else f"It could not be taken back: {refusal}."
        return Said(message=said, proposal=await self.one(call))

    async def card(self, call: Call) -> ReliabilityCard:
        found = await self.clerk.card(call.person, call.path["id"])
        card = found.card
        return ReliabilityCard(
            action=card.action,
            mode=found.treated.mode,
            recommended=found.recommended,
            unchanged=_share(card.unchanged),
            edited=_share(card.edited),
            rejected=_share(card.rejected),
            no_response=_share(card.no_response),
            reversed=_share(card.reversed),
            failed=_share(card.failed),
            undelivered=_share(card.undelivered),
            automatic=card.automatic,
        )


def _share(rate: Rate) -> Share:
    low, high = rate.interval
    return Share(count=rate.count, of=rate.of, low=low, high=high)


def _told(one: Told) -> Proposal:
    of = one.proposal
    return Proposal(
        id=of.id,
        action=of.action,
        state=of.state,
        what=one.what,
        fields=tuple(Labelled(label=label, value=value) for label, value in one.fields),
        text=one.body,
        changed=one.changed,
        reason=of.reason,
        memories=one.memories,
        hidden_memories=one.hidden,
        asked_by=one.asked_by,
        approvers=one.approvers,
        decided_by=one.decided_by,
        yours=one.yours,
        two_persons=of.two_persons,
        tainted=of.tainted,
        failure=of.failure,
        came_back=of.came_back,
        severity=of.severity,
        content=of.hash,
        made_at=of.made_at,
        expires_at=of.expires_at,
        decided_at=of.decided_at,
    )


def _of(given: BaseModel | None, kind: type[M]) -> M:
    """The route has made it of this kind."""
    if not isinstance(given, kind):
        raise TypeError(f"{kind.__name__} was expected")
    return given
