"""Text of a web page, laid out by inscriptis. Scripts, styles and what CSS hides inline are left out."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from bot.files.parsers.text import decode, finish
from bot.files.wire import Arguments, Output, Reason, Refused

if TYPE_CHECKING:
    from lxml.html import HTMLParser

_NO_MEMORY, _TOO_DEEP = "ERR_NO_MEMORY", "ERR_RESOURCE_LIMIT"  # names in <libxml/xmlerror.h>
_RECURSION = 20_000  # the layout engine recurses a few frames for each level of the tree
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{2,40})")


def extract(data: bytes, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`."""
    # WHATWG HTML s13.2.3.2: the declaration stands within the first 1,024 bytes.
    found = _META.search(data[:1024]) or _XML.search(data[:1024])
    markup, charset, guessed = decode(data, found[1].decode("ascii") if found else "")
    text, note = to_text(markup)
    return finish(text, arguments, f"The character set was guessed ({charset}). {note}".strip() if guessed else note)


def to_text(markup: str) -> tuple[str, str]:
    """The visible text, and a note in plain words when some of it had to be left out."""
    # A mail without HTML does not pay for these imports.
    from inscriptis.html_engine import Inscriptis
    from lxml.etree import ParserError, XMLSyntaxError
    from lxml.html import HTMLParser, document_fromstring

    # lxml refuses text that contains NUL or an encoding declaration.
    cleaned = re.sub(r"<\?xml[^>]*\?>", "", markup.replace("\0", ""), count=1)
    # libxml2 stops silently at 256 levels, which quoted replies in mail do reach; with `huge_tree` at 2,048.
    parser = HTMLParser(huge_tree=True)
    try:
        tree = document_fromstring(cleaned, parser=parser)
    except ParserError:  # nothing but comments or blanks
        return "", ""
    except XMLSyntaxError as error:
        if _NO_MEMORY in _problems(parser):
            raise MemoryError from error
        raise Refused(Reason.DAMAGED, "The page is damaged and could not be read.") from error
    problems = _problems(parser)
    if _NO_MEMORY in problems:  # what fitted would pass for the whole
        raise MemoryError
    sys.setrecursionlimit(_RECURSION)
    return str(Inscriptis(tree).get_text()), "What was nested too deeply was left out." if _TOO_DEEP in problems else ""


def _problems(parser: HTMLParser) -> set[str]:
    return {entry.type_name for entry in parser.error_log}
