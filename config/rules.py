"""What more than one key decides together, as pure checks over `Settings`. They look at nothing but the settings:
whether a file exists or a server answers is for `openexecutive doctor`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from config.ledger import ACTIONS
from config.near import nearest
from config.schema import BUILT_IN_SPECIALISTS, Email, Models, Settings
from config.types import is_loopback


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that `Settings` break. `keys` are those concerned, dotted; the first is where to look."""

    keys: tuple[str, ...]
    problem: str
    allowed: str | None = None
    level: Literal["fault", "warning"] = "fault"


def check(settings: Settings) -> tuple[Finding, ...]:
    """Every broken rule, in the order of the settings."""
    return tuple(
        finding
        for rule in (
            _people,
            _specialists,
            _llm,
            _prices,
            _discord,
            _telegram,
            _slack,
            _mail,
            _terminal,
            _web,
            _channels,
            _ledger,
        )
        for finding in rule(settings)
    )


def local_mail_mode(settings: Settings, in_container: bool) -> bool:
    """Whether mail of this machine's own programs is taken as proven: the server listens on loopback only, nothing
    leaves by a relay, no other network channel is on, no mailbox elsewhere is read, nobody asked for proof, and the
    process does not run in the container image (where loopback is no longer "this machine's user")."""
    email = settings.channels.email
    return (
        email.enabled
        and is_loopback(email.smtp.host)
        and email.relay.host is None
        and email.imap.host is None
        and email.proof == "auto"
        and not settings.network_channel
        and not in_container
    )


def _people(settings: Settings) -> Iterator[Finding]:
    owners: dict[tuple[str, str], str] = {}
    for person_id, person in settings.people.items():
        handles = [("email", address.casefold()) for address in person.email]
        handles += [("telegram", str(number)) for number in person.telegram]
        handles += [("discord", str(number)) for number in person.discord]
        handles += [("slack", member) for member in person.slack]
        for handle in handles:
            owner = owners.setdefault(handle, person_id)
            if owner != person_id:
                kind = handle[0]
                yield Finding(
                    (f"people.{person_id}.{kind}", f"people.{owner}.{kind}"),
                    f"{handle[1]} stands under people.{owner} too",
                    "each address and id under one person",
                )
        if settings.channels.email.address.casefold() in {address.casefold() for address in person.email}:
            yield Finding(
                (f"people.{person_id}.email", "channels.email.address"),
                "holds the executive's own address (channels.email.address)",
                "the person's own addresses",
            )
    if settings.people and not any(person.role == "principal" for person in settings.people.values()):
        yield Finding(
            ("people",),
            "names no principal: until one is paired (`openexecutive pair`), nobody can decide anything",
            'role = "principal" for one person at least',
            "warning",
        )


def _specialists(settings: Settings) -> Iterator[Finding]:
    for name, own in settings.specialists.items():
        here = f"specialists.{name}"
        if own.charter is not None and own.charter_file is not None:
            yield Finding((f"{here}.charter", f"{here}.charter_file"), "given as text and as a file", "one of the two")
        told = own.title or own.when or own.charter or own.charter_file
        if name in BUILT_IN_SPECIALISTS or (told and not own.enabled):
            continue
        close = nearest(name, BUILT_IN_SPECIALISTS)
        hint = f"; did you mean {close}?" if close else ""
        needed = {"title": own.title, "when": own.when, "charter": own.charter or own.charter_file}
        for key in (key for key, value in needed.items() if value is None):
            yield Finding(
                (f"{here}.{key}",),
                f"missing: no specialist of this name comes with the program{hint}",
                f"title, when and charter, or one of {', '.join(BUILT_IN_SPECIALISTS)}",
            )


def _llm(settings: Settings) -> Iterator[Finding]:
    llm = settings.llm
    if llm.provider == "anthropic" and llm.api_key is None and llm.base_url is None:
        yield Finding(
            ("llm.api_key", "llm.provider", "llm.base_url"),
            'missing: provider is "anthropic"',
            'a key, or base_url, or provider = "offline"',
        )


def _prices(settings: Settings) -> Iterator[Finding]:
    """A model without a price would be spent on without any limit. Its name is not told: it may be a key in the wrong
    line."""
    llm = settings.llm
    known, told = llm.known_prices, set()
    for key in () if llm.offline else Models.model_fields:
        model = getattr(llm.models, key)
        if model is None or model in known or model in told:
            continue
        told.add(model)
        yield Finding(
            (f"llm.models.{key}", "llm.prices"),
            "this model has no table in llm.prices: what it costs is not known",
            "a model with a table [llm.prices.<model>] that has input and output, in US dollars for a million tokens "
            "(0: it is free)",
        )


def _telegram(settings: Settings) -> Iterator[Finding]:
    telegram = settings.channels.telegram
    here = "channels.telegram"
    token = telegram.token.get_secret_value() if telegram.token is not None else None
    if token is not None and re.search(r"[\s/?#%]", token):
        yield Finding((f"{here}.token",), "holds characters that no bot token has", "digits, a colon and letters")
    if not telegram.enabled:
        return
    if token is None:
        yield Finding((f"{here}.token", f"{here}.enabled"), "missing: telegram is on", "a token, or enabled = false")
    if telegram.mode != "webhook":
        return
    if telegram.public_url is None:
        yield Finding((f"{here}.public_url", f"{here}.mode"), 'missing: mode is "webhook"', "an https address")
    elif not telegram.public_url.startswith("https://"):  # Bot API, setWebhook: "HTTPS URL to send updates to"
        yield Finding((f"{here}.public_url",), "Telegram calls https addresses only", "an https address")
    if telegram.webhook_secret is None:
        yield Finding(
            (f"{here}.webhook_secret", f"{here}.mode"),
            'missing: mode is "webhook"',
            "1 to 256 letters, digits, _ and -",
        )
    # Bot API, setWebhook, secret_token: 1-256 characters of A-Z, a-z, 0-9, _ and -.
    elif not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", telegram.webhook_secret.get_secret_value()):
        yield Finding(
            (f"{here}.webhook_secret",),
            "holds characters that Telegram refuses, or is too long",
            "1 to 256 letters, digits, _ and -",
        )
    if not settings.web.enabled:
        yield Finding(("web.enabled", f"{here}.mode"), 'off, but channels.telegram.mode is "webhook"', "true")


def _discord(settings: Settings) -> Iterator[Finding]:
    discord, here = settings.channels.discord, "channels.discord"
    if discord.enabled and discord.token is None:
        yield Finding((f"{here}.token", f"{here}.enabled"), "missing: discord is on", "a token, or enabled = false")
    if discord.gateway_url is not None and not discord.gateway_url.startswith(("ws://", "wss://")):
        yield Finding((f"{here}.gateway_url",), "not a websocket address", "ws://… or wss://…")


def _slack(settings: Settings) -> Iterator[Finding]:
    slack, here = settings.channels.slack, "channels.slack"
    if not slack.enabled:
        return
    for key, token, start in (("bot_token", slack.bot_token, "xoxb-"), ("app_token", slack.app_token, "xapp-")):
        if token is None:
            yield Finding((f"{here}.{key}", f"{here}.enabled"), "missing: slack is on", "a token, or enabled = false")
        elif not token.get_secret_value().startswith(start):
            yield Finding((f"{here}.{key}",), "not that kind of token", f"a token that begins with {start}")


def _mail(settings: Settings) -> Iterator[Finding]:
    email, here = settings.channels.email, "channels.email"
    smtp, relay = email.smtp, email.relay
    if not email.enabled:
        return
    if email.proof == "header" and email.authserv_id is None:
        yield Finding(
            (f"{here}.authserv_id", f"{here}.proof"), 'missing: proof is "header"', "the name of the server that checks"
        )
    if (smtp.certificate is None) != (smtp.key is None):
        missing, given = ("certificate", "key") if smtp.certificate is None else ("key", "certificate")
        yield Finding(
            (f"{here}.smtp.{missing}", f"{here}.smtp.{given}"), f"missing: {given} is given", "both of them, or none"
        )
    if not smtp.enabled and email.imap.host is None:
        yield Finding(
            (f"{here}.smtp.enabled", f"{here}.imap.host"),
            "off, and no mailbox is named: no mail would come in",
            "true, or a mailbox in channels.email.imap, or channels.email.enabled = false",
        )
    yield from _mailbox(email)
    yield from _oauth(email)
    if relay.auth == "password" and (relay.username is None) != (relay.password is None):
        missing, given = ("username", "password") if relay.username is None else ("password", "username")
        yield Finding(
            (f"{here}.relay.{missing}", f"{here}.relay.{given}"), f"missing: {given} is given", "both of them, or none"
        )
    if relay.host is None:
        return
    if relay.security == "none" and relay.password is not None and not is_loopback(relay.host):
        yield Finding(
            (f"{here}.relay.security", f"{here}.relay.host"),
            "the password would cross the network in the clear",
            '"starttls" or "tls"',
        )
    if email.reply_tokens and len(email.address.rpartition("@")[0].partition("+")[0]) > _LONGEST_LOCAL_PART:
        yield Finding(
            (f"{here}.reply_tokens", f"{here}.address"),
            f"the address has more than {_LONGEST_LOCAL_PART} characters before its @: no room for reply tokens",
            "false, or a shorter address",
            "warning",
        )
    if email.address.casefold().endswith("@localhost"):
        yield Finding(
            (f"{here}.address", f"{here}.relay.host"),
            "ends in @localhost: nobody outside this machine can reply to it",
            "the address that mail for the executive is sent to",
            "warning",
        )


_LONGEST_LOCAL_PART = 20
"""RFC 5321 s4.5.3.1.1 gives a local part 64 octets, of which a reply token takes 44."""


def _mailbox(email: Email) -> Iterator[Finding]:
    imap, here = email.imap, "channels.email.imap"
    if imap.host is None:
        return
    if imap.auth == "password" and imap.password is None:
        yield Finding((f"{here}.password", f"{here}.host"), "missing: host is given", 'a password, or auth = "oauth"')
    if imap.security == "none" and not is_loopback(imap.host):
        yield Finding(
            (f"{here}.security", f"{here}.host"),
            "the login and all mail would cross the network in the clear",
            '"tls" or "starttls"',
        )
    if imap.processed is not None and imap.processed.casefold() == imap.folder.casefold():
        yield Finding(
            (f"{here}.processed", f"{here}.folder"), "is the folder that is read", 'another folder, or "none"'
        )
    if email.relay.host is None:
        yield Finding(
            ("channels.email.relay.host", f"{here}.host"),
            "missing: mail comes from a mailbox, but answers would lie in the Maildir of this machine",
            "your provider's server for outgoing mail",
            "warning",
        )


def _oauth(email: Email) -> Iterator[Finding]:
    here = "channels.email"
    users = [
        name for name, part in (("imap", email.imap), ("relay", email.relay)) if part.host and part.auth == "oauth"
    ]
    if not users:
        return
    for key in ("client_id", "device_url", "token_url", "scope"):
        if getattr(email.oauth, key) is None:
            yield Finding(
                (f"{here}.oauth.{key}", f"{here}.{users[0]}.auth"),
                f'missing: {users[0]}.auth is "oauth"',
                'what your provider documents, or auth = "password"',
            )
    for key in ("device_url", "token_url"):
        url = getattr(email.oauth, key)
        if url is not None and not url.startswith("https://") and not is_loopback(urlsplit(url).hostname or ""):
            yield Finding(
                (f"{here}.oauth.{key}",), "the login would cross the network in the clear", "an https address"
            )
    if "relay" in users and email.relay.username is None:
        yield Finding((f"{here}.relay.username", f"{here}.relay.auth"), 'missing: auth is "oauth"', "the login's name")
    for name in users:
        if getattr(email, name).security == "none" and not is_loopback(getattr(email, name).host):
            yield Finding(
                (f"{here}.{name}.security",), "the token would cross the network in the clear", '"starttls" or "tls"'
            )


def _terminal(settings: Settings) -> Iterator[Finding]:
    person = settings.channels.terminal.person
    if person is None or person in settings.roster:
        return
    close = nearest(person, settings.roster)
    yield Finding(
        ("channels.terminal.person", "people"),
        f"nobody of that id is in people{f'; did you mean {close}?' if close else ''}",
        " or ".join(f'"{known}"' for known in settings.roster),
    )


def _web(settings: Settings) -> Iterator[Finding]:
    web, smtp = settings.web, settings.channels.email.smtp
    if not web.enabled:
        return
    public = not is_loopback(web.host)
    if public and web.console and web.public_url is None:
        yield Finding(
            ("web.public_url", "web.host"),
            "missing: web.host is not loopback, and nobody could sign in to the console safely",
            "the https address at which people reach it, or console = false",
        )
    elif public and web.public_url is None and not web.allowed_hosts:
        yield Finding(
            ("web.allowed_hosts", "web.host"),
            "missing: web.host is not loopback",
            "the names under which the server is asked, for example executive.example.org",
        )
    listens = settings.channels.email.enabled and smtp.enabled
    if listens and web.port == smtp.port != 0 and web.host == smtp.host:
        yield Finding(("web.port", "channels.email.smtp.port"), "channels.email.smtp.port is the same", "another port")


def _channels(settings: Settings) -> Iterator[Finding]:
    channels = settings.channels
    if not (settings.network_channel or settings.web_chat or channels.email.enabled or channels.terminal.enabled):
        yield Finding(("channels",), "no channel is on: nobody can reach the executive", None, "warning")


def _ledger(settings: Settings) -> Iterator[Finding]:
    ledger, roster = settings.ledger, settings.roster
    for name in ledger.classes:
        if name not in ACTIONS:
            close = nearest(name, ACTIONS)
            hint = f"; did you mean {close}?" if close else ""
            yield Finding((f"ledger.classes.{name}",), f"no class of actions{hint}", f"one of {', '.join(ACTIONS)}")
    named = [
        (f"ledger.classes.{name}.approvers", each) for name, own in ledger.classes.items() for each in own.approvers
    ]
    named += [(f"ledger.departments.{name}.head", own.head) for name, own in ledger.departments.items() if own.head]
    named += [(f"ledger.deputies.{name}", name) for name in ledger.deputies]
    named += [(f"ledger.deputies.{name}.person", own.person) for name, own in ledger.deputies.items() if own.person]
    for key, person in named:
        known = roster.get(person)
        if known is None or known.role == "guest":
            yield Finding((key,), f"{person} is nobody who may decide", "the id of a principal or member of people")
    for name, own in ledger.classes.items():
        if own.two_persons and len(own.approvers) == 1:
            yield Finding(
                (f"ledger.classes.{name}.two_persons", f"ledger.classes.{name}.approvers"),
                "two must say yes and one is named: principals are asked too",
                "two approvers",
                "warning",
            )
