"""Who we are, what is known about the room of an event, and who an account is: what every mapping needs. Pure."""

from __future__ import annotations

from bot.gateway.events import Nature, Place, PlaceKind, Proof, Sender, Thread
from bot.kernel.values import dataclass
from channels.discord.content import Payload, name_of
from channels.discord.keys import direct_key, thread_key


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account, as the platform verified it."""

    id: int
    name: str
    application: int


@dataclass(frozen=True, slots=True)
class Where:
    """What is known about the channel of an event."""

    channel: int
    kind: PlaceKind
    title: str
    guild: int | None = None
    members: int | None = None
    parent: int | None = None
    """Of a thread: the channel it stands in."""
    private: bool = False
    """A thread that only its own members see: a room of its own."""
    ours: bool = False
    """A thread that the executive opened or takes part in."""
    can_open: bool = False
    """Whether the channel is of a kind in which messages can start threads."""
    user: int | None = None
    """Of direct messages: the other one."""
    own_role: int | None = None
    """The role that stands for the bot itself in this guild."""

    @property
    def thread(self) -> Thread:
        if self.guild is None:
            key = direct_key(self.user or 0)
            return Thread(key, key)
        return Thread(thread_key(self.guild, self.channel), self.place_key)

    @property
    def place_key(self) -> str:
        if self.guild is None:
            return direct_key(self.user or 0)
        inside = self.parent if self.parent is not None and not self.private else self.channel
        return thread_key(self.guild, inside)

    @property
    def place(self) -> Place:
        return Place(self.kind, self.title, self.members)


@dataclass(frozen=True, slots=True)
class Rules:
    me: Me
    open_threads: bool
    """Whether a mention in a channel opens a thread; otherwise it is answered in the channel."""
    max_download: int


def account(user: Payload, member: Payload | None, me: Me) -> Sender:
    nature = Nature.SELF if int(user["id"]) == me.id else Nature.BOT if user.get("bot") else Nature.PERSON
    return Sender(str(user["id"]), name_of(user, member), nature, Proof.PLATFORM)
