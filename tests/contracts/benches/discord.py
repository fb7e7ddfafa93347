"""Discord: direct messages, and two threads that mentions in one channel open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.gateway.events import PlaceKind
from tests.contracts.bench import ALL_OPS, Can, Draft, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox
from tests.fakes.discord import FakeDiscord, refused
from tests.fakes.faults import CutAfter, CutBefore

BOT, ROBOT = 9001, 900
IDS = {Who.ANN: 101, Who.BEN: 102, Who.GIL: 103, Who.EVE: 666}
GUILD, GENERAL = 100, 200


class DiscordEnd(FarEnd):
    name = channel = "discord"
    can = Can(
        ops=ALL_OPS,
        edits=True,
        deletes=True,
        buttons=True,
        form_fields=5,
        draft=Draft.PLACEHOLDER,
        pauses=True,
        certain=True,
        erases=True,
        depends=True,
        limit=2000,
    )

    def __init__(self) -> None:
        super().__init__()
        self.fake = FakeDiscord(bot=BOT)
        world = self.fake.world
        for who, number in IDS.items():
            world.add_user(number, who.value.title())
        world.add_user(ROBOT, "Robot", bot=True)
        world.add_guild(GUILD, "Acme", [IDS[Who.ANN], IDS[Who.BEN]])
        world.add_channel(GENERAL, GUILD, "general")
        self._payloads: dict[str, dict[str, Any]] = {}
        self._starters: dict[Talk, list[str]] = {}
        """Mentions in the channel, each of which may have become a thread."""

    async def __aenter__(self) -> FarEnd:
        await self.fake.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.fake.__aexit__(None, None, None)

    def settings(self) -> Mapping[str, object]:
        return {
            "enabled": True,
            "token": self.fake.token,
            "base_url": self.fake.base_url,
            "gateway_url": self.fake.gateway_url,
        }

    def address(self, who: Who) -> str:
        return str(IDS[who])

    def handle(self, who: Who) -> object:
        return IDS[who]

    async def meet(self, channel: Any, data_dir: Any) -> None:
        await super().meet(channel, data_dir)
        # The gateway's own order: what is dispatched after the guilds were told comes after them.
        await self.fake.frames.wait(1)

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        world = self.fake.world
        if talk is Talk.DIRECT:
            made = world.dm(IDS[who], text)
        else:
            threads = self._threads(talk)
            made = world.message(threads[-1] if threads else GENERAL, IDS[who], f"<@{BOT}> {text}" if mention else text)
            if not threads and mention:
                self._starters.setdefault(talk, []).append(made["id"])
        ref = f"discord:{made['channel_id']}:{made['id']}"
        self._payloads[ref] = made
        return ref

    def _threads(self, talk: Talk) -> list[str]:
        """A thread that is opened from a message has the message's id."""
        return [one for one in self._starters.get(talk, []) if one in self.fake.world.channels]

    def plain(self, text: str) -> str:
        return text.removeprefix("@Exec ")

    async def edits(self, ref: str, text: str) -> None:
        _, channel, message = ref.split(":")
        self.fake.world.edit(channel, message, text)

    async def deletes(self, ref: str) -> None:
        _, channel, message = ref.split(":")
        self.fake.world.delete(channel, message)

    async def bot_writes(self, text: str) -> None:
        self.fake.world.message(GENERAL, ROBOT, f"<@{BOT}> {text}")

    async def repeats(self, ref: str) -> None:
        self.fake.gateway.dispatch("MESSAGE_CREATE", self._payloads[ref])

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        """Discord acknowledges nothing; what lies behind the channel's cursor is not read back."""
        _, channel, message = ref.split(":")
        return int(await inbox.cursor(f"discord:{channel}") or 0) >= int(message)

    async def joins(self, who: Who, talk: Talk = Talk.GROUP) -> None:
        self.fake.world.add_member(GUILD, IDS[who])

    async def down(self) -> None:
        self.fake.faults.dark = True
        self.fake.gateway.drop()

    async def up(self) -> None:
        self.fake.faults.dark = False

    def pause(self, seconds: int) -> None:
        self.fake.limit("createMessage", seconds)

    def cut(self, *, after: bool) -> None:
        self.fake.faults.plan("createMessage", CutAfter() if after else CutBefore())

    def refuse(self) -> None:
        self.fake.faults.plan("createMessage", refused(50013))

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        world = self.fake.world
        if talk is Talk.DIRECT:
            places = [world.dm_channel(IDS[who])]
        else:
            places = [world.channels[one] for one in self._threads(talk)]
            places += [world.channels[str(GENERAL)]] if talk is Talk.GROUP else []
        return [str(m["content"]) for place in places for m in place.messages.values() if m["author"]["id"] == str(BOT)]

    def signs(self) -> int:
        requests = self.fake.requests
        return requests.count("typing") + requests.count("editMessage")

    async def presses(self, who: Who, ref: str, token: str) -> None:
        _, channel, message = ref.split(":")
        ids = [button["custom_id"] for button in self._buttons(ref)]
        pressed = next((one for one in ids if one.removeprefix("form|") == token), token)
        self.fake.world.press(channel, IDS[who], message, pressed)

    def _buttons(self, ref: str) -> list[dict[str, Any]]:
        _, channel, message = ref.split(":")
        carrier = self.fake.world.channels[channel].messages[message]
        return [button for row in carrier.get("components") or () for button in row["components"]]

    def buttons(self, ref: str) -> list[str]:
        return [button["label"] for button in self._buttons(ref)]

    def form(self, who: Who, talk: Talk = Talk.DIRECT) -> dict[str, str] | None:
        opened = [one["acknowledged"] for one in self.fake.world.interactions.values()]
        forms = [one["data"] for one in opened if one is not None and one["type"] == 9]
        return {one["label"]: one["component"].get("value", "") for one in forms[-1]["components"]} if forms else None

    async def sends_form(self, who: Who, values: Mapping[str, str], talk: Talk = Talk.DIRECT) -> None:
        self.fake.world.fill(IDS[who], dict(values))

    def responses(self) -> list[str]:
        return [str(one["content"]) for known in self.fake.world.interactions.values() for one in known["shown"]]

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        if talk is Talk.DIRECT:
            return f"discord:dm:{IDS[Who.ANN]}"
        return f"discord:{GUILD}:{ref.rpartition(':')[2]}"

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        if talk is Talk.DIRECT:
            return f"discord:dm:{IDS[Who.ANN]}", PlaceKind.DIRECT
        return f"discord:{GUILD}:{GENERAL}", PlaceKind.CHANNEL
