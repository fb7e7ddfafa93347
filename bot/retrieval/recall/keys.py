"""What of a turn or claim is embedded. Pure."""

from __future__ import annotations

import re

MOST_CONTEXT = 200
ROOM = 400
"""Characters up to which a text is filled up with the end of what was said before it. A longer one says itself what it
is about, and another's words would only blur it."""
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def key(text: str, before: str) -> str:
    """A text without its blocks of code, on one line; after the end of the turn before it if it is short."""
    own = _prose(text)
    context = _end(_prose(before), min(MOST_CONTEXT, ROOM - len(own)))
    return f"{context}\n{own}" if context else own


def _prose(text: str) -> str:
    return " ".join(_CODE.sub(" ", text).split()) or " ".join(text.replace("```", " ").split())


def _end(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[-most:].partition(" ")[2] if most > 0 else ""
