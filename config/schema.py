"""Every setting, frozen. Descriptions are the documentation: the file that `openexecutive init` writes and
`docs/settings.md` are made from them. What concerns more than one key stands in `config.rules`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from config.ledger import Ledger
from config.memory import Memory
from config.prices import LIST_PRICES
from config.section import Section
from config.types import (
    Allowed,
    DocumentAudience,
    Domain,
    Duration,
    FilePath,
    Host,
    HostHeader,
    LocalTime,
    Mail,
    ModelKey,
    NameServer,
    Network,
    OptionalName,
    Origin,
    PersonKey,
    Port,
    Role,
    Secret,
    SlackTeam,
    SpecialistKey,
    TimeZone,
    Url,
    Wait,
    is_loopback,
)
from config.upkeep import Backup, Budget, Price, Retention


class Person(Section):
    """One person of the roster: `[people.<id>]`. The id is yours to choose and stays; everything else may change."""

    name: str = Field(description="as the executive says it", min_length=1, max_length=80)
    role: Role = Field("member", description="principal decides about people, rooms and approvals")
    departments: tuple[str, ...] = Field((), description="departments the person belongs to")
    time_zone: TimeZone = Field("UTC", description="when left out: the company's")
    quiet_hours: tuple[LocalTime, LocalTime] | None = Field(
        None, description='no unsolicited messages between these local times, for example ["20:00", "07:30"]'
    )
    email: tuple[Mail, ...] = Field((), description="mail addresses the person writes from")
    telegram: tuple[Annotated[int, Field(gt=0)], ...] = Field(
        (), description="numeric Telegram user ids (not user names: names change hands)"
    )

    discord: tuple[Annotated[int, Field(gt=0)], ...] = Field((), description="numeric Discord user ids")
    slack: tuple[Annotated[str, Field(pattern=r"^[UW][A-Z0-9]{5,}$")], ...] = Field(
        (), description="Slack member ids, for example U012AB3CD"
    )

    def handles(self, key: str) -> dict[str, tuple[str, ...]]:
        """The person's addresses by channel; on this machine's terminal and in the console everyone is called by their
        id."""
        return {
            "email": self.email,
            "telegram": tuple(str(number) for number in self.telegram),
            "discord": tuple(str(number) for number in self.discord),
            "slack": self.slack,
            "terminal": (key,),
            "web": (key,),
        }


class Company(Section):
    """The company that the executive works for."""

    name: str = Field("the company", description="as the executive says it", min_length=1, max_length=120)
    time_zone: TimeZone = Field("UTC", description="for people without one of their own")


BUILT_IN_SPECIALISTS = ("board", "counsel", "finance", "marketing", "operations", "people", "product", "strategy")


class Specialist(Section):
    """One field that the executive consults before it answers: `[specialists.<name>]`. Eight come with the program:
    board, counsel, finance, marketing, operations, people, product, strategy; what is left out of one of them stays as
    it is. Any other name adds one, which needs title, when and a charter."""

    enabled: bool = Field(True, description="false: it is never consulted")
    title: str | None = Field(None, description="the field's name", min_length=1, max_length=60)
    when: str | None = Field(
        None, description="what it is consulted about; the executive chooses by this", min_length=1, max_length=1_000
    )
    tier: Literal["light", "standard", "deep"] | None = Field(
        None, description="which of llm.models thinks (deep: at length); when left out: its charter's, else standard"
    )
    charter: str | None = Field(
        None,
        description="what it knows, asks for, never does, and how it answers, in place of the charter it comes with",
        min_length=1,
        max_length=20_000,
    )
    charter_file: FilePath | None = Field(None, description="the same as a file in UTF-8 (at most 20 kB)")
    domains: tuple[str, ...] | None = Field(None, description="domains of knowledge that it may look into")
    departments: tuple[str, ...] | None = Field(None, description="departments whose field it is")


class Models(Section):
    """Names of models. Each has a fallback that is asked when it is overloaded or unavailable."""

    orchestrator: str = Field("claude-opus-5-5", description="answers people", min_length=1)
    orchestrator_fallback: OptionalName = Field(
        "claude-sonnet-5-5", description='asked when the first is unavailable; "none": nobody is'
    )
    standard: str = Field("claude-sonnet-5-5", description="specialists of tier standard", min_length=1)
    standard_fallback: OptionalName = Field(
        "claude-haiku-5-5", description='asked when that is unavailable; "none": nobody is'
    )
    deep: str = Field("claude-opus-5-5", description="specialists of tier deep, with thinking", min_length=1)
    deep_fallback: OptionalName = Field(
        "claude-sonnet-5-5", description='asked when that is unavailable; "none": nobody is'
    )
    light: str = Field("claude-haiku-5-5", description="small questions: whether a room speaks to me", min_length=1)
    light_fallback: OptionalName = Field("none", description='asked when that is unavailable; "none": nobody is')


class Llm(Section):
    """The model that writes answers."""

    provider: Literal["auto", "anthropic", "offline"] = Field(
        "auto",
        description="auto: anthropic when api_key or base_url is set, else offline; "
        "offline: fixed rules, no network, no account",
    )
    api_key: Secret | None = Field(None, description="the environment variable ANTHROPIC_API_KEY is honoured too")
    base_url: Url | None = Field(None, description="another server that speaks the Messages API")
    models: Models = Models()
    max_tokens: int = Field(4096, ge=256, le=64000, description="longest answer, in tokens")
    timeout: Duration = Field(timedelta(minutes=5), description="one model call, retries included")
    consult_timeout: Duration = Field(
        timedelta(minutes=3), description="longest that a specialist is waited for; the answer then goes without it"
    )
    history_tokens: int = Field(
        60_000, ge=2_000, description="largest share of a prompt that history may take, in tokens"
    )
    prices: Annotated[
        dict[ModelKey, Price], Allowed("a table per model: [llm.prices.<model>] with input and output")
    ] = Field(default_factory=dict, description="prices and context windows of models")

    @property
    def offline(self) -> bool:
        """Answers are made here, by fixed rules."""
        return self.provider == "offline" or (
            self.provider == "auto" and self.api_key is None and self.base_url is None
        )

    @property
    def known_prices(self) -> dict[str, Price]:
        """What is known of models: those of `prices`, over the defaults."""
        return {name: Price(**values) for name, values in LIST_PRICES.items()} | self.prices


class Telegram(Section):
    """Telegram, through a bot of your own."""

    enabled: bool = Field(False, description="receive and send through Telegram")
    token: Secret | None = Field(None, description="the bot's token, from @BotFather")
    base_url: Url = Field("https://api.telegram.org", description="or a self-hosted Bot API server")
    mode: Literal["poll", "webhook"] = Field(
        "poll", description="poll asks Telegram; webhook is called by it and needs public_url and webhook_secret"
    )
    public_url: Url | None = Field(None, description="https address that reaches this daemon's web port")
    webhook_secret: Secret | None = Field(
        None, description="1 to 256 letters, digits, _ and -; Telegram sends it along with every update"
    )
    poll_timeout: Duration = Field(timedelta(seconds=30), description="how long one poll waits for an update")
    max_download: int = Field(
        20_000_000, ge=0, description="largest file that is fetched, in bytes (api.telegram.org gives 20 MB at most)"
    )


class Discord(Section):
    """Discord, through a bot application of your own."""

    enabled: bool = Field(False, description="receive and send through Discord")
    token: Secret | None = Field(None, description="the bot's token, from the Discord developer portal")
    base_url: Url = Field("https://discord.com/api/v10", description="the REST API, or a proxy of it")
    gateway_url: str | None = Field(None, description="websocket address; when left out, what the REST API names")
    answer: Literal["thread", "in_place"] = Field(
        "thread", description="whether a mention in a channel opens a thread or is answered in the channel"
    )
    guilds: tuple[Annotated[int, Field(gt=0)], ...] = Field(
        (), description="servers whose slash commands are registered at once; when left out, everywhere, within an hour"
    )
    read_back_days: int = Field(7, ge=0, le=30, description="threads used within so many days are read after a gap")
    max_download: int = Field(20_000_000, ge=0, description="largest file that is fetched, in bytes")


class Slack(Section):
    """Slack, through an app of your own in Socket Mode."""

    enabled: bool = Field(False, description="receive and send through Slack")
    bot_token: Secret | None = Field(None, description="xoxb-…, of the app's installation")
    app_token: Secret | None = Field(None, description="xapp-…, with the scope connections:write")
    company_team: SlackTeam | None = Field(
        None,
        description="id of the workspace that is the company's own: its full members may write and count as the "
        "company without an entry in people",
    )
    base_url: Url = Field("https://slack.com/api", description="the Web API, or a proxy of it")
    read_back_days: int = Field(7, ge=0, le=30, description="threads used within so many days are read after a gap")
    max_download: int = Field(20_000_000, ge=0, description="largest file that is fetched, in bytes")


class Smtp(Section):
    """Where mail comes in."""

    enabled: bool = Field(True, description="listen for mail; false where all of it comes from a mailbox (imap)")
    host: Host = Field("127.0.0.1", description="address to listen on")
    port: Port = Field(2525, description="0 picks one and prints it")
    hostname: Host = Field("localhost", description="name in the greeting")
    certificate: FilePath | None = Field(None, description="file with the certificate chain (PEM); turns STARTTLS on")
    key: FilePath | None = Field(None, description="file with the certificate's private key (PEM)")
    max_size: int = Field(26_214_400, ge=65_536, description="largest mail that is taken, in bytes")
    trusted_peers: tuple[Network, ...] = Field(
        ("127.0.0.0/8", "::1/128"),
        description="mail servers of your own that hand mail on to this one: their Authentication-Results may be "
        "believed, and they are never made to write a bounce to a stranger",
    )


class Imap(Section):
    """A mailbox of the executive's own as a way in: for who owns a mailbox and no mail server. Off without a host."""

    host: Host | None = Field(None, description="your provider's server for reading mail")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(993, description="993 goes with tls, 143 with starttls")
    security: Literal["tls", "starttls", "none"] = Field("tls", description="none: only to this machine itself")
    username: str | None = Field(None, description="when left out: channels.email.address", min_length=1)
    auth: Literal["password", "oauth"] = Field(
        "password", description="oauth: by channels.email.oauth, after `openexecutive mail login`"
    )
    password: Secret | None = Field(None, description="of the login (many providers want one made for one app)")
    folder: str = Field("INBOX", description="folder that is read", min_length=1)
    processed: OptionalName = Field(
        "Executive", description='folder that mail is moved to once it is safely kept here; "none": it stays'
    )
    sent: OptionalName = Field("Sent", description='folder that gets a copy of every answer; "none": no copies')
    only_new: bool = Field(
        True, description="leave alone what lies there at the very first start; false: answer all of it"
    )
    poll: Duration = Field(
        timedelta(minutes=1), description="how often to look where the server does not announce mail by itself"
    )
    max_size: int = Field(
        26_214_400, ge=65_536, description="largest mail that is read, in bytes; of larger ones the header only"
    )
    timeout: Duration = Field(timedelta(seconds=60), description="for each answer of the server")


class OAuth(Section):
    """Login by token instead of password, for imap and relay (RFC 8628, RFC 6749)."""

    client_id: str | None = Field(None, description="of the app registered with your provider", min_length=1)
    client_secret: Secret | None = Field(None, description="where the provider gives one to such apps")
    device_url: Url | None = Field(None, description="the provider's device authorization endpoint")
    token_url: Url | None = Field(None, description="the provider's token endpoint")
    scope: str | None = Field(None, description="what is asked for, separated by spaces", min_length=1)


class Relay(Section):
    """Where mail goes out. Without a host, replies go to the Maildir `<data_dir>/maildir`."""

    host: Host | None = Field(None, description="your provider's server for outgoing mail")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(587, description="587 goes with starttls, 465 with tls")
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="none: only to this machine itself")
    username: str | None = Field(None, description="when the relay asks for a login", min_length=1)
    auth: Literal["password", "oauth"] = Field(
        "password", description="oauth: by channels.email.oauth, after `openexecutive mail login`"
    )
    password: Secret | None = Field(None, description="of the login")
    timeout: Duration = Field(timedelta(seconds=60), description="for each step of a delivery")


class Email(Section):
    """Mail: a small server of our own or a mailbox for what comes in, a relay or a Maildir for what goes out."""

    enabled: bool = Field(True, description="receive and send mail")
    address: Mail = Field("executive@localhost", description="the executive's own address")
    smtp: Smtp = Smtp()
    imap: Imap = Imap()
    relay: Relay = Relay()
    oauth: OAuth = OAuth()
    proof: Literal["auto", "dmarc", "header"] = Field(
        "auto",
        description="how senders are proven. auto: local mode where it applies, else dmarc; "
        "dmarc: DKIM, SPF and DMARC are checked here; header: the word of the server that authserv_id names",
    )
    authserv_id: str | None = Field(
        None, description="the server whose Authentication-Results are believed", min_length=1
    )
    per_user_from: tuple[Domain, ...] = Field(
        (), description="domains whose server lets nobody write under another's address"
    )
    reply_tokens: bool = Field(
        True,
        description="put a secret of the thread into Reply-To (address+t-…@domain), which proves the answer; needs a "
        "server that delivers address+anything to address",
    )
    reply_all: Literal["asker", "roster"] = Field(
        "asker",
        description="who gets the answer to a mail with several recipients. asker: only who asked; roster: of To and "
        "Cc also those who stand in people, never anybody else",
    )
    max_attachment: int = Field(20_000_000, ge=0, description="largest attachment that is kept, in bytes")
    nameservers: tuple[NameServer, ...] = Field(
        (), description="DNS servers for DKIM, SPF and DMARC; empty: the system's"
    )


class Terminal(Section):
    """`openexecutive chat` on this machine."""

    enabled: bool = Field(True, description="let people of this machine's own account chat in a terminal")
    person: PersonKey | None = Field(None, description="who speaks there; when left out: the first principal")


class WebChat(Section):
    """The chat page of the console. It is there where the console is (`web.console`)."""

    enabled: bool = Field(True, description="let people who are signed in to the console chat there")
    max_upload: int = Field(20_000_000, ge=0, description="largest file that is taken from a page, in bytes")


class Channels(Section):
    """How people reach the executive."""

    discord: Discord = Discord()
    telegram: Telegram = Telegram()
    slack: Slack = Slack()
    email: Email = Email()
    terminal: Terminal = Terminal()
    web: WebChat = WebChat()


class Web(Section):
    """One server for the console, the API, probes (`/live`, `/health`), and channels that their platform calls."""

    enabled: bool = Field(True, description="serve it")
    host: Host = Field("127.0.0.1", description="address to listen on; any but loopback needs public_url")
    port: Port = Field(8321, description="0 picks one and prints it")
    allowed_hosts: tuple[HostHeader, ...] = Field(
        (), description="names under which the server may be asked, besides loopback's"
    )
    console: bool = Field(True, description="serve the pages for people, and not only API, probes and webhooks")
    public_url: Origin | None = Field(
        None, description="https address under which people reach the console; sign-in links are sent only with one"
    )


class Intake(Section):
    """What happens to a message before it becomes a turn."""

    stale_after: Duration = Field(
        timedelta(hours=2), description="chat messages older than this start no turn by themselves"
    )
    album_wait: Wait = Field(timedelta(seconds=1.5), description="how long the pictures of an album are gathered")
    max_text: int = Field(
        100_000, ge=1_000, description="longest message text, in characters; the rest is cut, visibly"
    )
    max_attachment: int = Field(20_000_000, ge=0, description="largest attachment that is kept, in bytes")
    max_attempts: int = Field(3, ge=1, le=10, description="a turn that fails this often is parked")


class Limits(Section):
    """What the daemon does at the same time, and how long it takes to stop."""

    turns: int = Field(16, ge=1, le=256, description="turns at the same time")
    turns_per_person: int = Field(2, ge=1, le=16, description="of these, turns of one person")
    drain: Wait = Field(timedelta(seconds=20), description="how long a stop waits for turns and sends")


class Knowledge(Section):
    """The company's documents, besides the built-in notes on management practice."""

    watch: FilePath | None = Field(
        None, description="a folder whose new and changed files are offered as documents; each waits for a yes"
    )
    watch_audience: DocumentAudience = Field("company", description="who may see what comes from there")
    watch_every: Duration = Field(timedelta(minutes=1), description="how often it is looked at")
    max_file: int = Field(104_857_600, ge=65_536, description="largest document that is taken in, in bytes")
    max_text: int = Field(
        1_500_000,
        ge=10_000,
        description="how much of a document's text is kept, in characters; the rest is cut, visibly",
    )


class Access(Section):
    """Who is let in besides the people named here."""

    pairing_requests: bool = Field(False, description="strangers may ask to be let in; the principal accepts")


class Settings(Section):
    """Everything that may be set."""

    data_dir: FilePath = Field(
        Path("~/.local/share/openexecutive"), description="folder of everything the daemon keeps"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="what is written to the log")
    company: Company = Company()
    people: Annotated[dict[PersonKey, Person], Allowed("a table per person: [people.<id>] with the person's name")] = (
        Field(default_factory=dict, description="the roster; empty: one principal, principal@localhost")
    )
    specialists: Annotated[
        dict[SpecialistKey, Specialist], Allowed("a table per specialist: [specialists.<name>] with what differs")
    ] = Field(default_factory=dict, description="specialists added, switched off or changed")
    access: Access = Access()
    llm: Llm = Llm()
    budget: Budget = Budget()
    retention: Retention = Retention()
    backup: Backup = Backup()
    channels: Channels = Channels()
    web: Web = Web()
    intake: Intake = Intake()
    limits: Limits = Limits()
    knowledge: Knowledge = Knowledge()
    memory: Memory = Memory()
    ledger: Ledger = Ledger()

    @property
    def roster(self) -> dict[str, Person]:
        """The people that the daemon starts with: those of `people`, else one principal who writes mail from this
        machine. A person without a time zone of their own has the company's."""
        if not self.people:
            return {
                "principal": Person(
                    name="Principal", role="principal", email=("principal@localhost",), time_zone=self.company.time_zone
                )
            }
        return {
            key: person
            if "time_zone" in person.model_fields_set
            else person.model_copy(update={"time_zone": self.company.time_zone})
            for key, person in self.people.items()
        }

    @property
    def web_chat(self) -> bool:
        """Whether people chat in the console: it has the page, and is served."""
        return self.channels.web.enabled and self.web.enabled and self.web.console

    @property
    def network_channel(self) -> bool:
        """Whether people reach the executive over the network by more than mail: a chat platform, or a console that is
        reached from elsewhere."""
        channels = self.channels
        away = self.web.public_url is not None or not is_loopback(self.web.host)
        return (
            channels.telegram.enabled or channels.discord.enabled or channels.slack.enabled or (self.web_chat and away)
        )
