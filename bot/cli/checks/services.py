"""Checks of the far ends that settings name. Nothing is sent to anybody and nothing is changed there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.cli.checks.fetch import Reply, UnreachableError, get_json
from bot.cli.checks.finding import Finding, fail, ok, warn
from bot.kernel.values import dataclass
from config.schema import Llm, Relay, Settings, Telegram
from config.types import split_nameserver

if TYPE_CHECKING:
    from dns.resolver import Resolver

ANTHROPIC = "https://api.anthropic.com"
ANTHROPIC_VERSION = "2026-10-21"
MOST_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Known:
    """What the installed SDK says of models: ids it lists, and deprecated ids with the date of their end."""

    models: Callable[[], frozenset[str]]
    retired: Callable[[], Mapping[str, str]]


def _skew(name: str, reply: Reply, now: datetime) -> Iterator[Finding]:
    if reply.date is not None and abs(reply.date - now) > MOST_SKEW:
        minutes = round(abs(reply.date - now).total_seconds() / 60)
        yield fail(
            f"the clock differs from {name}'s by {minutes} minutes", "system clock", "turn time synchronisation on"
        )


def _field(body: object, name: str) -> object:
    return body.get(name) if isinstance(body, dict) else None


# --- Telegram -------------------------------------------------------------------------------------------------------


def telegram(settings: Telegram, now: datetime, timeout: float) -> Iterator[Finding]:
    """The token by getMe, and what getWebhookInfo says of who receives (Bot API: polling does not work while a
    webhook is set)."""
    if not settings.enabled or settings.token is None:
        return
    base = f"{settings.base_url}/bot{settings.token.get_secret_value()}"
    where = f"channels.telegram ({urlsplit(settings.base_url).netloc})"
    try:
        me = get_json(f"{base}/getMe", {}, timeout)
        result = _field(me.body, "result")
        if me.status != 200 or not isinstance(result, dict):
            yield _telegram_refused(me, where)
            return
        yield ok(f"Telegram bot @{result.get('username')}")
        yield from _skew("Telegram", me, now)
        hook = get_json(f"{base}/getWebhookInfo", {}, timeout)
    except UnreachableError as error:
        yield fail(
            f"Telegram cannot be reached: {error}", where, "check the network, a proxy, and channels.telegram.base_url"
        )
        return
    info = _field(hook.body, "result")
    if hook.status == 200 and isinstance(info, dict):
        yield from _webhook(settings, info, where)


def _telegram_refused(reply: Reply, where: str) -> Finding:
    match reply.status:
        case 401 | 404 if _field(reply.body, "ok") is False:  # 404: the token does not even look like one
            return fail(
                "Telegram refuses the token",
                "channels.telegram.token",
                "get the token from @BotFather (/mybots, API Token)",
            )
        case 429:
            return warn("Telegram asks to slow down", where, "try again in a minute")
        case status if status >= 500:
            return warn(f"Telegram has trouble (status {status})", where, "try again later")
        case status:
            return fail(
                f"what answers there is no Bot API server (status {status})", where, "check channels.telegram.base_url"
            )


def _webhook(settings: Telegram, info: Mapping[str, object], where: str) -> Iterator[Finding]:
    url = str(info.get("url") or "")
    host = urlsplit(url).netloc
    if settings.mode == "poll" and url:
        yield warn(
            f"updates go to a webhook at {host} now; a start in mode poll removes it and takes them over",
            where,
            "if another program uses this bot, make one of its own for the executive; if the executive is meant to "
            "be called there, set mode to webhook",
        )
    elif settings.mode == "webhook" and url and host != urlsplit(settings.public_url or "").netloc:
        yield warn(
            f"updates go to {host} now; a start will move them to public_url",
            where,
            "if another program uses this bot, make one of its own for the executive",
        )
    elif settings.mode == "webhook" and info.get("last_error_message"):
        yield warn(
            f"Telegram could not deliver to public_url: {str(info['last_error_message'])[:120]}",
            "channels.telegram.public_url",
            "check that this address reaches the daemon's web port from the internet",
        )


# --- the model ------------------------------------------------------------------------------------------------------


def model(settings: Llm, known: Known, now: datetime, timeout: float) -> Iterator[Finding]:
    """The key by GET /v1/models, and the ids of the models by that list and the installed SDK's."""
    if settings.provider == "offline" or (
        settings.provider == "auto" and settings.api_key is None and settings.base_url is None
    ):
        yield ok("answers are written offline (no key, no network)")
        return
    base = settings.base_url or ANTHROPIC
    where = f"llm ({urlsplit(base).netloc})"
    key = settings.api_key.get_secret_value() if settings.api_key is not None else "none"
    headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
    try:
        reply = get_json(f"{base}/v1/models?limit=1000", headers, timeout)
    except UnreachableError as error:
        yield fail(
            f"the model's server cannot be reached: {error}", where, "check the network, a proxy, and llm.base_url"
        )
        return
    served = _served(reply)
    match reply.status:
        case 200 if served is not None:
            yield ok(
                "the model's server takes the key" if settings.api_key is not None else "the model's server answers"
            )
            yield from _skew("the model's server", reply, now)
        case 401 | 403:
            yield fail("the model's server refuses the key", "llm.api_key", "make a new key in the provider's console")
            return
        case 429 | 529:
            yield warn("the model's server is overloaded or over its limit", where, "try again in a minute")
        case status if status >= 500:
            yield warn(f"the model's server has trouble (status {status})", where, "try again later")
        case _ if settings.base_url is not None:
            yield warn("the server lists no models, so their names are not checked", where, "check llm.base_url")
            return
        case status:
            yield fail(f"the model's server answers with status {status}", where, "check llm.base_url and the key")
            return
    yield from _models(settings, served, known)


def _served(reply: Reply) -> frozenset[str] | None:
    data = _field(reply.body, "data")
    if reply.status != 200 or not isinstance(data, list):
        return None
    return frozenset(str(_field(item, "id")) for item in data)


def _models(settings: Llm, served: frozenset[str] | None, known: Known) -> Iterator[Finding]:
    own_server = settings.base_url is not None
    listed = known.models() if not own_server or served is None else frozenset()
    retired = known.retired()
    names = [
        ("orchestrator", settings.models.orchestrator),
        ("orchestrator_fallback", settings.models.orchestrator_fallback),
    ]
    for role, name in names:
        where = f"llm.models.{role}"
        if name is None:
            continue
        if name in retired:
            yield warn(f"the model {name} ends on {retired[name]}", where, "name a newer one")
        elif name not in listed and name not in (served or ()):
            offered = ", ".join(sorted(served or listed)[:8])
            yield warn(
                f"nobody lists a model {name}", where, f"name one of: {offered}" if offered else "check its name"
            )
        else:
            yield ok(f"model {name}")


# --- mail -----------------------------------------------------------------------------------------------------------


async def relay(
    settings: Relay, timeout: float, tls: ssl.SSLContext | None = None, token: str | None = None
) -> list[Finding]:
    """Connect, greet, encrypt and log in as a delivery would; no mail. `tls` replaces the system's trust. A login by
    token is tried only with a `token`."""
    if settings.host is None or (settings.auth == "oauth" and token is None):
        return []
    import aiosmtplib  # only who has a relay needs it

    where = f"channels.email.relay ({settings.host}:{settings.port})"
    client = aiosmtplib.SMTP(
        hostname=settings.host,
        port=settings.port,
        use_tls=settings.security == "tls",
        start_tls=settings.security == "starttls",
        timeout=timeout,
        tls_context=tls,
    )
    try:
        async with asyncio.timeout(4 * timeout):
            await client.connect()
            await client.ehlo()
            if settings.username is not None and settings.auth == "oauth" and token is not None:
                await client.auth_xoauth2(settings.username, token)
            elif settings.username is not None and settings.password is not None:
                await client.login(settings.username, settings.password.get_secret_value())
            await client.quit()
    except aiosmtplib.SMTPAuthenticationError as error:
        mend = "check username and password (many providers want a password made for one app)"
        return [fail(f"the relay refuses the login ({error.code})", where, mend)]
    except ssl.SSLError as error:
        return [_relay_tls(error, where)]
    except aiosmtplib.SMTPException as error:
        if isinstance(error.__cause__, ssl.SSLError):
            return [_relay_tls(error.__cause__, where)]
        return [_relay_failed(settings, error, where)]
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or "no answer in time"
        return [fail(f"the relay cannot be reached: {reason}", where, "check host, port and the network")]
    finally:
        client.close()
    return [ok(f"relay {settings.host} takes the login" if settings.username else f"relay {settings.host} answers")]


def _relay_tls(error: ssl.SSLError, where: str) -> Finding:
    reason = getattr(error, "verify_message", None) or (error.reason or "not TLS").replace("_", " ").lower()
    mend = "check the host's name in its certificate, and whether port and security fit (587 starttls, 465 tls)"
    return fail(f"no encrypted connection to the relay: {reason}", where, mend)


def _relay_failed(settings: Relay, error: Exception, where: str) -> Finding:
    text = type(error).__name__.removeprefix("SMTP").lower()
    match text:
        case "connecttimeouterror" | "readtimeouterror" | "timeouterror":
            reason = "no answer in time"
        case "connecterror" | "serverdisconnected" | "connectresponseerror":
            reason = getattr(error.__cause__, "strerror", None) or "the connection failed"
        case _:
            reason = "the server does not offer what is asked for"
    mend = f'check host and port, and whether security = "{settings.security}" fits (587 starttls, 465 tls)'
    return fail(f"the relay cannot be used: {reason}", where, mend)


def sender_proof(settings: Settings, local_mode: bool, timeout: float) -> Iterator[Finding]:
    """Whether the records that prove senders can be read, for the domains that people write from. DMARC records are
    looked for at the domain and its parents (RFC 7489 s6.6.3)."""
    email = settings.channels.email
    if not email.enabled or local_mode or email.proof == "header":
        return
    addresses = [address for person in settings.roster.values() for address in person.email]
    domains = dict.fromkeys(address.rpartition("@")[2].lower() for address in addresses)
    asked = [domain for domain in domains if domain != "localhost"][:10]
    if not asked:
        yield ok("nobody in people writes from another machine: no sender needs proof")
        return
    import dns.exception
    import dns.resolver

    where = f"channels.email.nameservers ({', '.join(email.nameservers) or 'the system has its own'})"
    mend = "check the network, or set channels.email.nameservers"
    try:
        resolver = dns.resolver.Resolver(configure=not email.nameservers)
    except dns.resolver.NoResolverConfiguration:
        yield fail("this machine knows no DNS server", where, mend)
        return
    if email.nameservers:
        servers = [split_nameserver(text) for text in email.nameservers]
        resolver.nameservers = [address for address, _ in servers]
        resolver.nameserver_ports = dict(servers)
    resolver.lifetime = timeout
    for domain in asked:
        try:
            found = _dmarc(resolver, domain)
        except dns.exception.DNSException:
            yield fail(f"DNS gives no answer about {domain}", where, mend)
            return
        if found:
            yield ok(f"senders of {domain} can be proven (DMARC)")
        else:
            mend_domain = f"publish a DMARC record at _dmarc.{domain}, or name another address in people"
            yield warn(f"{domain} has no DMARC record: nobody can be proven to write from there", "people", mend_domain)


def _dmarc(resolver: Resolver, domain: str) -> bool:
    import dns.resolver

    labels = domain.split(".")
    for start in range(max(1, len(labels) - 1)):
        try:
            answer = resolver.resolve("_dmarc." + ".".join(labels[start:]) + ".", "TXT")
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            continue
        if any(b"".join(record.strings).lower().startswith(b"v=dmarc1") for record in answer):
            return True
    return False
