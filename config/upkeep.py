"""Settings of what things cost and of how long they are kept."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from config.prices import DEFAULT_WINDOW
from config.section import Section
from config.types import Dollars, Duration, FilePath, LocalTime, Secret


class Price(Section):
    """What a model costs, in US dollars for a million tokens, and how much it holds: `[llm.prices.<model>]`. The
    default models have list prices here that you must check against your provider's; every other model needs its own
    (a server of one's own: 0)."""

    input: Dollars = Field(description="tokens that the model reads")
    output: Dollars = Field(description="tokens that it writes, its thinking included")
    cache_read: Dollars | None = Field(None, description="tokens read from the cache; when left out: as input")
    cache_write: Dollars | None = Field(None, description="tokens put into the cache; when left out: twice the input")
    window: int = Field(
        DEFAULT_WINDOW,
        ge=4_000,
        le=10_000_000,
        description="most tokens that a request and its answer may have together",
    )


class Budget(Section):
    """How many US dollars may be spent on the model. A day is the company's (by its time zone). Over a limit nothing is
    asked of the model; whoever asks is told which limit it is and when it ends."""

    company: Dollars = Field(20.0, description="by everybody together, in a day")
    person: Dollars = Field(3.0, description="by one person, in a day")
    scheduled: Dollars = Field(1.0, description="by scheduled work, in a day")
    session: Dollars | None = Field(None, description="in one conversation, in a day")
    company_month: Dollars | None = Field(None, description="by everybody together, in a month")
    person_month: Dollars | None = Field(None, description="by one person, in a month")
    warn_percent: int = Field(80, ge=1, le=100, description="share of a limit at which a warning is given, once")


class Retention(Section):
    """How long is kept what was said, by channel. What is older is erased in the night, with everything derived from
    it; when left out, it is kept until somebody deletes it."""

    discord: Duration | None = Field(None, description="conversations in Discord")
    telegram: Duration | None = Field(None, description="conversations in Telegram")
    slack: Duration | None = Field(None, description="conversations in Slack")
    email: Duration | None = Field(None, description="mail")
    terminal: Duration | None = Field(None, description="conversations in a terminal")
    web: Duration | None = Field(None, description="conversations in the console")
    prompts: Duration = Field(
        timedelta(days=30), description="the exact requests to the model, which `openexecutive explain` shows"
    )


class Backup(Section):
    """Copies of everything that cannot be made anew: what was said, sent and remembered, the audit, the keys. They hold
    for a while what was erased since; the receipt of an erasure says until when."""

    enabled: bool = Field(True, description="make one every night")
    folder: FilePath | None = Field(
        None, description="where they lie, better on another disk; when left out: `backups` in the data folder"
    )
    keep: int = Field(7, ge=1, le=3650, description="how many of them; when there is one more, the oldest is deleted")
    at: LocalTime = Field("02:30", description="when, by the company's time zone")
    passphrase: Secret | None = Field(
        None, description="they are encrypted with it, and lost without it; when left out: they are not encrypted"
    )
