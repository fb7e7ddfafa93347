"""What most people would write first: discord.py and the model's SDK, nothing stored."""

from __future__ import annotations

import os

import discord
import yarl
from anthropic import AsyncAnthropic
from discord.gateway import DiscordWebSocket
from discord.http import Route

MODEL = "claude-opus-5-5"

model = AsyncAnthropic(api_key=os.environ["ANTHROPIC_API_KEY"], base_url=os.environ["ANTHROPIC_BASE_URL"])


class Bot(discord.Client):
    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user:
            return
        reply = await model.messages.create(
            model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": message.content}]
        )
        await message.channel.send("".join(block.text for block in reply.content if block.type == "text"))


def main() -> None:
    Route.BASE = os.environ["DISCORD_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["DISCORD_GATEWAY"])
    intents = discord.Intents.default()
    intents.message_content = True
    Bot(intents=intents).run(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    main()
