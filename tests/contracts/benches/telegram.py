"""Telegram: private chats, a group, and a topic of a forum as the other conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.gateway.events import PlaceKind
from tests.contracts.bench import ALL_OPS, Can, Draft, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox
from tests.fakes.faults import Answer, CutAfter, CutBefore
from tests.fakes.telegram import FakeTelegram

IDS = {Who.ANN: 101, Who.BEN: 102, Who.GIL: 103, Who.EVE: 666}
ROBOT = 900
GROUP, FORUM = -1001, -1002


class TelegramEnd(FarEnd):
    name = channel = "telegram"
    can = Can(
        ops=ALL_OPS,
        edits=True,
        buttons=True,
        form_fields=1,
        draft=Draft.OWN,
        pauses=True,
        erases=True,
        depends=True,
        limit=4096,
    )

    def __init__(self) -> None:
        super().__init__()
        self.fake = FakeTelegram()
        world = self.fake.world
        for who, number in IDS.items():
            world.add_user(number, who.value.title())
        world.add_user(ROBOT, "Robot", "some_bot", is_bot=True)
        world.add_chat(GROUP, "supergroup", "Team", members=(IDS[Who.ANN], IDS[Who.BEN]))
        world.add_chat(FORUM, "supergroup", "Forum", is_forum=True, members=(IDS[Who.ANN], IDS[Who.BEN]))
        for who in (Who.ANN, Who.BEN):
            world.chat(IDS[who])  # they have begun a chat; to others a bot cannot write
        self.topic = world.add_topic(FORUM, "Plans", 77)
        self._updates: dict[str, dict[str, Any]] = {}

    async def __aenter__(self) -> FarEnd:
        await self.fake.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.fake.__aexit__(None, None, None)

    def settings(self) -> Mapping[str, object]:
        # A short poll, so that an outage is noticed and the far end closes soon.
        return {"enabled": True, "token": self.fake.token, "base_url": self.fake.url, "poll_timeout": "1s"}

    def address(self, who: Who) -> str:
        return str(IDS[who])

    def handle(self, who: Who) -> object:
        return IDS[who]

    def _chat(self, talk: Talk, who: Who) -> int:
        return {Talk.DIRECT: IDS[who], Talk.GROUP: GROUP, Talk.OTHER: FORUM}[talk]

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        said = f"@exec_bot {text}" if mention and talk is not Talk.DIRECT else text
        topic = self.topic if talk is Talk.OTHER else None
        update = self.fake.world.message(self._chat(talk, who), IDS[who], said, topic=topic)
        ref = f"telegram:{update['message']['chat']['id']}:{update['message']['message_id']}"
        self._updates[ref] = update
        return ref

    def plain(self, text: str) -> str:
        return text.removeprefix("@exec_bot ")

    async def edits(self, ref: str, text: str) -> None:
        _, chat, message = ref.split(":")
        self.fake.world.edited_message(int(chat), int(message), text)

    async def deletes(self, ref: str) -> None:
        _, chat, message = ref.split(":")
        self.fake.world.delete_message(int(chat), int(message))

    async def bot_writes(self, text: str) -> None:
        self.fake.world.message(GROUP, ROBOT, f"@exec_bot {text}")

    async def repeats(self, ref: str) -> None:
        self.fake._echo.append(self._updates[ref])
        self.fake._wake()

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        return self._updates[ref] not in self.fake.pending

    async def joins(self, who: Who, talk: Talk = Talk.GROUP) -> None:
        chat = self.fake.world.chat(self._chat(talk, who))
        chat.members[IDS[who]] = "member"
        user = self.fake.world.user(IDS[who])
        self.fake.world._post(chat, IDS[Who.ANN], "message", {"new_chat_members": [user]})

    async def down(self) -> None:
        self.fake.faults.dark = True

    async def up(self) -> None:
        self.fake.faults.dark = False

    def pause(self, seconds: int) -> None:
        self.fake.faults.plan("sendMessage", Answer(429, retry_after=seconds))

    def cut(self, *, after: bool) -> None:
        self.fake.faults.plan("sendMessage", CutAfter() if after else CutBefore())

    def refuse(self) -> None:
        self.fake.faults.plan("sendMessage", Answer(403, "Forbidden: bot was kicked from the supergroup chat"))

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        bot = self.fake.world.bot["id"]
        topic = self.topic if talk is Talk.OTHER else None
        messages = self.fake.world.chat(self._chat(talk, who)).messages.values()
        return [
            str(m.get("text", ""))
            for m in messages
            if m.get("from", {}).get("id") == bot and m.get("message_thread_id") == topic
        ]

    def drafts(self) -> list[str]:
        return [str(one.body["text"]) for one in self.fake.effects.of("sendMessageDraft")]

    def signs(self) -> int:
        requests = self.fake.requests
        return requests.count("sendMessageDraft") + requests.count("sendChatAction")

    def units(self, text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    async def presses(self, who: Who, ref: str, token: str) -> None:
        _, chat, message = ref.split(":")
        self.fake.world.callback_query(int(chat), int(message), IDS[who], token)

    def buttons(self, ref: str) -> list[str]:
        _, chat, message = ref.split(":")
        markup = self.fake.world.chat(int(chat)).messages[int(message)].get("reply_markup") or {}
        return [button["text"] for row in markup.get("inline_keyboard", ()) for button in row]

    def _asking(self, who: Who, talk: Talk) -> dict[str, Any] | None:
        messages = list(self.fake.world.chat(self._chat(talk, who)).messages.values())
        chat = self._chat(talk, who)
        return next((m for m in reversed(messages) if (chat, m["message_id"]) in self.fake.world.forced), None)

    def form(self, who: Who, talk: Talk = Talk.DIRECT) -> dict[str, str] | None:
        """The value stands in the message itself, to be copied."""
        asking = self._asking(who, talk)
        if asking is None:
            return None
        marked = [one for one in asking.get("entities", ()) if one["type"] == "pre"]
        raw = asking["text"].encode("utf-16-le")
        value = raw[2 * marked[0]["offset"] : 2 * (marked[0]["offset"] + marked[0]["length"])] if marked else b""
        forced = self.fake.world.forced[self._chat(talk, who), asking["message_id"]]
        return {forced["input_field_placeholder"]: value.decode("utf-16-le")}

    async def sends_form(self, who: Who, values: Mapping[str, str], talk: Talk = Talk.DIRECT) -> None:
        asking = self._asking(who, talk)
        assert asking is not None
        (value,) = values.values()
        topic = self.topic if talk is Talk.OTHER else None
        self.fake.world.message(self._chat(talk, who), IDS[who], value, topic=topic, reply_to=asking["message_id"])

    def responses(self) -> list[str]:
        told = [str(one.body["text"]) for one in self.fake.effects.of("answerCallbackQuery")]
        return told + [text for talk in (Talk.DIRECT, Talk.GROUP) for text in self.shown(talk)]

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        chat = ref.split(":")[1]
        return f"telegram:{chat}:{self.topic}" if talk is Talk.OTHER else f"telegram:{chat}"

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        kind = PlaceKind.DIRECT if talk is Talk.DIRECT else PlaceKind.GROUP
        return f"telegram:{self._chat(talk, Who.ANN)}", kind
