"""The kinds of values that settings take, each with the words that say what is allowed.

A validator here never repeats what it was given: a secret that was pasted into the wrong key must not be printed.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr


@dataclass(frozen=True, slots=True)
class Allowed:
    """Put beside a type: what may be given, as a phrase. `unit` is for lists: "a list of <unit>s"."""

    text: str


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?\s*", re.ASCII)
_LONGEST = timedelta(days=3650)


def duration(value: object) -> object:
    """ "90", "90s", "1.5h", "7d" as a timedelta; everything else as it came (pydantic reads numbers and ISO 8601)."""
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value)):
        seconds = float(match["number"]) * _UNITS[match["unit"] or "s"]
        if seconds > _LONGEST.total_seconds():
            raise ValueError("longer than ten years")
        return timedelta(seconds=seconds)
    return value


def duration_text(value: timedelta) -> str:
    """The shortest way to write `value` that `duration` reads back: "20m", "1.5s"."""
    seconds = value.total_seconds()
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{int(seconds // _UNITS[unit])}{unit}"
    return f"{seconds:g}s"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("not a time zone that this machine knows") from None
    return name


def _mail(address: str) -> str:
    local, at, domain = address.rpartition("@")
    if not at or not local or not _HOST_NAME.fullmatch(domain) or not local.isprintable() or set(local) & set(' <>,;"'):
        raise ValueError("not a mail address")
    return address


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError("not an address of a web server") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not text.isprintable() or " " in text:
        raise ValueError("not an address of a web server")
    if parts.username is not None or parts.password is not None:
        raise ValueError("names a user or a password: they do not belong into an address")
    if parts.query or parts.fragment:
        raise ValueError("ends in a query or a fragment: give the address up to the path")
    return text.rstrip("/")


def _secret(value: SecretStr) -> SecretStr:
    text = value.get_secret_value().strip()
    if not text:
        raise ValueError("empty: give it, or leave the key out")
    if not text.isprintable():
        raise ValueError("holds a line break or another control character")
    return SecretStr(text)


_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_-]{1,63})*\.?", re.ASCII
)


def _host(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not _HOST_NAME.fullmatch(text):
            raise ValueError("not a host name or an IP address") from None
    return text


def _slack_team(text: str) -> str:
    if not re.fullmatch(r"T[A-Z0-9]{2,20}", text):
        raise ValueError("no workspace id")
    return text


def _domain(text: str) -> str:
    if not _HOST_NAME.fullmatch(text):
        raise ValueError("not a domain")
    return text.lower().rstrip(".")


def _host_header(text: str) -> str:
    match = re.fullmatch(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^:]*)(?::(?P<port>\d{1,5}))?", text)
    if match is None:
        raise ValueError("not a host name or an IP address; an IPv6 address stands in brackets")
    _host(match["name"].strip("[]"))
    if match["port"] is not None and not 0 < int(match["port"]) <= 65535:
        raise ValueError("the port is out of range")
    return text.lower()


def split_nameserver(text: str) -> tuple[str, int]:
    """(address, port) of "9.9.9.9", "127.0.0.1:5353", "2620:fe::fe" or "[::1]:5353". ValueError if it is none."""
    address, port = text, "53"
    if match := re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::(\d{1,5}))?|([0-9.]+):(\d{1,5})", text):
        address = match[1] or match[3]
        port = match[2] or match[4] or "53"
    if not 0 < int(port) <= 65535:
        raise ValueError("the port is out of range")
    try:
        return str(ipaddress.ip_address(address)), int(port)
    except ValueError:
        raise ValueError("not an IP address, alone or with a port") from None


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "https" or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("not an https address without a path")
    _host_header(parts.netloc)
    return f"https://{parts.netloc.lower()}"


def _nameserver(text: str) -> str:
    split_nameserver(text)
    return text


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise ValueError("not a network") from None


def is_loopback(host: str) -> bool:
    """Whether a server bound to `host` is reached from this machine only."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _none(value: object) -> object:
    return None if value in ("", "none") else value


TimeZone = Annotated[str, AfterValidator(_zone), Allowed("an IANA time zone, for example Europe/Berlin")]
Port = Annotated[int, Field(ge=0, le=65535)]
Role = Literal["principal", "member", "guest"]
Mail = Annotated[str, AfterValidator(_mail), Allowed("a mail address such as anna@example.org")]
Url = Annotated[str, AfterValidator(_url), Allowed("an address such as https://host or http://127.0.0.1:9000/path")]
Host = Annotated[str, AfterValidator(_host), Allowed("a host name or an IP address")]
HostHeader = Annotated[
    str, AfterValidator(_host_header), Allowed("a host name or an IP address, with a port if it has one")
]
Origin = Annotated[
    str, AfterValidator(_origin), Allowed("an https address without a path, such as https://executive.example.org")
]
SlackTeam = Annotated[
    str,
    AfterValidator(_slack_team),
    Allowed("a Slack workspace id such as T012AB3CD (in the address of the web client)"),
]
Domain = Annotated[str, AfterValidator(_domain), Allowed("a domain such as example.org")]
Network = Annotated[
    str, AfterValidator(_network), Allowed("an IP address or a network such as 10.1.0.0/16 or fd00::/8")
]
NameServer = Annotated[str, AfterValidator(_nameserver), Allowed("an IP address, alone or with a port")]
Secret = Annotated[SecretStr, AfterValidator(_secret), Allowed("text on one line")]
Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    Field(gt=timedelta(0), le=_LONGEST),
    Allowed('a time longer than 0, such as "90s", "20m", "2h", a number of seconds, or ISO 8601'),
]
Wait = Annotated[
    timedelta,
    BeforeValidator(duration),
    Field(ge=timedelta(0), le=_LONGEST),
    Allowed('a time, such as "1.5s", "20m", 0, a number of seconds, or ISO 8601'),
]
LocalTime = Annotated[
    str, Field(pattern=r"\A([01][0-9]|2[0-3]):[0-5][0-9]\z"), Allowed('a local time from "00:00" to "23:59"')
]
PersonKey = Annotated[
    str,
    Field(pattern=r"\A[a-z0-9][a-z0-9_-]{0,39}\z"),
    Allowed("an id of small letters, digits, - and _, at most 40 characters"),
]
SpecialistKey = Annotated[
    str,
    Field(pattern=r"\A[a-z][a-z0-9_]{0,30}\z"),
    Allowed("a name of small letters, digits and _, at most 31 characters"),
]
DocumentAudience = Annotated[
    str,
    Field(pattern=r"\A(public|company|department:[^\s:][^:\x00-\x1f]{0,79})\z"),
    Allowed('"public", "company" or "department:" and its name'),
]
ModelKey = Annotated[str, Field(min_length=1, max_length=120), Allowed("a model's name as the provider spells it")]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), Allowed("US dollars, 0 or more")]
OptionalName = Annotated[str | None, BeforeValidator(_none), Allowed('text, or "none"')]
"""For a key whose default is a name: TOML has no null."""
FilePath = Annotated[Path, Allowed("a path; ~ and paths relative to the settings file are understood")]
