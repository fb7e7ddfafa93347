"""What a bounce says about our own mail (RFC 3464). Pure.

The returned headers name the message; that is the only match that is trusted. A bounce is never answered and never
becomes a conversation.
"""

from __future__ import annotations

import re

from bot.gateway.events import Outcome
from bot.kernel.values import dataclass
from channels.email.addresses import Mailbox
from channels.email.charset import one_line
from channels.email.fields import Fields
from channels.email.mime import ParsedMail

_ID = re.compile(r"<[^<>\s]{1,250}>")
_MAX_DETAIL = 300
_OUTCOMES = {
    "failed": Outcome.FAILED,
    "delayed": Outcome.DELAYED,
    "delivered": Outcome.DELIVERED,
    "relayed": Outcome.DELIVERED,
    "expanded": Outcome.DELIVERED,
}


@dataclass(frozen=True, slots=True)
class Bounce:
    message_ids: tuple[str, ...]
    """With angle brackets, as they were returned."""
    outcome: Outcome
    detail: str


def read(mail: ParsedMail, mail_from: str, sender: Mailbox | None, id_domain: str) -> Bounce | None:
    """The report in `mail`, or None if it is none or names no message. With several recipients the worst counts.

    A bounce without the standard form (RFC 3464 s1 allows none, old servers know none) is taken for a failure only if
    it comes from a mailer daemon with a null return path and carries one of our own Message-IDs in its text.
    """
    if mail.report is not None and mail.report.kind == "delivery-status":
        ids = tuple(i for name, value in mail.report.original if name == "message-id" for i in _ID.findall(value)[:1])
        if not ids:
            ids = _our_ids(mail.body.text, id_domain)
        return Bounce(ids, *_worst(mail.report.blocks)) if ids else None
    daemon = sender is not None and sender.local in {"mailer-daemon", "postmaster"}
    if mail_from.strip() in {"", "<>"} and daemon and (ids := _our_ids(mail.body.text, id_domain)):
        return Bounce(ids, Outcome.FAILED, "returned without a standard report")
    return None


def _our_ids(text: str, domain: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(rf"<[0-9a-z]{{24}}@{re.escape(domain)}>", text)))[:10]


def _worst(blocks: tuple[Fields, ...]) -> tuple[Outcome, str]:
    order = (Outcome.FAILED, Outcome.DELAYED, Outcome.DELIVERED)
    worst: tuple[Outcome, str] | None = None
    for block in blocks:
        fields = {name: one_line(value) for name, value in reversed(block)}
        outcome = _OUTCOMES.get(fields.get("action", "").split("(")[0].strip().lower())
        if outcome is not None and (worst is None or order.index(outcome) < order.index(worst[0])):
            worst = outcome, _detail(fields)
    return worst or (Outcome.FAILED, "the report gives no reason")


def _detail(fields: dict[str, str]) -> str:
    diagnostic = re.sub(r"\A\w+\s*;\s*", "", fields.get("diagnostic-code", ""))
    return " ".join(filter(None, (fields.get("status", ""), diagnostic)))[:_MAX_DETAIL] or "the report gives no reason"
