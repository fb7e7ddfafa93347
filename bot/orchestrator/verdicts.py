"""What approvers say: by a press, a form, a mail, a command. Each is bound to what they were shown, counts only from
the account of the approver as its platform vouches for it, and is refused politely, with an audit row, from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.gateway.channel import Channel
from bot.gateway.events import ButtonPressed, FormSubmitted, MessageReceived, PlaceKind, Sender
from bot.gateway.forms import LONGEST_LABEL, Field, Form
from bot.intake import store as inbox
from bot.intake.tables import InState
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId, ProposalId
from bot.kernel.values import dataclass
from bot.ledger import asks, showing, store
from bot.ledger.asks import Ask
from bot.ledger.deciding import RefusedError
from bot.ledger.model import ConflictError, Proposal, State, Verdict
from bot.ledger.sealing import PREFIX, Sealer
from bot.ledger.service import Ledger
from bot.memory import rights
from bot.memory.rights import Door
from bot.orchestrator import asks as words
from bot.orchestrator.keeping import Told
from bot.people import store as people
from bot.people.model import Person
from bot.storage.database import Database, Tx

NO_LONGER = "This button is no longer in use."
NOT_YOURS = "This is not yours to decide."
NOT_PROVEN = (
    "I cannot be sure enough that it is you: answer from a chat, in the terminal, or with "
    "`openexecutive ledger approve {id}` on the machine that I live on."
)
UNCLEAR = (
    "I did not understand that as a decision, and nothing was decided. Answer with `yes` or `no` alone on the first "
    "line, or with `edit` on the first line and the whole new text below it."
)
AGAIN = "I have the new text. It comes to you in a mail of its own: answer that one with `yes` to have it sent."
_EDIT = re.compile(r"\s*(?:edit|change|ändern)\s*[:.]?\s*\n(?P<text>.+)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class By:
    """Who speaks, and how surely it is them."""

    person: Person | None
    sender: Sender
    kind: PlaceKind
    channel: str

    @property
    def proven(self) -> bool:
        return rights.door(self.sender.proof, self.kind) is Door.FULL

    @property
    def actor(self) -> Actor:
        return Actor("person", self.person.id) if self.person else Actor("stranger", self.channel)


class Verdicts:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        ledger: Ledger,
        channels: Mapping[str, Channel],
        changed: Callable[[], None],
        sealer: Sealer,
    ) -> None:
        """`changed` is called once something was decided and committed. `sealer`: of buttons and forms."""
        self._database = database
        self._clock = clock
        self._ledger = ledger
        self._channels = channels
        self._changed = changed
        self._sealer = sealer

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def ring(self) -> None:
        self._changed()

    # --- buttons and forms -----------------------------------------------------------------------------------------

    async def pressed(self, row: inbox.Row, event: ButtonPressed) -> str | Form:
        """Returns what the presser is answered at once."""
        code, token = self._opened(event.token)
        fields = getattr(self._channels.get(row.channel), "form_fields", 0)

        def unit(tx: Tx) -> str | Form:
            by, ask, refusal = self._who(tx, row, event.sender, event.place.kind, token)
            if ask is None or refusal is not None:
                return refusal or NO_LONGER
            if code == "e":
                return self._form(tx, row, ask, token, fields)
            if code not in ("a", "r"):
                inbox.end(tx, row.id, InState.REFUSED, self._clock.now(), "no such button")
                return NO_LONGER
            return self._voted(tx, row, ask, by, Verdict.APPROVE if code == "a" else Verdict.REJECT)

        told = await self._database.write(unit)
        self._changed()
        return told

    async def submitted(self, row: inbox.Row, event: FormSubmitted) -> str:
        """The edited text, which is approved with it."""
        _, token = self._opened(event.token)
        text = dict(event.values).get("text", "")

        def unit(tx: Tx) -> str:
            by, ask, refusal = self._who(tx, row, event.sender, event.place.kind, token)
            if ask is None or refusal is not None or by.person is None:
                return refusal or NO_LONGER
            told, state = self.edit(tx, ask.proposal, by, text, ask.hash, approve=True)
            inbox.end(tx, row.id, state, self._clock.now(), "ledger")
            asks.use(tx, ask.id, self._clock.now())
            return told

        told = await self._database.write(unit)
        self._changed()
        return told

    def _who(
        self, tx: Tx, row: inbox.Row, sender: Sender, kind: PlaceKind, token: str
    ) -> tuple[By, Ask | None, str | None]:
        """Who presses, what they were shown by this button, and why it is not theirs to use."""
        person = people.get(tx.connection, row.person) if row.person else None
        by = By(person, sender, kind, row.channel)
        ask = asks.by_token(tx.connection, token)
        if ask is None:
            inbox.end(tx, row.id, InState.REFUSED, self._clock.now(), "no such button")
            return by, None, NO_LONGER
        if person is None or not person.active or person.id != ask.person:
            self._ledger.refused(tx, ask.proposal, by.actor, row.channel, "not_an_approver")
            inbox.end(tx, row.id, InState.REFUSED, self._clock.now(), "not_an_approver")
            return by, ask, NOT_YOURS
        if not by.proven:
            self._ledger.refused(tx, ask.proposal, by.actor, row.channel, "not_proven")
            inbox.end(tx, row.id, InState.REFUSED, self._clock.now(), "not_proven")
            return by, ask, NOT_PROVEN.format(id=ask.proposal[-6:])
        return by, ask, None

    def _form(self, tx: Tx, row: inbox.Row, ask: Ask, token: str, fields: int) -> str | Form:
        current = store.get(tx.connection, ask.proposal)
        inbox.end(tx, row.id, InState.ANSWERED, self._clock.now(), "ledger")
        if current is None or not fields:
            return NO_LONGER
        if current.state is not State.PROPOSED:
            return self._already(tx.connection, current)
        if current.hash != ask.hash:
            return "It was edited since you were shown it: look at the newest version."
        shown = self._ledger.action(current.action).show(current.final)
        return Form(
            self._sealer.seal(f"{PREFIX}s:{token}"),
            "Edit",
            (Field("text", "What is sent"[:LONGEST_LABEL], shown.body),),
        )

    def _opened(self, sealed: str) -> tuple[str, str]:
        """What was pressed, and of which showing; empty for what nobody here made."""
        code, _, token = (self._sealer.opened(sealed) or "").removeprefix(PREFIX).partition(":")
        return code, token

    def _voted(self, tx: Tx, row: inbox.Row, ask: Ask, by: By, verdict: Verdict) -> str:
        told, state = self.vote(tx, ask.proposal, by, verdict, ask.hash)
        inbox.end(tx, row.id, state, self._clock.now(), "ledger")
        asks.use(tx, ask.id, self._clock.now())
        return told

    # --- the word itself -------------------------------------------------------------------------------------------

    def vote(self, tx: Tx, of: ProposalId, by: By, verdict: Verdict, shown: str) -> tuple[str, InState]:
        """Returns what the person is told. `by.person` is there and proven."""
        assert by.person is not None  # noqa: S101 - for the type checker
        try:
            after = self._ledger.vote(tx, of, by.person, verdict, shown, by.channel, self._clock.now())
        except PermanentError as error:
            return self._refused(tx, of, by, error)
        return self._told(after), InState.ANSWERED

    def edit(self, tx: Tx, of: ProposalId, by: By, text: str, shown: str, *, approve: bool) -> tuple[str, InState]:
        assert by.person is not None  # noqa: S101 - for the type checker
        try:
            after = self._ledger.edit(
                tx, of, by.person, text, shown, by.channel, self._clock.now(), approve=approve
            )  # fmt: skip
        except PermanentError as error:
            return self._refused(tx, of, by, error)
        return (self._told(after) if approve else AGAIN), InState.ANSWERED

    def _refused(self, tx: Tx, of: ProposalId, by: By, error: PermanentError) -> tuple[str, InState]:
        if isinstance(error, RefusedError):
            self._ledger.refused(tx, of, by.actor, by.channel, error.because)
        current = store.get(tx.connection, of)
        decided = current is not None and current.state is not State.PROPOSED and isinstance(error, ConflictError)
        if current is not None and decided:
            return self._already(tx.connection, current), InState.REFUSED
        return error.message, InState.REFUSED

    @staticmethod
    def _told(after: Proposal) -> str:
        match after.state:
            case State.PROPOSED:
                return "Noted. One more person has to say yes to the same content."
            case State.REJECTED:
                return "Rejected: it will not be done."
            case State.APPROVED_WITH_EDIT:
                return "Approved with your edit: it is being done."
            case _:
                return "Approved: it is being done."

    @staticmethod
    def _already(connection: sa.Connection, current: Proposal) -> str:
        """A second press: who decided."""
        person = people.get(connection, current.decided_by) if current.decided_by else None
        who = f", by {person.name}" if person else ""
        return f"That is settled already: {showing.OUTCOMES[current.state]}{who}."

    # --- mail ------------------------------------------------------------------------------------------------------

    async def errand(self, rows: Sequence[inbox.Row], known: Mapping[PersonId, Person]) -> Told | None:
        """An answer to a mail that asked for a decision; None for every other message. It is carried out when this
        returns."""
        row = rows[-1]
        event = row.event
        if not isinstance(event, MessageReceived) or event.place.kind is not PlaceKind.MAIL:
            return None
        thread = event.reply_path.thread
        ask = await self._database.read(lambda c: asks.in_thread(c, thread))
        if ask is None:
            return None
        by = By(known.get(row.person or PersonId("")), event.sender, event.place.kind, row.channel)
        told = await self._database.write(lambda tx: self._answered(tx, ask, by, event.body.own()))
        self._changed()
        return Told(told)

    def _answered(self, tx: Tx, ask: Ask, by: By, own: str) -> str:
        if by.person is None or by.person.id != ask.person:
            self._ledger.refused(tx, ask.proposal, by.actor, by.channel, "not_an_approver")
            return NOT_YOURS
        if not by.proven:
            self._ledger.refused(tx, ask.proposal, by.actor, by.channel, "not_proven")
            return NOT_PROVEN.format(id=ask.proposal[-6:])
        now = self._clock.now()
        edited = _EDIT.match(own)
        said = words.verdict(own)
        if edited is not None:
            asks.use(tx, ask.id, now)
            return self.edit(tx, ask.proposal, by, edited["text"].strip(), ask.hash, approve=False)[0]
        if said is None or said.about is not None:
            return UNCLEAR
        if ask.used_at is not None:
            current = store.get(tx.connection, ask.proposal)
            if current is not None and current.hash != ask.hash:
                self._ledger.refused(tx, ask.proposal, by.actor, by.channel, "used")
                return "There is a newer version of it: answer the mail that shows that one."
        asks.use(tx, ask.id, now)
        return self.vote(tx, ask.proposal, by, Verdict.APPROVE if said.yes else Verdict.REJECT, ask.hash)[0]
