"""HTML of a mail to text, with the quoted parts marked before their markup is lost. Pure; never raises.

Hidden text is dropped: what the reader of the mail would not see must not speak to the model. Sizes are bounded: a
table whose padding would multiply its text is read cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot.kernel.values import dataclass

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_HTML = 2_000_000
"""Characters; the rest is cut. Newsletters stay far below."""
_MAX_TABLE_CELLS = 400
_MAX_CELL = 200
_START, _END = "\uf8f0", "\uf8f1"  # private use: stand for the borders of quotes while the markup is rendered

_DROPPED = ("script", "style", "head", "title", "noscript", "template", "object", "embed", "iframe", "svg", "select")
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|mso-hide\s*:\s*all|opacity\s*:\s*0*\.?0*\s*(?:;|!|$)"
    r"|(?:font-size|max-height|max-width|line-height)\s*:\s*0*\.?0*\s*(?:px|pt|em|rem|%)?\s*(?:;|!|$))",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_MEDIA = re.compile(r"@[^{;]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.DOTALL)
_CSS_RULE = re.compile(r"([^{}]{1,500})\{([^{}]*)\}")
_CSS_NAME = re.compile(r"(?:[a-z][a-z0-9]*)?([.#][A-Za-z_][\w-]*)\Z", re.IGNORECASE)
_ALLOWED_LINK = re.compile(r"\s*(?:https?://|mailto:|tel:)", re.IGNORECASE)
_OUTLOOK_RULE = re.compile(r"border-top\s*:\s*solid\s+#(?:E1E1E1|B5C4DF)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\uf8f0\uf8f1]")


@dataclass(frozen=True, slots=True)
class Rendering:
    """Text and the ranges (half-open, code points) that the markup itself says are quoted."""

    text: str
    quoted: tuple[tuple[int, int], ...] = ()


def convert(source: str) -> Rendering:
    """The visible text of `source`; links as `[label](address)`, pictures left out."""
    from lxml import etree

    source = _CONTROL.sub(" ", source[:MAX_HTML])
    try:
        root = _tree(source)
        if root is None:
            return Rendering("")
        _strip(root)
        _mark_quotes(root)
        return _ranges(_render(root))
    except (etree.LxmlError, ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError):
        return Rendering(_bare(source))


def _tree(source: str) -> HtmlElement | None:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    source = re.sub(r"\A\s*<\?xml[^>]*>", "", source)
    if not source.strip():
        return None
    parser = HTMLParser(remove_comments=True, remove_pis=True, no_network=True)
    try:
        return document_fromstring(source, parser=parser)
    except etree.ParserError:
        return None


def _strip(root: HtmlElement) -> None:
    hidden = _hidden_names(root)
    for element in list(root.iter()):
        if not isinstance(element.tag, str):
            continue
        if element.tag in _DROPPED or _is_hidden(element, hidden):
            if element.getparent() is not None:
                element.drop_tree()
            continue
        if element.tag == "a" and not _ALLOWED_LINK.match(element.get("href", "")):
            element.attrib.pop("href", None)
        if element.tag == "input":
            element.drop_tag()


def _hidden_names(root: HtmlElement) -> frozenset[str]:
    """Classes and ids that a style sheet hides everywhere (rules within @media are for some screens only)."""
    names: set[str] = set()
    for style in root.iter("style"):
        sheet = _CSS_MEDIA.sub("", _CSS_COMMENT.sub("", (style.text or "")[:20_000]))
        for selectors, declarations in _CSS_RULE.findall(sheet):
            if _HIDING.search(declarations):
                names.update(m[1] for s in selectors.split(",") if (m := _CSS_NAME.match(s.strip())))
    return frozenset(names)


def _is_hidden(element: HtmlElement, hidden: frozenset[str]) -> bool:
    if element.get("hidden") is not None or _HIDING.search(element.get("style", "")):
        return True
    if not hidden:
        return False
    return f"#{element.get('id', '')}" in hidden or any(f".{c}" in hidden for c in element.get("class", "").split())


def _mark_quotes(root: HtmlElement) -> None:
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element.getparent() is None:
            continue
        if _is_quote(element):
            _surround(element)
        elif _starts_history(element):
            _insert_before(element, _START)
    # Styles and spans have served; what is left of them could only blow the text up.
    for element in root.iter():
        for name in ("style", "align", "colspan", "rowspan", "start", "width", "class", "id"):
            element.attrib.pop(name, None)
    for table in list(root.iter("table")):
        if not _is_data(table):
            for cell in table.iter("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption"):
                cell.tag = "div"


def _is_quote(element: HtmlElement) -> bool:
    classes = set(element.get("class", "").split())
    if element.tag == "blockquote":
        return element.get("type", "").lower() == "cite" or bool(classes & {"gmail_quote", "protonmail_quote"})
    return bool(
        classes & {"gmail_quote", "gmail_quote_container", "gmail_extra", "yahoo_quoted", "protonmail_quote",
                   "moz-cite-prefix", "tutanota_quote", "zmail_extra", "gmail_attr"}
    )  # fmt: skip


def _starts_history(element: HtmlElement) -> bool:
    """From here to the end of the mail it is history: how Outlook, in its several forms, marks it."""
    if element.get("id", "") in {
        "divRplyFwdMsg",
        "appendonsend",
        "reply-intro",
        "mail-editor-reference-message-container",
    }:
        return True
    return element.tag in {"div", "p"} and bool(_OUTLOOK_RULE.search(element.get("style", "")))


def _surround(element: HtmlElement) -> None:
    from lxml.html import builder

    parent = element.getparent()
    if parent is None:
        return
    _insert_before(element, _START)
    end = builder.DIV(_END)
    end.tail, element.tail = element.tail, None
    parent.insert(parent.index(element) + 1, end)


def _insert_before(element: HtmlElement, mark: str) -> None:
    from lxml.html import builder

    parent = element.getparent()
    if parent is not None:
        parent.insert(parent.index(element), builder.DIV(mark))


def _is_data(table: HtmlElement) -> bool:
    """A small table of short cells; anything else lays out a page."""
    if table.find(".//table") is not None or any(a.tag == "table" for a in table.iterancestors()):
        return False
    cells = list(_first(table.iter("td", "th"), _MAX_TABLE_CELLS + 1))
    return 1 < len(cells) <= _MAX_TABLE_CELLS and all(len(cell.text_content()) <= _MAX_CELL for cell in cells)


def _first(elements: Iterator[HtmlElement], count: int) -> Iterator[HtmlElement]:
    for _, element in zip(range(count), elements, strict=False):
        yield element


def _render(root: HtmlElement) -> str:
    from inscriptis.html_engine import Inscriptis
    from inscriptis.model.config import ParserConfig

    return str(Inscriptis(root, ParserConfig(display_links=True)).get_text())


def _ranges(text: str) -> Rendering:
    """Take the marks out. A start without an end runs to the end of the text."""
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub(r"\n{4,}", "\n\n\n", text).strip("\n")
    text = re.sub(rf"[ \t]*([{_START}{_END}])[ \t]*\n?", r"\1", text)
    kept: list[str] = []
    ranges: list[tuple[int, int]] = []
    length = depth = start = 0
    for piece in re.split(f"([{_START}{_END}])", text):
        if piece == _START:
            start = length if depth == 0 else start
            depth += 1
        elif piece == _END:
            depth = max(0, depth - 1)
            if depth == 0 and length > start:
                ranges.append((start, length))
        else:
            kept.append(piece)
            length += len(piece)
    if depth and length > start:
        ranges.append((start, length))
    return Rendering("".join(kept), tuple(ranges))


def _bare(source: str) -> str:
    """The last resort: tags out, no structure."""
    text = re.sub(r"(?is)<(script|style|head)\b.*?</\1\s*>", " ", source)
    return re.sub(r"[ \t]+", " ", re.sub(r"<[^>]*>", " ", text)).strip()
