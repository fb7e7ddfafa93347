"""Why a mail must never be answered. Pure.

Sources: RFC 3834 s2 (Auto-Submitted), RFC 5321 s4.5.5 (null return path), RFC 3464 and RFC 8098 (reports).
X-Auto-Response-Suppress is no sign of a machine: it asks machines to keep quiet, and Exchange puts it on people's mail.
List mail was written by a person: it is read, and answered only when it is addressed to the executive itself.
"""

from __future__ import annotations

import re

from channels.email.addresses import Mailbox, is_ours
from channels.email.invite import NOT_QUESTIONS
from channels.email.mime import ParsedMail

LOOP_HEADER = "X-OpenExecutive-Loop"
"""On everything we send; its value is our address."""

_NULL = frozenset({"", "<>"})


def automatic(mail: ParsedMail, mail_from: str, sender: Mailbox | None, own: str) -> str | None:
    """The reason, as a short word for the audit, or None for a person's mail. `mail_from`: the envelope's."""
    if any(own.lower() in value.lower() for value in mail.raw(LOOP_HEADER.lower())):
        return "loop"
    if mail.report is not None and mail.report.kind == "delivery-status":
        return "bounce"
    if mail.report is not None and mail.report.kind == "disposition-notification":
        return "receipt"
    if mail.report is not None:
        return "report"
    if any(word != "no" for word in _words(mail, "auto-submitted")):
        return "auto_submitted"
    replies = _words(mail, "x-autoreply") | _words(mail, "x-autorespond")
    if "auto_reply" in _words(mail, "precedence") or replies - {"no"}:
        return "auto_reply"
    if mail_from.strip() in _NULL or any(v.strip() in _NULL for v in mail.raw("return-path")):
        return "bounce"
    if sender is not None and is_ours(sender.address, own):
        return "own"
    if sender is not None and sender.local in {"mailer-daemon", "mailer_daemon"}:
        return "bounce"
    if mail.invite is not None and mail.invite.method in NOT_QUESTIONS:
        return f"calendar_{mail.invite.method.lower()}"
    return None


def is_list(mail: ParsedMail) -> bool:
    """Whether the mail came through a mailing list (RFC 2919, RFC 2369)."""
    return mail.has("list-id") or mail.has("list-post") or bool(_words(mail, "precedence") & {"list", "bulk"})


def _words(mail: ParsedMail, header: str) -> set[str]:
    """The first word of each occurrence, lower case, comments and parameters left out."""
    words = set()
    for value in mail.raw(header):
        match = re.match(r"\s*(?:\([^)]*\)\s*)*([A-Za-z0-9_-]+)", value)
        if match:
            words.add(match[1].lower())
    return words
