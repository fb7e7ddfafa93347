"""A calendar part (RFC 5545, RFC 5546) as a few lines of text. Pure. Nothing here ever accepts an invitation."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bot.kernel.values import dataclass
from channels.email.charset import one_line

NOT_QUESTIONS = frozenset({"REPLY", "CANCEL", "REFRESH", "DECLINECOUNTER"})
"""Methods that tell a person nothing to answer: replies, cancellations, and what calendars ask of each other (RFC 5546
s1.4)."""

_TITLES = {
    "REQUEST": "Calendar invitation",
    "CANCEL": "Calendar: cancelled",
    "REPLY": "Calendar: answer to an invitation",
    "COUNTER": "Calendar: other time proposed",
    "DECLINECOUNTER": "Calendar: proposed time declined",
    "REFRESH": "Calendar: asks for the latest version",
    "PUBLISH": "Calendar entry",
}
_MAX_LINES = 5_000


@dataclass(frozen=True, slots=True)
class Invite:
    method: str
    """Upper case; PUBLISH if the part names none."""
    summary: str
    organizer: str | None
    """Address, lower case."""


@dataclass(frozen=True, slots=True)
class _Property:
    parameters: dict[str, str]
    value: str


def read(text: str, method: str | None = None) -> Invite | None:
    """The first event of a calendar, or None if there is none. `method`: the MIME parameter, if the part has one."""
    lines = re.sub(r"\r?\n[ \t]", "", text).splitlines()[:_MAX_LINES]
    found: dict[str, _Property] = {}
    attendees: list[_Property] = []
    inside: list[str] = []
    for line in lines:
        prop = _property(line)
        if prop is None:
            continue
        name, value = prop
        if name == "BEGIN":
            inside.append(value.value.upper())
        elif name == "END":
            if inside and inside.pop() == "VEVENT":
                break
        elif name == "METHOD" and inside[-1:] == ["VCALENDAR"]:
            method = method or value.value
        elif inside[-1:] == ["VEVENT"]:
            if name == "ATTENDEE":
                attendees.append(value)
            found.setdefault(name, value)
    if not found:
        return None
    method = (method or "PUBLISH").upper()
    organizer = found.get("ORGANIZER")
    return Invite(method, _summary(method, found, attendees), None if organizer is None else _address(organizer))


def _summary(method: str, found: dict[str, _Property], attendees: list[_Property]) -> str:
    lines = [f"{_TITLES.get(method, 'Calendar entry')}: {_text(found.get('SUMMARY')) or '(no title)'}"]
    if when := _when(found):
        lines.append(f"When: {when}" + (" (repeats)" if "RRULE" in found or "RDATE" in found else ""))
    if "RECURRENCE-ID" in found:
        lines.append(f"Only the occurrence of {_time(found['RECURRENCE-ID'])} of a series")
    if where := _text(found.get("LOCATION")):
        lines.append(f"Where: {where}")
    if (organizer := found.get("ORGANIZER")) is not None:
        lines.append(f"Organiser: {_who(organizer)}")
    if method == "REPLY":
        lines += [f"{_who(a)}: {one_line(a.parameters.get('PARTSTAT', 'unknown')).lower()}" for a in attendees[:5]]
    return "\n".join(lines)


def _property(line: str) -> tuple[str, _Property] | None:
    quoted = False
    for index, c in enumerate(line):
        if c == '"':
            quoted = not quoted
        elif c == ":" and not quoted:
            head, value = line[:index], line[index + 1 :]
            break
    else:
        return None
    name, *raw = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)', head[:2_000])
    pairs = (r.partition("=") for r in raw)
    return name.strip().upper(), _Property({k.strip().upper(): v.strip('"') for k, _, v in pairs}, value.strip())


def _text(prop: _Property | None) -> str:
    if prop is None:
        return ""
    return one_line(re.sub(r"\\([\\;,nN])", lambda m: " " if m[1] in "nN" else m[1], prop.value))[:300]


def _when(found: dict[str, _Property]) -> str:
    """Begin, and end or length. Whole days end on the day after the last (RFC 5545 s3.6.1), which nobody says."""
    begin, end = _time(found.get("DTSTART")), _time(found.get("DTEND"))
    if end and (last := _day_before(found["DTEND"])) is not None:
        end = last
        if end == begin:
            return f"{begin} (all day)"
    length = _length(found.get("DURATION")) if not end else ""
    return " to ".join(filter(None, (begin, end))) + (f", for {length}" if begin and length else "")


def _day_before(prop: _Property) -> str | None:
    """Of a date without a time; None for anything else."""
    if not re.fullmatch(r"[0-9]{8}", prop.value.strip()):
        return None
    try:
        day = datetime.strptime(prop.value.strip(), "%Y%m%d").replace(tzinfo=UTC) - timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return f"{day:%Y-%m-%d}"


def _length(prop: _Property | None) -> str:
    """`P1DT1H30M` as `1 d 1 h 30 min` (RFC 5545 s3.3.6)."""
    pattern = r"\+?P(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,4})M)?(?:\d{1,5}S)?)?"
    match = None if prop is None else re.fullmatch(pattern, prop.value.strip(), re.ASCII)
    if match is None:
        return ""
    return " ".join(
        f"{number} {unit}" for number, unit in zip(match.groups(), ("w", "d", "h", "min"), strict=True) if number
    )


def _time(prop: _Property | None) -> str:
    """`2026-02-01 10:00 (Europe/Berlin)`; a time without zone is said to be local (floating, RFC 5545 s3.3.5)."""
    if prop is None:
        return ""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?", prop.value.strip())
    if match is None:
        return one_line(prop.value)[:60]
    year, month, day, hour, minute, zulu = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), tzinfo=UTC)
    except ValueError:
        return one_line(prop.value)[:60]
    if hour is None:
        return f"{moment:%Y-%m-%d}"
    zone = "UTC" if zulu else one_line(prop.parameters.get("TZID", "local time"))[:60]
    return f"{moment:%Y-%m-%d %H:%M} ({zone})"


def _address(prop: _Property) -> str | None:
    value = re.sub(r"\Amailto:", "", prop.value.strip(), flags=re.IGNORECASE)
    return value.lower() if "@" in value else None


def _who(prop: _Property) -> str:
    name, address = one_line(prop.parameters.get("CN", ""))[:80], _address(prop)
    return " ".join(filter(None, (name, f"<{one_line(address)[:120]}>" if address else ""))) or "unknown"
