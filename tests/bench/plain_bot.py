"""What most people would write first: python-telegram-bot and the model's SDK, nothing stored."""

from __future__ import annotations

import os
from typing import Any

from anthropic import AsyncAnthropic
from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters

MODEL = "claude-opus-5-5"

client = AsyncAnthropic(api_key=os.environ["ANTHROPIC_API_KEY"], base_url=os.environ["ANTHROPIC_BASE_URL"])


async def answer(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    message = update.effective_message
    if message is None or message.text is None:
        return
    reply = await client.messages.create(
        model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": message.text}]
    )
    await message.reply_text("".join(block.text for block in reply.content if block.type == "text"))


def main() -> None:
    url = os.environ["TELEGRAM_URL"]
    application: Application[Any, Any, Any, Any, Any, Any] = (
        Application.builder()
        .token(os.environ["TELEGRAM_TOKEN"])
        .base_url(f"{url}/bot")
        .base_file_url(f"{url}/file/bot")
        .build()
    )
    application.add_handler(MessageHandler(filters.TEXT, answer))
    application.run_polling()


if __name__ == "__main__":
    main()
