"""Every setting, frozen. Field descriptions are the documentation: `openexecutive.toml` as written by `init`, and
`docs/settings.md`, are made from them. Durations are ISO 8601 or seconds; sizes are bytes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("not an IANA time zone, for example Europe/Berlin")
    return name


TimeZone = Annotated[str, AfterValidator(_zone)]
Port = Annotated[int, Field(ge=0, le=65535)]
Role = Literal["principal", "member", "guest"]


class Person(Section):
    """One person of the roster: `[people.<id>]`."""

    name: str = Field(description="as the executive says it", min_length=1, max_length=80)
    role: Role = Field("member", description="principal decides about people, rooms and approvals")
    departments: tuple[str, ...] = Field((), description="for filters and defaults")
    time_zone: TimeZone = Field("UTC", description="IANA name")
    quiet_hours: tuple[str, str] | None = Field(None, description='local times, for example ["20:00", "07:30"]')
    email: tuple[str, ...] = Field((), description="mail addresses")
    telegram: tuple[int, ...] = Field((), description="numeric user ids (not names: names change hands)")


class Company(Section):
    name: str = Field("the company", description="as the executive says it", max_length=120)
    time_zone: TimeZone = Field("UTC", description="IANA name; for people without one of their own")


class Models(Section):
    """Names of models. Each has a fallback that is asked when it is overloaded or unavailable."""

    orchestrator: str = Field("claude-opus-5-5", description="answers people")
    orchestrator_fallback: str | None = Field("claude-sonnet-5-5", description="asked when the first is unavailable")


class Llm(Section):
    provider: Literal["auto", "anthropic", "offline"] = Field(
        "auto", description="auto: anthropic when a key or a base_url is set, else offline"
    )
    api_key: SecretStr | None = Field(None, description="ANTHROPIC_API_KEY is honoured too")
    base_url: str | None = Field(None, description="another server that speaks the Messages API")
    models: Models = Models()
    max_tokens: int = Field(4096, ge=256, le=64000, description="length of one answer, in tokens")
    timeout: timedelta = Field(timedelta(minutes=5), description="one model call, retries included")
    history_tokens: int = Field(60_000, ge=2_000, description="largest share of a prompt that history may take")


class Telegram(Section):
    enabled: bool = False
    token: SecretStr | None = Field(None, description="from @BotFather")
    base_url: str = Field("https://api.telegram.org", description="or a self-hosted Bot API server")
    mode: Literal["poll", "webhook"] = Field("poll", description="webhook needs public_url and webhook_secret")
    public_url: str | None = Field(None, description="https address that reaches this daemon's web port")
    webhook_secret: SecretStr | None = None
    poll_timeout: timedelta = Field(timedelta(seconds=30), description="long poll")
    max_download: int = Field(20_000_000, description="Bot API getFile: 20 MB")

    @model_validator(mode="after")
    def _complete(self) -> Telegram:
        if self.enabled and self.token is None:
            raise ValueError("enabled, but token is missing: set it, or set enabled = false")
        if self.mode == "webhook" and (self.public_url is None or self.webhook_secret is None):
            raise ValueError("mode is webhook, but public_url or webhook_secret is missing")
        if self.public_url is not None and not self.public_url.startswith("https://"):
            raise ValueError("public_url must start with https:// (the Bot API takes no other)")
        return self


class Smtp(Section):
    """Where mail comes in."""

    host: str = "127.0.0.1"
    port: Port = Field(2525, description="0 picks one and prints it")
    hostname: str = Field("localhost", description="name in the greeting")
    certificate: Path | None = Field(None, description="PEM chain; turns STARTTLS on")
    key: Path | None = Field(None, description="PEM key")
    max_size: int = Field(26_214_400, ge=65_536, description="largest mail")


class Relay(Section):
    """Where mail goes out. Without a host, replies go to the Maildir."""

    host: str | None = None
    port: Port = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: str | None = None
    password: SecretStr | None = None
    timeout: timedelta = timedelta(seconds=60)


class Email(Section):
    enabled: bool = True
    address: str = Field("executive@localhost", description="the executive's own address")
    smtp: Smtp = Smtp()
    relay: Relay = Relay()
    proof: Literal["auto", "dmarc", "header"] = Field(
        "auto",
        description="auto: local mode where it applies, else dmarc; dmarc: checked here; header: authserv_id's word",
    )
    authserv_id: str | None = Field(None, description="the server whose Authentication-Results are believed")
    per_user_from: tuple[str, ...] = Field((), description="domains whose server lets nobody write as another")
    nameservers: tuple[str, ...] = Field((), description="DNS servers for DKIM, SPF and DMARC; empty: the system's")

    @model_validator(mode="after")
    def _complete(self) -> Email:
        if self.proof == "header" and self.authserv_id is None:
            raise ValueError("proof is header, but authserv_id is missing")
        if (self.smtp.certificate is None) != (self.smtp.key is None):
            raise ValueError("smtp.certificate and smtp.key belong together")
        return self


class Terminal(Section):
    enabled: bool = True
    person: str | None = Field(None, description="who speaks in `openexecutive chat`; default: the first principal")


class Channels(Section):
    telegram: Telegram = Telegram()
    email: Email = Email()
    terminal: Terminal = Terminal()


class Web(Section):
    enabled: bool = True
    host: str = "127.0.0.1"
    port: Port = Field(8321, description="0 picks one and prints it")
    allowed_hosts: tuple[str, ...] = Field((), description="names in Host besides loopback's")


class Intake(Section):
    stale_after: timedelta = Field(timedelta(hours=2), description="older chat messages start no turn by themselves")
    album_wait: timedelta = Field(timedelta(seconds=1.5), description="how long an album gathers")
    max_text: int = Field(
        100_000, ge=1_000, description="longest message text, in characters; the rest is cut, visibly"
    )
    max_attachment: int = Field(20_000_000, description="bytes")
    max_attempts: int = Field(3, ge=1, le=10, description="a turn that fails this often is parked")


class Limits(Section):
    turns: int = Field(16, ge=1, le=256, description="turns at the same time")
    turns_per_person: int = Field(2, ge=1, le=16)
    drain: timedelta = Field(timedelta(seconds=20), description="how long a stop waits for turns and sends")


class Access(Section):
    pairing_requests: bool = Field(False, description="strangers may ask to be let in; the principal accepts")


class Settings(Section):
    data_dir: Path = Field(Path("~/.local/share/openexecutive"), description="everything the daemon keeps")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    company: Company = Company()
    people: dict[str, Person] = Field(
        default_factory=dict, description="the roster; empty: one principal, principal@localhost"
    )
    access: Access = Access()
    llm: Llm = Llm()
    channels: Channels = Channels()
    web: Web = Web()
    intake: Intake = Intake()
    limits: Limits = Limits()

    @property
    def telegram_or_other_network_channel(self) -> bool:
        return self.channels.telegram.enabled
