"""Slack: direct messages, and two threads in one channel."""

from __future__ import annotations

from collections.abc import Mapping

from bot.gateway.events import PlaceKind
from tests.contracts.bench import ALL_OPS, Can, Draft, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox
from tests.fakes.faults import Answer, CutAfter, CutBefore
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_world import BOT_USER, TEAM

IDS = {Who.ANN: "U0ANN00001", Who.BEN: "U0BEN00001", Who.GIL: "U0GIL00001", Who.EVE: "U0EVE00001"}
ROBOT = "U0ROBOT001"
ROOM = "C0ROOM0001"


class SlackEnd(FarEnd):
    name = channel = "slack"
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
        limit=4000,
    )

    def __init__(self) -> None:
        super().__init__()
        self.fake = FakeSlack(retries=(0.2, 0.6, 2.0))
        world = self.fake.world
        for who, user in IDS.items():
            world.add_user(user, who.value.title())
        world.add_user(ROBOT, "Robot", is_bot=True)
        world.add_conversation(ROOM, "channel", "general", [IDS[Who.ANN], IDS[Who.BEN]])
        self._roots: dict[Talk, str] = {}
        self.more: dict[str, object] = {}
        """Settings beyond what every test needs."""

    async def __aenter__(self) -> FarEnd:
        await self.fake.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.fake.__aexit__(None, None, None)

    def settings(self) -> Mapping[str, object]:
        return {
            "enabled": True,
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "base_url": self.fake.base_url,
            **self.more,
        }

    def address(self, who: Who) -> str:
        return IDS[who]

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        world = self.fake.world
        if talk is Talk.DIRECT:
            event = world.direct_message(IDS[who], text)
        else:
            said = f"<@{BOT_USER}> {text}" if mention else text
            event = world.message(ROOM, IDS[who], said, thread_ts=self._roots.get(talk))
            if mention:
                self._roots.setdefault(talk, event["ts"])
        return f"slack:{TEAM}:{event['channel']}:{event['ts']}"

    def plain(self, text: str) -> str:
        return text.removeprefix("@executive ")

    async def edits(self, ref: str, text: str) -> None:
        _, _, channel, ts = ref.split(":")
        self.fake.world.edit(channel, ts, text)

    async def deletes(self, ref: str) -> None:
        _, _, channel, ts = ref.split(":")
        self.fake.world.delete(channel, ts)

    async def bot_writes(self, text: str) -> None:
        self.fake.world.message(ROOM, ROBOT, f"<@{BOT_USER}> {text}", extra={"bot_id": "B0ROBOT001"})

    async def repeats(self, ref: str) -> None:
        ts = ref.rpartition(":")[2]
        sent = self.fake.sent.of("events_api")
        payloads = [one.body["payload"] for one in sent if one.body["payload"]["event"].get("ts") == ts]
        self.fake.sockets.repeat(payloads[0]["event_id"])

    async def insist(self) -> None:
        self.fake.sockets.redeliver()

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        ts = ref.rpartition(":")[2]
        return not any(one.payload.get("event", {}).get("ts") == ts for one in self.fake.sockets.waiting)

    async def joins(self, who: Who, talk: Talk = Talk.GROUP) -> None:
        self.fake.world.join(ROOM, IDS[who])

    async def down(self) -> None:
        self.fake.faults.dark = True
        self.fake.sockets.cut()

    async def up(self) -> None:
        self.fake.faults.dark = False

    def pause(self, seconds: int) -> None:
        self.fake.faults.plan("chat.postMessage", Answer(429, retry_after=seconds))

    def cut(self, *, after: bool) -> None:
        self.fake.faults.plan("chat.postMessage", CutAfter() if after else CutBefore())

    def refuse(self) -> None:
        self.fake.faults.plan("chat.postMessage", Answer(200, "is_archived"))

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        channel = self.fake.world.direct(IDS[who]).id if talk is Talk.DIRECT else ROOM
        messages = self.fake.world.conversations[channel].messages
        root = None if talk is Talk.DIRECT else self._roots.get(talk)
        return [
            self.fake.shown(channel, ts)
            for ts, m in messages.items()
            if m.get("user") == BOT_USER and (talk is not Talk.OTHER or m.get("thread_ts") == root)
            and (talk is not Talk.GROUP or m.get("thread_ts") in (root, None))
        ]  # fmt: skip

    def signs(self) -> int:
        requests = self.fake.requests
        return requests.count("chat.update") + requests.count("assistant.threads.setStatus")

    async def presses(self, who: Who, ref: str, token: str) -> None:
        _, _, channel, ts = ref.split(":")
        self.fake.press(channel, IDS[who], ts, token)

    def buttons(self, ref: str) -> list[str]:
        _, _, channel, ts = ref.split(":")
        blocks = self.fake.world.conversations[channel].messages[ts].get("blocks") or ()
        return [one["text"]["text"] for block in blocks if block["type"] == "actions" for one in block["elements"]]

    def form(self, who: Who, talk: Talk = Talk.DIRECT) -> dict[str, str] | None:
        views = self.fake.methods.views
        if not views:
            return None
        return {one["label"]["text"]: one["element"].get("initial_value", "") for one in views[-1]["blocks"]}

    async def sends_form(self, who: Who, values: Mapping[str, str], talk: Talk = Talk.DIRECT) -> None:
        channel = self.fake.world.direct(IDS[who]).id if talk is Talk.DIRECT else ROOM
        self.fake.submit(channel, IDS[who], dict(values))

    def responses(self) -> list[str]:
        return [str(one.body["text"]) for one in self.fake.effects.of("respond")]

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        return ref.rpartition(":")[0] if talk is Talk.DIRECT else ref

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        if talk is Talk.DIRECT:
            return f"slack:{TEAM}:{self.fake.world.direct(IDS[Who.ANN]).id}", PlaceKind.DIRECT
        return f"slack:{TEAM}:{ROOM}", PlaceKind.CHANNEL
