"""Approvals: what waits for a word, what exactly would be done, and what became of it. Every form carries the hash of
the content that stands above it, so that nothing else is decided."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal

from starlette.responses import Response
from starlette.routing import Route

from bot.kernel.errors import PermanentError
from bot.kernel.ids import ProposalId
from bot.ledger import showing
from bot.ledger.model import APPROVED, Failure, Proposal, Severity, State, Verdict
from bot.ledger.shelves import Shelf
from bot.orchestrator.clerk import VERDICTS, Clerk, Told, UnknownProposalError
from bot.orchestrator.stories import said
from bot.web.console import diffs
from bot.web.console.site import Answer, Moved, Page, Site
from bot.web.console.visits import Notice, Visit

PAGE = 25
SHELVES = {"": Shelf.MINE, "asked": Shelf.ASKED, "decided": Shelf.DECIDED}
"""By what the address says."""
Tone = Literal["good", "warn", "bad", "info"]
TONES: dict[State, Tone] = {
    State.PROPOSED: "warn",
    State.REJECTED: "bad",
    State.FAILED: "bad",
    State.EXECUTED: "good",
    State.EXECUTING: "info",
    State.APPROVED_UNCHANGED: "info",
    State.APPROVED_WITH_EDIT: "info",
    State.AUTO_APPROVED: "info",
}


def became(of: Proposal) -> str:
    """How it stands, in words."""
    if of.came_back:
        return showing.CAME_BACK
    if of.state is State.FAILED and of.failure is not None:
        return showing.FAILURES[of.failure]
    return showing.OUTCOMES[of.state]


def tone(of: Proposal) -> str:
    return "bad" if of.came_back else TONES.get(of.state, "")


class ApprovalPages:
    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk

    def routes(self, site: Site) -> list[Route]:
        one = "/approvals/{id}"
        return [
            site.page("/approvals", self.listed),
            site.page(one, self.one),
            site.page(f"{one}/difference", self.difference, method="POST"),
            site.page(f"{one}/decision", self.decide, method="POST"),
            site.page(f"{one}/edit", self.edit, method="POST"),
            site.page(f"{one}/withdraw", self.withdraw, method="POST"),
            site.page(f"{one}/resolve", self.resolve, method="POST"),
            site.page(f"{one}/reverse", self.reverse, method="POST"),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, visit: Visit) -> Page:
        wanted = visit.asked("shelf")
        shelf = SHELVES.get(wanted, Shelf.MINE)
        before = visit.asked("before")
        values: dict[str, object] = {
            "became": became,
            "tone": tone,
            "shelf": wanted,
            "others": [],
            "more": None,
            "before": before,
        }
        if shelf is Shelf.MINE:
            values["found"] = await self._clerk.shelf(visit.person, Shelf.MINE)
            values["others"] = await self._clerk.shelf(visit.person, Shelf.OTHERS)
        else:
            found = await self._clerk.shelf(visit.person, shelf, ProposalId(before) if before else None, PAGE + 1)
            values["found"] = found[:PAGE]
            values["more"] = found[PAGE - 1].proposal.id if len(found) > PAGE else None
        return Page("approvals/list.html", values, "rows")

    async def one(self, visit: Visit) -> Answer:
        page, seen = await self._shown(visit), visit.asked("state")
        of = page.values["of"]
        if visit.partial and seen and isinstance(of, Proposal) and of.state.value != seen:
            return Response("", 200, {"HX-Refresh": "true"})  # what can be done about it is another now
        return page

    async def _shown(self, visit: Visit, trouble: str | None = None, status: int = 200) -> Page:
        told, steps = await self._clerk.whole(visit.person, visit.request.path_params["id"])
        of = told.proposal
        mine = visit.person.id in of.approvers
        values = {
            "told": told,
            "of": of,
            "steps": [(each, said(each.event, of)) for each in steps],
            "became": became(of),
            "tone": tone(of),
            "body": showing.marked(told.text),
            "edited": diffs.pieces(showing.revealed(told.proposed), told.body) if of.proposed != of.final else [],
            "hidden": _hides(told),
            "may_decide": told.yours and visit.now < of.expires_at,
            "may_withdraw": (mine or of.asked_by == visit.person.id)
            and (of.state is State.PROPOSED or of.state.value in APPROVED),
            "may_resolve": mine and of.state is State.FAILED and of.failure is Failure.UNCERTAIN,
            "may_reverse": mine and of.state is State.EXECUTED,
            "severities": tuple(Severity),
            "said_yes": any(each.person == visit.person.id and each.verdict is Verdict.APPROVE for each in of.votes),
            "trouble": trouble,
            "why": showing.revealed(of.reason),
            "draft": visit.field("text") or told.text,
            "reason": visit.field("reason"),
        }
        return Page("approvals/one.html", values, "state", status)

    async def difference(self, visit: Visit) -> Page:
        """What an edit would change, while it is being written."""
        told = await self._clerk.one(visit.person, visit.request.path_params["id"])
        found = diffs.pieces(told.body, showing.revealed(visit.field("text")))
        return Page("approvals/difference.html", {"pieces": found}, "pieces")

    # --- deciding --------------------------------------------------------------------------------------------------

    async def decide(self, visit: Visit) -> Answer:
        wanted, handle = visit.field("verdict"), visit.request.path_params["id"]
        if wanted not in ("approve", "reject"):
            return await self._shown(visit, "Say yes or no.", 400)
        verdict = VERDICTS["approve" if wanted == "approve" else "reject"]
        return await self._said(visit, self._clerk.vote(visit.person, handle, visit.field("content"), verdict))

    async def edit(self, visit: Visit) -> Answer:
        handle, text = visit.request.path_params["id"], visit.field("text")
        return await self._said(visit, self._clerk.edit(visit.person, handle, visit.field("content"), text))

    async def withdraw(self, visit: Visit) -> Answer:
        handle = visit.request.path_params["id"]
        return await self._said(visit, self._clerk.withdraw(visit.person, handle), "Withdrawn: it will not be done.")

    async def resolve(self, visit: Visit) -> Answer:
        handle, happened = visit.request.path_params["id"], visit.field("happened")
        if happened not in ("yes", "no"):
            return await self._shown(visit, "Say whether it took effect.", 400)
        work = self._clerk.resolve(visit.person, handle, happened=happened == "yes")
        return await self._said(visit, work, "Noted: it was done." if happened == "yes" else "Noted: it was not done.")

    async def reverse(self, visit: Visit) -> Answer:
        handle, given = visit.request.path_params["id"], visit.field("severity")
        if given not in {each.value for each in Severity}:
            return await self._shown(visit, "Say how bad it was.", 400)

        async def work() -> str:
            refusal = await self._clerk.reverse(visit.person, handle, Severity(given), visit.field("reason"))
            return "Taken back." if refusal is None else f"Noted, but it could not be taken back: {refusal}."

        return await self._said(visit, work())

    async def _said(self, visit: Visit, work: Awaitable[str | None], done: str = "Done.") -> Answer:
        """To the proposal, with what was done; or what it says now, and why nothing was. A second press is told who was
        quicker."""
        try:
            told = await work
        except UnknownProposalError:
            raise
        except PermanentError as error:
            return await self._shown(visit, _sentence(error.message), 409)
        return Moved(f"/approvals/{visit.request.path_params['id']}", Notice(told or done))


def _hides(told: Told) -> bool:
    """Whether something in it would not be seen, or would be read as something else."""
    return told.text != told.body


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
