"""Text layer of a PDF by pypdf, whose own limits on streams and trees stay on."""

from __future__ import annotations

import logging
import time
from typing import BinaryIO

from pypdf import PdfReader, apply_configuration
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, PyPdfError

from bot.files.parsers.text import PAGE_END, finish
from bot.files.wire import Arguments, Output, Reason, Refused

_LOCKED = Refused(Reason.ENCRYPTED, "The PDF is protected with a password; please send a copy without one.")
_BROKEN = (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, NotImplementedError)


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `pages`, `truncated`, `note`. Stops by itself after `seconds`, keeping the pages read by then."""
    logging.disable(logging.CRITICAL)
    until = time.monotonic() + arguments["seconds"]
    # No helper programs: the child starts none.
    with apply_configuration(jbig2dec_binary=None):
        try:
            reader = PdfReader(file)
            # Many are only locked against printing and open with the empty password (ISO 32000-1 s7.6.3.1).
            if reader.is_encrypted and not reader.decrypt(""):
                raise _LOCKED
            count = len(reader.pages)
        except (FileNotDecryptedError, DependencyError) as error:
            raise _LOCKED from error
        except LimitReachedError as error:
            raise Refused(Reason.TOO_LARGE, "The PDF unpacks to more than can be read.") from error
        except (*_BROKEN, RecursionError) as error:
            raise Refused(Reason.DAMAGED, "The PDF is damaged and could not be opened.") from error
        return _pages(reader, count, until, arguments)


def _pages(reader: PdfReader, count: int, until: float, arguments: Arguments) -> Output:
    texts: list[tuple[int, str]] = []
    size = read = empty = failed = bombs = 0
    for number in range(count):
        if size > arguments["max_chars"] or time.monotonic() > until:
            break
        read += 1
        try:
            text = reader.pages[number].extract_text().strip()
        except LimitReachedError:
            bombs += 1
            continue
        except (*_BROKEN, RecursionError):
            failed += 1
            continue
        if text:
            texts.append((number, text.replace(PAGE_END, "\n")))
            size += len(text)
        else:
            empty += 1
    if not texts:
        if bombs:
            raise Refused(Reason.TOO_LARGE, "The PDF unpacks to more than can be read.")
        if failed:
            raise Refused(Reason.DAMAGED, "The PDF is damaged; none of its pages could be read.")
        if read < count:
            raise Refused(Reason.TIMEOUT, "Reading the PDF took too long and was stopped.")
        raise Refused(Reason.NO_TEXT_LAYER, "The PDF holds no text; it may be a scan, that is, pictures of pages.")
    notes = []
    if read < count:
        notes.append(f"Only the first {read} of {count} pages were read.")
    if empty:
        notes.append(f"{empty} of {read} pages hold no text (pictures or empty).")
    if failed + bombs:
        notes.append(f"{failed + bombs} of {read} pages could not be read.")
    return finish(_joined(texts, arguments), arguments, " ".join(notes), cut=read < count, pages=count)


def _joined(texts: list[tuple[int, str]], arguments: Arguments) -> str:
    """Pages parted by blank lines; where page ends are asked for, one stands for every page, empty ones too."""
    if not arguments.get("page_ends"):
        return "\n\n".join(text for _, text in texts)
    pieces: list[str] = []
    page = 0
    for number, text in texts:
        pieces.append(f"\n\n{PAGE_END}\n\n" * (number - page) + text)
        page = number
    return "".join(pieces)
