"""What most people would write first: slack-bolt in socket mode and the model's SDK, nothing stored."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from anthropic import AsyncAnthropic
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncSay
from slack_sdk.web.async_client import AsyncWebClient

MODEL = "claude-opus-5-5"

model = AsyncAnthropic(api_key=os.environ["ANTHROPIC_API_KEY"], base_url=os.environ["ANTHROPIC_BASE_URL"])


async def answer(event: dict[str, Any], say: AsyncSay) -> None:
    if "text" not in event:
        return
    reply = await model.messages.create(
        model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": event["text"]}]
    )
    await say("".join(block.text for block in reply.content if block.type == "text"))


async def main() -> None:
    token = os.environ["SLACK_TOKEN"]
    app = AsyncApp(token=token, client=AsyncWebClient(token, base_url=f"{os.environ['SLACK_URL']}/"))
    app.event("message")(answer)
    await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
