"""Styles and numbering of a DOCX: what makes a paragraph a heading, a list item with its label, or hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lxml.etree import _Element

from bot.files.parsers.ooxml import child, children, is_on, local, number, value
from bot.kernel.values import dataclass

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_INHERITED = 20  # steps of `basedOn` that are followed: a circle must end
_DEEPEST = 8  # list levels are 0 to 8 (ISO 29500-1 s17.9.6)
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
BULLET = "-"


@dataclass(frozen=True, slots=True)
class Look:
    """`level` of a heading, 1 to 9; `hidden` is None where nothing is said; `list_id` and `depth` of a list."""

    level: int | None = None
    hidden: bool | None = None
    list_id: str | None = None
    depth: int | None = None

    def over(self, base: Look) -> Look:
        return Look(
            self.level if self.level is not None else base.level,
            self.hidden if self.hidden is not None else base.hidden,
            self.list_id if self.list_id is not None else base.list_id,
            self.depth if self.depth is not None else base.depth,
        )


PLAIN = Look()


def direct_look(properties: _Element | None) -> Look:
    """What a paragraph's (`pPr`) or run's (`rPr`) own properties say."""
    level = value(child(properties, "outlineLvl"))
    numbering = child(properties, "numPr")
    depth = value(child(numbering, "ilvl"))
    return Look(
        # 9 means body text (ISO 29500-1 s17.3.1.20).
        number(level) + 1 if level is not None and 0 <= number(level, 9) <= 8 else None,
        hides(properties),
        value(child(numbering, "numId")),
        max(0, min(_DEEPEST, number(depth))) if depth is not None else None,
    )


def hides(properties: _Element | None) -> bool | None:
    vanish = child(properties, "vanish")
    return None if vanish is None else is_on(vanish)


class Styles:
    """Looks by style id, with what they inherit."""

    def __init__(self, root: _Element | None) -> None:
        self._own: dict[str, tuple[Look, str | None]] = {}
        for node in children(root):
            if local(node) != "style":
                continue
            # Built-in names are English in every language of Word; only ids are translated.
            name = value(child(node, "name")) or ""
            heading = _HEADING.match(name)
            named = Look(level=int(heading[1]) if heading else 1 if name.lower() == "title" else None)
            look = direct_look(child(node, "pPr"))
            hidden = hides(child(node, "rPr"))
            own = named.over(Look(look.level, hidden, look.list_id, look.depth))
            self._own[value(node, "styleId") or ""] = (own, value(child(node, "basedOn")))

    def look(self, style: str | None) -> Look:
        found = PLAIN
        for _ in range(_INHERITED):
            if style is None or style not in self._own:
                break
            own, style = self._own[style]
            found = found.over(own)
        return found


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int


class Numbering:
    """Labels of list items, counted in the order of the document."""

    def __init__(self, root: _Element | None) -> None:
        abstract: dict[str, dict[int, _Level]] = {}
        self._levels: dict[str, Mapping[int, _Level]] = {}
        self._group: dict[str, str] = {}
        self._counters: dict[str, dict[int, int]] = {}
        for node in children(root):
            if local(node) == "abstractNum":
                abstract[value(node, "abstractNumId") or ""] = dict(_levels(node))
            elif local(node) == "num":
                list_id = value(node, "numId") or ""
                group = value(child(node, "abstractNumId")) or ""
                own, restarts = _overridden(node, abstract.get(group, {}))
                self._levels[list_id] = own
                # Lists of one definition go on counting together unless one starts anew.
                self._group[list_id] = list_id if restarts else "abstract " + group

    def label(self, list_id: str, depth: int) -> str | None:
        """The label of the next item at this depth: `-` for bullets, "" for none, None where there is no such list."""
        levels = self._levels.get(list_id)
        if levels is None or depth not in levels:
            return None
        level = levels[depth]
        counters = self._counters.setdefault(self._group[list_id], {})
        counters[depth] = counters[depth] + 1 if depth in counters else level.start
        for deeper in [each for each in counters if each > depth]:
            del counters[deeper]
        if level.form == "bullet":
            return BULLET
        if level.form == "none":
            return ""

        def placed(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            named = levels.get(at, level)
            return spelled(counters.get(at, named.start), named.form)

        return _PLACE.sub(placed, level.text)


def spelled(count: int, form: str) -> str:
    """A number in one of the forms of ISO 29500-1 s17.18.59; those not known here are decimal."""
    if count < 1 or count > 3999:
        return str(count)
    if form in {"lowerLetter", "upperLetter"}:
        letters = "abcdefghijklmnopqrstuvwxyz"[(count - 1) % 26] * ((count - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in {"lowerRoman", "upperRoman"}:
        text = ""
        for worth, sign in _ROMAN:
            text += sign * (count // worth)
            count %= worth
        return text.upper() if form == "upperRoman" else text
    return f"{count:02}" if form == "decimalZero" else str(count)


def _levels(node: _Element) -> Iterator[tuple[int, _Level]]:
    for each in node:
        if local(each) == "lvl":
            form = value(child(each, "numFmt")) or "decimal"
            text = (value(child(each, "lvlText")) or "")[:40]
            yield number(value(each, "ilvl")), _Level(form, text, number(value(child(each, "start")), 1))


def _overridden(node: _Element, levels: Mapping[int, _Level]) -> tuple[dict[int, _Level], bool]:
    own = dict(levels)
    restarts = False
    for each in node:
        if local(each) == "lvlOverride":
            own.update(_levels(each))
            depth, start = number(value(each, "ilvl")), value(child(each, "startOverride"))
            if start is not None and depth in own:
                restarts = True
                own[depth] = _Level(own[depth].form, own[depth].text, number(start, 1))
    return own, restarts
