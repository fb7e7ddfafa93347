"""Memories in words (Markdown), for who asks about them in a conversation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.gateway.text_write import literal
from bot.kernel import days
from bot.kernel.values import dataclass
from bot.memory.model import EXECUTIVE, Claim, Event, Evidence, Held, Op, Source, Status, Visibility
from bot.memory.rights import No, Verdict

HELD = {
    Held.AUTHORITY: "it is about who may decide",
    Held.PAYMENT: "it is about money",
    Held.RECIPIENT: "it is about where things are to be sent",
    Held.INSTRUCTION: "it reads like an order to me",
    Held.SECRET: "it looks like a secret",
    Held.UNTRUSTED: "it comes from outside, or from nobody known for sure",
    Held.TAINTED: "I had read untrusted text before it",
    Held.FORGOTTEN: "something like it was forgotten before",
    Held.UNSUPPORTED: "the words do not carry it wholly",
    Held.OUTRANKED: "a person has corrected what stands on this subject",
    Held.PROMOTION: "somebody wants the company to see it",
}
DONE = {
    Op.WRITTEN: "written",
    Op.CONFIRMED: "said again",
    Op.ACCEPTED: "accepted",
    Op.EDITED: "corrected",
    Op.SUPERSEDED: "superseded",
    Op.MERGED: "merged into another",
    Op.DISPUTED: "disputed",
    Op.SETTLED: "settled",
    Op.RETRACTED: "retracted",
    Op.RESTORED: "restored",
    Op.PROMOTION_ASKED: "put before the principals",
    Op.PROMOTED: "shown to the company",
    Op.DEMOTED: "taken back from the company",
    Op.WORK_CHANGED: "plan changed",
    Op.SOURCE_CHANGED: "its message changed",
    Op.ERASED: "forgotten",
}


@dataclass(frozen=True, slots=True)
class Words:
    names: Mapping[str, str]
    """Of people, by id."""
    zone: str
    """The reader's."""

    def line(self, of: Claim) -> str:
        """``- `ab12cd` 2026-03-01 decision – Marta: We launch in March. *(disputed)*``"""
        state = self._state(of)
        after = f" *({'; '.join(state)})*" if state else ""
        kind = f"{of.kind.value}, {of.work.value}" if of.work else of.kind.value
        return f"- `{of.handle}` {self.day(of.said_at)} {kind} – {self.who(of.speaker)}: {literal(of.statement)}{after}"

    def whole(self, of: Claim, rests_on: Sequence[Evidence], history: Sequence[Event]) -> str:
        """Everything about one."""
        lines = [self.line(of)]
        lines += [f"    - because {literal(of.rationale)}"] if of.rationale else []
        lines += [f"    - outcome: {literal(of.outcome)}"] if of.outcome else []
        lines += [f"    - waits: {HELD[each]}" for each in of.held]
        lines += [
            f"    - {self.who(each.speaker)} said, {self.moment(each.said_at)}: “{literal(each.quote)}”"
            for each in rests_on
        ]
        if not rests_on:
            lines.append("    - the words that it rests on are shown where they were said")
        lines += [f"    - {self._event(each)}" for each in history]
        seen = "the company" if of.visibility is Visibility.COMPANY else "those who read where it was said"
        lines.append(f"    - seen by {seen}; version {of.version}; id `{of.id}`")
        return "\n".join(lines)

    def waiting(self, of: Claim, yes: Verdict | No) -> str:
        """`yes`: what would come of the reader's own."""
        if of.status is Status.PENDING:
            return f"{self.line(of)} – {waits(of, yes)}"
        if of.promotion_by is None:
            return f"{self.line(of)} – others say otherwise: a yes to one side settles it"
        who = self.who(of.promotion_by)
        return f"{self.line(of)} – {who} wants the company to see it"

    def who(self, speaker: str) -> str:
        return "I" if speaker == EXECUTIVE else literal(self.names.get(speaker, speaker))

    def day(self, at: datetime) -> str:
        return at.astimezone(ZoneInfo(self.zone)).date().isoformat()

    def moment(self, at: datetime) -> str:
        return f"{at.astimezone(ZoneInfo(self.zone)):%Y-%m-%d %H:%M}"

    def _state(self, of: Claim) -> list[str]:
        state = [] if of.status is Status.ACTIVE else [of.status.value]
        state += ["its message was edited since"] if of.source is Source.EDITED else []
        state += ["its message was deleted"] if of.source is Source.DELETED else []
        state += ["put into words by a person"] if of.by_person else []
        state += [f"owner {literal(self.names.get(of.owner, of.owner))}"] if of.owner else []
        state += [f"owner {literal(of.owner_name)}, not of the roster"] if of.owner_name else []
        state += [f"due {of.due.isoformat()}"] if of.due else []
        if of.valid_from or of.valid_to:
            begins = f"from {self.day(of.valid_from)} " if of.valid_from else ""
            ends = f"until {days.last(of.valid_to, self.zone)}" if of.valid_to else ""
            state.append(f"valid {begins}{ends}".strip())
        return state

    def _event(self, of: Event) -> str:
        by = self.who(of.actor) if of.actor_kind == "person" else "whoever runs me" if of.actor == "operator" else "me"
        reason = f": {literal(of.reason)}" if of.reason else ""
        before, after = (of.before or {}).get("statement"), (of.after or {}).get("statement")
        words = f" (it was: “{literal(str(before))}”)" if before and after and of.op is not Op.WRITTEN else ""
        done = DONE[of.op]
        if of.op is Op.PROMOTION_ASKED and not (of.after or {}).get("promotion_by"):
            done = "not shown to the company"
        return f"{done} {self.moment(of.at)} by {by}{reason}{words}"


_STAY = ("shown", "on_platforms", "backups")
"""Counts of what is affected and does not go."""


def waits(of: Claim, yes: Verdict | No) -> str:
    """Why something waits, and whose word it waits for. `yes`: what would come of the reader's own."""
    why = "; ".join(HELD[each] for each in of.held)
    match yes:
        case Verdict.ASK:
            return f"{why}. A principal decides: `/accept {of.handle}` puts it before them"
        case No():
            return f"{why}. {yes.why.removesuffix('.')}"
        case _:
            return why


def held(claims: Sequence[tuple[Claim, Verdict | No]]) -> str:
    """What a person is told whose own words wait for a yes, with what would come of theirs. The words themselves stay
    where they were said."""
    lines = "\n".join(f"- `{each.handle}`: {waits(each, yes)}" for each, yes in claims)
    return f"I do not go by this yet; it waits for a yes (`/memories pending`):\n\n{lines}"


GUEST_WAITS = (
    "What you tell me stays in its conversation: I remember it beyond that only once somebody of the company has said "
    "yes to it. Say `/memories pending` there to see what waits; `/reject` takes it back."
)
"""What a guest is told, once."""


def wish(of: Claim, names: Mapping[str, str], zone: str) -> str:
    """What a principal is asked: whether the company may see a memory, or whether what waits is to be believed."""
    words = Words(names, zone)
    who, no = words.who(of.promotion_by or ""), f"`/reject {of.handle} because …` does not."
    if of.status is Status.PENDING:
        why = "; ".join(HELD[each] for each in of.held)
        return (
            f"{who} asks that I go by this, where it was said; it waits because {why}:\n\n{words.line(of)}\n\n"
            f"`/accept {of.handle}` lets me, {no}"
        )
    return (
        f"{who} wants the company to see this memory:\n\n{words.line(of)}\n\n"
        f"`/accept {of.handle}` lets it be seen, {no}"
    )


def vanishing(counts: Mapping[str, int]) -> str:
    """What goes, in words: `memories: 1, messages: 2`."""
    told = [f"{name.replace('_', ' ')}: {count}" for name, count in counts.items() if count and name not in _STAY]
    return ", ".join(told) or "nothing else"


def staying(counts: Mapping[str, int]) -> str:
    """What cannot go with it, as sentences with a space before each; empty if there is none."""
    told = []
    if shown := counts.get("shown", 0):
        told.append(f" It stood before me in {shown} of my answers.")
    if there := counts.get("on_platforms", 0):
        told.append(f" Messages of mine that tell it and stand on a platform: {there}.")
    if backups := counts.get("backups", 0):
        told.append(f" Backups that hold it until they are replaced: {backups}.")
    return "".join(told)
