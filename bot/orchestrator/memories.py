"""Commands about memories: turns without a model. Who asks sees what may be shown where they ask; alone with the
executive, what they may see anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor, Record
from bot.audit.events_memory import MemoryViewed
from bot.audit.recorder import Recorder
from bot.gateway.text_links import inert
from bot.kernel.errors import PermanentError
from bot.kernel.ids import SectionId, SessionId, TurnId
from bot.kernel.scope import PersonScope, SessionScope
from bot.knowledge import search
from bot.ledger import store as proposals
from bot.memory import reading, rights
from bot.memory.model import STANDING, Claim, Status
from bot.memory.reading import Filter, Purpose
from bot.memory.recall import names_of
from bot.memory.rights import Act, No, Verdict
from bot.memory.service import Acting, Done, Memories, Outcome, waiting
from bot.memory.wording import telling
from bot.orchestrator.stories import story
from bot.orchestrator.telling import Words, staying, vanishing
from bot.people.model import Person
from bot.sessions import places, transcript
from bot.sessions.visible import Visible, visible
from bot.storage.database import Tx

if TYPE_CHECKING:
    from bot.orchestrator.commands import Asked

LISTED = 12
SAID_SO = "said so in chat"
_ID = re.compile(r"[`(\[]*(?P<id>[0-9a-zA-Z]{4,24})[`)\],.:]*(?:\s+(?P<rest>.*))?", re.DOTALL)
_REASON = re.compile(r"\s+\(?reason:\s*(?P<reason>.+?)\)?\s*\Z", re.DOTALL | re.IGNORECASE)
_BECAUSE = re.compile(r"\A(?:because|since|as|weil)?[\s:,–-]*", re.IGNORECASE)
_YES = re.compile(r"\A(?:yes|ja)\b[\s:,.!–-]*(?P<reason>.*)\Z", re.IGNORECASE | re.DOTALL)
_THEN_YES = re.compile(r"\A(?P<words>.*\S)\s+(?:yes|ja)[\s,.!]*\Z", re.IGNORECASE | re.DOTALL)
_STATUSES = tuple(Status(each) for each in STANDING)


class _Desk:
    """What every command here needs."""

    def __init__(self, tx: Tx, recorder: Recorder, asked: Asked) -> None:
        self.tx = tx
        self.recorder = recorder
        self.asked = asked
        self.service = Memories(recorder)
        event, person = asked.event, asked.person
        door = rights.door(event.sender.proof, event.place.kind)
        scope = scope_of(tx.connection, asked.place, asked.session, person)
        self.by = Acting(Actor("person", person.id), scope, person, door)
        self.view: Visible = visible(tx.connection, self.by.scope)

    def words(self, claims: Sequence[Claim]) -> Words:
        return Words(names_of(self.tx.connection, claims), self.asked.person.time_zone)

    def viewed(self, claims: Sequence[Claim]) -> None:
        """Note that these were read."""
        if claims:
            payload = MemoryViewed("command", tuple(each.id for each in claims))
            self.recorder.record(self.tx, Record(payload, self.by.actor, self.asked.session))


def scope_of(
    connection: sa.Connection, place_key: str, session: SessionId, person: Person
) -> PersonScope | SessionScope:
    """Alone with the executive, what the person may see anywhere; else what may be shown in the session."""
    alone = places.alone(places.get(connection, place_key), person)
    return PersonScope(person.id) if alone else SessionScope(session)


# --- looking ----------------------------------------------------------------------------------------------------------


def _memories(desk: _Desk, rest: str) -> str:
    if not rest:
        return _newest(desk)
    if rest.lower() in ("pending", "waiting"):
        return _waiting(desk)
    named = _ID.fullmatch(rest)
    found = _named(desk, named["id"]) if named and not named["rest"] else []
    if len(found) == 1:
        return _one(desk, found[0])
    claims, more = _page(desk, Filter(words=tuple(rest.split())))
    if not claims:  # no memory holds all of the words: what is about the same
        ranked = reading.by_ids(desk.tx.connection, desk.view, Purpose.PROMPT, desk.asked.ranked)
        wanted_words = telling(rest)  # the index finds something near to anything: a word of it must stand there
        near = [ranked[each] for each in desk.asked.ranked if each in ranked]
        claims = [each for each in near if wanted_words & telling(each.statement or "")]
    if not claims:
        return f"I remember nothing with these words that may be shown {_here(desk)}."
    return _list(desk, claims, more)


def _named(desk: _Desk, handle: str) -> list[Claim]:
    return reading.named(desk.tx.connection, desk.view, Purpose.REVIEW, handle)


def _newest(desk: _Desk) -> str:
    claims, more = _page(desk, Filter(statuses=_STATUSES))
    waits = len(waiting(desk.tx.connection, desk.view, 100))
    hint = f"\n\n{waits} wait for a yes or no: `/memories pending`." if waits else ""
    if not claims:
        return f"I remember nothing that may be shown {_here(desk)}.{hint}"
    return f"{_list(desk, claims, more)}{hint}"


def _page(desk: _Desk, wanted: Filter) -> tuple[list[Claim], bool]:
    found = reading.find(desk.tx.connection, desk.view, Purpose.REVIEW, wanted, LISTED + 1)
    return [each for _, each in found[:LISTED]], len(found) > LISTED


def _list(desk: _Desk, claims: Sequence[Claim], more: bool) -> str:
    desk.viewed(claims)
    words = desk.words(claims)
    after = "\n\nThere are more: `/memories` with a word or two narrows it." if more else ""
    lines = "\n".join(words.line(each) for each in claims)
    return f"What I remember, as far as it may be shown {_here(desk)}:\n\n{lines}{after}"


def _waiting(desk: _Desk) -> str:
    claims = waiting(desk.tx.connection, desk.view, LISTED)
    if not claims:
        return "Nothing waits for a yes or no here."
    desk.viewed(claims)
    words = desk.words(claims)
    lines = "\n".join(words.waiting(each, _yes(desk, each)) for each in claims)
    return f"These wait for a yes or no (`/accept` or `/reject` with the id):\n\n{lines}"


def _yes(desk: _Desk, of: Claim) -> Verdict | No:
    """What would come of the yes of who asks."""
    return desk.service.verdict(desk.tx.connection, desk.by, Act.ACCEPT, of)


def _one(desk: _Desk, of: Claim) -> str:
    desk.viewed([of])
    rests_on = reading.evidence_of(desk.tx.connection, desk.view, of.id)
    history = reading.history(desk.tx.connection, desk.view, of.id)
    return desk.words([of]).whole(of, rests_on, history)


def _why(desk: _Desk, _: str) -> str:
    connection = desk.tx.connection
    here = SessionScope(desk.asked.session)
    answer = transcript.last_answer(connection, here)
    if answer is None:
        return "I have said nothing here yet."
    view = visible(connection, here)
    claims, gone = reading.shown_in(connection, view, answer.turn)
    desk.viewed([each for each, _ in claims])
    words = desk.words([each for each, _ in claims])
    parts = [f"Before my last answer here ({words.moment(answer.sent_at)}) stood, beside what was said in this thread:"]
    if claims:
        lines = [f"{words.line(each)}{' – I looked it up' if way != 'block' else ''}" for each, way in claims]
        parts.append("Memories:\n\n" + "\n".join(lines))
    sections = [
        SectionId(str(each))
        for entry in timeline.of_turn(connection, answer.turn, "knowledge_retrieved")
        for each in _listed(entry.payload.get("sections"))
    ]
    sources = search.labels(connection, here, sections)
    if sources:
        parts.append("Sources:\n\n" + "\n".join(f"- {each}" for each in sources))
    messages = _messages_looked_up(desk, answer.turn)
    if messages:
        parts.append(f"I also looked up {messages} earlier messages of this thread.")
    put_forward = _put_forward(desk, answer.turn)
    if put_forward:
        parts.append("With it I put forward:\n\n" + "\n".join(put_forward))
    if gone:
        parts.append(f"{gone} memories that stood there are not shown any more.")
    if len(parts) == 1:
        return "Before my last answer here stood nothing but what was said in this thread."
    return "\n\n".join(parts)


def _put_forward(desk: _Desk, turn: TurnId) -> list[str]:
    verdicts = desk.asked.verdicts
    if verdicts is None:
        return []
    connection, zone = desk.tx.connection, desk.asked.person.time_zone
    found = proposals.of_turn(connection, desk.asked.session, turn)
    return [story(connection, verdicts.ledger, each, zone) for each in found]


def _messages_looked_up(desk: _Desk, turn: TurnId) -> int:
    entries = timeline.of_turn(desk.tx.connection, turn, "memory_snapshot")
    return len({each for entry in entries for each in _listed(entry.payload.get("messages"))})


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _here(desk: _Desk) -> str:
    return "to you" if isinstance(desk.by.scope, PersonScope) else "here"


# --- changing ---------------------------------------------------------------------------------------------------------


def _correct(desk: _Desk, rest: str) -> str:
    of, words = _meant(desk, rest)
    if not words:
        return f"Say it as it should be: `/correct {of.handle} NEW WORDS`."
    given = _REASON.search(words)
    statement = words[: given.start()] if given else words
    done = desk.service.correct(
        desk.tx, desk.by, of.id, statement, given["reason"] if given else SAID_SO, desk.asked.now
    )
    if done.outcome is Outcome.DISPUTED:
        both = [done.claim] if done.beside is None else [done.claim, done.beside]
        lines = "\n".join(map(desk.words(both).line, both))
        asked = done.beside is not None and done.beside.promotion_by is not None
        then = "\n\nThe company sees yours once a principal says yes to it." if asked else ""
        return f"{_disputed(desk, of)}\n\n{lines}{then}"
    if done.outcome is Outcome.ASKED:
        return (
            "Corrected. The company had seen the old words by a principal's yes; it sees the new ones once a principal "
            f"says yes to them.\n\n{desk.words([done.claim]).line(done.claim)}"
        )
    still = " It still waits for a yes." if done.claim.status is Status.PENDING else ""
    if of.promotion_by is not None and done.claim.promotion_by is None:
        again = "accept" if done.claim.status is Status.PENDING else "promote"
        still += f" The principals were asked about the old words: `/{again} {of.handle}` asks them about these."
    return f"Corrected.{still}\n\n{desk.words([done.claim]).line(done.claim)}"


def _changing(name: str, said: str) -> Callable[[_Desk, str], str]:
    """A command that takes an id and a reason."""

    def work(desk: _Desk, rest: str) -> str:
        of, words = _meant(desk, rest)
        reason = _BECAUSE.sub("", words, count=1)
        if not reason and name == "accept":
            reason = SAID_SO
        if not reason:
            return f"Say why, the reason is kept with it: `/{name} {of.handle} because …`"
        use: Callable[..., Done] = getattr(desk.service, name)
        done = use(desk.tx, desk.by, of.id, reason, desk.asked.now)
        line = desk.words([done.claim]).line(done.claim)
        match done.outcome:
            case Outcome.ASKED:
                then = "I go by it" if done.claim.status is Status.PENDING else "the company sees it"
                return f"I put it before the principals: once one of them says yes, {then}.\n\n{line}"
            case Outcome.DISPUTED:
                return f"{_disputed(desk, of)}\n\n{line}"
            case Outcome.DONE:
                return f"{said}\n\n{line}"

    return work


def _disputed(desk: _Desk, of: Claim) -> str:
    return f"{desk.words([of]).who(of.speaker)} said it: I keep both and mark it as disputed."


def _forget(desk: _Desk, rest: str) -> str:
    if not rest:
        return "Say what I am to forget: `/forget` with an id (`/memories` shows them) or with words of it."
    named = _ID.fullmatch(rest)
    found = _named(desk, named["id"]) if named else []
    said = named["rest"] or "" if named is not None else ""
    if not found:
        found, said = _with(desk, rest), ""
    confirmed = _THEN_YES.match(rest) if not found else None
    if confirmed is not None:
        found, said = _with(desk, confirmed["words"]), "yes"
    if not found:
        return f"I remember nothing like that that may be shown {_here(desk)}."
    if len(found) > 1:
        desk.viewed(found)
        words = desk.words(found)
        lines = "\n".join(words.line(each) for each in found)
        then = " and `yes`" if _YES.match(said) else ""
        return f"Which one? Say `/forget` with its id{then}.\n\n{lines}"
    yes = _YES.match(said)
    return _forget_one(desk, found[0], None if yes is None else yes["reason"].strip() or "asked for it in chat")


def _with(desk: _Desk, words: str) -> list[Claim]:
    wanted = Filter(words=tuple(words.split()))
    return [each for _, each in reading.find(desk.tx.connection, desk.view, Purpose.REVIEW, wanted, LISTED)]


def _forget_one(desk: _Desk, of: Claim, reason: str | None) -> str:
    """`reason`: None while it was not confirmed."""
    verdict = desk.service.verdict(desk.tx.connection, desk.by, Act.FORGET, of)
    if isinstance(verdict, No):
        return verdict.why
    eraser, line = desk.asked.eraser, desk.words([of]).line(of)
    if eraser is None:
        return "Nothing can be forgotten here at the moment."
    if reason is None:
        desk.viewed([of])
        if verdict is Verdict.DISPUTE:
            who = desk.words([of]).who(of.speaker)
            return (
                f"{line}\n\n{who} said it, so I do not erase it at your word. `/forget {of.handle} yes` marks it as "
                "disputed; only who said it can have it erased, or a principal."
            )
        counts = eraser.preview(desk.tx.connection, [of.id])
        how = f"This cannot be taken back. `/forget {of.handle} yes` does it"
        instead = f"`/retract {of.handle} because …` only takes it back"
        return f"{line}\n\nWhat would go: {vanishing(counts)}.{staying(counts)} {how}; {instead}."
    done = desk.service.forget(desk.tx, desk.by, of.id, eraser, reason, desk.asked.now)
    if isinstance(done, Done):
        return _disputed(desk, of)
    return (
        f"Forgotten: {vanishing(done)}. Nobody is shown any of it from now on; its bytes leave the files shortly."
        f"{staying(done)}"
    )


def _meant(desk: _Desk, rest: str) -> tuple[Claim, str]:
    """The memory that is named first, and what follows. Raises `PermanentError`."""
    named = _ID.fullmatch(rest)
    if named is None:
        raise PermanentError("Name the memory by its id, as `/memories` shows it.")
    return desk.service.meant(desk.tx.connection, desk.by, named["id"]), (named["rest"] or "").strip()


_COMMANDS: Mapping[str, Callable[[_Desk, str], str]] = {
    "memories": _memories,
    "why": _why,
    "correct": _correct,
    "forget": _forget,
    "retract": _changing("retract", "Taken back."),
    "restore": _changing("restore", "It stands again."),
    "promote": _changing("promote", "The company sees it from now on."),
    "accept": _changing("accept", "Noted: it stands."),
    "reject": _changing("reject", "Noted: it does not."),
}


def _handler(work: Callable[[_Desk, str], str]) -> Callable[[Tx, Recorder, Asked], str]:
    def handle(tx: Tx, recorder: Recorder, asked: Asked) -> str:
        try:
            said = work(_Desk(tx, recorder, asked), asked.event.arguments.strip())
            # What is remembered may come from anybody: an address in it is for reading, not for following.
            return inert(said, ())
        except PermanentError as error:  # every use case looks before it writes: nothing of it was done
            return f"{error.message[:1].upper()}{error.message[1:]}"

    return handle


HANDLERS = {name: _handler(work) for name, work in _COMMANDS.items()}
