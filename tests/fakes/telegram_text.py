"""Text as the Bot API takes it: strict HTML, entities in UTF-16 units, lengths after parsing.

`parse_html` words its errors as the real server does (the caller puts "can't parse entities: " before them). Pure.
Source: Bot API "Formatting options" and the behaviour of the public server. MarkdownV2 and Markdown are not
understood here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

KIND = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "span": "spoiler",
    "tg-spoiler": "spoiler",
    "tg-emoji": "custom_emoji",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
REFERENCE = re.compile(r"&(?:#x(?P<hex>[0-9a-fA-F]{1,6})|#(?P<dec>[0-9]{1,7})|(?P<name>[a-zA-Z]+));?")
TOKEN = re.compile(r"[A-Za-z0-9.\-]*")
FOUND = re.compile(
    r"(?P<bot_command>(?<![\w/])/[A-Za-z0-9_]{1,32}(?:@\w{3,32})?)|(?P<mention>(?<!\w)@[A-Za-z]\w{2,31})"
    r"|(?P<url>https?://\S+)"
)


class Unparsable(Exception):
    """The markup is not valid; the text says what and where."""


def units(text: str) -> int:
    """Length in UTF-16 code units, in which the Bot API counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def found_entities(text: str) -> list[JsonObject]:
    """Entities that the server finds by itself in a plain message: commands, mentions, links."""
    return [
        {"type": hit.lastgroup, "offset": units(text[: hit.start()]), "length": units(hit.group())}
        for hit in FOUND.finditer(text)
    ]


def check_entities(text: str, entities: list[JsonObject]) -> None:
    """Raise `Unparsable` if an explicit entity does not lie within `text`, on whole characters."""
    borders, size = {0}, 0
    for char in text:
        size += units(char)
        borders.add(size)
    for entity in entities:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if start > size:
            raise Unparsable(f"entity begins after the end of the text at UTF-16 offset {start}")
        if end > size:
            raise Unparsable(
                f"entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {end}"
            )
        if start not in borders or end not in borders:
            raise Unparsable(f"entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol")


def trimmed(text: str, entities: list[JsonObject]) -> tuple[str, list[JsonObject]]:
    """Text without blanks at its ends, as the server stores it; entities moved and clipped with it."""
    lead = units(text) - units(text.lstrip())
    kept = text.strip()
    size = units(kept)
    moved = []
    for entity in entities:
        start = max(entity["offset"] - lead, 0)
        end = min(entity["offset"] + entity["length"] - lead, size)
        if end > start:
            moved.append({**entity, "offset": start, "length": end - start})
    return kept, moved


@dataclass
class _Open:
    tag: str
    argument: str
    expandable: bool
    offset: int
    text_start: int


def parse_html(markup: str) -> tuple[str, list[JsonObject]]:
    """Visible text and entities of `markup`. Raises `Unparsable`."""
    return _Parser(markup).run()


class _Parser:
    def __init__(self, markup: str) -> None:
        self.markup = markup
        self.at = 0
        self.text: list[str] = []
        self.offset = 0
        self.open: list[_Open] = []
        self.entities: list[JsonObject] = []

    def run(self) -> tuple[str, list[JsonObject]]:
        while self.at < len(self.markup):
            char = self.markup[self.at]
            if char == "<":
                self._end_tag() if self.markup.startswith("</", self.at) else self._start_tag()
            elif char == "&":
                self._emit(self._reference())
            else:
                self._emit(char)
                self.at += 1
        if self.open:
            raise Unparsable(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        text = "".join(self.text)
        self.entities.sort(key=lambda entity: (entity["offset"], -entity["length"]))
        return text, self.entities

    def _emit(self, piece: str) -> None:
        self.text.append(piece)
        self.offset += units(piece)

    def _byte(self, position: int) -> int:
        return len(self.markup[:position].encode("utf-8", "surrogatepass"))

    def _reference(self) -> str:
        """The character at a `&`; an unknown reference stands for itself."""
        hit = REFERENCE.match(self.markup, self.at)
        char = _char_of(hit) if hit else ""
        if hit is None or not char:
            self.at += 1
            return "&"
        self.at = hit.end()
        return char

    def _skip_blanks(self) -> None:
        while self.at < len(self.markup) and self.markup[self.at].isspace():
            self.at += 1

    def _peek(self) -> str:
        return self.markup[self.at] if self.at < len(self.markup) else ""

    def _word(self, stops: str) -> str:
        start = self.at
        while self._peek() and not self._peek().isspace() and self._peek() not in stops:
            self.at += 1
        return self.markup[start : self.at]

    def _start_tag(self) -> None:
        begin = self.at
        where = f"at byte offset {self._byte(begin)}"
        self.at += 1
        tag = self._word(">").lower()
        if not self._peek():
            raise Unparsable(f"Unclosed start tag {where}")
        if tag not in KIND:
            raise Unparsable(f'Unsupported start tag "{tag}" {where}')
        attributes: dict[str, str] = {}
        while True:
            self._skip_blanks()
            if self._peek() == ">":
                self.at += 1
                break
            if not self._peek():
                raise Unparsable(f"Unclosed start tag {where}")
            name, value = self._attribute(tag, where)
            attributes[name] = value
        argument = {
            "a": attributes.get("href", ""),
            "code": attributes.get("class", "").removeprefix("language-"),
            "tg-emoji": attributes.get("emoji-id", ""),
        }.get(tag, "")
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise Unparsable(f'Tag "span" must have class "tg-spoiler" {where}')
        self.open.append(_Open(tag, argument, "expandable" in attributes, self.offset, len(self.text)))

    def _attribute(self, tag: str, where: str) -> tuple[str, str]:
        name = self._word("=>")
        if not name:
            raise Unparsable(f'Empty attribute name in the tag "{tag}" {where}')
        self._skip_blanks()
        if self._peek() != "=":
            if (tag, name) == ("blockquote", "expandable"):
                return name, ""
            raise Unparsable(f'Expected equal sign in declaration of an attribute of the tag "{tag}" {where}')
        self.at += 1
        self._skip_blanks()
        quote = self._peek()
        if not quote:
            raise Unparsable(f'Unclosed start tag "{tag}" {where}')
        if quote not in "'\"":
            return name, self._token()
        self.at += 1
        value: list[str] = []
        while self._peek() not in ("", quote):
            if self._peek() == "&":
                value.append(self._reference())
            else:
                value.append(self._peek())
                self.at += 1
        if not self._peek():
            raise Unparsable(f"Unclosed start tag {where}")
        self.at += 1
        return name, "".join(value)

    def _token(self) -> str:
        start = self.at
        hit = TOKEN.match(self.markup, start)
        self.at = hit.end() if hit else start
        if self._peek() and not self._peek().isspace() and self._peek() != ">":
            raise Unparsable(f"Unexpected end of name token at byte offset {self._byte(start)}")
        return self.markup[start : self.at].lower()

    def _end_tag(self) -> None:
        begin = self._byte(self.at)
        if not self.open:
            raise Unparsable(f"Unexpected end tag at byte offset {begin}")
        self.at += 2
        tag = self._word(">").lower()
        self._skip_blanks()
        if self._peek() != ">":
            raise Unparsable(f"Unclosed end tag at byte offset {begin}")
        self.at += 1
        opened = self.open.pop()
        if tag and tag != opened.tag:
            raise Unparsable(f'Unmatched end tag at byte offset {begin}, expected "</{opened.tag}>", found "</{tag}>"')
        if self.offset > opened.offset:
            self._close(opened)

    def _close(self, opened: _Open) -> None:
        entity: JsonObject = {
            "type": KIND[opened.tag],
            "offset": opened.offset,
            "length": self.offset - opened.offset,
        }
        if opened.tag == "a":
            entity["url"] = opened.argument or "".join(self.text[opened.text_start :])
        elif opened.tag == "tg-emoji":
            if not opened.argument.isdigit():
                raise Unparsable("Invalid custom emoji identifier specified")
            entity["custom_emoji_id"] = opened.argument
        elif opened.tag == "blockquote" and opened.expandable:
            entity["type"] = "expandable_blockquote"
        elif opened.tag == "code" and opened.argument:
            entity["language"] = opened.argument
        self._settle_code(entity)

    def _settle_code(self, entity: JsonObject) -> None:
        """`pre` around exactly one `code` is one block with its language; `code` alone has none."""
        inner = self.entities[-1] if self.entities else {}
        same = all(inner.get(key) == entity[key] for key in ("offset", "length"))
        if entity["type"] == "pre" and same and inner.get("type") == "code":
            self.entities[-1] = {**inner, "type": "pre"}
            return
        surrounded = bool(self.open) and self.open[-1].tag == "pre"
        if entity["type"] == "code" and not surrounded:
            entity.pop("language", None)
        self.entities.append(entity)


def _char_of(hit: re.Match[str]) -> str:
    if hit["name"]:
        return NAMED.get(hit["name"], "")
    code = int(hit["hex"], 16) if hit["hex"] else int(hit["dec"])
    return chr(code) if 0 < code < 0x10FFFF and not 0xD800 <= code <= 0xDFFF else ""
