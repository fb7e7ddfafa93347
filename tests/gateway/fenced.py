"""A form with visible marks, as some platforms have it: fences, prefixes and emphasis count towards the limit."""

from __future__ import annotations

import re

from bot.gateway.text import Document
from bot.gateway.text_layout import Bare, render
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Fenced(Bare):
    def code(self, text: str) -> str:
        return f"`{text}`"

    def emphasis(self, inner: str) -> str:
        return f"*{inner}*"

    def strong(self, inner: str) -> str:
        return f"**{inner}**"

    def strike(self, inner: str) -> str:
        return f"~~{inner}~~"

    def link(self, href: str, inner: str, label: str) -> str:
        return inner if href == label else f"[{inner}]({href})"

    def heading(self, level: int, inner: str) -> str:
        return f"{'#' * level} {inner}"

    def code_block(self, info: str, text: str) -> str:
        longest = max((len(run) for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{info}\n{text}\n{fence}"

    def quote(self, inner: str, depth: int) -> str:
        return "\n".join(f"> {line}" for line in inner.split("\n"))


def fenced(document: Document) -> str:
    return render(document, Fenced())
