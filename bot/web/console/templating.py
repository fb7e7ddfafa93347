"""Templates: everything is escaped, a name that is not there is an error, and what pages write alike is a filter."""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from bot.kernel.days import last

STATIC = resources.files("bot.web.console") / "static"


def environment(company: str, version: str) -> Environment:
    made = Environment(
        loader=PackageLoader("bot.web.console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"company": company, "version": version, "static": static}
    made.filters |= {
        "left": _left,
        "near": _near,
        "at": _at,
        "day": _day,
        "last_day": _last_day,
        "clock": _clock,
        "iso": _iso,
        "count": counted,
        "size": _size,
    }
    return made


@lru_cache
def static(name: str) -> str:
    """Path of a file of ours, which changes with its content: browsers may keep it for ever."""
    return f"/static/{sha256((STATIC / name).read_bytes()).hexdigest()[:12]}/{name}"


def _local(context: Context, value: datetime) -> datetime:
    return value.astimezone(ZoneInfo(context["person"].time_zone))


@pass_context
def _at(context: Context, value: datetime | None) -> str:
    """ "Tue 1 Dec 2026, 14:05", in the person's own zone."""
    if value is None:
        return "never"
    local = _local(context, value)
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M}"


@pass_context
def _day(context: Context, value: datetime | date | None) -> str:
    if value is None:
        return ""
    local = _local(context, value) if isinstance(value, datetime) else value
    return f"{local:%a} {local.day} {local:%b %Y}"


@pass_context
def _last_day(context: Context, end: datetime) -> str:
    """Of an interval that ends, half-open, at this instant."""
    return _day(context, last(end, context["person"].time_zone))


@pass_context
def _clock(context: Context, value: datetime) -> str:
    return f"{_local(context, value):%H:%M}"


@pass_context
def _near(context: Context, value: datetime) -> str:
    """ "today, 14:05", "tomorrow, 08:30", "yesterday, 16:00"; other days like `at`."""
    local, today = _local(context, value), _local(context, context["now"]).date()
    word = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get((local.date() - today).days)
    return _at(context, value) if word is None else f"{word}, {local:%H:%M}"


@pass_context
def _left(context: Context, value: datetime) -> str:
    """How long until then: "3 h 12 min left", as the script of approvals tells it on."""
    minutes = int((value - context["now"]).total_seconds()) // 60
    hours, days = minutes // 60, minutes // 1440
    if minutes < 0:
        return "over"
    if not hours:
        return f"{minutes} min left"
    return f"{hours} h {minutes % 60} min left" if days < 2 else f"{days} days {hours % 24} h left"


def _iso(value: datetime) -> str:
    """For `<time datetime>`."""
    return value.isoformat(timespec="seconds")


def counted(value: int, one: str, many: str | None = None) -> str:
    """ "1 memory", "1,204 memories"."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def _size(value: float) -> str:
    """Bytes, for people."""
    for unit in ("bytes", "kB", "MB"):
        if value < 1_000:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:,.1f} GB"
