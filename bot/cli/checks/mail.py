"""Checks of mail beyond the relay: who can be proven at all, and whether the mailbox can be read. Nothing is fetched,
moved or changed there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from bot.cli.checks.finding import Finding, fail, ok, warn
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, PermanentError
from config.schema import Email, Settings


def provable(settings: Settings, local_mode: bool) -> Iterator[Finding]:
    """Whether the people of the roster can be proven to write their own mail, as far as settings say."""
    email = settings.channels.email
    if not email.enabled or local_mode:
        return
    addresses = [address for person in settings.roster.values() for address in person.email]
    domains = dict.fromkeys(address.rpartition("@")[2].lower() for address in addresses)
    others = [domain for domain in domains if domain not in {"localhost", *email.per_user_from}]
    if not others:
        return
    where = "channels.email.per_user_from"
    mend = (
        "add the domain if its mail server lets nobody write under another's address (most company accounts are such; "
        "a domain where every program may send under any name is not)"
    )
    tokens = "mail from there is refused, but for answers to the executive's own mails (by their reply token)"
    if not email.reply_tokens:
        tokens = "mail from there is refused, even answers, since reply_tokens is off too"
    if not email.per_user_from:
        yield warn(f"no domain proves who wrote a mail ({', '.join(others)}): {tokens}", where, mend)
    else:
        yield warn(f"{', '.join(others)} does not prove who wrote a mail: {tokens}", where, mend)


def outside(settings: Settings, local_mode: bool) -> Iterator[Finding]:
    """In local mode only programs of this machine can write: who has an address elsewhere cannot."""
    addresses = [a for person in settings.roster.values() if person.role == "principal" for a in person.email]
    others = [address for address in addresses if address.rpartition("@")[2].lower() not in _HERE]
    if settings.channels.email.enabled and local_mode and others:
        yield warn(
            f"mail from {', '.join(others)} does not arrive: only programs of this machine can hand mail over",
            "channels.email",
            "set up mail as docs/channels/email.md says, with the domain in channels.email.per_user_from; until then "
            "talk to the executive with `openexecutive chat`",
        )


_HERE = frozenset({"localhost", "localhost.localdomain"})


async def access_token(email: Email, data_dir: Path, clock: Clock) -> str | Finding | None:
    """A token for mailbox or relay, where one of them logs in by token; or why there is none."""
    if all(part.host is None or part.auth != "oauth" for part in (email.imap, email.relay)):
        return None
    oauth: Any = import_module("channels.email.oauth")
    try:
        token: str = await oauth.AccessTokens(email.oauth, oauth.token_file(data_dir), clock).get()
    except PermanentError as error:
        return fail(f"mail cannot log in: {error.message}", "channels.email.oauth", "run `openexecutive mail login`")
    except OpenExecutiveError as error:
        return fail(error.message, "channels.email.oauth.token_url", "check the network and token_url")
    return token


async def mailbox(email: Email, token: str | None, timeout: float) -> list[Finding]:
    """Connect, encrypt, log in and open the folder as the daemon would."""
    imap = email.imap
    if imap.host is None or (imap.auth == "oauth" and token is None):
        return []
    where = f"channels.email.imap ({imap.host}:{imap.port})"
    quick = email.model_copy(update={"imap": imap.model_copy(update={"timeout": timedelta(seconds=timeout)})})
    login: Any = import_module("channels.email.imap_login")
    client_errors: Any = import_module("channels.email.imap_client")

    async def given() -> str:
        return token or ""

    try:
        client = await login.log_in(quick, given)
    except client_errors.LoginRefusedError as error:
        mend = "check username and password (many providers want a password made for one app, or auth = oauth)"
        return [fail(error.message, where, mend)]
    except OpenExecutiveError as error:
        mend = "check host, port and the network, and whether port and security fit (993 tls, 143 starttls)"
        return [fail(error.message, where, mend)]
    try:
        await client.select(imap.folder)
        await client.logout()
    except OpenExecutiveError as error:
        return [fail(error.message, f"{where}, folder {imap.folder}", "name a folder that is there")]
    finally:
        await client.close()
    return [ok(f"mailbox {imap.username or email.address} can be read"), *_abilities(client.capabilities, email, where)]


def _abilities(capabilities: frozenset[str], email: Email, where: str) -> Iterator[Finding]:
    if "IDLE" not in capabilities:
        seconds = int(email.imap.poll.total_seconds())
        yield warn(
            f"the server does not announce mail: it is looked for every {seconds} s", where, "lower poll if needed"
        )
    if email.imap.processed is not None and not capabilities & {"MOVE", "UIDPLUS"}:
        yield warn(
            "the server can neither move nor expunge single mails: they stay behind, marked as deleted",
            where,
            'set processed = "none" to leave them unmarked',
        )
