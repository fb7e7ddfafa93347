"""What is done to memories on their pages: each act in one transaction, told in a line with its undo beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from urllib.parse import quote

from starlette.routing import Route

from bot.kernel.faults import A_DAY
from bot.kernel.ids import ClaimId, MessageId, PersonId
from bot.kernel.values import dataclass
from bot.memory import reverting
from bot.memory.model import Claim, ConflictError, Status, Work
from bot.memory.moves import Move
from bot.memory.reverting import Step
from bot.memory.rights import Act, No
from bot.memory.service import Acting, Done, NotAllowedError, Outcome, UnclearError, UnknownMemoryError
from bot.storage.database import Tx
from bot.web.console.memory_desk import MemoryDesk
from bot.web.console.memory_page import MemoryPage
from bot.web.console.site import Answer, Moved, Site, own_path
from bot.web.console.templating import counted
from bot.web.console.visits import Notice, Undo, Visit

MOST_AT_ONCE = 100
UNDO = "/memories/undo"
SAID = {
    "accept": "It stands.",
    "reject": "It does not stand.",
    "retract": "Taken back.",
    "restore": "It stands again.",
    "promote": "The company sees it from now on.",
    "demote": "The company sees it no more.",
    "dispute": "Marked as disputed.",
    "keep": "Kept: it no longer rests on the message.",
    "correct": "Put right.",
    "plan": "Its plan is changed.",
}
ASKED = "Put before the principals: one of them decides."
DISPUTED = "Somebody else said it: it is marked as disputed, and what they said is kept."
YES, NO = "accept", "reject"
REASONS = {YES: "said yes in the review", NO: "said no in the review"}
"""Of decisions in the review that give none of their own."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A memory as the page showed it."""

    id: ClaimId
    version: int


class MemoryActs:
    def __init__(self, desk: MemoryDesk, page: MemoryPage) -> None:
        self._desk = desk
        self._page = page

    def routes(self, site: Site) -> list[Route]:
        one = "/memories/{id}"
        return [
            site.page(UNDO, self.undo, method="POST"),
            site.page("/memories/bulk", self.bulk, method="POST"),
            site.page("/memories/from/{message}", self.undo_message, method="POST"),
            site.page(f"{one}/do", self.do, method="POST"),
            site.page(f"{one}/correct", self.correct, method="POST"),
            site.page(f"{one}/plan", self.plan, method="POST"),
            site.page(f"{one}/forget", self.forget, method="POST"),
        ]

    # --- one -------------------------------------------------------------------------------------------------------

    async def do(self, visit: Visit) -> Answer:
        name = visit.field("act")
        if name not in SAID or name in ("correct", "plan"):
            raise UnclearError("say what is to be done")
        return await self._one(visit, name, lambda tx, by, of, now: self._use(tx, by, name, of, visit, now))

    async def correct(self, visit: Visit) -> Answer:
        words = visit.field("statement")
        return await self._one(
            visit,
            "correct",
            lambda tx, by, of, now: self._desk.memories.correct(tx, by, of, words, *_why(visit), now, _version(visit)),
        )

    async def plan(self, visit: Visit) -> Answer:
        values = _planned(visit)
        return await self._one(
            visit,
            "plan",
            lambda tx, by, of, now: self._desk.memories.plan(tx, by, of, values, *_why(visit), now, _version(visit)),
        )

    async def forget(self, visit: Visit) -> Answer:
        """There is no undo."""

        def unit(tx: Tx) -> Mapping[str, int]:
            _, of = self._desk.meant(tx.connection, visit)
            done = self._desk.memories.forget(
                tx, self._desk.acting(visit), of.id, self._desk.eraser, *_why(visit), self._desk.clock.now(),
                _version(visit),
            )  # fmt: skip
            if isinstance(done, Done):  # its page offers it to nobody who may not: the rights changed since
                raise NotAllowedError("Only who said it can have it erased, or a principal.")
            return done

        try:
            counts = await self._desk.database.write(unit)
        except ConflictError as error:
            return await self._page.forgetting(visit, 409, f"{_sentence(error.message)} This is how it is now.")
        except UnclearError as error:
            return await self._page.forgetting(visit, 422, _sentence(error.message))
        self._desk.eraser.ring()
        memories, messages = (counts.get(name, 0) for name in ("memories", "messages"))
        what = f"{counted(memories, 'memory', 'memories')}, with the words of {counted(messages, 'message')}"
        gone = "Nobody is shown any of it from now on; its bytes leave the files shortly."
        return Moved("/memories", Notice(f"Forgotten: {what}. {gone}"))

    async def _one(self, visit: Visit, name: str, work: Callable[[Tx, Acting, ClaimId, datetime], Done]) -> Answer:
        """Where it was changed meanwhile, or something is missing, the page is shown as it is now, with what was
        written."""

        def unit(tx: Tx) -> tuple[Done, Step]:
            _, of = self._desk.meant(tx.connection, visit)
            first = reverting.newest(tx.connection) + 1
            done = work(tx, self._desk.acting(visit), of.id, self._desk.clock.now())
            return done, Step(first, reverting.newest(tx.connection))

        try:
            done, step = await self._desk.database.write(unit)
        except ConflictError as error:
            return await self._page.shown(visit, 409, f"{_sentence(error.message)} This is how it is now.")
        except UnclearError as error:
            return await self._page.shown(visit, 422, _sentence(error.message))
        self._desk.eraser.ring()
        to = f"/memories/{(done.beside or done.claim).id}"
        return Moved(to, Notice(_said(name, done.outcome), undo_button(step, f"/memories/{done.claim.id}")))

    def _use(self, tx: Tx, by: Acting, name: str, of: ClaimId, visit: Visit, now: datetime) -> Done:
        use: Callable[..., Done] = getattr(self._desk.memories, name)
        return use(tx, by, of, *_why(visit), now, _version(visit))

    # --- many ------------------------------------------------------------------------------------------------------

    async def bulk(self, visit: Visit) -> Moved:
        """Say yes or no to several, or take them back, with one reason. What was changed meanwhile, or may not be done,
        is left and counted."""
        name, some = visit.field("act"), [chosen(each) for each in visit.fields("memory")]
        if name not in (YES, NO, "retract"):
            raise UnclearError("say what is to be done")
        if not some or len(some) > MOST_AT_ONCE:
            raise UnclearError(f"choose some, {MOST_AT_ONCE} at most")
        back = own_path(visit.field("back") or "/memories")
        text, step = await self.decide(visit, name, some)
        return Moved(back, Notice(text, None if step is None else undo_button(step, back)))

    async def decide(self, visit: Visit, name: str, some: Sequence[Chosen]) -> tuple[str, Step | None]:
        """What was done, in words, and its undo; None if that was nothing."""
        reason = visit.field("reason").strip() or REASONS.get(name, "")
        if not reason:
            raise UnclearError("say why: the reason is kept with each")

        def unit(tx: Tx) -> tuple[list[Outcome], int, Step]:
            by, now, first = self._desk.acting(visit), self._desk.clock.now(), reverting.newest(tx.connection) + 1
            done: list[Outcome] = []
            for each in some:
                use = self._decision(tx, by, name, each)
                if use is not None:
                    done.append(use(tx, by, each.id, reason, now, each.version).outcome)
            return done, len(some) - len(done), Step(first, reverting.newest(tx.connection))

        outcomes, left, step = await self._desk.database.write(unit)
        self._desk.eraser.ring()
        return _counted(name, outcomes, left), step if outcomes else None

    def _decision(self, tx: Tx, by: Acting, name: str, one: Chosen) -> Callable[..., Done] | None:
        """The use case that a yes or a no comes to; None for what is left as it is. One that another in the same choice
        has moved is another by now, too."""
        try:
            seen = self._desk.memories.find(tx.connection, by, one.id)
        except UnknownMemoryError:
            return None
        act = _meant(name, seen)
        verdict = self._desk.memories.verdicts(tx.connection, by, seen).get(act) if act is not None else None
        if act is None or seen.version != one.version or verdict is None or isinstance(verdict, No):
            return None
        memories = self._desk.memories
        if act is Act.RETRACT:
            return memories.retract
        return memories.accept if name == YES else memories.reject

    # --- back ------------------------------------------------------------------------------------------------------

    async def undo(self, visit: Visit) -> Moved:
        step = Step(_number(visit.field("first")), _number(visit.field("last")))
        back = own_path(visit.field("back") or "/memories")

        def unit(tx: Tx) -> list[Claim]:
            by = self._desk.acting(visit)
            return reverting.revert(Move(tx, self._desk.recorder, by.actor, "undone", self._desk.clock.now()), step)

        done = await self._desk.database.write(unit)
        self._desk.eraser.ring()
        return Moved(back, Notice(f"Undone: {counted(len(done), 'memory is', 'memories are')} as before."))

    async def undo_message(self, visit: Visit) -> Answer:
        source = MessageId(visit.request.path_params["message"])

        def unit(tx: Tx) -> tuple[int, int, Step]:
            first = reverting.newest(tx.connection) + 1
            done = self._desk.memories.undo(
                tx, self._desk.acting(visit), source, visit.field("reason"), self._desk.clock.now()
            )
            return len(done.retracted), len(done.marked), Step(first, reverting.newest(tx.connection))

        retracted, marked, step = await self._desk.database.write(unit)
        self._desk.eraser.ring()
        back = f"/memories/from/{quote(source, safe='')}"
        marks = f", {counted(marked, 'other')} marked, for more words carry them" if marked else ""
        text = f"Taken back: {counted(retracted, 'memory', 'memories')}{marks}."
        return Moved(back, Notice(text, undo_button(step, back) if retracted or marked else None))


def undo_button(step: Step, back: str) -> Undo:
    return Undo(UNDO, (("first", str(step.first)), ("last", str(step.last)), ("back", back)))


def _meant(name: str, seen: Claim) -> Act | None:
    """What a yes or a no is to a memory as it stands."""
    wished, waits = seen.promotion_by is not None and seen.standing, seen.status is Status.PENDING
    if name == YES:
        if wished:
            return Act.PROMOTE
        return Act.ACCEPT if waits else Act.SETTLE if seen.status is Status.DISPUTED else None
    if name == NO and wished:
        return Act.DECLINE
    return Act.REJECT if waits else Act.RETRACT


def _said(name: str, outcome: Outcome) -> str:
    match outcome:
        case Outcome.DONE:
            return SAID[name]
        case Outcome.ASKED:
            return ASKED
        case Outcome.DISPUTED:
            return SAID["dispute"] if name == "dispute" else DISPUTED


def _counted(name: str, outcomes: Sequence[Outcome], left: int) -> str:
    words = {YES: "accepted", NO: "rejected", "retract": "retracted"}
    told = [
        f"{count} {what}"
        for outcome, what in (
            (Outcome.DONE, words[name]),
            (Outcome.ASKED, "put before the principals"),
            (Outcome.DISPUTED, "disputed, for others said them"),
        )
        if (count := sum(1 for each in outcomes if each is outcome))
    ]
    if left:
        told.append(f"{left} left: changed meanwhile, or not yours to decide")
    return f"{'; '.join(told)}."


def _why(visit: Visit) -> tuple[str]:
    return (visit.field("reason"),)


def _version(visit: Visit) -> int:
    return _number(visit.field("version"))


def chosen(given: str) -> Chosen:
    """As `ID:VERSION`. Raises `UnclearError`."""
    of, _, version = given.partition(":")
    return Chosen(ClaimId(of), _number(version))


def _number(given: str) -> int:
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise UnclearError("this form cannot be read: load the page again")
    return int(given)


def _planned(visit: Visit) -> Mapping[str, Work | PersonId | date | None]:
    """What the form says of an initiative, whole. Raises `UnclearError`."""
    work, owner, due = (visit.field(name).strip() for name in ("work", "owner", "due"))
    try:
        day = date.fromisoformat(due) if due else None
    except ValueError as error:
        raise UnclearError(f"due: has to be {A_DAY}") from error
    if work not in set(Work):
        raise UnclearError("say how the initiative stands")
    return {"work": Work(work), "owner": PersonId(owner) if owner else None, "due": day}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
